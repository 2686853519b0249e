"""Layers that Fluid 1.8 previewed for 2.0, composed of operators. Fluid keeps them in ``layers.nn`` and ``layers.tensor``."""

from ..core import VarDesc
from ..data_feeder import check_dtype, check_type, check_variable_and_dtype, convert_dtype
from ..framework import Variable, convert_np_dtype_to_dtype_, device_guard
from ..layer_helper import LayerHelper
from . import nn, ops, tensor
from ._generated.control_flow import equal

__all__ = [
    "addcmul", "allclose", "arange", "clamp", "cross", "dist", "elementwise_equal", "full", "index_sample", "interpolate", "logsumexp",
    "nonzero", "randn", "randperm", "t",
]

_FLOATS = ["float32", "float64"]
_NUMBERS = ["float32", "float64", "int32", "int64"]
# The largest number that an attribute, a float32, can hold.
_LARGEST = 3.4028234663852886e38


def _apply(name, op_type, inputs, attrs, dtype, out=None):
    """Appends an operator with one output, ``Out``."""
    helper = LayerHelper(name)
    out = helper.create_variable_for_type_inference(dtype=dtype) if out is None else out
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """``input + value * tensor1 * tensor2``, element by element.

    Args:
        input (Variable), tensor1 (Variable), tensor2 (Variable): of one element type.
        value (float): the factor; an int for tensors of ints.
        out (Variable): where to write; otherwise a new variable.
        name (str): changes nothing.

    Returns:
        Variable: as ``input``.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.addcmul(x, x, x, value=2.0)])[0].tolist()
        [21.0, 21.0]
    """
    for what, var in (("input", input), ("tensor1", tensor1), ("tensor2", tensor2)):
        check_variable_and_dtype(var, what, _NUMBERS, "addcmul")
    check_type(value, "value", float if convert_dtype(input.dtype) in _FLOATS else int, "addcmul")
    made = nn.elementwise_add(input, nn.elementwise_mul(tensor1, tensor2) * value)
    return made if out is None else tensor.assign(made, out)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether all elements are near each other: ``|input - other| <= atol + rtol * |other|``.

    Args:
        input (Variable), other (Variable): of one shape.
        rtol (float), atol (float): the tolerance.
        equal_nan (bool): whether two elements that are not numbers are equal.
        name (str): begins the name of the result.

    Returns:
        Variable: one bool.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.allclose(x, x)])[0].tolist()
        [True]
    """
    check_type(rtol, "rtol", float, "allclose")
    check_type(atol, "atol", float, "allclose")
    check_type(equal_nan, "equal_nan", bool, "allclose")
    attrs = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    return _apply("allclose" if name is None else name, "allclose", {"Input": [input], "Other": [other]}, attrs, "bool")


def arange(start, end, step=1, dtype=None, name=None):
    """``start``, ``start + step``, ... up to ``end``, which is left out.

    Args:
        start (number or Variable), end, step: of the numbers.
        dtype (str): the element type; ``"float32"`` if it is None.
        name (str): changes nothing.

    Returns:
        Variable: one dimension.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.arange(0, 6, 2, "int64")])[0].tolist()
        [0, 2, 4]
    """
    dtype = "float32" if dtype is None else dtype
    check_dtype(dtype, "create data type", _NUMBERS, "range")
    made = tensor.range(start, end, step, dtype)
    made.stop_gradient = True
    return made


def clamp(input, min=None, max=None, output=None, name=None):
    """Elements limited to an interval. Where Fluid 1.8.5 takes 0 for a lower bound that is None, there is none here.

    Args:
        input (Variable): the tensor.
        min (float or Variable), max: the bounds; None for no bound, but one is needed.
        output (Variable): where to write; otherwise a new variable.
        name (str): begins the name of the result.

    Returns:
        Variable: as ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([-1.0, 0.5, 2.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.clamp(x, min=0.0, max=1.0)])[0].tolist()
        [0.0, 0.5, 1.0]
    """
    if min is None and max is None:
        raise AssertionError("either min or max should be defined.")
    inputs, attrs = {"X": [input]}, {"min": -_LARGEST, "max": _LARGEST}
    for what, slot, bound in (("min", "Min", min), ("max", "Max", max)):
        if isinstance(bound, Variable):
            check_dtype(bound.dtype, what, ["float32", "float64", "int32"], "clamp")
            bound.stop_gradient = True
            inputs[slot] = [bound]
        elif bound is not None:
            check_type(bound, what, float, "clamp")
            attrs[what] = bound
    return _apply("clamp" if name is None else name, "clip", inputs, attrs, input.dtype, output)


def cross(input, other, dim=None):
    """The cross products of vectors of three elements.

    Args:
        input (Variable), other (Variable): of one shape.
        dim (int): the dimension along which vectors lie; the first of size 3 if it is None.

    Returns:
        Variable: as ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 0, 0]], "float32"))
        >>> y = fluid.layers.assign(np.array([[0, 1, 0]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.cross(x, y)])[0].tolist()
        [[0.0, 0.0, 1.0]]
    """
    # As in Fluid, 0 counts as None.
    return _apply("cross", "cross", {"X": [input], "Y": [other]}, {"dim": dim} if dim else {}, input.dtype)


def dist(x, y, p=2):
    """The p-norm of ``x - y``.

    Args:
        x (Variable), y (Variable): tensors that broadcast to each other.
        p (float): 0, a number, or infinity.

    Returns:
        Variable: one number.

    Example:
        >>> x = fluid.layers.assign(np.array([3.0, 4.0], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.dist(x, fluid.layers.zeros([2], "float32"))])[0].tolist()
        [5.0]
    """
    for var in (x, y):
        check_variable_and_dtype(var, "dtype", _FLOATS, "dist")
    check_type(p, "p", (float, int), "dist")
    return _apply("dist", "dist", {"X": [x], "Y": [y]}, {"p": float(p)}, x.dtype)


def elementwise_equal(x, y, name=None):
    """Whether elements are equal.

    Args:
        x (Variable), y (Variable): of one shape.
        name (str): changes nothing.

    Returns:
        Variable: bools.

    Example:
        >>> x = fluid.layers.assign(np.array([3, 4], "int64"))
        >>> y = fluid.layers.assign(np.array([3, 5], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_equal(x, y)])[0].tolist()
        [True, False]
    """
    made = equal(x, y)
    made.stop_gradient = True
    return made


def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor whose elements are all ``fill_value``.

    Args:
        shape (list or Variable): its sizes.
        fill_value (number): the value.
        out (Variable): where to write; otherwise a new variable.
        dtype (str): the element type; ``"float32"`` if it is None.
        device (str): where the operator runs: ``"cpu"`` or None.
        stop_gradient (bool): no gradient is computed for it.
        name (str): changes nothing.

    Example:
        >>> fluid.Executor().run(fetch_list=[fluid.layers.full([2], 7, dtype="int64")])[0].tolist()
        [7, 7]
    """
    dtype = "float32" if dtype is None else dtype
    check_dtype(dtype, "create data type", ["bool", "float16", "float32", "float64", "int32", "int64"], "full")
    check_type(shape, "shape", (Variable, list, tuple), "full")
    with device_guard(device):
        made = tensor.fill_constant(shape=shape, dtype=dtype, value=fill_value, out=out)
    made.stop_gradient = stop_gradient
    return made


def index_sample(x, index):
    """Elements of each row: ``out[i, j] = x[i, index[i, j]]``.

    Args:
        x (Variable): ``[rows, columns]``.
        index (Variable): ``[rows, n]``, int32 or int64.

    Returns:
        Variable: ``[rows, n]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> index = fluid.layers.assign(np.array([[2], [0]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.index_sample(x, index)])[0].tolist()
        [[3.0], [4.0]]
    """
    check_variable_and_dtype(x, "x", _NUMBERS, "fluid.layers.index_sample")
    check_variable_and_dtype(index, "index", ["int32", "int64"], "fluid.layers.index_sample")
    return _apply("index_sample", "index_sample", {"X": [x], "Index": [index]}, {}, x.dtype)


def interpolate(input, out_shape=None, scale=None, name=None, resample="BILINEAR", actual_shape=None, align_corners=True, align_mode=1,
                data_format="NCHW"):
    """Images of another size: ``image_resize`` under another name, which describes the arguments.

    Args:
        input (Variable): images.
        out_shape (list or Variable), scale (float or Variable), actual_shape (Variable): the new size.
        resample (str): ``"BILINEAR"``, ``"BICUBIC"``, ``"TRILINEAR"``, ``"NEAREST"``.
        align_corners (bool), align_mode (int), data_format (str): as for ``image_resize``.
        name (str): the name of the layer.

    Example:
        >>> fluid.layers.interpolate(fluid.data("x", [None, 3, 6, 10]), out_shape=[12, 12]).shape
        (-1, 3, 12, 12)
    """
    return nn.image_resize(input, out_shape, scale, name, resample, actual_shape, align_corners, align_mode, data_format)


def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """``log(sum(exp(x)))`` along dimensions.

    Args:
        x (Variable): the tensor.
        dim (int or list): the dimensions; all if it is None.
        keepdim (bool): keeps them, with size 1.
        out (Variable): where to write; otherwise a new variable.
        name (str): the name of the last operator.

    Example:
        >>> x = fluid.layers.zeros([4], "float32")
        >>> round(float(fluid.Executor().run(fetch_list=[fluid.layers.logsumexp(x)])[0][0]), 4)
        1.3863
    """
    if x is None:
        raise AssertionError("x cannot be None in logsumexp")
    check_variable_and_dtype(x, "x", _FLOATS, "logsumexp")
    if out is not None:
        check_variable_and_dtype(out, "out", [convert_dtype(x.dtype)], "logsumexp")
    made = nn.log(nn.reduce_sum(ops.exp(x), dim, keepdim), name)
    return made if out is None else tensor.assign(made, out)


def nonzero(input, as_tuple=False):
    """The positions of elements that are not zero.

    Args:
        input (Variable): the tensor.
        as_tuple (bool): a tuple with the positions along each dimension, ``[n, 1]``, instead of one tensor ``[n, rank]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 0], [0, 2]], "int32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.nonzero(x)])[0].tolist()
        [[0, 0], [1, 1]]
    """
    rank = len(input.shape)
    found = nn.where(tensor.cast(input, "bool"))
    if not as_tuple:
        return found
    if rank == 1:
        return (found,)
    return tuple(nn.slice(found, axes=[1], starts=[i], ends=[i + 1]) for i in range(rank))


def randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """Random numbers with a standard normal distribution, by the program's seed.

    Args:
        shape (list): how many.
        out (Variable): where to write; otherwise a new variable.
        dtype (str): ``"float32"``, also for None, or ``"float64"``.
        device (str): where the operator runs: ``"cpu"`` or None.
        stop_gradient (bool): no gradient is computed for it.
        name (str): changes nothing.

    Example:
        >>> fluid.layers.randn([2, 3]).shape
        (2, 3)
    """
    check_type(shape, "shape", (list, tuple), "randn")
    if len(shape) == 0:
        raise AssertionError("The size of argument(shape) can't be zero.")
    dtype = "float32" if dtype is None else dtype
    check_dtype(dtype, "create data type", _FLOATS, "randn")
    if out is not None:
        check_variable_and_dtype(out, "out", [convert_dtype(dtype)], "randn")
    with device_guard(device):
        made = nn.gaussian_random(list(shape), mean=0.0, std=1.0, dtype=dtype)
    made = made if out is None else tensor.assign(made, out)
    made.stop_gradient = stop_gradient
    return made


def randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0):
    """The numbers from 0 to ``n - 1`` in random order.

    Args:
        n (int): how many.
        out (Variable): where to write; otherwise a new variable.
        dtype (str): ``"int64"`` or ``"int32"``.
        device (str): where the operator runs: ``"cpu"`` or None.
        stop_gradient (bool): no gradient is computed for it.
        seed (int): 0 takes the program's seed.

    Example:
        >>> sorted(fluid.Executor().run(fetch_list=[fluid.layers.randperm(4)])[0].tolist())
        [0, 1, 2, 3]
    """
    if n < 1:
        raise ValueError("The input n should be greater than 0 in randperm op.")
    check_dtype(dtype, "dtype", ["int64", "int32"], "randperm")
    if device not in (None, "cpu", "gpu"):
        raise ValueError("The input device should in [None, 'cpu', 'gpu'].")
    check_type(stop_gradient, "stop_gradient", bool, "randperm")
    if out is not None:
        check_variable_and_dtype(out, "out", [convert_dtype(dtype)], "randperm")
    number = dtype if isinstance(dtype, VarDesc.VarType) else convert_np_dtype_to_dtype_(dtype)
    with device_guard(device):
        made = _apply("randperm", "randperm", {}, {"n": n, "dtype": int(number), "seed": seed}, dtype, out)
    made.stop_gradient = made.stop_gradient or stop_gradient
    return made


def t(input, name=None):
    """A matrix with rows and columns exchanged; a vector as it is.

    Args:
        input (Variable): at most two dimensions.
        name (str): changes nothing.

    Example:
        >>> fluid.layers.t(fluid.data("x", [2, 3])).shape
        (3, 2)
    """
    if len(input.shape) > 2:
        raise ValueError("Input(input) only support N-D (N<=2) tensor, but received length of Input(input) is %d. Perhaps you can use "
                         "layers.transpose() instead." % len(input.shape))
    check_variable_and_dtype(input, "input", ["float16"] + _NUMBERS, "transpose")
    return input if len(input.shape) < 2 else nn.transpose(input, [1, 0])
