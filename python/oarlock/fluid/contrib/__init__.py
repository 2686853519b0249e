"""What Fluid keeps apart from its core: the trainer and the inferencer, under the names of 1.2 and later."""

from . import inferencer, trainer
from .inferencer import Inferencer
from .trainer import BeginEpochEvent, BeginStepEvent, CheckpointConfig, EndEpochEvent, EndStepEvent, Trainer

__all__ = [
    "BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Inferencer", "Trainer",
    "inferencer", "trainer",
]
