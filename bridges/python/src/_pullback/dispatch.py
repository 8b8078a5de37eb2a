"""Calls of functions by name, in the framework of their arrays, and `vjp` for NumPy."""

import inspect
import sys

import numpy

from . import after
from .call import LIST, Call, folded, lengths_of, operators, returned, unfolded

functions = {}
# What calls each on plain tensors of PyTorch.
quick = {}
# The places of arrays, the element type, and the places and names of numbers and of lists of them of each function, as what
# PyTorch 2.6 can trace.
traced = {}


def namespace():
    """Returns the namespace of the operators: the module's name, without parts that repeat the one before."""
    parts = __package__.split(".")[:-1]
    return "_".join(part for before, part in zip(["", *parts], parts) if part != before)


def is_traced():
    """Returns whether PyTorch's compiler reads the calls: see `define_operators`."""
    return False


def quick_of(function):
    """Returns what calls a function on plain tensors of PyTorch, or returns `NotImplemented`."""

    def of_lists(arguments):
        of, arguments = unfolded(function, arguments)
        return of.fast(arguments)

    return of_lists if function.lists else function.fast


def define_operators():
    import torch

    from .operator import define
    from .torch import connect_fast

    global is_traced
    # The compiler takes it to be true.
    is_traced = torch.compiler.is_dynamo_compiling
    connect_fast(functions)
    operators.update((name, define(function, namespace())) for name, function in functions.items())


def register_programs():
    from . import xla  # noqa: F401


def finish():
    """Is called when `functions` has all functions of the module."""
    for name, function in functions.items():
        quick[name] = quick_of(function)
        arrays, named = tuple(function.places), enumerate(zip(function.arguments, function.stubs[0]))
        values = tuple(
            (place, argument, "tolist" if kind.startswith("Sequence") else "item")
            for place, (argument, kind) in named
            if place not in arrays and kind != "IndexArray"
        )
        traced[name] = arrays, "float32" if "float32" in function.elements else "float64", values
    after("torch", define_operators)
    after("jax", register_programs)


def has_operator(name):
    return operators.get(name) is not None


# `torch.compile` runs `has_operator` while it reads `call`.
has_operator._dynamo_marked_constant = True


def call(name, arguments):
    if not is_traced():
        found = quick[name](arguments)
        if found is not NotImplemented:
            return found
    torch = sys.modules.get("torch")
    if torch is not None:
        kinds = halves(torch, name, arguments)
        if kinds:
            return narrowed(torch, call(name, widened(torch, name, arguments)), kinds)
        is_compiling = torch.compiler.is_compiling()
        if is_compiling and not torch._C._are_functorch_transforms_active() and has_operator(name):
            if any(isinstance(argument, torch.Tensor) for argument in items(arguments)):
                return operated(name, arguments)
    function, arguments = unfolded(functions[name], arguments)
    jax = sys.modules.get("jax")
    arrays = [arguments[place] for place in function.places if arguments[place] is not None]
    for array in arrays:
        if torch is not None and isinstance(array, torch.Tensor):
            from .torch import apply

            return apply(Call(function, arguments), arrays)
    # A value too may be one that a program computes.
    if jax is not None and any(isinstance(argument, jax.Array) for argument in arguments):
        from .jax import apply

        return apply(Call(function, arguments), arrays)
    check(Call(function, arguments), arrays, "a torch.Tensor, a jax.Array or a numpy.ndarray")
    kinds = halves_of_numpy(arrays)
    _, outputs, _, lengths = function.run(arguments, widened_arrays(name, arrays, kinds), [False] * len(arrays))
    return function.returned(narrowed_arrays(outputs, kinds), lengths)


def operated(name, arguments):
    """Returns the outputs of a function by its operator. In a program that PyTorch traces, lists have the lengths of now."""
    operator, arguments = operators[name], with_numbers(name, arguments)
    if name not in lengths_of:
        return returned(operator(*arguments))
    return operator(*arguments, _lengths=list(lengths_of[name](*arguments).shape))


def with_numbers(name, arguments):
    """Returns the arguments with numbers, and lists of them, in place of tensors that an operator does not take. It is an
    error, or where the program may be in parts the end of a part, if the tensor is one that the program computes.
    """
    tensor, found = sys.modules["torch"].Tensor, list(arguments)
    for place, argument, method in traced[name][2]:
        if isinstance(found[place], tensor):
            found[place] = None if is_traced() else known(found[place])
            if found[place] is None:
                raise TypeError(
                    f"{name}: `{argument}` is a tensor, and a program that PyTorch traces needs its value; call the "
                    f"program with `{argument}.{method}()`"
                )
    return found


def known(tensor):
    """Returns the number or the list of a tensor; None while PyTorch traces what it has, and if its gradient would be lost."""
    if tensor.requires_grad:
        return None
    try:
        # `tolist` does not see that a tensor is an argument of the program.
        found = [number.item() for number in tensor] if tensor.ndim else tensor.item()
    except RuntimeError:
        return None
    return found if all(isinstance(item, (bool, int, float)) for item in items([found])) else None


settings = {"half_precision": True}


def half_precision(enabled):
    """Sets whether functions take tensors of PyTorch and arrays of NumPy of float16 and bfloat16: as float32, with
    outputs that are given back in the type of the arrays, or as float32 if it is not the type of all. It is on; off, they
    are a TypeError.
    """
    settings["half_precision"] = bool(enabled)


def items(arguments):
    """Returns the arguments with the items of lists in place of lists."""
    found = []
    for argument in arguments:
        found += argument if isinstance(argument, (list, tuple)) else [argument]
    return found


def halves(torch, name, arguments):
    """Returns the element types of the tensors, if one is of 16 bits, or of 32 under `autocast` and the function has only
    those of 64.
    """
    if not settings["half_precision"]:
        return None
    places, element, _ = traced[name]
    tensors = items([arguments[place] for place in places])
    kinds = {tensor.dtype for tensor in tensors if isinstance(tensor, torch.Tensor)}
    is_narrow = element == "float64" and torch.float32 in kinds and torch.is_autocast_enabled("cpu")
    return kinds if is_narrow or torch.float16 in kinds or torch.bfloat16 in kinds else None


def widened(torch, name, arguments):
    """Returns the arguments with tensors of 32 bits for those of 16, or with 64 bits for both if the function has only
    those.
    """
    places, element, _ = traced[name]
    kind = getattr(torch, element)
    narrow = (torch.float16, torch.bfloat16) if element == "float32" else (torch.float16, torch.bfloat16, torch.float32)

    def wide(argument):
        if isinstance(argument, (list, tuple)):
            return [wide(item) for item in argument]
        is_narrow = isinstance(argument, torch.Tensor) and argument.dtype in narrow
        return argument.to(kind) if is_narrow else argument

    return tuple(wide(argument) if place in places else argument for place, argument in enumerate(arguments))


def narrowed(torch, outputs, kinds):
    """Returns floats in the one type of the tensors, or else as float32."""
    kind = next(iter(kinds)) if len(kinds) == 1 else torch.float32

    def narrow(output):
        if isinstance(output, (list, tuple)):
            return type(output)([narrow(item) for item in output])
        is_float = isinstance(output, torch.Tensor) and output.is_floating_point()
        return output.to(kind) if is_float else output

    return narrow(outputs)


# Types of NumPy and of ml_dtypes, which adds some to NumPy.
HALVES = ("float16", "bfloat16")


def halves_of_numpy(arrays):
    """Returns the element types of arrays of NumPy, if one is of 16 bits."""
    kinds = {array.dtype for array in arrays}
    return kinds if settings["half_precision"] and any(kind.name in HALVES for kind in kinds) else None


def widened_arrays(name, arrays, kinds):
    """Does for arrays of NumPy what `widened` does for tensors."""
    if kinds is None:
        return arrays
    element = traced[name][1]
    narrow = HALVES if element == "float32" else (*HALVES, "float32")
    return [array.astype(element) if array.dtype.name in narrow else array for array in arrays]


def narrowed_arrays(outputs, kinds):
    """Does for arrays of NumPy what `narrowed` does for tensors."""
    if kinds is None:
        return outputs
    kind = next(iter(kinds)) if len(kinds) == 1 else "float32"
    is_float = [isinstance(output, numpy.ndarray) and output.dtype.kind == "f" for output in outputs]
    return [output.astype(kind) if wide else output for output, wide in zip(outputs, is_float)]


def check(call, arrays, expected):
    for array, name in zip(arrays, call.names()):
        if not isinstance(array, numpy.ndarray):
            raise TypeError(f"{call.name}: `{name}` must be {expected}, not {type(array).__name__}")


def flat_grads(function, grads, differentiable):
    """Returns the gradients of outputs, with one for each array of a list. `differentiable` has what the outputs have: None
    for an output that is not an array of floats, and a list for a list.
    """
    kinds = [differentiable] if len(function.stubs[1]) == 1 else differentiable
    kinds = [kind for kind in kinds if kind is not None]
    if len(grads) != len(kinds):
        raise TypeError(f"backward of {function.name}: {len(grads)} gradients, for {len(kinds)} outputs")
    flat = []
    for grad, kind in zip(grads, kinds):
        if not isinstance(kind, list):
            flat.append(grad)
        elif grad is None:
            flat += [None] * len(kind)
        elif isinstance(grad, (list, tuple)) and len(grad) == len(kind):
            flat += grad
        else:
            found = f"one of {len(grad)}" if isinstance(grad, (list, tuple)) else type(grad).__name__
            raise TypeError(
                f"backward of {function.name}: the gradient of a list of {len(kind)} arrays is a list of as many, not {found}"
            )
    return flat


def bound(function, arguments, keywords):
    """Returns what a call of a function of this module has for each parameter, default values too, without lists: see
    `unfolded`.
    """
    try:
        given = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}") from None
    given.apply_defaults()
    return unfolded(function.pullback, tuple(given.arguments.values()))


def output_names(function, lengths):
    """Returns the names of the outputs, with one for each array of lists of these lengths."""
    lengths, names = iter(lengths), []
    for (name, _), (stub, _) in zip(function.shapes[1], function.stubs[1]):
        names += [f"{name}[{index}]" for index in range(next(lengths))] if stub == LIST else [name]
    return names


def gradient_of_numpy(name, output, grad, output_name, is_half):
    """Returns the gradient of an output as an array of the output's type and shape; None as it is."""
    if grad is None:
        return None
    is_number = isinstance(grad, (int, float, numpy.number)) and not isinstance(grad, bool)
    found = numpy.asarray(grad, output.dtype) if is_number or (is_half and isinstance(grad, numpy.ndarray)) else grad
    kind = found.dtype.name if isinstance(found, numpy.ndarray) else type(found).__name__
    if not isinstance(found, numpy.ndarray) or found.dtype != output.dtype:
        expected = f"an array of {output.dtype}" + (" or a number" if output.ndim == 0 else "")
        raise TypeError(f"backward of {name}: the gradient of `{output_name}` must be {expected}, not {kind}")
    if found.shape != output.shape:
        shapes = f"the shape {list(output.shape)}, not {list(found.shape)}"
        raise ValueError(f"backward of {name}: the gradient of `{output_name}` must have {shapes}")
    return found


def vjp(function, /, *arguments, **keywords):
    """Calls a function of this module with arrays of NumPy. Returns its outputs, and a function from gradients of the
    outputs that are arrays of floats, a list for a list, to gradients of the arguments, None for those that are not
    arrays, and a list for a list of arrays. A gradient that is None counts as zeros; that of an output without axes may be
    a number.

        y, pull = vjp(squash, x, limit)
        grad_x, grad_limit = pull(numpy.ones_like(y))
    """
    if not hasattr(function, "pullback"):
        raise TypeError(f"vjp expects a function of a pullback module, got {function!r}")
    function, arguments = bound(function, arguments, keywords)
    arrays = [arguments[place] for place in function.places if arguments[place] is not None]
    check(Call(function, arguments), arrays, "a numpy.ndarray")
    # `pull` needs the values of now, and NumPy does not report when an array is written to.
    arrays = [array.copy() for array in arrays]
    needed = [True] * len(arrays)
    kinds = halves_of_numpy(arrays)
    widened = widened_arrays(function.name, arrays, kinds)
    recording, outputs, differentiable, lengths = function.run(arguments, widened, needed)
    outputs_with = function.returned(differentiable, lengths)
    names = output_names(function, lengths)
    floats = [(output, name) for output, name, kind in zip(outputs, names, differentiable) if kind is not None]

    def pull(*grads):
        grads = flat_grads(function, grads, outputs_with)
        grads = [
            gradient_of_numpy(function.name, output, grad, name, kinds is not None)
            for grad, (output, name) in zip(grads, floats)
        ]
        found = zip(arrays, recording.gradients(grads, needed))
        found = [numpy.zeros_like(array) if grad is None else grad.astype(array.dtype, copy=False) for array, grad in found]
        found = iter(found)
        is_array = [place in function.places and argument is not None for place, argument in enumerate(arguments)]
        grads = tuple(folded(function, [next(found) if given else None for given in is_array]))
        return grads[0] if len(grads) == 1 else grads

    return function.returned(narrowed_arrays(outputs, kinds), lengths), pull
