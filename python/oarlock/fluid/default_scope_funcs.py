"""A stack of scopes, one stack for each thread: the current scope is the innermost."""

import threading

from .core import Scope

__all__ = ["enter_local_scope", "find_var", "get_cur_scope", "leave_local_scope", "scoped_function", "var"]

_thread = threading.local()


def _stack():
    if not getattr(_thread, "scopes", None):
        _thread.scopes = [Scope()]
    return _thread.scopes


def get_cur_scope():
    """Returns the current scope.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.get_cur_scope() is scopes.get_cur_scope()
        True
    """
    return _stack()[-1]


def enter_local_scope():
    """Makes a new scope inside the current one, and that the current one.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.enter_local_scope()
        >>> scopes.leave_local_scope()
    """
    _stack().append(get_cur_scope().new_scope())


def leave_local_scope():
    """Drops the current scope with its variables; the one around it is the current one again.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.enter_local_scope()
        >>> made = scopes.var("x")
        >>> scopes.leave_local_scope()
        >>> scopes.find_var("x") is None
        True
    """
    _stack().pop()
    get_cur_scope().drop_kids()


def var(name):
    """Returns the variable of this name in the current scope; makes it if there is none.

    Args:
        name (str): its name.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.scoped_function(lambda: scopes.var("x"))
    """
    return get_cur_scope().var(name)


def find_var(name):
    """Returns the variable of this name in the current scope or one around it, or None.

    Args:
        name (str): its name.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.find_var("no such variable") is None
        True
    """
    return get_cur_scope().find_var(name)


def scoped_function(func):
    """Calls a function in a new scope, which is dropped afterwards.

    Args:
        func (callable): takes no arguments; its result is not returned.

    Example:
        >>> from oarlock.fluid import default_scope_funcs as scopes
        >>> scopes.scoped_function(lambda: print(scopes.find_var("x")))
        None
    """
    enter_local_scope()
    try:
        func()
    finally:
        leave_local_scope()
