"""Eager mode: operators run when they are called."""

from . import backward_strategy, tracer  # noqa: F401
from . import base
from . import _tensor_methods  # noqa: F401
from . import checkpoint, container, dygraph_to_static, jit, layers, learning_rate_scheduler, nn, parallel
from .backward_strategy import *  # noqa: F403
from .base import *  # noqa: F403
from .checkpoint import *  # noqa: F403
from .container import *  # noqa: F403
from .dygraph_to_static import *  # noqa: F403
from .jit import *  # noqa: F403
from .layers import *  # noqa: F403
from .learning_rate_scheduler import *  # noqa: F403
from .nn import *  # noqa: F403
from .parallel import *  # noqa: F403
from .tracer import *  # noqa: F403

__all__ = [
    name
    for module in (layers, base, container, nn, parallel, checkpoint, learning_rate_scheduler, backward_strategy, jit)
    for name in module.__all__
]
