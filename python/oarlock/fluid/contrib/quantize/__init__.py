"""Training with the errors of integer inference."""

from .quantize_transpiler import *  # noqa: F401,F403
from . import quantize_transpiler

__all__ = quantize_transpiler.__all__
