"""Takes sentences of documentation out of sources: the sentence becomes a question, the file its answer."""

import ast
import random
import re
import shutil
import warnings

from sources import SOURCE, TEST, tree, DATA

PER_REPOSITORY = 40
PER_FILE = 2
SKIPPED = re.compile(r"(^|/)(vendor|third_party|node_modules|docs?|examples?|benchmarks?|benches|generated|lib\.(esm|commonjs)|dist|subprojects)/")

# Words that say nothing about which function is meant.
EMPTY = set(
    """a an the this that these those it its of to in for on with and or is are be by from as at if when not into does do how was were
    will would shall should can could may must has have had which who whom whose what where while there then than so such also only
    any all each every some no one ones other another same own more most very just via per method function class object instance
    value values parameter parameters argument arguments variable type call calls called caller calling invoke invoked invokes
    implementation implementations subclass subclasses derived base default defaults code item thing things something get gets set
    sets return returns returned returning use used uses using given specified current currently new create creates created
    make makes made check checks whether true false null none otherwise based example following provided passed see note should
    override overridden needed necessary etc""".split()
)
# No sentence ends with these: it goes on in a list, or was cut at an abbreviation.
CUT = re.compile(r"(^|\W)(a|an|the|of|and|or|but|if|e\.?g|i\.?e|like this|than|whose|to the|is|are)\W*$", re.I)

FUNCTIONS = {
    "rs": re.compile(r"^\s*(pub(\([^)]*\))?\s+)?(const\s+)?(async\s+)?(unsafe\s+)?fn\s+(\w+)"),
    "go": re.compile(r"^func\s+(\([^)]*\)\s*)?(\w+)"),
    "c": re.compile(r"^(?!\s)[\w\s*]+\n?(\w+)\s*\("),
    "java": re.compile(r"^\s+(?:(?:public|protected|private|static|final|synchronized|abstract)\s+)+[\w<>\[\], .?]+\s+(\w+)\s*\("),
    "php": re.compile(r"^\s*(?:(?:public|protected|private|static|final|abstract)\s+)*function\s+(\w+)"),
    "ts": re.compile(r"^\s*(?:export\s+)?(?:(?:public|protected|private|static|async|abstract|readonly)\s+)*(?:function\s+)?(?:get\s+|set\s+)?(\w+)\s*(?:<[^>]*>)?\("),
}
KIND = {"rs": "rs", "go": "go", "c": "c", "cc": "c", "cpp": "c", "java": "java", "php": "php", "ts": "ts", "js": "ts"}


def questions(repository):
    """The questions of a repository. Leaves a tree without those sentences."""
    chosen = choose(sentences(tree(repository)), PER_REPOSITORY, PER_FILE)
    without(repository, chosen)
    return [{"text": sentence, "files": [name]} for name, _, _, sentence in chosen if can_be_answered(sentence)]


def sentences(root):
    """File, first line and end of the comment, and sentence of each documented function."""
    found = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or not SOURCE.search(name) or TEST.search(name) or SKIPPED.search(name):
            continue
        if path.stat().st_size > 500_000:
            continue
        text = path.read_text("utf-8", "replace")
        kind = name.rsplit(".", 1)[-1]
        comments = python_comments(text) if kind == "py" else other_comments(text, KIND.get(kind))
        found += [(name, start, end, sentence) for start, end, sentence in comments]
    return found


def choose(found, per_repository, per_file, keep=lambda sentence: True):
    """Some of them that stand only once, in no order; only those whose sentence is one to keep."""
    random.Random(6).shuffle(found)
    by_sentence = {}
    for _, _, _, sentence in found:
        by_sentence[sentence.lower()] = by_sentence.get(sentence.lower(), 0) + 1
    in_file, chosen = {}, []
    for name, start, end, sentence in found:
        if by_sentence[sentence.lower()] > 1 or in_file.get(name, 0) >= per_file or len(chosen) >= per_repository:
            continue
        if not keep(sentence):
            continue
        in_file[name] = in_file.get(name, 0) + 1
        chosen.append((name, start, end, sentence))
    return chosen


def without(repository, chosen):
    """A tree without the comments that these sentences begin."""
    folder = DATA / "trees-without" / repository["name"]
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(tree(repository), partial)
        remove(partial, chosen)
        partial.rename(folder)
    return folder


def can_be_answered(sentence):
    """Whether anybody could say what is meant: by the sentence alone, whatever answers it."""
    if CUT.search(sentence) or sentence.count('"') % 2 or any(sentence.count(a) != sentence.count(b) for a, b in ("()", "[]", "{}")):
        return False
    return len({word.lower() for word in re.findall(r"[A-Za-z]{3,}", sentence)} - EMPTY) >= 3


def remove(root, chosen):
    """Removes the whole comment of each chosen function."""
    by_file = {}
    for name, start, end, _ in chosen:
        by_file.setdefault(name, []).append((start, end))
    for name, ranges in by_file.items():
        lines = (root / name).read_text("utf-8", "replace").split("\n")
        for start, end in sorted(ranges, reverse=True):
            lines[start:end] = []
        (root / name).write_text("\n".join(lines))


def sentence(text):
    """The first sentence of a comment as a person would say it, if it says anything."""
    text = re.split(r"\n\s*\n|\n\s*[@\\]\w+|\n\s*#|\n\s*(?:Args|Parameters|Returns|Raises|Example)", text.strip())[0]
    text = re.sub(r"\{@\w+ ([^}]*)\}|:\w+:`~?([^`]*)`|\[`?([^\]`]*)`?\](\([^)]*\)|\[[^\]]*\])?", lambda m: next(g for g in m.groups() if g is not None), text)
    text = re.sub(r"<[^>]+>|[`*%#|]", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.split(r"(?<=[a-z)])\.(?=\s|$)", text)[0].strip(" .:")
    words = re.findall(r"[A-Za-z]{2,}", text)
    if not 6 <= len(words) <= 40 or not text.isascii():
        return None
    if re.match(r"(TODO|FIXME|XXX|Copyright|See|Deprecated|Note|Same as|Like|Internal|@|inherit)", text, re.I):
        return None
    return text


def python_comments(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError):
            return
    for node in ast.walk(module):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or len(node.body) < 2:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            said = sentence(ast.get_docstring(node) or "")
            if said:
                yield first.lineno - 1, first.end_lineno, said


def other_comments(text, kind):
    pattern = FUNCTIONS.get(kind)
    if pattern is None:
        return
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        start = at
        if stripped.startswith("/**") and kind not in ("rs", "go"):
            while at < len(lines) and "*/" not in lines[at]:
                at += 1
            at += 1
            comment = [re.sub(r"^\s*/?\*+/?\s?|\*/\s*$", "", line) for line in lines[start:at]]
        elif (kind == "rs" and stripped.startswith("///")) or (kind == "go" and stripped.startswith("// ")):
            while at < len(lines) and lines[at].strip().startswith("//"):
                at += 1
            comment = [re.sub(r"^\s*///?\s?", "", line) for line in lines[start:at]]
        else:
            at += 1
            continue
        declared = at
        while declared < len(lines) and re.match(r"\s*(#\[|@|\[)", lines[declared]):
            declared += 1
        code = "\n".join(lines[declared : declared + 2])
        if not pattern.match(code) or re.match(r"\s*(if|for|while|switch|return)\b", code):
            continue
        if kind == "c":
            # GLib's and others' comments begin with the name and the parameters.
            while comment and (not comment[0].strip() or re.match(r"\s*@?\w+ ?(\(.*\))?:( |$)", comment[0])):
                comment = comment[1:]
                while comment and comment[0].startswith("  "):
                    comment = comment[1:]
        if kind == "go":
            # "Name does this" would name the function.
            comment[0] = re.sub(r"^\w+ ", "", comment[0])
        said = sentence("\n".join(comment))
        if said:
            yield start, at, said
