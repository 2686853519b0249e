"""Metrics as operators."""

from ._names import fallback
from ._generated import metric_op as _generated
from ._generated.metric_op import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
