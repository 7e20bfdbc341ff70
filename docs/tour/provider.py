"""A model provider on port 8080 that plays a script, for `record.sh`; answers until it is killed.

It speaks the streaming chat API of OpenAI. The script is `script.json`: the newest user message and the number of answers
after it choose the next answer, a text, or calls with a text before them.
"""

import json
import pathlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


SCRIPT = json.loads(pathlib.Path(__file__).with_name("script.json").read_text())


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = request["messages"]
        asked = max(n for n, message in enumerate(messages) if message["role"] == "user")
        later = [message["role"] for message in messages[asked:]]
        answer = SCRIPT[messages[asked]["content"].strip()][later.count("assistant")]
        text, calls = (answer, []) if isinstance(answer, str) else (answer.get("text"), answer["calls"])
        events = [({"content": text}, None)] if text else []
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
