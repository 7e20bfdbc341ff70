"""Asks every question of a set in each way, and prints how well each finds the files.

    measure.py [tune|held-out] [WAY...]       ways: ripgrep, bm25, dunlin

NDCG@10 of files and how often the first file is right. `dunlin` is the example `search_quality` of dunlin-code-index;
`bm25` is the same with chunks alone counting.
"""

import collections
import json
import math
import os
import re
import subprocess
import sys

import sources

PROGRAM = os.environ.get("DUNLIN_SEARCH_QUALITY", sources.HERE / "../../target/release/examples/search_quality")
DEPTH = 10

# BM25 over chunks and nothing else.
PLAIN = ["features.0=1"] + [f"features.{n}=0" for n in range(1, 12)] + [
    "pair=0", "declared=0", "header=1", "weak=1", "area=1", "written=1", "test=1", "example=1", "vendored=1", "prose=1", "data=1",
]

STOP = set("the a an of to in for on with and or is are be by from that this it as at if when not into does do how".split())


def load(which, kind):
    by_repository = collections.OrderedDict()
    for line in (sources.HERE / "questions" / f"{which}-{kind}.jsonl").read_text().splitlines():
        question = json.loads(line)
        by_repository.setdefault(question["repository"], []).append(question)
    return by_repository


def ndcg(found, wanted):
    gain = sum(1 / math.log2(rank + 2) for rank, file in enumerate(found[:DEPTH]) if file in wanted)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(wanted))))


def folder(kind, repository):
    return sources.DATA / ("trees-without" if kind == "docs" else "trees") / repository


def dunlin(kind, repository, questions, settings=()):
    asked = sources.DATA / f"asked-{os.getpid()}.jsonl"
    asked.write_text("".join(json.dumps({"id": q["id"], "text": q["text"]}) + "\n" for q in questions))
    index = sources.DATA / "index" / f"{kind}-{repository}"
    command = [PROGRAM, folder(kind, repository), index, asked]
    for setting in settings:
        command += ["--set", setting]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    return [answer["files"] for answer in answers[:-1]]


def bm25(kind, repository, questions):
    return dunlin(kind, repository, questions, PLAIN)


def ripgrep(kind, repository, questions):
    """Files by how many of a question's words they have, then by how often."""
    root = folder(kind, repository)
    results = []
    for question in questions:
        words = {w.lower() for w in re.findall(r"[A-Za-z_]\w+", question["text"])} - STOP
        have, often = collections.Counter(), collections.Counter()
        for word in sorted(words):
            out = subprocess.run(["rg", "--count", "--ignore-case", "--word-regexp", "--fixed-strings", "--", word, "."],
                                 cwd=root, capture_output=True, text=True).stdout
            for line in out.splitlines():
                file, _, count = line.rpartition(":")
                have[file[2:]] += 1
                often[file[2:]] += int(count)
        results.append(sorted(have, key=lambda file: (-have[file], -often[file], file))[:DEPTH])
    return results


WAYS = {"ripgrep": ripgrep, "bm25": bm25, "dunlin": dunlin}


def main():
    arguments = sys.argv[1:]
    which = arguments.pop(0) if arguments and arguments[0] in ("tune", "held-out") else "held-out"
    ways = arguments or ["ripgrep", "bm25", "dunlin"]
    print(f"{which:10} {'':8} " + " ".join(f"{kind + ': NDCG@10, hit@1':>26}" for kind in ("commits", "docs")))
    for way in ways:
        cells = []
        for kind in ("commits", "docs"):
            scores = []
            for repository, questions in load(which, kind).items():
                for question, found in zip(questions, WAYS[way](kind, repository, questions), strict=True):
                    scores.append((ndcg(found, question["files"]), bool(found) and found[0] in question["files"]))
            count = len(scores)
            cells.append(f"{sum(s for s, _ in scores) / count:.3f}, {sum(h for _, h in scores) / count:.2f} ({count})")
        print(f"{way:19} " + " ".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
