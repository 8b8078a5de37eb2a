"""Functions of the module in JAX: `custom_vjp` over `pure_callback`, of any order of differentiation."""

import jax
import jax.numpy as jnp
import numpy


def apply(run, arrays):
    for name, array in zip(run.names(), arrays):
        if not isinstance(array, jax.Array):
            raise TypeError(f"{run.name}: `{name}` must be a jax.Array, not {type(array).__name__}")
    return returned(lifted(run, None)(*arrays))


def lifted(run, shapes):
    """A function of arrays of JAX that returns a tuple. `shapes` are those of the outputs, if they are known."""

    def host(*arrays):
        arrays = [numpy.asarray(array) for array in arrays]
        return tuple(written(output) for output in run(arrays, [False] * len(arrays))[1])

    @jax.custom_vjp
    def function(*arrays):
        if not any(isinstance(array, jax.core.Tracer) for array in arrays):
            return tuple(jnp.asarray(output) for output in host(*arrays))
        return jax.pure_callback(host, shapes or shapes_of(arrays), *arrays, vmap_method="sequential")

    def shapes_of(arrays):
        if run.function.elementwise:
            shape = jnp.broadcast_shapes(*[array.shape for array in arrays])
            # What is wrong with their types is said here, and not when the program runs: it runs on no element.
            host(*[numpy.empty(0, array.dtype) for array in arrays])
            return tuple(jax.ShapeDtypeStruct(shape, arrays[0].dtype) for _ in run.function.stubs[1])
        # JAX asks before there are numbers. What a function returns is known when it has been run.
        ones = [numpy.ones(array.shape, array.dtype) for array in arrays]
        outputs = [numpy.asarray(output) for output in host(*ones)]
        return tuple(jax.ShapeDtypeStruct(output.shape, output.dtype) for output in outputs)

    def forward(*arrays):
        return function(*arrays), arrays

    def backward(arrays, grads):
        # Whole numbers have gradients of a type of their own, and none here.
        grads = [grad for grad in grads if jnp.issubdtype(grad.dtype, jnp.floating)]
        gradients = Zeroed(run, len(arrays), [True] * len(grads))
        shapes = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)
        return lifted(gradients, shapes)(*arrays, *grads)

    function.defvjp(forward, backward)
    return function


def written(output):
    """Python's numbers as JAX has them: of 32 bits, unless it is told otherwise."""
    array = numpy.asarray(output)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype))


class Zeroed(Gradients):
    """Gradients that did not arrive are zeros."""

    def __init__(self, run, inputs, given):
        super().__init__(run, inputs, given, [True] * inputs)

    def __call__(self, arrays, requires_grad, recording=None):
        recording, grads, differentiable = super().__call__(arrays, requires_grad, recording)
        filled = [numpy.zeros_like(array) if grad is None else grad for array, grad in zip(arrays, grads)]
        return recording, filled, differentiable
