"""Fetches the repositories' sources from the package registries, and reads the commits that Debian's packages carry."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DUNLIN_SEARCH_DATA", HERE / "../../../target/search-quality")).resolve()

SOURCE = re.compile(
    r"\.(rs|py|js|mjs|cjs|ts|tsx|jsx|go|c|cc|cpp|cxx|h|hh|hpp|java|cs|rb|php|vala|kt|swift|scala|pl|pm|m|mm|qml)$"
)
TEST = re.compile(r"(^|/)(tests?|testing|specs?|testdata|__tests__|autotests|unittests?|testsuite)/|(^|/)(test_|tst_)|_test\.|Tests?\.(java|php|cs)$|\.(test|spec)\.")

APT = """\
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{root}/lists";
Dir::Cache "{root}/cache";
APT::Sandbox::User "root";
"""
SOURCE_LINE = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {site} {suite} main"
# The repositories' versions are those of this release.
SUITES = ("bookworm", "bookworm-security")


def repositories(which):
    return json.loads((HERE / "repositories.json").read_text())[which]


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)


def debian_sources():
    """Where this machine's apt gets the packages of the release from: its sources lie there, too."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"],
                             check=True, capture_output=True, text=True).stdout
    sites = {suite: site for site, suite in (line.split(" ") for line in targets.splitlines())}
    missing = [suite for suite in SUITES if suite not in sites]
    if missing:
        sys.exit(f"apt on this machine does not know {' and '.join(missing)} of Debian 12, whose source packages are searched: "
                 "add them to /etc/apt/sources.list.d, or measure with fewer repositories (repositories.json)")
    return "".join(SOURCE_LINE.format(site=sites[suite], suite=suite) + "\n" for suite in SUITES)


def apt_environment():
    """An apt of its own, which knows source packages and changes nothing of the machine's."""
    root = DATA / "apt"
    if not (root / "apt.conf").exists():
        for folder in ("lists/partial", "cache/archives/partial"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "sources.list").write_text(debian_sources())
        (root / "apt.conf").write_text(APT.format(root=root))
        run("apt-get", "update", env={**os.environ, "APT_CONFIG": str(root / "apt.conf")})
    return {**os.environ, "APT_CONFIG": str(root / "apt.conf")}


def fetch_debian(package, part, to, version=None):
    """The original tarballs (`--tar-only`) or the packaging with its patches (`--diff-only`) of a source package."""
    marker = to / f".{package}{part}"
    if not marker.exists():
        to.mkdir(parents=True, exist_ok=True)
        run("apt-get", "source", "--download-only", part, f"{package}={version}" if version else package, cwd=to, env=apt_environment())
        marker.touch()


def unpack(archive, to):
    """Unpacks an archive without the folder that all of it lies in."""
    to.mkdir(parents=True, exist_ok=True)
    run("tar", "--extract", "--file", archive, "--directory", to, "--strip-components=1", "--no-same-owner")


def tree(repository):
    """The folder of a repository's sources as they were published."""
    name, version = repository["name"], repository["version"]
    folder = DATA / "trees" / name
    if folder.exists():
        return folder
    downloads = DATA / "downloads" / name
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    downloads.mkdir(parents=True, exist_ok=True)
    if repository["from"] == "debian":
        fetch_debian(name, "--tar-only", downloads, version)
        # Further tarballs of a package (`.orig-NAME.tar`) hold data of others.
        archive = next(a for a in downloads.glob("*.orig.tar.*") if not a.name.endswith(".asc"))
        unpack(archive, partial)
    elif repository["from"] == "pypi":
        if not any(downloads.glob("*.tar.gz")):
            run(sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
                f"{name}=={version}", cwd=downloads)
        unpack(next(downloads.glob("*.tar.gz")), partial)
    elif repository["from"] == "npm":
        if not any(downloads.glob("*.tgz")):
            run("npm", "pack", f"{name}@{version}", cwd=downloads)
        unpack(next(downloads.glob("*.tgz")), partial)
    elif repository["from"] == "crates":
        shutil.copytree(crate(name, version, downloads), partial)
    if repository["from"] == "npm":
        # What was compiled from the sources says the same once more.
        for built in ("dist", "esm", "lib.commonjs", "lib.esm"):
            shutil.rmtree(partial / built, ignore_errors=True)
    remove_links(partial)
    partial.rename(folder)
    return folder


def crate(name, version, folder):
    """Where cargo keeps the sources of a crate."""
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src/lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\n'
        f'{name} = {{ version = "={version}", default-features = false }}\n[workspace]\n'
    )
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1"], cwd=folder, check=True, capture_output=True, text=True
    )
    packages = json.loads(metadata.stdout)["packages"]
    manifest = next(p["manifest_path"] for p in packages if p["name"] == name and p["version"] == version)
    return Path(manifest).parent


def remove_links(folder):
    """Symbolic links would be found twice."""
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = Path(root) / name
            if path.is_symlink():
                path.unlink()


def commits(repository):
    """The commits that a package carries as patches: subject, and the source files that exist in the tree."""
    package = repository.get("patches_of", repository["name"])
    downloads = DATA / "patches" / package
    fetch_debian(package, "--diff-only", downloads, repository.get("patches", repository["version"]))
    root = tree(repository)
    seen = set()
    for archive in sorted(downloads.glob("*.debian.tar.*")):
        if archive.name.endswith(".asc"):
            continue
        with tarfile.open(archive) as packaging:
            for member in packaging:
                if "/patches/" not in member.name or not member.isfile():
                    continue
                text = packaging.extractfile(member).read().decode("utf-8", "replace")
                subject, files = commit(text)
                if subject is None or subject.lower() in seen:
                    continue
                files = sorted(f for f in files if SOURCE.search(f) and (root / f).is_file())
                source = [f for f in files if not TEST.search(f)]
                if 1 <= len(files) <= 5 and source:
                    seen.add(subject.lower())
                    yield {"text": subject, "files": files}


def commit(text):
    """Subject and changed files of a patch, if it is a commit of the project rather than of the packaging."""
    head, _, _ = text.partition("\n--- ")
    is_commit = (
        re.search(r"^From [0-9a-f]{40} |cherry.picked from commit|^Signed-off-by:", head, re.M)
        or re.search(r"^(Origin|Applied-Upstream): *(upstream|backport|https?://|[0-9a-f]{7,40}|commit|\d+\.)", head, re.M | re.I)
        or (re.search(r"^From: ", head, re.M) and re.search(r"^Date: ", head, re.M))
    )
    by_packagers = re.search(r"^(From|Author): .*(@debian\.org|@ubuntu|@canonical\.com|debian)", head, re.M | re.I)
    if not is_commit or (by_packagers and not re.search(r"^Origin: |cherry.picked", head, re.M)) or re.search(r"^Forwarded: *(not-needed|no\b)", head, re.M | re.I):
        return None, set()
    found = re.search(r"^(?:Subject|Description): *(.+(?:\n[ \t]+\S.*)*)", head, re.M)
    if not found:
        return None, set()
    lines = found.group(1).split("\n")
    subject = lines[0]
    # The first line of a description is its subject; a subject in a mail may go on in the next.
    if found.group(0).startswith("Subject"):
        subject = " ".join(line.strip() for line in lines[:2])
    subject = re.sub(r"\[PATCH[^\]]*\]|\((#\d+|cherry[^)]*|[Cc]loses?:?[^)]*)\)|Bug \d+", " ", subject)
    subject = re.sub(r"\b(CVE-\d+-\d+|LP: #\d+|gh-\d+|#\d+)\b:?", " ", subject)
    subject = re.sub(r"\(\s*\)|\[\s*\]", " ", subject)
    subject = re.sub(r"^\W*(upstream|SECURITY)\s*:", " ", subject)
    subject = re.sub(r"\s+", " ", subject).strip(" ,.;:-")
    words = re.findall(r"[A-Za-z]{2,}", subject)
    if len(words) < 4 or re.search(r"\b(bump|version|release|changelog|merge|typo|copyright|backport|cherry-pick|revert|debian|autopkgtest|skip|intersphinx|reproducible|doctrine/\S+ \d)\b|=\?utf", subject, re.I):
        return None, set()
    files = {re.sub(r"^[^/]+/", "", f, count=1) for f in re.findall(r"^\+\+\+ ([^\s]+)", text, re.M) if f != "/dev/null"}
    return subject[:300], files
