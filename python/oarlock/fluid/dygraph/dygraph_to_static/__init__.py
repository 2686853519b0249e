"""Functions written for eager mode as programs: branches and loops over tensors become blocks."""

from . import convert_call_func, program_translator
from .convert_call_func import *  # noqa: F403
from .program_translator import *  # noqa: F403

__all__ = program_translator.__all__ + convert_call_func.__all__
