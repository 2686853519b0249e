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
    """Computes the absolute value ``|x|``, element by element.

    The gradient is the sign of ``x``, and 0 at 0.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([-1.5, 0, 2], "float32"))
        >>> out = fluid.layers.abs(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [1.5, 0.0, 2.0]
    """
    return layer("abs", locals())


def acos(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the inverse cosine, an angle in radians, element by element.

    Arguments outside of ``[-1, 1]`` give ``nan``. The gradient is infinite at -1 and 1.

    Args:
        x (Variable): float32 or float64, any shape; elements in ``[-1, 1]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie in ``[0, pi]``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
        >>> out = fluid.layers.acos(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [3.1416 1.5708 0.    ]
    """
    return layer("acos", locals())


def asin(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the inverse sine, an angle in radians, element by element.

    Arguments outside of ``[-1, 1]`` give ``nan``. The gradient is infinite at -1 and 1.

    Args:
        x (Variable): float32 or float64, any shape; elements in ``[-1, 1]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-pi / 2, pi / 2]``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
        >>> out = fluid.layers.asin(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-1.5708  0.      1.5708]
    """
    return layer("asin", locals())


def atan(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the inverse tangent, an angle in radians, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie between ``-pi / 2`` and ``pi / 2``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 100], "float32"))
        >>> out = fluid.layers.atan(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.7854  0.      1.5608]
    """
    return layer("atan", locals())


def ceil(x: Variable, name: Optional[str] = None) -> Variable:
    """Rounds each element up to a whole number: the smallest one that is not below ``x``.

    The element type does not change. The gradient is 0.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1.5, 0.2, 2], "float32"))
        >>> out = fluid.layers.ceil(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-1.0, 1.0, 2.0]
    """
    return layer("ceil", locals())


def cos(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the cosine of an angle in radians, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-1, 1]``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 0.5, 1], "float32"))
        >>> out = fluid.layers.cos(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [1.     0.8776 0.5403]
    """
    return layer("cos", locals())


def cumsum(
    x: Variable, axis: Optional[int] = None, exclusive: Optional[bool] = None, reverse: Optional[bool] = None,
) -> Variable:
    """Computes running sums along a dimension: ``out[i] = x[0] + ... + x[i]``.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        axis (int): the dimension; negative ones count from the end; ``None``: the last one.
        exclusive (bool): leave the element itself out of its sum; the first sum is then 0; ``None``: ``False``.
        reverse (bool): sum from the end to the beginning; ``None``: ``False``.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1)])[0].tolist()
        [[1.0, 3.0, 6.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1, exclusive=True)])[0].tolist()
        [[0.0, 1.0, 3.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cumsum(x, axis=1, reverse=True)])[0].tolist()
        [[6.0, 5.0, 3.0]]
    """
    return layer("cumsum", locals())


def erf(x: Variable) -> Variable:
    """Computes the error function ``2 / sqrt(pi) * integral of exp(-t * t) from 0 to x``, element by element.

    ``0.5 * (1 + erf(x / sqrt(2)))`` is the normal distribution function, which ``gelu`` uses.

    Args:
        x (Variable): float32 or float64, any shape.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie between -1 and 1.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 0.5], "float32"))
        >>> out = fluid.layers.erf(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.8427  0.      0.5205]
    """
    return layer("erf", locals())


def exp(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the exponential function ``e ** x``, element by element.

    Arguments above about 88 overflow to infinity in float32.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 1, -1], "float32"))
        >>> out = fluid.layers.exp(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [1.     2.7183 0.3679]
    """
    return layer("exp", locals())


def floor(x: Variable, name: Optional[str] = None) -> Variable:
    """Rounds each element down to a whole number: the largest one that is not above ``x``.

    The element type does not change. The gradient is 0.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1.5, 0.2, 2], "float32"))
        >>> out = fluid.layers.floor(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-2.0, 0.0, 2.0]
    """
    return layer("floor", locals())


def gelu(x: Variable, approximate: bool = False) -> Variable:
    """Computes the Gaussian error linear unit ``0.5 * x * (1 + erf(x / sqrt(2)))``, element by element.

    It is ``x`` times the probability that a normally distributed number is below ``x``.

    Args:
        x (Variable): float32 or float64, any shape.
        approximate (bool): compute ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))`` instead.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> out = fluid.layers.gelu(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.1587  0.      1.9545]
    """
    return layer("gelu", locals())


def hard_shrink(x: Variable, threshold: Optional[float] = None) -> Variable:
    """Sets small elements to 0: ``x`` where ``|x| > threshold``, otherwise 0.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): the largest magnitude that becomes 0; ``None``: 0.5.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.3, 1], "float32"))
        >>> out = fluid.layers.hard_shrink(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-2.0, 0.0, 1.0]
    """
    return layer("hard_shrink", locals())


def logsigmoid(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the logarithm of the logistic function, ``log(1 / (1 + exp(-x)))``, element by element.

    It is computed without the intermediate sigmoid, so that large negative arguments give about ``x`` instead of
    minus infinity.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. All elements are negative.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-100, 0, 2], "float32"))
        >>> out = fluid.layers.logsigmoid(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-100.       -0.6931   -0.1269]
    """
    return layer("logsigmoid", locals())


def reciprocal(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes ``1 / x``, element by element.

    0 gives infinity; it is no error.

    Args:
        x (Variable): float32 or float64, any shape; elements should not be 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.5, 4], "float32"))
        >>> out = fluid.layers.reciprocal(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-0.5, 2.0, 0.25]
    """
    return layer("reciprocal", locals())


def round(x: Variable, name: Optional[str] = None) -> Variable:
    """Rounds each element to the nearest whole number, halves away from zero.

    ``numpy.round`` differs: it rounds halves to the even neighbour. The element type does not change. The gradient
    is 0.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2.5, 0.4, 0.5, 2.5], "float32"))
        >>> out = fluid.layers.round(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-3.0, 0.0, 1.0, 3.0]
    """
    return layer("round", locals())


def rsqrt(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the reciprocal square root ``1 / sqrt(x)``, element by element.

    0 gives infinity and negative arguments give ``nan``.

    Args:
        x (Variable): float32 or float64, any shape; elements should be positive.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 4, 16], "float32"))
        >>> out = fluid.layers.rsqrt(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [1.0, 0.5, 0.25]
    """
    return layer("rsqrt", locals())


def sigmoid(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the logistic function ``1 / (1 + exp(-x))``, element by element.

    Results lie between 0 and 1. For a loss of a sigmoid use ``sigmoid_cross_entropy_with_logits``, which takes the
    argument of the sigmoid and stays finite for large ones.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0, 2], "float32"))
        >>> out = fluid.layers.sigmoid(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.1192 0.5    0.8808]
    """
    return layer("sigmoid", locals())


def sin(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the sine of an angle in radians, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie in ``[-1, 1]``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 0.5, 1], "float32"))
        >>> out = fluid.layers.sin(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.     0.4794 0.8415]
    """
    return layer("sin", locals())


def softplus(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes ``log(1 + exp(x))``, a smooth form of ``relu``, element by element.

    The gradient is ``sigmoid(x)``. Large arguments give ``x`` and do not overflow.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 100], "float32"))
        >>> out = fluid.layers.softplus(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [  0.3133   0.6931 100.    ]
    """
    return layer("softplus", locals())


def softshrink(x: Variable, alpha: Optional[float] = None) -> Variable:
    """Moves each element towards 0 by ``alpha``: ``x - alpha`` above ``alpha``, ``x + alpha`` below ``-alpha``,
    otherwise 0.

    Args:
        x (Variable): float32 or float64, any shape.
        alpha (float): the distance, not negative; ``None``: 0.5.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.3, 1], "float32"))
        >>> out = fluid.layers.softshrink(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-1.5, 0.0, 0.5]
    """
    return layer("softshrink", locals())


def softsign(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes ``x / (1 + |x|)``, element by element.

    Results lie between -1 and 1 as those of ``tanh``, which approaches its limits faster.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-3, 0, 1], "float32"))
        >>> out = fluid.layers.softsign(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-0.75, 0.0, 0.5]
    """
    return layer("softsign", locals())


def sqrt(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the square root, element by element.

    Negative arguments give ``nan``. The gradient ``0.5 / sqrt(x)`` is infinite at 0.

    Args:
        x (Variable): float32 or float64, any shape; elements should not be negative.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 4, 9], "float32"))
        >>> out = fluid.layers.sqrt(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [0.0, 2.0, 3.0]
    """
    return layer("sqrt", locals())


def square(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes ``x * x``, element by element.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([-3, 0.5, 2], "float32"))
        >>> out = fluid.layers.square(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [9.0, 0.25, 4.0]
    """
    return layer("square", locals())


def tanh(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the hyperbolic tangent ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie between -1 and 1.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
        >>> out = fluid.layers.tanh(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.7616  0.      0.7616]
    """
    return layer("tanh", locals())


def tanh_shrink(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes ``x - tanh(x)``, element by element.

    Small arguments become nearly 0, large ones move towards 0 by 1.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-3, 0.5, 3], "float32"))
        >>> out = fluid.layers.tanh_shrink(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-2.0049  0.0379  2.0049]
    """
    return layer("tanh_shrink", locals())


def thresholded_relu(x: Variable, threshold: Optional[float] = None) -> Variable:
    """Computes ``x`` where ``x > threshold``, otherwise 0, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): elements up to it become 0; ``None``: 1.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.5, 3], "float32"))
        >>> out = fluid.layers.thresholded_relu(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [0.0, 0.0, 3.0]
    """
    return layer("thresholded_relu", locals())


def uniform_random(
    shape: Union[Sequence[Any], Variable], dtype: DTypeLike = 'float32', min: float = -1.0, max: float = 1.0,
    seed: int = 0,
) -> Variable:
    """Makes a tensor of random numbers that are uniformly distributed over ``[min, max)``.

    The numbers differ from those of Fluid with the same seed.

    Args:
        shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
            be Variables ``[1]``.
        dtype (dtype): the element type: float32 or float64.
        min (float): lower bound.
        max (float): upper bound, excluded.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        TypeError: ``dtype`` is neither float32 nor float64.
        ValueError: ``min`` is above ``max``.

    Example:
        >>> x = fluid.layers.uniform_random([100], min=0.0, max=2.0, seed=1)
        >>> out = fluid.Executor().run(fetch_list=[x])[0]
        >>> out.shape, bool(out.min() >= 0.0), bool(out.max() < 2.0)
        ((100,), True, True)
    """
    return layer("uniform_random", locals())
