"""The part of ``paddle.nn`` for static programs: functions, initializers, gradient clipping. Layers as objects belong to eager mode."""

from ..fluid.clip import GradientClipByGlobalNorm as ClipGradByGlobalNorm
from ..fluid.clip import GradientClipByNorm as ClipGradByNorm
from ..fluid.clip import GradientClipByValue as ClipGradByValue
from . import functional, initializer

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "functional", "initializer"]


def __getattr__(name):
    raise NotImplementedError("paddle.nn.%s belongs to the 2.0 eager API, which Oarlock does not have yet" % name)
