"""Draws what a terminal shows, as `tmux capture-pane -e` writes it: draw.py ANSI SVG"""

import pathlib
import re
import sys
import unicodedata
from html import escape

FOREGROUND, BACKGROUND = "#d8dee9", "#1d2129"
# The sixteen colours, as SGR numbers them from 30 and from 90, and behind 38;5 and 48;5.
COLOURS = ["#4c566a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"]
STYLES = {1: "font-weight:bold", 2: "opacity:.6", 3: "font-style:italic", 4: "text-decoration:underline"}
# Which code ends which styles.
ENDS = {22: (1, 2), 23: (3,), 24: (4,), 27: (7,), 39: ("text",), 49: ("behind",)}
CHARACTER, LINE, MARGIN = 8.4, 19, 16


def spans(line):
    """The pieces of a line in one style each: their text and their style."""
    style = {}
    for piece in re.split(r"(\x1b\[[\d;]*m)", line):
        if not piece.startswith("\x1b["):
            if piece:
                yield piece, dict(style)
            continue
        codes = iter([int(number or 0) for number in piece[2:-1].split(";")])
        for code in codes:
            if code == 0:
                style = {}
            elif code in STYLES or code == 7:
                style[code] = True
            elif code in ENDS:
                for ended in ENDS[code]:
                    style.pop(ended, None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                style["text"] = COLOURS[code % 10]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                style["behind"] = COLOURS[code % 10]
            elif code in (38, 48) and next(codes) == 5:
                style["text" if code == 38 else "behind"] = COLOURS[next(codes) % 8]
            else:
                raise ValueError(f"unknown style {code} in {line!r}")


def width_of(text):
    """In columns."""
    widths = (0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
    return sum(widths)


def picture(lines):
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    width = max(map(width_of, plain)) * CHARACTER + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">'
    yield f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
    yield f'<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="{FOREGROUND}" xml:space="preserve">'
    for number, line in enumerate(lines):
        column, top = 0, MARGIN + number * LINE
        for text, style in spans(line):
            columns = width_of(text)
            x, length = MARGIN + column * CHARACTER, columns * CHARACTER
            colour, behind = style.get("text"), style.get("behind")
            if 7 in style:
                colour, behind = behind or BACKGROUND, colour or FOREGROUND
            if behind:
                yield f'<rect x="{x:.1f}" y="{top}" width="{length:.1f}" height="{LINE}" fill="{behind}"/>'
            if text.strip():
                css = [STYLES[code] for code in style if code in STYLES] + ([f"fill:{colour}"] if colour else [])
                y = top + 0.75 * LINE
                yield (
                    f'<text x="{x:.1f}" y="{y:.1f}" textLength="{length:.1f}" style="{";".join(css)}">'
                    f"{escape(text)}</text>"
                )
            column += columns
    yield "</g></svg>"


if __name__ == "__main__":
    ansi, svg = map(pathlib.Path, sys.argv[1:])
    lines = ansi.read_text().rstrip().splitlines()
    svg.write_text("\n".join(picture([line.rstrip() for line in lines])) + "\n")
