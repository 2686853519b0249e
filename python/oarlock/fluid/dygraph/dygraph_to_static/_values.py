"""Values that branches and loops change: tensors, numbers, and lists, tuples and dicts of them."""

import numpy as np

from ...core import VarDesc
from ...framework import Variable
from ... import layers

_ARRAY = VarDesc.VarType.LOD_TENSOR_ARRAY


class Undefined:
    """The value of a variable that has none. Any use of it is an error that names the variable.

    Args:
        name (str): the variable.
        reason (str): why it has none.
    """

    def __init__(self, name, reason=None):
        self.__dict__.update(_name=name, _reason=reason)

    def _fail(self, *args):
        raise UnboundLocalError("%s has no value here%s" % (self._name, ": " + self._reason if self._reason else ""))

    __getattr__ = __call__ = __bool__ = __iter__ = __len__ = __getitem__ = __setitem__ = __setattr__ = _fail
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __mod__ = __neg__ = _fail
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __index__ = _fail


def is_number(value):
    """Whether a value is a number that a program can hold.

    Args:
        value: any value.
    """
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def is_variable(value):
    """Whether a value is a variable of a program.

    Args:
        value: any value.
    """
    return issubclass(type(value), Variable)


def is_array(value):
    """Whether a value is an array of tensors in a program.

    Args:
        value: any value.
    """
    return is_variable(value) and value.type == _ARRAY


def number_dtype(value):
    """The element type of a number in a program.

    Args:
        value (bool, int or float): the number.
    """
    if isinstance(value, (np.number, np.bool_)):
        return value.dtype.name
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


def as_variable(value, dtype=None):
    """A number, an array or a variable as a variable.

    Args:
        value: the value.
        dtype: the element type of a number; by its kind without it.
    """
    if is_variable(value):
        return value
    if isinstance(value, np.ndarray):
        return layers.assign(value)
    return layers.fill_constant([1], dtype or number_dtype(value), value)


def filler(like):
    """A tensor of zeros that stands for a value which is never read.

    Args:
        like (Variable): gives the sizes and the element type.
    """
    made = layers.fill_constant([max(1, size) for size in like.shape] or [1], like.dtype, 0)
    made.stop_gradient = True
    return made


def copied(value):
    """Lists and dicts as copies: a trial must not change them.

    Args:
        value: any value.
    """
    if type(value) is list:
        return [copied(each) for each in value]
    if type(value) is dict:
        return {key: copied(each) for key, each in value.items()}
    return value


def parts(value):
    """The children of a list, tuple or dict and a function that makes one like it of other children; None for a leaf.

    Args:
        value: any value.
    """
    if isinstance(value, dict):
        keys = list(value)
        return [value[key] for key in keys], lambda made: type(value)(zip(keys, made)) if type(value) is dict else dict(zip(keys, made))
    if isinstance(value, (list, tuple)):
        return list(value), lambda made: type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return None


def same_shape(a, b):
    """Whether two values are lists, tuples or dicts with the same places.

    Args:
        a, b: any values.
    """
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b)
    return isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b)


def to_array(items):
    """An array of tensors in the program with the items of a list.

    Args:
        items (list): tensors or numbers.
    """
    first = next((item for item in items if is_variable(item)), None)
    made = layers.create_array(first.dtype if first is not None else "float32")
    for at, item in enumerate(items):
        layers.array_write(as_variable(item), layers.fill_constant([1], "int64", at), made)
    return made
