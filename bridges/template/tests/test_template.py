"""Compares the functions with NumPy, and their gradients with finite differences."""

import numpy
import pytest
import template


def test_values_are_those_of_numpy():
    x, limit, w = numpy.linspace(-2, 2, 6).reshape(2, 3), numpy.full((1, 3), 1.5), numpy.ones((3, 4))
    numpy.testing.assert_allclose(template.squash(x, limit), x / numpy.sqrt(1 + (x / limit) ** 2))
    numpy.testing.assert_allclose(template.product(x, w, 2.5), 2.5 * x @ w)


def test_gradients_are_those_of_finite_differences():
    torch = pytest.importorskip("torch")

    def leaf(*shape):
        return torch.empty(shape, dtype=torch.float64).uniform_(0.5, 1.5).requires_grad_()

    for function, arguments in [
        (template.squash, (leaf(2, 3), leaf(1, 3))),
        (template.product, (leaf(2, 3), leaf(3, 4), 2.5)),
    ]:
        assert torch.autograd.gradcheck(function, arguments)
        assert torch.autograd.gradgradcheck(function, arguments)
