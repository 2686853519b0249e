"""Fleet with parameter servers: ``fleet`` is this process in its job."""

import os

from ...... import _core
from ..... import io
from .....executor import Executor, global_scope, runtime
from .....core import CPUPlace
from .....framework import default_startup_program
from .....transpiler import DistributeTranspiler
from ...base.fleet_base import DistributedOptimizer, Fleet, Mode
from . import distributed_strategy
from .distributed_strategy import _cpu_num, strategy_of

__all__ = ["DistributedTranspiler", "ParameterServerOptimizer", "distributed_strategy", "fleet"]


class DistributedTranspiler(Fleet):
    """A job with parameter servers."""

    def __init__(self):
        super().__init__(Mode.TRANSPILER)
        self._executor = self._strategy = self._transpiler = self._origin_program = None
        self.startup_program = self.main_program = None

    def init(self, role_maker=None):
        """Says who this process is: by a role maker, else by ``mpirun`` or the launcher's variables."""
        super().init(role_maker)
        self._executor = Executor(CPUPlace())

    def _minimized(self):
        if self._transpiler is None:
            raise RuntimeError("call fleet.distributed_optimizer(optimizer, strategy).minimize(loss) first")
        return self._transpiler

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer for the whole job: by a strategy of ``StrategyFactory`` or a ``DistributeTranspilerConfig``."""
        self._role()
        return ParameterServerOptimizer(self, optimizer, strategy_of(strategy))

    def _transpile(self, program, startup, strategy):
        """Makes the programs of this process."""
        config = strategy.get_program_config()
        self._strategy = strategy
        self._transpiler = DistributeTranspiler(config)
        self._origin_program = program.clone()
        self._transpiler.transpile(
            trainer_id=self.worker_index() if self.is_worker() else 0, program=program, startup_program=startup,
            pservers=self.server_endpoints(to_string=True), trainers=self.worker_num(), sync_mode=config.sync_mode,
        )
        if self.is_worker():
            self.main_program = self._transpiler.get_trainer_program(wait_port=config.wait_port)
            self.startup_program = startup
        else:
            endpoint = self.server_endpoints()[self.server_index()]
            self.main_program, self.startup_program = self._transpiler.get_pserver_programs(endpoint)

    def init_worker(self):
        """Starts the communicator; before or after the startup program has run."""
        if not self.is_worker():
            raise RuntimeError("init_worker is for workers, and this process is a server")
        job = self._minimized()
        found = self._strategy.get_trainer_runtime_config().get_communicator_flags()
        knobs = {name[len("communicator_"):]: value for name, value in found.items() if name.startswith("communicator_")}
        _core.start_communicator(
            runtime(), self._strategy._name, job._core, self.main_program.desc, global_scope(), knobs, _cpu_num()
        )

    def init_server(self, model_dir=None, checkpoint=None):
        """Runs the startup program, then loads this server's part of a save. ``checkpoint`` is where ``save_checkpoint`` saves: the
        newest one is loaded, if there is one."""
        if not self.is_server():
            raise RuntimeError("init_server is for servers, and this process is a worker")
        self._minimized()
        self._executor.run(self.startup_program)
        if model_dir:
            if not os.path.isdir(model_dir):
                raise ValueError("There is no directory named '%s'" % model_dir)
            io.load_persistables(self._executor, model_dir, self.main_program)
        if checkpoint and _core.has_checkpoint(checkpoint):
            io.load_persistables(self._executor, checkpoint, self.main_program)

    def run_server(self):
        """Serves until every worker has left."""
        if not self.is_server():
            raise RuntimeError("run_server is for servers, and this process is a worker")
        self._minimized()
        self._executor.run(self.main_program)

    def stop_worker(self):
        """Sends what waits and leaves the servers. On a server, whose work is over when ``run_server`` returns, there is nothing to do:
        scripts call it at the end of every role."""
        if self.is_worker():
            self._executor.close()

    def save_inference_model(self, executor, dirname, feeded_var_names, target_vars, main_program=None,
                             export_for_deployment=True):
        """Saves what predicts ``target_vars``, with the parameters that servers keep."""
        self._check_executor(executor)
        program = self.main_program if main_program is None else main_program
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor, program, export_for_deployment=export_for_deployment
        )

    def save_persistables(self, executor, dirname, main_program=None):
        """Saves what training on one machine would: parameters, optimizer state, counters."""
        self._check_executor(executor)
        program = self.main_program if main_program is None else main_program
        if program._transpiled is None:
            raise TypeError("main_program must be fleet.main_program, not a program that was never transpiled")
        io.save_persistables(executor, dirname, program)

    def save_checkpoint(self, dirname, epoch=0, step=0, notes=None, max_num=3):
        """Saves a checkpoint of the whole job in ``dirname``, which all processes see: what servers keep, and of each worker its
        position, random state and variables of its own. Every worker calls it, at the same step if workers are in step. Returns as soon as
        training may go on; servers write meanwhile. ``notes`` are texts by name, such as where a reader stands."""
        texts = {str(name): str(text) for name, text in (notes or {}).items()}
        self._minimized()._core.save_checkpoint(runtime(), global_scope(), dirname, epoch, step, texts, max_num)

    def load_checkpoint(self, dirname):
        """Restores this worker from the newest checkpoint, after the startup program: ``{"epoch", "step", "notes"}``, or None if there
        is none. Servers load their parts by ``init_server(checkpoint=dirname)``."""
        found = self._minimized()._core.restore_worker(runtime(), global_scope(), dirname)
        return found and dict(zip(("epoch", "step", "notes"), found))

    def shrink_sparse_table(self, threshold=1, steps=None, count=None, score=None):
        """Evicts rows from the hashed tables of servers; returns the number of rows. Every worker calls it after the same step. Reading
        a row does not keep it.

        Args:
            threshold (int): evict rows that were not updated during the last ``threshold`` calls.
            steps (int): evict rows that were not updated in the last ``steps`` updates of their table.
            count (int): evict rows that were updated less than ``count`` times in all.
            score (float): evict rows with a lower score, in tables that count shows and clicks (``ShowClickEntry``).
        """
        return self._minimized()._core.shrink(runtime(), threshold, steps, count, score)

    def _check_executor(self, executor):
        if not isinstance(executor, Executor):
            raise TypeError("executor must be a fluid.Executor, not %r" % (executor,))
        self._minimized()


class ParameterServerOptimizer(DistributedOptimizer):
    """An optimizer for a job with parameter servers."""

    def __init__(self, fleet, optimizer, strategy):
        super().__init__(optimizer, strategy)
        self._fleet = fleet

    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        """Appends gradients and updates, and makes the programs of this process. Workers wait until the servers answer."""
        if isinstance(losses, (list, tuple)):
            raise TypeError("minimize takes one loss; add several up")
        startup = default_startup_program() if startup_programs is None else startup_programs
        done = self._optimizer.minimize(losses, startup, parameter_list, no_grad_set)
        self._fleet._transpile(losses.block.program, startup, self._strategy)
        return done


fleet = DistributedTranspiler()
