"""A call of a function, and its derivatives of any order in either mode, on arrays of NumPy.

`Call`, `Tangents` and `Gradients` are called in the same way: with arrays, and for each of them whether it requires a
gradient. They return a recording, the outputs, and for each output that is an array whether it has a gradient.

All derivatives are gradients of tangents of a call, as the tangents of gradients are gradients of tangents: see
`tangents_of`.
"""

import functools

operators = {}  # for each function by its name, its operator of PyTorch, or None
lengths_of = {}  # for each function that returns lists, the operator that returns a tensor with their lengths as its shape

LIST = "list[Array]"  # the type of a list among the outputs


@functools.lru_cache(maxsize=256)
def expanded(function, lengths):
    """Returns the function for lists of these lengths, which has an argument for each tensor of a list."""
    return function.expanded(lengths)


def unfolded(function, arguments):
    """Returns a function that takes no lists, and its arguments: each tensor of a list is one of them."""
    lists = function.lists
    if not lists:
        return function, arguments
    names, flat, lengths = function.arguments, [], []
    for place, argument in enumerate(arguments):
        if place not in lists:
            flat.append(argument)
            continue
        if not isinstance(argument, (list, tuple)):
            kind = type(argument).__name__
            raise TypeError(f"{function.name}: `{names[place]}` must be a list of arrays, not {kind}")
        for index, item in enumerate(argument):
            if item is None:
                raise TypeError(f"{function.name}: `{names[place]}[{index}]` must be an array, not None")
        flat.extend(argument)
        lengths.append(len(argument))
    return expanded(function, tuple(lengths)), tuple(flat)


# `torch.compile` would warn of the cache of `expanded`.
unfolded._torchdynamo_disable = True


def folded(function, each):
    """Returns what there is for each argument of an expanded function with lists for its lists."""
    each = iter(each)
    return [next(each) if length is None else [next(each) for _ in range(length)] for length in function.lengths]


def unreturned(function, found):
    """Returns the outputs of a function one by one, from what a caller gets, and the lengths of the lists among them."""
    outputs = function.stubs[1]
    flat, lengths = [], []
    for output, (stub, _) in zip([found] if len(outputs) == 1 else found, outputs):
        if stub == LIST:
            flat += output
            lengths.append(len(output))
        else:
            flat.append(output)
    return flat, lengths


class Call:
    """A function with its arguments, without lists: see `unfolded`. Each tensor of a list among the outputs is one of them:
    `returned` makes the lists.
    """

    __slots__ = ("arguments", "function", "indices", "lengths")

    def __init__(self, function, arguments, indices=()):
        self.function = function
        self.arguments = arguments
        self.indices = indices  # the places of values that are passed after the tensors: arrays of indices, and numbers
        self.lengths = []  # of the lists among the outputs, once the function has run

    def __call__(self, arrays, requires_grad, directions=()):
        arguments = self.arguments
        if self.indices:
            arguments = list(arguments)
            for place, array in zip(self.indices, self.passed(arrays)):
                arguments[place] = array
            arguments, arrays, requires_grad = tuple(arguments), self.drop(arrays), self.drop(requires_grad)
            directions = [self.drop(direction) for direction in directions]
        recording, outputs, differentiable, lengths = self.function.run(arguments, arrays, requires_grad, directions)
        if lengths != self.lengths:
            self.set_lengths(lengths)
        return recording, outputs, differentiable

    def set_lengths(self, lengths):
        # There are several runs for the examples of a map.
        self.function.check_lengths(lengths, self.lengths, "in another run, as of another example under `vmap`")
        self.lengths = lengths

    def returned(self, outputs):
        """Returns what a caller gets, from the outputs of a node of PyTorch's graph."""
        return self.function.returned(outputs if isinstance(outputs, tuple) else (outputs,), self.lengths)

    @property
    def name(self):
        return self.function.name

    @property
    def base(self):
        return self

    @property
    def count(self):
        """The number of tensors."""
        return sum(self.arguments[place] is not None for place in self.function.places)

    def passed(self, each):
        """Returns, from what there is for each array, what there is for the values that are passed after the tensors."""
        return each[self.count : self.count + len(self.indices)]

    def drop(self, each):
        """Returns what there is for each array without what there is for values that are passed."""
        return [*each[: self.count], *each[self.count + len(self.indices) :]] if self.indices else each

    def pad(self, each):
        """Returns what there is for each array, with None for values that are passed."""
        return [*each[: self.count], *[None] * len(self.indices), *each[self.count :]] if self.indices else each

    @property
    def differentiable(self):
        """For each output, whether it has a gradient; None for an output that is not a tensor."""
        return [kind if stub.startswith("Array") else None for stub, kind in self.function.outputs(self.lengths)]

    def names(self):
        """The names of the arrays in errors."""
        names = self.function.arguments
        places = [place for place in self.function.places if self.arguments[place] is not None]
        return [names[place] for place in [*places, *self.indices]]

    @property
    def rows(self):
        """For each array and for each output of an elementwise function, the length of its rows, None without rows."""
        return self.of_tensors(self.function.rows)

    @property
    def steps(self):
        """For each array and for each output, whether it has the axis of the steps of a scan."""
        return self.of_tensors(self.function.steps)

    def of_tensors(self, each):
        """Returns what there is for each tensor without those that are not given, and what there is for each output."""
        inputs, outputs = each
        given = [self.arguments[place] is not None for place in self.function.places]
        return [one for one, is_given in zip(inputs, given) if is_given], outputs


class Derivative:
    """What follows from a call, as a function of its arrays and of more: its tangents or its gradients."""

    __slots__ = ("base", "call", "name")

    def __init__(self, call):
        self.base = call.base
        self.call = call  # a `Call`, or a derivative of one
        self.name = call.name

    @property
    def rows(self):
        return self.of_tensors(self.call.rows)

    @property
    def steps(self):
        return self.of_tensors(self.call.steps)


class Tangents(Derivative):
    """The outputs of a call, and then their tangents, as a function of its arrays and of the tangents of these."""

    __slots__ = ("direction",)

    def __init__(self, call, direction):
        super().__init__(call)
        self.direction = direction  # for each array that `call` takes, whether it has a tangent

    def __call__(self, arrays, requires_grad, directions=()):
        return self.call(arrays, requires_grad, [self.direction, *directions])

    @property
    def differentiable(self):
        outputs = self.call.differentiable
        return [*outputs, *(kind for kind in outputs if kind is not None)]

    def names(self):
        names = self.call.names()
        return [*names, *(f"tangent of {name}" for name, is_given in zip(names, self.direction) if is_given)]

    def of_tensors(self, each):
        """Returns what there is for each array and each output, from what there is for those of the call."""
        inputs, outputs = each
        direction = self.base.drop(self.direction)
        return [*inputs, *(one for one, is_given in zip(inputs, direction) if is_given)], [*outputs, *outputs]


class Gradients(Derivative):
    """The gradients of a call, as a function of its arrays and of the gradients of its outputs."""

    __slots__ = ("given", "inputs", "needed")

    def __init__(self, call, inputs, given, needed):
        super().__init__(call)
        self.inputs = inputs  # the number of arrays that `call` takes
        self.given = given  # for each output of `call` that is an array, whether there is a gradient
        self.needed = needed

    @property
    def differentiable(self):
        return [True] * self.inputs

    def __call__(self, arrays, requires_grad, recording=None):
        if recording is None:
            recording = self.call(arrays[: self.inputs], [True] * self.inputs)[0]
        grads = iter(arrays[self.inputs :])
        grads = [next(grads) if given else None for given in self.given]
        recording, found, differentiable = recording.record_gradients(grads, self.base.drop(self.needed))
        return recording, self.base.pad(found), self.base.pad(differentiable)

    def names(self):
        return [f"argument {place} of the gradient of {self.name}" for place in range(self.inputs + len(self.given))]

    def of_tensors(self, each):
        """Returns what there is for each array and each output, from what there is for those of the call."""
        inputs, outputs = each
        return [*inputs, *(one for one, is_given in zip(outputs, self.given) if is_given)], inputs


def gradients_of(call, arrays, grads, needed):
    """Returns the gradients as a call, and its arrays. A gradient that is None is undefined."""
    given = [grad is not None for grad in grads]
    return Gradients(call, len(arrays), given, needed), [*arrays, *(grad for grad in grads if grad is not None)]


def kinds_of(call, outputs):
    """Returns for each output of a call whether it has a gradient; None for one that is not an array or is missing."""
    if isinstance(call, Gradients):
        return call.differentiable
    if isinstance(call, Tangents):
        kinds = kinds_of(call.call, outputs)
        return [*kinds, *(kind for kind in kinds if kind is not None)]
    return [None if output is None else kind for output, kind in zip(outputs, call.differentiable)]


def tangents_of(call, kinds, arrays, tangents, run):
    """Returns the tangents of the outputs that are arrays, by `run` of a call on arrays. A tangent that is None is zero.
    `kinds` are those of the outputs: see `kinds_of`.

    Those of gradients are gradients again: for y = f(x), the tangents of the gradients Jᵀg along those of x and of g
    are the gradients with respect to x of y and of its tangent Jt, whose gradients are the tangent of g, and g.
    """
    direction = [tangent is not None for tangent in tangents]
    if not isinstance(call, Gradients):
        outputs = run(Tangents(call, direction), [*arrays, *(tangent for tangent in tangents if tangent is not None)])
        return outputs[len(kinds) :]
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
