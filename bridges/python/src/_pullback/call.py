"""A call of a function, and its gradients of any order, on arrays of NumPy.

`Call` and `Gradients` are called in the same way: with arrays, and for each of them whether it requires a gradient.
They return a recording, the outputs, and for each output that is an array whether it has a gradient.
"""


class Call:
    """A function with its arguments."""

    __slots__ = ("arguments", "function")

    def __init__(self, function, arguments):
        self.function = function
        self.arguments = arguments

    def __call__(self, arrays, requires_grad):
        return self.function.run(self.arguments, arrays, requires_grad)

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


def returned(outputs):
    """Returns one output as it is, several as a tuple."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
