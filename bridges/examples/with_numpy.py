"""Squash on arrays of NumPy: a loss, and its gradients by two arrays."""

import diffops
import numpy

x, limit = (numpy.arange(100) - 50) / 10, numpy.array([1.5])
y, pull = diffops.vjp(diffops.squash, x, limit)
grad_x, grad_limit = pull(2 * y)
print(f"loss {(y**2).sum():.16e}")
print(f"grad x: {abs(grad_x).sum():.16e}")
print(f"grad limit: {abs(grad_limit).sum():.16e}")
