"""The shapes of outputs, computed from those of the arrays as a function declares them, without a run.

Lengths may be symbols: PyTorch and JAX trace programs for lengths that they do not know. An expression is Python's with
`//` for `/`, as both round down.
"""

import functools
import re

from .call import LIST

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d_]*)|(?P<name>[^\W\d]\w*)(?P<part>\.len\(\)|\[\d+\])?|(?P<sign>[-+*/%()]))\s*"
)


class Unknown(Exception):
    """A length is computed with what Python does not have: a constant or a function of Rust."""


class Expression:
    """The length of an axis: a number, a name, or an expression of axes and values."""

    def __init__(self, text):
        self.text = text
        self.numbers = []  # the names that are numbers
        source, end = "", 0
        while end < len(text) and (token := TOKEN.match(text, end)):
            source += self.translated(**token.groupdict())
            end = token.end()
        try:
            self.code = compile(source if end == len(text) else "", text, "eval")
        except SyntaxError:
            self.code = None
        # The axis, if there is nothing but its name.
        self.axis = text if self.numbers == [text] else None

    def translated(self, number, name, part, sign):
        if name is None:
            return number or sign.replace("/", "//")
        if part == ".len()":
            return f"length(known({name!r}))"
        if part is None and name not in self.numbers:
            self.numbers.append(name)
        return f"known({name!r}){part or ''}"

    def value(self, names):
        """Computes the length from the axes and values in `names`."""
        if self.code is None:
            raise Unknown(self.text)
        try:
            return plain(eval(self.code, {"known": lambda name: plain(names[name]), "length": length}))
        except (IndexError, KeyError, TypeError) as error:
            raise Unknown(self.text) from error


def plain(value):
    """Returns a number of NumPy, or an array of one number, as a number of Python."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def length(value):
    return value.shape[0] if hasattr(value, "shape") else len(value)


class Declared:
    """A declared shape: `[.., n, (l - k) / stride + 1]`."""

    def __init__(self, text):
        self.text = text
        lengths = [part.strip() for part in text[1:-1].split(",") if part]
        self.leading = lengths[:1] == [".."]
        # None for any length.
        self.lengths = [None if text == "_" else Expression(text) for text in lengths[self.leading :]]


@functools.lru_cache(maxsize=1024)
def declared(function):
    """Returns the declared shapes of the arguments and of the outputs by name, and None if an output has none.

    The shape of an argument is the argument's name. An output that is not an array has no axes.
    """
    inputs, outputs = function.shapes
    inputs = {name: Declared(text) for name, text in inputs if text is not None}
    found = {}
    for (name, text), (stub, _) in zip(outputs, function.stubs[1]):
        if text is None and stub in ("bool", "float", "int"):
            text = "[]"
        # The length of a list is not declared.
        if text is None or stub.endswith("None") or stub == LIST:
            return None
        like = text.removeprefix("shape of ")
        found[name] = Declared(text) if like == text else like
    return inputs, found


def of_outputs(call, arrays, dtype, broadcast, require):
    """Returns the shape and the element type of each output of a call, and None if only a run can show them.

    `dtype` returns the name of an array's element type, and `broadcast` the shape that shapes broadcast to. `require`
    raises an error, with the text that its second argument returns, unless the first is true.
    """
    function = call.function
    if function.elementwise or function.scan:
        return broadcasted(call, arrays, dtype, broadcast, require)
    shapes = declared(function)
    if shapes is None or not arrays:
        return None
    kinds = checked_kinds(call, arrays, dtype)
    try:
        return list(zip(Lengths(call, arrays, shapes[0], require).of(shapes[1]), kinds))
    except Unknown:
        return None


def broadcasted(call, arrays, dtype, broadcast, require):
    """Returns what `of_outputs` does, for an elementwise function or a scan."""
    kinds = checked_kinds(call, arrays, dtype)
    shapes = without_rows(call, arrays, require)
    inputs, outputs = call.steps
    for name, shape, has_steps in zip(call.names(), shapes, inputs):
        require(bool(shape) or not has_steps, lambda: f"{call.name}: `{name}` has no axis of steps")
    steps = [shape[:1] for shape, has_steps in zip(shapes, inputs) if has_steps]
    steps = tuple(broadcast(*steps)) if steps else ()
    lanes = tuple(broadcast(*[shape[has_steps:] for shape, has_steps in zip(shapes, inputs)]))
    axes = [(*steps, *lanes) if has_steps else lanes for has_steps in outputs]
    of_names = dict(zip(call.names(), arrays))
    rows = [
        () if row is None else (row,) if row else tuple(of_names[state].shape[-1:])
        for row, state in zip(call.rows[1], call.function.states)
    ]
    return [((*of, *row), kind) for of, row, kind in zip(axes, rows, kinds)]


def without_rows(call, arrays, require):
    """Compares the last axes of arrays with the rows that an elementwise function takes. Returns the other axes."""
    shapes = []
    for name, array, row in zip(call.names(), arrays, call.rows[0]):
        shape = tuple(array.shape)
        if row is not None:
            fits = bool(shape) and (shape[-1] == row or row == 0)
            rows = f"rows of length {row}" if row else "rows"
            require(fits, lambda: f"{call.name}: `{name}` must have {rows}, not the shape {shown(shape)}")
            shape = shape[:-1]
        shapes.append(shape)
    return shapes


def checked_kinds(call, arrays, dtype):
    """Compares the element types and the numbers of axes of the arrays. Returns the element types of the outputs."""
    function, names = call.function, call.names()
    expected, outputs = function.types(names[0], dtype(arrays[0]))
    expected = dict(zip([function.arguments[place] for place in function.places], expected))
    for name, array in zip(names, arrays):
        kind, axes = expected[name]
        if dtype(array) != kind:
            function.other_type(name, kind, dtype(array))
        if axes is not None and axes != len(array.shape):
            plural = "axis" if axes == 1 else "axes"
            raise ValueError(f"{call.name}: `{name}` must have {axes} {plural}, not the shape {shown(array.shape)}")
    return outputs


def now(length):
    """Returns the length that a symbol of PyTorch has in this trace."""
    found = getattr(getattr(length, "node", None), "hint", None)
    return length if found is None else found


def shown(shape):
    return f"[{', '.join(str(now(length)) for length in shape)}]"


class Lengths:
    """The lengths of the axes in one call. Arrays that do not fit are errors."""

    def __init__(self, call, arrays, inputs, require):
        self.call = call
        self.check = require
        self.shapes = {name: tuple(array.shape) for name, array in zip(call.names(), arrays)}
        self.known = dict(zip(call.function.arguments, call.arguments))  # values, and the lengths of axes
        self.first = {}  # for each axis, the argument whose length it has
        self.leading = None  # the leading axes, and the argument that they are of
        given = [(name, inputs[name]) for name in self.shapes if name in inputs]
        for name, declared in given:
            self.bind(name, declared)
        for name, declared in given:
            self.compare(name, declared)

    def require(self, condition, text):
        def error():
            arrays = ", ".join(f"{name} {shown(shape)}" for name, shape in self.shapes.items())
            return f"{self.call.name} of {arrays}: {text}"

        self.check(condition, error)

    def bind(self, name, declared):
        """Reads the leading axes and those that have names."""
        shape = self.shapes[name]
        begin = len(shape) - len(declared.lengths)
        is_of_the_form = begin >= 0 if declared.leading else begin == 0
        self.require(is_of_the_form, f"`{name}` is not of the declared form `{declared.text}`")
        if declared.leading:
            leading, first = self.leading = self.leading or (shape[:begin], name)
            text = f"the leading axes are {shown(leading)} in `{first}` and {shown(shape[:begin])} in `{name}`"
            self.require(len(leading) == begin, text)
            for expected, found in zip(leading, shape):
                self.require(expected == found, text)
        for expression, found in zip(declared.lengths, shape[begin:]):
            if expression is None or (axis := expression.axis) is None:
                continue
            first, expected = self.first.setdefault(axis, name), self.known.setdefault(axis, found)
            at = "" if first == name else f" in `{first}`", "" if first == name else f" in `{name}`"
            text = f"axis `{axis}` is {now(expected)}{at[0]} and {now(found)}{at[1]}"
            self.require(expected == found, text)

    def compare(self, name, declared):
        """Compares the lengths of an array that are numbers or expressions."""
        begin = len(self.shapes[name]) - len(declared.lengths)
        for axis, expression in enumerate(declared.lengths, begin):
            if expression is None or expression.axis is not None:
                continue
            try:
                expected = self.length(name, axis, expression)
            except Unknown:
                continue
            text = f"`{name}`: the length declared as `{expression.text}` is {now(expected)} here"
            self.require(expected == self.shapes[name][axis], text)

    def length(self, name, axis, expression):
        """Computes a length, which must not be negative."""
        try:
            found = expression.value(self.known)
        except ZeroDivisionError:
            found = None
        numbers = ", ".join(f"`{number}` = {now(self.known.get(number))}" for number in expression.numbers)
        equals = ", which is not a number" if found is None else f" = {now(found)}"
        # The length of a symbol that may be any is compared when the program runs.
        is_length = now(found) >= 0 if isinstance(now(found), int) else found is not None
        text = f"axis {axis} of `{name}` is `{expression.text}`{equals}, with {numbers}"
        self.require(is_length, text)
        return found

    def of(self, outputs):
        """Returns the shapes of the outputs."""
        return [
            self.shapes[shape] if isinstance(shape, str) else self.computed(name, shape)
            for name, shape in outputs.items()
        ]

    def computed(self, name, declared):
        if None in declared.lengths:
            raise Unknown(declared.text)
        leading = self.leading[0] if declared.leading else ()
        lengths = [self.length(name, axis, length) for axis, length in enumerate(declared.lengths, len(leading))]
        return (*leading, *lengths)
