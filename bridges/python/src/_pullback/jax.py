"""Functions of the module in JAX: `custom_vjp` over `pure_callback`, of any order of differentiation."""

import jax
import jax.numpy as jnp
import numpy

from .call import Gradients, returned
from .shapes import of_outputs


def apply(call, arrays):
    for name, array in zip(call.names(), arrays):
        if not isinstance(array, jax.Array):
            raise TypeError(f"{call.name}: `{name}` must be a jax.Array, not {type(array).__name__}")
    return returned(lifted(call, None)(*arrays))


def lifted(call, shapes):
    """Returns a function of JAX's arrays that returns a tuple. `shapes` are the shapes of the outputs, or None."""

    def host(*arrays):
        arrays = [numpy.asarray(array) for array in arrays]
        return tuple(written(output) for output in call(arrays, [False] * len(arrays))[1])

    @jax.custom_vjp
    def function(*arrays):
        if not any(isinstance(array, jax.core.Tracer) for array in arrays):
            return tuple(jnp.asarray(output) for output in host(*arrays))
        return jax.pure_callback(host, shapes or shapes_of(arrays), *arrays, vmap_method="sequential")

    def shapes_of(arrays):
        # Errors of values are raised now, and not when the program runs.
        call.function.check_values(call.arguments)
        outputs = of_outputs(call, arrays, lambda array: array.dtype.name, jnp.broadcast_shapes, require)
        if outputs is not None:
            canonical = jax.dtypes.canonicalize_dtype
            return tuple(jax.ShapeDtypeStruct(shape, canonical(kind)) for shape, kind in outputs)
        # JAX needs shapes before there are values, and only a run of the function shows those that are not declared.
        ones = [numpy.ones(array.shape, array.dtype) for array in arrays]
        outputs = [numpy.asarray(output) for output in host(*ones)]
        return tuple(jax.ShapeDtypeStruct(output.shape, output.dtype) for output in outputs)

    def forward(*arrays):
        return function(*arrays), arrays

    def backward(arrays, grads):
        # The gradients that JAX has for integers are of another type, and are not passed on.
        grads = [grad for grad in grads if jnp.issubdtype(grad.dtype, jnp.floating)]
        gradients = Zeroed(call, len(arrays), [True] * len(grads))
        shapes = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
        return lifted(gradients, shapes)(*arrays, *grads)

    function.defvjp(forward, backward)
    return function


def require(condition, text):
    if not condition:
        raise ValueError(text())


def written(output):
    """Converts an output to a type that JAX has: of 32 bits, unless 64 are enabled."""
    array = numpy.asarray(output)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))


class Zeroed(Gradients):
    """Gradients with zeros for those that are undefined."""

    def __init__(self, call, inputs, given):
        super().__init__(call, inputs, given, [True] * inputs)

    def __call__(self, arrays, requires_grad, recording=None):
        recording, grads, differentiable = super().__call__(arrays, requires_grad, recording)
        filled = [numpy.zeros_like(array) if grad is None else grad for array, grad in zip(arrays, grads)]
        return recording, filled, differentiable
