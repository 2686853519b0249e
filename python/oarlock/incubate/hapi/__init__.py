"""What 1.8 has of the high-level API: samplers of collective workers, and changes of images."""

from . import distributed, vision

__all__ = ["distributed", "vision"]
