"""Hashed tables (``is_distributed`` embeddings) outside of the job that trained them: a local program, and loading."""

import logging
import os

from ... import io
from ...framework import Program

__all__ = ["convert_dist_to_sparse_program", "load_persistables_for_increment", "load_persistables_for_inference"]

_log = logging.getLogger("oarlock")
_TYPES = ("lookup_table", "lookup_table_v2")


def convert_dist_to_sparse_program(program):
    """Returns a program for this process alone, from a trainer's program whose hashed tables are on servers: the network before it was
    transpiled, with ordinary embeddings. Returns None, with a warning, if the program has no such tables.

    Args:
        program (Program): a trainer's program, made by ``DistributeTranspiler.get_trainer_program``.

    Example:
        >>> from oarlock.fluid.contrib.utils import convert_dist_to_sparse_program
        >>> convert_dist_to_sparse_program(fluid.default_main_program()) is None
        True
    """
    job, endpoint = program._transpiled or (None, None)
    local = Program(job.program()) if job is not None and endpoint is None else None
    tables = [] if local is None else [
        op for block in local.blocks for op in block.ops if op.type in _TYPES and op.has_attr("is_distributed") and op.attr("is_distributed")]
    if not tables:
        _log.warning("There are no distributed lookup tables need to be converted")
        return None
    for op in tables:
        op._set_attr("is_distributed", False)
    return local


def _directory(dirname):
    if not os.path.isdir(dirname):
        raise ValueError("There is no directory named '%s'" % dirname)


def load_persistables_for_increment(dirname, executor, program, lookup_table_var, lookup_table_var_path):
    """Loads the parts of parameters and of a hashed table that a server keeps, before it goes on training.

    Args:
        dirname (str): the directory of the parameters.
        executor (Executor): unused: the server itself loads.
        program (Program): a server's program, made by ``DistributeTranspiler.get_pserver_program``.
        lookup_table_var (str): the name of the table.
        lookup_table_var_path (str): the file of the table; it is called as the table.

    Example::

        load_persistables_for_increment("model", exe, pserver_program, "emb", "model/emb")
        exe.run(pserver_program)
    """
    _directory(dirname)
    if not isinstance(program, Program):
        raise ValueError("program must be an instance of fluid.Program")
    if not os.path.exists(lookup_table_var_path):
        raise ValueError("There is no file named '%s'" % lookup_table_var_path)
    folder, file = os.path.split(os.path.abspath(lookup_table_var_path))
    if file != lookup_table_var:
        raise ValueError("the file of table %s must be called so, not %s" % (lookup_table_var, file))
    if not program._transpiled or program._transpiled[1] is None:
        raise ValueError("program must be that of a server: DistributeTranspiler.get_pserver_program makes it")
    io.load_persistables(executor, dirname, program)
    if folder != os.path.abspath(dirname):
        io.load_vars(executor, folder, program, vars=[lookup_table_var])


def load_persistables_for_inference(dirname, executor, program, lookup_table_var_name):
    """Loads parameters and a hashed table into the variables of a local program, and returns the program.

    Args:
        dirname (str): the directory that ``save_persistables`` of a trainer wrote.
        executor (Executor): as for ``load_persistables``.
        program (Program): a local program, see ``convert_dist_to_sparse_program``; None for the one in ``dirname``.
        lookup_table_var_name (str): the name of the table.

    Example::

        program = load_persistables_for_inference("model", exe, None, "emb")
    """
    _directory(dirname)
    if not program:
        with open(os.path.join(dirname, "__model__"), "rb") as file:
            program = Program.parse_from_string(file.read())
    if not isinstance(program, Program):
        raise ValueError("program must be an instance of fluid.Program")
    program.global_block().var(lookup_table_var_name)
    io.load_persistables(executor, dirname, program)
    return program
