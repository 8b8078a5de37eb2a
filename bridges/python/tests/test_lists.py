"""Functions with a list of tensors: a list or a tuple of arrays, each of which has a gradient."""

import subprocess
import sys

import diffops
import jax
import jax.numpy as jnp
import numpy
import pytest
import torch
from jax import export
from torch.utils.checkpoint import checkpoint

jax.config.update("jax_enable_x64", True)
quietly = pytest.mark.filterwarnings("ignore")


def numbers(*shape):
    return numpy.random.default_rng(sum(shape)).standard_normal(shape)


def tensors(*shapes):
    return [torch.from_numpy(numbers(*shape)).requires_grad_() for shape in shapes]


def penalized(x, params, scales, last=None):
    """`diffops.Penalized` in operations of a framework."""
    return x * sum([(param * param).sum() for param in [*params, *([] if last is None else [last])]], sum(scales))


def blend(x, parts, weights):
    return sum([part * weight for part, weight in zip(parts, weights)], x)


@quietly
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_all_derivatives_of_lists_of_all_lengths(count):
    params = [numbers(2, place + 1) for place in range(count)]
    diffops.testing.check(diffops.Penalized, numbers(3), params, [0.5])
    diffops.testing.check(diffops.Penalized, numbers(3), tuple(params), [], numbers(2, 2))
    diffops.testing.check(diffops.blend, numbers(3), [numbers(3)] * count, numbers(count))


def test_the_tensors_of_a_list_have_gradients_of_their_own():
    x, *params = tensors((3,), (2, 3), (1, 4), (2, 2))
    frozen = params[1].detach()
    output = diffops.Penalized(x, (params[0], frozen, params[2]), [0.5])
    assert "Penalized" in output.grad_fn.name() and len(output.grad_fn.next_functions) == 4
    output.sin().sum().backward()
    found = [each.grad for each in (x, *params)]
    for each in (x, *params):
        each.grad = None
    penalized(x, (params[0], frozen, params[2]), [0.5]).sin().sum().backward()
    assert found[2] is None
    for one, other in zip(found, [each.grad for each in (x, *params)]):
        torch.testing.assert_close(one, other)


def test_one_tensor_may_be_in_a_list_twice():
    x, part, weights = tensors((3,), (3,), (2,))
    grads = torch.autograd.grad(diffops.blend(x, [part, part], weights).sum(), (part, weights))
    torch.testing.assert_close(grads[0], weights.sum().expand(3).detach())
    torch.testing.assert_close(grads[1], part.sum().expand(2).detach())


def test_parameters_of_a_module_are_trained():
    x = torch.ones(3)
    params = list(torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False), torch.nn.Linear(2, 4, bias=False)).parameters())
    optimizer = torch.optim.SGD(params, lr=0.01)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = diffops.Penalized(x, params, [0.5]).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints(use_reentrant):
    arguments = tensors((3,), (2, 3), (1, 4))

    def function(x, *params):
        return diffops.Penalized(x, params, [0.5])

    expected = torch.autograd.grad(function(*arguments).sin().sum(), arguments)
    checkpoint(function, *arguments, use_reentrant=use_reentrant).sin().sum().backward()
    for one, other in zip(arguments, expected):
        torch.testing.assert_close(one.grad, other)


def test_half_precision():
    x, part, weights = torch.ones(3).half(), torch.ones(3).half(), torch.ones(1).half().requires_grad_()
    output = diffops.blend(x, [part], weights)
    assert output.dtype == torch.float16 and output.tolist() == [2, 2, 2]
    output.sum().backward()
    assert weights.grad.dtype == torch.float16 and weights.grad.item() == 3
    assert diffops.blend(x, [part.float()], weights).dtype == torch.float32
    output = diffops.Penalized(jnp.ones(3, "bfloat16"), [jnp.ones((2, 2), "bfloat16")], [1.0])
    assert output.dtype == jnp.bfloat16 and output.tolist() == [5, 5, 5]


@quietly
def test_functions_of_pytrees():
    x, params = torch.from_numpy(numbers(3)), [torch.from_numpy(numbers(2, 3)), torch.from_numpy(numbers(1, 4))]

    def loss(function):
        return lambda x, params: function(x, params, [0.5]).sin().sum()

    grads = torch.func.grad(loss(diffops.Penalized), (0, 1))(x, params)
    expected = torch.func.grad(loss(penalized), (0, 1))(x, params)
    torch.testing.assert_close(grads, expected)
    # One tensor of the list is mapped.
    params[1] = torch.from_numpy(numbers(5, 1, 4))
    both = [
        torch.func.vmap(torch.func.grad(loss(function), 1), in_dims=(None, [None, 0]))(x, params)
        for function in (diffops.Penalized, penalized)
    ]
    torch.testing.assert_close(*both)


@quietly
def test_compiled_functions_take_lists_of_all_lengths():
    def function(x, parts, weights):
        return diffops.blend(x.sin(), parts, weights).sin().sum()

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for count in (2, 0, 1):
        for kind in (list, tuple):
            x, weights, *parts = tensors((3,), (count,), *[(3,)] * count)
            inputs = [x, weights, *parts]
            grads = torch.autograd.grad(compiled(x, kind(parts), weights), inputs)
            expected = blend(x.sin(), parts, weights).sin().sum()
            # Weights of no parts are not used.
            expected = torch.autograd.grad(expected, inputs, materialize_grads=True)
            for one, other in zip(grads, expected):
                torch.testing.assert_close(one, other)
    half = [each.detach().half() for each in tensors((3,), (3,), (1,))]
    assert compiled(half[0], [half[1]], half[2]).dtype == torch.float16


def test_compiled_transforms_of_lists_warn_of_nothing(recwarn):
    x, parts, weights = torch.rand(2, 3), [torch.rand(3)], torch.rand(1)
    compiled = torch.compile(torch.func.vmap(lambda x: diffops.blend(x, parts, weights)), backend="aot_eager")
    torch.testing.assert_close(compiled(x), blend(x, parts, weights))
    assert not [warning for warning in recwarn if "lru_cache" in str(warning.message)]


@quietly
def test_one_program_is_for_all_lengths_of_axes():
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(diffops.blend, backend=backend, dynamic=True, fullgraph=True)
    for length in range(3, 9):
        x, first, second, weights = tensors((length,), (length,), (length,), (2,))
        torch.testing.assert_close(compiled(x, [first, second], weights), blend(x, [first, second], weights))
    assert len(graphs) == 1

    class Module(torch.nn.Module):
        def forward(self, x, parts, weights):
            return diffops.blend(x, parts, weights)

    n = torch.export.Dim("n", min=2, max=1000)
    example = [each.detach() for each in tensors((3,), (3,), (3,), (2,))]
    program = torch.export.export(
        Module(), (example[0], example[1:3], example[3]), dynamic_shapes=({0: n}, [{0: n}, {0: n}], {}), strict=False
    )
    x, first, second, weights = [each.detach() for each in tensors((40,), (40,), (40,), (2,))]
    found = program.module()(x, [first, second], weights)
    torch.testing.assert_close(found, blend(x, [first, second], weights))


def test_pytrees_of_jax():
    x, params = jnp.asarray(numbers(3)), [jnp.asarray(numbers(2, 3)), jnp.asarray(numbers(1, 4))]

    def loss(function):
        return lambda x, params: jnp.sin(function(x, params, [0.5])).sum()

    def close(one, other):
        assert jax.tree.structure(one) == jax.tree.structure(other)
        jax.tree.map(lambda one, other: numpy.testing.assert_allclose(one, other, rtol=1e-12), one, other)

    for transform in (jax.grad, jax.jacfwd, jax.hessian):
        expected = jax.jit(transform(loss(penalized), (0, 1)))(x, params)
        # Without `jit`, JAX compiles each operation of a Jacobian.
        if transform == jax.grad:
            close(jax.grad(loss(diffops.Penalized), (0, 1))(x, params), expected)
        close(jax.jit(transform(loss(diffops.Penalized), (0, 1)))(x, params), expected)
    params[1] = jnp.asarray(numbers(5, 1, 4))
    ours, theirs = [
        jax.vmap(jax.grad(loss(function), 1), in_axes=(None, [None, 0])) for function in (diffops.Penalized, penalized)
    ]
    close(ours(x, params), jax.jit(theirs)(x, params))


def test_an_exported_program_of_jax_runs_elsewhere(tmp_path):
    x, parts, weights = jnp.ones(3), [jnp.arange(3.0), jnp.ones(3)], jnp.asarray([2.0, 3.0])
    check = export.DisabledSafetyCheck.custom_call("diffops")
    program = export.export(jax.jit(diffops.blend), disabled_checks=[check])(x, parts, weights)
    (tmp_path / "program").write_bytes(program.serialize())
    source = (
        "import jax, diffops\nfrom jax import export\n"
        "jax.config.update('jax_enable_x64', True)\n"
        "import jax.numpy as jnp\n"
        f"program = export.deserialize(bytearray(open({str(tmp_path / 'program')!r}, 'rb').read()))\n"
        "print(program.call(jnp.ones(3), [jnp.arange(3.0), jnp.ones(3)], jnp.asarray([2.0, 3.0])).tolist())"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(blend(x, parts, weights).tolist())


def test_gradients_of_numpy_are_lists():
    x, params = numbers(3), (numbers(2, 3), numbers(1, 4))
    y, pull = diffops.vjp(diffops.Penalized, x, params, [0.5])
    numpy.testing.assert_allclose(y, penalized(x, params, [0.5]))
    grad_x, grad_params, *others = pull(numpy.ones(3))
    numpy.testing.assert_allclose(grad_x, penalized(numpy.ones(3), params, [0.5]))
    assert isinstance(grad_params, list) and others == [None, None]
    for grad, param in zip(grad_params, params, strict=True):
        numpy.testing.assert_allclose(grad, 2 * param * x.sum())
    assert diffops.vjp(diffops.Penalized, x, [], [0.5])[1](numpy.ones(3))[1] == []


ARRAY = {"torch": torch.ones, "jax": jnp.ones, "numpy": numpy.ones}


@pytest.mark.parametrize("framework", ARRAY)
def test_mistakes_name_the_tensor_of_the_list(framework):
    ones = ARRAY[framework]
    for parts, error, text in [
        (ones(3), TypeError, "blend: `parts` must be a list of arrays, not"),
        (None, TypeError, "blend: `parts` must be a list of arrays, not NoneType"),
        ([ones(3), None], TypeError, r"blend: `parts\[1\]` must be an array, not None"),
        ([ones(3), "a"], TypeError, r"blend: `parts\[1\]` must be a .*, not str"),
        ([ones(3), ones((1, 3))], ValueError, r"`parts\[1\]` must have 1 axis, not the shape \[1, 3\]"),
        ([ones(3), ones(4)], ValueError, r"axis `n` is 3 in `x` and 4 in `parts\[1\]`"),
    ]:
        with pytest.raises(error, match=text):
            diffops.blend(ones(3), parts, ones(2))
    single = {"torch": torch.float32, "jax": jnp.float32, "numpy": numpy.float32}[framework]
    double = {"torch": torch.float64, "jax": jnp.float64, "numpy": numpy.float64}[framework]
    with pytest.raises(TypeError, match=r"blend: `parts\[0\]` must be float64, not float32"):
        diffops.blend(ones(3, dtype=double), [ones(3, dtype=single)], ones(1, dtype=double))


def test_the_stub_and_the_documentation():
    assert "def blend(x: Array, parts: Sequence[Array], weights: Array) -> Array:" in diffops.__pyi__
    assert "parts: list of arrays of float32 or float64 of shape [n]\n" in diffops.blend.__doc__
    assert "params: list of arrays of float32 or float64 with 2 axes\n" in diffops.Penalized.__doc__
    schema = str(torch.ops.diffops.Penalized.default._schema)
    assert schema == "diffops::Penalized(Tensor x, Tensor[] params, float[] scales, Tensor? last) -> Tensor[]"
