"""The API of Fluid 1.8: programs, layers, optimizers, executors."""

from . import (
    average, backward, clip, communicator, compiler, contrib, core, data_feeder, dataset, executor, flags, framework, incubate, initializer, input, io,
    layer_helper, layer_helper_base, layers, lod_tensor, metrics, nets, optimizer, parallel_executor, param_attr, profiler, reader, recordio_writer, regularizer, transpiler, unique_name,
)
from .._arguments import suggest as _suggest

# Before names are taken out of them.
_suggest(
    backward, clip, data_feeder, initializer, input, io, *layers._MODULES, layers, metrics, nets, optimizer, param_attr, reader,
    regularizer, transpiler,
)

from .backward import append_backward, gradients
from .compiler import BuildStrategy, CompiledProgram, ExecutionStrategy
from .core import CPUPlace, CUDAPinnedPlace, CUDAPlace, LoDTensor, LoDTensorArray, Scope
from .data_feeder import DataFeeder
from .dataset import DatasetFactory
from .executor import Executor, global_scope, scope_guard
from .flags import get_flags, set_flags
from .framework import (
    ComplexVariable, Program, Variable, cpu_places, cuda_pinned_places, cuda_places, default_main_program,
    default_startup_program, device_guard, in_dygraph_mode, is_compiled_with_cuda, load_op_library, name_scope,
    program_guard, require_version,
)
from .initializer import init_on_cpu
from .data import data  # Before the function takes the place of its module.
from .input import embedding, one_hot
from .io import load, save
from .lod_tensor import create_lod_tensor, create_random_int_lodtensor
from .parallel_executor import ParallelExecutor
from .reader import DataLoader, PyReader
from .param_attr import ParamAttr, WeightNormParamAttr
from .inferencer import Inferencer
from .trainer import (
    BeginEpochEvent, BeginStepEvent, CheckpointConfig, EndEpochEvent, EndStepEvent, Trainer,
)
from .transpiler import DistributeTranspiler, DistributeTranspilerConfig, memory_optimize, release_memory

Tensor = LoDTensor
from . import dygraph
from .dygraph.base import disable_dygraph, disable_imperative, enable_dygraph, enable_imperative
from .dygraph.checkpoint import load_dygraph, save_dygraph
from .dygraph.layers import Layer
from .dygraph.nn import *  # noqa: F403

learning_rate_decay = layers.learning_rate_scheduler

__all__ = [
    "BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Inferencer", "Trainer",
    "BuildStrategy", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "CompiledProgram", "ComplexVariable", "DataFeedDesc", "DataFeeder", "DataLoader", "DatasetFactory",
    "DistributeTranspiler", "DistributeTranspilerConfig", "ParallelExecutor", "PyReader",
    "ExecutionStrategy", "Executor", "LoDTensor", "LoDTensorArray", "ParamAttr", "Program", "Scope", "Tensor",
    "Variable", "WeightNormParamAttr", "append_backward", "average", "backward", "clip", "communicator", "compiler", "contrib", "core",
    "cpu_places", "create_lod_tensor", "create_random_int_lodtensor", "cuda_pinned_places", "cuda_places", "data",
    "data_feeder", "dataset", "default_main_program", "default_startup_program", "device_guard", "embedding", "executor",
    "framework", "get_flags", "global_scope", "gradients", "in_dygraph_mode", "incubate", "init_on_cpu", "initializer", "input",
    "install_check", "io", "is_compiled_with_cuda", "layer_helper", "layer_helper_base", "layers", "load", "load_op_library", "lod_tensor",
    "memory_optimize", "metrics", "name_scope", "nets", "one_hot", "optimizer", "param_attr", "profiler",
    "program_guard", "recordio_writer", "regularizer", "release_memory", "require_version", "save", "scope_guard", "set_flags",
    *dygraph.nn.__all__,
    "annotations", "data_feed_desc", "dataloader", "debugger", "default_scope_funcs", "device_worker", "evaluator", "graphviz", "log_helper",
    "Layer", "disable_dygraph", "disable_imperative", "dygraph", "enable_dygraph", "enable_imperative", "load_dygraph", "save_dygraph",
    "net_drawer", "op", "proto", "trainer_desc", "trainer_factory", "transpiler", "unique_name", "wrapped_decorator",
]

# Modules that few scripts need: they are loaded when a script asks for them.
_LATER = (
    "annotations", "data_feed_desc", "dataloader", "debugger", "default_scope_funcs", "device_worker", "evaluator", "graphviz",
    "install_check", "log_helper", "net_drawer", "op", "proto", "trainer_desc", "trainer_factory", "wrapped_decorator",
)


def __getattr__(name):
    import importlib

    if name in _LATER:
        return importlib.import_module("." + name, __name__)
    if name == "DataFeedDesc":
        return importlib.import_module(".data_feed_desc", __name__).DataFeedDesc
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
