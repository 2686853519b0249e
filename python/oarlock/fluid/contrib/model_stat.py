"""The numbers of parameters and of floating point operations of a network."""

from ..framework import Program

__all__ = ["summary"]

_COLUMNS = ("No.", "TYPE", "INPUT", "OUTPUT", "PARAMs", "FLOPs")
_ACTIVATIONS = ("sigmoid", "tanh", "relu", "leaky_relu", "prelu")


def _product(sizes):
    found = 1
    for size in sizes:
        found *= abs(size)
    return found


def _count(block, op):
    """The shapes of an operator's input and output, its parameters, and the operations for one sample; None if it is not counted."""
    shape = lambda names: block._var_recursive(names[0]).shape
    if op.type in ("conv2d", "depthwise_conv2d"):
        kernel, out = shape(op.input("Filter")), shape(op.output("Output"))
        each = kernel[2] * kernel[3] * kernel[1] + bool(op.input("Bias"))
        return shape(op.input("Input")), out, kernel[0] * each, 2 * out[2] * out[3] * kernel[0] * each
    if op.type == "pool2d":
        out, size = shape(op.output("Out")), op.attr("ksize")
        return shape(op.input("X")), out, 0, _product(out[1:]) * size[0] * size[1]
    if op.type == "mul" and "fc" in op.output("Out")[0]:
        weight = _product(shape(op.input("Y")))
        return shape(op.input("X")), shape(op.output("Out")), weight + 1, weight
    if op.type in _ACTIVATIONS:
        given = shape(op.input("X"))
        return given, shape(op.output("Out")), int(op.type == "prelu"), _product(given[1:])
    if op.type == "batch_norm":
        given = shape(op.input("X"))
        return given, shape(op.output("Y")), given[1] * 2, _product(given[1:]) * 2
    return None


def summary(main_prog):
    """Prints a table of the operators with weights and of activations: shapes without the batch, parameters, and floating point
    operations for a sample. Convolutions count a multiplication and an addition, and the channels of their group.

    Args:
        main_prog (Program): the program.

    Example:
        >>> y = fluid.layers.conv2d(fluid.data("x", [None, 3, 8, 8]), 4, 3, act="relu")
        >>> from oarlock.fluid.contrib.model_stat import summary
        >>> summary(fluid.default_main_program())
        +-----+--------+-----------+-----------+--------+-------+
        | No. |   TYPE |     INPUT |    OUTPUT | PARAMs | FLOPs |
        +-----+--------+-----------+-----------+--------+-------+
        |   0 | conv2d | (3, 8, 8) | (4, 6, 6) |    108 |  7776 |
        |   1 |   relu | (4, 6, 6) | (4, 6, 6) |      0 |   144 |
        +-----+--------+-----------+-----------+--------+-------+
        Total PARAMs: 108(0.0001M)
        Total FLOPs: 7920(0.00G)
    """
    if not isinstance(main_prog, Program):
        raise TypeError("summary takes a Program, not %r" % (main_prog,))
    rows, params, flops = [], 0, 0
    for block in main_prog.blocks:
        for op in block.ops:
            found = _count(block, op)
            if found is not None:
                given, made, weights, operations = found
                rows.append((str(len(rows)), op.type, str(tuple(given[1:])), str(tuple(made[1:])), str(weights), str(operations)))
                params, flops = params + weights, flops + operations
    widths = [max(len(row[i]) for row in rows + [_COLUMNS]) for i in range(len(_COLUMNS))]
    border = "+%s+" % "+".join("-" * (width + 2) for width in widths)
    show = lambda row: "|%s|" % "|".join(" %s " % text.rjust(width) for text, width in zip(row, widths))
    print("\n".join([border, show(_COLUMNS), border] + [show(row) for row in rows] + [border]))
    print("Total PARAMs: {}({:.4f}M)".format(params, params / 10**6))
    print("Total FLOPs: {}({:.2f}G)".format(flops, flops / 10**9))
