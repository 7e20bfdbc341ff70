"""What needs no host is tested like any other Python: python3 -m unittest."""

import ast
import unittest
from pathlib import Path


def function(name):
    """A function of app.py alone: its imports are there only when it is built."""
    tree = ast.parse(Path(__file__).with_name("app.py").read_text())
    tree.body = [part for part in tree.body if getattr(part, "name", None) == name]
    found = {}
    exec(compile(tree, "app.py", "exec"), found)
    return found[name]


class Words(unittest.TestCase):
    def test_words_are_counted(self):
        count = function("count")
        self.assertEqual(count(""), 0)
        self.assertEqual(count("two  words\n"), 2)


if __name__ == "__main__":
    unittest.main()
