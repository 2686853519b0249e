"""Measures of detected boxes."""

from ._names import fallback
from ._generated import detection as _generated
from ._generated.detection import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
