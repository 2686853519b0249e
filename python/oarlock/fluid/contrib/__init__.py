"""Parts outside of the core of Fluid: layers, decoders, readers, estimates, and the trainer of 1.2 and later."""

import importlib

from . import (
    decoder, extend_optimizer, inferencer, layers, memory_usage_calc, model_stat, op_frequence, quantize, reader, trainer,
)
from .decoder import *  # noqa: F401,F403
from .extend_optimizer import *  # noqa: F401,F403
from .inferencer import Inferencer
from .layers import *  # noqa: F401,F403
from .memory_usage_calc import memory_usage
from .op_frequence import op_freq_statistic
from .quantize import *  # noqa: F401,F403
from .reader import distributed_batch_reader
from .trainer import BeginEpochEvent, BeginStepEvent, CheckpointConfig, EndEpochEvent, EndStepEvent, Trainer

__all__ = [
    "BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Inferencer", "Trainer", "decoder",
    "distributed_batch_reader", "extend_optimizer", "inferencer", "memory_usage", "memory_usage_calc", "model_stat",
    "op_freq_statistic", "op_frequence", "quantize", "reader", "trainer", "utils",
    "HDFSClient", "convert_dist_to_sparse_program", "load_persistables_for_increment", "load_persistables_for_inference",
    "multi_download", "multi_upload",
] + decoder.__all__ + extend_optimizer.__all__ + layers.__all__ + quantize.__all__ + ["layers"]

# Names of a module that few scripts need: it is loaded when a script asks for one.
_UTILS = (
    "HDFSClient", "convert_dist_to_sparse_program", "load_persistables_for_increment", "load_persistables_for_inference",
    "multi_download", "multi_upload",
)

_SLIM = "fluid.contrib.slim is not supported: prune, quantize or distil a trained model with tools of its own"
_ABSENT = {"slim": _SLIM, "Compressor": _SLIM}


def __getattr__(name):
    if name == "utils" or name in _UTILS:
        utils = importlib.import_module(".utils", __name__)
        return utils if name == "utils" else getattr(utils, name)
    if name in _ABSENT:
        raise NotImplementedError(_ABSENT[name])
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
