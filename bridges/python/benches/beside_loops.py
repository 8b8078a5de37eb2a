"""Times two scans and a function of pairs, forward and backward in f32 on one processor, beside JAX's compiled programs,
loops of PyTorch's operations, and KeOps where it is installed. The sizes are those of `scan/leaky`, `scan/selective` and
`pairs/gaussian` of `cargo bench`. Run `python python/benches/beside_loops.py` in `bridges` after
`maturin develop --release -m examples/python/Cargo.toml`.
"""

import os
import time

os.environ["PULLBACK_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import diffops
import jax
import jax.numpy as jnp
import numpy
import torch

try:
    from pykeops.torch import LazyTensor
except ImportError:
    LazyTensor = None

WIDTH = 2.0
BLOCK = 1000  # the rows of which all pairs are in memory, in PyTorch and JAX


def leaky_arrays():
    random = numpy.random.default_rng(0)
    return numpy.zeros(256), random.uniform(-0.5, 0.5, (10_000, 256)), random.uniform(0.5, 0.9, 256)


def leaky_of_torch(v, x, tau):
    rates = []
    for step in x:
        v = tau * v + step
        rates.append(v.sigmoid())
    return v, torch.stack(rates)


def leaky_of_jax(v, x, tau):
    def step(v, x):
        v = tau * v + x
        return v, jax.nn.sigmoid(v)

    return jax.lax.scan(step, v, x)


def selective_arrays(steps=2048, channels=512, n=16):
    random = numpy.random.default_rng(0)
    each = (steps, channels)
    return (
        numpy.zeros((channels, n)),
        random.uniform(0.1, 1.1, each),
        random.uniform(-0.5, 0.5, each),
        random.uniform(-0.5, 0.5, (steps, 1, n)),
        random.uniform(-0.5, 0.5, (steps, 1, n)),
        random.uniform(-1.5, -0.5, (channels, n)),
        random.uniform(0, 1, channels),
    )


def selective_of_torch(h, delta, x, b, c, a, d):
    outputs = []
    for delta, x, b, c in zip(delta, x, b, c):
        h = (delta[:, None] * a).exp() * h + delta[:, None] * b * x[:, None]
        outputs.append((c * h).sum(-1) + d * x)
    return h, torch.stack(outputs)


def selective_of_jax(h, delta, x, b, c, a, d):
    def step(h, inputs):
        delta, x, b, c = inputs
        h = jnp.exp(delta[:, None] * a) * h + delta[:, None] * b * x[:, None]
        return h, (c * h).sum(-1) + d * x

    return jax.lax.scan(step, h, (delta, x, b, c))


def pairs_arrays(points=10_000):
    random = numpy.random.default_rng(0)
    return (*random.uniform(-0.4, 0.6, (2, points, 3)), random.uniform(-0.5, 0.5, points))


def ours(function, *values):
    """Returns the gradients of the sum of the last output."""

    def run(leaves):
        outputs = function(*leaves, *values)
        last = outputs[-1] if isinstance(outputs, tuple) else outputs
        return torch.autograd.grad(last, leaves, torch.ones(()).expand_as(last), allow_unused=True)

    return run


def pairs_of_torch(leaves):
    """Adds the gradients of blocks of rows: the matrix of all pairs would not fit into the caches."""
    x, y, b = leaves
    found = []
    for rows in x.detach().split(BLOCK):
        rows.requires_grad_()
        sums = (-(rows[:, None] - y).square().sum(-1) / WIDTH).exp() @ b
        found.append(torch.autograd.grad(sums.sum(), (rows, y, b)))
    of_rows, of_y, of_b = zip(*found)
    return torch.cat(of_rows), sum(of_y), sum(of_b)


def pairs_of_jax(x, y, b):
    @jax.checkpoint
    def block(rows):
        return jnp.exp(-((rows[:, None] - y) ** 2).sum(-1) / WIDTH) @ b

    return jax.lax.map(block, x.reshape(-1, BLOCK, 3))


def pairs_of_keops(x, y, b):
    kernel = (-((LazyTensor(x[:, None]) - LazyTensor(y[None])) ** 2).sum(-1) / WIDTH).exp()
    return kernel @ b[:, None]


def of_jax(function, arrays):
    def number(*arrays):
        outputs = function(*arrays)
        return (outputs[-1] if isinstance(outputs, tuple) else outputs).sum()

    gradients = jax.jit(jax.grad(number, tuple(range(len(arrays)))))
    arrays = [jnp.asarray(array, "float32") for array in arrays]
    return lambda _: jax.block_until_ready(gradients(*arrays))


def compare(name, arrays, bodies, rounds):
    """Prints the median time of each body. They run in turns, and give the same gradients."""
    leaves = [torch.tensor(array, dtype=torch.float32, requires_grad=True) for array in arrays]
    expected = None
    for found in (body(leaves) for body in bodies.values()):
        found = [numpy.asarray(grad.detach() if isinstance(grad, torch.Tensor) else grad) for grad in found]
        expected = expected or found
        for one, other in zip(found, expected):
            numpy.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-3 * abs(other).max())
    times = {kind: [] for kind in bodies}
    for _ in range(rounds):
        for kind, body in bodies.items():
            start = time.perf_counter()
            body(leaves)
            times[kind].append(time.perf_counter() - start)
    medians = {kind: numpy.median(of) * 1e3 for kind, of in times.items()}
    first = next(iter(medians.values()))
    print(f"{name:16}", "  ".join(f"{kind} {ms:.4g} ms ({ms / first:.2f})" for kind, ms in medians.items()), flush=True)


def main():
    # XLA has threads of its own, which inherit this.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    arrays = leaky_arrays()
    bodies = {
        "pullback": ours(diffops.leaky),
        "JAX": of_jax(leaky_of_jax, arrays),
        "PyTorch": ours(leaky_of_torch),
    }
    compare("scan/leaky", arrays, bodies, 7)
    arrays = selective_arrays()
    bodies = {
        "pullback": ours(diffops.selective),
        "JAX": of_jax(selective_of_jax, arrays),
        "PyTorch": ours(selective_of_torch),
    }
    compare("scan/selective", arrays, bodies, 3)
    arrays = pairs_arrays()
    bodies = {
        "pullback": ours(diffops.gaussian, WIDTH),
        "JAX": of_jax(pairs_of_jax, arrays),
        "PyTorch": pairs_of_torch,
    }
    if LazyTensor is not None:
        bodies["KeOps"] = ours(pairs_of_keops)
    compare("pairs/gaussian", arrays, bodies, 3)


if __name__ == "__main__":
    main()
