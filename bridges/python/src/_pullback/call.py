"""A call of a function, and its derivatives of any order in either mode, on arrays of NumPy.

`Call`, `Tangents` and `Gradients` are called in the same way: with arrays, and for each of them whether it requires a
gradient. They return a recording, the outputs, and for each output that is an array whether it has a gradient.

All derivatives are gradients of tangents of a call, as the tangents of gradients are gradients of tangents: see
`tangents_of`.
"""


class Call:
    """A function with its arguments."""

    __slots__ = ("arguments", "function")

    def __init__(self, function, arguments):
        self.function = function
        self.arguments = arguments

    def __call__(self, arrays, requires_grad, directions=()):
        return self.function.run(self.arguments, arrays, requires_grad, directions)

    @property
    def name(self):
        return self.function.name

    @property
    def differentiable(self):
        """For each output, whether it has a gradient; None for an output that is not a tensor."""
        return [kind if stub.startswith("Array") else None for stub, kind in self.function.stubs[1]]

    def names(self):
        """The names of the arrays in errors."""
        names = self.function.arguments
        return [names[place] for place in self.function.places if self.arguments[place] is not None]


class Tangents:
    """The outputs of a call, and then their tangents, as a function of its arrays and of the tangents of these."""

    __slots__ = ("call", "direction", "name")

    def __init__(self, call, direction):
        self.call = call  # a `Call`, or its `Tangents`
        self.direction = direction  # for each array that `call` takes, whether it has a tangent
        self.name = call.name

    def __call__(self, arrays, requires_grad, directions=()):
        return self.call(arrays, requires_grad, [self.direction, *directions])

    @property
    def differentiable(self):
        outputs = self.call.differentiable
        return [*outputs, *(kind for kind in outputs if kind is not None)]

    def names(self):
        names = self.call.names()
        return [*names, *(f"tangent of {name}" for name, is_given in zip(names, self.direction) if is_given)]


class Gradients:
    """The gradients of a call, as a function of its arrays and of the gradients of its outputs."""

    __slots__ = ("call", "given", "inputs", "name", "needed")

    def __init__(self, call, inputs, given, needed):
        self.call = call
        self.inputs = inputs  # the number of arrays that `call` takes
        self.given = given  # for each output of `call` that is an array, whether there is a gradient
        self.needed = needed
        self.name = call.name

    @property
    def differentiable(self):
        return [True] * self.inputs

    def __call__(self, arrays, requires_grad, recording=None):
        if recording is None:
            recording = self.call(arrays[: self.inputs], [True] * self.inputs)[0]
        grads = iter(arrays[self.inputs :])
        grads = [next(grads) if given else None for given in self.given]
        return recording.record_gradients(grads, self.needed)

    def names(self):
        return [f"argument {place} of the gradient of {self.name}" for place in range(self.inputs + len(self.given))]


def gradients_of(call, arrays, grads, needed):
    """Returns the gradients as a call, and its arrays. A gradient that is None is undefined."""
    given = [grad is not None for grad in grads]
    return Gradients(call, len(arrays), given, needed), [*arrays, *(grad for grad in grads if grad is not None)]


def tangents_of(call, arrays, tangents, run):
    """Returns the tangents of the outputs that are arrays, by `run` of a call on arrays. A tangent that is None is zero.

    Those of gradients are gradients again: for y = f(x), the tangents of the gradients Jᵀg along those of x and of g
    are the gradients with respect to x of y and of its tangent Jt, whose gradients are the tangent of g, and g.
    """
    direction = [tangent is not None for tangent in tangents]
    if not isinstance(call, Gradients):
        outputs = run(Tangents(call, direction), [*arrays, *(tangent for tangent in tangents if tangent is not None)])
        return outputs[len(call.differentiable) :]
    inputs, count = call.call, call.inputs
    grads, along = iter(arrays[count:]), iter(tangents[count:])
    grads, along = zip(*[(next(grads), next(along)) if is_given else (None, None) for is_given in call.given])
    arrays, needed = arrays[:count], call.needed
    if any(direction[:count]):
        inputs = Tangents(inputs, direction[:count])
        arrays = [*arrays, *(tangent for tangent in tangents[:count] if tangent is not None)]
        along = [*along, *grads]
        needed = [*needed, *[False] * (len(arrays) - count)]
    return run(*gradients_of(inputs, arrays, along, needed))[:count]


def returned(outputs):
    """Returns one output as it is, several as a tuple."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
