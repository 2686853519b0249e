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
    """A parameter of no layer. `attr` says whether it has a name and how it starts (by default as weights do)."""
    return layer("create_parameter", locals())


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """`create_global_var`: a variable of block 0 with a first value that no optimizer changes."""
    return layer("create_global_var", locals())


def create_tensor(dtype, name=None, persistable=False):
    """A variable that some operator will write."""
    return layer("create_tensor", locals())


def sums(input, out=None):
    """See the operator's documentation."""
    return layer("sums", locals())


def concat(input, axis=0, name=None):
    """One after another along a dimension."""
    return layer("concat", locals())


def reverse(x, axis):
    """Backwards along these dimensions."""
    return layer("reverse", locals())


def cast(x, dtype):
    """The same numbers in another element type."""
    return layer("cast", locals())


def assign(input, output=None):
    """A copy."""
    return layer("assign", locals())


def argmax(x, axis=0):
    """Where along a dimension the largest element stands."""
    return layer("argmax", locals())


def argmin(x, axis=0):
    """Where along a dimension the smallest element stands."""
    return layer("argmin", locals())


def argsort(input, axis=-1, descending=False, name=None):
    """Sorted along a dimension, and where each element stood."""
    return layer("argsort", locals())


def diag(diagonal):
    """A matrix with this diagonal."""
    return layer("diag", locals())


def eye(num_rows, num_columns=None, batch_shape=None, dtype='float32'):
    """Ones on the diagonal, as often as `batch_shape` says."""
    made = layer("eye", locals())
    if batch_shape is None:
        return made
    made = layer("reshape", {"x": made, "shape": [1] * len(batch_shape) + list(made.shape), "actual_shape": None, "act": None,
                             "inplace": False})
    return layer("expand", {"x": made, "expand_times": list(batch_shape) + [1, 1]})


def linspace(start, stop, num, dtype):
    """`num` numbers with equal distances."""
    return layer("linspace", locals())


def range(start, end, step, dtype):
    """`start`, `start + step`, ... up to but without `end`."""
    return layer("range", locals())


def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """Every element is `value`."""
    return layer("fill_constant", locals())


def fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False):
    """As many rows as `input` has; `dims` are the dimensions of `input` and of the result that agree."""
    return layer("fill_constant_batch_size_like", locals())


def zeros(shape, dtype, force_cpu=False):
    """See the operator's documentation."""
    return layer("zeros", locals())


def ones(shape, dtype, force_cpu=False):
    """See the operator's documentation."""
    return layer("ones", locals())


def zeros_like(x, out=None):
    """See the operator's documentation."""
    return layer_into("zeros_like", locals())


def ones_like(x, out=None):
    """See the operator's documentation."""
    return layer_into("ones_like", locals())


def isfinite(x):
    """Is every element finite? `[1]`"""
    return layer("isfinite", locals())


def has_inf(x):
    """Is an element infinite? `[1]`"""
    return layer("has_inf", locals())


def has_nan(x):
    """Is an element not a number? `[1]`"""
    return layer("has_nan", locals())


def tensor_array_to_tensor(input, axis=1, name=None, use_stack=False):
    """The tensors joined or stacked along a dimension, and the size of each there."""
    return layer("tensor_array_to_tensor", locals())
