"""Sequences."""

from ._names import fallback
from ._generated import sequence_lod as _generated
from ._generated.sequence_lod import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
