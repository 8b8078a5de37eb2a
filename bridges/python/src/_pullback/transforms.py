"""Calls under the transforms of `torch.func`, of any order of differentiation.

A transform passes tensors of its own, and only the innermost call gets values. So no recording is kept for the
gradient, which runs the function again.
"""

import torch

from .call import Call, Gradients, Tangents, folded, gradients_of, kinds_of, operators, unreturned
from .dispatch import operated, with_numbers
from .operator import dtype
from .shapes import of_outputs
from .torch import along, arrays_of, is_mapped, needs_operator, no_gradient, outputs_of, untraced


class Node(torch.autograd.Function):
    @staticmethod
    def forward(call, *tensors):
        if needs_operator(tensors) and (found := by_operator(call, tensors)) is not None:
            return found
        outputs = call(arrays_of(call, tensors), [False] * len(tensors))[1]
        return tuple(torch.from_numpy(output) if hasattr(output, "dtype") else output for output in outputs)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.call, *tensors = inputs
        refuse_gradients(ctx.call, ctx.needs_input_grad[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.kinds = kinds_of(ctx.call, outputs)
        constant = [output for output, kind in zip(outputs, ctx.kinds) if not kind]
        ctx.mark_non_differentiable(*[output for output in constant if isinstance(output, torch.Tensor)])

    @staticmethod
    @untraced
    def backward(ctx, *grads):
        tensors = ctx.saved_tensors
        grads = [grad for grad, kind in zip(grads, ctx.kinds) if kind is not None]
        call, tensors = gradients_of(ctx.call, tensors, grads, ctx.needs_input_grad[1:])
        return None, *Node.apply(call, *tensors)

    @staticmethod
    @untraced
    def jvp(ctx, call, *tangents):
        refuse_gradients(ctx.call, [tangent is not None for tangent in tangents])
        return along(ctx.call, ctx.kinds, ctx.saved_tensors, tangents, lambda call, tensors: Node.apply(call, *tensors))

    @staticmethod
    def vmap(info, in_dims, call, *tensors):
        return mapped(call, tensors, in_dims[1:], info.batch_size, lambda call, tensors: Node.apply(call, *tensors))


def refuse_gradients(call, is_differentiated):
    """Raises an error if there is a derivative by a value."""
    base = call.base
    for place, is_lost in zip(base.indices, base.passed(is_differentiated)):
        if is_lost:
            raise no_gradient(base.function, place)


def by_operator(call, tensors):
    """Returns the outputs of a function or of its gradients by an operator; None if there is none."""
    of = call.call if isinstance(call, Gradients) else call
    operator = operators.get(call.name)
    if not isinstance(of, Call) or operator is None:
        return None
    given = iter(tensors)
    arguments = [
        next(given) if place in of.function.places and argument is not None else argument
        for place, argument in enumerate(of.arguments)
    ]
    for place in of.indices:
        arguments[place] = next(given)
    arguments = with_numbers(call.name, folded(of.function, arguments))
    if call is of:
        outputs, lengths = unreturned(call.function, operated(call.name, arguments))
        call.set_lengths(lengths)
        return tuple(outputs)
    gradients = getattr(getattr(torch.ops, operator.namespace), f"{operator._opname}_gradients")
    needed = of.drop(call.needed)
    found = iter(gradients(*arguments, list(given), call.given, needed))
    return tuple(of.pad([next(found) if is_needed else None for is_needed in needed]))


def mapped(call, tensors, axes, count, run):
    """Returns the outputs for `count` examples, which are along an axis of each tensor, or None if it is the same for
    all; and the axes of examples of the outputs.
    """
    if can_broadcast(call.base, axes):
        return broadcast(call, tensors, axes, count, run)
    if count == 0:
        return of_no_examples(call, tensors, axes)

    def example(index):
        pairs = zip(tensors, axes)
        return run(call, [x if axis is None else x.select(axis, index) for x, axis in pairs])

    examples = zip(*[example(index) for index in range(count)])
    outputs = [joined(call.name, each) for each in examples]
    return tuple(outputs), tuple(0 if isinstance(output, torch.Tensor) else None for output in outputs)


def of_no_examples(call, tensors, axes):
    """Returns the outputs for no examples, of the shapes that the function declares."""
    one = [x if axis is None else x.new_empty(x.shape[:axis] + x.shape[axis + 1 :]) for x, axis in zip(tensors, axes)]
    base = call.base
    for place in range(base.count, base.count + len(base.indices)):
        if axes[place] is not None and one[place].ndim == 0:
            one[place] = None  # There is no number.
    known = kinds_of_outputs(call, one)
    if known is None:
        raise ValueError(f"{call.name}: vmap of an empty batch, so the shapes of the outputs are unknown")
    # Each output depends on all tensors, as it does for other batches.
    zero = sum(x.sum() for x in tensors if x.is_floating_point())
    found = [kind and torch.zeros((0, *kind[0]), dtype=getattr(torch, kind[1])) for kind in known]
    found = [x + zero if x is not None and x.is_floating_point() else x for x in found]
    return tuple(found), tuple(None if x is None else 0 for x in found)


def kinds_of_outputs(call, tensors):
    """Returns the shape and the element type of each output of a call, None for a gradient that is not needed; None if only
    a run can show them.
    """
    if isinstance(call, Gradients):
        inputs = zip(tensors[: call.inputs], call.needed)
        return [(x.shape, dtype(x)) if is_needed else None for x, is_needed in inputs]
    if isinstance(call, Tangents):
        found, kinds = kinds_of_outputs(call.call, tensors[: len(call.direction)]), call.call.differentiable
        return found and [*found, *(one for one, kind in zip(found, kinds) if kind is not None)]
    if not {kind for kind, _ in call.function.stubs[1]} <= {"Array", "IndexArray"}:
        return None
    values = list(call.arguments)
    for place, value in zip(call.indices, call.passed(tensors)):
        values[place] = value
    call, tensors = Call(call.function, values), tensors[: call.count]
    return of_outputs(call, tensors, dtype, torch.broadcast_shapes, torch._check_value)


def can_broadcast(call, axes):
    """Returns whether examples are another axis of elements: not if a value has an entry for each element, or if it is a
    number of each example, which the function takes once. `axes` are those of the arrays.
    """
    function = call.function
    if not (function.elementwise or function.scan):
        return False
    if any(axis is not None for axis in call.passed(axes)):
        return False
    kinds = [kind for place, kind in enumerate(function.stubs[0]) if place not in function.places]
    return {kind.removesuffix(" | None") for kind in kinds} <= {"bool", "float", "int", "str"}


def broadcast(call, tensors, axes, count, run):
    """Returns the outputs of an elementwise function or of a scan by one call, in which examples are the first axis but
    for that of steps. Tensors for numbers are passed as they are.
    """
    base = call.base
    passed, tensors, axes = base.passed(tensors), base.drop(tensors), base.drop(axes)
    rows, steps = call.rows[0], call.steps[0]
    # The number of axes without those of examples, of steps and of rows.
    ranks = [
        x.ndim - (axis is not None) - has_steps - (row is not None)
        for x, axis, row, has_steps in zip(tensors, axes, rows, steps)
    ]
    most = max(ranks[: base.count])
    # Derivatives have the shapes of tensors and outputs, and so these have the axis of examples.
    is_plain = isinstance(call, Call)
    aligned, shapes = [], []
    for x, axis, rank, has_steps in zip(tensors, axes, ranks, steps):
        if axis is not None:
            x = x.movedim(axis, int(has_steps))
        elif not is_plain:
            x = x.unsqueeze(int(has_steps)).expand(*x.shape[:has_steps], count, *x.shape[has_steps:])
        shapes.append(x.shape)
        if axis is not None or not is_plain:
            before = has_steps + 1
            x = x.reshape(*x.shape[:before], *[1] * (most - rank), *x.shape[before:])
        aligned.append(x)
    found, steps = run(call, [*aligned[: base.count], *passed, *aligned[base.count :]]), call.steps[1]
    if isinstance(call, Gradients):
        shapes, steps = base.pad(shapes), base.pad(steps)
        found = [grad if grad is None else grad.reshape(shape) for grad, shape in zip(found, shapes)]
    return tuple(found), tuple(None if output is None else int(has_steps) for output, has_steps in zip(found, steps))


def of_gradients(call, tensors):
    """Returns the outputs of a call for the gradients of `is_grads_batched` and `vectorize`, which PyTorch maps in an
    older way: its tensors hide an axis.
    """
    # The depth of the maps is known from that of the next one.
    depth = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    axes = [0 if is_mapped(x) else None for x in tensors]
    tensors = [x if axis is None else torch._remove_batch_dim(x, depth, 1, 0) for x, axis in zip(tensors, axes)]
    count = next(len(x) for x, axis in zip(tensors, axes) if axis == 0)
    outputs, axes = mapped(call, tensors, axes, count, outputs_of)
    # Forward mode needs this axis first in memory too.
    outputs = [x if axis is None else x.movedim(axis, 0).contiguous() for x, axis in zip(outputs, axes)]
    return tuple(x if axis is None else torch._add_batch_dim(x, 0, depth) for x, axis in zip(outputs, axes))


def with_indices(call, tensors):
    """Returns the call and its tensors such that arrays of indices are among them, for those that a transform maps."""
    places = [
        place
        for place, argument in enumerate(call.arguments)
        if place not in call.function.places and isinstance(argument, torch.Tensor)
    ]
    values = tuple(place in places or argument for place, argument in enumerate(call.arguments))
    return Call(call.function, values, places), [*tensors, *(call.arguments[place] for place in places)]


def joined(name, examples):
    """Returns one output of all examples."""
    if all(isinstance(example, torch.Tensor) for example in examples):
        return torch.stack(examples)
    # A value that is not a tensor cannot have one element for each example.
    if any(isinstance(example, torch.Tensor) or example != examples[0] for example in examples):
        raise ValueError(f"{name}: under vmap, an output that is not a tensor must be the same for all examples")
    return examples[0]
