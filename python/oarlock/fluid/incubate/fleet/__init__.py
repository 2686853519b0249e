"""Fleet: the same script on every process of a job."""

from . import base, collective, parameter_server

__all__ = ["base", "collective", "parameter_server"]
