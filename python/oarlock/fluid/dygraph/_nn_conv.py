"""Convolutions and pooling as objects."""

from ..initializer import Normal
from ._apply import activated, apply, biased, sizes
from .layers import Layer

__all__ = ["Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Pool2D"]


def _check_attr(param_attr, what):
    # Scripts written for Fluid catch AssertionError here.
    if param_attr is False:
        raise AssertionError("param_attr should not be False in %s." % what)


def _check_cudnn(use_cudnn):
    if not isinstance(use_cudnn, bool):
        raise ValueError("use_cudnn should be True or False")


class _Conv(Layer):
    """The base of convolutions of ``rank`` dimensions."""

    _rank, _op_type = 2, "conv2d"

    def __init__(self, num_channels, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
                 bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        _check_attr(param_attr, self._op_type)
        _check_cudnn(use_cudnn)
        super().__init__()
        rank = self._rank
        self._num_channels, self._num_filters, self._groups = num_channels, num_filters, groups
        self._stride, self._padding = sizes(stride, rank, "stride"), sizes(padding, rank, "padding")
        self._dilation = sizes(dilation, rank, "dilation")
        self._filter_size, self._use_cudnn = filter_size, use_cudnn
        self._param_attr, self._bias_attr, self._act, self._dtype = param_attr, bias_attr, act, dtype
        self._l_type = self._op_type
        if rank == 2 and num_channels == groups and num_filters % num_channels == 0 and not use_cudnn:
            self._l_type = "depthwise_conv2d"
        if num_channels % (groups or 1):
            raise ValueError("num_channels must be divisible by groups.")
        kernel = sizes(filter_size, rank, "filter_size")
        elements = num_channels
        for size in kernel:
            elements *= size
        self.weight = self.create_parameter(
            [num_filters, num_channels // (groups or 1)] + kernel, param_attr, dtype,
            default_initializer=Normal(0.0, (2.0 / elements) ** 0.5, 0))
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)
        self._attrs = {
            "strides": self._stride, "paddings": self._padding, "dilations": self._dilation, "groups": groups or 1,
            "use_cudnn": use_cudnn, "use_mkldnn": False,
        }

    def forward(self, input):
        """Returns the convolution.

        Args:
            input (Variable): images, channels in front.
        """
        made = apply(self, self._l_type, {"Input": input, "Filter": self.weight}, self._attrs, "Output")
        return activated(self, biased(self, made, self.bias), self._act)


class Conv2D(_Conv):
    """Convolution of images ``[batch, num_channels, height, width]``.

    Args:
        num_channels (int), num_filters (int): channels of input and output.
        filter_size (int or tuple), stride (int or tuple), padding (int or tuple), dilation (int or tuple): of both dimensions.
        groups (int): groups of channels that are convolved apart.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; ``bias_attr=False`` for no bias.
        use_cudnn (bool): changes nothing but the name of the operator of depthwise convolutions.
        act (str): an activation.
        dtype (str): of the parameters.

    Example:
        >>> with fluid.dygraph.guard():
        ...     conv = fluid.Conv2D(3, 2, 3)
        ...     print(conv(fluid.layers.ones([10, 3, 32, 32], "float32")).shape)
        [10, 2, 30, 30]
    """


class Conv3D(_Conv):
    """Convolution of volumes ``[batch, num_channels, depth, height, width]``.

    Args:
        num_channels (int), num_filters (int): channels of input and output.
        filter_size (int or tuple), stride (int or tuple), padding (int or tuple), dilation (int or tuple): of three dimensions.
        groups (int): groups of channels that are convolved apart.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; ``bias_attr=False`` for no bias.
        use_cudnn (bool): changes nothing.
        act (str): an activation.
        dtype (str): of the parameters.
    """

    _rank, _op_type = 3, "conv3d"


class Conv3DTranspose(Layer):
    """Transposed convolution of volumes.

    Args:
        num_channels (int), num_filters (int): channels of input and output.
        filter_size (int or tuple), padding (int or tuple), stride (int or tuple), dilation (int or tuple): of three dimensions.
        groups (int): groups of channels that are convolved apart.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias. As in Fluid 1.8 the bias is added only if ``bias_attr`` is given.
        use_cudnn (bool): changes nothing.
        act (str): an activation.
        dtype (str): of the parameters.
    """

    def __init__(self, num_channels, num_filters, filter_size, padding=0, stride=1, dilation=1, groups=None, param_attr=None,
                 bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        super().__init__()
        _check_cudnn(use_cudnn)
        _check_attr(param_attr, "conv3d_transpose")
        self._padding, self._stride = sizes(padding, 3, "padding"), sizes(stride, 3, "stride")
        self._dilation, self._filter_size = sizes(dilation, 3, "dilation"), sizes(filter_size, 3, "conv3d_transpose.filter_size")
        self._num_channels, self._num_filters, self._groups = num_channels, num_filters, 1 if groups is None else groups
        self._param_attr, self._bias_attr, self._act, self._dtype, self._use_cudnn = param_attr, bias_attr, act, dtype, use_cudnn
        self.weight = self.create_parameter([num_channels, num_filters // self._groups] + self._filter_size, param_attr, dtype)
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        """Returns the transposed convolution.

        Args:
            input (Variable): volumes, channels in front.
        """
        attrs = {
            "strides": self._stride, "paddings": self._padding, "dilations": self._dilation, "groups": self._groups or 1,
            "use_cudnn": self._use_cudnn,
        }
        made = apply(self, "conv3d_transpose", {"Input": input, "Filter": self.weight}, attrs, "Output")
        return activated(self, biased(self, made, self.bias if self._bias_attr else None), self._act)


class Conv2DTranspose(Layer):
    """Transposed convolution of images.

    Args:
        num_channels (int), num_filters (int): channels of input and output.
        filter_size (int or tuple): of both dimensions.
        output_size (int or list): the size of the result, where several are possible.
        padding (int or tuple), stride (int or tuple), dilation (int or tuple): of both dimensions.
        groups (int): groups of channels that are convolved apart.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; ``bias_attr=False`` for no bias.
        use_cudnn (bool): changes nothing but the name of the operator of depthwise convolutions.
        act (str): an activation.
        dtype (str): of the parameters.
    """

    def __init__(self, num_channels, num_filters, filter_size, output_size=None, padding=0, stride=1, dilation=1, groups=None,
                 param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        super().__init__()
        _check_attr(param_attr, "conv2d_transpose")
        self._num_channels, self._num_filters, self._use_cudnn = num_channels, num_filters, use_cudnn
        self._param_attr, self._bias_attr, self._act, self._dtype = param_attr, bias_attr, act, dtype
        depthwise = num_channels == groups and num_filters == num_channels and not use_cudnn
        self._op_type = "depthwise_conv2d_transpose" if depthwise else "conv2d_transpose"
        self._padding, self._stride = sizes(padding, 2, "padding"), sizes(stride, 2, "stride")
        self._dilation, self._filter_size = sizes(dilation, 2, "dilation"), sizes(filter_size, 2, "conv2d_transpose.filter_size")
        if output_size is not None and not isinstance(output_size, (list, int)):
            raise ValueError("output_size should be list or int")
        self._output_size = [] if output_size is None else sizes(output_size, 2, "output_size")
        self._groups = 1 if groups is None else groups
        self.weight = self.create_parameter([num_channels, num_filters // self._groups] + self._filter_size, param_attr, dtype)
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        """Returns the transposed convolution.

        Args:
            input (Variable): images, channels in front.
        """
        attrs = {
            "output_size": self._output_size, "strides": self._stride, "paddings": self._padding, "dilations": self._dilation,
            "groups": self._groups, "use_cudnn": self._use_cudnn,
        }
        made = apply(self, self._op_type, {"Input": input, "Filter": self.weight}, attrs, "Output")
        return activated(self, biased(self, made, self.bias), self._act)


class Pool2D(Layer):
    """The maximum or the mean of windows of images.

    Args:
        pool_size (int or list): the size of windows.
        pool_type (str): ``max`` or ``avg``.
        pool_stride (int or list), pool_padding (int or list): of both dimensions.
        global_pooling (bool): one window that is the whole image.
        use_cudnn (bool): changes nothing.
        ceil_mode (bool): rounds the size of the result up.
        exclusive (bool): means do not count the padding.
    """

    def __init__(self, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
                 ceil_mode=False, exclusive=True):
        if pool_type not in ("max", "avg"):
            raise ValueError("Unknown pool_type: '%s'. It can only be 'max' or 'avg'." % (pool_type,))
        if global_pooling is False and pool_size == -1:
            raise ValueError("When the global_pooling is False, pool_size must be passed and be a valid value. Received pool_size: %s"
                             % (pool_size,))
        _check_cudnn(use_cudnn)
        super().__init__()
        self._pool_type, self._pool_size = pool_type, sizes(pool_size, 2, "pool_size")
        self._pool_padding, self._pool_stride = sizes(pool_padding, 2, "pool_padding"), sizes(pool_stride, 2, "pool_stride")
        self._global_pooling, self._use_cudnn, self._ceil_mode, self._exclusive = global_pooling, use_cudnn, ceil_mode, exclusive
        self._l_type = "pool2d"
        self._attrs = {
            "pooling_type": pool_type, "ksize": self._pool_size, "global_pooling": global_pooling, "strides": self._pool_stride,
            "paddings": self._pool_padding, "use_cudnn": use_cudnn, "ceil_mode": ceil_mode, "use_mkldnn": False, "exclusive": exclusive,
        }

    def forward(self, input):
        """Returns the pooled images.

        Args:
            input (Variable): images, channels in front.
        """
        return apply(self, "pool2d", {"X": input}, self._attrs)
