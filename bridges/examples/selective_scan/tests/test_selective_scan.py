"""The scan beside a loop in PyTorch, which is the reference of mamba-ssm."""

import pytest
import selective_scan

torch = pytest.importorskip("torch")


def reference(u, delta, a, b, c, skip=None):
    x = u.new_zeros(*u.shape[:2], a.shape[1])
    steps = []
    for step in range(u.shape[2]):
        decay = torch.exp(delta[:, :, step, None] * a)
        x = decay * x + (delta[:, :, step] * u[:, :, step])[:, :, None] * b[:, None, :, step]
        steps.append((x * c[:, None, :, step]).sum(-1))
    y = torch.stack(steps, -1)
    return y if skip is None else y + u * skip[:, None]


def arguments(batch, dim, length, states, dtype=torch.float64):
    u, delta = torch.randn(batch, dim, length), torch.rand(batch, dim, length)
    a, b, c = -2 * torch.rand(dim, states), torch.randn(batch, states, length), torch.randn(batch, states, length)
    return [x.to(dtype).requires_grad_() for x in (u, delta, a, b, c, torch.randn(dim))]


# A length of no segment, one less than a segment, whole ones, and one more; channels that no part has evenly.
@pytest.mark.parametrize("shape", [(2, 3, 31, 4), (1, 1, 1, 1), (2, 6, 64, 16), (3, 9, 97, 5), (1, 130, 65, 16)])
@pytest.mark.parametrize("has_skip", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_gradients_are_those_of_torch(shape, has_skip, dtype):
    torch.manual_seed(1)
    inputs = arguments(*shape, dtype)[: 6 if has_skip else 5]
    y = selective_scan.SelectiveScan(*inputs)
    grad = torch.randn_like(y)
    double = [x.detach().double().requires_grad_() for x in inputs]
    expected = reference(*double)
    bound = 1e-12 if dtype == torch.float64 else 1e-5
    grads = torch.autograd.grad(y, inputs, grad)
    for one, other in zip([y, *grads], [expected, *torch.autograd.grad(expected, double, grad.double())]):
        assert (one.double() - other).abs().max() <= bound * other.abs().max()


def test_views_and_other_layouts_are_read():
    torch.manual_seed(2)
    inputs = [x.detach() for x in arguments(2, 4, 33, 3)]
    others = [x.transpose(-1, 0).contiguous().transpose(-1, 0).requires_grad_() for x in inputs]
    inputs = [x.requires_grad_() for x in inputs]
    results = [selective_scan.SelectiveScan(*of) for of in (inputs, others)]
    grads = [torch.autograd.grad(y.square().sum(), of) for y, of in zip(results, (inputs, others))]
    for one, other in zip([results[0], *grads[0]], [results[1], *grads[1]]):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences():
    assert torch.autograd.gradcheck(selective_scan.SelectiveScan, arguments(1, 2, 34, 2), fast_mode=True)


def test_one_compiled_program_is_for_all_lengths():
    compiled = torch.compile(selective_scan.SelectiveScan, backend="aot_eager", fullgraph=True, dynamic=True)
    for length in (5, 40, 70):
        inputs = arguments(2, 3, length, 4)
        torch.testing.assert_close(compiled(*inputs), reference(*inputs))


def test_what_does_not_fit_is_an_error():
    u, delta, a, b, c, skip = arguments(2, 3, 5, 4)
    with pytest.raises(ValueError, match="axis `length`"):
        selective_scan.SelectiveScan(u, delta[:, :, :4], a, b, c, skip)
    with pytest.raises(ValueError, match="axis `states`"):
        selective_scan.SelectiveScan(u, delta, a[:, :3], b, c)
    with pytest.raises(ValueError, match="`a` must have at least one state"):
        selective_scan.SelectiveScan(*arguments(2, 3, 5, 0))


@pytest.mark.parametrize("shape", [(0, 3, 5, 4), (2, 0, 5, 4), (2, 3, 0, 4)])
def test_nothing_is_scanned(shape):
    inputs = arguments(*shape)
    y = selective_scan.SelectiveScan(*inputs)
    y.sum().backward()
    assert y.shape == shape[:3] and not any(x.grad.any() for x in inputs)


def test_jax_computes_the_same():
    jax = pytest.importorskip("jax")
    inputs = [x.detach().numpy() for x in arguments(2, 3, 40, 4, torch.float32)]

    def loss(*inputs):
        return (selective_scan.SelectiveScan(*inputs) ** 2).sum()

    found = jax.jit(jax.grad(loss, tuple(range(6))))(*map(jax.numpy.asarray, inputs))
    leaves = [torch.from_numpy(x).requires_grad_() for x in inputs]
    expected = torch.autograd.grad(reference(*leaves).square().sum(), leaves)
    for one, other in zip(found, expected):
        torch.testing.assert_close(torch.from_numpy(jax.device_get(one).copy()), other, rtol=1e-3, atol=1e-3)
