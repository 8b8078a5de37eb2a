"""Programs of XLA: a function with its values, derivatives of it, and axes of examples, as a primitive of JAX.

A `Program` is a function of arrays that returns arrays. `Call` is a function of the module. `Tangent` and `Gradient` are
derivatives of another program, which are linear in their last inputs and transposes of each other: so JAX can compose
both modes. `Batched` is another program for each example along a first axis. XLA calls one handler for all, in Rust and
without Python, with the program's text as an attribute.

The derivatives of a gradient are gradients too, as second derivatives are symmetric: forward mode over a backward pass
is not needed.
"""

import functools

import jax
import jax.numpy as jnp
import numpy
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from . import call as calls
from . import handler
from .dispatch import namespace
from .shapes import of_outputs

# The name in compiled programs, also in exported ones.
TARGET = namespace()
jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform="cpu")


# The most programs that are kept: a number is a part of its program, and may be another in each call.
MOST = 1024


class Program:
    """A function of arrays. Inputs and outputs are known by what they are like: `("x", 0)` is the first operand of the
    function, `("y", 0)` its first output, and their tangents and gradients are like them. Values are `("v", 1)`."""

    __slots__ = ("call", "inputs", "outputs", "text")

    def __init__(self, call, text, inputs, outputs):
        self.call = call
        self.text = text
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def __eq__(self, other):
        return isinstance(other, Program) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return self.text


class Call(Program):
    """A function with its arguments. An argument is OPERAND if it is an operand."""

    __slots__ = ("arguments", "function", "kinds", "known", "lengths")

    def __init__(self, function, arguments, text, lengths):
        self.function = function
        self.arguments = arguments
        self.lengths = lengths  # of the lists among the outputs
        self.kinds = function.outputs(lengths)
        self.known = {}  # the shapes of outputs, and the lengths of lists among them, by the shapes of operands
        operands = [place for place, argument in enumerate(arguments) if argument is OPERAND]
        inputs = [("x" if place in function.places else "v", index) for index, place in enumerate(operands)]
        super().__init__(self, text, inputs, [("y", index) for index in range(len(self.kinds))])

    @property
    def differentiable(self):
        """For each output, whether it has a gradient."""
        return [kind and stub.startswith("Array") for stub, kind in self.kinds]

    def shapes(self, avals):
        """Returns the shapes and element types of the outputs."""
        return self.known_for(avals)[0]

    def lengths_of(self, avals):
        """Returns the lengths of the lists among the outputs."""
        return self.known_for(avals)[1]

    def known_for(self, avals):
        key = tuple((aval.shape, aval.dtype) for aval in avals)
        if key not in self.known:
            self.known[key] = self.computed(avals)
        return self.known[key]

    def computed(self, avals):
        function = self.function
        given = iter(avals)
        traced, sample = [], []
        for name, argument, place in zip(function.arguments, self.arguments, range(len(self.arguments))):
            if argument is not OPERAND:
                traced.append(argument)
                sample.append(argument)
                continue
            aval = next(given)
            tensor = place in function.places
            traced.append(aval if tensor else Traced(self.function.name, name, aval))
            sample.append(aval if tensor else sampled(aval))
        # Errors of values are raised now, and not when the program runs.
        function.check_values(tuple(sample))
        tensors = [aval for aval, (kind, _) in zip(avals, self.inputs) if kind == "x"]
        call = calls.Call(function, tuple(traced))
        outputs = of_outputs(call, tensors, lambda aval: aval.dtype.name, jnp.broadcast_shapes, require)
        lengths = ()
        if outputs is None:
            # Only a run of the function shows shapes that are not declared, and the lengths of lists.
            outputs, lengths = shown_by_run(function, sample, tensors)
            check_dependence(function, traced, sample, tensors, (outputs, lengths))
        for place, (_, kind) in enumerate(outputs):
            if numpy.dtype(kind).kind not in "biuf":
                raise TypeError(f"{function.name}: output {place} is a text, which a program of JAX cannot have")
        canonical = jax.dtypes.canonicalize_dtype
        return [(tuple(shape), canonical(kind)) for shape, kind in outputs], lengths


def shown_by_run(function, arguments, tensors):
    """Returns the shapes and element types of the outputs of a run on ones, and the lengths of the lists among them."""
    ones = [numpy.ones(aval.shape, aval.dtype) for aval in tensors]
    call = calls.Call(function, tuple(arguments))
    found = call(ones, [False] * len(ones))[1]
    shapes = [MISSING if output is None else (numpy.shape(output), numpy.asarray(output).dtype) for output in found]
    return shapes, call.lengths


def check_dependence(function, traced, sample, tensors, shown):
    """Raises an error if a run with ones in a traced array of values, for the zeros in `sample`, shows other shapes."""
    for place, argument in enumerate(traced):
        if not isinstance(argument, Traced) or not argument.ndim:
            continue
        ones = [*sample]
        ones[place] = numpy.ones_like(sample[place])
        try:
            other = shown_by_run(function, ones, tensors)
        except Exception:
            # The function does not take ones, such as indices out of range.
            continue
        if other != shown:
            raise ValueError(argument.text)


# The shape and the element type in place of an output that is None, which no optional output has.
MISSING = (0,), "bool"


def without_missing(program, outputs):
    """Returns the outputs of a call with None for those that are missing."""
    return [
        None if stub.endswith("None") and output.dtype == MISSING[1] else output
        for (stub, _), output in zip(program.kinds, outputs)
    ]


class Derivative(Program):
    """A program that is linear in its last inputs."""

    __slots__ = ("given", "needed", "of")

    def __init__(self, of, name, given, needed, inputs, outputs):
        self.of = of
        self.given = given
        self.needed = needed
        text = f"{of.text} | {name} {digits(given)} {digits(needed)}"
        super().__init__(of.call, text, (*of.inputs, *chosen(given, inputs)), chosen(needed, outputs))

    def among(self, given):
        """Returns the same derivative for fewer of the last inputs."""
        marks = iter(given)
        return type(self)(self.of, [mark and next(marks) for mark in self.given], self.needed)


class Tangent(Derivative):
    """The derivatives of outputs, those that `needed` marks, along tangents of the inputs that `given` marks."""

    __slots__ = ()

    def __init__(self, of, given, needed):
        super().__init__(of, "tangent", given, needed, of.inputs, of.outputs)


class Gradient(Derivative):
    """The gradients of inputs, those that `needed` marks, from those of the outputs that `given` marks."""

    __slots__ = ()

    def __init__(self, of, given, needed):
        super().__init__(of, "gradient", given, needed, of.outputs, of.inputs)


class Batched(Program):
    """A program for each example. `marks` has the inputs that have an example along their first axis."""

    __slots__ = ("marks", "of")

    def __init__(self, of, marks):
        self.of = of
        self.marks = marks
        super().__init__(of.call, f"{of.text} | batched {digits(marks)}", of.inputs, of.outputs)


class Traced:
    """A value that is not known while a program is traced."""

    def __init__(self, function, name, aval):
        numbers = "a tuple of numbers" if aval.shape else "a number"
        self.text = (
            f"{function}: the shape of an output depends on `{name}`, which is traced; pass {numbers}, or name it in "
            "`static_argnames` of `jax.jit`"
        )
        self.shape = aval.shape
        self.ndim = len(aval.shape)

    def item(self):
        raise ValueError(self.text)

    def __getitem__(self, index):
        raise ValueError(self.text)


OPERAND = object()


def digits(marks):
    return "".join("1" if mark else "0" for mark in marks)


def chosen(marks, items):
    return [item for mark, item in zip(marks, items) if mark]


def sampled(aval):
    """Returns a value of NumPy in place of one that is traced: zeros for indices."""
    return numpy.zeros(aval.shape, aval.dtype) if aval.shape else numpy.ones((), aval.dtype).item()


def require(condition, text):
    if not condition:
        raise ValueError(text())


run = Primitive("pullback")
run.multiple_results = True


def bind(program, arrays):
    """Runs a program. Under `shard_map`, its operands vary over the same axes."""
    return run.bind(*alike(arrays), program=program)


def varying(array):
    """Returns the axes of a mesh over which an array varies."""
    kind = jax.typeof(array)
    return getattr(kind, "vma", None) or getattr(getattr(kind, "mat", None), "varying", frozenset())


def alike(arrays):
    if not hasattr(jax, "typeof"):
        return arrays
    axes = [varying(array) for array in arrays]
    union = frozenset().union(*axes)
    if not union:
        return arrays

    def cast(array, missing):
        if not missing:
            return array
        if hasattr(jax.lax, "pcast"):
            return jax.lax.pcast(array, tuple(missing), to="varying")
        return jax.lax.pvary(array, tuple(missing))

    return [cast(array, union - own) for array, own in zip(arrays, axes)]


@functools.lru_cache(maxsize=MOST)
def compiled(program):
    def apply(*arrays):
        return run.bind(*arrays, program=program)

    # As JAX marks its own primitives: `jax_debug_nans` names the function, and does not look inside of it.
    apply._apply_primitive = True
    apply.__name__ = apply.__qualname__ = program.call.function.name
    return jax.jit(apply)


@run.def_impl
def _(*arrays, program):
    # Also where `jit` is disabled for what the caller wrote.
    with jax.disable_jit(False):
        return compiled(program)(*arrays)


@run.def_abstract_eval
def _(*avals, program):
    return [like(avals[0], shape, kind) for shape, kind in shapes(program, avals)]


def shapes(program, avals):
    """Returns the shapes and element types of the outputs of a program."""
    if isinstance(program, Batched):
        pairs = list(zip(avals, program.marks))
        examples = next(aval.shape[0] for aval, mark in pairs if mark)
        one = [aval.update(shape=aval.shape[1:], **placed(aval, aval.shape[1:])) if mark else aval for aval, mark in pairs]
        return [((examples, *shape), kind) for shape, kind in shapes(program.of, one)]
    if isinstance(program, Call):
        return program.shapes(avals)
    known = {key: (aval.shape, aval.dtype) for key, aval in zip(program.inputs, avals)}
    if not known.keys() >= set(program.outputs):
        inputs = program.call.inputs
        outputs = program.call.shapes(avals[: len(inputs)])
        known.update({("y", index): output for index, output in enumerate(outputs)})
    return [known[key] for key in program.outputs]


def placed(aval, shape):
    """Returns the sharding of an array of this shape in the mesh of `aval`, as a keyword."""
    sharding = getattr(aval, "sharding", None)
    if sharding is None:
        return {}
    return {"sharding": NamedSharding(sharding.mesh, PartitionSpec(*[None] * len(shape)))}


def like(aval, shape, kind):
    return aval.update(shape=shape, dtype=numpy.dtype(kind), weak_type=False, **placed(aval, shape))


def lowered(context, *operands, program):
    return jax.ffi.ffi_lowering(TARGET)(context, *operands, program=program.text)


def refused(context, *operands, program):
    name = program.call.function.name
    raise NotImplementedError(f"{name} runs on the CPU alone: pass arrays of `jax.devices('cpu')[0]`")


mlir.register_lowering(run, refused)
mlir.register_lowering(run, lowered, platform="cpu")


def push(program, arrays, tangents, needed):
    """Returns the derivatives of the outputs that `needed` marks along the tangents that are not None. A derivative is
    None for one that is zero or not needed."""
    given = [tangent is not None for tangent in tangents]
    if not any(given) or not any(needed):
        return [None] * len(needed)
    if isinstance(program, Batched):
        return mapped(push, program, arrays, tangents, needed)
    if isinstance(program, Call):
        needed = [mark and kind for mark, kind in zip(needed, program.differentiable)]
        if not any(needed):
            return [None] * len(needed)
        return spread(needed, bind(Tangent(program, given, needed), [*arrays, *chosen(given, tangents)]))
    head = len(program.of.inputs)
    inputs, last = arrays[:head], tangents[head:]
    found = [None] * len(needed)
    if any(given[head:]):
        linear = bind(program.among(given[head:]), [*inputs, *chosen(given[head:], last)])
        found = [one if mark else None for one, mark in zip(linear, needed)]
    if not any(given[:head]):
        return found
    if isinstance(program, Tangent):
        further = Tangent(program, [*given[:head], *[False] * len(last)], needed)
    else:
        # Of the sum of the products of the gradients with the tangents.
        marks = iter(needed)
        wanted = [mark and next(marks) for mark in program.needed]
        inner = Gradient(program.of, program.given, given[:head])
        further = Gradient(inner, [True] * sum(given[:head]), [*wanted, *[False] * len(last)])
    more = spread(needed, bind(further, [*arrays, *chosen(given[:head], tangents)]))
    return [one if other is None else other if one is None else one + other for one, other in zip(found, more)]


def pull(program, arrays, grads, needed):
    """Returns the gradients of the inputs that `needed` marks from those of outputs that are not None."""
    given = [grad is not None for grad in grads]
    if not any(given) or not any(needed):
        return [None] * len(needed)
    return spread(needed, bind(Gradient(program, given, needed), [*arrays, *chosen(given, grads)]))


def spread(marks, items):
    items = iter(items)
    return [next(items) if mark else None for mark in marks]


def mapped(rule, program, arrays, others, needed):
    """Applies `push`, or the transpose of a program, to each example."""
    there = []

    def one(arrays, others):
        found = rule(program.of, arrays, others, needed)
        there.append([item is not None for item in found])
        return [item for item in found if item is not None]

    axes = [0 if mark else None for mark in program.marks]
    if rule is push:
        given = [None if other is None else axis for other, axis in zip(others, axes)]
    else:
        given = [None if other is None else 0 for other in others]
    found = jax.vmap(one, in_axes=([None if array is None else axis for array, axis in zip(arrays, axes)], given))(
        arrays, others
    )
    return spread(there[0], found)


def differentiated(arrays, tangents, *, program):
    outputs = bind(program, arrays)
    tangents = [None if is_zero(tangent) else tangent for tangent in tangents]
    for (kind, index), tangent in zip(program.inputs, tangents):
        if kind == "v" and tangent is not None:
            function = program.call.function
            operands = [name for name, given in zip(function.arguments, program.call.arguments) if given is OPERAND]
            raise TypeError(
                f"{function.name}: `{operands[index]}` is a value, which has no gradient; pass "
                f"`jax.lax.stop_gradient({operands[index]})`"
            )
    needed = [jnp.issubdtype(output.dtype, jnp.floating) for output in outputs]
    found = push(program, list(arrays), tangents, needed)
    return outputs, [ad.Zero(output.aval.to_tangent_aval()) if tangent is None else tangent for output, tangent in zip(outputs, found)]


def is_zero(tangent):
    return isinstance(tangent, ad.Zero) or tangent.dtype == jax.dtypes.float0


def transposed(program, arrays, grads, needed):
    """Returns the gradients of the inputs that `needed` marks, in which the program is linear."""
    if isinstance(program, Call):
        raise NotImplementedError(
            f"{program.function.name}: JAX does not know that the function is linear; pass the function that "
            "`jax.linearize` returns: `jax.linear_transpose(jax.linearize(f, x)[1], x)`"
        )
    if isinstance(program, Batched):
        found = mapped(transposed, program, arrays, grads, needed)
        # All examples have the same input.
        shared = zip(found, program.marks)
        return [grad if mark or grad is None else grad.sum(0) for grad, mark in shared]
    head = len(program.of.inputs)
    marks = iter(needed[head:])
    wanted = [mark and next(marks) for mark in program.given]
    rule = pull if isinstance(program, Tangent) else push
    grads = spread(program.needed, grads)
    found = rule(program.of, arrays[:head], grads, wanted)
    return [None] * head + chosen(program.given, found)


def transpose(grads, *arrays, program):
    needed = [ad.is_undefined_primal(array) for array in arrays]
    grads = [None if is_zero(grad) else grad for grad in grads]
    known = [None if undefined else array for array, undefined in zip(arrays, needed)]
    found = transposed(program, known, grads, needed)
    avals = [array.aval if undefined else None for array, undefined in zip(arrays, needed)]
    return [
        None if aval is None else ad.Zero(aval) if grad is None else placed_like(aval, grad)
        for aval, grad in zip(avals, found)
    ]


def placed_like(aval, array):
    """Returns an array with the axes of `aval` on explicit axes of a mesh."""
    spec = getattr(getattr(aval, "sharding", None), "spec", ())
    return jax.sharding.reshard(array, spec) if any(spec) else array


ad.primitive_jvps[run] = differentiated
ad.primitive_transposes[run] = transpose


def batched(arrays, axes, *, program):
    marks = [axis is not None for axis in axes]
    function = program.call.function
    of_values = any(mark for mark, (kind, _) in zip(marks, program.inputs) if kind == "v")
    of_lanes = (function.elementwise or function.scan) and not has_entries(program, arrays)
    if of_lanes and not of_values and not isinstance(program, Batched):
        return broadcast(arrays, axes, program)
    arrays = [array if axis is None else jnp.moveaxis(array, axis, 0) for array, axis in zip(arrays, axes)]
    outputs = bind(Batched(program, marks), arrays)
    return outputs, [0] * len(outputs)


def has_entries(program, arrays):
    """Returns whether a value is a list or an array, which may have an entry for each element of one example."""
    lists = any(isinstance(argument, (list, tuple)) for argument in program.call.arguments)
    return lists or any(kind == "v" and array.ndim for array, (kind, _) in zip(arrays, program.inputs))


def broadcast(arrays, axes, program):
    """Runs a program of an elementwise function or of a scan once for all examples, which are the first axis but for that
    of steps. Returns the outputs, and the axes of examples.
    """
    examples = next(array.shape[axis] for array, axis in zip(arrays, axes) if axis is not None)
    call = program.call
    is_operand = [argument is OPERAND for argument in call.arguments]
    operands = [is_operand[place] for place in call.function.places]
    tensors = [key for key in call.inputs if key[0] == "x"]
    rows = dict(zip(tensors, chosen(operands, call.function.rows[0])))
    inputs, outputs = call.function.steps
    # The axis of the examples, after that of steps.
    places = dict(zip(tensors, map(int, chosen(operands, inputs)))) | dict(zip(call.outputs, map(int, outputs)))
    arrays = [
        array if axis is None else jnp.moveaxis(array, axis, places.get(key, 0))
        for array, axis, key in zip(arrays, axes, program.inputs)
    ]

    def without_examples(array, axis, place):
        return array.shape if axis is None else (*array.shape[:place], *array.shape[place + 1 :])

    one = [without_examples(array, axis, places.get(key, 0)) for array, axis, key in zip(arrays, axes, program.inputs)]
    # The number of axes without those of steps and of rows.
    ranks = {
        key: len(shape) - places[key] - (rows[key] is not None)
        for key, shape in zip(program.inputs, one)
        if key in rows
    }
    most = max(ranks.values())
    # Operands of which there is one for each example: so there is for each gradient.
    each = {key for key, axis in zip(program.inputs, axes) if axis is not None and key in rows}
    each |= {key for key in program.outputs if key in rows}
    each = each or set(rows)
    given = []
    for array, axis, key, shape in zip(arrays, axes, program.inputs, one):
        if key[0] == "v" or (key in rows and key not in each):
            given.append(array)
            continue
        place = places[key]
        before, after = shape[:place], shape[place:]
        if axis is None:
            array = jnp.broadcast_to(jnp.expand_dims(array, place), (*before, examples, *after))
        given.append(array.reshape(*before, examples, *[1] * (most - ranks.get(key, most)), *after))
    own = dict(zip(program.inputs, one))

    def reshaped(output, key):
        place = places[key]
        return output.reshape(*own[key][:place], examples, *own[key][place:]) if key in rows else output

    outputs = [reshaped(output, key) for key, output in zip(program.outputs, bind(program, given))]
    return outputs, [places[key] for key in program.outputs]


batching.primitive_batchers[run] = batched

if not hasattr(jax, "shard_map"):
    # Before JAX 0.6, `shard_map` has rules of its own, for functions that use no axis of a mesh.
    from jax.experimental import shard_map

    shard_map.register_standard_check(run)
    shard_map.register_standard_rewrite(run)
