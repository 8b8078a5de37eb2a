import shutil
import subprocess
import sys

import pytest
from building import BRIDGES

# Each body runs once, in place of thousands of times.
PROGRAM = """
import sys

sys.path.insert(0, sys.argv[1])
import overhead


def once(repeats, *bodies, times=1):
    for body in bodies:
        body()
    return [1.0] * len(bodies)


overhead.seconds = once
__import__(sys.argv[2]).main()
"""


@pytest.mark.parametrize("name", ["overhead", "jax_calls"])
def test_a_benchmark_runs(name):
    if name == "jax_calls" and shutil.which("g++") is None:
        pytest.skip("there is no g++, which compiles the function beside it")
    command = [sys.executable, "-c", PROGRAM, str(BRIDGES / "python/benches"), name]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert "1 element" in ran.stdout and "1000000" in ran.stdout.replace("1e6", "1000000")
