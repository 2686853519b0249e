"""Saving and loading: parameters, inference models, programs with their state."""

import logging
import os

from .. import _core
from ..batch import batch
from ..reader import (  # noqa: F401
    ComposeNotAligned, buffered, cache, chain, compose, firstn, map_readers, multiprocess_reader, shuffle, xmap_readers,
)
from .executor import global_scope, runtime
from .framework import Parameter, Program, Variable, default_main_program
from .reader import DataLoader, PyReader, default_collate_fn

__all__ = [
    "batch", "get_program_parameter", "get_program_persistable_vars", "load", "load_inference_model", "load_params",
    "load_persistables", "load_program_state", "load_vars", "save", "save_inference_model", "save_params",
    "save_persistables", "save_vars", "set_program_state", "DataLoader", "PyReader", "default_collate_fn", "ComposeNotAligned", "buffered", "cache", "chain", "compose",
    "firstn", "map_readers", "multiprocess_reader", "shuffle", "xmap_readers",
]

_log = logging.getLogger("oarlock")


def is_parameter(var):
    """Is it trained?"""
    return isinstance(var, Parameter)


def is_persistable(var):
    """Does it outlive a run, and hold values?"""
    kinds = type(var.type)
    return var.persistable and var.type not in (kinds.FEED_MINIBATCH, kinds.FETCH_LIST, kinds.READER)


def is_belong_to_optimizer(var):
    """Is it what an optimizer keeps?"""
    return is_persistable(var) and not is_parameter(var) and not var.need_check_feed


def get_program_parameter(program):
    """The parameters of a program."""
    return [v for v in program.list_vars() if is_parameter(v)]


def get_program_persistable_vars(program):
    """The variables of a program that outlive a run."""
    return [v for v in program.list_vars() if is_persistable(v)]


def get_parameter_value(para, executor):
    """The value of a parameter.

    Args:
        para (Parameter): the parameter.
        executor (Executor): reads it from the global scope.
    """
    if not is_parameter(para):
        raise AssertionError("%r is not a Parameter" % (para,))
    program = Program()
    return executor.run(program, fetch_list=[program.global_block()._clone_variable(para)])[0]


def get_parameter_value_by_name(name, executor, program=None):
    """The value of a parameter, by its name.

    Args:
        name (str): its name.
        executor (Executor): reads it from the global scope.
        program (Program): has the parameter; ``None``: the default main program.
    """
    program = default_main_program() if program is None else program
    return get_parameter_value(program.global_block().var(name), executor)


def _job(program):
    """The core's transpiler of a trainer's program; None for other programs."""
    program = program if program is not None else default_main_program()
    job, endpoint = getattr(program, "_transpiled", None) or (None, None)
    return job if endpoint is None else None


def _saves(job, dirname):
    """Does this trainer save for all?"""
    if job.trainer_id() == 0:
        return True
    _log.warning("trainer %d does not save %s: trainer 0 does, for all", job.trainer_id(), dirname)
    return False


def _plain(program):
    program = program if program is not None else default_main_program()
    if getattr(program, "_program", None) is not None:
        raise TypeError("a CompiledProgram cannot be saved: save the original, the Program it was made of")
    if not isinstance(program, Program):
        raise TypeError("main_program should be a Program, not %r" % (program,))
    return program


def _selected(main_program, vars, predicate):
    program = _plain(main_program)
    if vars is None:
        vars = [v for v in program.list_vars() if predicate is None or predicate(v)]
    names = []
    for v in vars:
        name = v.name if isinstance(v, Variable) else v
        if isinstance(v, Variable) and v.type == type(v.type).RAW:
            continue
        if name not in names:
            names.append(name)
    return program, names


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Saves variables: one file each in ``dirname``, or all in ``filename``. The old files stay until the new are complete.
    Of a trainer's program, trainer 0 saves what training on one machine would; the others save nothing."""
    job = _job(main_program)
    if job is not None:
        program, names = _selected(Program(job.program()), vars, predicate)
        if _saves(job, dirname):
            job.save_vars(runtime(), dirname, filename, program.desc, names, global_scope())
        return
    program, names = _selected(main_program, vars, predicate)
    _core.save_vars(dirname, filename, program.desc, names, global_scope())


def save_params(executor, dirname, main_program=None, filename=None):
    """Saves the parameters of a program."""
    save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Saves everything a program keeps from run to run: parameters, optimizer state, counters."""
    save_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Loads variables; if one is missing or does not fit, none is changed. A server's program loads its parts of them."""
    job, endpoint = getattr(main_program, "_transpiled", None) or (None, None)
    if endpoint is not None:
        names = None if vars is None else [v if isinstance(v, str) else v.name for v in vars]
        kept = job.load_parts(endpoint, dirname, filename, names, global_scope())
        if kept:
            _log.warning("%s does not hold %s: they keep their values", dirname, ", ".join(kept))
        return
    program, names = _selected(main_program, vars, predicate)
    _core.load_vars(dirname, filename, program.desc, names, global_scope())


def load_params(executor, dirname, main_program=None, filename=None):
    """Loads the parameters of a program."""
    load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Loads everything a program keeps from run to run."""
    load_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None,
                         params_filename=None, export_for_deployment=True, program_only=False):
    """Saves the part of a program that computes ``target_vars`` from ``feeded_var_names``; returns the targets' names. Without
    ``export_for_deployment`` the whole program is saved, as ``__model__.main_program``."""
    feeds = [feeded_var_names] if isinstance(feeded_var_names, str) else list(feeded_var_names or [])
    targets = [target_vars] if isinstance(target_vars, Variable) else list(target_vars)
    if not all(isinstance(name, str) for name in feeds):
        raise ValueError("'feeded_var_names' should be a list of names.")
    if export_for_deployment and (not targets or not all(isinstance(v, Variable) for v in targets)):
        raise ValueError("'target_vars' should be a list of Variables.")
    program, job, scope = _plain(main_program), _job(main_program), global_scope()
    names = [v.name for v in targets]
    if job is not None:
        # The inference model is the network before it was transpiled, with the parameters of the servers.
        if not _saves(job, dirname):
            return names
        program = Program(job.program())
    if not export_for_deployment:
        # The whole network, so that it can be trained on.
        _core.save_program_only(dirname, os.path.basename(model_filename or "__model__") + ".main_program", program.desc)
        if not program_only:
            save_persistables(executor, dirname, main_program, params_filename)
        return names
    model = _core.export_model(program.desc, feeds, names)
    if job is not None and not program_only:
        job.save_model(runtime(), dirname, model, model_filename, params_filename, scope)
    else:
        _core.save_model(dirname, model, model_filename, params_filename, program_only, scope)
    return [model.op_slots(0, i, True)[0][1][0] for i in range(model.num_ops(0)) if model.op_type(0, i) == "fetch"]


def load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None):
    """Loads an inference model: ``[program, names of feeds, Variables to fetch]``. With ``pserver_endpoints``, all servers of a job
    that runs, sparse tables are not loaded: runs look their rows up there and change nothing."""
    servers = pserver_endpoints or []
    servers = servers.split(",") if isinstance(servers, str) else [str(server) for server in servers]
    if dirname is not None and not os.path.exists(dirname) and model_filename is None and params_filename is None:
        parent = os.path.dirname(dirname) or "."
        if not os.path.isdir(parent):
            raise ValueError("There is no directory named '%s'" % dirname)
    desc, feeds, fetches = _core.load_model(runtime(), dirname, model_filename, params_filename, servers, global_scope())
    program = Program(desc)
    return [program, feeds, [program.global_block().var(name) for name in fetches]]


def save(program, model_path):
    """Saves a program, its parameters and its optimizer's state as ``path.pdmodel``, ``.pdparams`` and ``.pdopt``."""
    if os.path.basename(model_path) == "":
        raise ValueError("The input model_path MUST be format of dirname/filename, but received %r" % model_path)
    _core.save_program(model_path, _plain(program).desc, global_scope())


def load(program, model_path, executor=None, var_list=None):
    """Loads what ``save`` wrote into the variables of a program: all of them, or none."""
    names = None if var_list is None else [v.name for v in var_list]
    _core.load_program(model_path, _plain(program).desc, names, global_scope())


def load_program_state(model_path, var_list=None):
    """The arrays of a save, by name."""
    program = Program()
    names = None
    if var_list is not None:
        names = [v.name for v in var_list]
        for v in var_list:
            program.desc.declare(0, v.name, int(v.type), int(v.dtype), list(v.shape), v.lod_level, True)
    return _core.read_state(model_path, program.desc, names)


def set_program_state(program, state_dict):
    """Sets variables of a program from arrays by name; warns of arrays it does not use."""
    unused = _core.set_state(_plain(program).desc, state_dict, global_scope())
    if unused:
        import warnings

        warnings.warn("This list is not set, Because of Paramerter not found in program. There are: {}".format(" ".join(unused)))
