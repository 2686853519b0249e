"""Additions to Fluid: what of them works here."""

from . import reader
from .reader import distributed_batch_reader

__all__ = ["distributed_batch_reader", "reader"]
