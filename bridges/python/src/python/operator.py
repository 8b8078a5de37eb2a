"""Functions of the module inside of `torch.compile` and `torch.export`: operators, which these do not look into.

The gradient is an operator too, and runs the function again: what a run saved is no tensor, so no graph can hold it.
"""

import keyword
import re

import numpy
import torch

arrays_of = file("torch")["arrays_of"]
check = file("torch")["check"]

KINDS = {
    "Array": "Tensor",
    "IndexArray": "Tensor",
    "bool": "bool",
    "float": "float",
    "int": "int",
    "str": "str",
    "Sequence[float]": "float[]",
    "Sequence[int]": "int[]",
}


def plain(name):
    """A name of Rust's as operators have them."""
    name = re.sub(r"\W", "_", name.encode("ascii", "backslashreplace").decode(), flags=re.ASCII)
    return f"{name}_" if keyword.iskeyword(name) else name


def schema(name, stub):
    kind, _, none = stub.partition(" | ")
    return f"{KINDS[kind]}{'?' if none else ''} {plain(name)}"


def define(function, namespace):
    """The operator of a function, or None if it returns something that no operator does."""
    kinds, outputs = function.stubs
    if not {kind for kind, _ in outputs} <= {"Array", "IndexArray"}:
        return None
    name = plain(function.name)
    operator = f"{namespace}::{name}"
    parameters = ", ".join(map(schema, function.arguments, kinds))
    places = function.places

    def split(arguments):
        """The function with its values, and its tensors."""
        given = [place for place in places if arguments[place] is not None]
        tensors = [arguments[place] for place in given]
        # Of a tensor, a run keeps no more than that it was given.
        values = tuple(place in given or argument for place, argument in enumerate(arguments))
        return Run(function, values), tensors

    @torch.library.custom_op(operator, mutates_args=(), schema=f"({parameters}) -> Tensor[]")
    def forward(*arguments):
        run, tensors = split(arguments)
        outputs = run(arrays_of(run, tensors), [False] * len(tensors))[1]
        return [torch.from_numpy(output) for output in outputs]

    @forward.register_fake
    def _(*arguments):
        run, inputs = split(arguments)
        check(run, inputs)
        if function.elementwise:
            shape = torch.broadcast_shapes(*[x.shape for x in inputs])
            return [torch.empty(shape, dtype=inputs[0].dtype) for _ in outputs]
        # Nobody knows the shapes of outputs before the function has run: on ones, and at the first of places.
        shown = list(arguments)
        for place, argument in enumerate(arguments):
            if isinstance(argument, torch.Tensor):
                shape = [int(length) for length in argument.shape]
                shown[place] = numpy.full(shape, place in places, str(argument.dtype)[6:])
        run, arrays = split(shown)
        found = run(arrays, [False] * len(arrays))[1]
        return [torch.empty(output.shape, dtype=getattr(torch, output.dtype.name)) for output in found]

    # No parameter in Rust that is used begins with a line.
    parameters += ", Tensor[] _grads, bool[] _there, bool[] _needed"

    @torch.library.custom_op(f"{operator}_gradients", mutates_args=(), schema=f"({parameters}) -> Tensor[]")
    def gradients(*arguments):
        *arguments, grads, there, needed = arguments
        run, tensors = split(arguments)
        recording = run(arrays_of(run, tensors), needed)[0]
        grads = iter(grads)
        grads = [next(grads).numpy() if is_there else None for is_there in there]
        found = zip(tensors, recording.gradients(grads, needed), needed)
        found = [(of, grad) for of, grad, is_needed in found if is_needed]
        return [torch.zeros_like(of) if grad is None else torch.from_numpy(grad) for of, grad in found]

    @gradients.register_fake
    def _(*arguments):
        tensors = split(arguments[:-3])[1]
        return [torch.empty(of.shape, dtype=of.dtype) for of, is_needed in zip(tensors, arguments[-1]) if is_needed]

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in inputs])
        ctx.values = [None if isinstance(value, torch.Tensor) else value for value in inputs]
        ctx.mark_non_differentiable(*[tensor for tensor, (_, kind) in zip(output, outputs) if not kind])

    def backward(ctx, grads):
        arguments = [value if saved is None else saved for value, saved in zip(ctx.values, ctx.saved_tensors)]
        needed = [ctx.needs_input_grad[place] for place in places if arguments[place] is not None]
        # Places along an axis have no gradients.
        grads = [grad for grad, (kind, _) in zip(grads, outputs) if kind == "Array"]
        there = [grad is not None for grad in grads]
        found = iter(gradients(*arguments, [grad for grad in grads if grad is not None], there, needed))
        return tuple(next(found) if is_needed else None for is_needed in ctx.needs_input_grad)

    forward.register_autograd(backward, setup_context=setup)
    return getattr(getattr(torch.ops, namespace), name).default
