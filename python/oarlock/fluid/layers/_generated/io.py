"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "data",
]


def data(
    name: str, shape: Sequence[Any], append_batch_size: bool = True, dtype: str = 'float32', lod_level: int = 0,
    type: Any = core.VarDesc.VarType.LOD_TENSOR, stop_gradient: bool = True,
) -> Variable:
    """A variable that the user feeds, with the batch in front: ``shape`` is that of one sample. ``fluid.data`` takes the
    whole shape.

    Args:
        name (str): the key of ``feed``.
        shape (list): sizes of one sample; -1 for a size that varies.
        append_batch_size (bool): put the batch, -1, in front of ``shape``.
        dtype (str): the element type.
        lod_level (int): levels of sequences; 0: none.
        type (VarType): accepted; only ``LOD_TENSOR``.
        stop_gradient (bool): no gradient is computed for it.

    Returns:
        Variable: ``[-1, *shape]``.

    Example:
        >>> fluid.layers.data("x", [13]).shape
        (-1, 13)
    """
    return layer("data", locals())
