"""The functions of `examples/python` in JAX."""

import itertools
import json
import os
import re
import subprocess
import sys
import textwrap

import jax
import jax.export
import jax.flatten_util
import jax.numpy as jnp
import diffops
import numpy
import pytest
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)


def squash(x, limit):
    return x / jnp.sqrt(1 + (x / limit) ** 2)


def arrays(seed, shape=(3, 4)):
    random = numpy.random.default_rng(seed)
    return jnp.asarray(random.uniform(-2, 2, shape)), jnp.asarray(random.uniform(0.5, 2, (shape[0], 1)))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_values_and_gradients_are_those_of_jax(wrap):
    ours, theirs = (
        (wrap(f), wrap(jax.grad(lambda x, limit: (f(x, limit) ** 2).sum(), (0, 1)))) for f in (diffops.squash, squash)
    )
    for seed in range(20):
        x, limit = arrays(seed)
        numpy.testing.assert_allclose(ours[0](x, limit), theirs[0](x, limit), rtol=1e-14)
        for one, other in zip(ours[1](x, limit), theirs[1](x, limit), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_numbers_and_rows_broadcast(wrap):
    x, _ = arrays(2)
    for limit in (jnp.asarray(1.5), jnp.asarray([0.5, 1.0, 1.5, 2.0])):
        ours, theirs = (
            wrap(jax.value_and_grad(lambda x, limit: f(x, limit).sum(), (0, 1)))(x, limit) for f in (diffops.squash, squash)
        )
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
            numpy.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ValueError, match="broadcast"):
        wrap(diffops.squash)(x, jnp.ones(3))


def numbers(*shape, low=-1.0, high=1.0):
    return jnp.asarray(numpy.random.default_rng(len(shape)).uniform(low, high, shape))


PLACES = jnp.asarray([3, 0, 3])
GRID = jnp.asarray([[3, 0, 3], [1, 2, 0]], "uint8")

# A function of arrays, its arrays, its order, and whether it has forward mode.
FUNCTIONS = {
    "squash": (diffops.squash, (numbers(3, 4), numbers(3, 1, low=0.5, high=2)), 2, True),
    "polar": (diffops.polar, (numbers(4, low=1, high=2), numbers(2, 4)), 2, True),
    "scaled": (diffops.scaled, (numbers(4, 3), numbers(4)), 2, True),
    "hamilton": (diffops.hamilton, (numbers(2, 4), numbers(3, 1, 4)), 2, True),
    "leaky": (diffops.leaky, (numbers(4), numbers(5, 4), numbers(3, 1, low=0.5, high=0.9)), 2, True),
    "attention": (diffops.attention, (numbers(3, 4), numbers(5, 1, 4), numbers(5, 3), numbers(5, 3, 4)), 2, True),
    "gaussian": (lambda *a: diffops.gaussian(*a, 2.0), (numbers(5, 3), numbers(4, 3), numbers(4)), 2, True),
    "Exp": (diffops.Exp, (numbers(2, 3),), 2, True),
    "above_smallest": (lambda x: diffops.above_smallest(x)[0], (numbers(5),), 1, False),
    "affine": (diffops.affine, (numbers(2, 3, 4), numbers(5, 4), numbers(5)), 1, False),
    "affine without bias": (diffops.affine, (numbers(3, 4), numbers(5, 4)), 1, False),
    "centered": (diffops.centered, (numbers(3, 2),), 1, False),
    "normalized": (lambda x: diffops.normalized(x, True), (numbers(3, 2),), 1, False),
    "normalized alone": (lambda x: diffops.normalized(x, False)[1], (numbers(3, 2),), 1, False),
    "lookup": (lambda x: diffops.lookup(x, GRID, GRID > 0, 2.0)[0], (numbers(4),), 1, False),
    "logarithm": (lambda x: diffops.logarithm(x, "2"), (numbers(3, low=0.5, high=2),), 1, False),
    "MulConstant": (lambda x: diffops.MulConstant(x, 2.5), (numbers(2, 3),), 1, False),
    "pick": (lambda x: diffops.pick(x, PLACES), (numbers(4),), 1, False),
    "rows": (lambda x: diffops.rows(x, PLACES), (numbers(4, 3),), 1, False),
    "smooth": (diffops.smooth, (numbers(6),), 1, False),
    "tridiagonal": (diffops.tridiagonal, (numbers(4), numbers(5, low=3, high=4), numbers(4), numbers(5)), 1, False),
    "windows": (lambda x: diffops.windows(x, 3, 2), (numbers(7),), 1, False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_differences(name):
    function, arguments, order, has_forward_mode = FUNCTIONS[name]
    # Those without `jit` are checked by `test_testing.py`.
    jitted = jax.jit(function)
    check_grads(jitted, arguments, order, ["fwd", "rev"] if has_forward_mode else ["rev"])
    if not has_forward_mode:
        for each in (function, jitted):
            with pytest.raises(RuntimeError, match=f"{name.split()[0]}: forward mode needs a `#.jvp.` rule"):
                jax.jvp(each, arguments, arguments)


def test_linear_has_gradients_in_float32():
    arguments = numbers(5, 4).astype("float32"), numbers(3, 4).astype("float32"), numbers(3).astype("float32")
    check_grads(diffops.linear, arguments, 1, ["rev"], atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("outer", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("inner", [jax.jacfwd, jax.jacrev])
def test_hessians_in_every_order_of_the_modes(outer, inner):
    x, limit = arrays(3)

    def hessian(f):
        return jax.jit(outer(inner(lambda *arrays: (f(*arrays) ** 3).sum(), (0, 1)), (0, 1)))(x, limit)

    for ours, theirs in zip(jax.tree.leaves(hessian(diffops.squash)), jax.tree.leaves(hessian(squash))):
        numpy.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_linearize_and_transpose():
    x, limit = arrays(4)
    values, tangents = jax.linearize(diffops.squash, x, limit)
    numpy.testing.assert_allclose(tangents(x, limit), jax.jvp(squash, (x, limit), (x, limit))[1], rtol=1e-12)
    grads, = jax.linear_transpose(lambda x: tangents(x, jnp.zeros_like(limit)), x)(values)
    numpy.testing.assert_allclose(grads, jax.vjp(lambda x: squash(x, limit), x)[1](values)[0], rtol=1e-12)


def test_the_transpose_of_a_function_names_linearize():
    x = numbers(3, 2)
    with pytest.raises(NotImplementedError, match="centered: .* pass the function that `jax.linearize` returns"):
        jax.linear_transpose(diffops.centered, x)(x)
    grads, = jax.linear_transpose(jax.linearize(diffops.centered, x)[1], x)(x)
    numpy.testing.assert_allclose(grads, diffops.centered(x), atol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_debug_nans_names_the_function(wrap):
    x = jnp.asarray([jnp.inf])
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        wrap(diffops.squash)(x, x)


def stacked(function, arguments, axes):
    """Calls the function for each example. JAX would compile what NumPy computes here."""
    arrays = [numpy.asarray(x) for x in arguments]
    examples = range(next(x.shape[axis] for x, axis in zip(arrays, axes) if axis is not None))
    calls = [[x if axis is None else x.take(i, axis) for x, axis in zip(arrays, axes)] for i in examples]
    return jax.tree.map(lambda *outputs: numpy.stack(outputs), *[function(*map(jnp.asarray, call)) for call in calls])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop_over_examples(name):
    function, arguments, _, has_forward_mode = FUNCTIONS[name]
    random = numpy.random.default_rng(5)
    count = len(arguments)
    for mapped in itertools.product([False, True], repeat=count):
        if not any(mapped):
            continue
        # Along the first axis and along the last.
        axes = [(place % 2 and -1) if is_mapped else None for place, is_mapped in enumerate(mapped)]
        scales = random.uniform(0.9, 1.1, 3)
        given = [
            x if axis is None else jnp.asarray(numpy.stack([scale * numpy.asarray(x) for scale in scales], axis))
            for x, axis in zip(arguments, axes)
        ]

        def loss(*arguments):
            return sum((output**2).sum() for output in jax.tree.leaves(function(*arguments)))

        gradients = jax.grad(loss, tuple(range(count)))
        bodies = [function, gradients]
        if has_forward_mode:
            bodies += [lambda *x: jax.jvp(function, x, x), jax.grad(lambda *x: gradients(*x)[0].sum(), tuple(range(count)))]
        ours = jax.jit(lambda *given: [jax.vmap(body, axes)(*given) for body in bodies])(*given)
        theirs = [stacked(body, given, axes) for body in bodies]
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)

        # The gradient of all examples together, of which some arguments are shared.
        def together(*arguments):
            outputs = jax.vmap(function, axes)(*arguments)
            return sum((output**2).sum() for output in jax.tree.leaves(outputs))

        ours = jax.grad(together, tuple(range(count)))(*given)
        for one, each, axis in zip(ours, theirs[1], axes, strict=True):
            other = each.sum(0) if axis is None else numpy.moveaxis(each, 0, axis)
            numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["affine", "lookup", "rows", "smooth", "tridiagonal"])
def test_jacobians_are_the_gradients_of_each_row(name):
    function, arguments, _, _ = FUNCTIONS[name]
    places = tuple(range(len(arguments)))
    ours = jax.jit(jax.jacrev(function, places))(*arguments)
    outputs, pull = jax.vjp(function, *arguments)
    flat, restore = jax.flatten_util.ravel_pytree(outputs)
    rows = [pull(restore(row)) for row in jnp.eye(flat.size)]
    # The outputs one after the other, each with a Jacobian for each argument.
    each = [[jacobians[place] for jacobians in (ours if isinstance(outputs, (list, tuple)) else [ours])] for place in places]
    for place, x in enumerate(arguments):
        found = jnp.concatenate([jacobian.reshape(-1, *x.shape) for jacobian in each[place]])
        numpy.testing.assert_allclose(found, jnp.stack([row[place] for row in rows]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_outputs_may_be_missing(wrap):
    x = numbers(3, 2)
    lengths, directions = wrap(lambda x: diffops.normalized(x, True))(x)
    numpy.testing.assert_allclose(lengths, jnp.linalg.norm(x, axis=1), rtol=1e-14)
    missing, alone = wrap(lambda x: diffops.normalized(x, False))(x)
    assert missing is None and (alone == directions).all()
    missing, mapped = wrap(jax.vmap(lambda x: diffops.normalized(x, False)))(jnp.stack([x, x]))
    assert missing is None and (mapped[1] == directions).all()
    # Of the gradients of both outputs, and of that of one.
    for given in (True, False):
        ours = wrap(jax.grad(lambda x: sum((y**3).sum() for y in diffops.normalized(x, given) if y is not None)))(x)

        def theirs(x):
            lengths = jnp.linalg.norm(x, axis=1)
            return ((x / lengths[:, None]) ** 3).sum() + given * (lengths**3).sum()

        numpy.testing.assert_allclose(ours, jax.grad(theirs)(x), rtol=1e-12, atol=1e-14)
    with pytest.raises(Exception, match="normalized: an output is missing, and was not when the program was traced"):
        jax.block_until_ready(jax.jit(diffops.normalized)(x, jnp.asarray(False)))


def test_vmap_of_a_scan_of_rows():
    rows, each = numbers(5, 1, 16), numbers(5, 3)
    arguments = numbers(3, 16), each, each[:, :1], rows, rows, numbers(3, 16), numbers()
    axes = (None, 2, 0, 1, None, 0, 0)
    given = [
        x if axis is None else jnp.stack([x, 0.9 * x, 1.1 * x], axis) for x, axis in zip(arguments, axes)
    ]

    def gradients(*x):
        return jax.grad(lambda *x: sum((y**2).sum() for y in diffops.selective(*x)), tuple(range(7)))(*x)

    for body in (diffops.selective, gradients):
        ours, theirs = jax.jit(jax.vmap(body, axes))(*given), stacked(body, given, axes)
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_vmap_of_vmap():
    x, limit = numbers(2, 5, 3), numbers(5, low=0.5, high=2)
    ours, theirs = (jax.vmap(jax.vmap(f), (0, None))(x, limit) for f in (diffops.squash, squash))
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-14)
    systems = [array.reshape(2, 3, -1) for array in (numbers(24), numbers(30, low=3, high=4), numbers(24), numbers(30))]
    flat = [array.reshape(6, -1) for array in systems]
    ours, theirs = jax.vmap(jax.vmap(diffops.tridiagonal))(*systems), jax.vmap(diffops.tridiagonal)(*flat)
    numpy.testing.assert_allclose(ours.reshape(6, -1), theirs)
    # Examples of no elements, and no examples.
    assert jax.vmap(diffops.squash, (0, None))(jnp.ones((3, 0)), jnp.ones(())).shape == (3, 0)
    assert jax.vmap(diffops.smooth)(jnp.ones((0, 5))).shape == (0, 3)


def test_each_example_of_vmap_has_all_entries_of_a_value():
    labels, rows = jnp.asarray([1, 0, 1]), numbers(2, 3)
    expected = [diffops.focal(row, labels, 2.0) for row in rows]
    for given in (labels, [1, 0, 1], numpy.asarray([1, 0, 1])):
        numpy.testing.assert_allclose(jax.vmap(lambda x: diffops.focal(x, given, 2.0))(rows), expected)
    each = jnp.asarray([[1, 0, 1], [0, 0, 1]])
    found = jax.vmap(lambda x, label: diffops.focal(x, label, 2.0))(rows, each)
    numpy.testing.assert_allclose(found, [diffops.focal(*given, 2.0) for given in zip(rows, each)])
    for given in ([1, 0, 1, 0, 0, 0], jnp.asarray([1, 0, 1, 0, 0, 0])):
        with pytest.raises(RuntimeError, match="focal of .*: `label` must have 3 entries, one for each element, found 6"):
            jax.vmap(lambda x: diffops.focal(x, given, 2.0))(rows).block_until_ready()


def test_jacobians_of_a_function_with_entries():
    x, labels = numbers(3), [1, 0, 1]

    def theirs(x):
        p = jax.nn.sigmoid(jnp.where(jnp.asarray(labels) == 1, x, -x))
        return -((1 - p) ** 2) * jnp.log(p)

    for jacobian in (jax.jacfwd, jax.jacrev, jax.hessian):
        found, expected = (jax.jit(jacobian(f))(x) for f in (lambda x: diffops.focal(x, labels, 2.0), theirs))
        numpy.testing.assert_allclose(found, expected, atol=1e-12)


def test_calls_without_jit():
    x, limit = arrays(9)
    with jax.disable_jit():
        numpy.testing.assert_allclose(diffops.squash(x, limit), squash(x, limit), rtol=1e-14)
        numpy.testing.assert_allclose(jax.vmap(diffops.smooth)(x), [diffops.smooth(row) for row in x])
    # Each number is another program.
    for factor in numpy.linspace(0, 1, 5):
        assert (diffops.MulConstant(x, float(factor)) == x * factor).all()


def programs(function, *arguments):
    """The programs of pullback in a function that JAX compiles."""
    return re.findall(r'program = "([^"]*)"', jax.jit(function).lower(*arguments).as_text())


def test_programs_run_without_python():
    x, limit = arrays(1)
    for function in (diffops.squash, jax.grad(lambda x, limit: diffops.squash(x, limit).sum())):
        text = jax.jit(function).lower(x, limit).as_text()
        assert "@diffops" in text and "python" not in text
    # One call for all examples of an elementwise function or of a scan, and one that calls another for each.
    assert programs(jax.vmap(diffops.squash), x, limit) == ["squash t t"]
    assert programs(jax.vmap(diffops.leaky, (0, 2, None)), x, jnp.ones((5, 4, 3)), jnp.ones(4)) == ["leaky t t t"]
    assert programs(jax.vmap(diffops.smooth), x) == ["smooth t | batched 1"]
    # Only the gradients that are needed.
    grad = jax.grad(lambda x: diffops.affine(x, jnp.ones((2, 4)), jnp.ones(2)).sum())
    assert programs(grad, x)[-1] == "affine t t t | gradient 1 100"


def test_loops_and_branches_of_programs():
    x, limit = arrays(6)

    def repeated(f):
        def loss(x, limit):
            final, outputs = jax.lax.scan(lambda x, _: (f(x, limit), f(x, 2 * limit)), x, None, length=4)
            final = jax.lax.cond(final.sum() > 0, lambda x: f(x, limit), lambda x: x, final)
            return (final * outputs.sum(0)).sum()

        return jax.jit(jax.value_and_grad(jax.checkpoint(loss), (0, 1)))(x, limit)

    for ours, theirs in zip(jax.tree.leaves(repeated(diffops.squash)), jax.tree.leaves(repeated(squash))):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_values_that_a_program_computes(wrap):
    x, places = numbers(4), jnp.asarray([[1, 3], [0, 0], [2, 1]])
    assert (wrap(diffops.pick)(x, places[0]) == x[places[0]]).all()
    assert (wrap(jax.vmap(diffops.pick, (None, 0)))(x, places) == x[places]).all()
    grads = wrap(jax.grad(lambda x, places: (diffops.pick(x, places) ** 2).sum()))(x, places[0])
    assert (grads == jnp.zeros(4).at[places[0]].set(2 * x[places[0]])).all()
    # Integers have gradients of no bytes.
    grads = wrap(jax.grad(lambda x, places: diffops.pick(x, places).sum(), (0, 1), allow_int=True))(x, places[0])
    assert grads[1].dtype == jax.dtypes.float0 and grads[1].shape == (2,)
    grids = jnp.stack([GRID, GRID[::-1]])
    values, times = wrap(jax.vmap(diffops.lookup, (None, 0, 0, 0)))(x, grids, grids > 0, jnp.asarray([2.0, 3.0]))
    expected = x[grids] * (grids > 0) * jnp.asarray([2.0, 3.0])[:, None, None]
    numpy.testing.assert_allclose(values, expected, rtol=1e-14)
    assert times.dtype == "int32" and times.tolist() == [[0, 1, 1, 2]] * 2
    chosen, largest = wrap(diffops.rows)(places.astype("float64"), jnp.asarray([2, 0], "uint8"))
    assert chosen.tolist() == [[2, 1], [1, 3]] and largest.tolist() == [2, 3]
    factors = jnp.asarray([2.0, 0.5])
    scaled = wrap(jax.vmap(diffops.MulConstant, (None, 0)))(x[None], factors)
    assert (scaled == factors[:, None, None] * x[None]).all()
    # A derivative that is not there is not zero.
    with pytest.raises(TypeError, match="MulConstant: `constant` is a value, .*; pass `jax.lax.stop_gradient.constant.`"):
        wrap(jax.grad(lambda factor: diffops.MulConstant(x[None], factor).sum()))(2.0)
    still = wrap(jax.grad(lambda factor: diffops.MulConstant(factor * x[None], jax.lax.stop_gradient(factor)).sum()))
    numpy.testing.assert_allclose(still(2.0), 2 * x.sum())


def test_values_that_shapes_depend_on_are_static():
    x = numbers(9)
    with pytest.raises(ValueError, match="windows: the shape of an output depends on `k`, which is traced; .* `static_argnam"):
        jax.jit(diffops.windows)(x, 3, 2)
    assert jax.jit(diffops.windows, static_argnums=(1, 2))(x, 3, 2).shape == (4,)
    assert diffops.windows(x, jnp.asarray(3), jnp.asarray(2)).shape == (4,)
    sample = jax.jit(diffops.rows)(numbers(4, 3), jnp.asarray([1, 2]))[0]
    assert (sample == numbers(4, 3)[1:3]).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_single(kind):
    x, limit = (array.astype(kind) for array in arrays(7))
    for wrap in (lambda f: f, jax.jit):
        y = wrap(diffops.squash)(x, limit)
        assert y.dtype == kind
        expected = squash(x.astype("float32"), limit.astype("float32")).astype(kind)
        numpy.testing.assert_array_equal(y, expected)
        grads = wrap(jax.grad(lambda x, limit: diffops.squash(x, limit).sum(), (0, 1)))(x, limit)
        theirs = jax.grad(lambda x, limit: squash(x, limit).sum(), (0, 1))(x, limit)
        for ours, other in zip(grads, theirs):
            assert ours.dtype == kind
            numpy.testing.assert_allclose(ours.astype("float32"), other.astype("float32"), atol=0.1)
    with pytest.raises(TypeError, match="squash: `limit` must be float32, not float64"):
        diffops.squash(x, limit.astype("float64"))


def test_element_types_that_differ_from_a_half_give_single():
    kinds = "bfloat16", "float16", "float32"
    for pair in itertools.product(kinds, repeat=2):
        given = [jnp.asarray([0.5], kind) for kind in pair]
        found = diffops.squash(*given)
        assert found.dtype == (pair[0] if pair[0] == pair[1] else "float32")
        grads = jax.grad(lambda *given: diffops.squash(*given).sum().astype("float32"), (0, 1))(*given)
        assert [grad.dtype for grad in grads] == list(pair)
    with pytest.raises(TypeError, match="squash: `limit` must be float32, not float64"):
        diffops.squash(jnp.ones(1, "bfloat16"), jnp.ones(1))


def test_numpy_and_numbers_beside_arrays_of_jax():
    x, limit = arrays(8)
    expected = squash(x, limit)
    for one, other in ((x, numpy.asarray(limit)), (numpy.asarray(x), limit)):
        numpy.testing.assert_allclose(diffops.squash(one, other), expected, rtol=1e-14)
    numpy.testing.assert_allclose(jax.jit(lambda x: diffops.squash(x, 1.5))(x), squash(x, 1.5), rtol=1e-14)
    assert jax.jit(lambda x: diffops.pick(x, numpy.array([0, 2])))(x[0]).tolist() == x[0, jnp.asarray([0, 2])].tolist()


def in_a_new_process(program, *arguments, **variables):
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_exported_programs_run_in_another_process(tmp_path):
    file = tmp_path / "program"
    pytest.importorskip("flatbuffers", reason="JAX serializes programs with it")
    check = jax.export.DisabledSafetyCheck.custom_call("diffops")
    n, = jax.export.symbolic_shape("n")

    def gradient(x, limit):
        return jax.grad(lambda x: diffops.squash(x, limit).sum())(x)

    shapes = jax.ShapeDtypeStruct((n, 3), "float32"), jax.ShapeDtypeStruct((3,), "float32")
    exported = jax.export.export(jax.jit(gradient), disabled_checks=[check])(*shapes)
    file.write_bytes(exported.serialize())
    program = """
        import pathlib, sys
        import {}
        import jax.export, jax.numpy as jnp
        exported = jax.export.deserialize(pathlib.Path(sys.argv[1]).read_bytes())
        print(exported.call(jnp.full((2, 3), 0.5), jnp.ones(3)).tolist())
    """
    for modules in ("jax, diffops", "diffops, jax"):
        found = in_a_new_process(program.format(modules), file)
        numpy.testing.assert_allclose(json.loads(found), jnp.full((2, 3), 1.25**-1.5), rtol=1e-6)


def test_several_devices():
    program = """
        import jax, jax.numpy as jnp, diffops, numpy
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        try:
            from jax import shard_map
        except ImportError:
            from jax.experimental.shard_map import shard_map
        devices = jax.devices()
        assert len(devices) == 2
        mesh = Mesh(numpy.array(devices), ("examples",))

        def squash(x, limit):
            return x / jnp.sqrt(1 + (x / limit) ** 2)

        x, limit, w = jnp.linspace(-2, 2, 24).reshape(4, 6), jnp.linspace(0.5, 2, 6), jnp.ones((3, 6))
        for ours, theirs, other in ((diffops.squash, squash, limit), (diffops.linear, lambda x, w: x @ w.T, w)):
            def mapped(f):
                return shard_map(f, mesh=mesh, in_specs=(P("examples"), P()), out_specs=P("examples"))

            def loss(f):
                return lambda x, other: (mapped(f)(x, other) ** 2).sum()

            for wrap in (lambda f: f, jax.jit):
                found, expected = wrap(mapped(ours))(x, other), theirs(x, other)
                numpy.testing.assert_allclose(found, expected, rtol=1e-5)
                grads = wrap(jax.grad(loss(ours), (0, 1)))(x, other)
                expected = jax.grad(lambda *given: (theirs(*given) ** 2).sum(), (0, 1))(x, other)
                for one, two in zip(grads, expected):
                    numpy.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
            # Without `shard_map`, on an array that is on both devices.
            sharded = jax.device_put(x, NamedSharding(mesh, P("examples")))
            found = jax.jit(lambda x: ours(x, other) + 1)(sharded)
            numpy.testing.assert_allclose(found, theirs(x, other) + 1, rtol=1e-5)
            numpy.testing.assert_allclose(ours(sharded, other), theirs(x, other), rtol=1e-5)
        numpy.testing.assert_allclose(jax.pmap(diffops.Exp)(x[:2]), jnp.exp(x[:2]), rtol=1e-6)
        print("done")
    """
    assert in_a_new_process(program, XLA_FLAGS="--xla_force_host_platform_device_count=2") == "done\n"


@pytest.mark.skipif(not hasattr(jax.sharding, "reshard"), reason="JAX has no explicit axes")
def test_gradients_are_on_the_explicit_axes_of_their_arrays():
    program = """
        import jax, jax.numpy as jnp, diffops, numpy
        from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

        def squash(x, limit):
            return x / jnp.sqrt(1 + (x / limit) ** 2)

        mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Explicit,))
        with jax.set_mesh(mesh):
            x = jax.device_put(jnp.linspace(-2, 2, 12).reshape(4, 3), NamedSharding(mesh, P("d", None)))
            limit = jnp.ones((1, 3))
            for wrap in (lambda f: f, jax.jit):
                grads = [wrap(jax.grad(lambda *given: f(*given).sum(), (0, 1)))(x, limit) for f in (diffops.squash, squash)]
                for one, other in zip(*grads):
                    numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
                    assert jax.typeof(one) == jax.typeof(other)
        print("done")
    """
    assert in_a_new_process(program, XLA_FLAGS="--xla_force_host_platform_device_count=2") == "done\n"


def test_outputs_and_values_of_every_kind():
    x = jnp.asarray([3.0, 1.0, 2.0])
    for wrap in (lambda f: f, jax.jit):
        distances, place = wrap(diffops.above_smallest)(x)
        assert distances.tolist() == [2, 0, 1] and place == 1
    assert jax.grad(lambda x: (diffops.above_smallest(x)[0] ** 2).sum())(x).tolist() == [4, -6, 2]
    doubled = jax.jit(lambda x: diffops.MulConstant(x, constant=2.0))(x[None])
    assert doubled.tolist() == [[6, 2, 4]]
    a, w, b = jnp.ones((5, 4), "float32"), jnp.ones((3, 4), "float32"), jnp.ones(3, "float32")
    assert diffops.linear(a, w).tolist() == (diffops.linear(a, w, b) - 1).tolist()
    grads = jax.jit(jax.grad(lambda *inputs: diffops.linear(*inputs).sum(), (0, 1, 2)))(a, w, b)
    assert [grad.shape for grad in grads] == [a.shape, w.shape, b.shape]


def test_mistakes_are_errors_in_the_words_of_the_function():
    a, w = jnp.ones((5, 4), "float32"), jnp.ones((3, 4), "float32")
    with pytest.raises(TypeError, match="linear: `weight` must be float32, not float64"):
        diffops.linear(a, w.astype("float64"))
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(ValueError, match=r"linear of input \[5, 4\], weight \[4, 3\]"):
            wrap(diffops.linear)(a, w.T)
    x = jnp.ones((2, 3))
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(TypeError, match="squash: `limit` must be float64, not float32"):
            wrap(diffops.squash)(x, x.astype("float32"))
        with pytest.raises(TypeError, match="squash: `x` must be float32 or float64, not int64"):
            wrap(diffops.squash)(jnp.arange(3), x)
    for wrap in (lambda f: f, jax.jit):
        for places in ([0, 7], [0, -1]):
            with pytest.raises(RuntimeError, match=r"pick of x \[3\]: .* out of bounds|pick: `places` .* negative"):
                wrap(diffops.pick)(x[0], jnp.asarray(places)).block_until_ready()
        with pytest.raises(TypeError, match="pick: `places` must be an array of integers"):
            wrap(diffops.pick)(x[0], x[0])
        with pytest.raises(RuntimeError, match="tridiagonal: the pivot 1 is zero"):
            wrap(diffops.tridiagonal)(*[jnp.ones(length) for length in (2, 3, 2, 3)]).block_until_ready()
    with pytest.raises(TypeError, match="squash: `limit` must be a jax.Array, not str"):
        diffops.squash(x, "1")
    with pytest.raises(TypeError, match="MulConstant: `constant`: .*str"):
        diffops.MulConstant(x, "2")
    with pytest.raises(RuntimeError, match="the gradient of `linear` cannot be differentiated again"):
        jax.grad(lambda a: jax.grad(lambda a: diffops.linear(a, w).sum())(a).sum())(a)
