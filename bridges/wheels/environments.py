"""The environments in which the wheels of `examples` are tested.

`python environments.py make` installs the packages of `.venv`, and makes the others in `.venvs`, unless they are there.
`python environments.py test WHEEL …` installs the wheels in all of them, and runs the tests of wheels in `.venv` and
those of the bridge in the others; unless these are all there, also in `.venv`. What cannot be made is skipped, with the
reason. After `--oldest`, both take only the first of the table.
"""

import concurrent.futures
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

import nvidia

BRIDGES = pathlib.Path(__file__).resolve().parents[1]
OWN = BRIDGES / ".venv"
FOLDER = BRIDGES / ".venvs"
UV = OWN / "bin/uv"
REQUIREMENTS = BRIDGES / "requirements.txt"
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


def folder_of(row):
    if row is None:
        return OWN
    python, torch, jax, numpy = row
    return FOLDER / f"python-{python}-torch-{torch}-jax-{jax}-numpy-{numpy}"


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


def install(folder, packages):
    uv = [str(UV), "pip", "install", "--quiet", "--system-certs", "--python", str(folder / "bin/python")]
    # PyTorch alone: on Linux it would bring libraries for NVIDIA's devices of 3 GB.
    torch = [package for package in packages if package.startswith("torch==")]
    run([*uv, "--no-deps", *torch])
    run([*uv, *(package for package in packages if package not in torch), *OTHERS])
    (libraries,) = folder.glob("lib/python*/site-packages/torch/lib")
    nvidia.stand_in(libraries)
    run([str(folder / "bin/python"), "-c", "import torch, jax"])


def make(row=None):
    """Makes an environment of the table, or installs what `.venv` has, unless it is made."""
    folder = folder_of(row)
    made = folder / "made"
    if made.exists():
        return
    try:
        if row:
            version, torch, jax, numpy = row
            shutil.rmtree(folder, ignore_errors=True)
            run([str(UV), "venv", "--quiet", "--python", interpreter(version), str(folder)])
            install(folder, [f"torch=={torch}", f"jax=={jax}", f"jaxlib=={jax}", f"numpy=={numpy}"])
        else:
            install(folder, re.findall(r"^\w+==.*", REQUIREMENTS.read_text(), re.MULTILINE))
    except (Skipped, OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"skipped: {folder.name}: {error}", flush=True)
        return
    shutil.copy(REQUIREMENTS, made)


def jobs(rows, wheels):
    """Installs the wheels, and yields the tests of each environment: their name, its folder, and the tests."""
    folders = [folder_of(row) for row in rows]
    made = [folder for folder in folders if (folder / "made").exists()]
    for folder in folders:
        if folder not in made:
            print(f"skipped: {folder.name}, which `./setup` has not made", flush=True)
            continue
        uv = [str(UV), "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", str(folder / "bin/python")]
        run([*uv, *wheels])
        if folder == OWN:
            yield "wheels", folder, [f"{BRIDGES}/wheels"]
        if folder != OWN or len(made) <= len(TABLE):
            yield folder.name, folder, [f"{BRIDGES}/python/tests", f"{BRIDGES}/examples"]


def test(job):
    """Returns whether the tests pass."""
    name, folder, tests = job
    command = [str(folder / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *tests]
    begin = time.monotonic()
    ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = ran.stdout.strip().splitlines()
    shown = lines[-1:] if ran.returncode == 0 else lines[-200:]
    print(f"\n== {name}, {time.monotonic() - begin:.0f} s", *shown, sep="\n", flush=True)
    return ran.returncode == 0


def main():
    command, *arguments = sys.argv[1:]
    rows = [None, *TABLE]
    if arguments[:1] == ["--oldest"]:
        rows = [None, TABLE[0]]
        del arguments[0]
    # Most of both is on one processor, and modules are compiled once, when they are first imported.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The tests of JAX take most of the time, and that is to compile programs that run once.
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        if platform.system() == "Windows":
            print("skipped: the environments are for Linux and macOS")
        elif command == "make":
            list(pool.map(make, rows))
        else:
            sys.exit(False in list(pool.map(test, list(jobs(rows, arguments)))))


if __name__ == "__main__":
    main()
