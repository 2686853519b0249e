"""Parts of Paddle that were new in 1.8."""

from . import hapi

__all__ = ["hapi"]
