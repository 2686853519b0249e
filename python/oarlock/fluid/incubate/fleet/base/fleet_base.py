"""The base of every Fleet: the role of this process, and the files it reads."""

import abc

from ..... import _core
from .mode import Mode
from .role_maker import RoleMakerBase, _FoundRoleMaker

__all__ = ["DistributedOptimizer", "Fleet", "Mode"]


# The Fleet, of 1.x or 2.0, that was initialized last.
_current = None


def current():
    """The Fleet that this process called ``init`` of."""
    if _current is None:
        raise RuntimeError("call fleet.init() first")
    return _current


class Process:
    """The place of a process in its job, as its role maker says."""

    _role_maker = None

    def _become(self, role_maker):
        global _current
        self._role_maker, _current = role_maker, self

    def _role(self):
        if self._role_maker is None:
            raise RuntimeError("call fleet.init() first")
        return self._role_maker

    def is_first_worker(self):
        """Whether this is the worker that saves for all: worker 0."""
        return self._role().is_first_worker()

    def worker_index(self):
        """The number of this worker, from 0."""
        return self._role().worker_index()

    def worker_num(self):
        """The number of workers."""
        return self._role().worker_num()

    def is_worker(self):
        """Whether this process trains."""
        return self._role().is_worker()

    def worker_endpoints(self, to_string=False):
        """The addresses of the workers."""
        return _list(self._role().get_trainer_endpoints(), to_string)

    def server_num(self):
        """The number of servers."""
        return self._role().server_num()

    def server_index(self):
        """The number of this server, from 0."""
        return self._role().server_index()

    def server_endpoints(self, to_string=False):
        """The addresses of the servers."""
        return _list(self._role().get_pserver_endpoints(), to_string)

    def is_server(self):
        """Whether this process is a parameter server."""
        return self._role().is_server()

    def barrier_worker(self):
        """A barrier of all workers. In sync training the other workers make steps without a worker that waits here."""
        self._role().barrier_worker()

    def even_reader(self, reader, how="zero_weight", seed=0):
        """A reader that gives all workers as many batches: see ``oarlock.distributed.even_reader``. With ``zero_weight`` it is the
        reader itself: steps are made without a worker that has run out."""
        from ..... import distributed

        return distributed.even_reader(reader, how, seed, role=self._role())


class Fleet(Process, abc.ABC):
    """A job, seen from one of its processes."""

    def __init__(self, mode):
        self._mode = mode
        self._is_initialized = False

    def init(self, role_maker=None):
        """Says who this process is: by a role maker, else by ``mpirun`` or the launcher's variables."""
        if role_maker is None:
            role_maker = _FoundRoleMaker()
        if not isinstance(role_maker, RoleMakerBase):
            raise TypeError("fleet.init takes a role maker such as PaddleCloudRoleMaker(), not %r" % (role_maker,))
        role_maker._generated()
        self._become(role_maker)
        self._is_initialized = True

    def split_files(self, files):
        """The files of this worker; the first workers get one more if they cannot be dealt evenly."""
        if not isinstance(files, list):
            raise TypeError("files should be a list of file need to be read.")
        return _core.split_files(files, self.worker_index(), self.worker_num())

    def all_reduce_worker(self, input, output):
        """Adds up arrays of all workers."""
        self._role().all_reduce_worker(input, output)

    @abc.abstractmethod
    def init_worker(self):
        """Makes this process ready to train."""

    @abc.abstractmethod
    def init_server(self, model_dir=None, checkpoint=None):
        """Makes this process ready to serve."""

    @abc.abstractmethod
    def run_server(self):
        """Serves until every worker has left."""

    @abc.abstractmethod
    def stop_worker(self):
        """Ends training."""

    @abc.abstractmethod
    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer for the whole job."""


    @abc.abstractmethod
    def save_inference_model(self, executor, dirname, feeded_var_names, target_vars, main_program=None, export_for_deployment=True):
        """Saves the part of the network that predicts."""

    @abc.abstractmethod
    def save_persistables(self, executor, dirname, main_program=None):
        """Saves everything that training keeps."""


class DistributedOptimizer(abc.ABC):
    """An optimizer for a whole job."""

    def __init__(self, optimizer, strategy=None):
        self._optimizer = optimizer
        self._strategy = strategy

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Appends the gradient of a loss."""
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        """Appends the updates."""
        return self._optimizer.apply_gradients(params_grads)

    @abc.abstractmethod
    def minimize(self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None):
        """Appends gradients and updates, and makes the programs of this process."""


def _list(endpoints, to_string):
    return ",".join(endpoints) if to_string else endpoints
