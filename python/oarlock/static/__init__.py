"""Static programs by the names of Paddle 2: views of ``oarlock.fluid``."""

import os

from .._arguments import suggest as _suggest
from ..fluid import io as _io
from ..fluid.backward import append_backward, gradients
from ..fluid.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from ..fluid.core import Scope
from ..fluid.executor import Executor, global_scope, scope_guard
from ..fluid.framework import (
    Operator, Parameter, Program, Variable, cpu_places, cuda_places, default_main_program, default_startup_program,
    device_guard, name_scope, program_guard,
)
from ..fluid.input import data as _data
from ..fluid.io import load, load_program_state, load_vars, save, save_vars, set_program_state
from ..fluid.layers import Print, accuracy, create_global_var, create_parameter, py_func
from ..fluid.layers import auc as _auc
from ..fluid.optimizer import ExponentialMovingAverage
from ..fluid.param_attr import WeightNormParamAttr
from . import nn

__all__ = [
    "BuildStrategy", "CompiledProgram", "ExecutionStrategy", "Executor", "ExponentialMovingAverage", "InputSpec", "Operator",
    "Parameter", "Print", "Program", "Scope", "Variable", "WeightNormParamAttr", "accuracy", "append_backward", "auc",
    "cpu_places", "create_global_var", "create_parameter", "cuda_places", "data", "default_main_program",
    "default_startup_program", "device_guard", "global_scope", "gradients", "load", "load_inference_model",
    "load_program_state", "load_vars", "name_scope", "nn", "normalize_program", "program_guard", "py_func", "save",
    "save_inference_model", "save_vars", "scope_guard", "set_program_state",
]


def data(name, shape, dtype=None, lod_level=0):
    """A variable that is fed; None or -1 for sizes that are known only when the program runs."""
    return _data(name, shape, "float32" if dtype is None else dtype, lod_level)


class InputSpec:
    """The declaration of an input: shape, element type and name."""

    def __init__(self, shape, dtype="float32", name=None, stop_gradient=False):
        self.shape, self.dtype, self.name, self.stop_gradient = tuple(shape), dtype, name, stop_gradient

    def __repr__(self):
        return "InputSpec(shape=%r, dtype=%r, name=%r)" % (self.shape, self.dtype, self.name)


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1, ins_tag_weight=None):
    """The area under the ROC curve of all batches, of the last ``slide_steps``, and the counts behind them."""
    if ins_tag_weight is not None:
        raise NotImplementedError("auc(ins_tag_weight=...) is not supported: leave such samples out of the batch")
    return _auc(input, label, curve, num_thresholds, topk, slide_steps)


def _names(vars):
    return [v.name for v in (vars if isinstance(vars, (list, tuple)) else [vars])]


def _of(vars):
    return list(vars) if isinstance(vars, (list, tuple)) else [vars]


def normalize_program(program, feed_vars, fetch_vars, **kwargs):
    """The part of a program that computes ``fetch_vars`` from ``feed_vars``."""
    return program.clone(for_test=True)._prune_with_input(_names(feed_vars), _names(fetch_vars))


def save_inference_model(path_prefix, feed_vars, fetch_vars, executor, program=None, **kwargs):
    """Saves what computes ``fetch_vars`` as ``path_prefix.pdmodel`` and ``path_prefix.pdiparams``."""
    _no_more("save_inference_model", kwargs)
    dirname, prefix = os.path.split(path_prefix)
    if not prefix:
        raise ValueError("path_prefix must end in a name, such as model/ctr, not %r" % path_prefix)
    _io.save_inference_model(
        dirname or ".", _names(feed_vars), _of(fetch_vars), executor, program or _of(fetch_vars)[0].block.program,
        model_filename=prefix + ".pdmodel", params_filename=prefix + ".pdiparams",
    )


def load_inference_model(path_prefix, executor, model_filename=None, params_filename=None, **kwargs):
    """Loads an inference model: ``[program, names of feeds, Variables to fetch]``."""
    _no_more("load_inference_model", kwargs)
    if model_filename is not None or params_filename is not None:
        return _io.load_inference_model(path_prefix, executor, model_filename, params_filename)
    dirname, prefix = os.path.split(path_prefix)
    return _io.load_inference_model(dirname or ".", executor, prefix + ".pdmodel", prefix + ".pdiparams")


def _no_more(what, kwargs):
    if kwargs:
        raise TypeError("%s takes no %s" % (what, ", ".join(sorted(kwargs))))


def __getattr__(name):
    if name == "ParallelExecutor":
        raise AttributeError("paddle.static.ParallelExecutor: run the program itself, whose operators use all threads")
    raise AttributeError("Oarlock has no paddle.static.%s" % name)


_suggest(__name__)
