"""Runs one function in six frameworks by the programs of this folder, and prints their results as a table.

`python compare.py PROGRAM …` runs only the named programs. Fails if a result differs from the first program's by more
than a relative 1e-14: the frameworks add the same hundred numbers in different orders.
"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent / "target"
# With the features that `cargo test --workspace` has, so that Cargo compiles the frameworks once.
BUILDS = {
    "candle": ["--workspace"],
    "tch": ["--workspace"],
    "burn": ["--manifest-path", "../burn/Cargo.toml"],
}
PROGRAMS = {
    "PyTorch": [sys.executable, "with_torch.py"],
    "JAX": [sys.executable, "with_jax.py"],
    "NumPy": [sys.executable, "with_numpy.py"],
    **{name: [str(BUILT / "debug/examples" / name)] for name in BUILDS},
}


def numbers(program):
    if program in BUILDS:
        build = ["cargo", "build", "--quiet", "--target-dir", str(BUILT), *BUILDS[program], "--example", program]
        subprocess.run(build, cwd=HERE, check=True)
    lines = subprocess.run(PROGRAMS[program], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split()[-1] for line in lines.splitlines()]


def main():
    programs = sys.argv[1:] or list(PROGRAMS)
    print(f"{'':8} {'loss':23} {'Σ |grad x|':23} {'|grad limit|':23}")
    first = None
    for program in programs:
        found = numbers(program)
        print(f"{program:8} " + " ".join(f"{number:23}" for number in found), flush=True)
        first = first or found
        for one, other in zip(first, found, strict=True):
            difference = abs(float(one) - float(other))
            assert difference <= 1e-14 * abs(float(one)), f"{program}: {other} is not {one}"


if __name__ == "__main__":
    main()
