"""Layers of neural networks."""

from ... import _core
from ..framework import Variable, default_main_program
from ._names import fallback
from ._generated import nn as _generated
from ._generated.nn import *  # noqa: F403

__all__ = [*_generated.__all__, "py_func"]

__getattr__ = fallback(__name__)


def _variables(what, given):
    """None, a Variable or several, as a list."""
    given = [] if given is None else [given] if isinstance(given, Variable) else given
    if not isinstance(given, (list, tuple)) or not all(isinstance(v, Variable) for v in given):
        raise TypeError("%s of py_func must be None, a Variable, or a list or tuple of Variables, not %r" % (what, given))
    return list(given)


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Calls a Python function whenever the program runs: ``out = func(*x)``, with LoDTensors as arguments. ``out`` is declared
    by the user. ``backward_func`` takes the inputs, the outputs and the outputs' gradients, except those in
    ``skip_vars_in_backward_input``, and returns the inputs' gradients; without it no gradient flows. What the function raises
    arrives at ``exe.run``."""
    for what, f in (("func", func), ("backward_func", backward_func)):
        if not callable(f) and (f is not None or what == "func"):
            raise TypeError("%s of py_func must be a function, not %r" % (what, f))
    inputs, outputs = _variables("x", x), _variables("out", out)
    for v in outputs:
        if not v.shape:
            raise ValueError("py_func cannot know the shape of its output %s: declare it with one" % v.name)
    skipped = [v.name for v in _variables("skip_vars_in_backward_input", skip_vars_in_backward_input)]
    unknown = set(skipped) - {v.name for v in inputs + outputs}
    if unknown:
        raise ValueError("%s: neither an input nor an output of this py_func" % ", ".join(sorted(unknown)))
    attrs = {
        "forward_callable_id": _core.keep_function(func),
        "backward_callable_id": -1 if backward_func is None else _core.keep_function(backward_func),
        "backward_skip_vars": skipped if backward_func is not None else [],
    }
    default_main_program().current_block().append_op("py_func", {"X": inputs}, {"Out": outputs}, attrs)
    return out
