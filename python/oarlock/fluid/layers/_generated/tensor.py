"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "argmax", "argmin", "argsort", "assign", "cast", "concat", "create_global_var", "create_parameter",
    "create_tensor", "diag", "eye", "fill_constant", "fill_constant_batch_size_like", "has_inf", "has_nan",
    "isfinite", "linspace", "ones", "ones_like", "range", "reverse", "sums", "tensor_array_to_tensor", "zeros",
    "zeros_like",
]


def argmax(x: Variable, axis: int = 0) -> Variable:
    """Finds the position of the largest element along a dimension.

    Of several equal ones the first counts. No gradient flows through it.

    Args:
        x (Variable): numbers, any shape.
        axis (int): the dimension; negative ones count from the end.

    Returns:
        Variable: int64, the shape of ``x`` without dimension ``axis``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3], [9, 8, 7]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=1)])[0].tolist()
        [1, 0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=0)])[0].tolist()
        [1, 1, 1]
    """
    return layer("argmax", locals())


def argmin(x: Variable, axis: int = 0) -> Variable:
    """Finds the position of the smallest element along a dimension.

    Of several equal ones the first counts. No gradient flows through it.

    Args:
        x (Variable): numbers, any shape.
        axis (int): the dimension; negative ones count from the end.

    Returns:
        Variable: int64, the shape of ``x`` without dimension ``axis``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3], [9, 8, 7]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.argmin(x, axis=1)])[0].tolist()
        [0, 2]
    """
    return layer("argmin", locals())


def argsort(
    input: Variable, axis: int = -1, descending: bool = False, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Sorts the elements along a dimension, and tells where each of them was.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape.
        axis (int): the dimension; negative ones count from the end.
        descending (bool): the largest element first.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (sorted, indices): both with the shape of ``input``; the indices are int64.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[3, 1, 2]], "float32"))
        >>> values, indices = fluid.layers.argsort(x, axis=-1)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[values, indices])]
        [[[1.0, 2.0, 3.0]], [[1, 2, 0]]]
    """
    return layer("argsort", locals())


def assign(input: Union[Variable, ArrayLike], output: Optional[Variable] = None) -> Variable:
    """Copies a Variable, or makes a constant from a numpy array.

    The gradient passes through a copy. A constant is part of the program; keep it small.

    Args:
        input (Variable or numpy.ndarray): the value; an array of float32, int32, int64 or bool.
        output (Variable): a Variable that receives the value and is returned; ``None``: a new Variable.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        TypeError: the array has another element type, such as float64, the default of numpy.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> y = fluid.layers.assign(x)
        >>> fluid.Executor().run(fetch_list=[y])[0].tolist()
        [[1.0, 2.0]]
    """
    return layer("assign", locals())


def cast(x: Variable, dtype: DTypeLike) -> Variable:
    """Converts the element type.

    Floats lose their fraction when they become integers; numbers other than 0 become ``True``. The gradient is
    converted back to the type of ``x``.

    Args:
        x (Variable): any element type and shape.
        dtype (dtype): the new element type: bool, float16, float32, float64, int8, int16, int32, int64 or uint8.

    Returns:
        Variable: the shape and LoD of ``x``, of ``dtype``.

    Raises:
        TypeError: ``dtype`` is no element type.

    Example:
        >>> x = fluid.layers.assign(np.array([-1.9, 0, 2.6], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "int64")])[0].tolist()
        [-1, 0, 2]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "bool")])[0].tolist()
        [True, False, True]
    """
    return layer("cast", locals())


def concat(input: Sequence[Variable], axis: int = 0, name: Optional[str] = None) -> Variable:
    """Joins tensors along an existing dimension.

    The gradient is cut into the parts again.

    Args:
        input (list of Variable): tensors of one element type, whose sizes are equal but for dimension ``axis``.
        axis (int): the dimension; negative ones count from the end.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the size along ``axis`` is the sum of those of ``input``.

    Raises:
        fluid.core.EnforceNotMet: other sizes than the one at ``axis`` differ.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> y = fluid.layers.assign(np.array([[3, 4], [5, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.concat([x, y], axis=0)])[0].tolist()
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        >>> a, b = fluid.data("a", [None, 8]), fluid.data("b", [None, 5])
        >>> fluid.layers.concat([a, b], axis=1).shape
        (-1, 13)
    """
    return layer("concat", locals())


def create_global_var(
    shape: Union[Sequence[Any]], value: float, dtype: DTypeLike, persistable: bool = False, force_cpu: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Makes a variable with a first value that no optimizer changes, such as a counter or a learning rate.

    It belongs to the global block; the startup program sets its value.

    Args:
        shape (list or tuple): the sizes.
        value (float): the first value of every element.
        dtype (dtype): the element type.
        persistable (bool): keep the value between runs and save it with the model.
        force_cpu (bool): accepted; values are always on the CPU.
        name (str): its name; ``None``: it is generated.

    Returns:
        Variable: the variable.

    Example:
        >>> count = fluid.layers.create_global_var([1], value=0, dtype="int64", persistable=True)
        >>> count = fluid.layers.increment(count)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> [exe.run(fetch_list=[count])[0].tolist() for _ in range(3)]
        [[1], [2], [3]]
    """
    return layer("create_global_var", locals())


def create_parameter(
    shape: Union[Sequence[Any]], dtype: DTypeLike, name: Optional[str] = None, attr: Optional[ParamLike] = None,
    is_bias: bool = False, default_initializer: Optional[Initializer] = None,
) -> Variable:
    """Makes a parameter that belongs to no layer, for layers of your own.

    The startup program sets its first value; optimizers train it.

    Args:
        shape (list or tuple): the sizes; all are known.
        dtype (dtype): the element type.
        name (str): its name; ``None``: it is generated.
        attr (ParamAttr): name, initializer, regularizer and learning rate.
        is_bias (bool): the default initializer is 0 instead of Xavier's.
        default_initializer (Initializer): used if ``attr`` has none; ``None``: the default.

    Returns:
        Variable: the parameter.

    Raises:
        ValueError: a size is negative.
        TypeError: ``dtype`` is no element type.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> ones = fluid.initializer.Constant(1.0)
        >>> w = fluid.layers.create_parameter([2, 1], "float32", name="w", default_initializer=ones)
        >>> out = fluid.layers.matmul(x, w)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[3.0]]
    """
    return layer("create_parameter", locals())


def create_tensor(dtype: DTypeLike, name: Optional[str] = None, persistable: bool = False) -> Variable:
    """Makes a variable without a value, which an operator of the program will write.

    Pass it as the result of another layer, such as ``out`` or ``output``.

    Args:
        dtype (dtype): the element type.
        name (str): its name; ``None``: it is generated.
        persistable (bool): keep the value between runs and save it with the model.

    Returns:
        Variable: the variable; its shape is that of the value written.

    Example:
        >>> copy = fluid.layers.create_tensor("float32")
        >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> _ = fluid.layers.assign(x, output=copy)
        >>> fluid.Executor().run(fetch_list=[copy])[0].tolist()
        [3.0, 3.0]
    """
    return layer("create_tensor", locals())


def diag(diagonal: Union[Variable, ArrayLike]) -> Variable:
    """Makes a square matrix with the given diagonal and zeros elsewhere.

    Args:
        diagonal (Variable or numpy.ndarray): numbers, ``[n]``.

    Returns:
        Variable: ``[n, n]``, the element type of ``diagonal``.

    Raises:
        fluid.core.EnforceNotMet: ``diagonal`` does not have one dimension.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.diag(np.array([3, 4, 5], "int32"))])[0].tolist()
        [[3, 0, 0], [0, 4, 0], [0, 0, 5]]
    """
    return layer("diag", locals())


def eye(
    num_rows: int, num_columns: Optional[int] = None, batch_shape: Optional[Sequence[Any]] = None,
    dtype: DTypeLike = 'float32',
) -> Variable:
    """Makes an identity matrix, or a batch of them.

    Args:
        num_rows (int): the number of rows.
        num_columns (int): the number of columns; ``None``: that of the rows.
        batch_shape (list): sizes of dimensions in front, over which the matrix is repeated; ``None``: none.
        dtype (dtype): the element type: float16, float32, float64, int32 or int64.

    Returns:
        Variable: ``[*batch_shape, num_rows, num_columns]``, of ``dtype``.

    Raises:
        ValueError: a size is negative.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.eye(2, 3, dtype="int64")])[0].tolist()
        [[1, 0, 0], [0, 1, 0]]
        >>> fluid.layers.eye(3, batch_shape=[4]).shape
        (4, 3, 3)
    """
    return layer("eye", locals())


def fill_constant(
    shape: Union[Sequence[Any], Variable], dtype: DTypeLike, value: float, force_cpu: bool = False,
    out: Optional[Variable] = None,
) -> Variable:
    """Makes a tensor whose elements all have one value.

    No gradient flows through it.

    Args:
        shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
            be Variables ``[1]``.
        dtype (dtype): the element type, such as float32, int64 or bool.
        value (float): the value of every element.
        force_cpu (bool): accepted; values are always on the CPU.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        fluid.core.EnforceNotMet: a size in ``shape`` is negative.

    Example:
        >>> x = fluid.layers.fill_constant([2], "int64", 7)
        >>> fluid.Executor().run(fetch_list=[x])[0].tolist()
        [7, 7]
    """
    return layer("fill_constant", locals())


def fill_constant_batch_size_like(
    input: Variable, shape: Union[Sequence[Any]], dtype: DTypeLike, value: float, input_dim_idx: int = 0,
    output_dim_idx: int = 0, force_cpu: bool = False,
) -> Variable:
    """Makes a tensor of one value with a size that is taken from another tensor when the program runs, usually that of
    the batch.

    No gradient flows through it.

    Args:
        input (Variable): gives one size; its values are not used.
        shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
        dtype (dtype): the element type, such as float32, int64 or bool.
        value (float): the value of every element.
        input_dim_idx (int): the dimension of ``input`` that gives the size.
        output_dim_idx (int): the dimension of the result that gets it.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: ``shape`` with the size from ``input``, of ``dtype``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` or the result does not have the named dimension.

    Example:
        >>> x = fluid.data("x", [None, 8])
        >>> state = fluid.layers.fill_constant_batch_size_like(x, [-1, 3], "float32", 0.5)
        >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[state])[0].tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    return layer("fill_constant_batch_size_like", locals())


def has_inf(x: Variable) -> Variable:
    """Tells whether an element is infinite.

    It is one answer for the whole tensor, unlike that of ``numpy.isinf``.

    Args:
        x (Variable): numbers of any shape, or SelectedRows.

    Returns:
        Variable: bool ``[1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 1], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.has_inf(fluid.layers.log(x))])[0].tolist()
        [True]
    """
    return layer("has_inf", locals())


def has_nan(x: Variable) -> Variable:
    """Tells whether an element is ``nan``, not a number.

    It is one answer for the whole tensor, unlike that of ``numpy.isnan``.

    Args:
        x (Variable): numbers of any shape, or SelectedRows.

    Returns:
        Variable: bool ``[1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 1], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.has_nan(fluid.layers.log(x))])[0].tolist()
        [True]
    """
    return layer("has_nan", locals())


def isfinite(x: Variable) -> Variable:
    """Tells whether all elements are finite: neither infinite nor ``nan``.

    It is one answer for the whole tensor, unlike that of ``numpy.isfinite``.

    Args:
        x (Variable): numbers of any shape, or SelectedRows.

    Returns:
        Variable: bool ``[1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
        >>> y = fluid.layers.log(fluid.layers.assign(np.array([0, 1], "float32")))
        >>> exe = fluid.Executor()
        >>> exe.run(fetch_list=[fluid.layers.isfinite(x)])[0].tolist()
        [True]
        >>> exe.run(fetch_list=[fluid.layers.isfinite(y)])[0].tolist()
        [False]
    """
    return layer("isfinite", locals())


def linspace(start: float, stop: float, num: int, dtype: DTypeLike) -> Variable:
    """Makes ``num`` numbers from ``start`` to ``stop``, both included, at equal distances.

    Args:
        start (float): the first number.
        stop (float): the last number.
        num (int): how many numbers, at least 1; 1 gives ``start``.
        dtype (dtype): the element type: float32 or float64.

    Returns:
        Variable: ``[num]``, of ``dtype``.

    Raises:
        ValueError: ``num`` is less than 1 (when the program runs).
        TypeError: ``dtype`` is neither float32 nor float64.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.linspace(0, 10, 5, "float32")])[0].tolist()
        [0.0, 2.5, 5.0, 7.5, 10.0]
    """
    return layer("linspace", locals())


def ones(shape: Union[Sequence[Any], Variable], dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """Makes a tensor of ones.

    Args:
        shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
            be Variables ``[1]``.
        dtype (dtype): the element type, such as float32, int64 or bool.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        fluid.core.EnforceNotMet: a size in ``shape`` is negative.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.ones([2], "int64")])[0].tolist()
        [1, 1]
    """
    return layer("ones", locals())


def ones_like(x: Variable, out: Optional[Variable] = None) -> Variable:
    """Makes ones with the shape and element type of another tensor.

    Args:
        x (Variable): gives shape and element type; its values are not used.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.

    Returns:
        Variable: the shape and element type of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.ones_like(x)])[0].tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return layer("ones_like", locals())


def range(
    start: Union[float, Variable], end: Union[float, Variable], step: Union[float, Variable], dtype: DTypeLike,
) -> Variable:
    """Makes the numbers ``start``, ``start + step``, ... up to, but without, ``end``.

    Args:
        start (float or Variable): the first number; a Variable has one element.
        end (float or Variable): the bound, which is left out.
        step (float or Variable): the distance of neighbours, not 0; negative ones count down.
        dtype (dtype): the element type: float32, float64, int32 or int64.

    Returns:
        Variable: ``[ceil((end - start) / step)]``, of ``dtype``.

    Raises:
        ValueError: ``step`` is 0 or has the wrong sign (when the program runs).

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.range(0, 10, 3, "int64")])[0].tolist()
        [0, 3, 6, 9]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.range(1, 0, -0.25, "float32")])[0].tolist()
        [1.0, 0.75, 0.5, 0.25]
    """
    return layer("range", locals())


def reverse(x: Variable, axis: Union[int, Sequence[Any]]) -> Variable:
    """Reverses the order of the elements along one dimension or several.

    Args:
        x (Variable): any element type and shape.
        axis (int or list): the dimensions; negative ones count from the end.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has no such dimension.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reverse(x, axis=0)])[0].tolist()
        [[3.0, 4.0], [1.0, 2.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reverse(x, axis=[0, 1])])[0].tolist()
        [[4.0, 3.0], [2.0, 1.0]]
    """
    return layer("reverse", locals())


def sums(input: Union[Variable, Sequence[Variable]], out: Optional[Variable] = None) -> Variable:
    """Adds a list of tensors, element by element, optionally into an existing Variable.

    Args:
        input (Variable or list): one Variable or several of one shape and element type.
        out (Variable): a Variable that receives the sum and is returned, it may be one of ``input``; ``None``: a
            new Variable.

    Returns:
        Variable: the shape and element type of the elements of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the shapes differ.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
        >>> total = fluid.layers.fill_constant([2], "float32", 10.0)
        >>> total = fluid.layers.sums([total, x], out=total)
        >>> fluid.Executor().run(fetch_list=[total])[0].tolist()
        [11.5, 11.5]
    """
    return layer("sums", locals())


def tensor_array_to_tensor(
    input: Variable, axis: int = 1, name: Optional[str] = None, use_stack: bool = False,
) -> Tuple[Variable, ...]:
    """Joins the tensors of an array along a dimension, or stacks them along a new one.

    Args:
        input (Variable): a tensor array of ``create_array`` or ``array_write``; its tensors fit together as those
            of ``concat`` or ``stack`` do.
        axis (int): the dimension; negative ones count from the end.
        name (str): prefix of the names of its variables.
        use_stack (bool): stack along a new dimension instead of joining along an existing one.

    Returns:
        tuple: (out, sizes): the joined tensor, and int32 ``[tensors]``: the size of each tensor along ``axis``; 1
            with ``use_stack``.

    Example:
        >>> i = fluid.layers.fill_constant([1], "int64", 0)
        >>> array = fluid.layers.array_write(fluid.layers.ones([1, 2], "float32"), i)
        >>> i = fluid.layers.increment(i)
        >>> array = fluid.layers.array_write(fluid.layers.zeros([1, 1], "float32"), i, array=array)
        >>> out, sizes = fluid.layers.tensor_array_to_tensor(array, axis=1)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, sizes])]
        [[[1.0, 1.0, 0.0]], [2, 1]]
    """
    return layer("tensor_array_to_tensor", locals())


def zeros(shape: Union[Sequence[Any], Variable], dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """Makes a tensor of zeros.

    Args:
        shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
            be Variables ``[1]``.
        dtype (dtype): the element type, such as float32, int64 or bool.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        fluid.core.EnforceNotMet: a size in ``shape`` is negative.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros([2], "float32")])[0].tolist()
        [0.0, 0.0]
    """
    return layer("zeros", locals())


def zeros_like(x: Variable, out: Optional[Variable] = None) -> Variable:
    """Makes zeros with the shape and element type of another tensor.

    Args:
        x (Variable): gives shape and element type; its values are not used.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.

    Returns:
        Variable: the shape and element type of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros_like(x)])[0].tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """
    return layer("zeros_like", locals())
