import os
import pathlib
import subprocess
import sys

import pytest
from building import BRIDGES

NOTEBOOKS = sorted((BRIDGES / "examples/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_written_in_it(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_text(path.read_text())
    # In a process of its own, as it sets the precision of JAX for all.
    command = [sys.executable, str(pathlib.Path(__file__).parent / "notebooks.py"), str(copy)]
    subprocess.run(command, check=True, cwd=tmp_path, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    assert copy.read_text() == path.read_text()


def test_there_is_one_for_each_framework():
    assert [path.stem for path in NOTEBOOKS] == ["in_jax", "in_pytorch"]
