"""Compiles the source of a plugin, and runs nothing of it: componentize-py says the same after half a minute.

Ends with status 3 and what is wrong on the standard error. A Python that is older than the one in the component does not know
all of the language, so it is not believed where the line may hold what came later.
"""

import re
import sys
import traceback
from pathlib import Path

NEWER = re.compile(r"""\[|\bexcept\b|\btype\b|\b[ft]r?['"]""")

for path in sorted(Path("src").glob("*.py")):
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        if sys.version_info < (3, 14) and NEWER.search(f"{error.text} {error.msg}"):
            continue
        print("".join(traceback.format_exception_only(error)), file=sys.stderr)
        sys.exit(3)
