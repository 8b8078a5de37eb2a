"""Measures a call through PyTorch, forward and backward, beside a `torch.autograd.Function` with the same body in
NumPy, beside one that computes nothing, and beside the function alone. All run on one thread. Run
`python python/benches/overhead.py` in `bridges` after `maturin develop --release -m examples/python/Cargo.toml`.
"""

import os
import time

os.environ["PULLBACK_NUM_THREADS"] = "1"

import diffops
import numpy
import torch


class Squash(torch.autograd.Function):
    """The function on NumPy, in the style of PyTorch's notes."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        x, limit = x.detach().numpy(), limit.detach().numpy()
        return torch.from_numpy(x / numpy.sqrt(1 + (x / limit) ** 2))

    @staticmethod
    def backward(ctx, grad_output):
        x, limit = (tensor.detach().numpy() for tensor in ctx.saved_tensors)
        grad = grad_output.numpy()
        ratio = 1 + (x / limit) ** 2
        grad_x = grad_limit = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.from_numpy(grad * ratio**-1.5)
        if ctx.needs_input_grad[1]:
            grad_limit = torch.from_numpy((grad * (x / limit) ** 3 * ratio**-1.5).sum(keepdims=True))
        return grad_x, grad_limit


class Empty(torch.autograd.Function):
    """A function that saves its tensors and computes nothing: what PyTorch itself takes."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad_output):
        x, _ = ctx.saved_tensors
        return torch.empty_like(x), None


class Around(torch.autograd.Function):
    """The function alone, in a `Function` that does nothing else. PyTorch's part of it takes longer than for one element, as
    the arrays have left none of its code in the processor's caches.
    """

    @staticmethod
    def forward(ctx, x, limit, run):
        ctx.recording, ctx.arrays, output = run()
        return torch.from_numpy(output)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.from_numpy(ctx.recording.gradients(ctx.arrays, [True, False])[0]), None, None


def seconds(repeats, *bodies, times=15):
    """Returns the best time of each body. They run in turns, so that load on the machine slows all of them."""
    best = [float("inf")] * len(bodies)
    for _ in range(times):
        for place, body in enumerate(bodies):
            body()
            begin = time.perf_counter()
            for _ in range(repeats):
                body()
            best[place] = min(best[place], (time.perf_counter() - begin) / repeats)
    return best


def passes(function, x, limit):
    ones = torch.ones_like(x)

    def body():
        torch.autograd.grad(function(x, limit), x, ones)

    return body


def alone(x, limit):
    """Returns a body that runs the function and its gradient without PyTorch."""
    arrays, ones = [x.detach().numpy(), limit.numpy()], torch.ones_like(x).detach().numpy()
    run = diffops.squash.pullback.run

    def forward():
        recording, outputs, *_ = run((x, limit), arrays, [True, False])
        return recording, [ones], outputs[0]

    def body():
        # As in PyTorch, the output is alive while its gradient is computed.
        recording, grads, output = forward()
        return output, recording.gradients(grads, [True, False])

    return forward, body


def main():
    torch.set_num_threads(1)
    limit = torch.tensor([1.5], dtype=torch.float64)
    one = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    bodies = passes(diffops.squash, one, limit), passes(Empty.apply, one, limit), passes(Squash.apply, one, limit)
    ours, empty, theirs = (time * 1e6 for time in seconds(2000, *bodies))
    print(
        f"1 element: {ours:.1f} us, empty {empty:.1f} us, in NumPy {theirs:.1f} us: ratio {ours / theirs:.2f} (limit 1.5)"
    )
    many = torch.linspace(-5, 5, 1_000_000, dtype=torch.float64).requires_grad_()
    forward, body = alone(many, limit)
    around = passes(lambda x, limit: Around.apply(x, limit, forward), many, limit)
    ours, rust, least = (time * 1e3 for time in seconds(10, passes(diffops.squash, many, limit), body, around))
    print(
        f"1e6 elements: {ours:.2f} ms, alone {rust:.2f} ms: ratio {ours / rust:.3f} (limit 1.1), least {least / rust:.3f}"
    )
    # Not in turns with the others, in whose caches it would leave its arrays.
    (theirs,) = seconds(10, passes(Squash.apply, many, limit))
    print(f"1e6 elements in NumPy: {theirs * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
