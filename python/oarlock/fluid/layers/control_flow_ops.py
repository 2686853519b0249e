"""Comparisons, counters and arrays: what control flow is made of."""

from ._call import layer

__all__ = [
    "array_length", "array_read", "array_to_lod_tensor", "array_write", "create_array", "equal", "greater_equal",
    "greater_than", "increment", "is_empty", "less_equal", "less_than", "lod_rank_table", "lod_tensor_to_array",
    "max_sequence_len", "not_equal", "reorder_lod_tensor_by_rank", "shrink_memory",
]


def increment(x, value=1.0, in_place=True):
    """Adds a number to a variable `[1]` and returns it."""
    return layer("increment", locals())


def less_than(x, y, force_cpu=None, cond=None):
    """`x < y`"""
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
    """Has it no elements? `[1]`"""
    return layer("is_empty", locals())


def array_write(x, i, array=None):
    """Writes into a new array at index `i`, an i64 `[1]`."""
    return layer("array_write", locals())


def array_read(array, i):
    """The tensor at index `i`."""
    return layer("array_read", locals())


def array_length(array):
    """How many tensors, an i64 `[1]`."""
    return layer("array_length", locals())


def create_array(dtype):
    """An array without tensors."""
    return layer("create_array", locals())


def reorder_lod_tensor_by_rank(x, rank_table):
    """Sequences in the table's order."""
    return layer("reorder_lod_tensor_by_rank", locals())


def lod_rank_table(x, level=0):
    """The sequences of a level, longest first."""
    return layer("lod_rank_table", locals())


def max_sequence_len(rank_table):
    """The longest sequence, an i64 `[1]`."""
    return layer("max_sequence_len", locals())


def lod_tensor_to_array(x, table):
    """The sequences cut by step: tensor `t` holds the `t`-th row of each that is long enough."""
    return layer("lod_tensor_to_array", locals())


def array_to_lod_tensor(x, table):
    """The way back."""
    return layer("array_to_lod_tensor", locals())


def shrink_memory(x, i, table):
    """The rows of the sequences that still run at step `i`."""
    return layer("shrink_memory", locals())
