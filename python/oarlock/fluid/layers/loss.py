"""Losses."""

from ._names import fallback
from ._generated import loss as _generated
from ._generated.loss import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
