"""Builds the crate of `bridges/README.md` from its text, in a new folder."""

import os
import pathlib
import re
import subprocess
import sys

BRIDGES = pathlib.Path(__file__).parents[2]

# Two keywords of Python, one of them also of Rust, and a name that operators of PyTorch cannot have.
BETWEEN = """
#[custom_function(elementwise)]
pub fn between<T: Real>(r#in: T, from: T, σ: T) -> T { (r#in - from) / σ }
"""


def test_what_the_readme_writes_is_built_and_differentiated(tmp_path):
    text = (BRIDGES / "README.md").read_text()
    text = text[text.index("## In PyTorch, from nothing") : text.index("## One function in six frameworks")]
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    (cargo, project), rust, (python,) = (
        [body for found, body in blocks if found == language] for language in ("toml", "rust", "python")
    )
    squash, product = rust
    product = product.replace("use pullback::prelude::*;\n", "")
    (tmp_path / "Cargo.toml").write_text(cargo.replace("…", str(BRIDGES.parent)))
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text(squash.replace(": squash }", ": between, product, squash }") + product + BETWEEN)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BRIDGES / "target")}
    build = ["maturin", "build", "--quiet", "--out", "wheels"]
    subprocess.run(build, cwd=tmp_path, env=environment, check=True)
    (wheel,) = (tmp_path / "wheels").iterdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "installed", str(wheel)]
    subprocess.run(install, cwd=tmp_path, check=True)
    program = python + (
        "tensors = [torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in [(2, 3), (3, 4)]]\n"
        "assert torch.autograd.gradgradcheck(lambda x, w: diffops.product(x, w, 2.5), tensors)\n"
        "compiled = torch.compile(lambda **x: diffops.between(**x), backend='aot_eager', fullgraph=True)\n"
        "for between in diffops.between, compiled:\n"
        "    assert between(in_=torch.ones(2), from_=torch.zeros(2), σ=torch.ones(2)).tolist() == [1, 1]\n"
        "print(diffops.__file__, diffops.__pyi__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    assert str(tmp_path) in ran.stdout and "def product(x: Array, w: Array, scale: float) -> Array:" in ran.stdout
