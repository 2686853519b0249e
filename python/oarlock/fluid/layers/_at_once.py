"""Layers in eager mode: most run as they are; here are those that are something else there, such as arrays, which are lists."""

import numpy as np

from ..._core import VarBase
from .. import _state
from ..core import VarDesc
from ..framework import Variable, _varbase_creator, default_main_program
from ..param_attr import ParamAttr

_NUMPY = {kind: name for name, kind in VarDesc.VarType.by_numpy.items()}
# Arguments that name what a layer writes into.
_TARGETS = ("out", "output", "cond")


def at_once(name, args):
    """Calls a layer in eager mode.

    Args:
        name (str), args (dict): the layer and its arguments.

    Returns:
        What the layer returns: tensors.
    """
    special = _SPECIAL.get(name)
    if special is not None:
        return special(**args)
    context = default_main_program()._context()
    for key in _TARGETS:
        target = args.get(key)
        if isinstance(target, VarBase):
            _write(target, context, name, args)
            return target
    return _state.tracer.layer(_state.builder, context, name, args)


def _write(target, context, name, args):
    """Calls a layer that writes into a tensor."""
    fresh = not target._has_value()
    if fresh:
        # A layer declares what it writes into, so there must be a value; the operator gives it its sizes.
        stop = target.stop_gradient
        target._set(np.zeros([1], _NUMPY[target.dtype]))
    _state.tracer.layer(_state.builder, context, name, args)
    if fresh and not stop and target.is_leaf:
        target.stop_gradient = True


def _create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    from ..layer_helper import LayerHelper

    attr = ParamAttr._to_attr(attr)
    if attr and attr.name is None:
        attr.name = name
    return LayerHelper("create_parameter").create_parameter(attr, shape, dtype, is_bias, default_initializer)


def _create_tensor(dtype, name=None, persistable=False):
    return _varbase_creator(name=name, dtype=dtype, persistable=persistable)


def _check(right, what):
    # Scripts written for Fluid catch AssertionError here.
    if not right:
        raise AssertionError(what)


def _index(i, what):
    _check(isinstance(i, Variable), "The index 'i' in %s must be Variable in dygraph mode" % what)
    _check(list(i.shape) == [1], "The shape of index 'i' should be [1] in dygraph mode")
    return int(i.numpy()[0])


def _array_write(x, i, array=None):
    _check(isinstance(x, Variable), "The input data 'x' in array_write must be Variable in dygraph mode")
    at = _index(i, "array_write")
    array = [] if array is None else array
    _check(isinstance(array, list), "The 'array' in array_write must be a list in dygraph mode")
    _check(at <= len(array), "The index 'i' should not be greater than the length of 'array' in dygraph mode")
    array[at : at + 1] = [x]
    return array


def _array_read(array, i):
    _check(isinstance(array, list), "The 'array' in array_read must be list in dygraph mode")
    return array[_index(i, "array_read")]


def _array_length(array):
    _check(isinstance(array, list), "The 'array' in array_length must be a list in dygraph mode")
    return len(array)


def _schedule(kind, **fixed):
    """A schedule as an object of ``fluid.dygraph``, which an optimizer of eager mode takes."""

    def make(**args):
        from ..dygraph import learning_rate_scheduler

        return getattr(learning_rate_scheduler, kind)(**args, **fixed)

    return make


def _piecewise_decay(boundaries, values):
    if len(values) - len(boundaries) != 1:
        raise ValueError("len(values) - len(boundaries) should be 1")
    return _schedule("PiecewiseDecay", begin=0)(boundaries=boundaries, values=values)


_SPECIAL = {
    "create_parameter": _create_parameter, "create_tensor": _create_tensor, "create_array": lambda dtype: [], "array_write": _array_write,
    "array_read": _array_read, "array_length": _array_length, "noam_decay": _schedule("NoamDecay"),
    "exponential_decay": _schedule("ExponentialDecay"), "natural_exp_decay": _schedule("NaturalExpDecay"),
    "inverse_time_decay": _schedule("InverseTimeDecay"), "polynomial_decay": _schedule("PolynomialDecay"),
    "piecewise_decay": _piecewise_decay, "cosine_decay": _schedule("CosineDecay"), "linear_lr_warmup": _schedule("LinearLrWarmup"),
}
