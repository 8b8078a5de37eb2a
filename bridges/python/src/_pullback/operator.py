"""Operators for `torch.compile` and `torch.export`, which do not trace into them.

The gradient is an operator too, and runs the function again: a graph cannot hold a recording, which is not a tensor.
"""

import keyword
import re

import numpy
import torch

from .call import LIST, Call, folded, lengths_of, unfolded, unreturned
from .dispatch import items
from .shapes import of_outputs
from .torch import arrays_of, check

KINDS = {
    "Array": "Tensor",
    "IndexArray": "Tensor",
    "Sequence[Array]": "Tensor[]",
    LIST: "Tensor[]",
    "bool": "bool",
    "float": "float",
    "int": "int",
    "str": "str",
    "Sequence[bool]": "bool[]",
    "Sequence[float]": "float[]",
    "Sequence[int]": "int[]",
}


def plain(name):
    """Returns a name of Rust as one that an operator can have."""
    name = re.sub(r"\W", "_", name.encode("ascii", "backslashreplace").decode(), flags=re.ASCII)
    return f"{name}_" if keyword.iskeyword(name) else name


def schema(name, stub):
    kind, _, none = stub.partition(" | ")
    return f"{KINDS[kind]}{'?' if none else ''} {plain(name)}"


def dtype(tensor):
    """Returns the name of a tensor's element type."""
    return str(tensor.dtype).removeprefix("torch.")


def add(name, parameters, function, fake, outputs="Tensor[]"):
    """Defines an operator of tensors on the CPU. `torch.library.custom_op` would be slower to call: it compares inputs
    with outputs, which here never share memory. A compiled program relies on the strides that `fake` returns, those of
    row-major order, while a function returns arrays of any layout.
    """
    torch.library.define(name, f"({parameters}) -> {outputs}", tags=torch.Tag.pt2_compliant_tag)
    torch.library.impl(name, "CPU", function)
    torch.library.register_fake(name, fake)


def split(function, arguments):
    """Returns the call with its values, and its tensors."""
    given = [place for place in function.places if arguments[place] is not None]
    tensors = [arguments[place] for place in given]
    # A call needs no tensors, but which of them are given.
    values = tuple(place in given or argument for place, argument in enumerate(arguments))
    return Call(function, values), tensors


def on_ones(function, arguments):
    """Runs a function on ones, and with zeros for indices: only a run shows the shapes of some outputs, and the lengths of
    lists. Returns the outputs one by one, and these lengths.
    """
    shown = list(arguments)
    for place, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            shape = [int(length) for length in argument.shape]
            shown[place] = numpy.full(shape, place in function.places, dtype(argument))
    call, arrays = split(function, shown)
    return call(arrays, [False] * len(arrays))[1], call.lengths


def written(function, outputs, lengths):
    """Returns outputs as an operator does: in a list, or as a caller gets them if lists are among them."""
    return function.returned(outputs, lengths) if function.returns_lists else outputs


def define_lengths(function, namespace, parameters):
    """Returns the operator that shows how long lists are, as the shape of a tensor, while a program is traced on fake tensors.
    It stays in some programs, where it must cost nothing: on others, the shape has no axes.
    """

    def fake(*arguments):
        of, arguments = unfolded(function, arguments)
        check(*split(of, arguments))
        return torch.empty(on_ones(of, arguments)[1])

    name = f"{plain(function.name)}_lengths"
    add(f"{namespace}::{name}", parameters, lambda *arguments: torch.empty(()), fake, "Tensor")
    return getattr(getattr(torch.ops, namespace), name).default


def define(function, namespace):
    """Returns the operator of a function, or None if an output is of a type that operators cannot return."""
    kinds, outputs = function.stubs
    if not {kind for kind, _ in outputs} <= {"Array", "IndexArray", LIST}:
        return None
    name = plain(function.name)
    operator = f"{namespace}::{name}"
    parameters = ", ".join(map(schema, function.arguments, kinds))

    # The lengths are those of lists when the program was traced; without a program, there are none.
    def forward(*arguments, _lengths=()):
        of, arguments = unfolded(function, arguments)
        found = of.fast(arguments)
        if found is NotImplemented:
            call, tensors = split(of, arguments)
            found = map(torch.from_numpy, call(arrays_of(call, tensors), [False] * len(tensors))[1])
            lengths = call.lengths
        else:
            found, lengths = unreturned(function, found)
        function.check_lengths(lengths, _lengths, "when the program was traced")
        return written(function, [output.contiguous() for output in found], lengths)

    def fake(*arguments, _lengths=()):
        of, arguments = unfolded(function, arguments)
        call, inputs = split(of, arguments)
        check(call, inputs)
        known = of_outputs(call, inputs, dtype, torch.broadcast_shapes, torch._check_value)
        device = inputs[0].device if inputs else None
        if known is not None:
            return [torch.empty(shape, dtype=getattr(torch, kind), device=device) for shape, kind in known]
        found, lengths = on_ones(of, arguments)
        found = [torch.empty(output.shape, dtype=getattr(torch, output.dtype.name), device=device) for output in found]
        return written(function, found, lengths)

    if function.returns_lists:
        lengths_of[function.name] = define_lengths(function, namespace, parameters)
        returned = ", ".join(KINDS[kind] for kind, _ in outputs)
        add(operator, f"{parameters}, *, int[] _lengths=[]", forward, fake, f"({returned})" if len(outputs) > 1 else returned)
    else:
        add(operator, parameters, forward, fake)
    # A parameter that is used does not begin with an underscore in Rust.
    parameters += ", Tensor[] _grads, bool[] _there, bool[] _needed"

    def gradients(*arguments):
        *arguments, grads, there, needed = arguments
        call, tensors = split(*unfolded(function, arguments))
        recording = call(arrays_of(call, tensors), needed)[0]
        grads = iter(grads)
        grads = [next(grads).numpy() if is_there else None for is_there in there]
        found = zip(tensors, recording.gradients(grads, needed), needed)
        found = [(of, grad) for of, grad, is_needed in found if is_needed]
        found = [torch.zeros_like(of) if grad is None else torch.from_numpy(grad) for of, grad in found]
        return [grad.contiguous() for grad in found]

    def fake_gradients(*arguments):
        tensors = split(*unfolded(function, arguments[:-3]))[1]
        return [torch.empty_like(of, memory_format=torch.contiguous_format) for of, is_needed in zip(tensors, arguments[-1]) if is_needed]

    add(f"{operator}_gradients", parameters, gradients, fake_gradients)
    gradients = getattr(getattr(torch.ops, namespace), f"{name}_gradients").default

    def setup(ctx, inputs, output, keyword_only_inputs=None):
        found, lengths = unreturned(function, output) if function.returns_lists else (output, [])
        ctx.outputs = function.outputs(lengths)
        ctx.function, inputs = unfolded(function, inputs)
        ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in inputs])
        ctx.values = [None if isinstance(value, torch.Tensor) else value for value in inputs]
        ctx.mark_non_differentiable(*[tensor for tensor, (_, kind) in zip(found, ctx.outputs) if not kind])

    def backward(ctx, *grads):
        arguments = [value if saved is None else saved for value, saved in zip(ctx.values, ctx.saved_tensors)]
        of = ctx.function
        # Of a list of tensors a list, and of an empty list of numbers too.
        needs = zip(ctx.needs_input_grad, of.lengths)
        needs = [need for each, length in needs for need in ([each] if length is None else each)]
        needed = [needs[place] for place in of.places if arguments[place] is not None]
        # Indices have no gradients.
        grads = [grad for grad, (kind, _) in zip(items(grads), ctx.outputs) if kind == "Array"]
        there = [grad is not None for grad in grads]
        arguments = folded(of, arguments)
        found = iter(gradients(*arguments, [grad for grad in grads if grad is not None], there, needed))
        return tuple(folded(of, [next(found) if need else None if need is False else need for need in needs]))

    torch.library.register_autograd(operator, backward, setup_context=setup)
    return getattr(getattr(torch.ops, namespace), name).default
