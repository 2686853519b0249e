"""Complex numbers in other shapes."""

from ...fluid import layers
from ..helper import complex_variable_exists, each

__all__ = ["reshape", "transpose"]


def reshape(x, shape, inplace=False, name=None):
    """The same elements in another shape.

    Args:
        x (ComplexVariable): the numbers.
        shape (list): the sizes.
        inplace (bool): ``x`` itself gets the shape.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> eye = fluid.layers.eye(2)
        >>> cpx.reshape(fluid.framework.ComplexVariable(eye, eye), [4]).shape
        (4,)
    """
    complex_variable_exists([x], "reshape")
    made = each(x, lambda part: layers.reshape(part, shape, inplace=inplace, name=name))
    if not inplace:
        return made
    x.real, x.imag = made.real, made.imag
    return x


def transpose(x, perm, name=None):
    """The same elements with dimensions exchanged.

    Args:
        x (ComplexVariable): the numbers.
        perm (list): for each dimension of the result, that of ``x``.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> ones = fluid.layers.ones([2, 3], "float32")
        >>> cpx.transpose(fluid.framework.ComplexVariable(ones, ones), [1, 0]).shape
        (3, 2)
    """
    complex_variable_exists([x], "transpose")
    return each(x, lambda part: layers.transpose(part, perm, name))
