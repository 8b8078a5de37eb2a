"""Writes python.safetensors with Python's safetensors 0.8.0 and numpy: see README.md."""

import sys

import numpy
from safetensors.numpy import save_file

tensors = {
    "layers.0.weight": numpy.array([[1, 2.5, -3], [float("inf"), -0.0, 1e-45]], dtype=numpy.float32),
    "layers.0.bias": numpy.array([0.1, 0.2], dtype=numpy.float64),
    "scale": numpy.array(7, dtype=numpy.float32),
    "empty": numpy.zeros((0, 3), dtype=numpy.float32),
    "naïve \"name\"\n": numpy.array([1], dtype=numpy.float64),
}
save_file(tensors, sys.argv[1], {"format": "np", "tied": "scale", "note": "schön"})
