"""Calls in JAX: of programs of XLA, which `xla` defines."""

import jax
import jax.numpy as jnp
import numpy

from .xla import MOST, OPERAND, Call, bind, without_missing

HALF = (jnp.float16, jnp.bfloat16)


def apply(call, arrays):
    function = call.function
    places, kinds = function.places, function.stubs[0]
    kind = next(array.dtype for array in arrays if hasattr(array, "dtype"))
    kinds_of_arrays = {array.dtype for array in arrays if hasattr(array, "dtype")}
    half = any(kind in HALF for kind in kinds_of_arrays)
    wide = jnp.float32 if "float32" in function.elements else jnp.float64
    narrow = HALF if wide == jnp.float32 else (*HALF, jnp.float32)
    words, operands, arguments = [], [], []
    for place, (name, argument) in enumerate(zip(function.arguments, call.arguments)):
        if place in places:
            value = None if argument is None else tensor(call, name, argument, kind)
            if half and value is not None and value.dtype in narrow:
                value = value.astype(wide)
        else:
            value = plain(call, name, argument, kinds[place])
        if isinstance(value, jax.Array):
            operands.append(value)
            arguments.append(OPERAND)
            words.append("t" if place in places else "o")
        else:
            arguments.append(value)
            words.append(word(call, value))
    head = ":".join([function.name, *[str(length) for length in function.lengths if length is not None]])
    program = program_of(function, " ".join([head, *words]), tuple(arguments))
    if function.returns_lists:
        lengths = program.lengths_of([operand.aval for operand in operands])
        head = f"{head}={':'.join(map(str, lengths))}"
        program = program_of(function, " ".join([head, *words]), tuple(arguments), lengths)
    outputs = bind(program, operands)
    if half:
        kind = kind if len(kinds_of_arrays) == 1 else jnp.float32
        outputs = [output.astype(kind) if output.dtype == wide else output for output in outputs]
    return function.returned(without_missing(program, outputs), program.lengths)


programs = {}  # by their texts


def program_of(function, text, arguments, lengths=()):
    """Returns the program of a text, with lists of these lengths among the outputs."""
    if text not in programs:
        if len(programs) >= MOST:
            programs.clear()
        programs[text] = Call(function, arguments, text, lengths)
    return programs[text]


def tensor(call, name, argument, kind):
    """Returns an argument as an array of JAX. A number has the element type of the others."""
    if isinstance(argument, jax.Array):
        return argument
    if isinstance(argument, numpy.ndarray):
        return jnp.asarray(argument)
    if isinstance(argument, (int, float)) and not isinstance(argument, bool):
        return jnp.asarray(argument, kind)
    raise TypeError(f"{call.name}: `{name}` must be a jax.Array, not {type(argument).__name__}")


def plain(call, name, argument, kind):
    """Returns a value as an operand, if it is an array, or else as a value of Python."""
    if isinstance(argument, (list, tuple)) and any(isinstance(item, jax.Array) for item in argument):
        argument = jnp.stack(argument)
    if kind == "IndexArray" and isinstance(argument, (list, tuple)):
        argument = numpy.asarray(argument)
    if isinstance(argument, (numpy.ndarray, numpy.generic)) and not argument.ndim:
        return argument.item()
    if isinstance(argument, numpy.ndarray):
        array = jnp.asarray(argument)
        if array.dtype != argument.dtype and (numpy.asarray(array) != argument).any():
            raise ValueError(f"{call.name}: `{name}` has numbers of 64 bits, which JAX has only with `jax_enable_x64`")
        return array
    # The shape of an output may depend on an integer, so it is read now if it can be.
    concrete = isinstance(argument, jax.Array) and not isinstance(argument, jax.core.Tracer)
    if concrete and not argument.ndim and jnp.issubdtype(argument.dtype, jnp.integer):
        return argument.item()
    return argument


def word(call, value):
    """Returns a value as it is in the text of a program."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"i{int(value)}"
    if isinstance(value, float):
        return f"f{float(value)!r}"
    if isinstance(value, str):
        return f"s{value.encode().hex()}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(word(call, item) for item in value)
    # Its own error names the parameter and the type that it has.
    call.function.check_values(call.arguments)
    raise TypeError(f"{call.name}: a value of type {type(value).__name__}")
