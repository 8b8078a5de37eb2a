"""Functions with declared shapes where programs are traced: they are not run, and lengths stay symbols."""

import itertools

import jax
import jax.numpy as jnp
import diffops
import numpy
import pytest
import torch
from jax import export

jax.config.update("jax_enable_x64", True)
quietly = pytest.mark.filterwarnings("ignore")
Call = diffops.squash.__globals__["_call"].__globals__["Call"]


@pytest.fixture
def runs(monkeypatch):
    """The shapes of the arrays of each run of a function that Python calls."""
    runs = []
    run = Call.__call__

    def counted(self, arrays, requires_grad):
        runs.append([array.shape for array in arrays])
        return run(self, arrays, requires_grad)

    monkeypatch.setattr(Call, "__call__", counted)
    return runs


def system(length, *examples):
    """A system whose matrix is well conditioned; one of ones has a pivot of zero."""
    random = numpy.random.default_rng(length).random
    below, above = random((*examples, length - 1)), random((*examples, length - 1))
    return below, 3 + random((*examples, length)), above, random((*examples, length))


def tensors(arrays):
    return [torch.from_numpy(array).requires_grad_() for array in arrays]


def solve(below, diagonal, above, right):
    return torch.linalg.solve(torch.diag(diagonal) + torch.diag(below, -1) + torch.diag(above, 1), right)


def gradients(function, arguments):
    output = function(*arguments)
    return output, *torch.autograd.grad(output.sin().sum(), arguments)


def test_the_solver_is_right():
    for length in range(1, 9):
        arguments = tensors(system(length))
        for ours, theirs in zip(gradients(diffops.tridiagonal, arguments), gradients(solve, arguments)):
            torch.testing.assert_close(ours, theirs)
    assert torch.autograd.gradcheck(diffops.tridiagonal, arguments)
    with pytest.raises(RuntimeError, match="tridiagonal: the pivot 1 is zero"):
        diffops.tridiagonal(*[torch.ones(length, dtype=torch.float64) for length in (2, 3, 2, 3)])


@quietly
def test_a_solver_is_compiled_for_all_lengths(runs):
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(diffops.tridiagonal, backend=backend, dynamic=True, fullgraph=True)
    for length in range(4, 16):
        arguments = tensors(system(length))
        for ours, theirs in zip(gradients(compiled, arguments), gradients(solve, arguments)):
            torch.testing.assert_close(ours, theirs)
    assert len(graphs) == 1
    # Each gradient runs the function again, and there is no run on ones. Fast calls forward are not seen.
    is_fast = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert len(runs) == (12 if is_fast else 24)


@quietly
@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_solver_takes_other_lengths(runs, strict):
    class Solver(torch.nn.Module):
        def forward(self, below, diagonal, above, right):
            return diffops.tridiagonal(below, diagonal, above, right).sin()

    n = torch.export.Dim("n", min=3, max=1000)
    shapes = {0: n - 1}, {0: n}, {0: n - 1}, {0: n}
    example = [torch.from_numpy(array) for array in system(5)]
    program = torch.export.export(Solver(), tuple(example), dynamic_shapes=shapes, strict=strict)
    assert runs == []
    for length in (3, 5, 40):
        arguments = [torch.from_numpy(array) for array in system(length)]
        torch.testing.assert_close(program.module()(*arguments), solve(*arguments).sin())


def test_a_solver_is_mapped_and_jitted(runs):
    arguments = system(6, 4)
    expected = numpy.stack([solve(*map(torch.from_numpy, example)) for example in zip(*arguments)])
    mapped = torch.func.vmap(diffops.tridiagonal)(*map(torch.from_numpy, arguments))
    numpy.testing.assert_allclose(mapped, expected)
    arguments = [jnp.asarray(array) for array in arguments]
    runs.clear()
    for function in (jax.vmap(diffops.tridiagonal), jax.jit(jax.vmap(diffops.tridiagonal))):
        numpy.testing.assert_allclose(function(*arguments), expected)
    one = [array[0] for array in arguments]
    grad = jax.jit(jax.grad(lambda *arguments: jnp.sin(diffops.tridiagonal(*arguments)).sum(), (0, 1, 2, 3)))(*one)
    # XLA calls the function, and its shapes need no run.
    assert runs == []
    theirs = gradients(solve, tensors([numpy.array(array) for array in one]))[1:]
    for one, other in zip(grad, theirs):
        numpy.testing.assert_allclose(one, other)


def numbers(*shape):
    return numpy.random.default_rng(len(shape)).random(shape)


def places(x):
    return torch.tensor([2, 0, 2]) if isinstance(x, torch.Tensor) else numpy.array([2, 0, 2])


# A function, and arguments for a length.
FUNCTIONS = {
    "an expression of values": (lambda x: diffops.windows(x, 3, 2), lambda n: [numbers(n)]),
    "leading axes": (diffops.affine, lambda n: [numbers(n, 9, 4), numbers(7, 4), numbers(7)]),
    "no leading axes, nothing optional": (diffops.affine, lambda n: [numbers(4), numbers(n, 4)]),
    "two outputs": (lambda x: diffops.rows(x, places(x))[0], lambda n: [numbers(n, 4)]),
    "the shape of an argument": (diffops.centered, lambda n: [numbers(n, 4)]),
    "elementwise": (diffops.squash, lambda n: [numbers(n, 4), 1 + numbers(4)]),
    "rows": (diffops.hamilton, lambda n: [numbers(n, 4), numbers(5, 1, 4)]),
    "steps": (lambda *arguments: diffops.leaky(*arguments)[1], lambda n: [numbers(4), numbers(n, 4), numbers(3, 1)]),
    "rows and columns": (
        lambda *arguments: diffops.gaussian(*arguments, 2.0),
        lambda n: [numbers(n, 3), numbers(n + 1, 3), numbers(n + 1)],
    ),
    "rows and numbers": (lambda *arguments: diffops.scaled(*arguments)[0], lambda n: [numbers(1, 3), numbers(n)]),
}


@quietly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_is_for_all_lengths(name, runs):
    function, arguments = FUNCTIONS[name]
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, dynamic=True, fullgraph=True)
    for length in range(12, 20):
        given = [torch.from_numpy(array) for array in arguments(length)]
        torch.testing.assert_close(compiled(*given), function(*given))
    assert len(graphs) == 1
    # JAX has a program for each shape.
    for length in (5, 12):
        given = [jnp.asarray(array) for array in arguments(length)]
        expected = function(*given)
        runs.clear()
        numpy.testing.assert_allclose(jax.jit(function)(*given), expected)
        assert runs == []


def test_rows_have_their_length():
    wrong, right = numbers(5, 3), numbers(5, 4)
    with pytest.raises(Exception, match=r"`b` .*rows of length 4"):
        diffops.hamilton(right, wrong)
    with pytest.raises(Exception, match=r"`b` must have rows of length 4, not the shape \[5, 3\]"):
        jax.jit(diffops.hamilton)(jnp.asarray(right), jnp.asarray(wrong))
    point, distance = jax.eval_shape(diffops.scaled, abstract(2, 6, 3), abstract(6))
    assert (point.shape, distance.shape) == ((2, 6, 3), (2, 6))


def abstract(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float64)


def test_symbols_of_jax_stay_symbols(runs):
    n, m, d = export.symbolic_shape("n, m, d", constraints=["n >= 3"])
    for function, arguments, expected in (
        (diffops.tridiagonal, [abstract(n - 1), abstract(n), abstract(n - 1), abstract(n)], [(n,)]),
        (lambda x: diffops.windows(x, 3, 2), [abstract(n)], [((n - 3) // 2 + 1,)]),
        (diffops.affine, [abstract(n, m, d), abstract(2 * m, d)], [(n, m, 2 * m)]),
        (lambda x: diffops.rows(x, numpy.array([1, 0])), [abstract(n, d)], [(2, d), (2,)]),
        (diffops.centered, [abstract(n, d)], [(n, d)]),
        (diffops.above_smallest, [abstract(n)], [(n,), ()]),
        (diffops.squash, [abstract(n, m), abstract(m)], [(n, m)]),
        (diffops.leaky, [abstract(m), abstract(n, m), abstract()], [(m,), (n, m)]),
        (
            diffops.attention,
            [abstract(m, d), abstract(n, 1, d), abstract(n, m), abstract(n, 1, d)],
            [(m, d), (n, m)],
        ),
        (lambda *given: diffops.gaussian(*given, 2.0), [abstract(n, 3), abstract(m, 3), abstract(m)], [(n,)]),
    ):
        found = jax.tree.leaves(jax.eval_shape(function, *arguments))
        assert [array.shape for array in found] == expected
        loss = jax.grad(lambda *given: jax.tree.leaves(function(*given))[0].sum(), tuple(range(len(arguments))))
        assert [grad.shape for grad in jax.eval_shape(loss, *arguments)] == [array.shape for array in arguments]
    assert runs == []


@quietly
def test_shapes_are_those_of_a_run():
    for length, k, stride in itertools.product(range(9), range(1, 5), range(1, 4)):
        x = numpy.zeros(length)

        def windows(x):
            return diffops.windows(x, k, stride)

        if (length - k) // stride + 1 >= 0 and k <= length:
            assert jax.eval_shape(windows, x).shape == windows(x).shape
        elif (length - k) // stride + 1 < 0:
            for function in (windows, jax.jit(windows)):
                with pytest.raises(ValueError, match=r"`\(l - k\) / stride \+ 1` = -\d, with `l` = \d, `k` = \d, `str"):
                    function(x)


ones = numpy.ones
MISFITS = [
    (diffops.affine, [ones((3, 4)), ones((2, 5))], "axis `i` is 4 in `x` and 5 in `weight`"),
    (diffops.affine, [ones((3, 4)), ones((2, 4)), ones(3)], "axis `o` is 2 in `weight` and 3 in `bias`"),
    (diffops.affine, [ones(()), ones((2, 4))], r"`\[.., i\]`"),
    (diffops.affine, [ones((3, 4)), ones(4)], r"affine: `weight` must have 2 axes, not the shape \[4\]"),
    (diffops.tridiagonal, [ones(3)] * 4, "`below`.*: the length declared as `n - 1` is 2 here"),
    (lambda x: diffops.windows(x, 5, 1), [ones(3)], r"axis 0 of `output` is `\(l - k\) .*` = -1, with `l` = 3, `k` = 5"),
    (lambda x: diffops.windows(x, 2, 0), [ones(3)], "1`, which is not a number, with `l` = 3, `k` = 2, `stride` = 0"),
]


@quietly
@pytest.mark.parametrize(("function", "arguments", "text"), MISFITS)
def test_what_does_not_fit_is_said_while_a_program_is_traced(function, arguments, text, runs):
    arrays, given = [jnp.asarray(array) for array in arguments], [torch.from_numpy(array) for array in arguments]
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(ValueError, match=text):
            wrap(function)(*arrays)
    with pytest.raises(ValueError, match=text):
        function(*given)
    before = len(runs)
    for dynamic in (False, True):
        torch._dynamo.reset()
        with pytest.raises(RuntimeError, match=text):
            torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)(*given)
    assert len(runs) == before


@quietly
def test_a_constant_of_rust_needs_a_run(runs):
    x = numpy.arange(9.0)
    assert jax.jit(diffops.smooth)(jnp.asarray(x)).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert runs == [[(9,)]]
    compiled = torch.compile(diffops.smooth, backend="aot_eager", fullgraph=True)
    assert compiled(torch.from_numpy(x)).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert len(runs) > 2


@quietly
def test_operators_with_shapes_are_what_pytorch_expects():
    operators = torch.ops.diffops
    torch.library.opcheck(operators.tridiagonal.default, tensors(system(5)))
    torch.library.opcheck(operators.windows.default, (*tensors([numbers(9)]), 3, 2))
    torch.library.opcheck(operators.affine.default, tensors([numbers(2, 3, 4), numbers(5, 4), numbers(5)]))
    torch.library.opcheck(operators.rows.default, (*tensors([numbers(4, 3)]), torch.tensor([1, 2, 1])))


def test_shapes_are_documented():
    assert "weight: array of float64 of shape [o, i]" in diffops.affine.__doc__
    assert "Returns: output of shape [(l - k) / stride + 1]." in diffops.windows.__doc__
    assert "Returns: output of the shape of x." in diffops.centered.__doc__
