"""Parts of Fluid that were still changing: distributed training by Fleet, and generators of data."""

from . import data_generator, fleet

__all__ = ["data_generator", "fleet"]
