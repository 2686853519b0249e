"""The messages of saved programs."""

from . import framework_pb2

__all__ = ["framework_pb2"]
