"""The parts of Fleet, under the names of Paddle's modules."""

from . import distributed_strategy, role_maker, util_factory

__all__ = ["distributed_strategy", "role_maker", "util_factory"]
