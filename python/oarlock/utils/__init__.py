"""Tools around training."""

from .plot import Ploter

__all__ = ["Ploter"]
