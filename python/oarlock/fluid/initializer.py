"""First values of parameters."""

import contextlib

from . import _state

__all__ = [
    "Bilinear", "BilinearInitializer", "Constant", "ConstantInitializer", "MSRA", "MSRAInitializer", "Normal",
    "NormalInitializer", "NumpyArrayInitializer", "TruncatedNormal", "TruncatedNormalInitializer", "Uniform",
    "UniformInitializer", "Xavier", "XavierInitializer",
]


class Initializer:
    """The base of all initializers."""

    def __call__(self, var, block):
        """Appends the operator of the first value to a block of a startup program. In eager mode: gives the tensor its value."""
        if _state.tracer is not None:
            return _first_value(var, self)
        block.program.desc.initialize(block.idx, var.name, self)


def _first_value(var, initializer):
    from .framework import _first_value

    _first_value(var, initializer)


def _given(**arguments):
    # Scripts written for Fluid catch AssertionError here.
    for name, value in arguments.items():
        if value is None:
            raise AssertionError("an initializer needs %s, not None" % name)


class ConstantInitializer(Initializer):
    """Every element is ``value``."""

    _kind = "constant"

    def __init__(self, value=0.0, force_cpu=False):
        _given(value=value)
        self._value = value
        self._force_cpu = force_cpu


class UniformInitializer(Initializer):
    """Evenly between ``low`` and ``high``."""

    _kind = "uniform"

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        _given(low=low, high=high, seed=seed)
        self._low, self._high, self._seed = low, high, seed
        self._diag_num, self._diag_step, self._diag_val = diag_num, diag_step, diag_val


class NormalInitializer(Initializer):
    """A normal distribution."""

    _kind = "normal"

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        _given(loc=loc, scale=scale, seed=seed)
        self._mean, self._std_dev, self._seed = loc, scale, seed


class TruncatedNormalInitializer(Initializer):
    """A normal distribution, truncated at two standard deviations."""

    _kind = "truncated_normal"

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        _given(loc=loc, scale=scale, seed=seed)
        self._mean, self._std_dev, self._seed = loc, scale, seed


class XavierInitializer(Initializer):
    """Keeps the scale of gradients alike in all layers."""

    _kind = "xavier"

    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0):
        _given(uniform=uniform, seed=seed)
        self._uniform, self._fan_in, self._fan_out, self._seed = uniform, fan_in, fan_out, seed


class MSRAInitializer(Initializer):
    """For layers followed by a rectifier."""

    _kind = "msra"

    def __init__(self, uniform=True, fan_in=None, seed=0):
        _given(uniform=uniform, seed=seed)
        self._uniform, self._fan_in, self._seed = uniform, fan_in, seed


class BilinearInitializer(Initializer):
    """The weights with which a transposed convolution enlarges images."""

    _kind = "bilinear"


class NumpyArrayInitializer(Initializer):
    """These very values."""

    _kind = "assign"

    def __init__(self, value):
        self._value = value


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
Bilinear = BilinearInitializer


def force_init_on_cpu():
    """Everything is on the CPU."""
    return True


@contextlib.contextmanager
def init_on_cpu():
    """Everything is on the CPU."""
    yield
