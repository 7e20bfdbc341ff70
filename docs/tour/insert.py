"""Puts what `record.sh` recorded into the pages: insert.py FOLDER PAGE..."""

import pathlib
import re
import sys


def insert(page, recorded):
    """The block of code behind `<!-- recorded: NAME -->` becomes what was recorded under this name."""
    block = re.compile(r"(<!-- recorded: ([\w-]+) -->\n```\n).*?(^```$)", re.DOTALL | re.MULTILINE)
    return block.sub(lambda found: found[1] + recorded[found[2]] + found[3], page)


if __name__ == "__main__":
    folder, *pages = map(pathlib.Path, sys.argv[1:])
    recorded = {file.stem: file.read_text().rstrip("\n") + "\n" for file in folder.glob("*.txt")}
    for page in pages:
        page.write_text(insert(page.read_text(), recorded))
