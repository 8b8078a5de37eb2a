"""Squash in JAX: a loss, and its gradients by two arrays."""

import jax
import jax.numpy as jnp
import diffops

jax.config.update("jax_enable_x64", True)


@jax.jit
def loss(x, limit):
    return (diffops.squash(x, limit) ** 2).sum()


x, limit = (jnp.arange(100) - 50) / 10, jnp.array([1.5])
value, (grad_x, grad_limit) = jax.value_and_grad(loss, (0, 1))(x, limit)
print(f"loss {value:.16e}")
print(f"grad x: {jnp.abs(grad_x).sum():.16e}")
print(f"grad limit: {jnp.abs(grad_limit).sum():.16e}")
