"""Measures a call under `jax.jit`, forward and gradient, beside a handler in C++ with the same body, beside a host
callback of Python, and beside JAX's own operations. All run on one thread, in turns. Run
`python python/benches/jax_calls.py` in `bridges` after `maturin develop --release -m examples/python/Cargo.toml`; it
needs `g++`.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile

os.environ["PULLBACK_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import diffops
import numpy
from overhead import seconds


def peer():
    """Returns the function in C++, with its gradient."""
    source = pathlib.Path(__file__).with_name("squash.cc")
    library = pathlib.Path(tempfile.mkdtemp()) / "squash.so"
    include = f"-I{jax.ffi.include_dir()}"
    flags = ["-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, include, source, "-o", library], check=True)
    library = ctypes.CDLL(str(library))
    for name in ("squash", "gradient"):
        jax.ffi.register_ffi_target(f"peer_{name}", jax.ffi.pycapsule(getattr(library, name)), platform="cpu")

    @jax.custom_vjp
    def function(x, limit):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.ffi.ffi_call("peer_squash", shape, vmap_method="sequential")(x, limit)

    def backward(arrays, grad):
        shape = jax.ShapeDtypeStruct(grad.shape, grad.dtype)
        return jax.ffi.ffi_call("peer_gradient", shape, vmap_method="sequential")(*arrays, grad), jnp.zeros(1)

    function.defvjp(lambda *arrays: (function(*arrays), arrays), backward)
    return function


def callback(function):
    """Returns the function, and its gradient for the first argument, as callbacks of the host, which hold Python's lock."""

    def host(*arrays):
        return function(*[numpy.asarray(array) for array in arrays])

    def host_gradient(x, limit, grad):
        return diffops.vjp(function, numpy.asarray(x), numpy.asarray(limit))[1](numpy.asarray(grad))[0]

    @jax.custom_vjp
    def called(*arrays):
        shape = jax.ShapeDtypeStruct(jnp.broadcast_shapes(*[array.shape for array in arrays]), arrays[0].dtype)
        return jax.pure_callback(host, shape, *arrays, vmap_method="sequential")

    def backward(arrays, grad):
        shape = jax.ShapeDtypeStruct(grad.shape, grad.dtype)
        return jax.pure_callback(host_gradient, shape, *arrays, grad, vmap_method="sequential"), jnp.zeros(1)

    called.defvjp(lambda *arrays: (called(*arrays), arrays), backward)
    return called


def squash(x, limit):
    return x / jnp.sqrt(1 + (x / limit) ** 2)


def timed(function, *arguments):
    function = jax.jit(function)
    return lambda: jax.block_until_ready(function(*arguments))


def row(name, repeats, wrap, functions, *arguments):
    times = seconds(repeats, *[timed(wrap(function), *arguments) for function in functions], times=9)
    print(f"{name:28}" + "".join(f"{time * 1e6:12.1f}" for time in times), flush=True)


def main():
    functions = [diffops.squash, peer(), callback(diffops.squash), squash]
    print(f"{'us':28}" + "".join(f"{name:>12}" for name in ("here", "in C++", "callback", "jnp")))
    limit = jnp.asarray([1.5], "float32")
    for size, repeats in ((1, 1000), (1000, 1000), (1_000_000, 20)):
        x = jnp.linspace(-5, 5, size, dtype="float32")
        row(f"{size} elements", repeats, lambda f: f, functions, x, limit)
        row(f"{size} elements, gradient", repeats, lambda f: jax.grad(lambda x, limit: f(x, limit).sum()), functions, x, limit)
    x = jnp.linspace(-5, 5, 16_000, dtype="float32").reshape(1000, 16)
    row("vmap, 1000 examples of 16", 20, lambda f: jax.vmap(f, (0, None)), functions, x, limit)
    # A function that is not elementwise, which a program calls for each example.
    own, of_python = diffops.Exp, callback(lambda x: diffops.Exp(x))
    row("vmap, a loop in Rust", 20, jax.vmap, [own, jnp.exp, of_python, jnp.exp], x)


if __name__ == "__main__":
    main()
