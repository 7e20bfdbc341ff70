"""Fetches the sources; with `--questions` makes the questions anew instead of checking that they still fit."""

import json
import sys

import documented
import sources

QUESTIONS = sources.HERE / "questions"
MAX_COMMITS = 40


def main():
    make = "--questions" in sys.argv[1:]
    for which in ("tune", "mix", "held-out"):
        for kind in ("commits", "docs"):
            lines = []
            for repository in sources.repositories(which):
                if kind not in repository["kinds"]:
                    continue
                name = repository["name"]
                print(f"{which} {kind} {name}", file=sys.stderr)
                if kind == "docs":
                    found = documented.questions(repository)
                else:
                    sources.tree(repository)
                    found = list(sources.commits(repository))[:MAX_COMMITS] if make else []
                for number, question in enumerate(found):
                    lines.append({"id": f"{name}-{kind}-{number}", "repository": name, **question})
            if not lines:
                continue
            file = QUESTIONS / f"{which}-{kind}.jsonl"
            text = "".join(json.dumps(line) + "\n" for line in lines)
            if make:
                QUESTIONS.mkdir(exist_ok=True)
                file.write_text(text)
            elif kind == "docs" and file.read_text() != text:
                sys.exit(f"{file.name}: the sources have changed; make the questions anew with --questions")


if __name__ == "__main__":
    main()
