"""Unique names of layers and variables."""

import contextlib

from . import _state

__all__ = ["generate", "guard", "switch"]


def generate(key):
    """The next name of a key: ``key_0``, ``key_1``, ..."""
    return _state.builder.generate(key)


def generate_with_ignorable_key(key):
    """The next name of a key."""
    return generate(key)


def switch(new_generator=None, new_para_name_checker=None):
    """Names with another generator from now on; returns the one used so far."""
    if new_generator is None or isinstance(new_generator, str):
        return _state.builder.push_names(_text(new_generator))
    _state.builder.swap_names(new_generator)
    return new_generator


@contextlib.contextmanager
def guard(new_generator=None):
    """Names with a fresh generator inside the block; a string is put in front of all names."""
    outer = _state.builder.push_names(_text(new_generator))
    try:
        yield
    finally:
        _state.builder.swap_names(outer)


def _text(prefix):
    return prefix.decode() if isinstance(prefix, bytes) else prefix
