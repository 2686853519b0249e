"""Parts outside of the core of Fluid: the trainer and the inferencer, under the names of 1.2 and later, readers, and some layers."""

from . import inferencer, layers, reader, trainer
from .inferencer import Inferencer
from .reader import distributed_batch_reader
from .trainer import BeginEpochEvent, BeginStepEvent, CheckpointConfig, EndEpochEvent, EndStepEvent, Trainer

__all__ = [
    "BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Inferencer", "Trainer",
    "distributed_batch_reader", "inferencer", "layers", "reader", "trainer",
]
