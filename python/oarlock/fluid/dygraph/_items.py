"""Items of eager tensors: ``x[0]``, ``x[:, 1:3]``, ``x[..., -1]``, ``x[::2]``."""

import operator

from ... import _core
from .. import _state
from ..core import EnforceNotMet

_VarBase = _core.VarBase
_FAR = 10000000


def get(x, item):
    """The part of a tensor that numbers and slices choose; a number removes its dimension.

    Args:
        x (VarBase): the tensor.
        item: numbers, slices, an ellipsis, and tensors of one number.

    Returns:
        VarBase: the part.
    """
    if type(item) is int:
        items = (item,)
    else:
        items = _without_ellipsis(x, item if isinstance(item, tuple) else (item,))
    shape = x.shape
    if len(items) > len(shape):
        raise EnforceNotMet("%s has %d dimensions, but %d items choose from it" % (x.name, len(shape), len(items)))
    axes, starts, ends, steps, gone, reverse = [], [], [], [], [], []
    for axis, each in enumerate(items):
        if isinstance(each, slice):
            begin, end, step = _slice(each)
            if (begin, end, step) == (None, None, 1):
                continue
            size = shape[axis]
            begin = (0 if step > 0 else size - 1) if begin is None else begin
            end = (size if step > 0 else -size - 1) if end is None else end
        else:
            begin, step = _number(each, axis, shape[axis]), 1
            end = begin + 1 if begin != -1 else _FAR
            gone.append(axis)
        axes.append(axis), starts.append(begin), ends.append(end), steps.append(step)
    return _chosen(x, axes, starts, ends, steps, gone)


def _without_ellipsis(x, items):
    places = [at for at, each in enumerate(items) if each is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    for at in places:
        return items[:at] + (slice(None),) * (len(x.shape) - len(items) + 1) + items[at + 1:]
    return items


def _bound(value):
    return None if value is None else operator.index(value)


def _slice(each):
    step = 1 if each.step is None else operator.index(each.step)
    if step == 0:
        raise ValueError("the step of a slice cannot be 0")
    return _bound(each.start), _bound(each.stop), step


def _number(each, axis, size):
    if isinstance(each, bool) or each is None:
        raise EnforceNotMet("eager tensors are indexed by integers, slices and tuples of them, not by %r" % (each,))
    try:
        number = operator.index(each)
    except TypeError:
        raise EnforceNotMet("eager tensors are indexed by integers, slices and tuples of them, not by %s" % type(each).__name__) from None
    if not -size <= number < size:
        raise IndexError("The starting index %d of slice is out of bounds in tensor %d-th axis, it shound be in the range of [%d, %d)"
                         % (number, axis, -size, size))
    return number


def _chosen(x, axes, starts, ends, steps, gone):
    tracer = _state.tracer
    if not axes:
        return x
    attrs = {"axes": axes, "starts": starts, "ends": ends, "infer_flags": [1] * len(axes), "decrease_axis": gone}
    if all(step == 1 for step in steps):
        return tracer.call("slice", {"Input": x}, {"Out": [None]}, attrs)["Out"][0]
    attrs["strides"] = steps
    # As in Fluid, numbers keep their dimension beside a slice with steps.
    attrs["decrease_axis"] = []
    return tracer.call("strided_slice", {"Input": x}, {"Out": [None]}, attrs)["Out"][0]
