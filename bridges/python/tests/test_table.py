"""The table of the README: what works for which function, cell by cell.

Each cell computes a number from the outputs of a function, and its slope along a direction, and compares them with NumPy's
values and their differences.
"""

import pathlib

import diffops
import jax
import jax.numpy as jnp
import numpy
import pytest
import torch
from jax.sharding import Mesh, PartitionSpec

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

jax.config.update("jax_enable_x64", True)
random = numpy.random.default_rng(5)


def numbers(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape)


# A function, its arrays, and its values.
FUNCTIONS = {
    "`elementwise`": (diffops.squash, [numbers(3, 4), numbers(3, 1, low=0.5)]),
    "`elementwise`, of rows": (diffops.hamilton, [numbers(3, 4), numbers(2, 1, 4)]),
    "`scan`": (diffops.leaky, [numbers(4), numbers(5, 4), numbers(4, low=0.5)]),
    "`scan`, of slices": (diffops.attention, [numbers(2, 3), numbers(5, 1, 3), numbers(5, 2), numbers(5, 2, 3)]),
    "`pairs`": (diffops.gaussian, [numbers(5, 3), numbers(4, 3), numbers(4)], 2.0),
    "of arrays, with `shapes`": (diffops.affine, [numbers(2, 3, 4), numbers(5, 4), numbers(5)]),
    "of arrays": (diffops.smooth, [numbers(6)]),
    "an optional array left out": (diffops.affine, [numbers(3, 4), numbers(5, 4)]),
    "a number": (diffops.MulConstant, [numbers(2, 3)], 2.5),
    "an array of indices": (diffops.pick, [numbers(4)], numpy.array([2, 0, 2])),
    "an output that is a number": (diffops.above_smallest, [numbers(5)]),
    "an output left out": (diffops.normalized, [numbers(3, 2)], False),
    "`#[jvp]`": (diffops.Exp, [numbers(2, 3)]),
    "a list of arrays": (diffops.Penalized, [numbers(3), numbers(2, 3), numbers(1, 4)], [0.5]),
    "a list of arrays as output": (diffops.powers, [numbers(2, 3)], 3),
}


class Given:
    """A function with its values."""

    def __init__(self, function, values):
        self.function = function
        self.values = values

    def with_values(self, array):
        """Returns a function of arrays, where `array` makes one of the framework."""
        values = [array(value) if isinstance(value, numpy.ndarray) else value for value in self.values]
        return lambda *x: self.function(*self.folded(x), *values)

    def folded(self, x):
        """Returns the arrays as the function takes them: one of them in a list with all arrays but the first."""
        return (x[0], list(x[1:])) if self.function is diffops.Penalized else x

    @property
    def of_torch(self):
        function = self.with_values(torch.from_numpy)
        return lambda *x: sum_of(function(*x), torch.sin)

    @property
    def of_jax(self):
        function = self.with_values(jnp.asarray)
        return lambda *x: sum_of(function(*x), jnp.sin)


def sum_of(outputs, sin):
    """Returns a number that depends on all outputs that are arrays of floats."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
    return sum(sin(output).sum() for output in outputs if "float" in str(getattr(output, "dtype", "")))


def along(grads, directions):
    return sum(float((grad * direction).sum()) for grad, direction in zip(grads, directions))


def tensors(arrays):
    return [torch.from_numpy(array.copy()) for array in arrays]


def eager(function, arrays, directions):
    return backward(function.of_torch, arrays, directions)


def backward(function, arrays, directions):
    x = [array.requires_grad_() for array in tensors(arrays)]
    value = function(*x)
    return value.item(), along(torch.autograd.grad(value, x), tensors(directions))


def compiled(function, arrays, directions):
    torch._dynamo.reset()
    compiled = torch.compile(function.of_torch, backend="aot_eager", fullgraph=True)
    return backward(compiled, arrays, directions)


def exported(function, arrays, directions):
    number = function.of_torch

    class Module(torch.nn.Module):
        def forward(self, *x):
            return number(*x)

    program = torch.export.export(Module(), tuple(tensors(arrays)), strict=False).module()
    return backward(program, arrays, directions)


def func_grad(function, arrays, directions):
    grads, value = torch.func.grad_and_value(function.of_torch, tuple(range(len(arrays))))(*tensors(arrays))
    return value.item(), along(grads, tensors(directions))


def func_vmap(function, arrays, directions):
    both = torch.func.grad_and_value(function.of_torch, tuple(range(len(arrays))))
    grads, values = torch.func.vmap(both)(*[torch.stack([x, x]) for x in tensors(arrays)])
    return values[1].item(), along([grad[1] for grad in grads], tensors(directions))


def func_jvp(function, arrays, directions):
    value, slope = torch.func.jvp(function.of_torch, tuple(tensors(arrays)), tuple(tensors(directions)))
    return value.item(), slope.item()


def value_and_grad(function, arrays):
    return jax.value_and_grad(function.of_jax, tuple(range(len(arrays))))


def jax_grad(function, arrays, directions):
    value, grads = value_and_grad(function, arrays)(*map(jnp.asarray, arrays))
    return float(value), along(grads, directions)


def jax_jit(function, arrays, directions):
    value, grads = jax.jit(value_and_grad(function, arrays))(*map(jnp.asarray, arrays))
    return float(value), along(grads, directions)


def jax_vmap(function, arrays, directions):
    values, grads = jax.vmap(value_and_grad(function, arrays))(*[numpy.stack([x, x]) for x in arrays])
    return float(values[1]), along([numpy.asarray(grad)[1] for grad in grads], directions)


def jax_jvp(function, arrays, directions):
    value, slope = jax.jvp(function.of_jax, [*map(jnp.asarray, arrays)], [*map(jnp.asarray, directions)])
    return float(value), float(slope)


def jax_shard_map(function, arrays, directions):
    mesh = Mesh(numpy.array(jax.devices()[:1]), ("examples",))
    mapped = shard_map(
        value_and_grad(function, arrays), mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec()
    )
    value, grads = jax.jit(mapped)(*map(jnp.asarray, arrays))
    return float(value), along(grads, directions)


def of_numpy(function, arrays):
    return float(sum_of(function.with_values(numpy.asarray)(*arrays), numpy.sin))


def numpy_vjp(function, arrays, directions):
    outputs, pull = diffops.vjp(function.function, *function.folded(arrays), *function.values)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    grads = pull(*[
        [numpy.cos(item) for item in output] if isinstance(output, list) else numpy.cos(output)
        for output in outputs
        if isinstance(output, (list, numpy.ndarray))
    ])
    grads = grads if isinstance(grads, tuple) else (grads,)
    grads = [grad for each in grads for grad in (each if isinstance(each, list) else [each])]
    return of_numpy(function, arrays), along(grads[: len(arrays)], directions)


COLUMNS = {
    "`backward`": eager,
    "`compile`": compiled,
    "`export`": exported,
    "`func.grad`": func_grad,
    "`func.vmap`": func_vmap,
    "`func.jvp`": func_jvp,
    "`grad`": jax_grad,
    "`jit`": jax_jit,
    "`vmap`": jax_vmap,
    "`jvp`": jax_jvp,
    "`shard_map`": jax_shard_map,
    "`vjp`": numpy_vjp,
}


def table():
    """Returns the cells of the README by row and column."""
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    start = next(place for place, line in enumerate(lines) if "`func.jvp`" in line)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start : start + 2 + len(FUNCTIONS)]]
    return {(row[0], column): cell for row in rows[2:] for column, cell in zip(rows[0][1:], row[1:])}


CELLS = table()


def test_the_table_has_all_cells():
    assert sorted(CELLS) == sorted((row, column) for row in FUNCTIONS for column in COLUMNS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "column"), CELLS)
def test_cell(row, column):
    function, arrays, *values = FUNCTIONS[row]
    function = Given(function, values)
    directions = [random.standard_normal(array.shape) for array in arrays]
    if CELLS[row, column] == "no":
        # Where PyTorch cannot trace, the words are those of its version.
        with pytest.raises(RuntimeError, match="forward mode needs" if "jvp" in column else None):
            COLUMNS[column](function, arrays, directions)
        return
    assert CELLS[row, column] == "yes"
    value, slope = COLUMNS[column](function, arrays, directions)
    numpy.testing.assert_allclose(value, of_numpy(function, arrays), rtol=1e-12)
    by = 1e-6
    ahead, behind = (
        of_numpy(function, [array + sign * by * direction for array, direction in zip(arrays, directions)])
        for sign in (1, -1)
    )
    numpy.testing.assert_allclose(slope, (ahead - behind) / (2 * by), rtol=1e-6, atol=1e-7)
