"""``fluid.data`` under the name of its module."""

from .input import data

__all__ = ["data"]
