"""The functions of `examples/python` in JAX."""

import jax
import jax.numpy as jnp
import diffops
import numpy
import pytest
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)


def squash(x, limit):
    return x / jnp.sqrt(1 + (x / limit) ** 2)


def arrays(seed, shape=(3, 4)):
    random = numpy.random.default_rng(seed)
    return jnp.asarray(random.uniform(-2, 2, shape)), jnp.asarray(random.uniform(0.5, 2, (shape[0], 1)))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize("seed", range(20))
def test_values_and_gradients_are_those_of_jax(wrap, seed):
    x, limit = arrays(seed)
    numpy.testing.assert_allclose(wrap(diffops.squash)(x, limit), squash(x, limit), rtol=1e-14)
    ours, theirs = (
        wrap(jax.grad(lambda x, limit: (f(x, limit) ** 2).sum(), (0, 1)))(x, limit) for f in (diffops.squash, squash)
    )
    for one, other in zip(ours, theirs):
        numpy.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_numbers_and_rows_broadcast(wrap):
    x, _ = arrays(2)
    for limit in (jnp.asarray(1.5), jnp.asarray([0.5, 1.0, 1.5, 2.0])):
        ours, theirs = (
            wrap(jax.value_and_grad(lambda x, limit: f(x, limit).sum(), (0, 1)))(x, limit) for f in (diffops.squash, squash)
        )
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
            numpy.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ValueError, match="broadcast"):
        wrap(diffops.squash)(x, jnp.ones(3))


def test_second_derivatives():
    x, limit = arrays(0)
    check_grads(diffops.squash, (x, limit), order=2, modes=["rev"])
    check_grads(diffops.polar, (x, x + 5), order=2, modes=["rev"])

    def second(f):
        return jax.jit(jax.grad(lambda x: jax.grad(lambda x: f(x, limit).sum())(x).sum()))(x)

    numpy.testing.assert_allclose(second(diffops.squash), second(squash), rtol=1e-12)


def test_vmap_is_a_loop():
    x, limit = arrays(1)
    numpy.testing.assert_allclose(jax.vmap(diffops.squash)(x, limit), squash(x, limit), rtol=1e-14)


def test_outputs_and_values_of_every_kind():
    x = jnp.asarray([3.0, 1.0, 2.0])
    for wrap in (lambda f: f, jax.jit):
        distances, place = wrap(diffops.above_smallest)(x)
        assert distances.tolist() == [2, 0, 1] and place == 1
    assert jax.grad(lambda x: (diffops.above_smallest(x)[0] ** 2).sum())(x).tolist() == [4, -6, 2]
    doubled = jax.jit(lambda x: diffops.MulConstant(x, constant=2.0))(x[None])
    assert doubled.tolist() == [[6, 2, 4]]
    a, w, b = jnp.ones((5, 4), "float32"), jnp.ones((3, 4), "float32"), jnp.ones(3, "float32")
    assert diffops.linear(a, w).tolist() == (diffops.linear(a, w, b) - 1).tolist()
    grads = jax.jit(jax.grad(lambda *inputs: diffops.linear(*inputs).sum(), (0, 1, 2)))(a, w, b)
    assert [grad.shape for grad in grads] == [a.shape, w.shape, b.shape]


def test_mistakes_are_errors_in_the_words_of_the_function():
    a, w = jnp.ones((5, 4), "float32"), jnp.ones((3, 4), "float32")
    with pytest.raises(TypeError, match="linear: `weight` must be float32, not float64"):
        diffops.linear(a, w.astype("float64"))
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(ValueError, match=r"linear of input \[5, 4\], weight \[4, 3\]"):
            wrap(diffops.linear)(a, w.T)
    x = jnp.ones((2, 3))
    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(TypeError, match="squash: `limit` must be float64, not float32"):
            wrap(diffops.squash)(x, x.astype("float32"))
        with pytest.raises(TypeError, match="squash: `x` must be float32 or float64, not int64"):
            wrap(diffops.squash)(jnp.arange(3), x)
    # Values are no arrays of JAX.
    with pytest.raises(TypeError, match="pick: `places`: .* traced array"):
        jax.jit(diffops.pick)(x[0], jnp.asarray([0, 1]))
    with pytest.raises(TypeError, match="MulConstant: `constant`: Abstract tracer"):
        jax.grad(lambda constant: diffops.MulConstant(x, constant).sum())(2.0)
    with pytest.raises(TypeError, match="linear: `weight` must be a jax.Array, not ndarray"):
        diffops.linear(a, numpy.ones((3, 4), "float32"))
    with pytest.raises(RuntimeError, match="the gradient of `linear` cannot be differentiated again"):
        jax.grad(lambda a: jax.grad(lambda a: diffops.linear(a, w).sum())(a).sum())(a)
