"""Estimates the memory of a program's variables."""

from ..core import VarDesc
from ..framework import EMPTY_VAR_NAME, Program

__all__ = ["memory_usage"]

_KINDS = VarDesc.VarType
_SIZES = {
    _KINDS.FP16: 2, _KINDS.FP32: 4, _KINDS.FP64: 8, _KINDS.INT16: 2, _KINDS.INT32: 4, _KINDS.INT64: 8, _KINDS.BOOL: 1, _KINDS.UINT8: 1,
    _KINDS.INT8: 1, _KINDS.BF16: 2,
}


def memory_usage(program, batch_size):
    """Returns how much memory the outputs of a program's operators take: a lower and an upper bound, and their unit, ``"B"``, ``"KB"`` or
    ``"MB"``. As in Fluid the bounds are the sum of all sizes and 5 to 10 percent; variables that share memory count in full, so
    a run needs less.

    Args:
        program (Program): the program.
        batch_size (int): the size of the dimension that is -1.

    Example:
        >>> y = fluid.layers.fc(fluid.data("x", [None, 4]), 2)
        >>> lower, upper, unit = fluid.contrib.memory_usage(fluid.default_main_program(), batch_size=10)
        >>> round(lower), round(upper), unit
        (168, 176, 'B')
    """
    if not isinstance(program, Program):
        raise TypeError("Calculating Memory Usage requires Program as its Parameter. But you passed in %s" % type(program))
    if batch_size <= 0:
        raise ValueError("The batch size need to be positive.")
    block, total, seen = program.global_block(), 0, {EMPTY_VAR_NAME}
    for op in block.ops:
        for name in op.output_arg_names:
            if name not in seen and block.has_var(name):
                total += _size(block.var(name), batch_size)
            seen.add(name)
    unit = "B"
    for larger in ("KB", "MB"):
        if total > 1024:
            total, unit = total / 1024, larger
    return total * 1.05, total * 1.1, unit


def _size(var, batch_size):
    if var.type != _KINDS.LOD_TENSOR:
        return 0
    if sum(size < 0 for size in var.shape) > 1:
        raise ValueError("Var %s has more than one negative dim." % var.name)
    count = 1
    for size in var.shape:
        count *= size if size >= 0 else batch_size * -size
    return count * _SIZES[var.dtype]
