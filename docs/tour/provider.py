"""A model provider on port 8080 that plays a script, for `record.sh`; answers until it is killed.

It speaks the streaming chat API of OpenAI. The newest user message and the number of answers after it choose the next
answer: a text, in which `{}` stands for the last result of a tool, or calls with a text before them.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def call(tool, **arguments):
    return "", [(tool, arguments)]


GREETING = [{"range": [2, 3], "replacement": '    return f"Hello, {name}!"'}]
NOTES = [{"range": [1, 1], "replacement": "# Birds\n\nSandpipers nest in June."}]

SCRIPT = {
    "Say hello in one short sentence.": ["Hello, nice to meet you!"],
    "Fix the greeting in greet.py": [
        call("read_file", file_path="greet.py"),
        call("edit_file", file_path="greet.py", edits=GREETING),
        "`greet` had a typo and no punctuation:\n\n```python\nprint(greet(\"Ada\"))  # Hello, Ada!\n```\n",
    ],
    "When do sandpipers nest? It is in ~/docs/birds.txt": [
        call("read_file", file_path="/home/ada/docs/birds.txt"),
        "In **June**, says `birds.txt`, and they lay *four* eggs.",
    ],
    "Do the tests pass?": [
        call("run_terminal_command", command="make test"),
        "Yes: the one test passes.",
    ],
    "How many words has notes.md?": [
        call("words", file_path="notes.md"),
        "`notes.md` has {}.",
    ],
    "Write down what we know about sandpipers": [
        ("I will look at what there is, and begin the notes.", [
            ("read_file", {"file_path": "../docs/birds.txt"}),
            ("edit_file", {"file_path": "birds.md", "edits": NOTES}),
            ("read_file", {"file_path": "../docs/diary.txt"}),
        ]),
        "The notes are begun. I left the diary alone.",
    ],
}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = request["messages"]
        asked = max(n for n, message in enumerate(messages) if message["role"] == "user")
        later = [message["role"] for message in messages[asked:]]
        answer = SCRIPT[messages[asked]["content"].strip()][later.count("assistant")]
        text, calls = (answer, []) if isinstance(answer, str) else answer
        last = messages[-1]["content"].strip()
        events = [({"content": text.replace("{}", last)}, None)] if text else []
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            one = {"index": index, "id": f"call_{len(messages)}_{index}", "type": "function", "function": function}
            events.append(({"tool_calls": [one]}, None))
        events.append(({}, "tool_calls" if calls else "stop"))
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in events]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        self.reply("text/event-stream", "".join(lines))

    def do_GET(self):
        self.reply("application/json", json.dumps({"object": "list", "data": [{"id": "small", "object": "model"}]}))

    def reply(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except BrokenPipeError:
            pass  # Whoever asked has left.

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 8080), Provider)
    server.serve_forever()
