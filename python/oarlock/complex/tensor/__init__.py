"""Layers of complex numbers."""

from . import linalg, manipulation, math
from .linalg import *  # noqa: F401,F403
from .manipulation import *  # noqa: F401,F403
from .math import *  # noqa: F401,F403

__all__ = math.__all__ + manipulation.__all__ + linalg.__all__
