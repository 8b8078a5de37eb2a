"""The environments in which the wheels of `examples` are tested, beside `.venv`.

`python environments.py make` makes them in `.venvs`, unless they are there. `python environments.py test WHEEL …`
installs the wheels in each of them and runs the tests of the bridge. What cannot be made is skipped, with the reason.
"""

import concurrent.futures
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import nvidia

BRIDGES = pathlib.Path(__file__).resolve().parents[1]
FOLDER = BRIDGES / ".venvs"
# Python, PyTorch, JAX, NumPy: the oldest that the bridge supports and the newest, for two versions of Python.
TABLE = [
    ("3.11", "2.6.0", "0.5.0", "1.26.0"),
    ("3.11", "2.15.0", "0.10.2", "2.4.6"),
    ("3.13", "2.6.0", "0.5.0", "2.1.0"),
    ("3.13", "2.15.0", "0.12.0.1", "2.5.5"),
]
# What PyTorch imports on a CPU, what `jax.export` does, and what runs the tests.
OTHERS = "filelock typing-extensions sympy networkx jinja2 fsspec setuptools absl-py flatbuffers pytest".split()


class Skipped(Exception):
    pass


def name_of(row):
    python, torch, jax, numpy = row
    return f"python-{python}-torch-{torch}-jax-{jax}-numpy-{numpy}"


def run(command, **options):
    """Runs a command; its last line of output is the reason for which it fails."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if ran.returncode:
        lines = ran.stdout.strip().splitlines() or ["no output"]
        raise Skipped(f"{pathlib.Path(command[0]).name} {' '.join(command[1:4])}: {lines[-1]}")
    return ran.stdout


def interpreter(version):
    found = [shutil.which(f"python{version}"), sys.executable]
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found += sorted(map(str, root.glob(f"versions/{version}.*/bin/python")))
    for python in filter(None, found):
        # A shim of pyenv can stand for a version that is not selected.
        command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.stdout.strip() == version:
            return python
    raise Skipped(f"there is no Python {version}")


def make(row):
    folder = FOLDER / name_of(row)
    if (folder / "made").exists():
        return
    version, torch, jax, numpy = row
    shutil.rmtree(folder, ignore_errors=True)
    try:
        run([interpreter(version), "-m", "venv", str(folder)])
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
        # PyTorch alone: on Linux it would bring libraries for NVIDIA's devices of 3 GB.
        run([*pip, "--no-deps", f"torch=={torch}"])
        run([*pip, f"jax=={jax}", f"jaxlib=={jax}", f"numpy=={numpy}", *OTHERS])
        packages = folder / "lib" / f"python{version}" / "site-packages"
        nvidia.stand_in(packages / "torch" / "lib")
        run([str(folder / "bin/python"), "-c", "import torch, jax"])
    except (Skipped, OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"skipped: {name_of(row)}: {error}", flush=True)
        return
    (folder / "made").touch()


def test(row, wheels):
    """Returns whether the tests pass; None if the environment is missing."""
    folder = FOLDER / name_of(row)
    if not (folder / "made").exists():
        print(f"skipped: {name_of(row)}, which `./setup` has not made", flush=True)
        return None
    python = str(folder / "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", *wheels])
    tests = [str(BRIDGES / folder) for folder in ("python/tests", "examples")]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *tests]
    ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = ran.stdout.strip().splitlines()
    shown = lines[-1:] if ran.returncode == 0 else lines[-200:]
    print(f"\n== {name_of(row)}", *shown, sep="\n", flush=True)
    return ran.returncode == 0


def main():
    command, *arguments = sys.argv[1:]
    if platform.system() == "Windows":
        print("skipped: the environments are for Linux and macOS")
    elif command == "make":
        for row in TABLE:
            make(row)
    else:
        # Most of a run is on one core.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda row: test(row, arguments), TABLE))
        sys.exit(False in results)


if __name__ == "__main__":
    main()
