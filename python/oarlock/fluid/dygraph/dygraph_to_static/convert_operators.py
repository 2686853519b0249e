"""What rewritten functions call: decides by the types of values whether Python computes, or the program."""

import operator

import numpy as np

from .... import _core
from ... import _state, layers
from ..base import to_variable
from . import _control
from ._values import Undefined, as_variable, is_array, is_variable, to_array
from .convert_call_func import convert_call  # noqa: F401

__all__ = [
    "Undefined", "attribute", "is_defined", "returned", "python_only", "known", "convert_ifelse", "convert_while", "convert_for", "convert_range",
    "convert_enumerate", "convert_logical_and", "convert_logical_or", "convert_logical_not", "convert_compare", "convert_ifexp", "convert_assert",
    "convert_print", "convert_len", "convert_shape", "convert_numpy", "convert_append", "convert_getitem", "convert_setitem",
    "convert_int", "convert_float", "convert_bool", "convert_to_variable", "convert_concat", "convert_stack", "convert_call",
]


def _seen(value):
    """A tensor of eager mode as a variable of the program that is built; other values as they are."""
    if _state.capture is not None and isinstance(value, _core.VarBase):
        return _state.capture.variable(value)
    return value


def attribute(base, name):
    """An attribute, or an undefined value.

    Args:
        base: an object.
        name (str): the attribute.
    """
    if isinstance(base, Undefined):
        return Undefined(name)
    return getattr(base, name, None) if hasattr(base, name) else Undefined("%s.%s" % (type(base).__name__, name))


def is_defined(value):
    """Whether a variable has a value.

    Args:
        value: the value.
    """
    return not isinstance(value, Undefined)


def returned(value):
    """What a function returns; None if it ended without ``return``.

    Args:
        value: the value.
    """
    return value if is_defined(value) else None


def python_only(value, what):
    """Refuses a variable of a program where only Python can decide.

    Args:
        value: the value.
        what (str): what depends on it.
    """
    if is_variable(_seen(value)):
        raise NotImplementedError("%s inside try depends on a tensor: a program cannot contain it; move it out of try" % what)
    return value


def known(value):
    """A function that returns a value.

    Args:
        value: the value.
    """
    return lambda: value


def convert_ifelse(test, true, false, get, set, names):
    """``if``.

    Args:
        test (callable): returns the condition.
        true (callable), false (callable): the branches.
        get (callable), set (callable): return and take the values of variables that they change.
        names (tuple): the names of these variables, and whether they are read elsewhere.
    """
    test = _seen(_control.predicate(test))
    if is_variable(test):
        _control.branch(test, true, false, get, set, names)
    elif test:
        true()
    else:
        false()


def convert_while(test, body, get, set, names):
    """``while``. A condition that becomes a tensor after some steps builds a loop from there on.

    Args:
        test (callable), body (callable): the condition and one step.
        get (callable), set (callable): return and take the values of variables that they change.
        names (tuple): the names of these variables, and whether they are read elsewhere.
    """
    while True:
        found = _seen(_control.predicate(test))
        if is_variable(found):
            _control.loop(test, body, get, set, names)
            return
        if not found:
            return
        body()


class _Range:
    """``range`` over tensors."""

    def __init__(self, start, stop, step):
        typed = next(each for each in (stop, start, step) if is_variable(each))
        self.start, self.stop = as_variable(start, typed.dtype), as_variable(stop, typed.dtype)
        self.step, self.down = step, not is_variable(step) and step < 0

    def begin(self):
        return self.start

    def more(self, at):
        return at > self.stop if self.down else at < self.stop

    def item(self, at):
        return at

    def next(self, at):
        return at + self.step


class _Rows:
    """The rows of a tensor, or the tensors of an array."""

    step = 1

    def __init__(self, tensor):
        self.tensor = tensor
        self.count = convert_len(tensor)

    def begin(self):
        return layers.fill_constant([1], "int64", 0)

    def more(self, at):
        return at < (self.count if is_variable(self.count) else as_variable(self.count))

    def item(self, at):
        return convert_getitem(self.tensor, at)

    def next(self, at):
        return at + 1


class _Enumerated:
    """``enumerate`` over one of these."""

    def __init__(self, inner, start):
        self.inner, self.start = inner, start

    def begin(self):
        return [self.inner.begin(), as_variable(self.start, "int64")]

    def more(self, at):
        return self.inner.more(at[0])

    def item(self, at):
        return at[1], self.inner.item(at[0])

    def next(self, at):
        return [self.inner.next(at[0]), at[1] + 1]


_LAZY = (_Range, _Rows, _Enumerated)


def _iterable(value):
    value = _seen(value)
    return _Rows(value) if is_variable(value) else value


def convert_for(items, goes_on, body, get, set, names):
    """``for``.

    Args:
        items: what to go over.
        goes_on (callable): whether no ``break`` or ``return`` happened; None if there is none.
        body (callable): one step, of an item.
        get (callable), set (callable): return and take the values of variables that the step changes.
        names (tuple): the names of these variables, and whether they are read elsewhere.
    """
    items = _iterable(items)
    if isinstance(items, _LAZY):
        _tensor_for(items, goes_on, body, get, set, names)
        return
    for item in items:
        further = True if goes_on is None else _seen(goes_on())
        if is_variable(further):
            # The next step may read what this one changes.
            _control.branch(further, lambda: body(item), lambda: None, get, set, tuple((name, True) for name, _ in names))
        elif further:
            body(item)
        else:
            return


def _tensor_for(items, goes_on, body, get, set, names):
    at = [items.begin()]

    def test():
        more = items.more(at[0])
        return more if goes_on is None else convert_logical_and(goes_on, lambda: more)

    def step():
        here = at[0]
        at[0] = items.next(here)
        body(items.item(here))

    def set_all(values):
        at[0] = values[-1]
        set(values[:-1])

    convert_while(test, step, lambda: tuple(get()) + (at[0],), set_all, tuple(names) + (("_jst_at", True),))


def convert_range(*args):
    """``range``.

    Args:
        args: start, stop and step; numbers or tensors.
    """
    args = [_seen(each) for each in args]
    if not any(is_variable(each) for each in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args + [1])[:3]
    return _Range(start, stop, step)


def convert_enumerate(items, start=0):
    """``enumerate``.

    Args:
        items: what to go over.
        start (int): the first number.
    """
    items = _iterable(items)
    return _Enumerated(items, start) if isinstance(items, _LAZY) else enumerate(items, start)


def _logical(left, right, layer):
    right = _seen(right())
    if not is_variable(right):
        right = as_variable(bool(right))
    return layer(_control.as_bool(left), _control.as_bool(right))


def convert_logical_and(left, right):
    """``and``.

    Args:
        left (callable), right (callable): return the operands.
    """
    value = _seen(left())
    if is_variable(value):
        return _logical(value, right, layers.logical_and)
    return right() if value else value


def convert_logical_or(left, right):
    """``or``.

    Args:
        left (callable), right (callable): return the operands.
    """
    value = _seen(left())
    if is_variable(value):
        return _logical(value, right, layers.logical_or)
    return value if value else right()


def convert_logical_not(value):
    """``not``.

    Args:
        value: the operand.
    """
    value = _seen(value)
    return layers.logical_not(_control.as_bool(value)) if is_variable(value) else not value


def convert_compare(operands, tests):
    """``a < b < c``; every operand is computed once.

    Args:
        operands (tuple): functions that return the operands.
        tests (tuple): functions that compare neighbours.
    """
    left, rest = operands[0](), list(zip(operands[1:], tests))

    def compare(left, rest):
        right = rest[0][0]()
        found = rest[0][1](left, right)
        if len(rest) == 1:
            return found
        return convert_logical_and(lambda: found, lambda: compare(right, rest[1:]))

    return compare(left, rest)


def convert_ifexp(test, true, false):
    """``a if test else b``.

    Args:
        test (callable): returns the condition.
        true (callable), false (callable): return the values.
    """
    test = _seen(_control.predicate(test))
    if not is_variable(test):
        return true() if test else false()
    found = [Undefined("the value")]

    def assign(way):
        def run():
            found[0] = way()

        return run

    def set_value(values):
        found[0] = values[0]

    _control.branch(test, assign(true), assign(false), lambda: (found[0],), set_value, (("the value", True),))
    return found[0]


def convert_assert(test, message):
    """``assert``. A program checks the condition when it runs.

    Args:
        test: the condition.
        message (callable): returns the message; or None.
    """
    test = _seen(test)
    if not is_variable(test):
        assert test, message() if message else ""
        return
    text = message() if message else None
    _check_when_run(_control.as_bool(test), "an assertion failed" if text is None else str(text))


def _check_when_run(test, text):
    def check(value):
        if not np.asarray(value).all():
            raise AssertionError(text)

    layers.py_func(func=check, x=test, out=None)


def convert_print(*args, **kwargs):
    """``print``. A program prints tensors when it runs.

    Args:
        args, kwargs: those of ``print``.
    """
    args = [_seen(each) for each in args]
    if _control.trying():
        return
    if not any(is_variable(each) for each in args):
        print(*args, **kwargs)
        return
    text = [str(each) for each in args if not is_variable(each)]
    for each in args:
        if is_variable(each):
            layers.Print(each, message=" ".join(text) or None)


def convert_len(value):
    """``len``.

    Args:
        value: a tensor or anything else that has a length.
    """
    value = _seen(value)
    if not is_variable(value):
        return len(value)
    if is_array(value):
        return layers.array_length(value)
    return value.shape[0] if value.shape[0] >= 0 else layers.shape(value)[0]


def convert_shape(value):
    """``x.shape``: sizes that are not known when a program is built are tensors.

    Args:
        value: anything with a shape.
    """
    value = _seen(value)
    if not is_variable(value) or is_array(value):
        return value.shape
    sizes = value.shape
    if min(sizes, default=0) >= 0:
        return list(sizes)
    found = layers.shape(value)
    return [size if size >= 0 else found[at] for at, size in enumerate(sizes)]


def convert_numpy(value):
    """``x.numpy()``: a program goes on with the tensor.

    Args:
        value: anything with ``numpy``.
    """
    value = _seen(value)
    return value if is_variable(value) else value.numpy()


def convert_append(items, item):
    """``items.append(item)``; returns the list.

    Args:
        items (list): a list, or an array of the program.
        item: what to append.
    """
    if is_array(items):
        at = layers.array_length(items)
        if not _element_type_known(items):
            items._set("dtype", int(as_variable(item).dtype))
        layers.array_write(as_variable(_seen(item)), at, items)
    else:
        items.append(item)
    return items


def _element_type_known(array):
    return array.dtype is not None


def convert_getitem(value, index):
    """``value[index]``.

    Args:
        value: a list, a tensor, an array of the program or anything else.
        index: the index.
    """
    value, index = _seen(value), _seen(index)
    if is_array(value):
        return layers.array_read(value, index if is_variable(index) else layers.fill_constant([1], "int64", index))
    if is_variable(index) and isinstance(value, (list, tuple)):
        return layers.array_read(to_array(list(value)), index)
    return operator.getitem(value, index)


def convert_setitem(value, index, item):
    """``value[index] = item``; returns the list, dict or array.

    Args:
        value: a list, a dict, an array of the program or anything else.
        index: the index.
        item: the new item.
    """
    index = _seen(index)
    if is_variable(index) and isinstance(value, list):
        value = to_array(value)
    if is_array(value):
        layers.array_write(as_variable(_seen(item)), index if is_variable(index) else layers.fill_constant([1], "int64", index), value)
    else:
        operator.setitem(value, index, item)
    return value


def _cast(kind, dtype):
    def convert(*args):
        value = _seen(args[0]) if args else None
        if not is_variable(value):
            return kind(*args)
        made = layers.cast(value, dtype)
        # A number of Python has no gradient either.
        made.stop_gradient = True
        return made

    return convert


convert_int, convert_float, convert_bool = _cast(int, "int64"), _cast(float, "float32"), _cast(bool, "bool")


def convert_to_variable(value, name=None, zero_copy=None):
    """``fluid.dygraph.to_variable``: in a program, arrays are constants.

    Args:
        value (Variable or ndarray): the value.
        name (str), zero_copy (bool): belong to eager mode.
    """
    if _state.tracer is not None:
        return to_variable(value, name, zero_copy)
    value = _seen(value)
    return value if is_variable(value) else layers.assign(value)


def convert_concat(input, axis=0, name=None):
    """``layers.concat``, also of a list that became an array of the program.

    Args:
        input (list), axis (int), name (str): its arguments.
    """
    return layers.tensor_array_to_tensor(input, axis=axis)[0] if is_array(input) else layers.concat(input, axis, name)


def convert_stack(x, axis=0):
    """``layers.stack``, also of a list that became an array of the program.

    Args:
        x (list), axis (int): its arguments.
    """
    return layers.tensor_array_to_tensor(x, axis=axis, use_stack=True)[0] if is_array(x) else layers.stack(x, axis)
