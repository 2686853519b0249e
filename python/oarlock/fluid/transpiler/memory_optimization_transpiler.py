"""Memory of temporaries."""

import warnings

from .. import options
from ..framework import default_main_program

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(input_program=None, skip_opt_set=None, print_log=False, level=0, skip_grads=False):
    """Lets temporaries that are never alive together share memory; ``print_log`` prints what is kept apart. Warns where the manuals
    say not to call it: on a server's program, and on a trainer's after ``transpile``."""
    options.check("memory_optimize", "level", level)
    options.check("memory_optimize", "skip_grads", skip_grads)
    keep = _names(skip_opt_set)
    _warn((input_program or default_main_program()).desc.memory_optimize(keep, bool(skip_grads)))
    if print_log:
        print("memory_optimize: temporaries share memory%s" % (", except %s" % ", ".join(keep) if keep else ""))


def release_memory(input_program=None, skip_opt_set=None):
    """Frees temporaries as soon as nothing needs them. Warns on a server's program, whose variables belong to the trainers."""
    _warn((input_program or default_main_program()).desc.release_memory(_names(skip_opt_set)))


def _names(variables):
    return [getattr(v, "name", v) for v in variables or ()]


def _warn(messages):
    for message in messages:
        warnings.warn(message, stacklevel=3)
