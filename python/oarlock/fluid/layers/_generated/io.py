"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "data",
]


def data(
    name: str, shape: Union[Sequence[Any]], append_batch_size: bool = True, dtype: DTypeLike = 'float32',
    lod_level: int = 0, type: Any = core.VarDesc.VarType.LOD_TENSOR, stop_gradient: bool = True,
) -> Variable:
    """Declares a variable that is fed, with the batch as an additional first dimension.

    ``fluid.data`` takes the whole shape and checks what is fed; new programs should use it. Feeds of this variable
    are not checked, as in Fluid; sizes that do not fit are an error of the operator that uses them.

    Args:
        name (str): the key of ``feed``.
        shape (list or tuple): the sizes of one sample; -1 or ``None`` for a size that varies.
        append_batch_size (bool): put the size of the batch, -1, in front of ``shape``, unless a size in ``shape``
            is -1 or ``None``.
        dtype (dtype): the element type.
        lod_level (int): the number of LoD levels of sequences; 0: there are none.
        type (VarType): only ``LOD_TENSOR``.
        stop_gradient (bool): no gradient is computed for it.

    Returns:
        Variable: ``[-1, *shape]``, or ``shape`` without ``append_batch_size``.

    Example:
        >>> fluid.layers.data("x", [13]).shape
        (-1, 13)
        >>> fluid.layers.data("words", [1], dtype="int64", lod_level=1).lod_level
        1
    """
    return layer("data", locals())
