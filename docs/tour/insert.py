"""Puts what `record.sh` recorded into the pages, and draws the picture: insert.py FOLDER SVG PAGE..."""

import pathlib
import re
import sys
from html import escape

FOREGROUND, BACKGROUND = "#d8dee9", "#1d2129"
# The sixteen colours, as SGR numbers them from 30 and from 90.
COLOURS = ["#4c566a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"]
STYLES = {1: "font-weight:bold", 2: "opacity:.6", 3: "font-style:italic", 4: "text-decoration:underline"}
CHARACTER, LINE, MARGIN = 8.4, 19, 16


def insert(page, recorded):
    """The block of code behind `<!-- recorded: NAME -->` becomes what was recorded under this name."""
    block = re.compile(r"(<!-- recorded: ([\w-]+) -->\n```\n).*?(^```$)", re.DOTALL | re.MULTILINE)
    return block.sub(lambda found: found[1] + recorded[found[2]] + found[3], page)


def spans(line):
    """The pieces of a line in one style each: their text and their style."""
    style = {}
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if not piece.startswith("\x1b["):
            if piece:
                yield piece, ";".join(style.values())
            continue
        for code in [int(number or 0) for number in piece[2:-1].split(";")]:
            if code == 0:
                style = {}
            elif code in STYLES:
                style[code] = STYLES[code]
            elif code == 22:
                style.pop(1, None), style.pop(2, None)
            elif code in (23, 24):
                style.pop(code - 20, None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                style["fill"] = f"fill:{COLOURS[code % 10]}"
            elif code == 39:
                style.pop("fill", None)


def picture(lines):
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    width = max(map(len, plain)) * CHARACTER + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">'
    yield f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
    yield f'<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="{FOREGROUND}" xml:space="preserve">'
    for number, line in enumerate(lines):
        column, y = 0, MARGIN + (number + 0.75) * LINE
        for text, style in spans(line):
            x, length = MARGIN + column * CHARACTER, len(text) * CHARACTER
            if text.strip():
                yield f'<text x="{x:.1f}" y="{y:.1f}" textLength="{length:.1f}" style="{style}">{escape(text)}</text>'
            column += len(text)
    yield "</g></svg>"


if __name__ == "__main__":
    folder, svg, *pages = map(pathlib.Path, sys.argv[1:])
    recorded = {file.stem: file.read_text().rstrip("\n") + "\n" for file in folder.glob("*.txt")}
    for page in pages:
        page.write_text(insert(page.read_text(), recorded))
    lines = (folder / "picture.ansi").read_text().rstrip().splitlines()
    svg.write_text("\n".join(picture([line.rstrip() for line in lines])) + "\n")
