"""Functions of the module under the transforms of `torch.func`, of any order of differentiation.

What a transform passes in and out are its own tensors, and only the innermost call sees numbers. So nothing that a run
saved is kept for its gradient, which runs the function again.
"""

import torch

arrays_of = file("torch")["arrays_of"]
undisturbed = file("torch")["undisturbed"]


class Node(torch.autograd.Function):
    jvp = staticmethod(file("torch")["no_forward_mode"])

    @staticmethod
    def forward(run, *tensors):
        outputs = run(arrays_of(run, tensors), [False] * len(tensors))[1]
        return tuple(torch.from_numpy(output) if hasattr(output, "dtype") else output for output in outputs)

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.run, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        constant = [output for output, kind in zip(outputs, ctx.run.differentiable) if not kind]
        ctx.mark_non_differentiable(*[output for output in constant if isinstance(output, torch.Tensor)])

    @staticmethod
    @undisturbed
    def backward(ctx, *grads):
        tensors = ctx.saved_tensors
        grads = [grad for grad, kind in zip(grads, ctx.run.differentiable) if kind is not None]
        run, tensors = gradients_of(ctx.run, tensors, grads, ctx.needs_input_grad[1:])
        return None, *Node.apply(run, *tensors)

    @staticmethod
    def vmap(info, in_dims, run, *tensors):
        def example(index):
            pairs = zip(tensors, in_dims[1:])
            return Node.apply(run, *[x if axis is None else x.select(axis, index) for x, axis in pairs])

        if info.batch_size == 0:
            raise ValueError(f"{run.name}: vmap of no examples, whose outputs have no known shape")
        examples = zip(*[example(index) for index in range(info.batch_size)])
        outputs = [joined(run.name, each) for each in examples]
        return tuple(outputs), tuple(0 if isinstance(output, torch.Tensor) else None for output in outputs)


def joined(name, examples):
    """One output of all examples."""
    if all(isinstance(example, torch.Tensor) for example in examples):
        return torch.stack(examples)
    # What is no tensor cannot be one of each example.
    if any(isinstance(example, torch.Tensor) or example != examples[0] for example in examples):
        raise ValueError(f"{name}: under vmap, an output that is no tensor must be the same for all examples")
    return examples[0]


def apply(run, tensors):
    return returned(Node.apply(run, *tensors))
