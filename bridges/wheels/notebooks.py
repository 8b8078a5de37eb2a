"""Runs the code of notebooks, one cell after the other, and compares what they print with what is written in them.

`python notebooks.py NOTEBOOK …` writes what they print now.
"""

import contextlib
import io
import json
import pathlib
import sys


def run(path):
    """Returns the notebook with the printed text of each cell."""
    notebook = json.loads(path.read_text())
    names = {"__name__": "__main__"}
    for index, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"{path.name}, cell {index}", "exec"), names)
        text = printed.getvalue().splitlines(keepends=True)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text}] if text else []
    return notebook


def written(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in map(pathlib.Path, sys.argv[1:]):
        name.write_text(written(run(name)))
