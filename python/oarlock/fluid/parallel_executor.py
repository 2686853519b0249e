"""Programs on replicas, the way scripts wrote it before ``CompiledProgram``."""

from . import executor
from .compiler import BuildStrategy, CompiledProgram
from .core import CPUPlace
from .framework import cpu_places, cuda_places, default_main_program

__all__ = ["ParallelExecutor"]


class ParallelExecutor:
    """Runs one program on replicas, as many as ``CPU_NUM`` says, or one."""

    def __init__(self, use_cuda, loss_name=None, main_program=None, share_vars_from=None, exec_strategy=None, build_strategy=None,
                 num_trainers=1, trainer_id=0, scope=None):
        build_strategy = BuildStrategy() if build_strategy is None else build_strategy
        if num_trainers != 1:
            build_strategy.num_trainers = num_trainers
        if trainer_id != 0:
            build_strategy.trainer_id = trainer_id
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise TypeError("share_vars_from takes a ParallelExecutor, not %r" % (share_vars_from,))
        self._places = cuda_places() if use_cuda else cpu_places()
        self._scope = executor.global_scope() if scope is None else scope
        self._exe = executor.Executor(CPUPlace())
        self._compiled_program = CompiledProgram(default_main_program() if main_program is None else main_program)
        self._compiled_program.with_data_parallel(
            loss_name=loss_name, build_strategy=build_strategy, exec_strategy=exec_strategy,
            share_vars_from=share_vars_from and share_vars_from._compiled_program, places=self._places,
        )

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """Runs the program once. A dict is fed by dealing out its samples, a list of dicts one by one. Returns the values of all
        replicas, one after the other. ``feed_dict`` is the old name of ``feed``."""
        return self._exe.run(
            self._compiled_program, feed=feed_dict if feed is None else feed, fetch_list=fetch_list, scope=self._scope,
            return_numpy=return_numpy,
        )

    @property
    def device_count(self):
        """How many replicas there are."""
        return len(self._places)

    def drop_local_exe_scopes(self):
        """Gives back the memory that temporaries keep from run to run."""
        self._exe._core.drop_temporaries(self._compiled_program._program.desc)
