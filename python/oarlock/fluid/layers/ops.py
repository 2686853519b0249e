"""Functions of each element."""

from ._call import layer
from ._names import fallback

__all__ = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cumsum", "erf", "exp", "floor", "gelu", "hard_shrink",
    "logsigmoid", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "softplus", "softshrink", "softsign", "sqrt",
    "square", "tanh", "tanh_shrink", "thresholded_relu", "uniform_random",
]

__getattr__ = fallback(__name__)


def sigmoid(x, name=None):
    """`1 / (1 + exp(-x))`"""
    return layer("sigmoid", locals())


def logsigmoid(x, name=None):
    """`log(sigmoid(x))`"""
    return layer("logsigmoid", locals())


def tanh(x, name=None):
    """The hyperbolic tangent."""
    return layer("tanh", locals())


def exp(x, name=None):
    """E to the power of `x`."""
    return layer("exp", locals())


def sqrt(x, name=None):
    """The square root."""
    return layer("sqrt", locals())


def rsqrt(x, name=None):
    """`1 / sqrt(x)`"""
    return layer("rsqrt", locals())


def square(x, name=None):
    """`x * x`"""
    return layer("square", locals())


def abs(x, name=None):
    """`|x|`"""
    return layer("abs", locals())


def ceil(x, name=None):
    """Rounded up."""
    return layer("ceil", locals())


def floor(x, name=None):
    """Rounded down."""
    return layer("floor", locals())


def round(x, name=None):
    """Rounded to the nearest, halves away from zero."""
    return layer("round", locals())


def reciprocal(x, name=None):
    """`1 / x`"""
    return layer("reciprocal", locals())


def softplus(x, name=None):
    """`log(1 + exp(x))`"""
    return layer("softplus", locals())


def softsign(x, name=None):
    """`x / (1 + |x|)`"""
    return layer("softsign", locals())


def gelu(x, approximate=False):
    """`x` times the normal distribution's integral up to `x`."""
    return layer("gelu", locals())


def sin(x, name=None):
    """The sine."""
    return layer("sin", locals())


def cos(x, name=None):
    """The cosine."""
    return layer("cos", locals())


def acos(x, name=None):
    """The inverse cosine."""
    return layer("acos", locals())


def asin(x, name=None):
    """The inverse sine."""
    return layer("asin", locals())


def atan(x, name=None):
    """The inverse tangent."""
    return layer("atan", locals())


def erf(x):
    """The error function."""
    return layer("erf", locals())


def softshrink(x, alpha=None):
    """`x` pulled towards zero by `alpha`, which is 0.5 where `None`."""
    return layer("softshrink", locals())


def hard_shrink(x, threshold=None):
    """0 within the threshold, which is 0.5 where `None`."""
    return layer("hard_shrink", locals())


def tanh_shrink(x, name=None):
    """`x - tanh(x)`"""
    return layer("tanh_shrink", locals())


def thresholded_relu(x, threshold=None):
    """0 up to the threshold, which is 1 where `None`."""
    return layer("thresholded_relu", locals())


def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Running sums along a dimension, the last one where `None`."""
    return layer("cumsum", locals())


def uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0):
    """In `[min, max)`."""
    return layer("uniform_random", locals())
