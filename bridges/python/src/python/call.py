"""What a function of the module is when it is called: which framework its arrays are of.

`Run` and `Gradients` are what is run, of any order of differentiation: called with arrays of NumPy and whether
each of them requires a gradient, they return a recording, the outputs, and for each of these that is an array whether
it has a gradient.
"""

import sys

import numpy


class Run:
    """The function itself."""

    __slots__ = ("function", "arguments")

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
        """For each output, whether it has a gradient; None for what is no tensor."""
        return [kind if stub.startswith("Array") else None for stub, kind in self.function.stubs[1]]

    def names(self):
        """What errors call the arrays."""
        names = self.function.arguments
        return [names[place] for place in self.function.places if self.arguments[place] is not None]


class Gradients:
    """The gradients of what `run` returned, as a function of its arrays and of the outputs' gradients."""

    __slots__ = ("run", "given", "inputs", "needed", "name")

    def __init__(self, run, inputs, given, needed):
        self.run = run
        self.inputs = inputs  # how many arrays `run` takes
        self.given = given  # for each of its outputs that are arrays, whether there is a gradient
        self.needed = needed
        self.name = run.name

    @property
    def differentiable(self):
        return [True] * self.inputs

    def __call__(self, arrays, requires_grad, recording=None):
        if recording is None:
            recording = self.run(arrays[: self.inputs], [True] * self.inputs)[0]
        grads = iter(arrays[self.inputs :])
        grads = [next(grads) if given else None for given in self.given]
        return recording.record_gradients(grads, self.needed)

    def names(self):
        return [f"argument {place} of the gradient of {self.name}" for place in range(self.inputs + len(self.given))]


def gradients_of(run, arrays, grads, needed):
    """The gradients as something to run, and the arrays to run it on. A gradient that is None did not arrive."""
    given = [grad is not None for grad in grads]
    return Gradients(run, len(arrays), given, needed), [*arrays, *(grad for grad in grads if grad is not None)]


def returned(outputs):
    """One output as it is, several as a tuple."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


files = {}


def file(name):
    """What is in a file, which is read when it is needed first: that of a framework with the first of its arrays."""
    if name not in files:
        shared = {"Run": Run, "Gradients": Gradients, "gradients_of": gradients_of, "returned": returned}
        globals_ = {"__name__": f"{__name__}.{name}", "file": file, **shared}
        exec(compile(FILES[name], f"pullback/{name}.py", "exec"), globals_)
        files[name] = globals_
    return files[name]


functions = {}
operators = {}


def has_operator(name):
    """Whether a function is among `operators`. All are put there at once: `torch.compile` reads them once."""
    if not operators:
        define = file("operator")["define"]
        namespace = __name__.rpartition(".")[0].replace(".", "_")
        operators.update((name, define(function, namespace)) for name, function in functions.items())
    return operators[name] is not None


# `torch.compile` runs it while it reads `call`.
has_operator._dynamo_marked_constant = True


def call(name, arguments):
    torch = sys.modules.get("torch")
    jax = sys.modules.get("jax")
    if torch is not None and torch.compiler.is_compiling() and not torch._C._are_functorch_transforms_active():
        if has_operator(name) and any(isinstance(argument, torch.Tensor) for argument in arguments):
            return returned(operators[name](*arguments))
    function = functions[name]
    arrays = [arguments[place] for place in function.places if arguments[place] is not None]
    for array in arrays:
        if torch is not None and isinstance(array, torch.Tensor):
            return file("torch")["apply"](Run(function, arguments), arrays)
        if jax is not None and isinstance(array, jax.Array):
            return file("jax")["apply"](Run(function, arguments), arrays)
    check(Run(function, arguments), arrays, "a torch.Tensor, a jax.Array or a numpy.ndarray")
    return returned(function.run(arguments, arrays, [False] * len(arrays))[1])


def check(run, arrays, expected):
    for array, name in zip(arrays, run.names()):
        if not isinstance(array, numpy.ndarray):
            raise TypeError(f"{run.name}: `{name}` must be {expected}, not {type(array).__name__}")


def vjp(function, *arguments):
    """Calls a function of this module with arrays of NumPy, and returns what it returns and a function of the
    gradients of its outputs that are arrays of floats, which returns the gradients of its arguments, None for those
    that are not arrays.

        y, pull = vjp(squash, x, limit)
        grad_x, grad_limit = pull(numpy.ones_like(y))
    """
    if not hasattr(function, "pullback"):
        raise TypeError(f"vjp of {function!r}, which is no function of a module of pullback's")
    function = function.pullback
    arguments += (None,) * (len(function.arguments) - len(arguments))
    arrays = [arguments[place] for place in function.places if arguments[place] is not None]
    check(Run(function, arguments), arrays, "a numpy.ndarray")
    # NumPy does not say when an array is written to, and `pull` is of what they were.
    arrays = [array.copy() for array in arrays]
    needed = [True] * len(arrays)
    recording, outputs, _ = function.run(arguments, arrays, needed)

    def pull(*grads):
        found = zip(arrays, recording.gradients(list(grads), needed))
        found = iter([numpy.zeros_like(array) if grad is None else grad for array, grad in found])
        is_array = [place in function.places and argument is not None for place, argument in enumerate(arguments)]
        grads = tuple(next(found) if given else None for given in is_array)
        return grads[0] if len(grads) == 1 else grads

    return returned(outputs), pull
