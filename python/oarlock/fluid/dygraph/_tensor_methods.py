"""Methods of eager tensors that are not written in the core: numbers, comparisons, items, values, gradients, text."""

import numpy as np

from ... import _core
from .. import _state
from ..core import CPUPlace, VarDesc
from ..framework import default_main_program, dygraph_only
from . import _items

__all__: list = []

_VarBase = _core.VarBase
_Type = VarDesc.VarType
_TYPES = {int(kind): kind for kind in _Type}
_INTS = frozenset(int(kind) for kind in (_Type.UINT8, _Type.INT8, _Type.INT16, _Type.INT32, _Type.INT64))
_NUMPY = {int(kind): np.dtype(name) for name, kind in _Type.by_numpy.items()}
# What programs of C++ call element types.
_CPP_NAMES = {
    "bool": "bool", "float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "int16": "int16_t", "int8": "int8_t",
    "uint8": "uint8_t", "float16": "::paddle::platform::float16",
}
_grad_of = _VarBase._grad_ivar


def _binary(op_type, x, y, axis=-1):
    return _state.tracer.call(op_type, {"X": x, "Y": y}, {"Out": [None]}, {"axis": axis})["Out"][0]


def _scaled(x, scale, bias):
    return _state.tracer.call("scale", {"X": x}, {"Out": [None]}, {"scale": scale, "bias": bias})["Out"][0]


def _cast(x, kind):
    attrs = {"in_dtype": x._dtype_number, "out_dtype": int(kind)}
    return _state.tracer.call("cast", {"X": x}, {"Out": [None]}, attrs)["Out"][0]


def _filled(value, x, shape):
    """A tensor of one value, of the element type of ``x``."""
    return _VarBase(np.full(shape, value, _NUMPY[x._dtype_number]))


def _operand(x, y, shape=(1,)):
    """The right operand as a tensor of the element type of ``x``; None if it can be none."""
    if not isinstance(y, _VarBase):
        if isinstance(y, np.ndarray) and y.ndim:
            return _VarBase(np.ascontiguousarray(y, _NUMPY[x._dtype_number]))
        if y is None or isinstance(y, (str, bytes, list, tuple, dict)) or not np.isscalar(y) and not isinstance(y, np.ndarray):
            return None
        return _filled(y, x, shape)
    return y if y._dtype_number == x._dtype_number else _cast(y, x._dtype_number)


# How a number on the other side is a scale and a bias.
_AS_SCALE = {
    "_add": lambda x, v: _scaled(x, 1.0, v), "_sub": lambda x, v: _scaled(x, 1.0, -v), "_rsub": lambda x, v: _scaled(x, -1.0, v),
    "_mul": lambda x, v: _scaled(x, v, 0.0), "_div": lambda x, v: _scaled(x, 1.0 / v, 0.0),
}
# By operator of Python: the operator, and whether the tensor is on the right.
_OPERATORS = {
    "_add": ("elementwise_add", False), "_sub": ("elementwise_sub", False), "_rsub": ("elementwise_sub", True),
    "_mul": ("elementwise_mul", False), "_div": ("elementwise_div", False), "_rdiv": ("elementwise_div", True),
    "_pow": ("elementwise_pow", False), "_rpow": ("elementwise_pow", True), "_floordiv": ("elementwise_floordiv", False),
    "_mod": ("elementwise_mod", False), "_eq": ("equal", False), "_ne": ("not_equal", False), "_lt": ("less_than", False),
    "_le": ("less_equal", False), "_gt": ("greater_than", False), "_ge": ("greater_equal", False),
}


def operate(layer, x, y):
    """Applies an operator of Python to a tensor and a number, an array or a tensor of another element type.

    Args:
        layer (str): the operator, such as ``"_add"``; ``"_rsub"`` is ``y - x``.
        x (VarBase): the tensor.
        y (number, ndarray or VarBase): the other side.

    Returns:
        VarBase: of the element type of ``x``; ``NotImplemented`` for something else on the other side.
    """
    op_type, reverse = _OPERATORS[layer]
    by_scale = _AS_SCALE.get(layer)
    if by_scale is not None and isinstance(y, (int, float)):
        is_int = x._dtype_number in _INTS
        if not (is_int and layer == "_div"):
            if is_int and y != int(y):
                raise AssertionError("float value {} cannot convert to integer".format(y))
            return by_scale(x, float(y))
    other = _operand(x, y, tuple(x.shape) if reverse else (1,))
    if other is None:
        return NotImplemented
    return _binary(op_type, other, x) if reverse else _binary(op_type, x, other)


def _method(layer):
    def method(self, other):
        return operate(layer, self, other)

    return method


def _neg(self):
    return _scaled(self, -1.0, 0.0)


def astype(self, dtype):
    """The tensor with another element type.

    Args:
        dtype (str, numpy type or VarType): the type.

    Returns:
        Variable: a new tensor.
    """
    from ..framework import _as_var_type

    return _cast(self, _as_var_type(dtype))


def _one(self, what):
    array = self.numpy()
    if array.size != 1:
        raise AssertionError("only one element variable can be converted to %s." % what)
    return array.reshape(-1)[0]


def _float(self):
    return float(_one(self, "float"))


def _int(self):
    return int(_one(self, "int"))


def _index(self):
    return int(_one(self, "python index"))


def _bool(self):
    array = self.numpy()
    if array.size != 1:
        raise AssertionError("When Variable is used as the condition of if/while , Variable can only contain one element.")
    return bool(np.all(array > 0))


def _len(self):
    return self.shape[0]


def _iter(self):
    return (self[at] for at in range(self.shape[0]))


def _array(self, dtype=None, copy=None):
    array = self.numpy()
    return array if dtype is None else array.astype(dtype)


def _name(self):
    """Its name; one that was given none gets one when it is asked for."""
    name = self._name
    if name is None:
        tracer = _state.tracer
        name = self._name = tracer._generate("tmp") if tracer is not None else _state.builder.generate("tmp")
    return name


def _set_name(self, name):
    self._name = name


def _dtype(self):
    """The element type."""
    return _TYPES[self._dtype_number]


def _type(self):
    """A tensor, or the selected rows of a sparse gradient."""
    return _Type.SELECTED_ROWS if self._has_value() and self._is_rows() else _Type.LOD_TENSOR


def _block(self):
    """The first block of the default program."""
    return default_main_program().global_block()


def _grad_ivar(self):
    """Its gradient as a tensor, or None."""
    grad = _grad_of(self)
    if grad is not None and grad._name is None:
        grad._name = _name(self) + "@GRAD"
    return grad


@dygraph_only
def set_value(self, value):
    """Gives the tensor other values of the same shape and element type.

    Args:
        value (ndarray or Variable): the values.
    """
    if not isinstance(value, (np.ndarray, _VarBase)):
        raise AssertionError("Variable set_value function, arguments type only support Variable, numpy, VarBase")
    array = value.numpy() if isinstance(value, _VarBase) else value
    if tuple(self.shape) != array.shape:
        raise AssertionError("Variable Shape not match, Variable [ {} ] need tensor with shape {} but load set tensor with shape {}".format(
            self.name, tuple(self.shape), array.shape))
    if _NUMPY[int(self.dtype)] != array.dtype:
        raise AssertionError("Variable dtype not match, Variable [ {} ] need tensor with dtype {}  but load tensor with dtype {}".format(
            self.name, _NUMPY[int(self.dtype)], array.dtype))
    self._set(array)


@dygraph_only
def backward(self, backward_strategy=None, retain_graph=False):
    """Computes the gradients of this tensor by all tensors that it depends on; ``gradient`` returns them. Gradients of an earlier pass
    are overwritten.

    Args:
        backward_strategy (BackwardStrategy): changes nothing.
        retain_graph (bool): whether another pass over the same graph may follow.
    """
    _state.tracer.backward([self], None, retain_graph, False)


@dygraph_only
def gradient(self):
    """Returns the gradient that the last backward pass left.

    Returns:
        ndarray or tuple: the gradient; of a sparse gradient the values of rows and their numbers; None without one.
    """
    grad = _grad_of(self)
    if grad is None:
        return None
    if grad._is_rows():
        rows, values = grad._rows()
        return values, np.array(rows, "int64")
    return grad.numpy()


def clear_gradient(self):
    """Sets the gradient to zeros, if there is one."""
    grad = _grad_of(self)
    if grad is None:
        return
    if grad._is_rows():
        self._set_grad_ivar(None)
    else:
        grad._set(np.zeros(grad.shape, _NUMPY[grad._dtype_number]))


def _run_backward(self, backward_strategy, tracer, retain_graph=False):
    """``backward`` with the arguments of the core of Fluid."""
    backward(self, backward_strategy, retain_graph)


def _copy_to(self, place, blocking=True):
    """A copy on a place; every place is the CPU."""
    place._refuse()
    made = self.detach()
    made.stop_gradient, made.persistable = self.stop_gradient, self.persistable
    return made


def _text(self, throw_on_error=True, with_details=False):
    """Returns a readable description.

    Args:
        throw_on_error (bool), with_details (bool): change nothing.

    Returns:
        str: name, element type, shape and values.
    """
    if not self._has_value():
        return "name %s, shape: %s, not inited" % (self.name, list(self.shape))
    array = self.numpy()
    if array.dtype == bool:
        array = array.astype("int8")
    form = "%g" if array.dtype.kind == "f" else "%d"
    values = " ".join(form % value for value in array.reshape(-1).tolist())
    return "name %s, dtype: %s shape: %s \tlod: {}\n\tdim: %s\n\tlayout: NCHW\n\tdtype: %s\n\tdata: [%s]\n" % (
        self.name, self.dtype, list(self.shape), ", ".join(map(str, self.shape)), _CPP_NAMES[_NUMPY[self._dtype_number].name], values)


class _TensorOf:
    """The tensor of ``x.value().get_tensor()``: shows the values of ``x`` and sets them."""

    def __init__(self, var):
        self._var = var

    def set(self, array, place=None, zero_copy=False):
        """Gives the variable the values of an array.

        Args:
            array (ndarray): the values.
            place (CPUPlace), zero_copy (bool): change nothing.
        """
        self._var._set(np.ascontiguousarray(array))

    def shape(self):
        """Returns the sizes."""
        return list(self._var.shape)

    def _is_initialized(self):
        return self._var._has_value()

    def _dtype(self):
        return self._var.dtype

    def _place(self):
        return _state.place or CPUPlace()

    def __array__(self, dtype=None, copy=None):
        return _array(self._var, dtype)

    def __str__(self):
        return _text(self._var).partition("] ")[2]

    def __getattr__(self, name):
        return getattr(self._var._lod_tensor(), name)


class _RowsOf:
    """The selected rows of ``x.value().get_selected_rows()``."""

    def __init__(self, var):
        self._var = var

    def rows(self):
        """Returns the numbers of the rows."""
        return self._var._rows()[0]

    def height(self):
        """Returns how many rows the whole matrix has."""
        return self._var.shape[0]

    def get_tensor(self):
        """Returns the values of the rows."""
        return self._var._rows()[1]


class _ValueOf:
    """What ``x.value()`` returns."""

    def __init__(self, var):
        self._var = var

    def get_tensor(self):
        """Returns the tensor."""
        return _TensorOf(self._var)

    def get_selected_rows(self):
        """Returns the rows of a sparse gradient."""
        return _RowsOf(self._var)

    def is_initialized(self):
        """Returns whether it has a value."""
        return self._var._has_value()


def value(self):
    """The variable inside: ``value().get_tensor()`` shows the values and sets them."""
    return _ValueOf(self)


def _install():
    for operator, layer in (
        ("pow", "_pow"), ("rpow", "_rpow"), ("floordiv", "_floordiv"), ("mod", "_mod"), ("eq", "_eq"), ("ne", "_ne"), ("lt", "_lt"),
        ("le", "_le"), ("gt", "_gt"), ("ge", "_ge"), ("div", "_div"), ("rdiv", "_rdiv"),
    ):
        setattr(_VarBase, "__%s__" % operator, _method(layer))
    hash_of = _VarBase.__hash__ or object.__hash__
    for name, method in dict(
        __neg__=_neg, __float__=_float, __int__=_int, __long__=_int, __index__=_index, __bool__=_bool, __nonzero__=_bool, __len__=_len,
        __iter__=_iter, __array__=_array, __getitem__=_items.get, __str__=_text, __hash__=hash_of,
        # Lets numpy's numbers on the left of an operator leave it to the methods here.
        __array_ufunc__=None, astype=astype, name=property(_name, _set_name), dtype=property(_dtype), type=property(_type),
        block=property(_block), place=property(lambda self: _state.place or CPUPlace(), doc="Where it is."), _grad_ivar=_grad_ivar,
        _grad_name=lambda self: self.name + "@GRAD", _grad_value=lambda self: _ValueOf(_grad_of(self)), set_value=set_value,
        backward=backward, gradient=gradient, clear_gradient=clear_gradient, _run_backward=_run_backward, _copy_to=_copy_to,
        to_string=_text, value=value,
    ).items():
        setattr(_VarBase, name, method)


_install()
