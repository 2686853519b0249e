"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cumsum", "erf", "exp", "floor", "gelu", "hard_shrink",
    "logsigmoid", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "softplus", "softshrink", "softsign", "sqrt",
    "square", "tanh", "tanh_shrink", "thresholded_relu", "uniform_random",
]


def abs(x: Variable, name: Optional[str] = None) -> Variable:
    """`|x|`

    Args:
        x (Variable): numbers.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("abs", locals())


def acos(x: Variable, name: Optional[str] = None) -> Variable:
    """The inverse cosine, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("acos", locals())


def asin(x: Variable, name: Optional[str] = None) -> Variable:
    """The inverse sine, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("asin", locals())


def atan(x: Variable, name: Optional[str] = None) -> Variable:
    """The inverse tangent, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("atan", locals())


def ceil(x: Variable, name: Optional[str] = None) -> Variable:
    """Each element rounded up.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("ceil", locals())


def cos(x: Variable, name: Optional[str] = None) -> Variable:
    """The cosine, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("cos", locals())


def cumsum(
    x: Variable, axis: Optional[int] = None, exclusive: Optional[bool] = None, reverse: Optional[bool] = None,
) -> Variable:
    """Running sums along ``axis``, the last dimension where ``None``. ``exclusive``: without the element itself;
    ``reverse``: from the end.

    Args:
        x (Variable): any tensor of numbers.
        axis (int): the axis; negative ones count from the end.
        exclusive (bool): without the element itself.
        reverse (bool): from the end.

    Returns:
        Variable: the result.
    """
    return layer("cumsum", locals())


def erf(x: Variable) -> Variable:
    """The error function, element by element.

    Args:
        x (Variable): f32 or f64.

    Returns:
        Variable: the result.
    """
    return layer("erf", locals())


def exp(x: Variable, name: Optional[str] = None) -> Variable:
    """The exponential function e^x, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([0.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.exp(x)])[0].tolist()
        [1.0]
    """
    return layer("exp", locals())


def floor(x: Variable, name: Optional[str] = None) -> Variable:
    """Each element rounded down.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("floor", locals())


def gelu(x: Variable, approximate: bool = False) -> Variable:
    """The Gaussian error linear unit ``x * P(X <= x)`` with X normally distributed; ``approximate`` uses tanh.

    Args:
        x (Variable): f32 or f64.
        approximate (bool): use the formula with tanh.

    Returns:
        Variable: the result.
    """
    return layer("gelu", locals())


def hard_shrink(x: Variable, threshold: Optional[float] = None) -> Variable:
    """``x``, but 0 where ``|x|`` is at most the threshold, which is 0.5 where ``None``.

    Args:
        x (Variable): f32 or f64.
        threshold (float): what counts as small.

    Returns:
        Variable: the result.
    """
    return layer("hard_shrink", locals())


def logsigmoid(x: Variable, name: Optional[str] = None) -> Variable:
    """`log(sigmoid(x))`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("logsigmoid", locals())


def reciprocal(x: Variable, name: Optional[str] = None) -> Variable:
    """`1 / x`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reciprocal", locals())


def round(x: Variable, name: Optional[str] = None) -> Variable:
    """Each element rounded to the nearest whole number, halves away from zero.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("round", locals())


def rsqrt(x: Variable, name: Optional[str] = None) -> Variable:
    """`1 / sqrt(x)`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("rsqrt", locals())


def sigmoid(x: Variable, name: Optional[str] = None) -> Variable:
    """``1 / (1 + exp(-x))``, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([0.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sigmoid(x)])[0].tolist()
        [0.5]
    """
    return layer("sigmoid", locals())


def sin(x: Variable, name: Optional[str] = None) -> Variable:
    """The sine, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sin", locals())


def softplus(x: Variable, name: Optional[str] = None) -> Variable:
    """`log(1 + exp(x))`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("softplus", locals())


def softshrink(x: Variable, alpha: Optional[float] = None) -> Variable:
    """``x - alpha`` above ``alpha``, ``x + alpha`` below ``-alpha``, else 0; ``alpha`` is 0.5 where ``None``.

    Args:
        x (Variable): f32 or f64.
        alpha (float): the threshold; ``None``: 0.5.

    Returns:
        Variable: the result.
    """
    return layer("softshrink", locals())


def softsign(x: Variable, name: Optional[str] = None) -> Variable:
    """`x / (1 + |x|)`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("softsign", locals())


def sqrt(x: Variable, name: Optional[str] = None) -> Variable:
    """The square root, element by element.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sqrt", locals())


def square(x: Variable, name: Optional[str] = None) -> Variable:
    """`x * x`

    Args:
        x (Variable): numbers.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("square", locals())


def tanh(x: Variable, name: Optional[str] = None) -> Variable:
    """The hyperbolic tangent, element by element: ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.tanh(fluid.data("x", [None, 3])).shape
        (-1, 3)
    """
    return layer("tanh", locals())


def tanh_shrink(x: Variable, name: Optional[str] = None) -> Variable:
    """`x - tanh(x)`

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("tanh_shrink", locals())


def thresholded_relu(x: Variable, threshold: Optional[float] = None) -> Variable:
    """``x``, but 0 where it is at most the threshold, which is 1 where ``None``.

    Args:
        x (Variable): f32 or f64.
        threshold (float): what counts as large.

    Returns:
        Variable: the result.
    """
    return layer("thresholded_relu", locals())


def uniform_random(
    shape: Union[Sequence[Any], Variable], dtype: str = 'float32', min: float = -1.0, max: float = 1.0, seed: int = 0,
) -> Variable:
    """A tensor of random numbers, uniform in ``[min, max)``. ``seed`` 0 takes the program's seed.

    Args:
        shape (list or Variable): the sizes.
        dtype (str): element type of `Out`: f32 or f64.
        min (float): lower bound.
        max (float): upper bound, excluded.
        seed (int): start of the sequence; 0 for another one in every run.

    Returns:
        Variable: the result.
    """
    return layer("uniform_random", locals())
