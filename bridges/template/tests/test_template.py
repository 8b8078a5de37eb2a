"""Compares the functions with NumPy, and their gradients with finite differences."""

import numpy
import template


def test_values_are_those_of_numpy():
    x, limit, w = numpy.linspace(-2, 2, 6).reshape(2, 3), numpy.full((1, 3), 1.5), numpy.ones((3, 4))
    numpy.testing.assert_allclose(template.squash(x, limit), x / numpy.sqrt(1 + (x / limit) ** 2))
    numpy.testing.assert_allclose(template.product(x, w, 2.5), 2.5 * x @ w)


def test_gradients_are_those_of_finite_differences():
    # In PyTorch and JAX, if they are installed; all functions of the module have arguments here.
    template.testing.check_all(
        {
            "squash": (numpy.linspace(-2, 2, 6).reshape(2, 3), numpy.full((1, 3), 1.5)),
            "product": (numpy.linspace(-2, 2, 6).reshape(2, 3), numpy.ones((3, 4)), 2.5),
        }
    )
