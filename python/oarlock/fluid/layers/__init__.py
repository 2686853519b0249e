"""Layers: functions that append operators and parameters to the default programs."""

from . import control_flow, detection, device, io, learning_rate_scheduler, loss, metric_op, nn, ops, rnn  # noqa: F401
from . import distributions, preview, sequence_lod, tensor

# The function `rnn` will stand in the place of its module.
_MODULES = (
    control_flow, detection, distributions, io, learning_rate_scheduler, loss, metric_op, nn, ops, preview, rnn, sequence_lod, tensor,
)

from .control_flow import *  # noqa: E402,F401,F403
from .detection import *  # noqa: E402,F401,F403
from .distributions import *  # noqa: E402,F401,F403
from .io import *  # noqa: E402,F401,F403
from .learning_rate_scheduler import *  # noqa: E402,F401,F403
from .loss import *  # noqa: E402,F401,F403
from .metric_op import *  # noqa: E402,F401,F403
from .nn import *  # noqa: E402,F401,F403
from .ops import *  # noqa: E402,F401,F403
from .preview import *  # noqa: E402,F401,F403
from .rnn import *  # noqa: E402,F401,F403
from .sequence_lod import *  # noqa: E402,F401,F403
from .tensor import *  # noqa: E402,F401,F403

__all__ = [name for module in _MODULES for name in module.__all__]


def __getattr__(name):
    import difflib

    near = difflib.get_close_matches(name, __all__, 1)
    raise AttributeError("Oarlock has no layer fluid.layers.%s%s" % (name, "; did you mean %s?" % near[0] if near else ""))
