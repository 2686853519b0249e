"""Functions of each element."""

from ._names import fallback
from ._generated import ops as _generated
from ._generated.ops import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
