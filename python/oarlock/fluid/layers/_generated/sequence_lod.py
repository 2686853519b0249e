"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "lod_append", "lod_reset", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand",
    "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_mask", "sequence_pad",
    "sequence_pool", "sequence_reshape", "sequence_reverse", "sequence_scatter", "sequence_slice",
    "sequence_softmax", "sequence_unpad",
]


def lod_append(x: Variable, level: Union[int, Sequence[Any]]) -> Variable:
    """``x`` with ``level`` as an additional, innermost LoD level.

    Args:
        x (Variable): the input.
        level (int or list): lengths of the new innermost sequences.

    Returns:
        Variable: the result.
    """
    return layer("lod_append", locals())


def lod_reset(
    x: Variable, y: Optional[Variable] = None, target_lod: Optional[Union[int, Sequence[Any]]] = None,
) -> Variable:
    """``x`` with the LoD of ``y``, or with the offsets ``target_lod``.

    Args:
        x (Variable): any tensor.
        y (Variable): the second operand.
        target_lod (int or list): offsets of sequences, from 0 to the number of rows.

    Returns:
        Variable: the result.
    """
    return layer("lod_reset", locals())


def sequence_concat(input: Union[Variable, Sequence[Variable]], name: Optional[str] = None) -> Variable:
    """Joins the first sequences of all inputs, then the second ones, and so on.

    Args:
        input (Variable or list): with LoD; as many sequences each, rows of one width.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_concat", locals())


def sequence_conv(
    input: Variable, num_filters: int, filter_size: int = 3, filter_stride: int = 1, padding: bool = True,
    padding_start: Optional[int] = None, bias_attr: Optional[ParamLike] = None,
    param_attr: Optional[ParamLike] = None, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """A convolution along sequences with windows of ``filter_size`` rows, ``[rows, num_filters]``.

    Args:
        input (Variable): matrix with LoD.
        num_filters (int): outputs per step.
        filter_size (int): steps that a filter sees.
        filter_stride (int): steps of the filter; only 1 is possible.
        padding (bool): accepted; sequences are always padded with zeros.
        padding_start (int): where the filter begins, relative to a step; `None` puts it in the middle.
        bias_attr (ParamAttr): the bias.
        param_attr (ParamAttr): the weight.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_conv", locals())


def sequence_enumerate(input: Variable, win_size: int, pad_value: int = 0, name: Optional[str] = None) -> Variable:
    """For each id, the ``win_size`` ids from it on; positions beyond the end of the sequence are ``pad_value``.

    Args:
        input (Variable): ids, one per row, with LoD.
        win_size (int): how many ids a window has (must be set).
        pad_value (int): what stands beyond the end of a sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_enumerate", locals())


def sequence_expand(x: Variable, y: Variable, ref_level: int = -1, name: Optional[str] = None) -> Variable:
    """Repeats each sequence (or row) of ``x`` as often as level ``ref_level`` of ``y`` says.

    Args:
        x (Variable): with one level of LoD or none.
        y (Variable): of which only the LoD counts.
        ref_level (int): the level of Y's LoD; -1 for the innermost.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_expand", locals())


def sequence_expand_as(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """Repeats row ``i`` of ``x`` as often as sequence ``i`` of ``y`` has elements.

    Args:
        x (Variable): a row per sequence of `Y`.
        y (Variable): of which only the LoD counts.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_expand_as", locals())


def sequence_first_step(input: Variable) -> Variable:
    """The first row of each sequence.

    Args:
        input (Variable): the input.

    Returns:
        Variable: the result.
    """
    return layer("sequence_first_step", locals())


def sequence_last_step(input: Variable) -> Variable:
    """The last row of each sequence.

    Args:
        input (Variable): the input.

    Returns:
        Variable: the result.
    """
    return layer("sequence_last_step", locals())


def sequence_mask(
    x: Variable, maxlen: Optional[Union[int, Variable]] = None, dtype: str = 'int64', name: Optional[str] = None,
) -> Variable:
    """For each length ``n`` a row of ``n`` ones followed by zeros, up to ``maxlen`` columns (the largest length where
    ``None``).

    Args:
        x (Variable): lengths, i32 or i64.
        maxlen (int or Variable): size of the last dimension; -1 for the greatest length.
        dtype (str): the element type.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> lengths = fluid.layers.assign(np.array([1, 3], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_mask(lengths)])[0].tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    return layer("sequence_mask", locals())


def sequence_pad(
    x: Variable, pad_value: Variable, maxlen: Optional[int] = None, name: Optional[str] = None,
) -> Variable:
    """Sequences padded with ``pad_value`` to one length (``maxlen``, or that of the longest), and their lengths, int64.

    Args:
        x (Variable): with LoD.
        pad_value (Variable): one number, or one row.
        maxlen (int): the length of the result; ``None``: that of the longest sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_pad", locals())


def sequence_pool(input: Variable, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Variable:
    """One row per sequence.

    Args:
        input (Variable): sequences, LoD level 1 or more.
        pool_type (str): ``average``, ``sum``, ``sqrt`` (sum divided by the root of the length), ``max``, ``last`` or.
            ``first``.
        is_test (bool): compute as in prediction, not as in training.
        pad_value (float): the result of an empty sequence.

    Returns:
        Variable: the result.

    Example:
        >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
        >>> rows = fluid.layers.embedding(words, [1000, 8])
        >>> fluid.layers.sequence_pool(rows, "sum").shape
        (-1, 8)
    """
    return layer("sequence_pool", locals())


def sequence_reshape(input: Variable, new_dim: int) -> Variable:
    """The elements of each sequence in rows of ``new_dim`` columns.

    Args:
        input (Variable): matrix with LoD.
        new_dim (int): width of a row; must divide the numbers of every sequence (must be set).

    Returns:
        Variable: the result.
    """
    return layer("sequence_reshape", locals())


def sequence_reverse(x: Variable, name: Optional[str] = None) -> Variable:
    """Reverses the rows of each sequence.

    Args:
        x (Variable): with LoD.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_reverse", locals())


def sequence_scatter(input: Variable, index: Variable, updates: Variable, name: Optional[str] = None) -> Variable:
    """``input`` with the elements of sequence ``i`` of ``updates`` added to row ``i``, at the columns in ``index``.

    Args:
        input (Variable): a row per sequence.
        index (Variable): int64 positions, sequences as long as those of ``updates``.
        updates (Variable): one number per id.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_scatter", locals())


def sequence_slice(input: Variable, offset: Variable, length: Variable, name: Optional[str] = None) -> Variable:
    """A part of each sequence: ``length`` rows from ``offset`` on, both with one number per sequence.

    Args:
        input (Variable): with LoD.
        offset (Variable): i32 or i64, one per sequence.
        length (Variable): i32 or i64, one per sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_slice", locals())


def sequence_softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None) -> Variable:
    """The softmax over the elements of each sequence; ``input`` has one column.

    Args:
        input (Variable): one number per row, with LoD.
        use_cudnn (bool): accepted; computation is on the CPU.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_softmax", locals())


def sequence_unpad(x: Variable, length: Variable, name: Optional[str] = None) -> Variable:
    """Sequences of the lengths ``length`` from a padded tensor: the inverse of `sequence_pad`.

    Args:
        x (Variable): sequences by rows by anything.
        length (Variable): i32 or i64, one per sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("sequence_unpad", locals())
