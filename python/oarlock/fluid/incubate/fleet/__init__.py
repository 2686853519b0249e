"""Fleet: the same script on every process of a job."""

from . import base, parameter_server

__all__ = ["base", "parameter_server"]
