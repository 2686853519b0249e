"""Programs for people: as text, as a drawing, and with checks for values that are not numbers."""

import logging
import random
import re

from . import io
from .core import VarDesc
from .framework import GRAD_VAR_SUFFIX, default_main_program
from .graphviz import GraphPreviewGenerator

__all__ = [
    "draw_block_graphviz", "pprint_block_codes", "pprint_program_codes", "prepare_fast_nan_inf_debug", "repr_op", "repr_var",
    "run_fast_nan_inf_debug",
]

_log = logging.getLogger("oarlock")
_KINDS = {VarDesc.VarType.SELECTED_ROWS: "SelectedRows", VarDesc.VarType.LOD_TENSOR_ARRAY: "TensorArray"}
_DTYPES = {number: name for name, number in VarDesc.VarType.by_numpy.items()}


def repr_var(var):
    """Returns a line about a variable; None for kinds that hold no tensors.

    Args:
        var (Variable): the variable.

    Example:
        >>> fluid.debugger.repr_var(fluid.data("x", [None, 4]))
        'Tensor x (tensor(type=float32, shape=[-1, 4]))'
    """
    tensor = lambda: "tensor(type=%s, shape=%s)" % (_DTYPES.get(var.dtype, var.dtype), list(var.shape))
    if var.type == VarDesc.VarType.LOD_TENSOR:
        level = var.lod_level
        return "%s %s (%s)" % ("LoDTensor" if level else "Tensor", var.name, "level=%d, %s" % (level, tensor()) if level else tensor())
    if var.type in _KINDS:
        return "%s %s (%s)" % (_KINDS[var.type], var.name, tensor())
    return None


def repr_op(op):
    """Returns a line about an operator: outputs, type, inputs and attributes.

    Args:
        op (Operator): the operator.

    Example:
        >>> y = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> fluid.debugger.repr_op(y.block.ops[0])
        'fill_constant_0.tmp_0 = 3.0 [shape=[2]]'
    """
    shown = lambda names: names[0] if len(names) == 1 else str(list(names))
    outputs = [shown(op.output(slot)) for slot in op.output_names]
    attrs = op.all_attrs()
    if op.type == "fill_constant":
        return "%s = %s [shape=%s]" % (",".join(outputs), attrs["value"], list(attrs["shape"]))
    inputs = ["%s=%s" % (slot, shown(op.input(slot))) for slot in op.input_names]
    named = ["%s=%s" % (name, _DTYPES.get(value, value) if name == "dtype" else getattr(value, "idx", value)) for name, value in attrs.items()]
    return "%s = %s(%s) [{%s}]" % (", ".join(outputs), op.type, ", ".join(inputs), ",".join(named))


def pprint_block_codes(block, show_backward=False):
    """Returns the variables and operators of a block as text.

    Args:
        block (Block): the block.
        show_backward (bool): with gradients and the operators that compute them.

    Example:
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> "relu(X=x)" in fluid.debugger.pprint_block_codes(y.block)
        True
    """
    of_gradients = lambda op: op.type.endswith("_grad") or any(
        GRAD_VAR_SUFFIX in name for name in op.input_arg_names + op.output_arg_names)
    variables = [repr_var(v) for v in block.vars.values() if show_backward or GRAD_VAR_SUFFIX not in v.name]
    operators = [repr_op(op) for op in block.ops if show_backward or not of_gradients(op)]
    return "// block-%d  parent-%d\n// variables\n%s\n\n// operators\n%s\n" % (
        block.idx, block.parent_idx, "\n".join(filter(None, variables)), "\n".join(operators))


def pprint_program_codes(program):
    """Returns the blocks of a program as text, without gradients.

    Args:
        program (Program): the program.

    Example:
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> fluid.debugger.pprint_program_codes(fluid.default_main_program()).startswith("// block-0")
        True
    """
    return "\n".join(pprint_block_codes(block) for block in program.blocks)


def draw_block_graphviz(block, highlights=None, path="./temp.dot"):
    """Writes a block as a graph of operators and variables, and draws it if the command ``dot`` is installed.

    Args:
        block (Block): the block.
        highlights (list): regular expressions; operators and variables whose names begin with a match are orange.
        path (str): the file of the graph; the drawing is beside it, as a PDF file.

    Example:
        >>> import os, tempfile
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> path = os.path.join(tempfile.mkdtemp(), "net.dot")
        >>> fluid.debugger.draw_block_graphviz(y.block, highlights=["relu"], path=path)
        >>> os.path.exists(path)
        True
    """
    graph = GraphPreviewGenerator("some graph")
    stands_out = lambda name: any(re.match(pattern, name) for pattern in highlights or ())
    nodes = {}
    for var in block.vars.values():
        if var.persistable:
            kind = "%s %s" % (_DTYPES.get(var.dtype, var.dtype), list(var.shape))
            nodes[var.name] = graph.add_param(var.name, kind, highlight=stands_out(var.name))
        else:
            nodes[var.name] = graph.add_arg(var.name, highlight=stands_out(var.name))

    def node(name):
        if name not in nodes:
            nodes[name] = graph.add_arg(name, highlight=stands_out(name))
        return nodes[name]

    for op in block.ops:
        made = graph.add_op(op.type, highlight=stands_out(op.type))
        for name in op.input_arg_names:
            graph.add_edge(node(name), made, highlight=stands_out(op.type) or stands_out(name))
        for name in op.output_arg_names:
            graph.add_edge(made, node(name), highlight=stands_out(op.type) or stands_out(name))
    graph(path, show=False)


def prepare_fast_nan_inf_debug(_program=None):
    """Lets every run of executors check what operators compute: sets ``FLAGS_check_nan_inf``, which checks each output once. Fluid
    appends sums for the same purpose; the program stays as it is here.

    Args:
        _program (Program): is checked that it has something to run; the default main program if None.

    Example:
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> fluid.debugger.prepare_fast_nan_inf_debug(fluid.default_main_program())
        >>> fluid.set_flags({"FLAGS_check_nan_inf": False})
    """
    from .flags import set_flags

    program = default_main_program() if _program is None else _program
    if any(block.ops for block in program.blocks):
        set_flags({"FLAGS_check_nan_inf": True})


def run_fast_nan_inf_debug(executor, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
                           return_numpy=True, use_program_cache=False, dump_core=True):
    """Runs a program as ``executor.run`` does. If the run fails, prints the error and saves the persistable variables into a file
    ``core....pdckpt`` of the current directory, and returns None.

    Args:
        executor (Executor): runs the program.
        dump_core (bool): saves the variables; otherwise the error is only printed.

    The other arguments are those of ``Executor.run``.

    Example:
        >>> exe = fluid.Executor()
        >>> y = fluid.layers.fill_constant([1], "float32", 2.0)
        >>> fluid.debugger.run_fast_nan_inf_debug(exe, fetch_list=[y])[0].tolist()
        [2.0]
    """
    try:
        return executor.run(
            program=program, feed=feed, fetch_list=fetch_list, feed_var_name=feed_var_name, fetch_var_name=fetch_var_name, scope=scope,
            return_numpy=return_numpy, use_program_cache=use_program_cache)
    except Exception as error:
        print("catch an exception:")
        print(error)
        if dump_core:
            name = "core%d.pdckpt" % random.randrange(10000)
            io.save_persistables(executor, "./", main_program=program, filename=name)
            print("dumping a core into ./%s" % name)
        return None
