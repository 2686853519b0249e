"""Tensors: making, filling, joining."""

from ._call import layer, layer_into
from ._names import fallback

__all__ = [
    "argmax", "argmin", "argsort", "assign", "cast", "concat", "create_global_var", "create_parameter",
    "create_tensor", "diag", "eye", "fill_constant", "fill_constant_batch_size_like", "has_inf", "has_nan",
    "isfinite", "linspace", "ones", "ones_like", "range", "reverse", "sums", "tensor_array_to_tensor", "zeros",
    "zeros_like",
]

__getattr__ = fallback(__name__)


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter that belongs to no layer.

    Args:
        shape (list), dtype (str): of the parameter.
        name (str): its name; otherwise one is made.
        attr (ParamAttr): name, initializer, regularizer, learning rate.
        is_bias (bool): the default initializer is 0 instead of Xavier's.
        default_initializer: used if ``attr`` has none.

    Example:
        >>> fluid.layers.create_parameter([13, 4], "float32", name="w").shape
        (13, 4)
    """
    return layer("create_parameter", locals())


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable of block 0 with the first value ``value``; no optimizer changes it."""
    return layer("create_global_var", locals())


def create_tensor(dtype, name=None, persistable=False):
    """A variable that an operator of the program will write."""
    return layer("create_tensor", locals())


def sums(input, out=None):
    """The sum of a list of tensors of one shape; ``out`` names a variable for the result."""
    return layer("sums", locals())


def concat(input, axis=0, name=None):
    """Joins tensors along an existing dimension.

    Args:
        input (list): tensors of equal sizes but for dimension ``axis``.
        axis (int): the dimension.

    Example:
        >>> x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 5])
        >>> fluid.layers.concat([x, y], axis=1).shape
        (-1, 13)
    """
    return layer("concat", locals())


def reverse(x, axis):
    """Reverses the order of elements along ``axis``, one dimension or several."""
    return layer("reverse", locals())


def cast(x, dtype):
    """Converts the element type.

    Example:
        >>> x = fluid.layers.assign(np.array([1.9], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cast(x, "int64")])[0].tolist()
        [1]
    """
    return layer("cast", locals())


def assign(input, output=None):
    """A copy of a variable, or a constant from a numpy array.

    Args:
        input (Variable or numpy.ndarray): the value.
        output (Variable): where to write; otherwise a new variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> x.shape
        (1, 2)
    """
    return layer("assign", locals())


def argmax(x, axis=0):
    """The index of the largest element along ``axis``, int64.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.argmax(x, axis=1)])[0].tolist()
        [1]
    """
    return layer("argmax", locals())


def argmin(x, axis=0):
    """The index of the smallest element along ``axis``, int64."""
    return layer("argmin", locals())


def argsort(input, axis=-1, descending=False, name=None):
    """The elements sorted along ``axis``, and the index that each had before."""
    return layer("argsort", locals())


def diag(diagonal):
    """A square matrix with ``diagonal`` on its diagonal and zeros elsewhere."""
    return layer("diag", locals())


def eye(num_rows, num_columns=None, batch_shape=None, dtype='float32'):
    """An identity matrix ``[num_rows, num_columns]``, repeated over the dimensions ``batch_shape``."""
    made = layer("eye", locals())
    if batch_shape is None:
        return made
    made = layer("reshape", {"x": made, "shape": [1] * len(batch_shape) + list(made.shape), "actual_shape": None, "act": None,
                             "inplace": False})
    return layer("expand", {"x": made, "expand_times": list(batch_shape) + [1, 1]})


def linspace(start, stop, num, dtype):
    """``num`` numbers from ``start`` to ``stop`` with equal distances."""
    return layer("linspace", locals())


def range(start, end, step, dtype):
    """``start``, ``start + step``, ... up to ``end``, which is left out."""
    return layer("range", locals())


def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """A tensor whose elements are all ``value``.

    Args:
        shape (list or Variable): its sizes.
        dtype (str): its element type.
        value (float or Variable): the value.
        out (Variable): where to write; otherwise a new variable.

    Example:
        >>> x = fluid.layers.fill_constant([2], "int64", 7)
        >>> fluid.Executor().run(fetch_list=[x])[0].tolist()
        [7, 7]
    """
    return layer("fill_constant", locals())


def fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False):
    """`fill_constant` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``."""
    return layer("fill_constant_batch_size_like", locals())


def zeros(shape, dtype, force_cpu=False):
    """A tensor of zeros.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.zeros([2], "float32")])[0].tolist()
        [0.0, 0.0]
    """
    return layer("zeros", locals())


def ones(shape, dtype, force_cpu=False):
    """A tensor of ones.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.ones([2], "int64")])[0].tolist()
        [1, 1]
    """
    return layer("ones", locals())


def zeros_like(x, out=None):
    """A tensor of zeros with the shape and element type of ``x``."""
    return layer_into("zeros_like", locals())


def ones_like(x, out=None):
    """A tensor of ones with the shape and element type of ``x``."""
    return layer_into("ones_like", locals())


def isfinite(x):
    """True if every element is finite, ``[1]``."""
    return layer("isfinite", locals())


def has_inf(x):
    """True if an element is infinite, ``[1]``."""
    return layer("has_inf", locals())


def has_nan(x):
    """True if an element is not a number, ``[1]``."""
    return layer("has_nan", locals())


def tensor_array_to_tensor(input, axis=1, name=None, use_stack=False):
    """The tensors of an array joined (or stacked, with ``use_stack``) along ``axis``, and the size of each there."""
    return layer("tensor_array_to_tensor", locals())
