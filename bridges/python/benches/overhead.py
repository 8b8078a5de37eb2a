"""What a call through PyTorch costs, forward and backward, beside a `torch.autograd.Function` with the same body in NumPy,
and beside the function alone. `python benches/overhead.py`, with the module of `examples/python` built by
`maturin develop --release`.
"""

import time

import kernels
import numpy
import torch


class Squash(torch.autograd.Function):
    """As PyTorch's notes write it, on NumPy."""

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


def seconds(body, repeats, times=9):
    body()
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        for _ in range(repeats):
            body()
        best = min(best, (time.perf_counter() - begin) / repeats)
    return best


def passes(function, x, limit):
    ones = torch.ones_like(x)

    def body():
        torch.autograd.grad(function(x, limit), x, ones)

    return body


def alone(x, limit):
    """The function and its gradient, through the module but without PyTorch."""
    arrays, ones = [x.detach().numpy(), limit.numpy()], numpy.ones(len(x))
    run = kernels.squash.pullback.run

    def body():
        recording, _, _ = run((x, limit), arrays, [True, False])
        recording.gradients([ones], [True, False])

    return body


def main():
    torch.set_num_threads(1)
    limit = torch.tensor([1.5], dtype=torch.float64)
    one = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    ours = seconds(passes(kernels.squash, one, limit), 2000) * 1e6
    theirs = seconds(passes(Squash.apply, one, limit), 2000) * 1e6
    print(f"1 element: {ours:.1f} us, in NumPy {theirs:.1f} us: ratio {ours / theirs:.2f} (limit 1.5)")
    many = torch.linspace(-5, 5, 1_000_000, dtype=torch.float64).requires_grad_()
    ours = seconds(passes(kernels.squash, many, limit), 5) * 1e3
    theirs = seconds(passes(Squash.apply, many, limit), 5) * 1e3
    rust = seconds(alone(many, limit), 5) * 1e3
    print(f"1e6 elements: {ours:.2f} ms, alone {rust:.2f} ms: ratio {ours / rust:.2f} (limit 1.1); in NumPy {theirs:.2f} ms")


if __name__ == "__main__":
    main()
