"""The options that scripts set: honoured, accepted, or refused. The core has the table."""

import difflib
import functools
import logging

from .. import _core

_log = logging.getLogger("oarlock")
_logged: set = set()


@functools.lru_cache(None)
def _table():
    """By place and name: the default, and rows of (class, text, values that the row is about, all if none)."""
    table = {}
    for place, name, default, kind, text, only in _core.settings():
        row = table.setdefault(place, {}).setdefault(name, (default, []))
        row[1].append((kind, text, only))
    return table


def defaults(place):
    """The options of a place with their defaults."""
    return {
        name: list(default) if isinstance(default, list) else default
        for name, (default, rows) in _table()[place].items() if rows[0][0] != "renamed"
    }


def default(place, name):
    """The default of an option; raises if the option is unknown."""
    check(place, name, None)
    return _table()[place][name][0]


def names(place, kind):
    """The options of a place that are of a class."""
    return [name for name, (_, rows) in _table()[place].items() if any(row[0] == kind for row in rows)]


def _unknown(place, name):
    near = difflib.get_close_matches(name, _table()[place], 1)
    hint = "did you mean %s?" % near[0] if near else "docs/options.md lists what can be set"
    return "%s: there is no %s; %s" % (place, name, hint)


def _log_once(place, name, text):
    if (place, name) not in _logged:
        _logged.add((place, name))
        _log.info("%s", text)


def check_renamed(place, name):
    """Raises if the name belongs to the past; says what took its place."""
    kind, text, _ = _table()[place].get(name, (None, [(None, None, None)]))[1][0]
    if kind == "renamed":
        raise AttributeError("%s: there is no %s any more; use %s" % (place, name, text))


def check(place, name, value):
    """Raises if the option is unknown, renamed or refused; logs once why it cannot matter."""
    known = _table()[place]
    if name not in known:
        raise ValueError(_unknown(place, name))
    check_renamed(place, name)
    default, rows = known[name]
    # A Variable's == builds an operator.
    is_variable = isinstance(value, _core.VarHandle)
    if value is None or (not is_variable and value == default):
        return
    special = next((r for r in rows if not is_variable and value in r[2]), None)
    kind, text, _ = special or next(r for r in rows if not r[2])
    if kind == "refused":
        raise NotImplementedError("%s: %s = %r is not supported: %s" % (place, name, value, text))
    if kind == "accepted":
        _log_once(place, name, "%s: %s = %r changes nothing: %s" % (place, name, value, text))
