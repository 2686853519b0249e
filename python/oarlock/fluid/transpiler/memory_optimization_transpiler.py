"""Memory of temporaries."""

from .. import options
from ..framework import default_main_program

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(input_program=None, skip_opt_set=None, print_log=False, level=0, skip_grads=False):
    """Lets temporaries that are never alive together share memory; ``print_log`` prints what is kept apart."""
    options.check("memory_optimize", "level", level)
    options.check("memory_optimize", "skip_grads", skip_grads)
    program = input_program or default_main_program()
    keep = [getattr(v, "name", v) for v in skip_opt_set or ()]
    program.desc.plan_memory(True, False, keep)
    if print_log:
        print("memory_optimize: temporaries share memory%s" % (", except %s" % ", ".join(keep) if keep else ""))


def release_memory(input_program=None, skip_opt_set=None):
    """Frees temporaries as soon as nothing needs them."""
    program = input_program or default_main_program()
    program.desc.plan_memory(False, True, [getattr(v, "name", v) for v in skip_opt_set or ()])
