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
    """Prints a variable whenever it is computed, and its gradient, and returns it.

    The gradient is printed only if the rest of the network uses what the layer returns. It prints to the standard
    output of the process.

    Args:
        input (Variable): any element type and shape.
        first_n (int): the number of runs that print; -1: all.
        message (str): printed before the value; ``None``: nothing.
        summarize (int): the number of elements that are printed; -1: all.
        print_tensor_name (bool): print the name of the variable.
        print_tensor_type (bool): print the element type.
        print_tensor_shape (bool): print the sizes.
        print_tensor_lod (bool): print the LoD.
        print_phase (str): ``forward``: the value; ``backward``: the gradient; ``both``.

    Returns:
        Variable: ``input``, passed on.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> x = fluid.layers.Print(x, message="the value of x:", summarize=10)
        >>> x.shape
        (2,)
    """
    return layer("Print", locals())


def array_length(array: Variable) -> Variable:
    """Returns the number of tensors in a tensor array.

    Args:
        array (Variable): a tensor array of ``create_array`` or ``array_write``.

    Returns:
        Variable: int64 ``[1]``.

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 4)
        >>> array = fluid.layers.array_write(fluid.layers.ones([2], "float32"), i)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.array_length(array)])[0].tolist()
        [5]
    """
    return layer("array_length", locals())


def array_read(array: Variable, i: Variable) -> Variable:
    """Reads the tensor at a position of a tensor array.

    Args:
        array (Variable): a tensor array of ``create_array`` or ``array_write``.
        i (Variable): int64 ``[1]``: the position, from 0 on.

    Returns:
        Variable: the tensor.

    Raises:
        IndexError: nothing was written there (when the program runs).

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 0)
        >>> array = fluid.layers.array_write(fluid.layers.fill_constant([2], "float32", 7.0), i)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, i)])[0].tolist()
        [7.0, 7.0]
    """
    return layer("array_read", locals())


def array_to_lod_tensor(x: Variable, table: Variable) -> Variable:
    """Puts sequences together again from an array of steps: the inverse of ``lod_tensor_to_array``.

    Args:
        x (Variable): a tensor array with one tensor per step.
        table (Variable): the table with which the steps were made.

    Returns:
        Variable: ``[rows, ...]`` with the sequences in their original order.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> table = fluid.layers.lod_rank_table(x)
        >>> array = fluid.layers.lod_tensor_to_array(x, table)
        >>> out = fluid.layers.array_to_lod_tensor(array, table)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    return layer("array_to_lod_tensor", locals())


def array_write(x: Variable, i: Variable, array: Optional[Variable] = None) -> Variable:
    """Writes a tensor at a position of a tensor array.

    A tensor array is a list of tensors that grows while the program runs; loops keep the results of their steps in
    it. Gradients flow through it.

    Args:
        x (Variable): any element type and shape.
        i (Variable): int64 ``[1]``: the position, from 0 on. Positions that were skipped are empty.
        array (Variable): a tensor array of ``create_array`` or ``array_write``; ``None``: a new one.

    Returns:
        Variable: the array.

    Raises:
        TypeError: ``i`` is no integer.

    Example:
        >>> i, n = fluid.layers.fill_constant([1], "int64", 0), fluid.layers.fill_constant([1], "int64", 3)
        >>> array = fluid.layers.create_array("int64")
        >>> condition = fluid.layers.less_than(i, n)
        >>> loop = fluid.layers.While(condition)
        >>> with loop.block():
        ...     _ = fluid.layers.array_write(i * i, i, array=array)
        ...     i = fluid.layers.increment(i)
        ...     _ = fluid.layers.less_than(i, n, cond=condition)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.array_length(array)])[0].tolist()
        [3]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, n - 1)])[0].tolist()
        [4]
    """
    return layer("array_write", locals())


def create_array(dtype: DTypeLike) -> Variable:
    """Makes an empty tensor array.

    Args:
        dtype (dtype): the element type of its tensors.

    Returns:
        Variable: the array.

    Example:
        >>> array = fluid.layers.create_array("float32")
        >>> i = fluid.layers.fill_constant([1], "int64", 0)
        >>> array = fluid.layers.array_write(fluid.layers.ones([2], "float32"), i, array=array)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.array_read(array, i)])[0].tolist()
        [1.0, 1.0]
    """
    return layer("create_array", locals())


def equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x == y``, element by element.

    Floats are compared exactly; ``nan`` equals nothing. ``x == y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "int64"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.equal(x, y)])[0].tolist()
        [False, True, False]
    """
    return layer("equal", locals())


def greater_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x >= y``, element by element.

    ``x >= y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.greater_equal(x, y)])[0].tolist()
        [False, True, True]
    """
    return layer("greater_equal", locals())


def greater_than(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x > y``, element by element.

    ``x > y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.greater_than(x, y)])[0].tolist()
        [False, False, True]
    """
    return layer("greater_than", locals())


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """Adds ``value`` to a variable of one element.

    By default the variable itself changes, as counters of loops need it.

    Args:
        x (Variable): numbers, ``[1]``.
        value (float): the number to add; for an integer variable a whole number.
        in_place (bool): change ``x`` itself; otherwise the sum is a new Variable.

    Returns:
        Variable: ``x`` itself, or the new Variable ``[1]``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has more than one element.

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 3)
        >>> i = fluid.layers.increment(i, 2)
        >>> fluid.Executor().run(fetch_list=[i])[0].tolist()
        [5]
    """
    return layer("increment", locals())


def is_empty(x: Variable, cond: Optional[Variable] = None) -> Variable:
    """Tells whether a tensor has no elements.

    Args:
        x (Variable): any element type and shape.
        cond (Variable): a bool Variable that receives the result and is returned; ``None``: a new Variable.

    Returns:
        Variable: bool ``[1]``.

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> empty = fluid.layers.is_empty(x)
        >>> exe = fluid.Executor()
        >>> exe.run(feed={"x": np.zeros([0, 2], "float32")}, fetch_list=[empty])[0].tolist()
        [True]
        >>> exe.run(feed={"x": np.zeros([3, 2], "float32")}, fetch_list=[empty])[0].tolist()
        [False]
    """
    return layer("is_empty", locals())


def less_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x <= y``, element by element.

    ``x <= y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.less_equal(x, y)])[0].tolist()
        [True, True, False]
    """
    return layer("less_equal", locals())


def less_than(x: Variable, y: Variable, force_cpu: Optional[bool] = None, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x < y``, element by element.

    ``x < y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        force_cpu (bool): accepted; values are always on the CPU.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.less_than(x, y)])[0].tolist()
        [True, False, False]
        >>> i, n = fluid.layers.fill_constant([1], "int64", 0), fluid.layers.fill_constant([1], "int64", 5)
        >>> condition = fluid.layers.less_than(i, n)
        >>> loop = fluid.layers.While(condition)
        >>> with loop.block():
        ...     i = fluid.layers.increment(i)
        ...     _ = fluid.layers.less_than(i, n, cond=condition)
        >>> fluid.Executor().run(fetch_list=[i])[0].tolist()
        [5]
    """
    return layer("less_than", locals())


def lod_rank_table(x: Variable, level: int = 0) -> Variable:
    """Makes a table of the sequences of a LoD level, from the longest to the shortest.

    Sequences of equal length keep their order. ``lod_tensor_to_array`` and ``DynamicRNN`` use it.

    Args:
        x (Variable): any element type, with LoD.
        level (int): the LoD level whose sequences are sorted.

    Returns:
        Variable: the table, for the layers that take one; to fetch it is a ``TypeError``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> table = fluid.layers.lod_rank_table(x)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.max_sequence_len(table)])[0].tolist()
        [3]
    """
    return layer("lod_rank_table", locals())


def lod_tensor_to_array(x: Variable, table: Variable) -> Variable:
    """Divides sequences by step: tensor ``t`` of the array holds row ``t`` of every sequence that is long enough.

    Rows of a step are in the order of the table, from the longest sequence to the shortest, so that those of later
    steps are always the first ones of earlier steps. ``array_to_lod_tensor`` is the inverse.

    Args:
        x (Variable): any element type, ``[rows, ...]`` with LoD.
        table (Variable): a table of ``lod_rank_table`` for ``x``.

    Returns:
        Variable: a tensor array with one tensor per step.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> array = fluid.layers.lod_tensor_to_array(x, fluid.layers.lod_rank_table(x))
        >>> second = fluid.layers.array_read(array, fluid.layers.fill_constant([1], "int64", 1))
        >>> fluid.Executor().run(fetch_list=[second])[0].tolist()
        [[4.0], [2.0]]
    """
    return layer("lod_tensor_to_array", locals())


def max_sequence_len(rank_table: Variable) -> Variable:
    """Returns the length of the longest sequence of a rank table, which is the number of steps of a loop over all of
    them.

    Args:
        rank_table (Variable): a table of ``lod_rank_table``.

    Returns:
        Variable: int64 ``[1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> out = fluid.layers.max_sequence_len(fluid.layers.lod_rank_table(x))
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [3]
    """
    return layer("max_sequence_len", locals())


def not_equal(x: Variable, y: Variable, cond: Optional[Variable] = None) -> Variable:
    """Compares two tensors: ``x != y``, element by element.

    Floats are compared exactly; ``nan`` differs from everything. ``x != y`` with Variables does the same.

    Args:
        x (Variable): numbers or bool, any shape.
        y (Variable): the element type of ``x``; its sizes are those of the last dimensions of ``x``, or 1.
        cond (Variable): a bool Variable that receives the result and is returned, as the condition of a ``While``
            loop needs it; ``None``: a new Variable.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` and ``y`` have different element types.
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "int64"))
        >>> y = fluid.layers.assign(np.array([2, 2, 2], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.not_equal(x, y)])[0].tolist()
        [True, False, True]
    """
    return layer("not_equal", locals())


def reorder_lod_tensor_by_rank(x: Variable, rank_table: Variable) -> Variable:
    """Puts the sequences of a tensor into the order of a rank table.

    ``DynamicRNN`` works with sequences from the longest to the shortest; this brings another tensor into the same
    order.

    Args:
        x (Variable): any element type, ``[rows, ...]`` with LoD; without LoD its rows are reordered.
        rank_table (Variable): a table of ``lod_rank_table``, of this or another tensor with equally many sequences.

    Returns:
        Variable: the shape and element type of ``x``; the LoD in the new order.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> table = fluid.layers.lod_rank_table(x)
        >>> out = fluid.layers.reorder_lod_tensor_by_rank(x, table)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
        [3.0, 4.0, 5.0, 1.0, 2.0, 6.0]
    """
    return layer("reorder_lod_tensor_by_rank", locals())


def shrink_memory(x: Variable, i: Variable, table: Variable) -> Variable:
    """Takes the first rows of a state: those of the sequences that still have a step ``i``.

    States are in the order of the table, so that ended sequences are at the end.

    Args:
        x (Variable): any element type, ``[sequences, ...]``: the state after the step before.
        i (Variable): int64 ``[1]``: the number of the step, from 0 on.
        table (Variable): a table of ``lod_rank_table``.

    Returns:
        Variable: ``[sequences longer than i, ...]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5], [6]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5, 6])
        >>> table = fluid.layers.lod_rank_table(x)
        >>> state = fluid.layers.assign(np.array([[10], [20], [30]], "float32"))
        >>> step = fluid.layers.fill_constant([1], "int64", 1)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.shrink_memory(state, step, table)])[0].tolist()
        [[10.0], [20.0]]
    """
    return layer("shrink_memory", locals())
