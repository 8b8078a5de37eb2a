"""Functions of the module in PyTorch: one `torch.autograd.Function` for each, of any order of differentiation."""

import sys

import torch
from torch._C._autograd import _get_current_graph_task_keep_graph as keeps_graph
from torch._C._autograd import _top_saved_tensors_default_hooks as saved_tensors_hooks


def arrays_of(run, tensors):
    try:
        return [tensor.detach().numpy() for tensor in tensors]
    except (AttributeError, RuntimeError, TypeError):
        check(run, tensors)
        # PyTorch may still have to change signs, of the imaginary parts of conjugates.
        return [tensor.detach().resolve_neg().numpy() for tensor in tensors]


def plain(run, grad):
    """A gradient as numbers in memory: without signs that are yet to change, and not of a few elements alone."""
    if torch._C._functorch.is_legacy_batchedtensor(grad):
        raise RuntimeError(
            f"backward of {run.name}: one gradient at a time, not those of `is_grads_batched` or `vectorize`; "
            "`torch.vmap` of `torch.autograd.grad` has many"
        )
    if grad.layout is not torch.strided:
        grad = grad.to_dense()
    return grad.resolve_neg()


def no_forward_mode(ctx, *tangents):
    raise NotImplementedError(
        f"{ctx.run.name}: forward mode does not travel; `torch.func.jacrev` and `torch.autograd.functional.jvp` take "
        "gradients alone"
    )


def check(run, tensors):
    """Says what of a tensor an array of NumPy cannot have."""
    for name, tensor in zip(run.names(), tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{run.name}: `{name}` must be a torch.Tensor, not {type(tensor).__name__}")
        if tensor.device.type != "cpu":
            raise ValueError(
                f"{run.name}: `{name}` is on {tensor.device}; the function runs on the CPU: pass `{name}.cpu()`, and "
                "the gradient goes back through it"
            )
        if tensor.layout is not torch.strided:
            raise TypeError(f"{run.name}: `{name}` has the layout {tensor.layout}; pass `{name}.to_dense()`")
        if tensor.is_nested:
            raise TypeError(f"{run.name}: `{name}` is a nested tensor; pass one of its parts")
        if tensor.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"{run.name}: `{name}` must be float32 or float64, not {str(tensor.dtype)[6:]}")


class Node(torch.autograd.Function):
    jvp = staticmethod(no_forward_mode)

    @staticmethod
    def forward(ctx, run, recording, *tensors):
        ctx.set_materialize_grads(False)
        ctx.run = run
        requires_grad = ctx.needs_input_grad[2:]
        arrays = arrays_of(run, tensors)
        if recording is None:
            recording, outputs, differentiable = run(arrays, requires_grad)
        else:
            recording, outputs, differentiable = run(arrays, requires_grad, recording)
        results = []
        for output, kind in zip(outputs, differentiable):
            if hasattr(output, "dtype"):
                output = torch.from_numpy(output)
                if not kind:
                    ctx.mark_non_differentiable(output)
            results.append(output)
        if True in differentiable:
            # All of them, for the edges of second derivatives. PyTorch also watches over what it has saved: what is
            # written to before the backward is an error.
            ctx.save_for_backward(*tensors)
            ctx.differentiable = differentiable
            # Who asks for hooks wants to keep nothing, as checkpoints do, or to keep it elsewhere: the function is run
            # again on what they give back.
            ctx.recording = recording if saved_tensors_hooks(True) is None else None
        return returned(results)

    @staticmethod
    def backward(ctx, *grads):
        tensors = ctx.saved_tensors
        requires_grad = ctx.needs_input_grad[2:]
        grads = [grad for grad, kind in zip(grads, ctx.differentiable) if kind is not None]
        grads = [None if grad is None else plain(ctx.run, grad) for grad in grads]
        if torch._C._are_functorch_transforms_active():
            # Of many gradients, as `vmap` has them, only the innermost call sees numbers.
            run, tensors = gradients_of(ctx.run, tensors, grads, requires_grad)
            return (None, None, *file("transforms")["Node"].apply(run, *tensors))
        recording = ctx.recording
        if recording is None:
            recording = ctx.run(arrays_of(ctx.run, tensors), requires_grad)[0]
        if not torch.is_grad_enabled():
            arrays = [None if grad is None else grad.numpy() for grad in grads]
            found = recording.gradients(arrays, requires_grad)
            if not keeps_graph():
                ctx.recording = None
            return (None, None, *[None if grad is None else torch.from_numpy(grad) for grad in found])
        run, tensors = gradients_of(ctx.run, tensors, grads, requires_grad)
        found = node(run.name, "Gradient").apply(run, recording, *tensors)
        return (None, None, *(found if isinstance(found, tuple) else (found,)))


nodes = {}


def node(name, suffix=""):
    """The class, whose name graphs and errors show."""
    key = name + suffix
    if key not in nodes:
        nodes[key] = type(key, (Node,), {})
    return nodes[key]


def undisturbed(function):
    """The function, into which `torch.compile` does not look, nor into what it calls."""
    disabled = None

    def call(*arguments):
        nonlocal disabled
        # To ask for it would import the compiler.
        if disabled is None and "torch._dynamo" in sys.modules:
            disabled = torch.compiler.disable(function)
        return (disabled or function)(*arguments)

    call._torchdynamo_disable = True
    return call


@undisturbed
def apply(run, tensors):
    if torch._C._are_functorch_transforms_active():
        return file("transforms")["apply"](run, tensors)
    return node(run.name).apply(run, None, *tensors)
