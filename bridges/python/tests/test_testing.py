"""The checks that the module has for its author's tests, on all functions of the module."""

import diffops
import numpy
import pytest

random = numpy.random.default_rng(3)


def numbers(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape)


CASES = {
    "Exp": (numbers(2, 3),),
    "MulConstant": (numbers(2, 3), 2.5),
    "above_smallest": (numpy.array([3.0, 1.0, 2.0]),),
    "affine": (numbers(2, 3, 4), numbers(5, 4), numbers(5)),
    "boxcox": (numbers(2, 3, low=0.5), 1.5),
    "centered": (numbers(3, 2),),
    "decaying": (numbers(3), numbers(4, 3), 0.5),
    "focal": (numbers(3), [1, 0, 1], 2.0),
    "gaussian": (numbers(5, 3), numbers(4, 3), numbers(4), 2.0),
    "hamilton": (numbers(2, 4), numbers(1, 4)),
    "leaky": (numbers(4), numbers(5, 4), numbers(4, low=0.5, high=0.9)),
    "linear": (numbers(2, 3).astype("f"), numbers(4, 3).astype("f"), None),
    "logarithm": (numbers(3, low=0.5), "2"),
    "lookup": (numbers(4), numpy.array([[1, 3], [0, 3]]), numpy.array([[True, False], [True, True]]), 2.0),
    "masked": (numbers(3), [True, False, True]),
    "normalized": (numbers(3, 2), True),
    "pick": (numbers(4), numpy.array([1, 3, 1])),
    "polar": (numbers(4, low=0.5), numbers(4)),
    "rows": (numbers(4, 3), numpy.array([1, 3, 1])),
    "scaled": (numbers(4, 3), numbers(4)),
    "selective": (numbers(2, 16), *[numbers(3, 2, low=-1, high=1)] * 2, *[numbers(3, 1, 16)] * 2, numbers(2, 16), numbers()),
    "smooth": (numbers(6),),
    "squash": (numbers(2, 3), numbers(2, 1, low=0.5)),
    # `opcheck` compares the strides with those that a compiled program relies on.
    "transposed": (numbers(3, 2),),
    "tridiagonal": (numbers(4), numbers(5, low=5.0, high=6.0), numbers(4), numbers(5)),
    "windows": (numbers(7), 3, 2),
    "attention": (numbers(2, 3), numbers(4, 1, 3), numbers(4, 2), numbers(4, 1, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_all_checks_pass(name):
    diffops.testing.check(getattr(diffops, name), *CASES[name])


def test_no_function_is_left_out():
    with pytest.raises(AssertionError, match="no arguments for .*squash"):
        diffops.testing.check_all({name: case for name, case in CASES.items() if name != "squash"})


def test_defaults_and_keywords_are_those_of_the_function():
    grid = numpy.array([[1, 3], [0, 3]])
    diffops.testing.check(diffops.lookup, numbers(4), mask=grid > 0, places=grid)


def test_estimates_are_not_compared_with_derivatives():
    x = numpy.array([0.3, 1.8])
    with pytest.raises(Exception, match="Jacobian mismatch"):
        diffops.testing.check(diffops.rounded, x)
    diffops.testing.check(diffops.rounded, x, estimated=["x"])
    with pytest.raises(ValueError, match="rounded: `estimated` names `y`, which is not an argument with a gradient"):
        diffops.testing.check(diffops.rounded, x, estimated=["y"])
    with pytest.raises(AssertionError, match="no arguments for .*squash"):
        diffops.testing.check_all({"rounded": (x,)}, estimated={"rounded": ["x"]})


def test_a_function_that_is_not_smooth_fails():
    with pytest.raises(Exception, match="Jacobian mismatch"):
        diffops.testing.check(diffops.above_smallest, numpy.array([1.0, 1.0 + 1e-9, 3.0]))
