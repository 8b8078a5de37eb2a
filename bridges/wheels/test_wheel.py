"""The wheel of `examples/python`, which `test` has built: what is in it, and what it costs to import it."""

import ast
import email
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import diffops
import pytest
from building import BRIDGES, build


@pytest.fixture(scope="module")
def wheel():
    (path,) = (BRIDGES / "target/dist").glob("diffops-*.whl")
    with zipfile.ZipFile(path) as file:
        yield path, {name: file.read(name) for name in file.namelist()}


def test_it_is_for_every_python_from_the_oldest(wheel):
    assert "-cp311-abi3-" in wheel[0].name and not wheel[0].name.endswith("-linux_x86_64.whl")


def test_it_has_the_stub_and_the_licenses(wheel):
    files = wheel[1]
    assert "def squash(x: Array, limit: Array) -> Array:" in files["diffops/__init__.pyi"].decode()
    assert files["diffops/py.typed"] == b""
    info = next(name.partition("/")[0] for name in files if name.endswith("METADATA"))
    metadata = email.message_from_bytes(files[f"{info}/METADATA"])
    listed = metadata.get_all("License-File")
    assert {f"{info}/licenses/{name}" for name in listed} == {name for name in files if "/licenses/" in name}
    for crate in ["pullback", "pullback-python", "autograd-kernels", "ndarray", "pyo3", "numpy"]:
        assert any(re.match(rf"{crate}-[\d.]+/LICENSE", name) for name in listed), crate
    assert "MIT" in files[f"{info}/licenses/pullback-0.1.0/LICENSE-MIT"].decode()


def test_it_has_no_path_of_the_machine_that_built_it(wheel):
    home = str(pathlib.Path.home())
    for name, content in wheel[1].items():
        for folder in {str(BRIDGES.parent), home, str(pathlib.Path(sys.prefix).parent)}:
            assert f"{folder}/".encode() not in content, (name, folder)
    library = next(content for name, content in wheel[1].items() if name.endswith((".so", ".pyd")))
    assert b"autograd-core-0.1.0/src/" in library


def test_it_imports_in_less_than_50_ms_beyond_numpy():
    # Of processor time, as other tests run meanwhile.
    program = "import numpy, time; start = time.process_time(); import diffops; print(time.process_time() - start)"
    runs = (subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True) for _ in range(5))
    assert min(float(run.stdout) for run in runs) < 0.05


def test_the_stub_has_every_function(wheel):
    names = {item.name for item in ast.parse(wheel[1]["diffops/__init__.pyi"]).body if isinstance(item, ast.FunctionDef)}
    assert {name for name in vars(diffops) if hasattr(getattr(diffops, name), "pullback")} | {"vjp"} <= names
    assert all(callable(getattr(diffops, name)) for name in names)


@pytest.mark.parametrize("module", ["python", "selective_scan"])
def test_a_source_distribution_has_all_it_is_built_of(module, tmp_path):
    program = f"import backend; print(backend.build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", program], cwd=BRIDGES / "examples" / module, check=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as file:
        file.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.glob("*/")
    assert (folder / "backend.py").is_file() and not (folder / "backend.py").is_symlink()
    for manifest in folder.glob("**/Cargo.toml"):
        assert str(BRIDGES.parent) not in manifest.read_text(), manifest
    # Has every crate: Cargo reads their manifests.
    manifest = folder / "bridges/examples" / module / "Cargo.toml"
    subprocess.run(["cargo", "metadata", "--format-version=1", "--manifest-path", manifest], check=True, capture_output=True)
    if module == "python":
        return  # Building it again takes minutes: a small module is built alike.
    # Builds from these files alone: a wheel that has its stub, too, as the backend is among them.
    with zipfile.ZipFile(build(path, tmp_path / "wheels")) as file:
        assert f"{module}/__init__.pyi" in file.namelist()
