"""The exchange with parameter servers beside the computation, for scripts that start it by hand. Fleet does so by itself."""

import warnings

from .. import _core
from .executor import global_scope, runtime
from .framework import Program
from .transpiler.distribute_transpiler import DistributedMode

__all__ = ["Communicator"]

_STRATEGIES = {
    DistributedMode.SYNC: "sync",
    DistributedMode.ASYNC: "async",
    DistributedMode.HALF_ASYNC: "half_async",
    DistributedMode.GEO: "geo",
}
_KNOB = "communicator_"


class Communicator:
    """Sends gradients of ``program`` and fetches parameters beside its runs. ``program`` is a trainer's, as
    ``DistributeTranspiler.get_trainer_program`` made it; ``mode`` is one of ``DistributedMode`` and must be what it was transpiled for.

    ``envs`` are the knobs of docs/options.md by their names without ``FLAGS_``; flags of the process count where a knob is not given.
    What ``kwargs`` say (trainer and servers, or what GEO shares and how often) the program knows: they may not contradict it.
    A process has one communicator at a time."""

    def __init__(self, program, mode, kwargs=None, envs={}):
        if not isinstance(program, Program):
            raise TypeError("program must be a fluid.Program, not %r" % (program,))
        if mode not in _STRATEGIES:
            raise ValueError("mode must be one of DistributedMode, not %r" % (mode,))
        job, endpoint = program._transpiled or (None, None)
        if job is None or endpoint is not None:
            raise ValueError("a communicator needs a trainer's program: that of DistributeTranspiler.get_trainer_program()")
        self._program, self._job, self._strategy = program, job, _STRATEGIES[mode]
        self._knobs = _knobs(envs)
        _check(job, kwargs or {})

    def start(self):
        """Starts to exchange, before the first step of training; does nothing while a communicator runs."""
        from .incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import _cpu_num

        if self.is_running():
            warnings.warn("a communicator runs already: this start does nothing", stacklevel=2)
            return
        _core.start_communicator(
            runtime(), self._strategy, self._job, self._program.desc, global_scope(), self._knobs, _cpu_num()
        )

    def stop(self):
        """Sends what waits, then stops."""
        _core.stop_communicator(runtime())

    def is_running(self):
        """Does it exchange?"""
        return _core.has_communicator(runtime())


def _knobs(envs):
    """Knobs by the names of the core: those of flags that the script or the environment sets, and over them those of ``envs``."""
    from .incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import TrainerRuntimeConfig

    for name in envs:
        if not name.startswith(_KNOB):
            raise ValueError("envs: there is no %r; knobs are called %s..., as in docs/options.md" % (name, _KNOB))
    given = dict(TrainerRuntimeConfig().get_communicator_flags(), **envs)
    return {name[len(_KNOB):]: str(value) for name, value in given.items() if name.startswith(_KNOB)}


def _check(job, kwargs):
    """Raises if ``kwargs`` say something else than the program."""
    trainer, trainers, servers, push_nums = job.place()
    known = {"trainer_id": trainer, "trainers": trainers, "pserver_endpoints": servers, "push_nums": push_nums}
    for name, value in kwargs.items():
        if name == "push_vars":
            # The same names, sections and endpoints that the program was made with.
            continue
        if name not in known:
            raise ValueError("kwargs: there is no %r; known are push_vars, %s" % (name, ", ".join(known)))
        same = list(value) == known[name] if name == "pserver_endpoints" else int(value) == known[name]
        if not same:
            raise ValueError("kwargs: %s is %r, but the program was transpiled for %r" % (name, value, known[name]))
