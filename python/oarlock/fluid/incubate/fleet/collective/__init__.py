"""Fleet without servers: collective workers that exchange gradients or parameters."""

import json
import os
import shutil

from ..... import distributed
from .... import io, options
from ....compiler import BuildStrategy
from ....executor import Executor
from ....framework import default_startup_program
from ....optimizer import RecomputeOptimizer
from ....transpiler import DistributeTranspiler, DistributeTranspilerConfig
from ..base.fleet_base import DistributedOptimizer, Fleet, Mode
from ..base.role_maker import PaddleCloudRoleMaker

__all__ = ["Collective", "CollectiveOptimizer", "DistFCConfig", "DistributedStrategy", "LambConfig", "TrainStatus", "fleet"]

_CHECKPOINT = "__paddle_fleet_checkpoint__"
_PARAMETERS = "_paddle_fleet_param__"
_STATUS = "fleet_train_status"
_UNEVEN = ("zero_weight", "pad", "shortest")


class LambConfig:
    """Held nothing in Fluid either."""


class DistFCConfig:
    """Layers divided over workers are not supported."""


class TrainStatus:
    """How far training came; kept with checkpoints."""

    def __init__(self, epoch_no=-1):
        # The last epoch that was completed.
        self._epoch_no = epoch_no

    def next(self):
        """The epoch to go on with."""
        return self._epoch_no + 1

    def __eq__(self, other):
        return isinstance(other, TrainStatus) and self._epoch_no == other._epoch_no

    __hash__ = None


class DistributedStrategy(BuildStrategy):
    """How workers train together; docs/options.md lists the fields. It has those of ``BuildStrategy``, too."""

    def __init__(self):
        self.__dict__.update(options.defaults("BuildStrategy"))
        self.__dict__.update(options.defaults("DistributedStrategy"))

    def __setattr__(self, name, value):
        own = name in options.defaults("DistributedStrategy") or name not in options.defaults("BuildStrategy")
        options.check("DistributedStrategy" if own else "BuildStrategy", name, value if own else None)
        if name == "uneven" and value not in _UNEVEN:
            raise ValueError("uneven is one of %s, not %r" % (", ".join(_UNEVEN), value))
        self.__dict__[name] = value


class Collective(Fleet):
    """A job of collective workers."""

    def __init__(self):
        super().__init__(Mode.COLLECTIVE)
        self._origin_program = self._strategy = self._executor = None
        self.startup_program = self.main_program = None

    def init(self, role_maker=None):
        """Says who this process is: by a role maker, else by the launcher's variables."""
        super().init(PaddleCloudRoleMaker(is_collective=True) if role_maker is None else role_maker)

    def init_worker(self):
        """Nothing to do: the startup program joins the workers."""

    def run_worker(self, main_programs=None, scopes=None):
        """Nothing to do: run ``fleet.main_program``."""

    def init_server(self, model_dir=None):
        """There are no servers."""
        raise NotImplementedError("workers are equal: there are no servers to start")

    def run_server(self):
        """There are no servers."""
        raise NotImplementedError("workers are equal: there are no servers to run")

    def stop_worker(self):
        """Goes on without data until no worker has any, then leaves."""
        Executor().close()

    def node_num(self):
        """How many machines there are, by the hosts of the workers' endpoints."""
        return len({endpoint.rsplit(":", 1)[0] for endpoint in self.worker_endpoints()})

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer for the whole job."""
        self._role()
        strategy = DistributedStrategy() if strategy is None else strategy
        if not isinstance(strategy, DistributedStrategy):
            raise TypeError("strategy must be a fleet.collective.DistributedStrategy, not %r" % (strategy,))
        return CollectiveOptimizer(self, optimizer, strategy)

    def even_reader(self, reader, how=None, seed=0):
        """A reader that gives all workers as many batches, as ``strategy.uneven`` or ``how`` says; see
        ``oarlock.distributed.even_reader``. With ``zero_weight`` it is the reader itself: ``stop_worker`` does the rest."""
        how = how or (self._strategy.uneven if self._strategy is not None else "zero_weight")
        role = self._role()
        return distributed.even_reader(reader, how, seed, role.worker_index(), role.get_trainer_endpoints())

    def _check(self, executor):
        if not isinstance(executor, Executor):
            raise TypeError("executor must be a fluid.Executor, not %r" % (executor,))
        if self._origin_program is None:
            raise RuntimeError("call fleet.distributed_optimizer(optimizer, strategy).minimize(loss) first")

    def save_inference_model(self, executor, dirname, feeded_var_names=None, target_vars=None, main_program=None,
                             export_for_deployment=True):
        """Saves what predicts ``target_vars``. All workers have the same parameters: let the first one save."""
        self._check(executor)
        program = self._origin_program if main_program is None else main_program
        io.save_inference_model(
            dirname, feeded_var_names, target_vars, executor, program, export_for_deployment=export_for_deployment
        )

    def save_persistables(self, executor, dirname, main_program=None, filename=None):
        """Saves what training on one machine would: parameters, optimizer state, counters."""
        self._check(executor)
        io.save_persistables(executor, dirname, self._origin_program if main_program is None else main_program, filename=filename)

    def _checkpoints(self, path):
        """The numbers of the checkpoints below a directory, ascending."""
        if not os.path.isdir(path):
            return []
        names = [name.rsplit(".", 1) for name in os.listdir(path)]
        return sorted(int(n[1]) for n in names if len(n) == 2 and n[0] == _CHECKPOINT and n[1].isdigit())

    def save_check_point(self, executor, path, train_status, main_program=None, fs=None, local_cache_path=".cache",
                         remain_all_checkpoint=True):
        """Saves parameters and status under the next number; the first worker does. ``remain_all_checkpoint=False`` removes older
        ones."""
        self._check(executor)
        if fs is not None:
            raise NotImplementedError("checkpoints are written to a directory: leave fs out")
        if not self.is_first_worker():
            return
        before = self._checkpoints(path)
        final = os.path.join(path, "%s.%d" % (_CHECKPOINT, before[-1] + 1 if before else 0))
        partial = final + ".tmp"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        self.save_persistables(executor, partial, main_program, filename=_PARAMETERS)
        with open(os.path.join(partial, _STATUS), "w") as file:
            json.dump({"epoch_no": train_status._epoch_no}, file)
        os.rename(partial, final)
        if not remain_all_checkpoint:
            for number in before:
                shutil.rmtree(os.path.join(path, "%s.%d" % (_CHECKPOINT, number)), ignore_errors=True)

    def load_check_point(self, executor, path, trainer_id=None, main_program=None, fs=None, local_cache_path=".cache",
                         ignore_empty=True):
        """Loads the last checkpoint; returns its status, or None if there is none."""
        self._check(executor)
        if fs is not None:
            raise NotImplementedError("checkpoints are read from a directory: leave fs out")
        found = self._checkpoints(path)
        if not found:
            if not ignore_empty:
                raise ValueError("there is no checkpoint in %s" % path)
            return None
        last = os.path.join(path, "%s.%d" % (_CHECKPOINT, found[-1]))
        program = self._origin_program if main_program is None else main_program
        io.load_persistables(executor, last, program, filename=_PARAMETERS)
        with open(os.path.join(last, _STATUS)) as file:
            return TrainStatus(json.load(file)["epoch_no"])


class CollectiveOptimizer(DistributedOptimizer):
    """An optimizer for a job of collective workers."""

    def __init__(self, fleet, optimizer, strategy):
        super().__init__(optimizer, strategy)
        self._fleet = fleet

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Appends gradients and updates, and makes the program of this worker."""
        if isinstance(loss, (list, tuple)):
            raise TypeError("minimize takes one loss; add several up")
        startup = default_startup_program() if startup_program is None else startup_program
        optimizer = self._optimizer
        if self._strategy.forward_recompute:
            optimizer = RecomputeOptimizer(optimizer)
            optimizer._set_checkpoints(self._strategy.recompute_checkpoints)
        done = optimizer.minimize(loss, startup, parameter_list, no_grad_set)
        program = loss.block.program
        self._fleet._origin_program = program.clone()
        self._fleet._strategy = self._strategy
        if self._fleet.worker_num() > 1:
            self._transpile(program, startup)
        self._fleet.main_program, self._fleet.startup_program = program, startup
        return done

    def _transpile(self, program, startup):
        strategy = self._strategy
        config = DistributeTranspilerConfig()
        config.mode = "collective"
        config.collective_mode = "local_sgd" if strategy.use_local_sgd else strategy.collective_mode or "grad_allreduce"
        for name in ("nccl_comm_num", "use_hierarchical_allreduce", "hierarchical_allreduce_inter_nranks", "fuse_grad_size_in_MB",
                     "local_sgd_k_steps", "local_sgd_begin_step"):
            setattr(config, name, getattr(strategy, name))
        index, endpoints = self._fleet.worker_index(), self._fleet.worker_endpoints()
        DistributeTranspiler(config).transpile(
            trainer_id=index, program=program, startup_program=startup, trainers=",".join(endpoints),
            current_endpoint=endpoints[index],
        )


fleet = Collective()
