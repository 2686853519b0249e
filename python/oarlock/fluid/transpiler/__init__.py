"""Passes over whole programs."""

from . import collective, details  # noqa: F401
from .distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig
from .memory_optimization_transpiler import memory_optimize, release_memory
from .ps_dispatcher import HashName, PSDispatcher, RoundRobin

__all__ = [
    "DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "PSDispatcher", "RoundRobin", "memory_optimize",
    "release_memory",
]
