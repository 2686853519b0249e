"""Functions of ``paddle`` itself that static programs of Paddle 2 use, as operators of the program."""

from .fluid import flags as _flags
from .fluid import framework as _framework
from .fluid import layers as _layers
from .fluid.core import CPUPlace, CUDAPlace, gpu_as_cpu
from .fluid.layers import abs, assign, cast, clip, exp, increment, log, scale, shape, sign, sqrt, square, stack, tanh
from .fluid.param_attr import ParamAttr

get_flags, set_flags = _flags.get_flags, _flags.set_flags

__all__ = [
    "CPUPlace", "CUDAPlace", "ParamAttr", "abs", "add", "argmax", "assign", "cast", "clip", "concat", "divide",
    "enable_static", "exp", "full", "get_flags", "in_dynamic_mode", "increment", "is_compiled_with_cuda", "log", "matmul",
    "max", "maximum", "mean", "min", "minimum", "multiply", "ones", "reshape", "scale", "seed", "set_device", "set_flags",
    "shape", "sign", "split", "sqrt", "square", "squeeze", "stack", "subtract", "sum", "tanh", "transpose", "unsqueeze", "zeros",
]

is_compiled_with_cuda = _framework.is_compiled_with_cuda


def enable_static():
    """Programs are always static here."""


def in_dynamic_mode():
    """Programs are always static here."""
    return False


def set_device(device):
    """Where programs run: on the CPU."""
    if device.startswith("gpu") and gpu_as_cpu("set_device(%r)" % device):
        return CPUPlace()
    if device != "cpu":
        raise NotImplementedError("set_device(%r) is not supported: programs run on the CPU; OARLOCK_GPU_AS_CPU=1 in the environment takes "
                                  "GPUs for it" % (device,))
    return CPUPlace()


def seed(seed):
    """The seed of the default programs."""
    for program in (_framework.default_main_program(), _framework.default_startup_program()):
        program.random_seed = int(seed)


def add(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_add(x, y, name=name)


def subtract(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_sub(x, y, name=name)


def multiply(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_mul(x, y, name=name)


def divide(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_div(x, y, name=name)


def maximum(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_max(x, y, name=name)


def minimum(x, y, name=None):
    """Element by element."""
    return _layers.elementwise_min(x, y, name=name)


def matmul(x, y, transpose_x=False, transpose_y=False, name=None):
    """The product of matrices."""
    return _layers.matmul(x, y, transpose_x, transpose_y, name=name)


def concat(x, axis=0, name=None):
    """Tensors one after the other."""
    return _layers.concat(x, axis, name)


def split(x, num_or_sections, axis=0, name=None):
    """Parts of a tensor."""
    return _layers.split(x, num_or_sections, axis, name)


def reshape(x, shape, name=None):
    """The same elements in another shape."""
    return _layers.reshape(x, shape, name=name)


def transpose(x, perm, name=None):
    """The same elements with dimensions exchanged."""
    return _layers.transpose(x, perm, name)


def _axes(x, axis):
    if axis is None:
        return [i for i, size in enumerate(x.shape) if size == 1]
    return list(axis) if isinstance(axis, (list, tuple)) else [axis]


def squeeze(x, axis=None, name=None):
    """Without dimensions of size 1."""
    return _layers.squeeze(x, _axes(x, axis), name)


def unsqueeze(x, axis, name=None):
    """With more dimensions of size 1."""
    return _layers.unsqueeze(x, _axes(x, axis), name)


def mean(x, axis=None, keepdim=False, name=None):
    """The mean of all elements, or along axes."""
    return _layers.mean(x, name) if axis is None and not keepdim else _layers.reduce_mean(x, axis, keepdim, name)


def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum of all elements, or along axes."""
    if dtype is not None:
        x = _layers.cast(x, dtype)
    return _layers.reduce_sum(x, axis, keepdim, name)


def max(x, axis=None, keepdim=False, name=None):
    """The largest of all elements, or along axes."""
    return _layers.reduce_max(x, axis, keepdim, name)


def min(x, axis=None, keepdim=False, name=None):
    """The smallest of all elements, or along axes."""
    return _layers.reduce_min(x, axis, keepdim, name)


def argmax(x, axis=None, keepdim=False, dtype="int64", name=None):
    """Where the largest element is."""
    if axis is None or keepdim or dtype != "int64":
        raise NotImplementedError("argmax needs an axis, and gives int64 without it")
    return _layers.argmax(x, axis)


def full(shape, fill_value, dtype="float32", name=None):
    """A tensor of one value."""
    return _layers.fill_constant(shape, dtype, fill_value)


def zeros(shape, dtype="float32", name=None):
    """A tensor of zeros."""
    return full(shape, 0.0, dtype)


def ones(shape, dtype="float32", name=None):
    """A tensor of ones."""
    return full(shape, 1.0, dtype)
