"""Builds wheels. `python building.py FOLDER` builds those of the modules in `examples`, as others install them."""

import os
import pathlib
import subprocess
import sys

BRIDGES = pathlib.Path(__file__).resolve().parents[1]
MODULES = ["python", "selective_scan", "rnnt"]
PIP = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir"]


def environment_of_cargo():
    """The environment in which Cargo builds for tests."""
    # A folder that no other Cargo locks; with a target, macros are compiled without the options of a wheel, once for all.
    host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {**os.environ, "CARGO_TARGET_DIR": str(BRIDGES / "target/modules"), "CARGO_BUILD_TARGET": host.strip()}


def build(source, wheels):
    """Builds a folder or a source distribution without optimizations, and returns the wheel: for tests."""
    profile = ["--config-settings", "maturin.build-args=--profile dev"]
    subprocess.run([*PIP, str(wheels), *profile, str(source)], env=environment_of_cargo(), check=True)
    (wheel,) = wheels.iterdir()
    return wheel


if __name__ == "__main__":
    for module in MODULES:
        subprocess.run([*PIP, *sys.argv[1:], str(BRIDGES / "examples" / module)], check=True)
