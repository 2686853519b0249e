"""A misspelt keyword argument is answered with the one that was probably meant."""

import difflib
import functools
import inspect
import sys

# By function: what stands in its place, so that a function under two names stays one.
_wrapped: dict = {}


def _keywords(function):
    """The names a function can be given; None if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _refuse(what, given, known):
    near = difflib.get_close_matches(given, known, 1)
    hint = "did you mean '%s'?" % near[0] if near else "it takes %s" % ", ".join(known)
    raise TypeError("%s() got an unexpected keyword argument '%s'; %s" % (what, given, hint))


def _checked(function, what=None):
    keywords = _keywords(function)
    if keywords is None:
        return function
    known = frozenset(keywords)
    shown = [k for k in keywords if k != "self"]

    @functools.wraps(function)
    def call(*args, **kwargs):
        for given in kwargs:
            if given not in known:
                _refuse(what or function.__name__, given, shown)
        return function(*args, **kwargs)

    return call


def suggest(*modules):
    """Lets the functions and classes that modules, or modules of these names, list in ``__all__`` answer misspelt keywords so."""
    for module in modules:
        module = sys.modules[module] if isinstance(module, str) else module
        for name in module.__all__:
            found = vars(module).get(name)
            if inspect.isfunction(found):
                if not hasattr(found, "__wrapped__"):
                    _wrapped.setdefault(found, _checked(found))
                setattr(module, name, _wrapped.get(found, found))
            elif inspect.isclass(found) and inspect.isfunction(found.__dict__.get("__init__")):
                if not hasattr(found.__init__, "__wrapped__"):
                    found.__init__ = _checked(found.__init__, found.__name__)
