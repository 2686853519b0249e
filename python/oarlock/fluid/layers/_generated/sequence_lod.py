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


def lod_append(x: Variable, level: Union[Sequence[Any]]) -> Variable:
    """Adds an innermost level to the LoD of a tensor; its elements do not change.

    Args:
        x (Variable): any element type, ``[rows, ...]``.
        level (list or tuple): the offsets of the new level, from 0 to the number of rows.

    Returns:
        Variable: ``x`` with one more level of LoD.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> y = fluid.layers.lod_append(x, [0, 1, 2, 3, 4, 5])
        >>> fluid.Executor().run(fetch_list=[y], return_numpy=False)[0].lod()
        [[0, 2, 5], [0, 1, 2, 3, 4, 5]]
    """
    return layer("lod_append", locals())


def lod_reset(x: Variable, y: Optional[Variable] = None, target_lod: Optional[Union[Sequence[Any]]] = None) -> Variable:
    """Gives a tensor another LoD; its elements do not change.

    The LoD divides the rows of a tensor into sequences. Usually it comes with what is fed
    (``fluid.create_lod_tensor``).

    Args:
        x (Variable): any element type, ``[rows, ...]``.
        y (Variable): the result gets its LoD; if it has none, it holds the offsets: int32 ``[sequences + 1]``.
            ``None``: ``target_lod`` counts.
        target_lod (list or tuple): the offsets of the sequences, from 0 to the number of rows: ``[0, 2, 5]`` are
            two sequences of 2 and 3 rows.

    Returns:
        Variable: ``x`` with one level of LoD.

    Raises:
        fluid.core.EnforceNotMet: the offsets do not end at the number of rows.
        TypeError: neither ``y`` nor ``target_lod`` is given.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> y = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> fluid.Executor().run(fetch_list=[y], return_numpy=False)[0].lod()
        [[0, 2, 5]]
    """
    return layer("lod_reset", locals())


def sequence_concat(input: Sequence[Variable], name: Optional[str] = None) -> Variable:
    """Joins sequences: sequence ``i`` of the result is that of the first input, followed by that of the second, and so
    on.

    Args:
        input (list of Variable): tensors with LoD, with equal numbers of sequences and rows of one shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: all rows; the lengths of the sequences are the sums of those of the inputs.

    Raises:
        fluid.core.EnforceNotMet: the inputs differ in the number of sequences, or in the shape of a row (when the
            program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> y = fluid.layers.assign(np.array([[10], [20]], "float32"))
        >>> y = fluid.layers.lod_reset(y, target_lod=[0, 1, 2])
        >>> out = fluid.layers.sequence_concat([x, y])
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).ravel().tolist(), tensor.lod()
        ([1.0, 2.0, 10.0, 3.0, 4.0, 5.0, 20.0], [[0, 3, 7]])
    """
    return layer("sequence_concat", locals())


def sequence_conv(
    input: Variable, num_filters: int, filter_size: int = 3, filter_stride: int = 1, padding: bool = True,
    padding_start: Optional[int] = None, bias_attr: Optional[ParamLike] = None,
    param_attr: Optional[ParamLike] = None, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Convolves sequences: each row of the result is a product of the rows around it with a trained weight, plus a
    bias.

    Rows beyond the ends of a sequence count as zeros. The weight is a parameter
    ``[filter_size * width, num_filters]``.

    Args:
        input (Variable): float32 or float64, ``[rows, width]`` with LoD.
        num_filters (int): the columns of the result.
        filter_size (int): the number of rows that a position sees.
        filter_stride (int): only 1.
        padding (bool): accepted; sequences are always padded with zeros, as in Fluid.
        padding_start (int): the first row that a position sees, relative to itself; ``None``:
            ``-(filter_size // 2)``, so that the window is around the position.
        bias_attr (ParamAttr): name, initializer, regularizer and learning rate of the bias; ``None``: zeros;
            ``False``: no bias.
        param_attr (ParamAttr): the same of the weight; ``None``: Xavier's initializer.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[rows, num_filters]`` with the LoD of ``input``.

    Raises:
        NotImplementedError: ``filter_stride`` is not 1.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> ones = fluid.initializer.Constant(1.0)
        >>> out = fluid.layers.sequence_conv(x, 1, filter_size=3, param_attr=ones, bias_attr=False)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> np.array(exe.run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
        [3.0, 3.0, 7.0, 12.0, 9.0]
    """
    return layer("sequence_conv", locals())


def sequence_enumerate(input: Variable, win_size: int, pad_value: int = 0, name: Optional[str] = None) -> Variable:
    """Makes n-grams: for each id the ``win_size`` ids from it on, within its sequence.

    Args:
        input (Variable): int32 or int64, ``[rows, 1]`` with LoD.
        win_size (int): the number of ids in a window.
        pad_value (int): stands for ids beyond the end of the sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[rows, win_size]`` with the LoD of ``input``.

    Raises:
        TypeError: the ids are no integers.

    Example:
        >>> ids = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "int64"))
        >>> ids = fluid.layers.lod_reset(ids, target_lod=[0, 3, 5])
        >>> out = fluid.layers.sequence_enumerate(ids, win_size=2)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
        [[1, 2], [2, 3], [3, 0], [4, 5], [5, 0]]
    """
    return layer("sequence_enumerate", locals())


def sequence_expand(x: Variable, y: Variable, ref_level: int = -1, name: Optional[str] = None) -> Variable:
    """Repeats each sequence of ``x`` as often as the sequences of ``y`` at a level of its LoD are long.

    Sequence ``i`` of ``x`` (its row ``i`` if it has no LoD) is repeated ``n`` times, where ``n`` is the length of
    sequence ``i`` of level ``ref_level`` of ``y``; 0 removes it. A vector per sentence becomes one per word this
    way.

    Args:
        x (Variable): any element type, ``[rows, ...]``; no LoD or one level.
        y (Variable): only its LoD is used.
        ref_level (int): the level of the LoD of ``y``; -1: the innermost one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the repeated rows of ``x``. If ``x`` has LoD, its repeated sequences are sequences again;
            otherwise the result has none.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
        >>> y = fluid.layers.lod_reset(fluid.layers.zeros([5, 1], "float32"), target_lod=[0, 2, 5])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_expand(x, y)])[0].tolist()
        [[1.0], [1.0], [2.0], [2.0], [2.0]]
    """
    return layer("sequence_expand", locals())


def sequence_expand_as(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """Repeats row ``i`` of ``x`` as often as sequence ``i`` of ``y`` has rows.

    Args:
        x (Variable): any element type, ``[sequences, ...]``: a row per sequence of ``y``.
        y (Variable): only its LoD, of one level, is used.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: as many rows as ``y``, with the LoD of ``y``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` does not have a row per sequence of ``y`` (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
        >>> y = fluid.layers.lod_reset(fluid.layers.zeros([5, 1], "float32"), target_lod=[0, 2, 5])
        >>> out = fluid.layers.sequence_expand_as(x, y)
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).tolist(), tensor.lod()
        ([[1.0], [1.0], [2.0], [2.0], [2.0]], [[0, 2, 5]])
    """
    return layer("sequence_expand_as", locals())


def sequence_first_step(input: Variable) -> Variable:
    """Takes the first row of each sequence.

    It is ``sequence_pool`` with ``first``.

    Args:
        input (Variable): float32 or float64, ``[rows, ...]`` with LoD.

    Returns:
        Variable: ``[sequences, ...]``.

    Raises:
        fluid.core.EnforceNotMet: the input has no LoD (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_first_step(x)])[0].tolist()
        [[1.0], [3.0]]
    """
    return layer("sequence_first_step", locals())


def sequence_last_step(input: Variable) -> Variable:
    """Takes the last row of each sequence.

    It is ``sequence_pool`` with ``last``; the usual way to use the last state of a recurrent layer.

    Args:
        input (Variable): float32 or float64, ``[rows, ...]`` with LoD.

    Returns:
        Variable: ``[sequences, ...]``.

    Raises:
        fluid.core.EnforceNotMet: the input has no LoD (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_last_step(x)])[0].tolist()
        [[2.0], [5.0]]
    """
    return layer("sequence_last_step", locals())


def sequence_mask(
    x: Variable, maxlen: Optional[Union[int, Variable]] = None, dtype: DTypeLike = 'int64', name: Optional[str] = None,
) -> Variable:
    """Makes a mask of lengths: ``out[..., j] = 1`` where ``j < x[...]``, otherwise 0.

    Multiply padded sequences by it to remove what stands behind their ends.

    Args:
        x (Variable): int32 or int64, any shape: lengths.
        maxlen (int or Variable): the size of the last dimension; ``None`` or -1: the largest length.
        dtype (dtype): the element type of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[*x.shape, maxlen]``, of ``dtype``.

    Example:
        >>> lengths = fluid.layers.assign(np.array([1, 3], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_mask(lengths)])[0].tolist()
        [[1, 0, 0], [1, 1, 1]]
        >>> out = fluid.layers.sequence_mask(lengths, maxlen=4, dtype="float32")
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    return layer("sequence_mask", locals())


def sequence_pad(
    x: Variable, pad_value: Variable, maxlen: Optional[int] = None, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Pads sequences to one length and makes a dense tensor of them.

    ``sequence_unpad`` is the inverse.

    Args:
        x (Variable): any element type, ``[rows, ...]`` with LoD.
        pad_value (Variable): the element type of ``x``: one number, or one row.
        maxlen (int): the length of the padded sequences; ``None``: that of the longest one.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (out, length): ``[sequences, maxlen, ...]`` without LoD, and int64 ``[sequences]``, the lengths
            before.

    Raises:
        IndexError: a sequence is longer than ``maxlen`` (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> out, length = fluid.layers.sequence_pad(x, fluid.layers.assign(np.array([0], "float32")))
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, length])]
        [[[[1.0], [2.0], [0.0]], [[3.0], [4.0], [5.0]]], [2, 3]]
    """
    return layer("sequence_pad", locals())


def sequence_pool(input: Variable, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Variable:
    """Reduces each sequence to one row.

    Sequences of different lengths are stored one after the other in the rows of a tensor, and its LoD tells where
    each begins. With several levels of LoD the innermost sequences are reduced, and the outer levels stay.

    Args:
        input (Variable): float32 or float64, ``[rows, ...]`` with LoD.
        pool_type (str): ``average``; ``sum``; ``sqrt``: the sum divided by the square root of the length; ``max``:
            column by column; ``last`` or ``first``: that row.
        is_test (bool): the program only predicts; the result is the same.
        pad_value (float): the elements of the result of an empty sequence.

    Returns:
        Variable: ``[sequences, ...]``.

    Raises:
        ValueError: ``pool_type`` is unknown.
        fluid.core.EnforceNotMet: the input has no LoD (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(x, "sum")])[0].tolist()
        [[3.0], [12.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(x, "max")])[0].tolist()
        [[2.0], [5.0]]
        >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
        >>> sentences = fluid.layers.sequence_pool(fluid.layers.embedding(words, [1000, 8]), "average")
        >>> sentences.shape
        (-1, 8)
    """
    return layer("sequence_pool", locals())


def sequence_reshape(input: Variable, new_dim: int) -> Variable:
    """Gives the rows of each sequence another width; the lengths of the sequences change accordingly.

    Args:
        input (Variable): any element type, ``[rows, width]`` with LoD.
        new_dim (int): the new width; it divides the number of elements of every sequence.

    Returns:
        Variable: ``[rows * width / new_dim, new_dim]`` with LoD.

    Raises:
        fluid.core.EnforceNotMet: a sequence does not fill rows of ``new_dim`` (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4], [5, 6], [7, 8]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 4])
        >>> out = fluid.layers.sequence_reshape(x, new_dim=4)
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).tolist(), tensor.lod()
        ([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], [[0, 1, 2]])
    """
    return layer("sequence_reshape", locals())


def sequence_reverse(x: Variable, name: Optional[str] = None) -> Variable:
    """Reverses the rows of each sequence.

    The sequences keep their order. It feeds the backward half of a bidirectional recurrent layer.

    Args:
        x (Variable): any element type, ``[rows, ...]`` with LoD.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and LoD of ``x``.

    Raises:
        fluid.core.EnforceNotMet: the input has no LoD (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> out = fluid.layers.sequence_reverse(x)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
        [2.0, 1.0, 5.0, 4.0, 3.0]
    """
    return layer("sequence_reverse", locals())


def sequence_scatter(input: Variable, index: Variable, updates: Variable, name: Optional[str] = None) -> Variable:
    """Adds the elements of sequence ``i`` of ``updates`` to row ``i`` of ``input``, at the columns in ``index``.

    Args:
        input (Variable): float32, float64, int32 or int64, ``[sequences, columns]``; it does not change itself.
        index (Variable): int32 or int64, ``[n, 1]`` with LoD: a column for each update.
        updates (Variable): the element type of ``input``, ``[n, 1]`` with the LoD of ``index``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        IndexError: an index is no column (when the program runs).

    Example:
        >>> x = fluid.layers.ones([2, 4], "float32")
        >>> index = fluid.layers.assign(np.array([[0], [1], [3]], "int64"))
        >>> index = fluid.layers.lod_reset(index, target_lod=[0, 2, 3])
        >>> updates = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
        >>> updates = fluid.layers.lod_reset(updates, target_lod=[0, 2, 3])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_scatter(x, index, updates)])[0].tolist()
        [[2.0, 3.0, 1.0, 1.0], [1.0, 1.0, 1.0, 4.0]]
    """
    return layer("sequence_scatter", locals())


def sequence_slice(input: Variable, offset: Variable, length: Variable, name: Optional[str] = None) -> Variable:
    """Takes a part of each sequence: ``length[i]`` rows from row ``offset[i]`` on.

    Args:
        input (Variable): any element type, ``[rows, ...]`` with LoD.
        offset (Variable): int32 or int64, ``[sequences, 1]``: the first row, counted from 0 in the sequence.
        length (Variable): int32 or int64, ``[sequences, 1]``: the number of rows.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[sum of the lengths, ...]`` with a LoD of these lengths.

    Raises:
        IndexError: a part reaches beyond the end of its sequence (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> offset = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> length = fluid.layers.assign(np.array([[1], [2]], "int64"))
        >>> out = fluid.layers.sequence_slice(x, offset, length)
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).tolist(), tensor.lod()
        ([[1.0], [4.0], [5.0]], [[0, 1, 3]])
    """
    return layer("sequence_slice", locals())


def sequence_softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None) -> Variable:
    """Computes the softmax over the rows of each sequence: ``exp(x) / sum(exp(x))``.

    Attention over the words of a sentence uses it: the weights of each sequence sum to 1.

    Args:
        input (Variable): float32 or float64, ``[rows, 1]`` or ``[rows]`` with LoD.
        use_cudnn (bool): accepted; computation is on the CPU.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: a row has more than one number, or the input has no LoD (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> weights = fluid.layers.sequence_softmax(x)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_pool(weights, "sum")])[0].tolist()
        [[1.0], [1.0]]
    """
    return layer("sequence_softmax", locals())


def sequence_unpad(x: Variable, length: Variable, name: Optional[str] = None) -> Variable:
    """Removes the padding of sequences: the inverse of ``sequence_pad``.

    Args:
        x (Variable): any element type, ``[sequences, maxlen, ...]``.
        length (Variable): int64, ``[sequences]``: the number of rows to keep of each sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[sum of the lengths, ...]`` with a LoD of these lengths.

    Raises:
        IndexError: a length is larger than ``maxlen`` (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 0], [3, 0, 0]], "float32"))
        >>> length = fluid.layers.assign(np.array([2, 1], "int64"))
        >>> out = fluid.layers.sequence_unpad(x, length)
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).tolist(), tensor.lod()
        ([[1.0], [2.0], [3.0]], [[0, 2, 3]])
    """
    return layer("sequence_unpad", locals())
