"""Makes a crate by `new`, as `README.md` describes, in a new folder, and builds and tests it."""

import os
import re
import subprocess
import sys

from building import BRIDGES, build, environment_of_cargo

# Two keywords of Python, one of them also of Rust, and a name that operators of PyTorch cannot have.
BETWEEN = """
#[custom_function(elementwise)]
pub fn between<T: Real>(r#in: T, from: T, σ: T) -> T { (r#in - from) / σ }
"""


# Runs the tests with the options of the wheel, so that Cargo compiles the library once for both.
CARGO_TEST = """
import subprocess, backend
with backend.renamed(backend.Crates().folders) as options:
    subprocess.run(["cargo", "test", "--quiet", *options], check=True)
"""


def chapter():
    text = (BRIDGES / "README.md").read_text()
    return text[text.index("## In PyTorch, from nothing") : text.index("## One function in six frameworks")]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", chapter(), re.DOTALL)


def new(*arguments, **options):
    return subprocess.run([sys.executable, str(BRIDGES / "new"), *arguments], capture_output=True, text=True, **options)


def test_the_readme_shows_the_template():
    template = (BRIDGES / "template/src/lib.rs").read_text()
    for block in blocks("rust"):
        assert block.replace("my_ops", "template") in template


def test_a_new_crate_is_built_and_differentiated(tmp_path):
    assert "pip install ." in new("my_ops", cwd=tmp_path, check=True).stdout
    crate = tmp_path / "my_ops"
    source = crate / "src/lib.rs"
    source.write_text(source.read_text().replace("{ my_ops:", "{ my_ops: between,") + BETWEEN)
    tests = crate / "tests/test_my_ops.py"
    case = '"between": (numpy.ones(2), numpy.zeros(2), numpy.ones(2)), "squash": ('
    tests.write_text(tests.read_text().replace('"squash": (', case))
    wheel = build(crate, tmp_path / "wheels")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "installed", str(wheel)]
    subprocess.run(install, cwd=tmp_path, check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    (python,) = blocks("python")
    program = python + (
        "compiled = torch.compile(lambda **x: my_ops.between(**x), backend='aot_eager', fullgraph=True)\n"
        "for between in my_ops.between, compiled:\n"
        "    assert between(in_=torch.ones(2), from_=torch.zeros(2), σ=torch.ones(2)).tolist() == [1, 1]\n"
        "print(my_ops.__file__)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, stdout=-1, text=True)
    assert str(tmp_path) in ran.stdout
    # The tests of the crate itself, in Python and in Rust.
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=crate, env=environment, check=True)
    command, environment = [sys.executable, "-c", CARGO_TEST], environment_of_cargo()
    ran = subprocess.run(command, cwd=crate, env=environment, check=True, stdout=-1, text=True)
    assert "2 passed" in ran.stdout
    stub = (tmp_path / "installed/my_ops/__init__.pyi").read_text()
    assert "def product(x: Array, w: Array, scale: float) -> Array:" in stub


def test_a_new_crate_has_a_name_and_a_folder_of_its_own(tmp_path):
    for name, text in [("my-ops", "is not a name of a module"), ("Ops", "is not a name of a module"), (".", "is not a name")]:
        assert text in new(name, cwd=tmp_path).stderr
    (tmp_path / "my_ops").mkdir()
    (tmp_path / "my_ops/notes").touch()
    assert "my_ops is not empty" in new("my_ops", cwd=tmp_path).stderr
    assert new(cwd=tmp_path).returncode != 0
    assert "name a folder elsewhere" in new("my_ops", cwd=BRIDGES).stderr
    assert not (BRIDGES / "my_ops").exists()
