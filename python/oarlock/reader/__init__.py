"""Readers: functions that return iterators over samples, and what can be done with them."""

from . import decorator
from .decorator import (
    ComposeNotAligned, buffered, cache, chain, compose, firstn, map_readers, multiprocess_reader, shuffle, xmap_readers,
)

__all__ = decorator.__all__
