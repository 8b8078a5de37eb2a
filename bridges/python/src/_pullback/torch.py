"""Calls in PyTorch: a `torch.autograd.Function` for each function, of any order of differentiation."""

import sys

import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch._C._autograd import _get_current_graph_task_keep_graph as keeps_graph

from . import connect
from .call import Call, Gradients, folded, gradients_of, kinds_of, operators, returned, tangents_of
from .dispatch import items, operated

# Without it, as in PyTorch 2.6, a call under such hooks keeps its recording: more memory, the same gradients.
saved_tensors_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda ignore_is_tracing: None)


def is_mapped(tensor):
    """Returns whether a tensor is a gradient of `is_grads_batched` or `vectorize`, or depends on one."""
    return tensor is not None and torch._C._functorch.is_legacy_batchedtensor(tensor)


def in_forward_mode():
    """Returns whether tensors may have tangents."""
    return forward_ad._current_level >= 0


def has_tangent(value):
    """Returns whether a tensor has a tangent, of the transform that runs or of one around it."""
    functorch = torch._C._functorch
    # Of a tensor that `vmap` maps, the transform around it shows the tangent.
    if not isinstance(value, torch.Tensor) or functorch.is_batchedtensor(value):
        return False
    if forward_ad.unpack_dual(value).tangent is not None:
        return True
    if not torch._C._are_functorch_transforms_active():
        return False
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    transform = retrieve_current_functorch_interpreter()
    if functorch.maybe_get_level(value) == transform.level():
        value = functorch.get_unwrapped(value)
    with transform.lower():
        return has_tangent(value)


def arrays_of(call, tensors):
    if torch._C._len_torch_dispatch_stack():
        check_modes(call)
    try:
        return [tensor.detach().numpy() for tensor in tensors]
    except (AttributeError, RuntimeError, TypeError):
        check(call, tensors)
        for name, tensor in zip(call.names(), tensors):
            if tensor.is_meta:
                raise ValueError(f"{call.name}: `{name}` is a meta tensor, which has no elements")
            if has_own_dispatch(tensor):
                kind = type(tensor).__name__
                raise TypeError(f"{call.name}: `{name}` is a {kind}, whose elements only its own operations can read")
        # PyTorch negates the imaginary part of a conjugate only when its elements are needed.
        return [tensor.detach().resolve_neg().numpy() for tensor in tensors]


def check_modes(call):
    """Raises an error while PyTorch traces a program: the outputs would be constants of the program."""
    modes = {type(mode).__name__ for mode in _get_current_dispatch_mode_stack()}
    if modes & {"ProxyTorchDispatchMode", "FakeTensorMode", "FunctionalTensorMode"}:
        raise NotImplementedError(
            f"{call.name}: PyTorch traces the function, and its gradients of the first order, as operators; it does not "
            "trace other derivatives"
        )


def needs_operator(tensors):
    """Returns whether PyTorch, or a type of tensors, sees operators in place of values."""
    # Operators lose tangents.
    return not in_forward_mode() and (
        torch._C._len_torch_dispatch_stack() > 0
        or any(isinstance(x, torch.Tensor) and (x.is_meta or has_own_dispatch(x)) for x in tensors)
    )


def has_own_dispatch(tensor):
    return type(tensor).__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl


def plain(grad):
    """Returns a gradient as a dense tensor without a pending negation."""
    if grad.layout is not torch.strided:
        grad = grad.to_dense()
    return grad.resolve_neg()


def along(call, kinds, tensors, tangents, run):
    """Returns the tangents of the outputs, None for those without a gradient."""
    found = tangents_of(call, kinds, tensors, tangents, run)
    if isinstance(call, Gradients):
        # A gradient that does not depend on what has a tangent: PyTorch takes no None for it.
        found = [torch.zeros_like(x) if along is None else along for x, along in zip(tensors, found)]
    found = iter(found)
    found = [kind if kind is None else (next(found), kind) for kind in kinds]
    return returned([tangent[0] if tangent and tangent[1] else None for tangent in found])


def check(call, tensors):
    """Raises an error for a tensor that cannot be an array of NumPy."""
    is_meta = any(isinstance(tensor, torch.Tensor) and tensor.is_meta for tensor in tensors)
    for name, tensor in zip(call.names(), tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{call.name}: `{name}` must be a torch.Tensor, not {type(tensor).__name__}")
        if tensor.device.type not in ("cpu", "meta"):
            raise ValueError(
                f"{call.name}: `{name}` is on {tensor.device}; the function runs on the CPU: pass `{name}.cpu()`, and "
                "its gradient is moved back"
            )
        if tensor.is_meta != is_meta:
            raise ValueError(f"{call.name}: `{name}` is on {tensor.device}, and another argument is on meta")
        if tensor.layout is not torch.strided:
            raise TypeError(f"{call.name}: `{name}` has the layout {tensor.layout}; pass `{name}.to_dense()`")
        if tensor.is_nested:
            raise TypeError(f"{call.name}: `{name}` is a nested tensor; pass one of its parts")
        if tensor.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"{call.name}: `{name}` must be float32 or float64, not {str(tensor.dtype)[6:]}")


class Node(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, recording, *tensors):
        ctx.set_materialize_grads(False)
        ctx.call = call
        if in_forward_mode():
            ctx.save_for_forward(*tensors)
        requires_grad = ctx.needs_input_grad[2:]
        arrays = arrays_of(call, tensors)
        if recording is None:
            recording, outputs, differentiable = call(arrays, requires_grad)
        else:
            recording, outputs, differentiable = call(arrays, requires_grad, recording)
        if in_forward_mode():
            differentiable = ctx.kinds = kinds_of(call, outputs)
        results = [torch.from_numpy(output) if hasattr(output, "dtype") else output for output in outputs]
        constant = [output for output, kind in zip(results, differentiable) if not kind]
        # All at once: a second call would replace the first.
        ctx.mark_non_differentiable(*[output for output in constant if isinstance(output, torch.Tensor)])
        if True in differentiable:
            # All tensors, for the edges of second derivatives. PyTorch also raises an error if a saved tensor is
            # written to before the backward.
            ctx.save_for_backward(*tensors)
            ctx.differentiable = differentiable
            # Hooks of saved tensors keep nothing, as checkpoints do, or keep it elsewhere: the function is run again on
            # the tensors that the hooks return.
            ctx.recording = recording if saved_tensors_hooks(True) is None else None
        return returned(results)

    @staticmethod
    def backward(ctx, *grads):
        return backward(ctx, ctx.saved_tensors, grads)

    @staticmethod
    def jvp(ctx, call, recording, *tangents):
        return along(ctx.call, ctx.kinds, ctx.saved_tensors, tangents, outputs_of)


class Fast(Node):
    """The node of a call that Rust has made: see `Function.fast`. It does little, as all of it counts in a small call."""

    @staticmethod
    def forward(ctx, ran, _, *tensors):
        outputs, constant, recording = ran
        # The attributes that methods of the same purpose set.
        ctx.materialize_grads = False
        ctx.to_save = tensors
        if constant:
            ctx.non_differentiable = constant
        if saved_tensors_hooks(True) is None:
            ctx.recording = recording
        else:
            ctx.recording, ctx.call_of = None, recording.call_of
        return outputs

    @staticmethod
    def backward(ctx, *grads):
        tensors, recording = ctx.saved_tensors, ctx.recording
        if recording is not None:
            found = recording.fast(tensors, grads, ctx.needs_input_grad)
            if found is not NotImplemented:
                if not keeps_graph():
                    ctx.recording = None
                return found
            ctx.call_of = recording.call_of
        function, values, ctx.differentiable = ctx.call_of
        ctx.call = Call(function, values)
        return backward(ctx, tensors, grads)


def backward(ctx, tensors, grads):
    """Returns the gradients of a node, whose saved tensors are unpacked once: a checkpoint lets them go."""
    recording = ctx.recording
    if recording is not None and not recording.holds(tensors):
        recording = None
    requires_grad = ctx.needs_input_grad[2:]
    grads = [grad for grad, kind in zip(grads, ctx.differentiable) if kind is not None]
    grads = [None if grad is None else plain(grad) for grad in grads]
    if torch._C._are_functorch_transforms_active():
        from . import transforms

        # Under `vmap`, gradients have values only in the innermost call.
        call, tensors = gradients_of(ctx.call, tensors, grads, requires_grad)
        return (None, None, *transforms.Node.apply(call, *tensors))
    if any(map(is_mapped, grads)):
        return (None, None, *outputs_of(*gradients_of(ctx.call, tensors, grads, requires_grad)))
    if recording is None:
        recording = ctx.call(arrays_of(ctx.call, tensors), requires_grad)[0]
    if not torch.is_grad_enabled() and not in_forward_mode():
        arrays = [None if grad is None else grad.numpy() for grad in grads]
        found = recording.gradients(arrays, requires_grad)
        if not keeps_graph():
            ctx.recording = None
        return (None, None, *[None if grad is None else torch.from_numpy(grad) for grad in found])
    call, tensors = gradients_of(ctx.call, tensors, grads, requires_grad)
    found = node(call.name, "Gradients").apply(call, recording, *tensors)
    return (None, None, *(found if isinstance(found, tuple) else (found,)))


nodes = {}


def node(name, suffix=""):
    """Returns the class of a function's nodes, whose name graphs and errors show."""
    key = name + suffix
    if key not in nodes:
        nodes[key] = type(key, (Node,), {})
    return nodes[key]


def connect_fast(functions):
    """Prepares `Function.fast`, if this PyTorch has what it needs."""
    eval_frame = torch._C._dynamo.eval_frame
    if not hasattr(eval_frame, "get_eval_frame_callback"):
        return
    # Each returns whether something is active that has to see a call.
    modes = [
        torch._C._are_functorch_transforms_active,
        torch._C._len_torch_dispatch_stack,
        eval_frame.get_eval_frame_callback,
    ]
    connect(torch, modes)
    for name, function in functions.items():
        of_function = type(name, (Fast,), {})
        # Without the frames of `Function.apply`, which sees to transforms, …
        function.connect(super(torch.autograd.Function, of_function).apply)
        # … and of the method that looks for `backward`.
        of_function._backward_cls.apply = Fast.backward


def untraced(function):
    """Returns the function such that `torch.compile` traces neither into it nor into its calls."""
    disabled = None

    def call(*arguments):
        nonlocal disabled
        # `torch.compiler.disable` would import the compiler.
        if disabled is None and "torch._dynamo" in sys.modules:
            disabled = torch.compiler.disable(function)
        return (disabled or function)(*arguments)

    call._torchdynamo_disable = True
    return call


def no_gradient(function, place):
    """Returns the error for a value with a derivative that would be lost."""
    name = function.arguments[place]
    return TypeError(
        f"{function.name}: `{name}` is a value, which has no gradient, and was given a tensor that is differentiated; pass "
        f"`{name}.detach()`"
    )


@untraced
def apply(call, tensors):
    if in_forward_mode():
        for place, argument in enumerate(call.arguments):
            if place not in call.function.places and any(map(has_tangent, items([argument]))):
                raise no_gradient(call.function, place)
    if torch._C._are_functorch_transforms_active():
        from . import transforms

        call, tensors = transforms.with_indices(call, tensors)
        return call.returned(transforms.Node.apply(call, *tensors))
    if needs_operator(tensors) and operators.get(call.name) is not None:
        return operated(call.name, folded(call.function, call.arguments))
    return call.returned(node(call.name).apply(call, None, *tensors))


def outputs_of(call, tensors):
    """Returns the outputs of a call as a tuple."""
    if any(map(is_mapped, tensors)):
        from . import transforms

        return transforms.of_gradients(call, tensors)
    found = node(call.name, type(call).__name__).apply(call, None, *tensors)
    return found if isinstance(found, tuple) else (found,)
