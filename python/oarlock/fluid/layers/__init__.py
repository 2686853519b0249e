"""Layers: functions that append operators and parameters to the default programs."""

from . import control_flow, device, io, learning_rate_scheduler, loss, metric_op, nn, ops, rnn, sequence_lod, tensor
from .control_flow import *  # noqa: F401,F403
from .io import *  # noqa: F401,F403
from .learning_rate_scheduler import *  # noqa: F401,F403
from .loss import *  # noqa: F401,F403
from .metric_op import *  # noqa: F401,F403
from .nn import *  # noqa: F401,F403
from .ops import *  # noqa: F401,F403
from .rnn import *  # noqa: F401,F403
from .sequence_lod import *  # noqa: F401,F403
from .tensor import *  # noqa: F401,F403

_MODULES = (control_flow, io, learning_rate_scheduler, loss, metric_op, nn, ops, rnn, sequence_lod, tensor)
__all__ = [name for module in _MODULES for name in module.__all__]


def __getattr__(name):
    raise AttributeError("Oarlock has no layer fluid.layers.%s" % name)
