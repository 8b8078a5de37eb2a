"""Times the selective scan and RNN-T's loss, forward and backward, beside loops of PyTorch's operations, which are the
references of their tests. `python beside_torch.py [THREADS]`, after an installation of both wheels.
"""

import os
import pathlib
import sys
import time

THREADS = sys.argv[1] if len(sys.argv) > 1 else "1"
os.environ["PULLBACK_NUM_THREADS"] = THREADS
HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE / "selective_scan/tests"), str(HERE / "rnnt/tests")]

import rnnt  # noqa: E402
import selective_scan  # noqa: E402
import test_rnnt  # noqa: E402
import test_selective_scan  # noqa: E402
import torch  # noqa: E402

CASES = [
    (selective_scan.SelectiveScan, test_selective_scan, [(1, 64, 128, 16), (8, 256, 64, 16), (2, 256, 512, 16)]),
    (rnnt.RnntLoss, test_rnnt, [(1, 50, 10, 32), (4, 100, 20, 64), (8, 150, 40, 128)]),
]


def seconds(*bodies, rounds=5):
    """Returns the best time of each body; they run in turns."""
    best = [float("inf")] * len(bodies)
    for _ in range(rounds):
        for index, body in enumerate(bodies):
            start = time.perf_counter()
            body()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def step(function, inputs):
    leaves = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    return torch.autograd.grad(function(*inputs).square().sum(), leaves)


torch.set_num_threads(int(THREADS))
torch.manual_seed(0)
print(f"{f'{THREADS} threads':32} {'pullback':>11} {'a loop in PyTorch':>20} {'times':>7}")
for function, test, shapes in CASES:
    for shape in shapes:
        inputs = test.arguments(*shape, dtype=torch.float32)
        ours, theirs = seconds(lambda: step(function, inputs), lambda: step(test.reference, inputs))
        name = f"{function.__name__} {'x'.join(map(str, shape))}"
        print(f"{name:32} {1e3 * ours:8.2f} ms {1e3 * theirs:17.2f} ms {theirs / ours:7.1f}", flush=True)
