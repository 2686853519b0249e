"""Products of complex matrices."""

from ...fluid import layers
from ..helper import complex_variable_exists, product

__all__ = ["matmul"]


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """The product of matrices.

    Args:
        x (ComplexVariable or Variable), y: the matrices; at least one is complex.
        transpose_x (bool), transpose_y (bool): exchanges rows and columns, without conjugation.
        alpha (float): a factor.
        name (str): the name of the layers.

    Example:
        >>> import oarlock.complex as cpx
        >>> eye = fluid.layers.eye(2)
        >>> cpx.matmul(fluid.framework.ComplexVariable(eye, eye), eye).shape
        (2, 2)
    """
    complex_variable_exists([x, y], "matmul")
    return product(x, y, lambda u, v: layers.matmul(u, v, transpose_x, transpose_y, alpha, name))
