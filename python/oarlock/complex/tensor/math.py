"""Arithmetic of complex numbers."""

from ...fluid import layers
from ...fluid.framework import ComplexVariable
from ..helper import complex_variable_exists, each, is_complex, parts, product

__all__ = ["elementwise_add", "elementwise_div", "elementwise_mul", "elementwise_sub", "kron", "sum", "trace"]

_DOC = """

    Args:
        x (ComplexVariable or Variable), y: the numbers; at least one is complex.
        axis (int): where the dimensions of ``y`` begin in those of ``x``; -1: at the end.
        name (str): the name of the layers.

    Returns:
        ComplexVariable

    Example:
        >>> import oarlock.complex as cpx
        >>> one, two = (fluid.layers.fill_constant([1], "float32", v) for v in (1.0, 2.0))
        >>> x = fluid.framework.ComplexVariable(one, two)
        >>> made = cpx.elementwise_%s(x, x)
        >>> [v.item() for v in fluid.Executor().run(fetch_list=[made.real, made.imag])]
        %s
"""


def _sum(x, y, axis, name, add):
    (a, b), (c, d) = parts(x), parts(y)
    real = add(a, c, axis=axis, name=name)
    if d is None:
        # Of the shape of the real part, which ``y`` may have made larger.
        return ComplexVariable(real, layers.assign(b))
    return ComplexVariable(real, add(layers.zeros_like(a) if b is None else b, d, axis=axis, name=name))


def elementwise_add(x, y, axis=-1, name=None):
    """``x + y``, element by element."""
    complex_variable_exists([x, y], "elementwise_add")
    return _sum(x, y, axis, name, layers.elementwise_add)


def elementwise_sub(x, y, axis=-1, name=None):
    """``x - y``, element by element."""
    complex_variable_exists([x, y], "elementwise_sub")
    return _sum(x, y, axis, name, layers.elementwise_sub)


def elementwise_mul(x, y, axis=-1, name=None):
    """``x * y``, element by element."""
    complex_variable_exists([x, y], "elementwise_mul")
    return product(x, y, lambda u, v: layers.elementwise_mul(u, v, axis=axis, name=name))


def elementwise_div(x, y, axis=-1, name=None):
    """``x / y``, element by element."""
    complex_variable_exists([x, y], "elementwise_div")
    c, d = parts(y)
    square = layers.pow(c, 2.0) if d is None else layers.pow(c, 2.0) + layers.pow(d, 2.0)
    conjugate = c if d is None else ComplexVariable(c, -d)
    if is_complex(x) or is_complex(conjugate):
        return elementwise_mul(elementwise_mul(x, conjugate, axis=axis, name=name), 1 / square, axis=axis, name=name)
    raise ValueError("elementwise_div takes a ComplexVariable")


for _layer, _value in ((elementwise_add, "[2.0, 4.0]"), (elementwise_sub, "[0.0, 0.0]"), (elementwise_mul, "[-3.0, 4.0]"),
                       (elementwise_div, "[1.0, 0.0]")):
    _layer.__doc__ += _DOC % (_layer.__name__.rpartition("_")[2], _value)


def trace(input, offset=0, dim1=0, dim2=1, name=None):
    """The sum of a diagonal.

    Args:
        input (ComplexVariable): at least two dimensions.
        offset (int): above (or below, if negative) the main diagonal.
        dim1 (int), dim2 (int): the dimensions of the matrices.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> eye = fluid.layers.eye(3)
        >>> made = cpx.trace(fluid.framework.ComplexVariable(eye, eye))
        >>> [v.item() for v in fluid.Executor().run(fetch_list=[made.real, made.imag])]
        [3.0, 3.0]
    """
    complex_variable_exists([input], "trace")
    return each(input, lambda part: layers.trace(part, offset, dim1, dim2))


def sum(input, dim=None, keep_dim=False, name=None):
    """Sums along dimensions.

    Args:
        input (ComplexVariable): the numbers.
        dim (int or list): the dimensions; all if it is None.
        keep_dim (bool): keeps them, with size 1.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> ones = fluid.layers.ones([3], "float32")
        >>> made = cpx.sum(fluid.framework.ComplexVariable(ones, ones))
        >>> [v.item() for v in fluid.Executor().run(fetch_list=[made.real, made.imag])]
        [3.0, 3.0]
    """
    complex_variable_exists([input], "sum")
    return each(input, lambda part: layers.reduce_sum(part, dim=dim, keep_dim=keep_dim, name=name))


def kron(x, y, name=None):
    """The Kronecker product.

    Args:
        x (ComplexVariable or Variable), y: the tensors; at least one is complex.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> eye = fluid.layers.eye(2)
        >>> cpx.kron(fluid.framework.ComplexVariable(eye, eye), eye).shape
        (4, 4)
    """
    complex_variable_exists([x, y], "kron")
    return product(x, y, layers.kron)
