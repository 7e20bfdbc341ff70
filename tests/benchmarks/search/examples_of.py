"""Makes examples to learn from: a sentence of documentation, its function, and what a search gives for the sentence."""

import json
import re
import shutil
import subprocess

import documented
from sources import DATA, tree

PER_REPOSITORY = 150
PER_FILE = 3

# Fewer say nothing about a repository's own words.
LEAST = 8

# The first lines of a function, more than a model reads.
LINES = 30

# As the program cuts a declaration: lines and bytes.
DECLARATION_LINES, DECLARATION_BYTES = 5, 80

# The passages that the program gives a model, before the declarations.
PASSAGES = 10

NAMES = {
    "py": re.compile(r"\s*(?:async\s+)?def\s+(\w+)"),
    "rs": re.compile(r".*?\bfn\s+(\w+)"),
    "go": re.compile(r"func\s+(?:\([^)]*\)\s*)?(\w+)"),
    "php": re.compile(r".*?function\s+&?(\w+)"),
}
OTHER_NAME = re.compile(r"(\w+)\s*(?:<[^>]*>)?\(")


def of(repository, program):
    """The examples of a repository. Each has the gists of its function and of its declaration, and with their scores
    those of the passages of its file (with whether the function is in it) and of other files."""
    found = documented.sentences(tree(repository))
    chosen = documented.choose(found, PER_REPOSITORY, PER_FILE, documented.can_be_answered)
    if len(chosen) < LEAST:
        return
    folder = documented.without(repository, chosen)
    questions = [question for question in (asked(folder, chosen, it) for it in chosen) if question]
    index, file = DATA / "teaching" / "index", DATA / "teaching" / "asked.jsonl"
    index.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(question) + "\n" for question in questions))
    output = subprocess.run([program, folder, index, file, "--passages"], check=True, capture_output=True, text=True).stdout
    shutil.rmtree(index)
    answers = [json.loads(line) for line in output.strip().split("\n")[:-1]]
    for question, answer in zip(questions, answers, strict=True):
        shown, path, line = answer["passages"], question["passages"][0]["path"], question["line"]
        passages, declarations = shown[:PASSAGES], shown[PASSAGES:]

        def is_in(passage):
            return passage["start_line"] - 3 <= line <= passage["start_line"] + passage["text"].count("\n")

        yield {
            "language": path.rsplit(".", 1)[-1],
            "question": question["text"],
            "function": answer["gists"][0],
            "declaration": answer["gists"][1],
            "right": [(it["gist"], it["score"], is_in(it)) for it in passages if it["path"] == path],
            "wrong": [(it["gist"], it["score"]) for it in passages if it["path"] != path],
            "wrong_declarations": [it["gist"] for it in declarations if it["path"] != path],
        }


def asked(folder, chosen, sentence):
    """A question for the program, with its function and the declaration of it as passages."""
    name, start, end, text = sentence
    lines = (folder / name).read_text("utf-8", "replace").split("\n")
    # Where it stands now that the comments are gone.
    at = start - sum(e - s for file, s, e, _ in chosen if file == name and e <= start)
    if name.endswith(".py"):
        # The sentence stood below.
        while at > 0 and not NAMES["py"].match(lines[at - 1]):
            at -= 1
        at = max(at - 1, 0)
    else:
        while at < len(lines) and re.match(r"\s*(#\[|@|\[)", lines[at]):
            at += 1
    code = lines[at : at + LINES]
    pattern = NAMES.get(name.rsplit(".", 1)[-1])
    named = pattern.match("\n".join(code)) if pattern else OTHER_NAME.search("\n".join(code))
    if not named:
        return None
    declaration = []
    for line in code[:DECLARATION_LINES]:
        declaration.append(line.strip() + " ")
        if "{" in line or line.rstrip().endswith((":", ";")):
            break
    declaration = "".join(declaration).encode()[:DECLARATION_BYTES].decode("utf-8", "ignore")
    passages = [{"path": name, "symbol": named.group(1), "text": text} for text in ("\n".join(code), declaration)]
    return {"id": f"{name}:{at}", "text": text, "line": at + 1, "passages": passages}
