"""Lets a PyTorch that was built for NVIDIA's devices be imported on a machine without NVIDIA's libraries.

The wheels for Linux link some fifteen libraries, of 3 GB, which no test here uses. `stand_in` writes small ones in their
place, beside PyTorch's own: every function returns 100, which is the error "no device".
"""

import pathlib
import re
import subprocess
import tempfile

THEIRS = re.compile(r"lib(cu|nv|nccl)")
FUNCTIONS = re.compile(r"(__)?(cu|nv|nccl)")


def stand_in(folder):
    files = sorted(folder.glob("*.so*"))
    ours = {file.name for file in files}
    needed, undefined, defined, library_of = set(), set(), set(), {}
    for file in files:
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", file)))
        library_of |= versions(file)
        for line in said("nm", "-D", file).splitlines():
            kind, name = line.split()[-2:]
            if kind in "Uw":
                undefined.add(name)
            else:
                defined.add(name.partition("@")[0])
    libraries = {name: {} for name in sorted(needed - ours) if THEIRS.match(name)}
    without_version = set()
    for symbol in sorted(undefined - defined):
        name, _, version = symbol.partition("@")
        if version and library_of[version] in libraries:
            libraries[library_of[version]].setdefault(version, []).append(name)
        elif not version and FUNCTIONS.match(name):
            without_version.add(name)
    for library, functions in libraries.items():
        write(folder / library, functions or {"": sorted(without_version)})


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def versions(file):
    """Returns the library that has each version which the symbols of a file ask for."""
    found, library = {}, None
    for line in said("readelf", "-VW", file).splitlines():
        if entry := re.search(r"File: (\S+)", line):
            library = entry[1]
        elif (entry := re.search(r"Name: (\S+)\s+Flags", line)) and library:
            found[entry[1]] = library
    return found


def write(path, functions):
    """Writes a library with functions by version."""
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "source.c"), pathlib.Path(folder, "versions")
        names = sorted({name for names in functions.values() for name in names})
        # PyTorch calls those with underscores when it is loaded.
        bodies = [f"long {name}(void) {{ return {0 if name.startswith('__') else 100}; }}\n" for name in names]
        source.write_text("".join(bodies))
        listed = [f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in functions.items() if version]
        script.write_text("".join(listed))
        options = [f"-Wl,--version-script,{script}"] if listed else []
        said("cc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{path.name}", *options, "-o", path, source)
