"""Calls under the transforms of `torch.func`, of any order of differentiation.

A transform passes tensors of its own, and only the innermost call gets values. So no recording is kept for the
gradient, which runs the function again.
"""

import torch

from .call import gradients_of
from .torch import along, arrays_of, untraced


class Node(torch.autograd.Function):
    @staticmethod
    def forward(call, *tensors):
        outputs = call(arrays_of(call, tensors), [False] * len(tensors))[1]
        return tuple(torch.from_numpy(output) if hasattr(output, "dtype") else output for output in outputs)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.call, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        constant = [output for output, kind in zip(outputs, ctx.call.differentiable) if not kind]
        ctx.mark_non_differentiable(*[output for output in constant if isinstance(output, torch.Tensor)])

    @staticmethod
    @untraced
    def backward(ctx, *grads):
        tensors = ctx.saved_tensors
        grads = [grad for grad, kind in zip(grads, ctx.call.differentiable) if kind is not None]
        call, tensors = gradients_of(ctx.call, tensors, grads, ctx.needs_input_grad[1:])
        return None, *Node.apply(call, *tensors)

    @staticmethod
    @untraced
    def jvp(ctx, call, *tangents):
        return along(ctx.call, ctx.saved_tensors, tangents, lambda call, tensors: Node.apply(call, *tensors))

    @staticmethod
    def vmap(info, in_dims, call, *tensors):
        def example(index):
            pairs = zip(tensors, in_dims[1:])
            return Node.apply(call, *[x if axis is None else x.select(axis, index) for x, axis in pairs])

        if info.batch_size == 0:
            raise ValueError(f"{call.name}: vmap of an empty batch, so the shapes of the outputs are unknown")
        examples = zip(*[example(index) for index in range(info.batch_size)])
        outputs = [joined(call.name, each) for each in examples]
        return tuple(outputs), tuple(0 if isinstance(output, torch.Tensor) else None for output in outputs)


def joined(name, examples):
    """Returns one output of all examples."""
    if all(isinstance(example, torch.Tensor) for example in examples):
        return torch.stack(examples)
    # A value that is not a tensor cannot have one element for each example.
    if any(isinstance(example, torch.Tensor) or example != examples[0] for example in examples):
        raise ValueError(f"{name}: under vmap, an output that is not a tensor must be the same for all examples")
    return examples[0]
