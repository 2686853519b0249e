"""Operators of blocks: finding, deleting, and showing them as code."""

from ...core import VarDesc
from ...framework import Block, Parameter

__all__ = [
    "block_to_code", "delete_ops", "find_op_by_input_arg", "find_op_by_output_arg", "get_indent_space", "op_to_code", "program_to_code",
    "variable_to_code",
]


def delete_ops(block, ops):
    """Removes operators from a block.

    Args:
        block (Block): the block.
        ops (list): its operators.

    Example:
        >>> from oarlock.fluid.transpiler.details import delete_ops
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> delete_ops(y.block, y.block.ops)
        >>> y.block.ops
        []
    """
    for op in list(ops):
        block._remove_op(block.ops.index(op))


def find_op_by_input_arg(block, arg_name):
    """Returns the number of the first operator that reads a variable; -1 if there is none.

    Args:
        block (Block): the block.
        arg_name (str): the variable.

    Example:
        >>> from oarlock.fluid.transpiler.details import find_op_by_input_arg
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> find_op_by_input_arg(y.block, "x"), find_op_by_input_arg(y.block, "none")
        (0, -1)
    """
    return next((i for i, op in enumerate(block.ops) if arg_name in op.input_arg_names), -1)


def find_op_by_output_arg(block, arg_name, reverse=False):
    """Returns the number of the first operator that writes a variable; -1 if there is none.

    Args:
        block (Block): the block.
        arg_name (str): the variable.
        reverse (bool): the last one instead.

    Example:
        >>> from oarlock.fluid.transpiler.details import find_op_by_output_arg
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> find_op_by_output_arg(y.block, y.name, reverse=True)
        0
    """
    numbered = list(enumerate(block.ops))
    return next((i for i, op in (reversed(numbered) if reverse else numbered) if arg_name in op.output_arg_names), -1)


def get_indent_space(indent, space_num=4):
    """Returns the spaces in front of a line.

    Args:
        indent (int), space_num (int): how many levels, of how many spaces.

    Example:
        >>> from oarlock.fluid.transpiler.details import get_indent_space
        >>> len(get_indent_space(2))
        8
    """
    return " " * (indent * space_num)


def variable_to_code(var):
    """Returns a line about a variable.

    Args:
        var (Variable): the variable.

    Example:
        >>> from oarlock.fluid.transpiler.details import variable_to_code
        >>> variable_to_code(fluid.data("x", [None, 4]))
        'var x : fluid.VarType.LOD_TENSOR.shape(-1, 4).astype(VarType.FP32)'
    """
    if var.type in (VarDesc.VarType.SELECTED_ROWS, VarDesc.VarType.LOD_TENSOR):
        text = "%s : fluid.VarType.%s.shape%s.astype(VarType.%s)" % (var.name, var.type.name, tuple(var.shape), var.dtype.name)
    else:
        text = "%s : fluid.VarType.%s)" % (var.name, var.type.name)
    kind = "var " if not isinstance(var, Parameter) else "trainable parameter " if var.trainable else "parameter "
    return ("persist " if var.persistable else "") + kind + text


def op_to_code(op, skip_op_callstack=True):
    """Returns a line about an operator.

    Args:
        op (Operator): the operator.
        skip_op_callstack (bool): without the lines of the script that made it.

    Example:
        >>> from oarlock.fluid.transpiler.details import op_to_code
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> op_to_code(y.block.ops[0]).startswith("{Out=['relu_0.tmp_0']} = relu(inputs={X=['x']}, ")
        True
    """
    slots = lambda names, get: "{%s}" % ", ".join("%s=%s" % (name, get(name)) for name in names)
    attrs = []
    for name, value in sorted(op.all_attrs().items()):
        if skip_op_callstack and name == "op_callstack":
            continue
        if isinstance(value, Block):
            attrs.append("%s = block[%d]" % (name, value.idx))
        elif isinstance(value, list) and value and isinstance(value[0], Block):
            attrs.append("%s = blocks%s" % (name, [block.idx for block in value]))
        else:
            attrs.append("%s = %s" % (name, value))
    call = "%s(inputs=%s, %s)" % (op.type, slots(op.input_names, op.input), ", ".join(attrs))
    return "%s = %s" % (slots(op.output_names, op.output), call) if op.output_names else call


def block_to_code(block, block_idx, fout=None, skip_op_callstack=False):
    """Prints a block as code.

    Args:
        block (Block): the block.
        block_idx (int): its number.
        fout (file): where to print; the standard output by default.
        skip_op_callstack (bool): without the lines of the script.

    Example:
        >>> from oarlock.fluid.transpiler.details import block_to_code
        >>> block_to_code(fluid.Program().global_block(), 0)
        { // block 0
        }
    """
    lines = ["{ // block %d" % block_idx]
    lines += [get_indent_space(1) + variable_to_code(var) for _, var in sorted(block.vars.items())]
    lines += [""] if block.vars else []
    lines += [get_indent_space(1) + op_to_code(op, skip_op_callstack) for op in block.ops]
    print("\n".join(lines + ["}"]), file=fout)


def program_to_code(prog, fout=None, skip_op_callstack=True):
    """Prints a program as code, block by block.

    Args:
        prog (Program): the program.
        fout (file): where to print; the standard output by default.
        skip_op_callstack (bool): without the lines of the script.

    Example:
        >>> from oarlock.fluid.transpiler.details import program_to_code
        >>> program_to_code(fluid.Program())
        { // block 0
        }
    """
    for number, block in enumerate(prog.blocks):
        block_to_code(block, number, fout, skip_op_callstack)
