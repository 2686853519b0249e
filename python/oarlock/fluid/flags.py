"""Flags: what is set from outside, ``FLAGS_*``."""

import os

from .. import _core
from . import _state, options

_values: dict = {}

# Did the script set a flag? Runs look at flags only then.
is_set = False


def _parse(name, value):
    kind = type(options.default("flag", name))
    if isinstance(value, str) and kind is bool:
        if value.lower() in ("1", "t", "true", "y", "yes", "on"):
            return True
        if value.lower() in ("0", "f", "false", "n", "no", "off", ""):
            return False
        raise ValueError("%s is on or off (1 or 0), not %r" % (name, value))
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError("%s is of type %s, not %r" % (name, kind.__name__, value)) from None


def check_environment():
    """Refuses flags of the environment that would change results and misspelt variables ``OARLOCK_...``, and logs flags that
    change nothing. Flags that nothing reads may be meant for another program: they are warned of."""
    _core.check_environment()
    known = options.defaults("flag")
    for name, text in sorted(os.environ.items()):
        if name in known:
            options.check("flag", name, _parse(name, text))


def to_environment(name):
    """Writes a flag that the script set into the environment, from which the core reads it."""
    if name in _values:
        os.environ[name] = str(_values[name])


def given(name):
    """The value of a flag that the script or the environment sets; None if neither does."""
    return value(name) if name in _values or name in os.environ else None


def value(name):
    """The value of a flag: as set, else from the environment, else its default."""
    default = options.default("flag", name)
    if name in _values:
        return _values[name]
    return _parse(name, os.environ[name]) if name in os.environ else default


# Flags of Fluid that only the environment and ``fluid.core.globals()`` set.
_PRIVATE = ("FLAGS_free_idle_chunk", "FLAGS_free_when_no_cache_hit", "FLAGS_use_mkldnn")


def _check_public(names, verb):
    for name in names:
        if name in _PRIVATE:
            raise ValueError("Flag %s cannot %s its value through this function: set it in the environment" % (name, verb))


def get_flags(flags):
    """The values of flags, by name."""
    if not isinstance(flags, (str, list, tuple)):
        raise TypeError("Flags in get_flags should be a list, tuple or string.")
    names = [flags] if isinstance(flags, str) else list(flags)
    _check_public(names, "get")
    return {name: value(name) for name in names}


def set_flags(flags):
    """Sets flags, by name."""
    if not isinstance(flags, dict):
        raise TypeError("flags in set_flags should be a dict")
    _check_public(flags, "set")
    _set(flags)


def _set(flags):
    global is_set
    new = {name: _parse(name, v) for name, v in flags.items()}
    for name, v in new.items():
        options.check("flag", name, v)
    is_set = True
    _values.update(new)
    if "FLAGS_check_nan_inf" in new and _state.tracer is not None:
        _state.tracer.check_nan_inf(bool(new["FLAGS_check_nan_inf"]))


class Flags:
    """All flags as a mapping."""

    def __getitem__(self, name):
        return value(name)

    def __setitem__(self, name, v):
        # As in Fluid, private flags can be set here.
        _set({name: v})

    def __contains__(self, name):
        return name in options.defaults("flag")

    def keys(self):
        """The names."""
        return list(options.defaults("flag"))

    def is_public(self, name):
        """Whether ``set_flags`` takes it."""
        return name in self and name not in _PRIVATE

    def get(self, name, default=None):
        """The value, or a default for an unknown flag."""
        return value(name) if name in self else default
