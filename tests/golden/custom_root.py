"""Writes custom_root.json: solutions of equations and their derivatives, by JAX's `custom_root`.

python custom_root.py > custom_root.json        (JAX 0.10.2)
"""

import json

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

jax.config.update("jax_enable_x64", True)


def numbers(x):
    return {"shape": list(x.shape), "data": [float(v) for v in x.reshape(-1)]}


def newton(f, x, steps=60):
    """The zero of `f` of a flat array."""
    for _ in range(steps):
        x = x - jnp.linalg.solve(jax.jacobian(f)(x), f(x))
    return x


def tangent_solve(g, y):
    """The x with g(x) = y, for the linear g of a tree."""
    flat, unflatten = ravel_pytree(y)

    def flat_g(x):
        return ravel_pytree(g(unflatten(x)))[0]

    return unflatten(jnp.linalg.solve(jax.jacobian(flat_g)(flat), flat))


def root(residual, start):
    """The tree of unknowns, as a function of the inputs."""
    flat, unflatten = ravel_pytree(start)

    def solve(f, _):
        return unflatten(newton(lambda x: ravel_pytree(f(unflatten(x)))[0], flat))

    def function(*inputs):
        return jax.lax.custom_root(lambda y: residual(y, *inputs), start, solve, tangent_solve)

    return function


def case(name, function, **inputs):
    """Stores the solution, the gradients for a gradient of it, and those of half the sum of their squares."""
    inputs = {name: jnp.asarray(value) for name, value in inputs.items()}
    values = tuple(inputs.values())
    every = tuple(range(len(values)))
    output = function(*values)
    upstream = jnp.sin(1.0 + jnp.arange(output.size, dtype=output.dtype)).reshape(output.shape)
    gradients = jax.grad(lambda *values: jnp.sum(upstream * function(*values)), every)

    def again(*values):
        return 0.5 * sum(jnp.sum(gradient**2) for gradient in gradients(*values))

    return {
        "name": name,
        "inputs": [numbers(value) for value in values],
        "output": numbers(output),
        "upstream": numbers(upstream),
        "grads": [numbers(gradient) for gradient in gradients(*values)],
        "second": [numbers(gradient) for gradient in jax.grad(again, every)(*values)],
    }


def kepler(anomaly, mean, eccentricity):
    return anomaly - eccentricity * jnp.sin(anomaly) - mean


def sylvester(x, a, b, c):
    return a @ x + x @ b - c


def steady_state(state, rates, feed):
    a, b = state
    flow = rates[0] * a**2 - rates[1] * b
    return jnp.stack([(feed[0] - a) * 0.4 - 2 * flow, flow - b * 0.4])


def equilibrium(z, x, w):
    return jnp.tanh(z @ w + x) - z


def quadratic(unknowns, q, c, a, b):
    x, multipliers = unknowns
    return (q + q.T) @ x * 0.5 + c + a.T @ multipliers, a @ x - b


def wave(*shape):
    """Numbers between -1 and 1."""
    return jnp.sin(3.0 + 2.0 * jnp.arange(float(jnp.prod(jnp.array(shape))))).reshape(shape)


CASES = [
    case(
        "kepler",
        root(kepler, jnp.array([0.3, 1.5, 2.9])),
        mean=[0.3, 1.5, 2.9],
        eccentricity=[0.1, 0.6, 0.9],
    ),
    case(
        "sylvester",
        root(sylvester, jnp.zeros((3, 2))),
        a=[[3.0, 0.2, 0.1], [-0.4, 2.5, 0.3], [0.0, 0.6, 2.0]],
        b=[[1.0, -0.5], [0.3, 1.5]],
        c=[[1.0, 2.0], [-1.0, 0.5], [0.7, -0.2]],
    ),
    case(
        "steady_state",
        root(steady_state, jnp.array([2.0, 0.0])),
        rates=[1.3, 0.6],
        feed=[2.0],
    ),
    case("equilibrium", root(equilibrium, jnp.zeros((3, 4))), x=wave(3, 4), w=0.3 * wave(4, 4)),
    case(
        "quadratic",
        lambda *inputs: root(quadratic, (jnp.zeros(3), jnp.zeros(2)))(*inputs)[0],
        q=[[2.0, 0.3, -0.4], [0.1, 1.7, 0.2], [0.5, -0.3, 2.3]],
        c=[0.4, -1.0, 0.7],
        a=[[1.0, 0.5, -0.3], [0.2, -1.1, 0.8]],
        b=[0.9, -0.2],
    ),
]
print("[", ",\n".join(map(json.dumps, CASES)), "]", sep="\n")
