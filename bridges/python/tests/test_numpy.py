"""The functions of `examples/python` on arrays of NumPy."""

import ast
import re
import subprocess
import sys

import diffops
import numpy
import pytest


def test_values():
    x = numpy.linspace(-2, 2, 12).reshape(3, 4)
    expected = x / numpy.sqrt(1 + (x / 1.5) ** 2)
    limit = numpy.full((1, 1), 1.5)
    for array in (x, numpy.asfortranarray(x), x[:, ::-1], x[1:2], x.astype(">f8").astype("f8")):
        result = diffops.squash(array, limit)
        numpy.testing.assert_allclose(result, array / numpy.sqrt(1 + (array / 1.5) ** 2), rtol=1e-15)
    x.setflags(write=False)
    numpy.testing.assert_allclose(diffops.squash(x, limit), expected, rtol=1e-15)
    assert diffops.squash(x.astype("f4"), limit.astype("f4")).dtype == "float32"
    assert diffops.squash(x[:0], limit).shape == (0, 4)
    single = diffops.MulConstant(x, 2.0)
    assert single.base is not None and single.flags.writeable
    assert diffops.above_smallest(numpy.array([3.0, 1.0]))[1] == 1
    for dtype in ("i8", "i4", "u1", "u8"):
        assert diffops.pick(numpy.array([3.0, 1.0]), numpy.array([1, 1, 0], dtype)).tolist() == [1, 1, 3]


def test_unaligned_memory_is_copied():
    raw = numpy.zeros(33, dtype="u1")
    x = raw[1:].view("f8")
    x[:] = [1, 2, 3, 4]
    assert not x.flags.aligned
    numpy.testing.assert_allclose(diffops.MulConstant(x.reshape(2, 2), 2.0), [[2, 4], [6, 8]])


def test_results_outlive_what_they_were_computed_from():
    results = [diffops.MulConstant(numpy.full((100, 100), float(i)), 2.0) for i in range(50)]
    assert [result.min() for result in results] == [2.0 * i for i in range(50)]


@pytest.mark.parametrize(
    ("x", "text"),
    [
        ([1.0], "squash: `x` must be a torch.Tensor, a jax.Array or a numpy.ndarray, not list"),
        (numpy.zeros(1, "i8"), "squash: `x` must be float32 or float64, not int64"),
        (numpy.zeros(1, ">f8"), "squash: `x` must be float32 or float64, not >f8"),
        (numpy.zeros(1, "O"), "squash: `x` must be float32 or float64, not object"),
    ],
)
def test_mistakes_are_errors_in_the_words_of_the_function(x, text):
    with pytest.raises(TypeError) as raised:
        diffops.squash(x, numpy.ones(1))
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("places", "error", "text"),
    [
        ([True], TypeError, "must be an array of integers"),
        ([0.5], TypeError, "must be an array of integers"),
        ([], TypeError, "must be an array of integers"),
        ([[0]], ValueError, r"must have 1 axis, not the shape \[1, 1\]"),
        (0, ValueError, r"must have 1 axis, not the shape \[\]"),
    ],
)
def test_indices_are_integers_with_one_axis(places, error, text):
    with pytest.raises(error, match=f"pick: `places` {text}"):
        diffops.pick(numpy.ones(3), numpy.asarray(places))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_have_any_width(kind):
    x = numpy.array([3.0, 5.0])
    values, times = diffops.lookup(x, numpy.array([[1, 0]], kind), numpy.array([[True, False]]), factor=2)
    assert values.tolist() == [[10.0, 0.0]] and times.tolist() == [0, 1] and times.dtype == numpy.int32


def test_a_shape_too_large_for_memory_is_an_error():
    # Together they would have 2⁴⁴ elements, of more bytes than a process has addresses.
    x, limit = numpy.ones((1 << 22, 1)), numpy.ones((1, 1 << 22))
    with pytest.raises(ValueError, match="squash of x .*: there is no memory for 17592186044416 elements of f64"):
        diffops.squash(x, limit)


def test_shapes_that_do_not_fit_are_named_once():
    ones = numpy.ones
    for function, arguments, text in [
        (diffops.squash, [ones(2), ones(3)], "squash of x [2], limit [3]: they do not broadcast"),
        (diffops.leaky, [ones(3), ones((4, 2)), ones(3)], "leaky of v [3], x [4, 2], tau [3]: `v` and `x` do not broadcast"),
        (diffops.gaussian, [ones((2, 3)), ones((5, 3)), ones(4), 2.0], "b [4]: `y` has 5 columns, and `b` has 4"),
        (diffops.affine, [ones((3, 4)), ones((2, 5))], "affine of x [3, 4], weight [2, 5]: axis `i` is 4 in `x` and 5 in"),
        (diffops.tridiagonal, [ones(3)] * 4, "right [3]: `below` of shape [3]: the length declared as `n - 1` is 2 here"),
        (diffops.windows, [ones(3), 5, 1], "windows of x [3]: axis 0 of `output` is `(l - k) / stride + 1` = -1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(text)):
            function(*arguments)


def test_integers_and_values_out_of_range_are_named():
    x, grid, mask = numpy.ones(300), numpy.array([[256]]), numpy.array([[True]])
    with pytest.raises(ValueError, match="lookup: `places` has 256, which is out of range"):
        diffops.lookup(x, grid, mask)
    for stride in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"windows: `stride` is {stride}, which is out of range"):
            diffops.windows(x, 3, stride)


def test_vjp_takes_keywords_and_has_defaults():
    x, places, mask = numpy.ones(3), numpy.array([[2]]), numpy.array([[True]])
    for keywords, factor in (({}, 1.0), ({"factor": 3.0}, 3.0)):
        (values, _), pull = diffops.vjp(diffops.lookup, x, mask=mask, places=places, **keywords)
        assert values.tolist() == [[factor]]
        assert pull(values)[0].tolist() == [0, 0, factor**2]
    with pytest.raises(TypeError, match="lookup: missing a required argument: 'places'"):
        diffops.vjp(diffops.lookup, x)
    with pytest.raises(TypeError, match="lookup: got an unexpected keyword argument 'scale'"):
        diffops.vjp(diffops.lookup, x, places, mask, scale=1.0)


def test_gradients_of_outputs_without_axes_may_be_numbers():
    parts = [numpy.full((1, 1), 3.0), numpy.full((1, 1), 4.0)]
    (_, norm), pull = diffops.vjp(diffops.unit, parts)
    for grad in (1.0, 1, norm / norm, numpy.float32(1), numpy.asarray(1.0)):
        numpy.testing.assert_allclose(pull(None, grad), [[[0.6]], [[0.8]]])


def test_wrong_gradients_are_errors_that_say_what_is_expected():
    parts = [numpy.ones((2, 2)), numpy.ones((1, 2))]
    _, pull = diffops.vjp(diffops.unit, parts)
    wrong = "backward of unit: the gradient of `units[1]` must "
    norm = "backward of unit: the gradient of `norm` must be an array of float64 or a number, not "
    for grads, error, text in (
        (([None, numpy.ones((2, 2))], 1.0), ValueError, wrong + "have the shape [1, 2], not [2, 2]"),
        (([None, 1.0], 1.0), ValueError, wrong + "have the shape [1, 2], not []"),
        (([None, numpy.ones((1, 2), "f4")], 1.0), TypeError, wrong + "be an array of float64, not float32"),
        (([None, [[1.0, 1.0]]], 1.0), TypeError, wrong + "be an array of float64, not list"),
        ((None, "1"), TypeError, norm + "str"),
        ((None, True), TypeError, norm + "bool"),
    ):
        with pytest.raises(error) as raised:
            pull(*grads)
        assert str(raised.value) == text


def test_gradients_without_a_framework():
    x, limit = numpy.linspace(-1, 2, 12).reshape(3, 4), numpy.full((1, 1), 1.5)
    y, pull = diffops.vjp(diffops.squash, x, limit)
    numpy.testing.assert_allclose(y, diffops.squash(x, limit))
    grad_x, grad_limit = pull(numpy.ones_like(y))
    ratio = 1 + (x / 1.5) ** 2
    numpy.testing.assert_allclose(grad_x, ratio**-1.5)
    numpy.testing.assert_allclose(grad_limit, ((x / 1.5) ** 3 * ratio**-1.5).sum(keepdims=True))
    before = x.copy()
    x[:] = 0
    numpy.testing.assert_allclose(pull(numpy.ones_like(y))[0], grad_x)
    x = before
    w = numpy.ones((2, 4), "f4")
    _, pull = diffops.vjp(diffops.linear, x.astype("f4"), w)
    grads = pull(numpy.ones((3, 2), "f4"))
    assert [grad if grad is None else grad.shape for grad in grads] == [(3, 4), (2, 4), None]
    (distances, place), pull = diffops.vjp(diffops.above_smallest, numpy.array([3.0, 1.0]))
    assert pull(distances).tolist() == [2, -2] and place == 1
    with pytest.raises(ValueError, match=r"the gradient of `distances` must have the shape \[2\], not \[3\]"):
        pull(numpy.ones(3))
    _, pull = diffops.vjp(diffops.polar, x, x + 3)
    grad_x, _ = pull(None, numpy.ones((3, 4)))
    numpy.testing.assert_allclose(grad_x, -(x + 3) / (x**2 + (x + 3) ** 2))
    for grads in ((), (x,), (x, x, x)):
        with pytest.raises(TypeError, match=f"backward of polar: {len(grads)} gradients, for 2 outputs"):
            pull(*grads)
    for function in (numpy.sin, lambda x: x, None):
        with pytest.raises(TypeError, match="vjp expects a function of a pullback module, got "):
            diffops.vjp(function, x)


HALVES = ["float16", "bfloat16"]


@pytest.mark.parametrize("kind", HALVES)
def test_halves_are_taken_as_float32_and_given_back(kind):
    kind = numpy.dtype(getattr(pytest.importorskip("ml_dtypes"), kind) if kind == "bfloat16" else kind)
    x, limit = numpy.linspace(-2, 2, 12).reshape(3, 4).astype(kind), numpy.full((1, 1), 1.5, kind)
    wide = [array.astype("float32") for array in (x, limit)]
    y = diffops.squash(x, limit)
    assert y.dtype == kind and (y == diffops.squash(*wide).astype(kind)).all()
    # Of different types.
    assert diffops.squash(x, wide[1]).dtype == "float32"
    y, pull = diffops.vjp(diffops.squash, x, limit)
    grads = pull(numpy.ones_like(y))
    _, pull = diffops.vjp(diffops.squash, *wide)
    for grad, expected in zip(grads, pull(numpy.ones((3, 4), "float32"))):
        assert y.dtype == grad.dtype == kind and (grad == expected.astype(kind)).all()
    distances, place = diffops.above_smallest(numpy.array([3, 1], kind))
    assert distances.dtype == kind and distances.tolist() == [2, 0] and place == 1
    assert diffops.linear(wide[0], numpy.ones((2, 4), kind)).dtype == "float32"
    assert diffops.affine(wide[0], numpy.ones((2, 4), kind)).dtype == "float32"
    diffops.half_precision(False)
    try:
        with pytest.raises(TypeError, match=f"squash: `x` must be float32 or float64, not {kind}"):
            diffops.squash(x, limit)
    finally:
        diffops.half_precision(True)


def test_the_other_type_of_floats_is_an_error_with_what_to_write():
    with pytest.raises(TypeError) as raised:
        diffops.MulConstant(numpy.ones((1, 1), "f4"), 2.0)
    assert str(raised.value) == (
        "MulConstant: `tensor` must be float64, not float32; pass `tensor.double()` in PyTorch, "
        '`tensor.astype("float64")` in NumPy and in JAX with `jax_enable_x64`'
    )


INTERRUPTED = """
import os, signal, sys, threading, time
import diffops, numpy

# A shell makes programs in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupted(call):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - begin
    else:
        raise AssertionError("it was not interrupted")

# Takes many seconds.
x = numpy.random.default_rng(0).uniform(size=(200_000, 3))
b = numpy.ones(200_000)
"""
INTERRUPTIONS = {
    "numpy": "assert interrupted(lambda: diffops.gaussian(x, x, b, 2.0)) < 5",
    # The call keeps what it reads.
    "freed": "y = [x.copy()]; interrupted(lambda: diffops.gaussian(y[0], y[0], b, 2.0)); y.clear(); time.sleep(0.5)",
    "torch": "import torch; x, b = map(torch.tensor, (x, b)); assert interrupted(lambda: diffops.gaussian(x, x, b, 2.0)) < 5",
    "backward": """
import torch
x, b = map(torch.tensor, (x[:2_000], b[:2_000]))
# The first call shows that the function takes long.
for _ in range(2):
    y = diffops.gaussian(x.requires_grad_(), x, b, 2.0).sum()
begin = time.monotonic()
y.backward(retain_graph=True)
whole = time.monotonic() - begin
assert whole < 1 or interrupted(lambda: y.backward()) < whole / 2
""",
    "a handler that returns": """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(True))
threading.Timer(0.002, os.kill, (os.getpid(), signal.SIGINT)).start()
x = x[:90_000]
y = diffops.gaussian(x, x[:200], b[:200], 2.0)
while not seen:
    time.sleep(0.01)
few = diffops.gaussian(x[:10], x[:200], b[:200], 2.0)
assert numpy.allclose(y[:10], few)
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="there, Ctrl-C is not a signal")
@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_a_signal_ends_a_long_call(name):
    program = INTERRUPTED + INTERRUPTIONS[name] + "\nprint(diffops.squash(numpy.ones(1), numpy.ones(1)).shape)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.returncode) == ("(1,)\n", 0), ran.stderr


def test_neither_torch_nor_jax_is_imported():
    program = "import diffops, numpy, sys; diffops.squash(numpy.ones(3), numpy.ones(1)); print({'torch', 'jax'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_a_panic_is_reported_once():
    program = (
        "import diffops, numpy\n"
        "try: diffops.linear(numpy.ones((2, 3), 'f4'), numpy.ones((2, 2), 'f4'))\n"
        "except ValueError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("linear of input [2, 3], weight [2, 2]: ndarray: ") and ran.stderr == ""


def test_the_stub_has_what_functions_take():
    stub = ast.parse(diffops.__pyi__)
    functions = {item.name: item for item in stub.body if isinstance(item, ast.FunctionDef)}
    assert "'''Two parts of three numbers.'''" in ast.get_docstring(functions["split"])
    types = {"pick": "IndexArray | Sequence[Any]", "split": "Sequence[int] | jax.Array | numpy.ndarray"}
    assert {name: ast.unparse(functions[name].args.args[1].annotation) for name in types} == types
    assert [part.tolist() for part in diffops.split(numpy.arange(3.0), numpy.array([1, 2]))] == [[0], [1, 2]]
    assert diffops.pick(numpy.arange(3.0), [2, 0]).tolist() == [2, 0]
