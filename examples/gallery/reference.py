"""Writes reference.json: values and gradients of the gallery's functions, by PyTorch's own differentiation.

python reference.py > reference.json        (PyTorch 2.15)
"""

import json
import math

import torch

torch.set_default_dtype(torch.float64)
CASES = {}


def numbers(x):
    x = torch.as_tensor(x, dtype=torch.float64).detach()
    return {"shape": list(x.shape), "data": [float(v) for v in x.reshape(-1)]}


def case(name, inputs, function, constants=()):
    """Stores `function(**inputs)`, a gradient of it and what that comes to for the inputs."""
    leaves = {k: v.clone().requires_grad_() for k, v in inputs.items() if k not in constants}
    values = {**{k: inputs[k] for k in constants}, **leaves}
    output = function(**values)
    upstream = torch.randn(output.shape)
    grads = torch.autograd.grad(output, list(leaves.values()), upstream)
    CASES[name] = {
        "inputs": {k: numbers(v) for k, v in inputs.items()},
        "output": numbers(output),
        "upstream": numbers(upstream),
        "grads": [numbers(g) for g in grads],
    }


def threshold(x, alpha):
    """The threshold of a row by bisection, corrected once by a step of Newton's that is differentiated."""
    z = x * (alpha - 1)
    low, high = z.max(-1, keepdim=True).values.detach() - 1, z.max(-1, keepdim=True).values.detach()
    for _ in range(100):
        mid = (low + high) / 2
        total = (z.detach() - mid).clamp(min=0).pow(1 / (alpha - 1)).sum(-1, keepdim=True)
        low, high = torch.where(total >= 1, mid, low), torch.where(total >= 1, high, mid)
    support = (z.detach() - low) > 0
    p = torch.where(support, z - low, torch.ones_like(z)).pow(1 / (alpha - 1)) * support
    slope = torch.where(support, z.detach() - low, torch.ones_like(z)).pow(1 / (alpha - 1) - 1) * support
    tau = low + (p.sum(-1, keepdim=True) - 1) * (alpha - 1) / slope.sum(-1, keepdim=True)
    return torch.where(support, z - tau, torch.ones_like(z)).pow(1 / (alpha - 1)) * support


def sinkhorn(c, epsilon=0.2):
    n, m = c.shape
    f, g = torch.zeros(n), torch.zeros(m)
    for _ in range(3000):
        f = -epsilon * torch.logsumexp((g[None, :] - c) / epsilon, 1) - epsilon * math.log(n)
        g = -epsilon * torch.logsumexp((f[:, None] - c) / epsilon, 0) - epsilon * math.log(m)
    return torch.exp((f[:, None] + g[None, :] - c) / epsilon)


def soft_dtw(d, gamma=0.5):
    n, m = d.shape
    r = {(0, 0): torch.tensor(0.0)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = [r.get(k) for k in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if k in r]
            r[i, j] = d[i - 1, j - 1] - gamma * torch.logsumexp(-torch.stack(before) / gamma, 0)
    return r[n, m]


def reversible(x1, x2, **w):
    for k in range(0, len(w), 2):
        x1 = x1 + torch.tanh(x2 @ w[f"w{k}"])
        x2 = x2 + torch.tanh(x1 @ w[f"w{k + 1}"])
    return x1 * x2


def ode(z, w0, w1, steps=40):
    f = lambda z: torch.tanh(w1 @ torch.tanh(w0 @ z))
    h = 1.0 / steps
    for _ in range(steps):
        k1 = f(z)
        k2 = f(z + h / 2 * k1)
        k3 = f(z + h / 2 * k2)
        k4 = f(z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return z


def sqrtm(a):
    y, z = a, torch.eye(a.shape[0])
    for _ in range(25):
        y, z = (y + torch.linalg.inv(z)) / 2, (z + torch.linalg.inv(y)) / 2
    return y


def upfirdn2d(x, filter, up=3, down=2, pad=((1, 2), (2, 0))):
    n, m = x.shape
    y = torch.zeros(n, up, m, up)
    y[:, 0, :, 0] = 1
    y = (x[:, None, :, None] * y).reshape(n * up, m * up)
    y = torch.nn.functional.pad(y, [pad[1][0], pad[1][1], pad[0][0], pad[0][1]])
    y = torch.nn.functional.conv2d(y[None, None], filter.flip(0, 1)[None, None])[0, 0]
    return y[::down, ::down]


def lsq(x, step, bits=3):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    scaled = (x / step).clamp(low, high)
    return (scaled + (scaled.round() - scaled).detach()) * step


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -0.7 * grad


def cheapest_path(costs):
    n, m = costs.shape
    total = costs.clone()
    before = lambda i, j: [(i - k, j - l) for k, l in ((1, 1), (1, 0), (0, 1)) if i >= k and j >= l]
    for i in range(n):
        for j in range(m):
            if i or j:
                total[i, j] += min(total[c] for c in before(i, j))
    path, at = torch.zeros(n, m), (n - 1, m - 1)
    while True:
        path[at] = 1
        if at == (0, 0):
            return path
        at = min(before(*at), key=lambda c: total[c])


class Blackbox(torch.autograd.Function):
    @staticmethod
    def forward(ctx, costs):
        path = cheapest_path(costs)
        ctx.save_for_backward(costs, path)
        return path

    @staticmethod
    def backward(ctx, grad):
        costs, path = ctx.saved_tensors
        return -(path - cheapest_path(costs + 5.0 * grad)) / 5.0


def segments(x, of=(0, 2, 0, 1, 2, 2)):
    of = torch.tensor(of)
    y = torch.zeros_like(x)
    for s in range(3):
        y = y + torch.where(of == s, torch.softmax(x.masked_fill(of != s, -torch.inf), 0), 0.0)
    return y.sort().values


def spline(y, at, knots):
    n = len(knots)
    h = knots[1:] - knots[:-1]
    t, r = torch.eye(n), torch.zeros(n)
    rows = [torch.zeros(())]
    for i in range(1, n - 1):
        t[i, i - 1], t[i, i], t[i, i + 1] = h[i - 1] / 6, (h[i - 1] + h[i]) / 3, h[i] / 6
        rows.append((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    m = torch.linalg.solve(t, torch.stack(rows + [torch.zeros(())]))
    k = (torch.searchsorted(knots, at.detach(), right=True)).clamp(1, n - 1)
    a, b = (knots[k] - at) / h[k - 1], (at - knots[k - 1]) / h[k - 1]
    curved = ((a**3 - a) * m[k - 1] + (b**3 - b) * m[k]) * h[k - 1] ** 2 / 6
    return a * y[k - 1] + b * y[k] + curved


torch.manual_seed(0)
case("sparsemax", {"x": torch.randn(3, 5)}, lambda x: threshold(x, 2.0))
case("entmax", {"x": torch.randn(3, 5)}, lambda x: threshold(x, 1.5))
case("sinkhorn", {"c": torch.rand(4, 5)}, sinkhorn)
case("soft_dtw", {"d": torch.rand(4, 6)}, soft_dtw)
weights = {f"w{k}": torch.randn(3, 3) / 2 for k in range(6)}
case("reversible", {"x1": torch.randn(2, 3), "x2": torch.randn(2, 3), **weights}, reversible)
case("adjoint", {"z": torch.randn(3), "w0": torch.randn(4, 3), "w1": torch.randn(3, 4)}, ode)
a = torch.randn(4, 4)
case("sqrtm", {"a": a @ a.T + torch.eye(4)}, sqrtm)
labels, lengths = torch.tensor([[1, 2, 2, 3]]), (torch.tensor([8]), torch.tensor([4]))
ctc = lambda x: torch.nn.functional.ctc_loss(x.log_softmax(1)[:, None], labels, *lengths, reduction="sum")
case("ctc", {"x": torch.randn(8, 5)}, ctc)
case("upfirdn2d", {"x": torch.randn(4, 5), "filter": torch.randn(3, 4)}, upfirdn2d, ["filter"])
case("lsq", {"x": torch.randn(12) * 2, "step": torch.tensor(0.4)}, lsq)
case("reversal", {"x": torch.randn(2, 3)}, Reversal.apply)
case("blackbox", {"costs": torch.rand(5, 6)}, Blackbox.apply)
rows = [2, 1, 3]
inputs = {**{f"x{k}": torch.randn(n, 3) for k, n in enumerate(rows)}, **{f"w{k}": torch.randn(3, 4) for k in range(3)}}
grouped = lambda **a: sum((a[f"x{k}"] @ a[f"w{k}"]).sum(0) for k in range(3))
case("grouped", inputs, grouped)
case("segments", {"x": torch.randn(6)}, segments)
knots = torch.tensor([0.0, 0.5, 1.5, 2.0, 3.5])
case("spline", {"y": torch.randn(5), "at": torch.rand(6) * 3.5, "knots": knots}, spline, ["knots"])
attention = lambda q, k, v: torch.softmax(q @ k.T / math.sqrt(3), 1) @ v
case("attention", {"q": torch.randn(4, 3), "k": torch.randn(5, 3), "v": torch.randn(5, 2)}, attention)
skew = lambda w: torch.stack([torch.linalg.cross(w, axis.expand_as(w)) for axis in torch.eye(3)], -1)
rotation = lambda w: torch.linalg.matrix_exp(skew(w)).reshape(-1, 9)
case("so3", {"w": torch.randn(6, 3) * torch.tensor([0.0, 1e-4, 0.02, 1, 1, 2])[:, None]}, rotation)
def matern(x, y, b, length):
    scaled = math.sqrt(3) * torch.linalg.vector_norm(x[:, None] - y, dim=2) / length
    return ((1 + scaled) * torch.exp(-scaled)) @ b


inputs = {"x": torch.randn(4, 3), "y": torch.randn(6, 3), "b": torch.randn(6), "length": torch.tensor(0.8)}
case("matern", inputs, matern)


def transport(x, y):
    cost, f, g = (x[:, None] - y).square().sum(2) / 2, torch.zeros(len(x)), torch.zeros(len(y))
    for _ in range(40):
        f = -0.3 * torch.logsumexp((g - cost) / 0.3 - math.log(len(y)), 1)
        g = -0.3 * torch.logsumexp((f[:, None] - cost) / 0.3 - math.log(len(x)), 0)
    return f.mean() + g.mean()


case("transport", {"x": torch.randn(4, 2), "y": torch.randn(5, 2)}, transport)


def selective(h, delta, x, b, c, a, d):
    ys = []
    for t in range(len(x)):
        h = torch.exp(delta[t][..., None] * a) * h + (delta[t] * x[t])[..., None] * b[t]
        ys.append((h * c[t]).sum(-1) + d * x[t])
    return torch.stack(ys)


inputs = {"h": torch.randn(2, 3, 16), "delta": torch.rand(5, 2, 3), "x": torch.randn(5, 2, 3)}
inputs |= {name: torch.randn(5, 2, 1, 16) for name in "bc"}
case("selective", {**inputs, "a": -torch.rand(1, 3, 16) - 0.5, "d": torch.randn(1, 3)}, selective)


def gru(h, gates, w, bias):
    cell = torch.nn.GRUCell(9, 3)
    identity = {"weight_ih": torch.eye(9), "bias_ih": torch.zeros(9), "weight_hh": w.reshape(9, 3), "bias_hh": bias[0]}
    states = []
    for step in gates:
        h = torch.func.functional_call(cell, identity, (step, h))
        states.append(h)
    return torch.stack(states)


case("gru", {"h": torch.randn(2, 3), "gates": torch.randn(4, 2, 9), "w": torch.randn(1, 27), "bias": torch.randn(1, 9)}, gru)


def biquad(first, second, x, b, a):
    ys, b, a = [], b[0], a[0]
    for step in x:
        y = b[0] * step + first
        first, second = b[1] * step - a[0] * y + second, b[2] * step - a[1] * y
        ys.append(y)
    return torch.stack(ys)


inputs = {name: torch.randn(2) for name in ("first", "second")}
case("biquad", {**inputs, "x": torch.randn(6, 2), "b": torch.randn(1, 3), "a": torch.rand(1, 2) - 0.5}, biquad)


def transducer(blank, label):
    """The recursion of torchaudio's RNN-T loss, cell by cell."""
    steps, batch, places = blank.shape
    alpha = {(0, 0): torch.zeros(batch)}
    for t in range(steps):
        for u in range(places):
            ways = [alpha[t - 1, u] + blank[t - 1, :, u]] if t else []
            ways += [alpha[t, u - 1] + label[t, :, u - 1]] if u else []
            if ways:
                alpha[t, u] = torch.logsumexp(torch.stack(ways), 0)
    return -(alpha[steps - 1, places - 1] + blank[-1, :, -1])


logits = {name: -torch.rand(5, 2, 4) * 3 for name in ("blank", "label")}
case("transducer", logits, transducer)


class FastSigmoid(torch.autograd.Function):
    """A step, with the slope of x / (1 + 25 |x|), as in snnTorch."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (25 * x.abs() + 1) ** 2


def spikes(u, x, beta):
    out = []
    for step in x:
        reset = FastSigmoid.apply(u - 1).detach()
        u = beta * u + step - reset
        out.append(FastSigmoid.apply(u - 1))
    return torch.stack(out)


inputs = {"u": torch.rand(3) * 2, "x": torch.rand(12, 3), "beta": torch.rand(3) / 2 + 0.5}
case("spikes", inputs, spikes)
print(json.dumps(CASES))
