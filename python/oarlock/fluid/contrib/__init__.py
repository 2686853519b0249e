"""Parts outside of the core of Fluid: layers, decoders, readers, estimates, and the trainer of 1.2 and later."""

from . import (
    decoder, extend_optimizer, inferencer, layers, memory_usage_calc, model_stat, op_frequence, reader, trainer, utils,
)
from .decoder import *  # noqa: F401,F403
from .extend_optimizer import *  # noqa: F401,F403
from .inferencer import Inferencer
from .layers import *  # noqa: F401,F403
from .memory_usage_calc import memory_usage
from .op_frequence import op_freq_statistic
from .reader import distributed_batch_reader
from .trainer import BeginEpochEvent, BeginStepEvent, CheckpointConfig, EndEpochEvent, EndStepEvent, Trainer
from .utils import *  # noqa: F401,F403

__all__ = [
    "BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Inferencer", "Trainer", "decoder",
    "distributed_batch_reader", "extend_optimizer", "inferencer", "memory_usage", "memory_usage_calc", "model_stat",
    "op_freq_statistic", "op_frequence", "reader", "trainer", "utils",
] + decoder.__all__ + extend_optimizer.__all__ + layers.__all__ + utils.__all__ + ["layers"]

_SLIM = "fluid.contrib.slim is not supported: prune, quantize or distil a trained model with tools of its own"
_ABSENT = {"slim": _SLIM, "Compressor": _SLIM}


def __getattr__(name):
    if name in _ABSENT:
        raise NotImplementedError(_ABSENT[name])
    if name in layers._NOT_HERE:
        return getattr(layers, name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
