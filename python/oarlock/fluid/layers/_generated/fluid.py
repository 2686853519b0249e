"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "data", "embedding", "one_hot",
]


def data(name: str, shape: Union[Sequence[Any]], dtype: DTypeLike = 'float32', lod_level: int = 0) -> Variable:
    """Declares a variable that is fed; what is fed must have the declared shape and element type.

    No gradient is computed for it unless its ``stop_gradient`` is set to ``False``.

    Args:
        name (str): the key of ``feed``; every variable of a program has a name of its own.
        shape (list or tuple): all sizes, with that of the batch first; ``None`` or -1 for a size that is known only
            when the program runs.
        dtype (dtype): the element type.
        lod_level (int): the number of LoD levels of sequences; 0: there are none.

    Returns:
        Variable: ``shape``, with -1 for ``None``.

    Raises:
        ValueError: the program has a variable of this name with another shape or type.
        fluid.core.EnforceNotMet: another shape is fed (when the program runs).
        TypeError: another element type is fed (when the program runs).

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> x.shape
        (-1, 2)
        >>> total = fluid.layers.reduce_sum(x)
        >>> fluid.Executor().run(feed={"x": np.ones([3, 2], "float32")}, fetch_list=[total])[0].tolist()
        [6.0]
    """
    return layer("fluid.data", locals())


def embedding(
    input: Variable, size: Union[Sequence[Any]], is_sparse: bool = False, is_distributed: bool = False,
    padding_idx: Optional[int] = None, param_attr: Optional[ParamLike] = None, dtype: DTypeLike = 'float32', *,
    entry: Optional[Any] = None, evict: Optional[Any] = None,
) -> Variable:
    """Looks up a row of a trained table for each id: ``out[..., :] = table[input[...]]``.

    The width of the table becomes a new last dimension. ``fluid.layers.embedding`` is the same for ids
    ``[..., 1]``. LoD is kept.

    Args:
        input (Variable): int64 or int32, any shape: ids from 0 to ``rows - 1``.
        size (list or tuple): ``[rows, width]`` of the table.
        is_sparse (bool): the gradient is SelectedRows: only the rows of the batch. Large tables need it. SGD,
            Adagrad, Ftrl and Adam with ``lazy_mode`` then update only these rows, Momentum, RMSProp and Adam all
            rows; Adadelta, Adamax and some others do not take such gradients.
        is_distributed (bool): a hashed table: any int64 is an id, and a row is made when its id is first used. It
            lives on the parameter servers, or in memory if there are none; ``size[0]`` is no limit.
        padding_idx (int): the row of this id reads as zeros and is not trained; a negative number counts from the
            last row; ``None``: there is no such id.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the table; layers with one name
            share a table. ``None``: Xavier's initializer.
        dtype (dtype): the element type of the table: float32 or float64.
        entry (object): ``paddle.distributed.CountFilterEntry``, ``ProbabilityEntry`` or ``ShowClickEntry``: which
            ids get a row of a hashed table, and whether shows and clicks are counted; ``None``: all ids, without
            counts. Fluid 1.8 does not have it.
        evict (object): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction``: which rows of a hashed table are
            evicted; ``None``: none. Fluid does not have it.

    Returns:
        Variable: ``[*input.shape, width]`` with the LoD of ``input``.

    Raises:
        TypeError: the ids are no integers.
        IndexError: an id is outside of the table (when the program runs).
        ValueError: ``size`` does not have two elements.

    Example:
        >>> ids = fluid.data("ids", [None, 20], "int64")
        >>> fluid.embedding(ids, size=[1000, 8], padding_idx=0).shape
        (-1, 20, 8)
    """
    return layer("fluid.embedding", locals())


def one_hot(input: Variable, depth: int, allow_out_of_range: bool = False) -> Variable:
    """Makes a vector per id with 1 at the position of the id and 0 elsewhere, along a new last dimension.

    No gradient flows through it.

    Args:
        input (Variable): int64 or int32, any shape: ids from 0 to ``depth - 1``.
        depth (int): the length of the vectors.
        allow_out_of_range (bool): another id gives zeros instead of an error.

    Returns:
        Variable: float32, ``[*input.shape, depth]``.

    Raises:
        IndexError: an id is not in ``[0, depth)``, without ``allow_out_of_range`` (when the program runs).

    Example:
        >>> ids = fluid.layers.assign(np.array([1, 0], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.one_hot(ids, depth=3)])[0].tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return layer("fluid.one_hot", locals())
