"""The times that speed.rs prints, in PyTorch: python speed.py (PyTorch 2.15, and from PyPI entmax 1.3, torchdiffeq 0.2.5,
POT 0.9.7, tslearn 0.10, revtorch 0.2.4, torch_geometric 2.8, torchcde 0.2.5, snntorch 1.0, scipy 1.17,
numba 0.68)."""

import math
import time

import numba
import numpy as np
import ot
import revtorch
import scipy.linalg
import snntorch
import torch
import torch.nn.functional as F
import torchcde
from entmax import entmax_bisect, sparsemax
from torch_geometric.utils import softmax
from torchdiffeq import odeint_adjoint
from tslearn.metrics.soft_dtw_loss_pytorch import _SoftDTWLossPyTorch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
numba.set_num_threads(1)


def numbers(*shape):
    n = torch.arange(math.prod(shape), dtype=torch.float64)
    return ((n * 0.618033988749895).frac() * 0.4 - 0.2).reshape(shape).requires_grad_()


def best(name, forward):
    forward().backward()  # compiles what numba compiles
    start, least = time.perf_counter(), float("inf")
    while time.perf_counter() - start < 2:
        one = time.perf_counter()
        forward().backward()
        least = min(least, time.perf_counter() - one)
    print(f"{name:<26} {least * 1e6:9.1f} us")


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.ParameterList([numbers(64, 64), numbers(64, 64)])

    def forward(self, t, z):
        return torch.tanh(self.w[1] @ torch.tanh(self.w[0] @ z))


class Lsq(torch.autograd.Function):
    """As the published implementations have it, without their factor of the gradient."""

    @staticmethod
    def forward(ctx, x, step, low, high):
        ctx.save_for_backward(x, step)
        ctx.bounds = low, high
        return (x / step).clamp(low, high).round() * step

    @staticmethod
    def backward(ctx, grad):
        (x, step), (low, high) = ctx.saved_tensors, ctx.bounds
        scaled = x / step
        below, above = scaled < low, scaled > high
        within = ~(below | above)
        slope = below * low + above * high + within * (scaled.round() - scaled)
        return within * grad, (slope * grad).sum(), None, None


class Sqrtm(torch.autograd.Function):
    """As the published implementations have it: SciPy solves both."""

    @staticmethod
    def forward(ctx, a):
        root = torch.from_numpy(scipy.linalg.sqrtm(a.detach().numpy()).real)
        ctx.save_for_backward(root)
        return root

    @staticmethod
    def backward(ctx, grad):
        root = ctx.saved_tensors[0].numpy()
        return torch.from_numpy(scipy.linalg.solve_sylvester(root, root, grad.numpy()))


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.factor, None


class Blackbox(torch.autograd.Function):
    """As published, with the solver of the gallery, compiled."""

    @staticmethod
    def forward(ctx, costs, factor, solver):
        ctx.costs, ctx.factor, ctx.solver = costs.detach().numpy(), factor, solver
        ctx.path = solver(ctx.costs)
        return torch.from_numpy(ctx.path)

    @staticmethod
    def backward(ctx, grad):
        moved = ctx.solver(ctx.costs + ctx.factor * grad.numpy())
        return torch.from_numpy((moved - ctx.path) / ctx.factor), None, None


@numba.njit
def before(total, i, j):
    best = (-1, -1)
    for k, l in ((1, 1), (1, 0), (0, 1)):
        if i >= k and j >= l and (best[0] < 0 or total[i - k, j - l] < total[best]):
            best = (i - k, j - l)
    return best


@numba.njit
def cheapest_path(costs):
    total, path = costs.copy(), np.zeros_like(costs)
    for i in range(costs.shape[0]):
        for j in range(costs.shape[1]):
            if i or j:
                total[i, j] += total[before(total, i, j)]
    at = (costs.shape[0] - 1, costs.shape[1] - 1)
    while at[0] >= 0:
        path[at] = 1
        at = before(total, *at)
    return path


class Branch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(numbers(64, 64))

    def forward(self, x):
        return torch.tanh(x @ self.w)


x = numbers(256, 128)
best("sparsemax 256x128", lambda: sparsemax(x, dim=1).sum())
best("entmax 256x128", lambda: entmax_bisect(x, 1.5, dim=1, n_iter=50).sum())
costs, weights = numbers(40, 50), (torch.full((40,), 1 / 40), torch.full((50,), 1 / 50))
best("sinkhorn 40x50", lambda: (ot.sinkhorn(*weights, costs, 0.1, stopThr=1e-15, numItermax=10_000) * costs).sum())
distances = numbers(1, 64, 64)
best("soft_dtw 64x64", lambda: _SoftDTWLossPyTorch.apply(distances.clone(), 0.5).sum())
blocks = torch.nn.ModuleList([revtorch.ReversibleBlock(Branch(), Branch()) for _ in range(8)])
halves, blocks = numbers(64, 128), revtorch.ReversibleSequence(blocks)
best("reversible, 8 blocks of 64", lambda: blocks(halves).sum())
network, z, times = Network(), numbers(64), torch.linspace(0, 1, 21)
best("adjoint 64, 20 steps", lambda: odeint_adjoint(network, z, times[[0, -1]], method="rk4", options={"step_size": 0.05})[-1].sum())
spread = numbers(16, 16).detach()
definite = (spread @ spread.T + torch.eye(16)).requires_grad_()
best("sqrtm 16x16", lambda: Sqrtm.apply(definite).sum())
log_probs, labels = numbers(100, 30), torch.arange(1, 21)[None]
lengths = torch.tensor([100]), torch.tensor([20])
best("ctc 100x30, 20 labels", lambda: F.ctc_loss(log_probs[:, None], labels, *lengths, reduction="sum"))
image, filter = numbers(128, 128), torch.full((1, 1, 4, 4), 0.25)


def upfirdn2d(x):
    y = torch.nn.functional.pad(x.reshape(1, 1, 128, 1, 128, 1), [0, 1, 0, 0, 0, 1]).reshape(1, 1, 256, 256)
    return F.conv2d(F.pad(y, [2, 1, 2, 1]), filter)


best("upfirdn2d 128x128, up 2", lambda: upfirdn2d(image).sum())
many, step = numbers(100_000), torch.tensor(0.1, requires_grad=True)
best("lsq 100000", lambda: Lsq.apply(many, step, -8, 7).sum())
best("reversal 256x128", lambda: Reversal.apply(x, 0.7).sum())
grid = numbers(24, 24)
best("blackbox 24x24", lambda: Blackbox.apply(grid, 5.0, cheapest_path).sum())
inputs, experts = [numbers(16 + 8 * k, 64) for k in range(8)], [numbers(64, 64) for _ in range(8)]
best("grouped, 8 groups of 64", lambda: sum((x @ w).sum() for x, w in zip(inputs, experts)))
long, segments = numbers(10_000), torch.arange(10_000) ** 2 % 500
best("segments, 10000 in 500", lambda: softmax(long, segments, num_nodes=500).sort().values.sum())
values, knots, at = numbers(64), torch.arange(64.0), ((numbers(1000) + 0.2) / 0.4 * 63).detach().requires_grad_()
best("spline of 64, read at 1000", lambda: torchcde.CubicSpline(torchcde.natural_cubic_coeffs(values[:, None], knots), knots).evaluate(at).sum())
currents, potential, beta = (numbers(100, 1000) + 0.2).detach().requires_grad_(), numbers(1000), (numbers(1000) * 0 + 0.9).detach()
neuron = snntorch.Leaky(beta, learn_beta=True, spike_grad=snntorch.surrogate.fast_sigmoid(slope=25))


def spikes():
    u, sum = potential, 0
    for step in currents:
        spike, u = neuron(step, u)
        sum = sum + spike.sum()
    return sum


best("spikes, 100 steps of 1000", spikes)
q, k, v = (numbers(1, 1, 256, 64) for _ in range(3))
best("attention 256x64", lambda: F.scaled_dot_product_attention(q, k, v).sum())
