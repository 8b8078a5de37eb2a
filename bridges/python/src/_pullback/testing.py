"""Checks of functions in the frameworks that are installed, for the tests of their author.

    diffops.testing.check(diffops.squash, numpy.linspace(-2, 2, 6).reshape(2, 3), numpy.ones((2, 1)))
"""

import importlib.util
import sys
import warnings

import numpy

from .call import folded, operators, unreturned
from .dispatch import bound, functions


def check(function, /, *arguments, estimated=(), **keywords):
    """Checks the outputs and all derivatives of a function at these arguments: arrays of NumPy, and values.

    `estimated` names arguments whose gradients are estimates, as those of a straight-through function: they are not
    compared with derivatives.

    In PyTorch, runs `gradcheck` and, if the function is twice differentiable, `gradgradcheck`, both also for gradients
    that are undefined or batched and for forward mode; and `opcheck` of the operators. In JAX, runs `check_grads` for
    the same modes, eagerly and in `jit`. Choose arguments at which the function is smooth.
    """
    function, arguments = bound(function, arguments, keywords)
    places = compared(function, arguments, estimated)
    if importlib.util.find_spec("torch"):
        check_torch(function, arguments, places)
    if importlib.util.find_spec("jax"):
        check_jax(function, arguments, places)


def check_all(cases, estimated={}):
    """Checks all functions of the module at the arguments in `cases`, by the names of the functions. `estimated` has, by
    these names too, what `check` does not compare.
    """
    missing = functions.keys() - cases.keys()
    if missing:
        raise AssertionError(f"no arguments for {', '.join(sorted(missing))}")
    for name, arguments in cases.items():
        check(wrapper(name), *arguments, estimated=estimated.get(name, ()))


def wrapper(name):
    """Returns the function of the module."""
    return getattr(sys.modules[__package__.rpartition(".")[0]], name)


def differentiable(function, arguments):
    """Returns the places of the arguments that have gradients."""
    pairs = zip(function.places, function.has_gradient)
    return [place for place, has_gradient in pairs if has_gradient and arguments[place] is not None]


def compared(function, arguments, estimated):
    """Returns the places of the arguments whose gradients are the derivatives: all but the estimated ones."""
    names = {place: function.arguments[place].partition("[")[0] for place in differentiable(function, arguments)}
    for name in estimated:
        if name not in names.values():
            raise ValueError(f"{function.name}: `estimated` names `{name}`, which is not an argument with a gradient")
    return [place for place, name in names.items() if name not in estimated]


def has_order(function, order):
    return function.order is None or function.order >= order


def check_torch(function, arguments, places):
    import torch
    from torch.autograd import gradcheck, gradgradcheck

    tensors = [torch.from_numpy(x.copy()) if isinstance(x, numpy.ndarray) else x for x in arguments]
    for place in differentiable(function, arguments):
        tensors[place].requires_grad_()
    call = wrapper(function.name)

    def floats(*inputs):
        given = list(tensors)
        for place, x in zip(places, inputs):
            given[place] = x
        outputs, _ = unreturned(function, call(*folded(function, given)))
        return tuple(output for output in outputs if isinstance(output, torch.Tensor) and output.is_floating_point())

    inputs = [tensors[place] for place in places]
    is_single = any(x.dtype == torch.float32 for x in inputs)
    kinds = {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2} if is_single else {}
    kinds |= {"check_undefined_grad": True, "check_batched_grad": True}
    has_forward_mode = function.forward_mode or has_order(function, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A list may be empty.
        if inputs and floats(*inputs):
            forward = {"check_forward_ad": has_forward_mode, "check_batched_forward_grad": has_forward_mode}
            gradcheck(floats, inputs, **kinds, **forward)
            if has_order(function, 2):
                has_forward_mode = function.forward_mode or has_order(function, 3)
                gradgradcheck(floats, inputs, check_fwd_over_rev=has_forward_mode, check_rev_over_rev=True, **kinds)
        operator = operators[function.name]
        if operator is not None:
            torch.library.opcheck(operator, tuple(folded(function, tensors)))


def check_jax(function, arguments, places):
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    if not places:
        return
    call = wrapper(function.name)

    def floats(*inputs):
        given = list(arguments)
        for place in function.places:
            given[place] = None if given[place] is None else jnp.asarray(given[place])
        for place, x in zip(places, inputs):
            # JAX's numerical derivatives pass arrays of NumPy.
            given[place] = jnp.asarray(x)
        outputs, _ = unreturned(function, call(*folded(function, given)))
        return tuple(x for x in outputs if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jnp.floating))

    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    with enable_x64(True):
        inputs = tuple(jnp.asarray(arguments[place]) for place in places)
        if not floats(*inputs):
            return
        for run in (floats, jax.jit(floats)):
            check_grads(run, inputs, order=2 if has_order(function, 2) else 1, modes=["rev"])
            if function.forward_mode or has_order(function, 2):
                check_grads(run, inputs, order=1, modes=["fwd"])
