"""Learning-rate schedules: the returned variable is an optimizer's rate."""

from ._names import fallback
from ._generated import learning_rate_scheduler as _generated
from ._generated.learning_rate_scheduler import *  # noqa: F403

__all__ = [*_generated.__all__]

__getattr__ = fallback(__name__)
