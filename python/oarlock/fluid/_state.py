"""State that Python owns for the process: the builder, and the call site of the user."""

import os
import sys

from .. import _core

builder = _core.Builder()

# The tracer of eager mode; None while layers build programs.
tracer = None
# The place of eager mode.
place = None
# Takes tensors of eager mode that a program uses while it is built of a function; None otherwise.
capture = None


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OUTSIDE: dict = {}


def call_site():
    """The first line outside this package that led here: (file, line, function)."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        outside = _OUTSIDE.get(code)
        if outside is None:
            outside = _OUTSIDE[code] = not code.co_filename.startswith(_PACKAGE) and "contextlib" not in code.co_filename
        if outside:
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None
