"""First values of parameters, by the names of Paddle 2."""

from .._arguments import suggest as _suggest
from ..fluid.initializer import (
    BilinearInitializer as Bilinear, ConstantInitializer, NormalInitializer, NumpyArrayInitializer as Assign,
    TruncatedNormalInitializer, UniformInitializer, XavierInitializer,
)

__all__ = ["Assign", "Bilinear", "Constant", "Normal", "TruncatedNormal", "Uniform", "XavierNormal", "XavierUniform"]


class Constant(ConstantInitializer):
    """One value."""

    def __init__(self, value=0.0):
        super().__init__(value)


class Normal(NormalInitializer):
    """Numbers around a mean."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        super().__init__(mean, std)


class TruncatedNormal(TruncatedNormalInitializer):
    """Numbers around a mean, none further from it than two deviations."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        super().__init__(mean, std)


class Uniform(UniformInitializer):
    """Numbers between two limits."""

    def __init__(self, low=-1.0, high=1.0, name=None):
        super().__init__(low, high)


class XavierUniform(XavierInitializer):
    """Numbers that keep the size of signals from layer to layer, between two limits."""

    def __init__(self, fan_in=None, fan_out=None, name=None):
        super().__init__(True, fan_in, fan_out)


class XavierNormal(XavierInitializer):
    """Numbers that keep the size of signals from layer to layer, around zero."""

    def __init__(self, fan_in=None, fan_out=None, name=None):
        super().__init__(False, fan_in, fan_out)


def __getattr__(name):
    raise AttributeError("Oarlock has no paddle.nn.initializer.%s" % name)


_suggest(__name__)
