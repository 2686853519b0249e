"""Tensors: making, filling, joining."""

from ._names import fallback
from ._generated import tensor as _generated
from ._generated.tensor import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
