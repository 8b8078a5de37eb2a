"""Functions that return lists of tensors, alone or among other outputs: lists of arrays."""

import io
import subprocess
import sys

import diffops
import jax
import jax.numpy as jnp
import numpy
import pytest
import torch
from jax import export
from test_lists import numbers, quietly, tensors
from torch.utils.checkpoint import checkpoint

# The functions in operations of a framework.


def powers(x, count):
    return [x**exponent for exponent in range(1, count + 1)]


def unit(parts):
    norm = sum((part * part).sum() for part in parts) ** 0.5
    return [part / norm for part in parts], norm


def lines(x):
    signs = torch.sign(x) if isinstance(x, torch.Tensor) else jnp.sign(x)
    return list(x), list(x.T), list(signs)


# A function of arrays, its equal in operations of a framework, and the shapes of the arrays.
CASES = {
    "a list": (lambda x: diffops.powers(x, 3), lambda x: powers(x, 3), [(2, 3)]),
    "a list of one": (lambda x: diffops.powers(x, 1), lambda x: powers(x, 1), [(2, 3)]),
    "beside another": (lambda *x: diffops.unit(x), lambda *x: unit(x), [(2, 3), (1, 4)]),
    "of one beside another": (lambda *x: diffops.unit(x), lambda *x: unit(x), [(2, 3)]),
    "three lists": (diffops.Lines, lines, [(2, 3)]),
}
of_cases = pytest.mark.parametrize(("function", "expected", "shapes"), CASES.values(), ids=CASES)
of_differentiable = pytest.mark.parametrize(("function", "expected", "shapes"), list(CASES.values())[:4], ids=list(CASES)[:4])


def close(one, other):
    """Compares arrays, and the lists and tuples that have them."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for one, other in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        if isinstance(one, torch.Tensor):
            one, other = one.detach(), other.detach()
        numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def weighted(outputs):
    """Returns a number that depends on each output in another way."""
    outputs = jax.tree.leaves(outputs)
    return sum((place * output + output * output).sum() for place, output in enumerate(outputs))


def gradients(function, x):
    return torch.autograd.grad(weighted(function(*x)), x)


@quietly
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_all_derivatives_of_lists_of_all_lengths(count):
    diffops.testing.check(diffops.powers, numbers(2, 3), count)
    if count:
        diffops.testing.check(diffops.unit, [numbers(2, place + 1) for place in range(count)])
        diffops.testing.check(diffops.Lines, numbers(count, 2))
        diffops.testing.check(diffops.rising, numpy.arange(float(count)))


@pytest.mark.parametrize("array", [numpy.asarray, torch.from_numpy, jnp.asarray])
def test_values_are_lists_of_arrays(array):
    x, part = array(numbers(2, 3)), array(numbers(1, 4))
    for count in (0, 1, 3):
        found = diffops.powers(x, count)
        assert type(found) is list and all(type(each) is type(x) for each in found)
        close(found, powers(x, count))
    found = diffops.unit((x, part))
    assert type(found) is tuple and type(found[0]) is list
    close(found, unit([x, part]))
    assert [[len(line) for line in each] for each in diffops.Lines(x)] == [[3, 3], [2, 2, 2], [3, 3]]
    assert diffops.rising(array(numpy.zeros(0))) == []


@of_cases
def test_gradients_are_those_of_torch_where_outputs_are_unused(function, expected, shapes):
    x = tensors(*shapes)
    outputs = [output for output in jax.tree.leaves(function(*x)) if output.requires_grad]
    assert len({output.grad_fn for output in outputs}) == 1 and len(outputs[0].grad_fn.next_functions) == len(x)
    for marks in range(1, 1 << len(outputs)):
        used = [place for place in range(len(outputs)) if marks >> place & 1]
        found, grads = [
            torch.autograd.grad(weighted([jax.tree.leaves(each(*x))[place] for place in used]), x)
            for each in (function, expected)
        ]
        close(found, grads)


def test_a_list_without_gradients():
    rows, columns, signs = diffops.Lines(*tensors((2, 3)))
    assert all(line.requires_grad for line in rows + columns) and not any(line.requires_grad for line in signs)
    x = tensors((2, 3))[0]
    with torch.no_grad():
        assert not any(power.requires_grad for power in diffops.powers(x, 3))
    assert diffops.powers(x, 0) == []


@of_differentiable
def test_second_derivatives_are_those_of_torch(function, expected, shapes):
    x = tensors(*shapes)
    found, hessians = [torch.autograd.functional.hessian(lambda *x: weighted(of(*x)), tuple(x)) for of in (function, expected)]
    close(found, hessians)


@pytest.mark.parametrize("use_reentrant", [False, True])
@of_cases
def test_checkpoints(function, expected, shapes, use_reentrant):
    x = tensors(*shapes)
    outputs = checkpoint(lambda *x: weighted(function(*x)), *x, use_reentrant=use_reentrant)
    outputs.backward()
    close([each.grad for each in x], list(gradients(expected, x)))


@quietly
@of_cases
def test_compiled_functions(function, expected, shapes):
    torch._dynamo.reset()
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(lambda *x: function(*[each.sin() for each in x]), backend=backend, fullgraph=True)
        x = tensors(*shapes)
        with torch.no_grad():
            close(compiled(*x), expected(*[each.sin() for each in x]))
        close(gradients(compiled, x), gradients(lambda *x: expected(*[each.sin() for each in x]), x))
    half = [each.detach().half() for each in tensors(*shapes)]
    assert {output.dtype for output in jax.tree.leaves(torch.compile(function, backend="eager")(*half))} == {torch.float16}


@quietly
def test_compiled_functions_return_lists_of_all_lengths():
    torch._dynamo.reset()
    compiled = torch.compile(diffops.powers, backend="aot_eager", fullgraph=True)
    x = tensors((2, 3))[0]
    for count in (2, 0, 1, 3):
        close(compiled(x, count), powers(x, count))
    # The length of a list follows from that of an axis.
    compiled = torch.compile(diffops.Lines, backend="aot_eager", fullgraph=True, dynamic=True)
    for count in (3, 2, 4):
        x = tensors((count, 3))
        close(gradients(compiled, x), gradients(lines, x))


@quietly
@pytest.mark.parametrize("strict", [False, True])
@of_cases
def test_exported_programs(function, expected, shapes, strict):
    class Module(torch.nn.Module):
        def forward(self, *x):
            return function(*x)

    x = tensors(*shapes)
    program = torch.export.export(Module(), tuple(each.detach() for each in x), strict=strict)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    program = torch.export.load(file).module()
    close(program(*x), expected(*x))
    close(gradients(program, x), gradients(expected, x))


@quietly
@of_differentiable
def test_transforms_of_torch(function, expected, shapes):
    x, places = [each.detach() for each in tensors(*shapes)], tuple(range(len(shapes)))
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        close(transform(function, places)(*x), transform(expected, places)(*x))
    close(*[torch.func.grad(lambda *x: weighted(of(*x)), places)(*x) for of in (function, expected)])
    close(*[torch.func.jvp(of, tuple(x), tuple(each.cos() for each in x)) for of in (function, expected)])
    # Only the first is mapped.
    x[0], axes = torch.stack([x[0], x[0].sin(), x[0].cos()]), (0, *[None] * (len(x) - 1))
    close(*[torch.func.vmap(of, axes)(*x) for of in (function, expected)])
    close(*[torch.func.vmap(torch.func.grad(lambda *x: weighted(of(*x)), places), axes)(*x) for of in (function, expected)])


def test_gradients_of_all_rows_at_once():
    x = tensors((2, 3))
    outputs, expected = diffops.Lines(*x), lines(*x)
    for place in range(3):
        grads = torch.eye(len(outputs[0][0]), dtype=torch.float64)
        found, rows = [
            torch.autograd.grad(of[0][1], x, grads, is_grads_batched=True, retain_graph=True) for of in (outputs, expected)
        ]
        close(found, rows)


@of_cases
def test_jax(function, expected, shapes):
    x, places = [jnp.asarray(numbers(*shape)) for shape in shapes], tuple(range(len(shapes)))
    transforms = [lambda of: of, lambda of: jax.grad(lambda *x: weighted(of(*x)), places), lambda of: jax.jacrev(of, places)]
    if function is not diffops.Lines:
        transforms += [lambda of: jax.jacfwd(of, places), lambda of: jax.hessian(lambda *x: weighted(of(*x)), places)]
    for transform in transforms:
        right = jax.jit(transform(expected))(*x)
        close(jax.jit(transform(function))(*x), right)
        # Without `jit`, JAX compiles each operation of a Jacobian.
        if transform in transforms[:2]:
            close(transform(function)(*x), right)
    # Some outputs are unused.
    for place in range(len(jax.tree.leaves(expected(*x)))):
        close(*[jax.grad(lambda *x: weighted(jax.tree.leaves(of(*x))[place]), places)(*x) for of in (function, expected)])
    # Only the first is mapped.
    x[0], axes = jnp.stack([x[0], jnp.sin(x[0]), jnp.cos(x[0])]), (0, *[None] * (len(x) - 1))
    close(*[jax.vmap(of, axes)(*x) for of in (function, expected)])
    close(*[jax.vmap(jax.grad(lambda *x: weighted(of(*x)), places), axes)(*x) for of in (function, expected)])


def test_an_exported_program_of_jax_runs_elsewhere():
    parts = [jnp.arange(3.0)[None], jnp.ones((2, 2))]
    check = export.DisabledSafetyCheck.custom_call("diffops")
    program = export.export(jax.jit(diffops.unit), disabled_checks=[check])(parts).serialize()
    source = (
        "import sys, jax, diffops\nfrom jax import export\n"
        "jax.config.update('jax_enable_x64', True)\n"
        "import jax.numpy as jnp\n"
        "program = export.deserialize(bytearray(sys.stdin.buffer.read()))\n"
        "units, norm = program.call([jnp.arange(3.0)[None], jnp.ones((2, 2))])\n"
        "print(float(norm), [unit.tolist() for unit in units])"
    )
    ran = subprocess.run([sys.executable, "-c", source], input=bytes(program), capture_output=True, check=True)
    units, norm = diffops.unit(parts)
    assert ran.stdout.decode().strip() == f"{float(norm)} {[unit.tolist() for unit in units]}"


def test_gradients_of_numpy_are_given_as_lists():
    x = numbers(2, 3)
    found, pull = diffops.vjp(diffops.powers, x, 3)
    close(found, powers(x, 3))
    ones = numpy.ones((2, 3))
    close(pull([ones, None, 2 * ones])[0], 1 + 6 * x * x)
    close(pull(None)[0], 0 * x)
    assert diffops.vjp(diffops.powers, x, 0)[0] == []
    for grads, text in [
        ((ones, ones), "2 gradients, for 1 outputs"),
        ((ones,), "the gradient of a list of 3 arrays is a list of as many, not ndarray"),
        (([ones],), "the gradient of a list of 3 arrays is a list of as many, not one of 1"),
    ]:
        with pytest.raises(TypeError, match=f"backward of powers: {text}"):
            pull(*grads)
    (units, norm), pull = diffops.vjp(diffops.unit, [x])
    # The norm of a unit does not change.
    numpy.testing.assert_allclose(pull(units, None)[0], 0 * x, atol=1e-15)
    close(pull(None, numpy.ones(())), [units[0]])


def test_half_precision():
    x = torch.ones(3).half().requires_grad_()
    found = diffops.powers(x, 2)
    assert [power.dtype for power in found] == [torch.float16] * 2
    sum(found).sum().backward()
    assert x.grad.dtype == torch.float16 and x.grad.tolist() == [3, 3, 3]
    units, norm = diffops.unit([torch.full((2, 2), 2.0).half()])
    assert (units[0].dtype, norm.dtype, norm.item()) == (torch.float16, torch.float16, 4)
    found, pull = diffops.vjp(diffops.powers, numpy.ones(3, "float16"), 2)
    assert [power.dtype for power in found] == ["float16"] * 2 and pull([None, numpy.ones(3)])[0].tolist() == [2, 2, 2]
    assert [power.dtype for power in diffops.powers(jnp.ones(3, "bfloat16"), 2)] == [jnp.bfloat16] * 2


@quietly
def test_the_length_of_a_list_must_be_the_one_of_the_trace():
    falling = numpy.array([3.0, 2.0, 1.0])
    assert [part.tolist() for part in diffops.rising(falling)] == [[3], [2], [1]]
    assert len(diffops.rising(torch.from_numpy(falling))) == 3
    # Ones are in one part.
    text = "rising: `parts` has 3 arrays, and had 1 when the program was traced"
    torch._dynamo.reset()
    for compiled in (
        torch.compile(diffops.rising, backend="aot_eager"),
        torch.export.export(Rising(), (torch.ones(3).double(),)).module(),
    ):
        assert len(compiled(torch.arange(3.0).double())) == 1
        with pytest.raises(ValueError, match=text):
            compiled(torch.from_numpy(falling))
    # Which of the two it is depends on how JAX calls the program.
    errors = (jax.errors.JaxRuntimeError, ValueError)
    for function in (jax.jit(diffops.rising), jax.jit(jax.grad(lambda x: weighted(diffops.rising(x))))):
        function(jnp.arange(3.0))
        with pytest.raises(errors, match=text):
            function(jnp.asarray(falling))
    both = numpy.stack([numpy.arange(3.0), falling])
    with pytest.raises(errors, match=text):
        jax.vmap(diffops.rising)(jnp.asarray(both))
    with pytest.raises(ValueError, match="rising: `parts` has 3 arrays, and had 1 in another run, as of another example"):
        torch.func.vmap(diffops.rising)(torch.from_numpy(both))
    # A number that a program computes is one in the run on ones.
    with pytest.raises(errors, match="powers: `powers` has 3 arrays, and had 1 when the program was traced"):
        jax.jit(diffops.powers)(jnp.ones(2), 3)
    assert len(jax.jit(diffops.powers, static_argnums=1)(jnp.ones(2), 3)) == 3


class Rising(torch.nn.Module):
    def forward(self, x):
        return diffops.rising(x)


def test_the_stub_and_the_documentation():
    assert "def powers(x: Array, count: int) -> list[Array]:" in diffops.__pyi__
    assert "def unit(parts: Sequence[Array]) -> tuple[list[Array], Array]:" in diffops.__pyi__
    assert "Returns: units (list of arrays), norm.\n" in diffops.unit.__doc__
    returned = "rows (list of arrays of shape [d]), columns (list of arrays of shape [n]), signs (list of arrays of shape [d])"
    assert f"Returns: {returned} (without a gradient).\n" in diffops.Lines.__doc__
    for function, outputs in (("powers", "Tensor[]"), ("unit", "(Tensor[], Tensor)")):
        schema = str(getattr(torch.ops.diffops, function).default._schema)
        assert schema.endswith(f"*, int[] _lengths=[]) -> {outputs}")


def test_a_shape_that_depends_on_traced_numbers_names_them():
    x = jnp.arange(3.0)
    text = "split: the shape of an output depends on `lengths`, which is traced; pass a tuple of numbers, or name it in"
    for trace in (jax.jit(diffops.split), lambda *given: jax.eval_shape(diffops.split, *given)):
        with pytest.raises(ValueError, match=text):
            trace(x, [1, 2])
    found = jax.jit(diffops.split, static_argnames="lengths")(x, lengths=(1, 2))
    assert [part.tolist() for part in found] == [[0], [1, 2]]
