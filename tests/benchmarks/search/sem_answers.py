"""Asks `sem` (PyPI: semantic-code-search) questions without its screen: run by the Python that has it.

    sem_answers.py REPOSITORY MODEL < QUESTIONS      one question a line; the files come as a list in JSON, one a line
"""

import argparse
import contextlib
import json
import os
import sys

from semantic_code_search.embed import do_embed
from semantic_code_search.query import _query_embeddings
from sentence_transformers import SentenceTransformer

repository, name = sys.argv[1:]
model = SentenceTransformer(name)
arguments = argparse.Namespace(path_to_repo=repository, model_name_or_path=name, batch_size=32, n_results=100, file_extension=None)
with contextlib.redirect_stdout(sys.stderr):
    if not os.path.exists(f"{repository}/.embeddings"):
        do_embed(arguments, model)
for line in sys.stdin:
    arguments.query_text = line.strip()
    found = _query_embeddings(model, arguments)
    files = dict.fromkeys(os.path.relpath(function["file"], repository) for _, function in found)
    print(json.dumps(list(files)[:10]), flush=True)
