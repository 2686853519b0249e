"""Decorators whose results show the signature of the function that they decorate."""

import contextlib
import functools

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func):
    """Returns a decorator like ``decorator_func`` whose results keep the name, the docstring and the signature of what they decorate.

    Args:
        decorator_func (callable): takes a function and returns a function. It is applied anew for every call.

    Example:
        >>> import inspect
        >>> from oarlock.fluid.wrapped_decorator import wrap_decorator
        >>> twice = wrap_decorator(lambda function: lambda *args: 2 * function(*args))
        >>> @twice
        ... def add(a, b):
        ...     return a + b
        >>> add(1, 2), str(inspect.signature(add))
        (6, '(a, b)')
    """

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return decorator_func(function)(*args, **kwargs)

        return call

    return decorate


signature_safe_contextmanager = wrap_decorator(contextlib.contextmanager)
