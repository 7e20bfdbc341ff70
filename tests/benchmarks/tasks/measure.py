"""Gives tasks to Dunlin, and prints how each went, as a table.

    measure.py [--way tools|plain|read] [--url URL --model MODEL [--key VARIABLE]] [--results FOLDER] [TASK...]

A task is a prompt, a repository and a check; `repositories/NAME.toml` has those of a repository. Without a URL a transcript plays
the model: the calls that a good model would make, mistakes included. This measures the tools, not a model. TASK is the beginning
of the name of a task, such as `heck` or `heck-change`. `--way plain` gives the model no tools but read_file, edit_file and
run_terminal_command; `--way read` has ten tasks of its own for the smallest of models, with read_file alone, and needs a URL.
`--results` keeps the documents of `dunlin ask --json`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "search"))
import sources  # noqa: E402

DATA = Path(os.environ.get("DUNLIN_TASKS_DATA", HERE / "../../../target/tasks")).resolve()
sources.DATA = DATA
BUILT = HERE / "../../../target/release"
DUNLIN = os.environ.get("DUNLIN", str((BUILT / "dunlin").resolve()))
TRANSCRIPT = os.environ.get("DUNLIN_TRANSCRIPT", str((BUILT / "transcript").resolve()))

KINDS = ("find", "explain", "change", "test")
# The tools of the model in each way; None: all.
WAYS = {
    "tools": None,
    "plain": ["read_file", "edit_file", "run_terminal_command"],
    "read": ["read_file"],
}
# What nobody has to be asked about: a task is about whether the work can be done.
GRANTS = [word for tool in ("edit_file", "write_file", "run_terminal_command") for word in ("--allow-tool", tool)]
PATIENCE = 600


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--url")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--key", help="the environment variable with the server's key")
    parser.add_argument("--results", type=Path)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    options = parser.parse_args()
    ways = options.way or (["tools"] if options.url else ["tools", "plain"])
    if "read" in ways and (len(ways) > 1 or not options.url):
        parser.error("--way read needs a URL, and is measured alone")
    kinds = ["read"] if "read" in ways else KINDS
    chosen = [task for task in tasks(kinds) if not options.tasks or any(task["name"].startswith(it) for it in options.tasks)]
    if not chosen:
        sys.exit("no task has such a name")
    runs = {way: [run(task, way, options) for task in chosen] for way in ways}
    print_table(chosen, runs, kinds)
    for way, results in runs.items():
        for task, result in zip(chosen, results):
            for problem in result["problems"]:
                print(f"{task['name']} ({way}): {problem}", file=sys.stderr)
    sys.exit(any(result["problems"] for results in runs.values() for result in results) and not options.url)


def tasks(kinds):
    found = []
    for file in sorted((HERE / "repositories").glob("*.toml")):
        repository = tomllib.loads(file.read_text())
        for kind in kinds:
            found.append({"kind": kind, "name": f"{repository['name']}-{kind}", "repository": repository, **repository[kind]})
    return sorted(found, key=lambda task: kinds.index(task["kind"]))


def run(task, way, options):
    """What came of a task: the figures, and what is wrong."""
    print(f"{task['name']} ({way})", file=sys.stderr)
    project = fresh_project(task)
    if options.url:
        configure(options.url, options.model, WAYS[way], options.key)
        answer, sent = ask(project, task["prompt"], GRANTS), None
    else:
        answer, sent = play(project, task["prompt"], GRANTS, [*rounds(task[way]), {"say": task["say"]}], WAYS[way])
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / f"{task['name']}-{way}.json").write_text(json.dumps({"answer": answer, "sent": sent}, indent=1))
    counted = figures(answer, sent)
    found = list(problems(task, way, project, answer, sent))
    return {**counted, "problems": found, "passed": "no" if found else "yes"}


def rounds(written):
    """A round is written as one call or as a list of calls."""
    for calls in written:
        yield {"calls": [calls] if isinstance(calls[0], str) else calls}


def figures(answer, sent):
    calls = answer["calls"]
    requests = sent["requests"] if sent else []
    return {
        "calls": len(calls),
        "rounds": answer["rounds"],
        # What only --allow-tool allowed, a person would have been asked about.
        "questions": sum(entry.get("rule", "").startswith("allowed for this run") for entry in audit()),
        "definitions": requests[0]["definitions"] if requests else None,
        "results": sum(request["results"] for request in requests) if requests else None,
        "sent": sum(request["tokens"] for request in requests) if requests else answer["usage"]["input_tokens"],
    }


def problems(task, way, project, answer, sent):
    if answer["end"] != "answered":
        yield f"ended with {answer['end']}: {answer.get('error')}"
    for rule in sent["violations"] if sent else []:
        yield f"a server would refuse this: {rule}"
    results = "\n".join(call["result"] or "" for call in answer["calls"])
    # What the reply of a transcript says was written beforehand: it counts as far as the results of the calls say it.
    for pattern in task.get("seen", []) + task.get(f"seen_{way}", []) if sent else []:
        if not re.search(pattern, results):
            yield f"no result of a call has {pattern!r}"
    if "reads" in task and not any(
        call["tool"] == "read_file" and call["state"] == "completed" and call["arguments"].get("file_path") == task["reads"]
        for call in answer["calls"]
    ):
        yield f"{task['reads']} was not read"
    for pattern in task.get("answer", []):
        if not re.search(pattern, answer["reply"] or ""):
            yield f"the reply has no {pattern!r}"
    for command in task.get("check", []):
        status, output = command_status(project, command)
        if status != 0:
            yield f"{command} failed: {output[-2000:]}"
    for mutant in task.get("mutants", []):
        file = project / mutant["file"]
        text = file.read_text()
        if text.count(mutant["old"]) != 1:
            yield f"{mutant['file']} does not have {mutant['old']!r} exactly once"
            continue
        file.write_text(text.replace(mutant["old"], mutant["new"]))
        status, _ = command_status(project, task["check"][-1])
        file.write_text(text)
        if status == 0:
            yield f"{task['check'][-1]} does not notice {mutant['new']!r}"


def fresh_project(task):
    """A copy of the repository, with what the task changes in it, as a git repository with one commit."""
    tree = sources.tree(task["repository"])
    project = DATA / "projects" / task["name"]
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(tree, project, ignore=shutil.ignore_patterns("*.pyc", "__pycache__", "*.egg-info", ".cargo-ok"))
    for change in task.get("before", []):
        file = project / change["file"]
        text = file.read_text()
        assert text.count(change["old"]) == 1, f"{change['file']} has {change['old']!r} {text.count(change['old'])} times"
        file.write_text(text.replace(change["old"], change["new"]))
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "as published"]):
        subprocess.run(["git", *identity, *command], cwd=project, check=True)
    (project / ".git/info/exclude").write_text("target/\n__pycache__/\n")
    return project


def command_status(project, command):
    """Runs a command in Dunlin's sandbox, as it runs code that a model wrote."""
    call = {"calls": [["run_terminal_command", {"command": command}]]}
    answer, _ = play(project, "check", ["--allow-tool", "run_terminal_command"], [call, {"say": "done"}], None)
    result = answer["calls"][0]["result"]
    found = re.search(r"exit status (\d+)", result)
    return (int(found.group(1)) if found else -1), result


def play(project, prompt, grants, replies, tools):
    """Asks a server that plays these replies; also returns what that server got."""
    script = DATA / f"replies-{os.getpid()}.json"
    script.write_text(json.dumps(replies))
    with subprocess.Popen([TRANSCRIPT, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        configure(server.stdout.readline().strip(), "scripted", tools, None)
        answer = ask(project, prompt, grants)
        sent, _ = server.communicate()
    script.unlink()
    return answer, json.loads(sent)


def configure(url, model, tools, key):
    lines = ['default_agent = "assistant"', 'on_denial = "continue"', ""]
    if key:
        lines += ["[keys.server]", f"env = {json.dumps(key)}", ""]
    lines += ["[agents.assistant]", f"base_url = {json.dumps(url)}", f"model = {json.dumps(model)}"]
    lines += ['api_key = "server"'] * bool(key) + [f"tools = {json.dumps(tools)}"] * (tools is not None)
    folder = DATA / "home/config/dunlin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("\n".join(lines) + "\n")


def ask(project, prompt, grants):
    # Of each question the audit log and the index are its own.
    shutil.rmtree(DATA / "home/data", ignore_errors=True)
    done = dunlin(project, "ask", "--json", *grants, prompt)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"dunlin ask {prompt!r} failed: {done.stderr}")


def audit():
    """What the last question was allowed to do."""
    return [json.loads(line) for line in dunlin(DATA, "audit", "--json", "--lines", "0").stdout.splitlines()]


def dunlin(folder, *arguments):
    home = {f"XDG_{kind.upper()}_HOME": str(DATA / "home" / kind) for kind in ("config", "data", "state", "cache")}
    # Nothing is piped in, and tests print the same on every machine.
    environment = {**os.environ, **home, "RUST_BACKTRACE": "0"}
    return subprocess.run([DUNLIN, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE)


def print_table(chosen, runs, kinds):
    columns = ("calls", "rounds", "questions", "results", "sent")
    print("| |" + "".join(f" {way}: {' / '.join(columns)} | passed |" for way in runs))
    print("| --- |" + " --- | --- |" * len(runs))
    for number, task in enumerate(chosen):
        print_row(task["name"], [results[number] for results in runs.values()], columns)
    for kind in kinds:
        of_kind = [number for number, task in enumerate(chosen) if task["kind"] == kind]
        if of_kind:
            print_row(f"{kind}, together", [summed([results[n] for n in of_kind]) for results in runs.values()], columns)
    print_row("together", [summed(results) for results in runs.values()], columns)
    for way, results in runs.items():
        if results[0]["definitions"] is not None:
            print(f"\nThe definitions of the tools ({way}) are {results[0]['definitions']:,} tokens of each request.")


def print_row(name, results, columns):
    cells = []
    for result in results:
        values = [result[column] for column in columns]
        cells.append(" / ".join("–" if value is None else f"{value:,}" for value in values))
        cells.append(result["passed"])
    print(f"| {name} | " + " | ".join(cells) + " |")


def summed(results):
    total = {}
    for column in ("calls", "rounds", "questions", "results", "sent"):
        values = [result[column] for result in results]
        total[column] = None if None in values else sum(values)
    total["passed"] = f"{sum(not result['problems'] for result in results)} of {len(results)}"
    return total


if __name__ == "__main__":
    main()
