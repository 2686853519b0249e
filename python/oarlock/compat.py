"""Helpers that scripts for both Python 2 and 3 call: on Python 3 they do what their names say."""

__all__ = ["floor_division", "get_exception_message", "int_type", "long_type", "round", "to_bytes", "to_text"]

import builtins

int_type = long_type = int


def _each(obj, convert, inplace=False):
    if inplace and isinstance(obj, (list, set, dict)):
        new = _each(obj, convert)
        obj.clear()
        obj.extend(new) if isinstance(obj, list) else obj.update(new)
        return obj
    if isinstance(obj, list):
        return [_each(item, convert) for item in obj]
    if isinstance(obj, set):
        return {_each(item, convert) for item in obj}
    if isinstance(obj, dict):
        return {_each(k, convert): _each(v, convert) for k, v in obj.items()}
    return convert(obj)


def to_text(obj, encoding="utf-8", inplace=False):
    """Bytes as text, also inside lists, sets and dicts."""
    return _each(obj, lambda v: v.decode(encoding) if isinstance(v, bytes) else v, inplace)


def to_bytes(obj, encoding="utf-8", inplace=False):
    """Text as bytes, also inside lists, sets and dicts."""
    return _each(obj, lambda v: v.encode(encoding) if isinstance(v, str) else v, inplace)


def round(x, d=0):
    """Rounds half away from zero, as Python 2 did."""
    if x is None:
        raise TypeError("round takes a number, not None")
    if x != x or x in (float("inf"), float("-inf")):
        return x
    p = 10**d
    return float(int(x * p + (0.5 if x >= 0 else -0.5))) / p


def floor_division(x, y):
    """``x // y``"""
    return x // y


def get_exception_message(exc):
    """The text of an exception."""
    assert exc is not None
    return builtins.str(exc)
