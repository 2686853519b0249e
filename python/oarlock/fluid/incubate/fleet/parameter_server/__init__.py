"""Fleet with parameter servers."""

from . import distribute_transpiler

__all__ = ["distribute_transpiler"]
