"""Tensors of eager mode that are declared before they have a value, parameters among them. ``framework`` imports this at its end."""

from .. import _core
from . import _state
from .core import VarDesc
from .framework import _NUMPY_NAMES, convert_np_dtype_to_dtype_, default_main_program, dygraph_only


class _DeclaredTensor(_core.VarBase):
    """An eager tensor whose sizes and element type are known before it has a value."""

    _declared_shape, _declared_dtype = (), VarDesc.VarType.FP32
    _declared_type = VarDesc.VarType.LOD_TENSOR

    @property
    def shape(self):
        """Sizes."""
        return _core.VarBase.shape.__get__(self) if self._has_value() else list(self._declared_shape)

    @property
    def dtype(self):
        """The element type."""
        return VarDesc.VarType(self._dtype_number) if self._has_value() else self._declared_dtype

    @property
    def type(self):
        """A tensor, or selected rows."""
        if not self._has_value():
            return self._declared_type
        return VarDesc.VarType.SELECTED_ROWS if self._is_rows() else VarDesc.VarType.LOD_TENSOR

    def _check_value(self):
        if not self._has_value():
            raise _core.EnforceNotMet("tensor %s has no value yet: no operator has written it" % self.name)

    def numpy(self):
        """Returns the values."""
        self._check_value()
        return super().numpy()

    def backward(self, backward_strategy=None, retain_graph=False):
        """Computes gradients.

        Args:
            backward_strategy (BackwardStrategy), retain_graph (bool): as those of every tensor.
        """
        self._check_value()
        super().backward(backward_strategy, retain_graph)


def _as_var_type(dtype):
    if dtype is None:
        return VarDesc.VarType.FP32
    return dtype if isinstance(dtype, VarDesc.VarType) else convert_np_dtype_to_dtype_(_NUMPY_NAMES.get(dtype, dtype) if isinstance(dtype, str) else dtype)


def _varbase_creator(type=None, name=None, shape=None, dtype=None, persistable=None, stop_gradient=False, **kwargs):
    """An eager tensor without a value; the operator that writes it gives it one.

    Args:
        type (VarType): the kind of variable.
        name (str), shape (list), dtype: of the tensor.
        persistable (bool): whether it belongs to a layer.
        stop_gradient (bool): whether no gradient flows to it, even if the operator has one.

    Returns:
        VarBase: the tensor.
    """
    made = _DeclaredTensor.__new__(_DeclaredTensor)
    made.stop_gradient = stop_gradient
    made._declared_dtype = _as_var_type(dtype)
    if type is not None:
        made._declared_type = type
    if shape:
        made._declared_shape = tuple(shape)
    if name:
        made._name = name
    if persistable:
        made.persistable = True
    return made


def _first_value(tensor, initializer):
    """Gives an eager tensor the value that an initializer of ours describes."""
    stop = tensor.stop_gradient
    tensor._become(_state.tracer.initial_value(
        _state.builder, default_main_program()._context(), list(tensor.shape), tensor.dtype, initializer))
    tensor.stop_gradient = stop


class ParamBase(_DeclaredTensor):
    """A parameter of eager mode: a tensor that is trained.

    Args:
        shape (list), dtype: of the parameter.
        name (str): its name; a new one by default.
        trainable (bool): whether optimizers update it.
        optimize_attr (dict): ``{"learning_rate": factor}``.
        regularizer: weight decay of its own.
        do_model_average (bool): whether averages of a model contain it.
        gradient_clip_attr: a limit on its gradient.
    """

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    @dygraph_only
    def __init__(self, shape, dtype, name=None, trainable=True, optimize_attr=None, regularizer=None, do_model_average=None,
                 gradient_clip_attr=None, need_clip=True, stop_gradient=False, **kwargs):
        if shape is None or dtype is None:
            raise ValueError("The shape and dtype of Parameter should not be None")
        if len(shape) == 0:
            raise ValueError("The dimensions of shape for Parameter must be greater than 0")
        if any(size < 0 for size in shape):
            raise ValueError("Each dimension of shape for Parameter must be greater than 0, but received %s" % list(shape))
        self._declared_shape, self._declared_dtype = tuple(int(size) for size in shape), _as_var_type(dtype)
        self._name = name or _state.builder.generate("_param_base")
        self.persistable = True
        self.stop_gradient = stop_gradient
        self.trainable = trainable
        self.optimize_attr = {"learning_rate": 1.0} if optimize_attr is None else optimize_attr
        self.regularizer = regularizer
        self.do_model_average = do_model_average
        self.gradient_clip_attr = gradient_clip_attr
        self.is_distributed = False

    def __repr__(self):
        return self.to_string(True)
