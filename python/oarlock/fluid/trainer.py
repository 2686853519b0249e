"""Training as a whole: ``Trainer`` builds a network, trains it, reports events, and resumes where it was interrupted."""

import json
import os
import random

import numpy as np

from .. import _core
from . import io, unique_name
from .compiler import CompiledProgram
from .core import CPUPlace, Scope
from .data_feeder import DataFeeder
from .executor import Executor, runtime, scope_guard
from .framework import Program, program_guard
from .optimizer import Optimizer

__all__ = ["BeginEpochEvent", "BeginStepEvent", "CheckpointConfig", "EndEpochEvent", "EndStepEvent", "Trainer"]


class BeginEpochEvent:
    """An epoch begins."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class EndEpochEvent:
    """An epoch is done."""

    def __init__(self, epoch_id):
        self.epoch = epoch_id


class BeginStepEvent:
    """A step begins. Set ``fetch_metrics`` to False to go without metrics."""

    def __init__(self, epoch_id, step_id):
        self.epoch = epoch_id
        self.step = step_id
        self.fetch_metrics = True


class EndStepEvent:
    """A step is done; ``metrics`` are the values of what ``train_func`` returned."""

    def __init__(self, epoch_id, step_id, metrics):
        self.epoch = epoch_id
        self.step = step_id
        self.metrics = metrics


class CheckpointConfig:
    """Where and when a ``Trainer`` saves what a killed run goes on from.

    ``checkpoint_dir`` is the current directory if not given. Checkpoints are saved after every ``step_interval`` steps of
    every ``epoch_interval`` epochs, the first included; ``max_num_checkpoints`` of them are kept.
    """

    def __init__(self, checkpoint_dir=None, max_num_checkpoints=3, epoch_interval=1, step_interval=10):
        self.checkpoint_dir = checkpoint_dir if checkpoint_dir is not None else os.getcwd()
        self.max_num_checkpoints = max_num_checkpoints
        self.epoch_interval = epoch_interval
        self.step_interval = step_interval
        self._core = _core.Recovery(str(self.checkpoint_dir), max_num_checkpoints, epoch_interval, step_interval)


class _Chance:
    """Python's and numpy's random numbers, which readers draw from."""

    @staticmethod
    def note():
        version, state, gauss = random.getstate()
        name, keys, position, has_gauss, cached = np.random.get_state()
        return json.dumps([[version, list(state), gauss], [name, keys.tolist(), position, has_gauss, cached]])

    @staticmethod
    def restore(note):
        (version, state, gauss), (name, keys, position, has_gauss, cached) = json.loads(note)
        random.setstate((version, tuple(state), gauss))
        np.random.set_state((name, np.array(keys, "uint32"), position, has_gauss, cached))


def _without_servers(environment):
    """Do the variables of a launcher name workers and no servers? The handbook's are ``PADDLE_TRAINER_IPS`` and
    ``PADDLE_PSERVER_PORT``, later ones ``PADDLE_TRAINER_ENDPOINTS``."""
    servers = ("PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PSERVER_IPS", "PADDLE_PSERVERS")
    workers = ("PADDLE_TRAINER_IPS", "PADDLE_TRAINER_ENDPOINTS")
    return any(environment.get(name) for name in workers) and not any(environment.get(name) for name in servers)


class Trainer:
    """Trains the network that ``train_func`` builds.

    ``train_func`` returns the loss, or a list that starts with it; ``optimizer_func`` returns an optimizer. Training starts
    from the variables saved in ``param_path``, if there are any; with a ``checkpoint_config`` a run that was killed goes on
    from its newest checkpoint as if it had not been. With ``parallel``, replicas share every batch (``CPU_NUM``), and metrics are
    those of each.

    The environment of a launcher says what a process does: in a job with parameter servers, a server serves inside ``train``, and
    the workers finish every step together; checkpoints are then those of the whole job, in a folder that all processes see. In a
    job of workers only, they sum their gradients in every step.
    """

    def __init__(self, train_func, optimizer_func, param_path=None, place=None, parallel=False, checkpoint_config=None):
        if checkpoint_config is not None and not isinstance(checkpoint_config, CheckpointConfig):
            raise TypeError("The checkpoint_config should be a CheckpointConfig, not %r" % (checkpoint_config,))
        self._stop = False
        self.parallel = parallel
        self.place = CPUPlace() if place is None else place
        self.checkpoint_cfg = checkpoint_config
        self.scope = Scope()
        self._place, workers = _core.find_fleet_place(dict(os.environ), _without_servers(os.environ))
        self._job = None
        self._build(train_func, optimizer_func)
        self.exe = Executor(self.place)
        if self._place[3]:
            self._join()
        elif len(workers) > 1:
            self._join_workers(workers)
        self._start(param_path)
        self._resume = self._recover()

    @property
    def _serves(self):
        return self._place[0]

    def _join(self):
        """Makes the programs of this process in a job with servers."""
        from .transpiler import DistributeTranspiler

        is_server, index, workers, servers = self._place
        self._job = DistributeTranspiler()
        self._job.transpile(0 if is_server else index, self.train_program, ",".join(servers), workers, startup_program=self.startup_program)
        if is_server:
            self.train_program, self.startup_program = self._job.get_pserver_programs(servers[index])
        else:
            self._job.get_trainer_program()
            # Saving and testing after training need the servers: the trainer leaves them when the process ends.
            runtime().end_quietly()

    def _join_workers(self, workers):
        """Makes the program of this process in a job of collective workers: gradients are summed in every step."""
        from .transpiler import DistributeTranspiler, DistributeTranspilerConfig

        config, rank = DistributeTranspilerConfig(), self._place[1]
        config.mode = "nccl2"
        job = DistributeTranspiler(config)
        job.transpile(rank, self.train_program, trainers=",".join(workers), startup_program=self.startup_program,
                      current_endpoint=workers[rank])
        job.get_trainer_program()

    def _build(self, train_func, optimizer_func):
        self.startup_program, self.train_program = Program(), Program()
        with program_guard(self.train_program, self.startup_program), unique_name.guard():
            outputs = train_func()
            self.train_func_outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            self.test_program = self.train_program.clone(for_test=True)
            optimizer = optimizer_func()
            if not isinstance(optimizer, Optimizer):
                raise TypeError("The optimizer should be an instance of Optimizer, not %r" % (optimizer,))
            optimizer.minimize(self.train_func_outputs[0])
        self._trained = self.train_program
        if self.parallel:
            self._trained = CompiledProgram(self.train_program).with_data_parallel(loss_name=self.train_func_outputs[0].name)

    def _start(self, param_path):
        with scope_guard(self.scope):
            self.exe.run(self.startup_program)
            if param_path and os.path.isdir(param_path):
                io.load_persistables(self.exe, param_path, self.train_program)

    def _recover(self):
        """Where a killed run goes on: (epoch, steps of it that are done, notes)."""
        if self.checkpoint_cfg is None:
            return 0, 0, {}
        if self._job is not None:
            return self._recover_job(str(self.checkpoint_cfg.checkpoint_dir))
        seed = self.train_program.random_seed or random.SystemRandom().getrandbits(63)
        found = self.checkpoint_cfg._core.restore(self.train_program.desc, self.scope, self.exe._core, seed)
        return found if found is not None else (0, 0, {})

    def _recover_job(self, folder):
        if not self._serves:
            return self._job._core.restore_worker(runtime(), self.scope, folder) or (0, 0, {})
        if _core.has_checkpoint(folder):
            with scope_guard(self.scope):
                io.load_persistables(self.exe, folder, self.train_program)
        return 0, 0, {}

    def stop(self):
        """Ends the training before its next step. The checkpoints are deleted, as after a complete training."""
        self._stop = True

    def train(self, num_epochs, event_handler, reader=None, feed_order=None):
        """Trains on the batches that ``reader()`` yields in each epoch.

        A run that goes on after a kill reads the batches it had done and passes over them, with the random numbers of Python
        and numpy as they were at the start of that epoch: a reader that shuffles gives the same batches again.
        """
        if self._serves:
            self.exe.run(self.train_program, scope=self.scope)
            return
        if reader is None:
            raise ValueError("Trainer.train needs a reader")
        feeder = DataFeeder(self._feed_vars(self.train_program, feed_order), self.place)
        first, done, notes = self._resume
        self._resume = 0, 0, {}
        for epoch in range(first, num_epochs):
            event_handler(BeginEpochEvent(epoch))
            if epoch == first and notes:
                _Chance.restore(notes["epoch_chance"])
            if not self._epoch(epoch, done if epoch == first else 0, notes, reader, feeder, event_handler):
                break
            event_handler(EndEpochEvent(epoch))
        if self._job is not None:
            self._job._core.finish_checkpoint(runtime())
            if self.checkpoint_cfg is not None and self._place[1] == 0:
                _core.clear_checkpoints(str(self.checkpoint_cfg.checkpoint_dir))
        elif self.checkpoint_cfg is not None:
            self.checkpoint_cfg._core.finish()

    def _epoch(self, epoch, done, notes, reader, feeder, event_handler):
        """Trains one epoch after its first ``done`` steps; says whether to go on."""
        chance = _Chance.note() if self.checkpoint_cfg is not None else None
        for step, data in enumerate(reader()):
            if self._stop:
                return False
            if step < done:
                if step + 1 == done:
                    _Chance.restore(notes["chance"])
                continue
            self._step(epoch, step, feeder.feed(data), chance, event_handler)
        return not self._stop

    def _step(self, epoch, step, feed, chance, event_handler):
        begin = BeginStepEvent(epoch, step)
        event_handler(begin)
        fetches = [v.name for v in self.train_func_outputs] if begin.fetch_metrics else []
        metrics = self.exe.run(self._trained, feed=feed, fetch_list=fetches, scope=self.scope)
        event_handler(EndStepEvent(epoch, step, metrics))
        if self.checkpoint_cfg is not None and self.checkpoint_cfg._core.is_due(epoch, step):
            notes = {"epoch_chance": chance, "chance": _Chance.note()}
            if self._job is not None:
                folder, keep = str(self.checkpoint_cfg.checkpoint_dir), self.checkpoint_cfg.max_num_checkpoints
                self._job._core.save_checkpoint(runtime(), self.scope, folder, epoch, step + 1, notes, keep)
                return
            self.checkpoint_cfg._core.save(epoch, step, self.train_program.desc, self.scope, self.exe._core, notes)

    def test(self, reader, feed_order=None):
        """The means, over batches, of what ``train_func`` returned, without training."""
        feeder = DataFeeder(self._feed_vars(self.test_program, feed_order), self.place)
        names = [v.name for v in self.train_func_outputs]
        sums, count = [0.0] * len(names), 0
        for data in reader():
            found = self.exe.run(self.test_program, feed=feeder.feed(data), fetch_list=names, scope=self.scope)
            sums = [s + float(np.asarray(v).reshape(-1)[0]) for s, v in zip(sums, found)]
            count += 1
        return [s / count for s in sums]

    def save_params(self, param_path):
        """Saves everything a later training goes on from, one file per variable."""
        with scope_guard(self.scope):
            io.save_persistables(self.exe, param_path, self.train_program)

    def save_inference_model(self, param_path, feeded_var_names, target_var_indexes):
        """Saves the part of the network that computes some of what ``train_func`` returned, by their positions."""
        targets = [self.train_func_outputs[i] for i in target_var_indexes]
        with scope_guard(self.scope):
            io.save_inference_model(param_path, feeded_var_names, targets, self.exe, main_program=self.test_program)

    def _feed_vars(self, program, feed_order):
        if feed_order is None:
            feed_order = [v.name for v in program.list_vars() if v.is_data]
        names = sorted(feed_order, key=feed_order.get) if isinstance(feed_order, dict) else feed_order
        if not isinstance(names, (list, tuple)):
            raise TypeError("The 'feed_order' should be either None, list or dict.")
        return [program.global_block().var(name) for name in names]
