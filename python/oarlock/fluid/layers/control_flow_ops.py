"""Comparisons, counters and arrays: what control flow is made of."""

from ._call import layer

__all__ = [
    "array_length", "array_read", "array_to_lod_tensor", "array_write", "create_array", "equal", "greater_equal",
    "greater_than", "increment", "is_empty", "less_equal", "less_than", "lod_rank_table", "lod_tensor_to_array",
    "max_sequence_len", "not_equal", "reorder_lod_tensor_by_rank", "shrink_memory",
]


def increment(x, value=1.0, in_place=True):
    """Adds ``value`` to a variable of one element, in place by default, and returns it.

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 3)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.increment(i, 2)])[0].tolist()
        [5]
    """
    return layer("increment", locals())


def less_than(x, y, force_cpu=None, cond=None):
    """``x < y``, element by element.

    Args:
        cond (Variable): a bool variable for the result, as a `While` loop needs it; otherwise a new one.

    Example:
        >>> i, n = fluid.layers.fill_constant([1], "int64", 3), fluid.layers.fill_constant([1], "int64", 5)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.less_than(i, n)])[0].tolist()
        [True]
    """
    return layer("less_than", locals())


def less_equal(x, y, cond=None):
    """`x <= y`"""
    return layer("less_equal", locals())


def greater_than(x, y, cond=None):
    """`x > y`"""
    return layer("greater_than", locals())


def greater_equal(x, y, cond=None):
    """`x >= y`"""
    return layer("greater_equal", locals())


def equal(x, y, cond=None):
    """`x == y`"""
    return layer("equal", locals())


def not_equal(x, y, cond=None):
    """`x != y`"""
    return layer("not_equal", locals())


def is_empty(x, cond=None):
    """True if ``x`` has no elements, ``[1]``."""
    return layer("is_empty", locals())


def array_write(x, i, array=None):
    """Writes ``x`` at index ``i`` (int64 ``[1]``) of a tensor array, a new one if ``array`` is ``None``, and returns the
    array."""
    return layer("array_write", locals())


def array_read(array, i):
    """The tensor at index ``i`` (int64 ``[1]``) of a tensor array."""
    return layer("array_read", locals())


def array_length(array):
    """The number of tensors in a tensor array, int64 ``[1]``."""
    return layer("array_length", locals())


def create_array(dtype):
    """An empty tensor array."""
    return layer("create_array", locals())


def reorder_lod_tensor_by_rank(x, rank_table):
    """The sequences of ``x`` in the order of ``rank_table``."""
    return layer("reorder_lod_tensor_by_rank", locals())


def lod_rank_table(x, level=0):
    """A table of the sequences of a LoD level, longest first."""
    return layer("lod_rank_table", locals())


def max_sequence_len(rank_table):
    """The length of the longest sequence of a rank table, int64 ``[1]``."""
    return layer("max_sequence_len", locals())


def lod_tensor_to_array(x, table):
    """Sequences divided by step: tensor ``t`` of the array holds row ``t`` of every sequence that is long enough."""
    return layer("lod_tensor_to_array", locals())


def array_to_lod_tensor(x, table):
    """Sequences from an array of steps: the inverse of `lod_tensor_to_array`."""
    return layer("array_to_lod_tensor", locals())


def shrink_memory(x, i, table):
    """The rows of the sequences that have a step ``i``."""
    return layer("shrink_memory", locals())
