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
    """The index of the largest element along ``axis``, int64.

    Args:
        x (Variable): the input.
        axis (int): the dimension.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=1)])[0].tolist()
        [1]
    """
    return layer("argmax", locals())


def argmin(x: Variable, axis: int = 0) -> Variable:
    """The index of the smallest element along ``axis``, int64.

    Args:
        x (Variable): the input.
        axis (int): the dimension.

    Returns:
        Variable: the result.
    """
    return layer("argmin", locals())


def argsort(input: Variable, axis: int = -1, descending: bool = False, name: Optional[str] = None) -> Variable:
    """The elements sorted along ``axis``, and the index that each had before.

    Args:
        input (Variable): any tensor of numbers.
        axis (int): the axis; negative ones count from the end.
        descending (bool): the largest first.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("argsort", locals())


def assign(input: Union[Variable, ArrayLike], output: Optional[Variable] = None) -> Variable:
    """A copy of a variable, or a constant from a numpy array.

    Args:
        input (Variable or numpy.ndarray): the value.
        output (Variable): where to write; otherwise a new variable.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> x.shape
        (1, 2)
    """
    return layer("assign", locals())


def cast(x: Variable, dtype: str) -> Variable:
    """Converts the element type.

    Args:
        x (Variable): any tensor.
        dtype (str): the element type.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([1.9], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "int64")])[0].tolist()
        [1]
    """
    return layer("cast", locals())


def concat(input: Sequence[Any], axis: int = 0, name: Optional[str] = None) -> Variable:
    """Joins tensors along an existing dimension.

    Args:
        input (list): tensors of equal sizes but for dimension ``axis``.
        axis (int): the dimension.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 5])
        >>> fluid.layers.concat([x, y], axis=1).shape
        (-1, 13)
    """
    return layer("concat", locals())


def create_global_var(
    shape: Union[int, Sequence[Any]], value: float, dtype: str, persistable: bool = False, force_cpu: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """A variable of block 0 with the first value ``value``; no optimizer changes it.

    Args:
        shape (int or list): sizes.
        value (float): first value of every element.
        dtype (str): element type.
        persistable (bool): keep it between runs.
        force_cpu (bool): carried along for saved programs.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("create_global_var", locals())


def create_parameter(
    shape: Sequence[Any], dtype: str, name: Optional[str] = None, attr: Optional[ParamLike] = None,
    is_bias: bool = False, default_initializer: Optional[Initializer] = None,
) -> Variable:
    """A parameter that belongs to no layer.

    Args:
        shape (list): of the parameter.
        dtype (str): of the parameter.
        name (str): its name; otherwise one is made.
        attr (ParamAttr): name, initializer, regularizer, learning rate.
        is_bias (bool): the default initializer is 0 instead of Xavier's.
        default_initializer (Initializer): used if ``attr`` has none.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.create_parameter([13, 4], "float32", name="w").shape
        (13, 4)
    """
    return layer("create_parameter", locals())


def create_tensor(dtype: str, name: Optional[str] = None, persistable: bool = False) -> Variable:
    """A variable that an operator of the program will write.

    Args:
        dtype (str): the element type.
        name (str): prefix of the names of its variables.
        persistable (bool): the value stays in the scope between runs and is saved.

    Returns:
        Variable: the result.
    """
    return layer("create_tensor", locals())


def diag(diagonal: Union[Variable, ArrayLike]) -> Variable:
    """A square matrix with ``diagonal`` on its diagonal and zeros elsewhere.

    Args:
        diagonal (Variable or numpy.ndarray): [n], any dtype.

    Returns:
        Variable: the result.
    """
    return layer("diag", locals())


def eye(
    num_rows: int, num_columns: Optional[int] = None, batch_shape: Optional[Sequence[Any]] = None,
    dtype: str = 'float32',
) -> Variable:
    """An identity matrix ``[num_rows, num_columns]``, repeated over the dimensions ``batch_shape``.

    Args:
        num_rows (int): rows (must be set).
        num_columns (int): columns; -1 for as many as rows.
        batch_shape (list): the matrix is repeated over these dimensions.
        dtype (str): element type of `Out`.

    Returns:
        Variable: the result.
    """
    return layer("eye", locals())


def fill_constant(
    shape: Union[Sequence[Any], Variable], dtype: str, value: Union[float, Variable], force_cpu: bool = False,
    out: Optional[Variable] = None,
) -> Variable:
    """A tensor whose elements are all ``value``.

    Args:
        shape (list or Variable): its sizes.
        dtype (str): its element type.
        value (float or Variable): the value.
        force_cpu (bool): accepted; values are always on the CPU.
        out (Variable): where to write; otherwise a new variable.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.fill_constant([2], "int64", 7)
        >>> fluid.Executor().run(fetch_list=[x])[0].tolist()
        [7, 7]
    """
    return layer("fill_constant", locals())


def fill_constant_batch_size_like(
    input: Variable, shape: Union[int, Sequence[Any]], dtype: str, value: float, input_dim_idx: int = 0,
    output_dim_idx: int = 0, force_cpu: bool = False,
) -> Variable:
    """`fill_constant` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``.

    Args:
        input (Variable): the tensor that gives the size.
        shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
        dtype (str): element type of `Out`.
        value (float): the value.
        input_dim_idx (int): which size of `Input` to take.
        output_dim_idx (int): which size of `Out` it becomes.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: the result.
    """
    return layer("fill_constant_batch_size_like", locals())


def has_inf(x: Variable) -> Variable:
    """True if an element is infinite, ``[1]``.

    Args:
        x (Variable): the input.

    Returns:
        Variable: the result.
    """
    return layer("has_inf", locals())


def has_nan(x: Variable) -> Variable:
    """True if an element is not a number, ``[1]``.

    Args:
        x (Variable): the input.

    Returns:
        Variable: the result.
    """
    return layer("has_nan", locals())


def isfinite(x: Variable) -> Variable:
    """True if every element is finite, ``[1]``.

    Args:
        x (Variable): any tensor of numbers, or selected rows.

    Returns:
        Variable: the result.
    """
    return layer("isfinite", locals())


def linspace(start: float, stop: float, num: int, dtype: str) -> Variable:
    """``num`` numbers from ``start`` to ``stop`` with equal distances.

    Args:
        start (float): one number, f32 or f64.
        stop (float): one number of the same dtype.
        num (int): one integer, at least 1.
        dtype (str): the element type.

    Returns:
        Variable: the result.
    """
    return layer("linspace", locals())


def ones(shape: Union[Sequence[Any], Variable], dtype: str, force_cpu: bool = False) -> Variable:
    """A tensor of ones.

    Args:
        shape (list or Variable): sizes of the result.
        dtype (str): the element type.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.ones([2], "int64")])[0].tolist()
        [1, 1]
    """
    return layer("ones", locals())


def ones_like(x: Variable, out: Optional[Variable] = None) -> Variable:
    """A tensor of ones with the shape and element type of ``x``.

    Args:
        x (Variable): the input.
        out (Variable): the result goes into this Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("ones_like", locals())


def range(
    start: Union[float, Variable], end: Union[float, Variable], step: Union[float, Variable], dtype: str,
) -> Variable:
    """``start``, ``start + step``, ... up to ``end``, which is left out.

    Args:
        start (float or Variable): one number.
        end (float or Variable): one number of the same dtype.
        step (float or Variable): one number of the same dtype, not 0.
        dtype (str): the element type.

    Returns:
        Variable: the result.
    """
    return layer("range", locals())


def reverse(x: Variable, axis: Union[int, Sequence[Any]]) -> Variable:
    """Reverses the order of elements along ``axis``, one dimension or several.

    Args:
        x (Variable): any tensor.
        axis (int or list): the axes; negative ones count from the end (must be set).

    Returns:
        Variable: the result.
    """
    return layer("reverse", locals())


def sums(input: Union[Variable, Sequence[Variable]], out: Optional[Variable] = None) -> Variable:
    """The sum of a list of tensors of one shape; ``out`` names a variable for the result.

    Args:
        input (Variable or list): the input.
        out (Variable): a Variable that the result goes into.

    Returns:
        Variable: the result.
    """
    return layer("sums", locals())


def tensor_array_to_tensor(
    input: Variable, axis: int = 1, name: Optional[str] = None, use_stack: bool = False,
) -> Variable:
    """The tensors of an array joined (or stacked, with ``use_stack``) along ``axis``, and the size of each there.

    Args:
        input (Variable): an array.
        axis (int): where the entries are put together; counts from the end if negative.
        name (str): prefix of the names of its variables.
        use_stack (bool): along a new axis.

    Returns:
        Variable: the result.
    """
    return layer("tensor_array_to_tensor", locals())


def zeros(shape: Union[Sequence[Any], Variable], dtype: str, force_cpu: bool = False) -> Variable:
    """A tensor of zeros.

    Args:
        shape (list or Variable): sizes of the result.
        dtype (str): the element type.
        force_cpu (bool): accepted; values are always on the CPU.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros([2], "float32")])[0].tolist()
        [0.0, 0.0]
    """
    return layer("zeros", locals())


def zeros_like(x: Variable, out: Optional[Variable] = None) -> Variable:
    """A tensor of zeros with the shape and element type of ``x``.

    Args:
        x (Variable): the input.
        out (Variable): the result goes into this Variable; ``None``: a new one.

    Returns:
        Variable: the result.
    """
    return layer("zeros_like", locals())
