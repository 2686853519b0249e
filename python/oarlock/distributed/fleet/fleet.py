"""One process of a job, for Fleet 2.0. The core decides what a strategy means; this carries it out."""

from ... import _core
from ...fluid import io
from ...fluid.compiler import _check as _check_compiled
from ...fluid.core import CPUPlace
from ...fluid.executor import Executor, global_scope, runtime
from ...fluid.framework import Variable, default_main_program, default_startup_program
from ...fluid.incubate.fleet.base.fleet_base import Process
from ...fluid.incubate.fleet.base.role_maker import RoleMakerBase
from ...fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import TrainerRuntimeConfig, _cpu_num
from ...fluid.optimizer import (
    DGCMomentumOptimizer, GradientMergeOptimizer, LambOptimizer, LarsMomentumOptimizer, Optimizer, RecomputeOptimizer,
)
from ...fluid.transpiler import DistributeTranspiler, DistributeTranspilerConfig
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker
from .base.util_factory import UtilBase

__all__ = ["DistributedOptimizer", "Fleet"]

_COMMUNICATOR = "communicator_"


class Fleet(Process):
    """A job, seen from one of its processes."""

    def __init__(self):
        self._util = UtilBase(self)
        self._clear()

    def _clear(self):
        self._role_maker = self._strategy = self._executor = None
        self._transpiler = self._exchange = self._server_programs = self._startup = None

    def init(self, role_maker=None, is_collective=False, strategy=None, log_level="INFO"):
        """Says who this process is: by a role maker, else by the launcher's variables. Alone, without them."""
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=is_collective)
        if not isinstance(role_maker, RoleMakerBase):
            raise TypeError("fleet.init takes a role maker such as fleet.PaddleCloudRoleMaker(), not %r" % (role_maker,))
        if strategy is not None:
            _check_strategy(strategy)
        role_maker._generated()
        self._clear()
        self._become(role_maker)
        self._strategy = strategy
        self._executor = Executor(CPUPlace())
        return self

    def node_num(self):
        """On how many hosts workers run, as far as their endpoints tell."""
        return max(len({endpoint.rpartition(":")[0] for endpoint in self._role().get_trainer_endpoints()}), 1)

    @property
    def util(self):
        """Values that workers exchange besides gradients."""
        return self._util

    def all_reduce(self, input, mode="sum"):
        """Joins the numbers of all workers, element by element."""
        return self._util.all_reduce(input, mode)

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer for the whole job."""
        self._role()
        if not isinstance(optimizer, Optimizer):
            raise TypeError("distributed_optimizer takes an optimizer of paddle.optimizer or paddle.fluid.optimizer, not %r" % (optimizer,))
        if strategy is not None:
            _check_strategy(strategy)
        return DistributedOptimizer(self, optimizer, strategy or self._strategy or DistributedStrategy())

    def _join(self, program, startup, exchange, steps, strategy):
        """Makes the programs of this process."""
        self._exchange, self._strategy, self._startup = exchange, strategy, startup
        if exchange == "local":
            return
        config = DistributeTranspilerConfig()
        if exchange in ("grad_allreduce", "local_sgd"):
            config.mode, config.collective_mode, config.nccl_comm_num = "collective", exchange, strategy.nccl_comm_num
            if exchange == "local_sgd":
                local = strategy.localsgd_configs
                config.local_sgd_k_steps, config.local_sgd_begin_step = local["k_steps"], local["begin_step"]
            endpoints = self.worker_endpoints()
            self._transpiler = DistributeTranspiler(config)
            self._transpiler.transpile(
                trainer_id=self.worker_index(), program=program, startup_program=startup, trainers=",".join(endpoints),
                current_endpoint=endpoints[self.worker_index()],
            )
            return
        fields = {}
        _core.strategy_config(exchange, fields)
        for name, value in fields.items():
            setattr(config, name, value)
        if exchange == "geo":
            config.geo_sgd_need_push_nums = steps
        self._transpiler = DistributeTranspiler(config)
        self._transpiler.transpile(
            trainer_id=self.worker_index() if self.is_worker() else 0, program=program, startup_program=startup,
            pservers=self.server_endpoints(to_string=True), trainers=self.worker_num(), sync_mode=config.sync_mode,
        )
        if self.is_worker():
            self._transpiler.get_trainer_program(wait_port=strategy.a_sync_configs["launch_barrier"])
        else:
            endpoint = self.server_endpoints()[self.server_index()]
            self._server_programs = self._transpiler.get_pserver_programs(endpoint)

    def _joined(self, worker, what):
        if self._exchange is None:
            raise RuntimeError("call fleet.distributed_optimizer(optimizer, strategy).minimize(loss) before fleet.%s()" % what)
        if worker and not self.is_worker():
            raise RuntimeError("%s is for workers, and this process is a server" % what)
        if not worker and not self.is_server():
            raise RuntimeError("%s is for servers, and this process is a worker" % what)

    def init_worker(self, scopes=None):
        """Starts the exchange; after the startup program has run."""
        if scopes is not None:
            raise NotImplementedError("init_worker(scopes=...) is not supported: run the program in the global scope")
        self._joined(True, "init_worker")
        _core.check_started(self._startup.desc, global_scope())
        if self._server_programs is None and self._exchange in ("sync", "async", "geo"):
            found = TrainerRuntimeConfig().get_communicator_flags()
            knobs = {name[len(_COMMUNICATOR):]: value for name, value in found.items() if name.startswith(_COMMUNICATOR)}
            knobs.update(self._strategy._knobs())
            _core.start_communicator(
                runtime(), self._exchange, self._transpiler._core, self._transpiler._program.desc, global_scope(), knobs, _cpu_num()
            )

    def init_server(self, dirname=None, var_names=None, checkpoint=None, **kwargs):
        """Runs the startup program of this server, then loads its part of a save: all of it, or ``var_names`` only. ``checkpoint`` is
        where ``save_checkpoint`` saves: the newest one is loaded, if there is one."""
        if kwargs:
            raise TypeError("init_server takes dirname, var_names and checkpoint, not %s" % ", ".join(sorted(kwargs)))
        self._joined(False, "init_server")
        main, startup = self._server_programs
        self._executor.run(startup)
        if dirname is not None:
            io.load_vars(self._executor, dirname, main, vars=var_names, predicate=io.is_persistable)
        elif var_names is not None:
            raise ValueError("init_server loads %s from a directory: give it as dirname" % ", ".join(var_names))
        if checkpoint is not None and _core.has_checkpoint(checkpoint):
            io.load_vars(self._executor, checkpoint, main, predicate=io.is_persistable)

    def run_server(self):
        """Serves until every worker has left."""
        self._joined(False, "run_server")
        self._executor.run(self._server_programs[0])

    def stop_worker(self):
        """Sends what waits and leaves the servers."""
        self._joined(True, "stop_worker")
        self._executor.close()

    def save_persistables(self, executor, dirname, main_program=None, mode=0):
        """Saves what training on one machine would: parameters, optimizer state, counters."""
        io.save_persistables(_check_save(executor, mode), dirname, main_program or default_main_program())

    def save_inference_model(self, executor, dirname, feeded_var_names, target_vars, main_program=None,
                             export_for_deployment=True, mode=0):
        """Saves what predicts ``target_vars``, with the parameters that servers keep."""
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, _check_save(executor, mode), main_program or default_main_program(),
            export_for_deployment=export_for_deployment,
        )

    def save_checkpoint(self, dirname, epoch=0, step=0, notes=None, max_num=3):
        """Saves a checkpoint of the whole job in ``dirname``, which all processes see: what servers keep, and of each worker its
        position, random state and variables of its own. Every worker calls it, at the same step if workers are in step. Returns as soon as
        training may go on; servers write meanwhile. ``notes`` are texts by name, such as where a reader stands."""
        texts = {str(name): str(text) for name, text in (notes or {}).items()}
        self._through_servers("save_checkpoint").save_checkpoint(runtime(), global_scope(), dirname, epoch, step, texts, max_num)

    def load_checkpoint(self, dirname):
        """Restores this worker from the newest checkpoint, after the startup program: ``{"epoch", "step", "notes"}``, or None if there
        is none. Servers load their parts by ``init_server(checkpoint=dirname)``."""
        found = self._through_servers("load_checkpoint").restore_worker(runtime(), global_scope(), dirname)
        return found and dict(zip(("epoch", "step", "notes"), found))

    def shrink(self, threshold=None, steps=None, count=None, score=None):
        """Evicts rows from the hashed tables of servers; returns the number of rows. Every worker calls it after the same step. Reading
        a row does not keep it.

        Args:
            threshold (int): evict rows that were not updated during the last ``threshold`` calls.
            steps (int): evict rows that were not updated in the last ``steps`` updates of their table.
            count (int): evict rows that were updated less than ``count`` times in all.
            score (float): evict rows with a lower score, in tables that count shows and clicks (``ShowClickEntry``).
        """
        return self._through_servers("shrink").shrink(runtime(), threshold, steps, count, score)

    def _through_servers(self, what):
        self._joined(True, what)
        if self._exchange not in ("sync", "async", "geo"):
            instead = "let rows of a table go by themselves (evict=UnseenEviction(n))" if what == "shrink" else "save with save_persistables"
            raise NotImplementedError("%s is for jobs with parameter servers (oarlock launch --server-num): %s" % (what, instead))
        return self._transpiler._core


def _check_strategy(strategy):
    if not isinstance(strategy, DistributedStrategy):
        raise TypeError("the strategy must be a paddle.distributed.fleet.DistributedStrategy, not %r" % (strategy,))


def _check_save(executor, mode):
    if not isinstance(executor, Executor):
        raise TypeError("executor must be a paddle.static.Executor, not %r" % (executor,))
    if mode != 0:
        raise NotImplementedError("mode=%r is not supported: 0 saves everything" % (mode,))
    return executor


class DistributedOptimizer:
    """An optimizer for a whole job."""

    def __init__(self, fleet, optimizer, strategy):
        self._fleet, self._optimizer, self._strategy = fleet, optimizer, strategy

    def __getattr__(self, name):
        return getattr(self._optimizer, name)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Appends gradients and updates, and makes the programs of this process."""
        if not isinstance(loss, Variable):
            raise TypeError("minimize takes one loss, not %r; add several up" % (loss,))
        fleet, strategy = self._fleet, self._strategy
        _check_compiled(strategy.build_strategy)
        _check_compiled(strategy.execution_strategy)
        exchange, steps, becomes, around = _core.fleet_plan(
            strategy.a_sync, strategy.a_sync_configs["k_steps"], strategy._extras(), fleet.server_num(), fleet.worker_num(),
            self._optimizer._rule or type(self._optimizer).__name__,
        )
        optimizer = _OTHER[becomes](self._optimizer, strategy, fleet) if becomes else self._optimizer
        for name in around:
            optimizer = _AROUND[name](optimizer, strategy, loss)
        startup = default_startup_program() if startup_program is None else startup_program
        done = optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        fleet._join(loss.block.program, startup, exchange, steps, strategy)
        return done


def _shared(optimizer, *names):
    """The settings that one optimizer takes over from another."""
    return {name: optimizer._settings[name] for name in names if name in optimizer._settings}


def _lars(optimizer, strategy, fleet):
    configs = strategy.lars_configs
    return LarsMomentumOptimizer(
        lars_coeff=configs["lars_coeff"], lars_weight_decay=configs["lars_weight_decay"],
        **_shared(optimizer, "learning_rate", "momentum", "regularization", "grad_clip", "name"),
    )


def _lamb(optimizer, strategy, fleet):
    excluded = strategy.lamb_configs["exclude_from_weight_decay"]

    def is_excluded(parameter):
        return any(part in parameter.name for part in excluded)

    return LambOptimizer(
        lamb_weight_decay=strategy.lamb_configs["lamb_weight_decay"],
        exclude_from_weight_decay_fn=is_excluded if excluded else None,
        **_shared(optimizer, "learning_rate", "beta1", "beta2", "epsilon", "regularization", "grad_clip", "name"),
    )


def _dgc(optimizer, strategy, fleet):
    configs = strategy.dgc_configs
    return DGCMomentumOptimizer(
        rampup_begin_step=configs["rampup_begin_step"], rampup_step=configs["rampup_step"],
        sparsity=configs["sparsity"] or [0.999], num_trainers=fleet.worker_num(),
        **_shared(optimizer, "learning_rate", "momentum", "use_nesterov", "regularization", "grad_clip", "name"),
    )


def _recompute(optimizer, strategy, loss):
    made = RecomputeOptimizer(optimizer)
    made._set_checkpoints(strategy.recompute_configs["checkpoints"])
    made._ready(loss)
    return made


def _gradient_merge(optimizer, strategy, loss):
    configs = strategy.gradient_merge_configs
    return GradientMergeOptimizer(optimizer, configs["k_steps"], configs["avg"])


_OTHER = {"lars": _lars, "lamb": _lamb, "dgc": _dgc}
_AROUND = {"recompute": _recompute, "gradient_merge": _gradient_merge}
