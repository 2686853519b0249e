"""Limits on gradients."""

from . import _state
from .framework import Variable, default_main_program

__all__ = [
    "ErrorClipByValue", "GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue", "set_gradient_clip",
]


class BaseErrorClipAttr:
    """The base of limits on the gradients of variables."""


class ErrorClipByValue(BaseErrorClipAttr):
    """Each element of a variable's gradient into ``[min, max]`` while it flows back."""

    def __init__(self, max, min=None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)


class GradientClipBase:
    """The base of limits on the gradients of parameters."""

    need_clip = None


class GradientClipByValue(GradientClipBase):
    """Each element into ``[min, max]``."""

    _kind = "clip_value"

    def __init__(self, max, min=None, need_clip=None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)
        self.need_clip = need_clip


class GradientClipByNorm(GradientClipBase):
    """A gradient's norm to at most ``clip_norm``."""

    _kind = "clip_norm"

    def __init__(self, clip_norm, need_clip=None):
        self.clip_norm = float(clip_norm)
        self.need_clip = need_clip


class GradientClipByGlobalNorm(GradientClipBase):
    """The norm over all gradients of a group to at most ``clip_norm``."""

    _kind = "clip_global_norm"

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        self.clip_norm = float(clip_norm)
        self.group_name = group_name
        self.need_clip = need_clip


def set_gradient_clip(clip, param_list=None, program=None):
    """Limits the gradients of parameters, of all of a program without a list."""
    program = program or default_main_program()
    names = None if param_list is None else [p.name if isinstance(p, Variable) else p for p in param_list]
    _state.builder.set_gradient_clip(program._context(), clip, names)
