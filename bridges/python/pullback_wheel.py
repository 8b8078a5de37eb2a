"""A build backend for crates with `pullback_python::module!`: maturin's, with complete wheels.

To a wheel of maturin it adds the module's stub and `py.typed`, and the license texts of the crates compiled into it.
The wheel and what the compiler writes into the extension name crates, and no folder of the machine that built them.
`template/backend.py` finds this file beside the crate `pullback-python`, in the version that Cargo builds.
"""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import maturin
from maturin import *  # noqa: F403 The other hooks of PEP 517 are maturin's.

NOTICES = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    # A wheel that others install says which systems it is for; maturin's own default is the one that builds it.
    return built(maturin.build_wheel, ["--compatibility", "pypi"], wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return built(maturin.build_editable, [], wheel_directory, config_settings, metadata_directory)


def built(build, arguments, wheel_directory, config_settings, metadata_directory):
    crates = Crates()
    given = maturin.get_maturin_pep517_args(config_settings)
    if "--compatibility" in given:
        arguments = []
    with renamed(crates.folders) as options:
        settings = {**(config_settings or {}), "maturin.build-args": [*arguments, *given, *options]}
        name = build(wheel_directory, settings, metadata_directory)
    complete(pathlib.Path(wheel_directory, name), crates)
    return name


class Crates:
    """The crate of this folder and all that are compiled into it."""

    def __init__(self):
        host = re.search("host: (.*)", said("rustc", "-vV"))[1]
        platform = os.environ.get("CARGO_BUILD_TARGET", host)
        manifest = maturin.get_config().get("manifest-path", "Cargo.toml")
        options = ["--format-version=1", "--filter-platform", platform, "--manifest-path", manifest]
        metadata = json.loads(said("cargo", "metadata", *options))
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        packages = {package["id"]: package for package in metadata["packages"]}
        found, waiting = set(), [metadata["resolve"]["root"]]
        while waiting:
            crate = waiting.pop()
            if crate in found or "proc-macro" in packages[crate]["targets"][0]["kind"]:
                continue
            found.add(crate)
            for dependency in nodes[crate]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    waiting.append(dependency["pkg"])
        self.packages = sorted((packages[crate] for crate in found), key=lambda package: package["name"])
        # The compiler takes the last entry that is the beginning of a path, so longer ones come last. It is in the folder
        # of the workspace when it compiles its crates, and writes no path above that.
        folders = {metadata["target_directory"]: "target", said("rustc", "--print", "sysroot").strip(): "rust"}
        for package in packages.values():
            folder = pathlib.Path(package["manifest_path"]).parent
            if package["source"] is not None:
                folders[str(folder.parent)] = "crates"
            elif package["id"] not in metadata["workspace_members"]:
                folders[str(folder)] = f"{package['name']}-{package['version']}"
        self.folders = dict(sorted(folders.items(), key=lambda entry: (len(entry[0]), entry[0])))

    def licenses(self):
        """The texts of the licenses, by names such as `ndarray-0.17.2/LICENSE-MIT`."""
        for package in self.packages:
            folder = pathlib.Path(package["manifest_path"]).parent
            for path in sorted(folder.iterdir()):
                if path.is_file() and NOTICES.match(path.name):
                    yield f"{package['name']}-{package['version']}/{path.name}", path.read_bytes()


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextlib.contextmanager
def renamed(folders):
    """Lets the compiler write the new names of the folders. Yields options for Cargo, which reads them or a variable."""
    flags = [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]
    encoded, plain = os.environ.get("CARGO_ENCODED_RUSTFLAGS"), os.environ.get("RUSTFLAGS")
    if encoded is None and plain is None:
        yield ["--config", f"build.rustflags={json.dumps(flags)}"]
        return
    given = plain.split() if encoded is None else encoded.split("\x1f")
    os.environ["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join([*given, *flags])
    try:
        yield []
    finally:
        del os.environ["CARGO_ENCODED_RUSTFLAGS"]
        if encoded is not None:
            os.environ["CARGO_ENCODED_RUSTFLAGS"] = encoded


def complete(path, crates):
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    info = next(name.rpartition("/")[0] for name in files if name.endswith(".dist-info/METADATA"))
    package = next(name.split("/")[0] for name in files if name.endswith((".so", ".pyd")))
    stub = files.get(f"{package}/__init__.pyi") or stub_of(path, package)
    if stub:
        files[f"{package}/__init__.pyi"] = stub
        files[f"{package}/py.typed"] = b""
    licenses = dict(crates.licenses())
    files.update((f"{info}/licenses/{name}", text) for name, text in licenses.items())
    head, blank, description = files[f"{info}/METADATA"].partition(b"\n\n")
    lines = [head.rstrip(b"\n"), *(f"License-File: {name}".encode() for name in licenses)]
    files[f"{info}/METADATA"] = b"\n".join(lines) + (blank or b"\n") + description
    for name in [name for name in files if f"{info}/sboms/" in name]:
        for folder, new in reversed(crates.folders.items()):
            files[name] = files[name].replace(f"file://{folder}".encode(), f"file:///{new}".encode())
    del files[f"{info}/RECORD"]
    files[f"{info}/RECORD"] = record(files, info)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # Of 1980, so that the same files are the same wheel.
            entry.external_attr = (0o755 if name.endswith((".so", ".pyd")) else 0o644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)


def stub_of(path, package):
    """Returns the stub that the module has; None for a wheel that this interpreter cannot import."""
    program = f"import sys, {package}; sys.stdout.buffer.write({package}.__pyi__.encode())"
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder)
        environment = {**os.environ, "PYTHONPATH": folder}
        ran = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True)
    if ran.returncode:
        reason = ran.stderr.decode(errors="replace").strip().splitlines()[-1]
        print(f"the wheel has no stub, as `import {package}` failed: {reason}", file=sys.stderr)
        return None
    return ran.stdout


def record(files, info):
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{info}/RECORD,,\n"]).encode()
