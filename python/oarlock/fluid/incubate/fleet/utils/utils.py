"""Saved programs: reading, writing as bytes or text, checking and showing them."""

import logging
import os

import numpy as np

from .... import debugger, io
from ...._text_format import parse
from ....core import CPUPlace, Scope, VarDesc
from ....executor import Executor, scope_guard
from ....framework import Program
from ....lod_tensor import create_lod_tensor
from ....proto import framework_pb2

__all__ = [
    "check_pruned_program_vars", "check_saved_vars_try_dump", "graphviz", "load_program", "parse_program", "program_type_trans",
    "save_program",
]

_log = logging.getLogger("oarlock")
_FEEDS = (VarDesc.VarType.FEED_MINIBATCH, VarDesc.VarType.FETCH_LIST)


def load_program(model_filename, is_text=False):
    """Returns the program in a file.

    Args:
        model_filename (str): the file.
        is_text (bool): it holds the text form of protobuf; otherwise bytes.

    Example:
        >>> import os, tempfile
        >>> from oarlock.fluid.incubate.fleet.utils.utils import load_program, save_program
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> path = os.path.join(tempfile.mkdtemp(), "net.pbtxt")
        >>> save_program(fluid.default_main_program(), path, is_text=True)
        >>> [op.type for op in load_program(path, is_text=True).global_block().ops]
        ['relu']
    """
    if not is_text:
        with open(model_filename, "rb") as file:
            return Program.parse_from_string(file.read())
    with open(model_filename) as file:
        try:
            found = parse(file.read(), framework_pb2.ProgramDesc())
        except (ValueError, KeyError) as error:
            raise ValueError("%s does not hold a program as text: %s" % (model_filename, error)) from None
    return Program.parse_from_string(found.SerializeToString())


def save_program(program, model_filename="__model__", is_text=False):
    """Writes a program.

    Args:
        program (Program): the program.
        model_filename (str): the file.
        is_text (bool): in the text form of protobuf; otherwise as bytes.

    Example: see ``load_program``.
    """
    data = program.desc.serialize_to_string()
    with open(model_filename, "w" if is_text else "wb") as file:
        file.write(str(framework_pb2.ProgramDesc.FromString(data)) if is_text else data)


def program_type_trans(prog_dir, prog_fn, is_text):
    """Writes a program in the other form, beside the file: ``name.bin`` of a text, ``name.pbtxt`` of bytes. Returns that name.

    Args:
        prog_dir (str), prog_fn (str): directory and name of the file.
        is_text (bool): whether it holds text.

    Example::

        program_type_trans("model", "__model__", is_text=False)  # model/__model__.pbtxt
    """
    program = load_program(os.path.join(prog_dir, prog_fn), is_text)
    name = prog_fn + (".bin" if is_text else ".pbtxt")
    save_program(program, os.path.join(prog_dir, name), not is_text)
    return name


def check_pruned_program_vars(train_prog, pruned_prog):
    """Returns whether the variables that a pruned program loads have the shapes and types they have in the program that was trained; logs
    those that do not, and those that are missing there.

    Args:
        train_prog (Program), pruned_prog (Program): the programs.

    Example:
        >>> from oarlock.fluid.incubate.fleet.utils.utils import check_pruned_program_vars
        >>> y = fluid.layers.fc(fluid.data("x", [None, 4]), 2)
        >>> main = fluid.default_main_program()
        >>> check_pruned_program_vars(main, main.clone(for_test=True))
        True
    """
    matches, block = True, train_prog.global_block()
    for var in filter(io.is_persistable, pruned_prog.list_vars()):
        if not block.has_var(var.name):
            _log.error("not find variable '%s' in train program. please check pruning.", var.name)
            continue
        other = block.var(var.name)
        if tuple(var.shape) != tuple(other.shape) or var.dtype != other.dtype:
            _log.error("variable: %s not match. in pruned program shape: %s dtype: %s, in train program shape: %s dtype: %s",
                       var.name, var.shape, var.dtype, other.shape, other.dtype)
            matches = False
    return matches


def graphviz(block, output_dir="", filename="debug"):
    """Writes a block as a graph, ``filename.dot``, and draws it as a PDF file if the command ``dot`` is installed.

    Args:
        block (Block): the block.
        output_dir (str), filename (str): directory and name, without an ending.

    Example::

        graphviz(fluid.default_main_program().global_block(), "drawings", "net")
    """
    debugger.draw_block_graphviz(block, path=os.path.join(output_dir, filename + ".dot"))


def parse_program(program, output_dir):
    """Writes three lists: ``vars_persistable.log``, ``vars_all.log`` and ``ops.log``.

    Args:
        program (Program): the program.
        output_dir (str): the directory.

    Example::

        parse_program(fluid.default_main_program(), "lists")
    """
    show = lambda v: {"name": v.name, "shape": str(v.shape), "lod_level": v.lod_level, "dtype": str(v.dtype), "type": str(v.type)}
    kind = lambda v: {"name": v.name, "type": str(v.type)}
    variables = list(program.list_vars())
    lists = {
        "vars_persistable.log": ("persistable vars", [show(v) for v in variables if io.is_persistable(v)]),
        "vars_all.log": ("all vars", [kind(v) if v.type in _FEEDS else show(v) for v in variables]),
        "ops.log": ("ops", [
            {"type": op.type, "input_arg_names": str(op.input_arg_names), "output_arg_names": str(op.output_arg_names)}
            for op in program.global_block().ops]),
    }
    for name, (title, rows) in lists.items():
        with open(os.path.join(output_dir, name), "w") as file:
            file.write("".join("%s\n" % line for line in ["%s:" % title] + rows))


def check_saved_vars_try_dump(dump_dir, dump_prog_fn, is_text_dump_program, feed_config, fetch_config, batch_size=1, save_filename=None):
    """Loads a saved inference model, compares the shapes of its parameters with those the program declares, runs it once, and returns
    the results.

    Args:
        dump_dir (str): the directory of the model.
        dump_prog_fn (str): the file of the program.
        is_text_dump_program (bool): whether that holds text.
        feed_config: has ``feeded_vars_names``, ``feeded_vars_dims``, ``feeded_vars_types`` and ``feeded_vars_filelist``, files of
            numbers to feed; random numbers if there are none.
        fetch_config: has ``fetch_vars_names``; None for what the model returns.
        batch_size (int): the number of samples.
        save_filename (str): the file of all parameters; None if each has its own.

    Example::

        results = check_saved_vars_try_dump("model", "__model__", False, feed_config, fetch_config)
    """
    saved = [v for v in load_program(os.path.join(dump_dir, dump_prog_fn), is_text_dump_program).list_vars() if io.is_persistable(v)]
    if is_text_dump_program:
        dump_prog_fn = program_type_trans(dump_dir, dump_prog_fn, True)
    scope, exe = Scope(), Executor(CPUPlace())
    with scope_guard(scope):
        program, names, targets = io.load_inference_model(dump_dir, exe, model_filename=dump_prog_fn, params_filename=save_filename)
        for var in saved:
            found = np.array(scope.find_var(var.name).get_tensor()).shape
            if found != tuple(var.shape):
                raise RuntimeError("Shape not matching: the Program requires a parameter with a shape of (%s), while the loaded parameter "
                                   "(namely [ %s ]) has a shape of  (%s)." % (tuple(var.shape), var.name, found))
        if fetch_config.fetch_vars_names is not None:
            targets = [program.global_block().var(name) for name in fetch_config.fetch_vars_names]
        names = feed_config.feeded_vars_names if feed_config.feeded_vars_names is not None else names
        feeds = {name: _feed(program.global_block().var(name), i, feed_config, batch_size) for i, name in enumerate(names)}
        results = exe.run(program, feed=feeds, fetch_list=targets, return_numpy=all(v.lod_level == 0 for v in targets))
    for target, result in zip(targets, results):
        _log.info("fetch_targets name: %s: %s", target.name, result)
    return results


def _feed(var, number, config, batch_size):
    """The tensor that is fed to a variable."""
    dims = config.feeded_vars_dims[number]
    dims = tuple(dims) if isinstance(dims, (list, tuple)) else (dims,)
    if dims != tuple(var.shape[1:]):
        raise RuntimeError("feed variable '%s' shape not match. infer program shape: %s. feed tensor shape: %s"
                           % (var.name, tuple(var.shape[1:]), dims))
    if var.lod_level > 1:
        raise RuntimeError("vars with lod_level >= 2 is not supported now in this infer program check tool.")
    size = (batch_size,) + dims
    if config.feeded_vars_filelist:
        with open(config.feeded_vars_filelist[number]) as file:
            numbers = [float(text) for text in file.readline().split()]
        count = int(np.prod(size))
        if len(numbers) < count:
            raise RuntimeError("%s has %d numbers in its first line, but a batch needs %d"
                               % (config.feeded_vars_filelist[number], len(numbers), count))
        array = np.array(numbers[:count]).reshape(size)
    else:
        array = np.random.random(size)
    array = array.astype(config.feeded_vars_types[number])
    return create_lod_tensor(array, [[1] * batch_size], CPUPlace()) if var.lod_level else array
