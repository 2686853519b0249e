"""Readers for jobs of several trainers."""

from .distributed_reader import distributed_batch_reader

__all__ = ["distributed_batch_reader"]
