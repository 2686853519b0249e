"""Normalizations as objects."""

import logging
import numbers

import numpy as np

from .. import _state
from ..initializer import Constant, Normal
from ..param_attr import ParamAttr
from ._apply import activated, apply
from .layers import Layer

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "SpectralNorm"]


class InstanceNorm(Layer):
    """Normalizes each channel of each image.

    Args:
        num_channels (int): the channels.
        epsilon (float): keeps the division finite.
        param_attr (ParamAttr), bias_attr (ParamAttr): of scale and shift.
        dtype (str): of the parameters.
    """

    def __init__(self, num_channels, epsilon=1e-05, param_attr=None, bias_attr=None, dtype="float32"):
        super().__init__()
        if bias_attr is False:
            raise AssertionError("bias_attr should not be False in InstanceNorm.")
        self._epsilon, self._param_attr, self._bias_attr, self._dtype = epsilon, param_attr, bias_attr, dtype
        self.scale = self.create_parameter([num_channels], param_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, dtype, is_bias=True, default_initializer=Constant(0.0))

    def forward(self, input):
        """Returns the normalized images.

        Args:
            input (Variable): images, channels in front.
        """
        inputs = {"X": input, "Scale": self.scale, "Bias": self.bias}
        return apply(self, "instance_norm", inputs, {"epsilon": self._epsilon}, "Y", ("SavedMean", "SavedVariance"))


class BatchNorm(Layer):
    """Normalizes channels over the batch; while training it also keeps moving means, which it uses after ``eval()``.

    Args:
        num_channels (int): the channels.
        act (str): an activation.
        is_test (bool): whether a program uses the moving means; eager mode goes by ``train()`` and ``eval()``.
        momentum (float): how much of the moving means stays from step to step.
        epsilon (float): keeps the division finite.
        param_attr (ParamAttr), bias_attr (ParamAttr): of scale and shift.
        dtype (str): of the parameters.
        data_layout (str): ``NCHW`` or ``NHWC``.
        in_place (bool): changes nothing in eager mode; in a program the result takes the place of the input.
        moving_mean_name (str), moving_variance_name (str): names of the moving mean and variance.
        do_model_average_for_mean_and_var (bool): whether averages of a model contain them.
        use_global_stats (bool): normalizes by the moving means also while training.
        trainable_statistics (bool): normalizes by the batch also after ``eval()``.

    Example:
        >>> with fluid.dygraph.guard():
        ...     norm = fluid.BatchNorm(10)
        ...     print([p.name for p in norm.parameters()])
        ['batch_norm_0.w_0', 'batch_norm_0.b_0', 'batch_norm_0.w_1', 'batch_norm_0.w_2']
    """

    def __init__(self, num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
                 dtype="float32", data_layout="NCHW", in_place=False, moving_mean_name=None, moving_variance_name=None,
                 do_model_average_for_mean_and_var=True, use_global_stats=False, trainable_statistics=False):
        super().__init__()
        if bias_attr is False:
            raise AssertionError("bias_attr should not be False in batch_norm.")
        self._param_attr, self._bias_attr, self._act = param_attr, bias_attr, act
        self._dtype = "float32" if dtype == "float16" else dtype
        shape = [num_channels]
        fixed = bool(use_global_stats) and param_attr.learning_rate == 0.0
        self.weight = self.create_parameter(shape, param_attr, self._dtype, default_initializer=Constant(1.0))
        self.weight.stop_gradient = fixed
        self.bias = self.create_parameter(shape, bias_attr, self._dtype, is_bias=True)
        self.bias.stop_gradient = fixed
        self._mean = self._moving(moving_mean_name, 0.0, do_model_average_for_mean_and_var, shape)
        self._variance = self._moving(moving_variance_name, 1.0, do_model_average_for_mean_and_var, shape)
        self._in_place, self._data_layout, self._momentum, self._epsilon = in_place, data_layout, momentum, epsilon
        self._is_test, self._use_global_stats, self._trainable_statistics = is_test, use_global_stats, trainable_statistics

    def _moving(self, name, value, average, shape):
        attr = ParamAttr(name=name, initializer=Constant(value), trainable=False, do_model_average=average)
        made = self.create_parameter(shape, attr, self._dtype)
        made.stop_gradient = True
        return made

    def forward(self, input):
        """Returns the normalized batch.

        Args:
            input (Variable): ``[batch, channels, ...]``.
        """
        eager = _state.tracer is not None
        attrs = {
            "momentum": self._momentum, "epsilon": self._epsilon, "is_test": not self.training if eager else self._is_test,
            "data_layout": self._data_layout, "use_global_stats": self._use_global_stats,
            "trainable_statistics": self._trainable_statistics,
        }
        inputs = {"X": input, "Scale": self.weight, "Bias": self.bias, "Mean": self._mean, "Variance": self._variance}
        moving = {"MeanOut": [self._mean], "VarianceOut": [self._variance]}
        if eager:
            outputs = dict(moving, Y=[None], SavedMean=[None], SavedVariance=[None])
            made = _state.tracer.call("batch_norm", inputs, outputs, attrs)["Y"][0]
        else:
            new = self._helper.create_variable_for_type_inference
            made = input if self._in_place else new(self._dtype)
            outputs = dict(
                moving, Y=[made], SavedMean=[new(self._dtype, stop_gradient=True)], SavedVariance=[new(self._dtype, stop_gradient=True)])
            self._helper.append_op(type="batch_norm", inputs=inputs, outputs=outputs, attrs=attrs)
        return activated(self, made, self._act)


class LayerNorm(Layer):
    """Normalizes over the last dimensions.

    Args:
        normalized_shape (int or list): the sizes of these dimensions.
        scale (bool), shift (bool): whether there is a weight and a bias.
        epsilon (float): keeps the division finite.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias.
        act (str): an activation.
        dtype (str): of the parameters.
    """

    def __init__(self, normalized_shape, scale=True, shift=True, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
                 dtype="float32"):
        super().__init__()
        shape = [normalized_shape] if isinstance(normalized_shape, numbers.Integral) else list(normalized_shape)
        self._normalized_shape, self._scale, self._shift, self._epsilon = shape, scale, shift, epsilon
        self._param_attr, self._bias_attr, self._act, self._dtype = param_attr, bias_attr, act, dtype
        size = [int(np.prod(shape))]
        self.weight = self.bias = None
        if scale:
            self.weight = self.create_parameter(size, param_attr, dtype, default_initializer=Constant(1.0))
        elif param_attr:
            logging.getLogger("oarlock").warning("param_attr are only available with scale is True")
        if shift:
            if bias_attr is False:
                raise AssertionError("bias_attr should not be False in LayerNorm with shift.")
            self.bias = self.create_parameter(size, bias_attr, dtype, is_bias=True)
        elif bias_attr:
            logging.getLogger("oarlock").warning("bias_attr are only available with shift is True")

    def forward(self, input):
        """Returns the normalized tensor.

        Args:
            input (Variable): its last sizes are ``normalized_shape``.
        """
        shape, wanted = list(input.shape), self._normalized_shape
        self._begin_norm_axis = len(shape) - len(wanted)
        if self._begin_norm_axis < 0 or shape[self._begin_norm_axis:] != wanted:
            raise ValueError("Given normalized_shape is %s, expected input with shape [*, %s, but got input shape %s"
                             % (wanted, str(wanted)[1:], shape))
        inputs = {"X": input, "Scale": self.weight, "Bias": self.bias}
        attrs = {"epsilon": self._epsilon, "begin_norm_axis": self._begin_norm_axis}
        return activated(self, apply(self, "layer_norm", inputs, attrs, "Y", ("Mean", "Variance")), self._act)


class GroupNorm(Layer):
    """Normalizes groups of channels.

    Args:
        channels (int), groups (int): how many there are.
        epsilon (float): keeps the division finite.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; as in Fluid 1.8 there is none without its attribute.
        act (str): an activation.
        data_layout (str): only ``NCHW``.
        dtype (str): of the parameters.
    """

    def __init__(self, channels, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW", dtype="float32"):
        super().__init__()
        if data_layout != "NCHW":
            raise ValueError("unsupported data layout:" + data_layout)
        self._param_attr, self._bias_attr, self._epsilon = param_attr, bias_attr, epsilon
        self._channels, self._groups, self._act, self._dtype = channels, groups, act, dtype
        self.weight = self.create_parameter([channels], param_attr or False, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([channels], bias_attr or False, dtype, is_bias=True)

    def forward(self, input):
        """Returns the normalized images.

        Args:
            input (Variable): ``[batch, channels, ...]``.
        """
        inputs = {"X": input, "Bias": self.bias, "Scale": self.weight}
        attrs = {"epsilon": self._epsilon, "groups": self._groups}
        return activated(self, apply(self, "group_norm", inputs, attrs, "Y", ("Mean", "Variance")), self._act)


class SpectralNorm(Layer):
    """Divides a weight by an estimate of its largest singular value.

    Args:
        weight_shape (list): the shape of the weight.
        dim (int): the dimension that is the rows of the matrix.
        power_iters (int): steps of the estimate in each call.
        eps (float): keeps the division finite.
        dtype (str): of the vectors that the estimate keeps.
    """

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super().__init__()
        self._power_iters, self._eps, self._dim, self._dtype, self._weight_shape = power_iters, eps, dim, dtype, list(weight_shape)
        rows = self._weight_shape[dim]
        columns = int(np.prod(self._weight_shape)) // rows
        self.weight_u = self.create_parameter([rows], ParamAttr(), dtype, default_initializer=Normal(0.0, 1.0))
        self.weight_u.stop_gradient = True
        self.weight_v = self.create_parameter([columns], ParamAttr(), dtype, default_initializer=Normal(0.0, 1.0))
        self.weight_v.stop_gradient = True

    def forward(self, weight):
        """Returns the divided weight.

        Args:
            weight (Variable): the weight.
        """
        attrs = {"dim": self._dim, "power_iters": self._power_iters, "eps": self._eps}
        return apply(self, "spectral_norm", {"Weight": weight, "U": self.weight_u, "V": self.weight_v}, attrs)
