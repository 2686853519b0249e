"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "data", "embedding", "one_hot",
]


def data(name: str, shape: Union[int, Sequence[Any]], dtype: str = 'float32', lod_level: int = 0) -> Variable:
    """A variable that is fed; None or -1 for sizes that are known only when the program runs. Feeds are checked.

    Args:
        name (str): prefix of the names of its variables.
        shape (int or list): sizes of the result.
        dtype (str): the element type.
        lod_level (int): levels of sequences; 0: none.

    Returns:
        Variable: the result.
    """
    return layer("fluid.data", locals())


def embedding(
    input: Variable, size: Sequence[Any], is_sparse: bool = False, is_distributed: bool = False,
    padding_idx: Optional[int] = None, param_attr: Optional[ParamLike] = None, dtype: str = 'float32', *,
    entry: Optional[str] = None, evict: Optional[str] = None,
) -> Variable:
    """Rows of a table by ids ``[...]``; the width becomes the last dimension. ``entry`` and ``evict`` as in
    ``fluid.layers.embedding``.

    Args:
        input (Variable): the input.
        size (list): ``[rows, width]`` of the table.
        is_sparse (bool): the gradient holds only the rows of the batch.
        is_distributed (bool): rows are found by id and made on first use: on parameter servers, or in memory where there are none.
        padding_idx (int): the id whose row is zero; negative ones count from the end.
        param_attr (ParamAttr): the table.
        dtype (str): element type of the table.
        entry (str): which ids get a row of a distributed table.
        evict (str): which rows of a distributed table go by themselves; none unless it is said.

    Returns:
        Variable: the result.
    """
    return layer("fluid.embedding", locals())


def one_hot(input: Variable, depth: int, allow_out_of_range: bool = False) -> Variable:
    """A 1 at the place of each id among ``depth`` zeros, along a new last dimension.

    Args:
        input (Variable): i32 or i64, [..., 1].
        depth (int): the length of the rows.
        allow_out_of_range (bool): an element outside of 0 to depth - 1 makes a row of zeros, not an error.

    Returns:
        Variable: the result.
    """
    return layer("fluid.one_hot", locals())
