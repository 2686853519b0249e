"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "Print", "array_length", "array_read", "array_to_lod_tensor", "array_write", "create_array", "equal",
    "greater_equal", "greater_than", "increment", "is_empty", "less_equal", "less_than", "lod_rank_table",
    "lod_tensor_to_array", "max_sequence_len", "not_equal", "reorder_lod_tensor_by_rank", "shrink_memory",
]


def Print(
    input: Variable, first_n: int = -1, message: Optional[str] = None, summarize: int = 20,
    print_tensor_name: bool = True, print_tensor_type: bool = True, print_tensor_shape: bool = True,
    print_tensor_lod: bool = True, print_phase: str = 'both',
) -> Variable:
    """Prints a variable whenever it is computed, and its gradient; returns it.

    Args:
        input (Variable): the input.
        first_n (int): the runs that print; -1 for all.
        message (str): printed before the value.
        summarize (int): elements to print; -1 for all.
        print_tensor_name (bool): print the variable's name.
        print_tensor_type (bool): print its element type.
        print_tensor_shape (bool): print its sizes.
        print_tensor_lod (bool): print its LoD.
        print_phase (str): FORWARD for values, BACKWARD for gradients, BOTH.

    Returns:
        Variable: the result.
    """
    return layer("Print", locals())


def array_length(array: Variable) -> Variable:
    """The number of tensors in a tensor array, int64 ``[1]``.

    Args:
        array (Variable): a tensor array, of `create_array` or `array_write`.

    Returns:
        Variable: the result.
    """
    return layer("array_length", locals())


def array_read(array: Variable, i: Variable) -> Variable:
    """The tensor at index ``i`` (int64 ``[1]``) of a tensor array.

    Args:
        array (Variable): a tensor array, of `create_array` or `array_write`.
        i (Variable): an int64 Variable of one element: the position.

    Returns:
        Variable: the result.
    """
    return layer("array_read", locals())


def array_to_lod_tensor(x: Variable, table: Variable) -> Variable:
    """Sequences from an array of steps: the inverse of `lod_tensor_to_array`.

    Args:
        x (Variable): an array with an entry per step.
        table (Variable): sequences by descending length, of `lod_rank_table`.

    Returns:
        Variable: the result.
    """
    return layer("array_to_lod_tensor", locals())


def array_write(x: Variable, i: Variable, array: Optional[Variable] = None) -> Variable:
    """Writes ``x`` at index ``i`` (int64 ``[1]``) of a tensor array, a new one if ``array`` is ``None``, and returns the
    array.

    Args:
        x (Variable): the input.
        i (Variable): an int64 Variable of one element: the position.
        array (Variable): a tensor array, of `create_array` or `array_write`.

    Returns:
        Variable: the result.
    """
    return layer("array_write", locals())


def create_array(dtype: str) -> Variable:
    """An empty tensor array.

    Args:
        dtype (str): the element type.

    Returns:
        Variable: the result.
    """
    return layer("create_array", locals())


def equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """`x == y`

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("equal", locals())


def greater_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """`x >= y`

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("greater_equal", locals())


def greater_than(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """`x > y`

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("greater_than", locals())


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """Adds ``value`` to a variable of one element, in place by default, and returns it.

    Args:
        x (Variable): [1], any number.
        value (float): the number to add.
        in_place (bool): change ``x`` itself.

    Returns:
        Variable: the result.

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 3)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.increment(i, 2)])[0].tolist()
        [5]
    """
    return layer("increment", locals())


def is_empty(x: Variable, cond: Optional[Variable] = None) -> Variable:
    """True if ``x`` has no elements, ``[1]``.

    Args:
        x (Variable): any tensor.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("is_empty", locals())


def less_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """`x <= y`

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("less_equal", locals())


def less_than(x: Variable, y: Variable, force_cpu: Optional[bool] = None, cond: Optional[Variable] = None) -> Variable:
    """``x < y``, element by element.

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        force_cpu (bool): accepted; values are always on the CPU.
        cond (Variable): a bool variable for the result, as a `While` loop needs it; otherwise a new one.

    Returns:
        Variable: the result.

    Example:
        >>> i, n = fluid.layers.fill_constant([1], "int64", 3), fluid.layers.fill_constant([1], "int64", 5)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.less_than(i, n)])[0].tolist()
        [True]
    """
    return layer("less_than", locals())


def lod_rank_table(x: Variable, level: int = 0) -> Variable:
    """A table of the sequences of a LoD level, longest first.

    Args:
        x (Variable): a tensor with LoD.
        level (int): the LoD level.

    Returns:
        Variable: the result.
    """
    return layer("lod_rank_table", locals())


def lod_tensor_to_array(x: Variable, table: Variable) -> Variable:
    """Sequences divided by step: tensor ``t`` of the array holds row ``t`` of every sequence that is long enough.

    Args:
        x (Variable): a tensor with LoD.
        table (Variable): sequences by descending length, of `lod_rank_table`.

    Returns:
        Variable: the result.
    """
    return layer("lod_tensor_to_array", locals())


def max_sequence_len(rank_table: Variable) -> Variable:
    """The length of the longest sequence of a rank table, int64 ``[1]``.

    Args:
        rank_table (Variable): a rank table.

    Returns:
        Variable: the result.
    """
    return layer("max_sequence_len", locals())


def not_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """`x != y`

    Args:
        x (Variable): any tensor of numbers or truth values.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        cond (Variable): the result goes into this bool Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("not_equal", locals())


def reorder_lod_tensor_by_rank(x: Variable, rank_table: Variable) -> Variable:
    """The sequences of ``x`` in the order of ``rank_table``.

    Args:
        x (Variable): sequences; without LoD, rows.
        rank_table (Variable): their order, made of this or another tensor.

    Returns:
        Variable: the result.
    """
    return layer("reorder_lod_tensor_by_rank", locals())


def shrink_memory(x: Variable, i: Variable, table: Variable) -> Variable:
    """The rows of the sequences that have a step ``i``.

    Args:
        x (Variable): the input.
        i (Variable): an int64 Variable of one element: the position.
        table (Variable): sequences by descending length, of `lod_rank_table`.

    Returns:
        Variable: the result.
    """
    return layer("shrink_memory", locals())
