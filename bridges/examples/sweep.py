"""Every built-in function beside PyTorch's: runs `cargo bench -- sweep` and the same lines of PyTorch, and prints the ratios.

    python examples/sweep.py [--threads N]

Worst first: a ratio above 1 is slower than PyTorch. Each side runs twice, in turns; the smallest times count.
"""

import argparse
import math
import os
import re
import subprocess
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import linalg

MANY = 1 << 20
RUNS = 9


def leaf(shape, low, high, dtype):
    return (torch.rand(shape, dtype=dtype) * (high - low) + low).requires_grad_()


def of_one_number(dtype):
    x, positive = leaf(MANY, -2, 2, dtype), leaf(MANY, 0.1, 3, dtype)
    inside, above = leaf(MANY, -0.9, 0.9, dtype), leaf(MANY, 1.1, 3, dtype)
    for name in "abs asinh atan cos cosh erf exp relu sigmoid sin sinh square tanh".split():
        yield name, [x], lambda name=name: getattr(torch, name)(x)
    for name in "acos asin atanh tan".split():
        yield name, [inside], lambda name=name: getattr(torch, name)(inside)
    yield "acosh", [above], lambda: above.acosh()
    yield "clamp", [x], lambda: x.clamp(-1, 1)
    yield "dropout", [x], lambda: F.dropout(x, 0.3)
    yield "elu", [x], lambda: F.elu(x)
    yield "exp_m1", [x], lambda: torch.expm1(x)
    yield "gelu", [x], lambda: F.gelu(x)
    yield "gelu_tanh", [x], lambda: F.gelu(x, approximate="tanh")
    yield "leaky_relu", [x], lambda: F.leaky_relu(x)
    yield "ln", [positive], lambda: positive.log()
    yield "ln_1p", [positive], lambda: positive.log1p()
    yield "normal_cdf", [x], lambda: torch.special.ndtr(x)
    yield "powf", [positive], lambda: positive**1.7
    yield "powi", [x], lambda: x**3
    yield "recip", [positive], lambda: positive.reciprocal()
    yield "rsqrt", [positive], lambda: positive.rsqrt()
    yield "silu", [x], lambda: F.silu(x)
    yield "softplus", [x], lambda: F.softplus(x)
    yield "sqrt", [positive], lambda: positive.sqrt()
    yield "neg", [x], lambda: -x
    yield "add_scalar", [x], lambda: x + 1.5
    yield "mul_scalar", [x], lambda: x * 1.5
    yield "div_scalar", [x], lambda: x / 1.5


def of_two_numbers(dtype):
    x, y = leaf(MANY, -2, 2, dtype), leaf(MANY, 0.1, 3, dtype)
    yield "add", [x, y], lambda: x + y
    yield "sub", [x, y], lambda: x - y
    yield "mul", [x, y], lambda: x * y
    yield "div", [x, y], lambda: x / y
    yield "maximum", [x, y], lambda: torch.maximum(x, y)
    yield "minimum", [x, y], lambda: torch.minimum(x, y)
    mask = x > 0
    yield "where", [x, y], lambda: torch.where(mask, x, y)
    matrix, other = leaf((1024, 1024), -1, 1, dtype), leaf((1024, 1024), -1, 1, dtype)
    row, column = leaf((1, 1024), -1, 1, dtype), leaf((1024, 1), -1, 1, dtype)
    yield "add_row", [matrix, row], lambda: matrix + row
    yield "mul_column", [matrix, column], lambda: matrix * column
    yield "transpose_mul", [other], lambda: matrix.detach().t() * other


def reductions(dtype):
    x = leaf(MANY, -2, 2, dtype)
    yield "sum", [x], x.sum
    yield "mean", [x], x.mean
    yield "var", [x], x.var
    yield "std", [x], x.std
    yield "norm", [x], lambda: linalg.vector_norm(x)
    yield "max", [x], x.max
    yield "min", [x], x.min
    yield "prod", [x], x.prod
    yield "logsumexp", [x], lambda: x.logsumexp(0)
    m = leaf((1024, 1024), -1, 1, dtype)
    for axis in range(2):
        yield f"sum_axis{axis}", [m], lambda axis=axis: m.sum(axis)
        yield f"mean_axis{axis}", [m], lambda axis=axis: m.mean(axis)
        yield f"var_axis{axis}", [m], lambda axis=axis: m.var(axis)
        yield f"std_axis{axis}", [m], lambda axis=axis: m.std(axis)
        yield f"norm_axis{axis}", [m], lambda axis=axis: linalg.vector_norm(m, dim=axis)
        yield f"max_axis{axis}", [m], lambda axis=axis: m.amax(axis)
        yield f"min_axis{axis}", [m], lambda axis=axis: m.amin(axis)
        yield f"prod_axis{axis}", [m], lambda axis=axis: m.prod(axis)
        yield f"logsumexp_axis{axis}", [m], lambda axis=axis: m.logsumexp(axis)
        yield f"softmax_axis{axis}", [m], lambda axis=axis: m.softmax(axis)
        yield f"log_softmax_axis{axis}", [m], lambda axis=axis: m.log_softmax(axis)
        yield f"cumsum_axis{axis}", [m], lambda axis=axis: m.cumsum(axis)


def movements(dtype):
    x = leaf((1024, 1024), -1, 1, dtype)
    yield "flip", [x], lambda: x.flip(0)
    yield "roll", [x], lambda: x.roll(7, 0)
    yield "pad", [x], lambda: F.pad(x, (3, 4, 1, 2))
    yield "slice_exp", [x], lambda: x[::2, 1:].exp()
    yield "transpose_exp", [x], lambda: x.t().exp().contiguous()
    yield "concat", [x], lambda: torch.cat([x, x])
    yield "stack", [x], lambda: torch.stack([x, x])
    rows = torch.tensor([(i * 7919) % 1024 for i in range(4096)])
    yield "index_select", [x], lambda: x.index_select(0, rows)
    yield "embedding", [x], lambda: F.embedding(rows, x)
    source = x.detach()
    yield "index_add", [x], lambda: x.index_add(0, rows[:1024], source)
    i, j = torch.meshgrid(torch.arange(1024), torch.arange(1024), indexing="ij")
    indices = (i * 31 + j * 17) % 1024
    yield "gather", [x], lambda: x.gather(1, indices)
    yield "scatter_add", [x], lambda: x.scatter_add(1, indices, source)


def losses(dtype):
    x, target = leaf(MANY, -2, 2, dtype), leaf(MANY, 0.1, 0.9, dtype).detach()
    yield "mse_loss", [x], lambda: F.mse_loss(x, target)
    yield "l1_loss", [x], lambda: F.l1_loss(x, target)
    yield "huber_loss", [x], lambda: F.huber_loss(x, target)
    yield "bce_with_logits", [x], lambda: F.binary_cross_entropy_with_logits(x, target)
    yield "kl_div", [x], lambda: F.kl_div(x, target, reduction="mean")
    logits = leaf((1024, 1024), -1, 1, dtype)
    labels = torch.tensor([(i * 31) % 1024 for i in range(1024)])
    yield "cross_entropy", [logits], lambda: F.cross_entropy(logits, labels)


def products(dtype):
    a, b = leaf((512, 512), -1, 1, dtype), leaf((512, 512), -1, 1, dtype)
    yield "matmul_512", [a, b], lambda: a @ b
    x, weight, bias = leaf((256, 1024), -1, 1, dtype), leaf((512, 1024), -1, 1, dtype), leaf(512, -1, 1, dtype).detach()
    yield "linear", [x, weight], lambda: F.linear(x, weight, bias)
    q, k = leaf((64, 128, 64), -1, 1, dtype), leaf((64, 64, 128), -1, 1, dtype)
    yield "bmm", [q, k], lambda: q @ k
    heads = [leaf((2, 4, 128, 64), -1, 1, dtype) for _ in range(3)]
    yield "attention", heads, lambda: F.scaled_dot_product_attention(*heads)


def images(dtype):
    image = leaf((8, 32, 64, 64), -1, 1, dtype)
    for size, padding in [(1, 0), (3, 1), (5, 2)]:
        weight = leaf((32, 32, size, size), -1, 1, dtype)
        for stride in [1, 2]:
            name = f"conv2d_{size}x{size}_stride{stride}"
            yield name, [image, weight], lambda w=weight, s=stride, p=padding: F.conv2d(image, w, stride=s, padding=p)
    weight = leaf((32, 16, 3, 3), -1, 1, dtype)
    yield "conv_transpose2d", [image, weight], lambda: F.conv_transpose2d(image, weight)
    yield "layer_norm", [image], lambda: F.layer_norm(image, (64, 64))
    yield "batch_norm", [image], lambda: F.batch_norm(image, None, None, training=True)
    yield "group_norm", [image], lambda: F.group_norm(image, 8)
    yield "max_pool2d", [image], lambda: F.max_pool2d(image, 2)
    yield "avg_pool2d", [image], lambda: F.avg_pool2d(image, 3, 2, 1)


def matrices(dtype):
    for size in [16, 256]:
        i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        off = ((i * 31 + j * 17 + (i * j) % 7) % 13) / 13
        a = torch.where(i == j, 300.0, off).to(dtype).requires_grad_()
        b = a.detach()
        symmetric = (b + b.T).requires_grad_()
        yield f"inv_{size}", [a], lambda a=a: linalg.inv(a)
        yield f"solve_{size}", [a], lambda a=a, b=b: linalg.solve(a, b)
        yield f"det_{size}", [a], lambda a=a: linalg.slogdet(a)[1]
        yield f"cholesky_{size}", [symmetric], lambda s=symmetric: linalg.cholesky(s)
        spread = leaf((size, size), -1, 1, dtype)
        yield f"qr_{size}", [spread], lambda a=spread: sum(linalg.qr(a))
        yield f"eigh_{size}", [spread], lambda a=spread: sum(linalg.eigh((a + a.T) / 2))
        yield f"svd_{size}", [spread], lambda a=spread: sum(linalg.svd(a))


ALL = [of_one_number, of_two_numbers, reductions, movements, losses, products, images, matrices]


def timed(leaves, function):
    """Returns the time of forward and of backward for each element of the first leaf, in nanoseconds."""
    forward = backward = math.inf
    for _ in range(RUNS):
        for x in leaves:
            x.grad = None
        start = time.perf_counter()
        output = function()
        forward = min(forward, time.perf_counter() - start)
        seed = torch.ones_like(output)
        start = time.perf_counter()
        output.backward(seed)
        backward = min(backward, time.perf_counter() - start)
    count = leaves[0].numel()
    return forward * 1e9 / count, backward * 1e9 / count


def of_torch(threads):
    torch.set_num_threads(threads)
    for dtype, kind in [(torch.float32, "f32"), (torch.float64, "f64")]:
        for group in ALL:
            for name, leaves, function in group(dtype):
                forward, backward = timed(leaves, function)
                yield f"{name}/{kind} forward", forward
                yield f"{name}/{kind} backward", backward


def of_ours(threads):
    root = Path(__file__).resolve().parents[2]
    command = ["cargo", "bench", "--quiet", "--bench", "sweep", "--", "--threads", str(threads)]
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    printed = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        found = re.match(r"sweep/(\S+) forward (\S+) ns(?: backward (\S+) ns)?", line)
        if found:
            yield f"{found[1]} forward", float(found[2])
            if found[3]:
                yield f"{found[1]} backward", float(found[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    times = [{}, {}]
    for _ in range(2):
        for side, lines in zip(times, [of_ours(threads), of_torch(threads)], strict=True):
            for name, figure in lines:
                side[name] = min(figure, side.get(name, math.inf))
    ours, torchs = times
    ratios = sorted(((ours[name] / torchs[name], name) for name in ours.keys() & torchs.keys()), reverse=True)
    for ratio, name in ratios:
        print(f"{ratio:7.2f}  {name:34} ours {ours[name]:9.3f}  torch {torchs[name]:9.3f} ns")
    slow = [ratio for ratio, name in ratios if ratio > 1.2 and ours[name] > 0.05]
    print(f"{len(slow)} of {len(ratios)} are more than 1.2 times PyTorch's")


if __name__ == "__main__":
    main()
