"""Complex numbers, as pairs of variables: a real and an imaginary part."""

from . import tensor
from .tensor import *  # noqa: F401,F403

__all__ = tensor.__all__
