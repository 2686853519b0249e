"""Marks of functions that scripts should stop to call."""

import functools
import sys

__all__ = ["deprecated"]


def deprecated(since, instead, extra_message=""):
    """Returns a decorator of a deprecated function: each call prints a line to the standard error output, and the docstring says the same.

    Args:
        since (str): the release that deprecated it.
        instead (str): the function to use.
        extra_message (str): a line that follows.

    Example:
        >>> from oarlock.fluid.annotations import deprecated
        >>> @deprecated("1.8", "new_layer")
        ... def old_layer():
        ...     "Does nothing."
        >>> old_layer.__doc__
        'Does nothing.\\n    API old_layer is deprecated since 1.8. Please use new_layer instead.'
    """

    def decorate(function):
        message = "API {0} is deprecated since {1}. Please use {2} instead.".format(function.__name__, since, instead)
        if extra_message:
            message += "\n" + extra_message

        @functools.wraps(function)
        def call(*args, **kwargs):
            print(message, file=sys.stderr)
            return function(*args, **kwargs)

        call.__doc__ = (function.__doc__ or "") + "\n    " + message
        return call

    return decorate
