"""How a program is compiled, for people who want to know what runs."""

from . import _core
from .fluid import executor as _executor
from .fluid.framework import Program, default_main_program


def explain(program=None, feed=None, fetch_list=None):
    """Returns as text how a program is compiled: the program, the lines that each pass and fusion removes (``-``) and adds (``+``), and
    the plan with the order of operators and the memory slot of every variable.

    Args:
        program: a Program or CompiledProgram; the default main program if None.
        feed: the names that will be fed, or a dict as for ``Executor.run``.
        fetch_list: variables or names that will be fetched.

    Two texts can be compared line by line, for example before and after a change to a network. Nothing runs.

    Example::

        print(oarlock.explain(fluid.default_main_program(), ["x", "y"], [loss]))
    """
    program = default_main_program() if program is None else getattr(program, "_program", program)
    if not isinstance(program, Program):
        raise TypeError("explain takes a Program or a CompiledProgram, not %r" % (program,))
    core = _core.Executor(_executor.runtime())
    return core.explain(program.desc, sorted(feed or ()), _executor._fetch_names(fetch_list))
