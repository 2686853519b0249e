"""Attributes of parameters that layers make."""

__all__ = ["ParamAttr", "WeightNormParamAttr"]


class ParamAttr:
    """A parameter's name, first value, learning-rate factor, weight decay, and whether it is trained."""

    _kind = "param_attr"

    def __init__(self, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=True, gradient_clip=None):
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.gradient_clip = gradient_clip

    @staticmethod
    def _to_attr(arg):
        """An argument ``param_attr`` as a ParamAttr; False for none."""
        if arg is None:
            return ParamAttr()
        if isinstance(arg, (list, tuple)):
            return [ParamAttr._to_attr(a) for a in arg]
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if isinstance(arg, bool):
            return ParamAttr() if arg else False
        if getattr(arg, "_kind", None):
            return ParamAttr(initializer=arg)
        raise TypeError("{0} cast to ParamAttr".format(type(arg)))


class WeightNormParamAttr(ParamAttr):
    """A weight as a direction and a length, both trained.

    Args:
        dim (int): the dimension that keeps lengths of its own; None: one length for the whole weight.
        name (str), initializer, learning_rate (float), regularizer, trainable (bool), do_model_average (bool): as those of ParamAttr.

    Example:
        >>> attr = fluid.WeightNormParamAttr(dim=None, name="w")
        >>> out = fluid.layers.fc(fluid.data("x", [None, 4]), 2, param_attr=attr)
        >>> [p.name for p in fluid.WeightNormParamAttr.params_with_weight_norm][-1:]
        ['elementwise_mul_0.tmp_0']
    """

    # The weights that layers made so: variables of programs, in the order in which they were made.
    params_with_weight_norm: list = []

    _kind = "weight_norm_param_attr"

    def __init__(self, dim=None, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=False):
        super().__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average)
        self.dim = dim
