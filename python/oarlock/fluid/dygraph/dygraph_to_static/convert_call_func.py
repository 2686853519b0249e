"""Calls inside rewritten functions: functions of the user are rewritten as well."""

import builtins
import functools
import inspect
import os
import sysconfig
import types

from .. import container
from ..base import to_variable
from ..layers import Layer
from ._source import converted, is_converted

__all__ = ["convert_call"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_STANDARD = sysconfig.get_paths()["stdlib"]
# Layers of this file call layers of the user.
_CALLS_USERS = os.path.abspath(container.__file__)
_FOREIGN = ("numpy", "six", "pdb")


def _is_users(function):
    file = os.path.abspath(function.__code__.co_filename)
    if file == _CALLS_USERS:
        return True
    if file.startswith(_PACKAGE + os.sep) or (file.startswith(_STANDARD + os.sep) and "site-packages" not in file):
        return False
    return (function.__module__ or "").partition(".")[0] not in _FOREIGN


def _function(function):
    """The rewritten form of a function; the function itself if it is not the user's or has no source."""
    if is_converted(function) or not _is_users(function) or function.__name__ == "<lambda>" or inspect.isgeneratorfunction(function):
        return function
    try:
        return converted(function)
    except OSError:
        return function


def _call_layer(layer):
    @functools.wraps(type(layer).__call__)
    def call(*args, **kwargs):
        from ... import _state

        if _state.capture is not None:
            _state.capture.enter(layer)
        forward = layer.__dict__.get("forward")
        method = layer.forward
        if forward is None and inspect.ismethod(method):
            layer.__dict__["forward"] = types.MethodType(_function(method.__func__), layer)
        try:
            return layer(*args, **kwargs)
        finally:
            if forward is None:
                layer.__dict__.pop("forward", None)

    return call


@functools.lru_cache(None)
def _replaced():
    from ... import layers
    from . import convert_operators as ours

    return {
        builtins.len: ours.convert_len, builtins.print: ours.convert_print, builtins.range: ours.convert_range,
        builtins.enumerate: ours.convert_enumerate, builtins.int: ours.convert_int, builtins.float: ours.convert_float,
        builtins.bool: ours.convert_bool, to_variable: ours.convert_to_variable,
        layers.concat: ours.convert_concat, layers.stack: ours.convert_stack,
    }


def convert_call(func):
    """What to call instead of a function while a program may be built.

    Args:
        func (callable): the function.

    Returns:
        callable: the rewritten form of functions of the user, and of the ``forward`` of layers; others as they are.
    """
    try:
        found = _replaced().get(func)
    except TypeError:
        found = None
    if found is not None:
        return found
    if isinstance(func, types.FunctionType):
        return _function(func)
    if inspect.ismethod(func):
        return types.MethodType(_function(func.__func__), func.__self__) if inspect.isfunction(func.__func__) else func
    if isinstance(func, functools.partial):
        return functools.partial(convert_call(func.func), *func.args, **func.keywords)
    if isinstance(func, Layer):
        return _call_layer(func)
    call = getattr(type(func), "__call__", None)
    if not isinstance(func, type) and isinstance(call, types.FunctionType):
        return types.MethodType(_function(call), func)
    return func
