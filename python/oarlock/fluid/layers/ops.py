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
    """``1 / (1 + exp(-x))``, element by element.

    Example:
        >>> x = fluid.layers.assign(np.array([0.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sigmoid(x)])[0].tolist()
        [0.5]
    """
    return layer("sigmoid", locals())


def logsigmoid(x, name=None):
    """`log(sigmoid(x))`"""
    return layer("logsigmoid", locals())


def tanh(x, name=None):
    """The hyperbolic tangent, element by element: ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.

    Example:
        >>> fluid.layers.tanh(fluid.data("x", [None, 3])).shape
        (-1, 3)
    """
    return layer("tanh", locals())


def exp(x, name=None):
    """The exponential function e^x, element by element.

    Example:
        >>> x = fluid.layers.assign(np.array([0.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.exp(x)])[0].tolist()
        [1.0]
    """
    return layer("exp", locals())


def sqrt(x, name=None):
    """The square root, element by element."""
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
    """Each element rounded up."""
    return layer("ceil", locals())


def floor(x, name=None):
    """Each element rounded down."""
    return layer("floor", locals())


def round(x, name=None):
    """Each element rounded to the nearest whole number, halves away from zero."""
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
    """The Gaussian error linear unit ``x * P(X <= x)`` with X normally distributed; ``approximate`` uses tanh."""
    return layer("gelu", locals())


def sin(x, name=None):
    """The sine, element by element."""
    return layer("sin", locals())


def cos(x, name=None):
    """The cosine, element by element."""
    return layer("cos", locals())


def acos(x, name=None):
    """The inverse cosine, element by element."""
    return layer("acos", locals())


def asin(x, name=None):
    """The inverse sine, element by element."""
    return layer("asin", locals())


def atan(x, name=None):
    """The inverse tangent, element by element."""
    return layer("atan", locals())


def erf(x):
    """The error function, element by element."""
    return layer("erf", locals())


def softshrink(x, alpha=None):
    """``x - alpha`` above ``alpha``, ``x + alpha`` below ``-alpha``, else 0; ``alpha`` is 0.5 where ``None``."""
    return layer("softshrink", locals())


def hard_shrink(x, threshold=None):
    """``x``, but 0 where ``|x|`` is at most the threshold, which is 0.5 where ``None``."""
    return layer("hard_shrink", locals())


def tanh_shrink(x, name=None):
    """`x - tanh(x)`"""
    return layer("tanh_shrink", locals())


def thresholded_relu(x, threshold=None):
    """``x``, but 0 where it is at most the threshold, which is 1 where ``None``."""
    return layer("thresholded_relu", locals())


def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Running sums along ``axis``, the last dimension where ``None``. ``exclusive``: without the element itself;
    ``reverse``: from the end."""
    return layer("cumsum", locals())


def uniform_random(shape, dtype='float32', min=-1.0, max=1.0, seed=0):
    """A tensor of random numbers, uniform in ``[min, max)``. ``seed`` 0 takes the program's seed."""
    return layer("uniform_random", locals())
