"""The role of a process in its job. The core reads environments and checks numbers; these classes hold the result."""

import os
import socket

import numpy as np

from ..... import _core

__all__ = [
    "GeneralRoleMaker", "MPISymetricRoleMaker", "PaddleCloudRoleMaker", "Role", "RoleMakerBase",
    "UserDefinedCollectiveRoleMaker", "UserDefinedRoleMaker",
]


class Role:
    """The kinds of processes."""

    WORKER = 1
    SERVER = 2


class RoleMakerBase:
    """The role of a process."""

    def __init__(self):
        self._role = None
        self._current_id = -1
        self._worker_num = 0
        self._worker_endpoints = []
        self._server_endpoints = []
        self._role_is_generated = False

    def generate_role(self):
        """Finds out who this process is; done once."""
        raise NotImplementedError("generate_role belongs to classes derived from RoleMakerBase")

    def _generated(self):
        if not self._role_is_generated:
            self.generate_role()
        return self

    def _take(self, place):
        is_server, self._current_id, self._worker_num, self._server_endpoints = place
        self._role = Role.SERVER if is_server else Role.WORKER
        self._role_is_generated = True

    def is_worker(self):
        """Does it train?"""
        return self._generated()._role == Role.WORKER

    def is_server(self):
        """Does it keep parameters?"""
        return self._generated()._role == Role.SERVER

    def is_first_worker(self):
        """Is it the worker that does what only one does?"""
        return self.is_worker() and self._current_id == 0

    def worker_index(self):
        """Its number among the workers."""
        return self._generated()._current_id

    def server_index(self):
        """Its number among the servers."""
        return self._generated()._current_id

    def role_id(self):
        """Its number among those who do the same."""
        return self._generated()._current_id

    def worker_num(self):
        """How many workers there are."""
        return self._generated()._worker_num

    def server_num(self):
        """How many servers there are."""
        return len(self._generated()._server_endpoints)

    def get_trainer_endpoints(self):
        """Where workers listen; with parameter servers they do not."""
        return self._generated()._worker_endpoints

    def get_pserver_endpoints(self):
        """Where servers listen."""
        return self._generated()._server_endpoints

    def to_string(self):
        """The role, as text."""
        self._generated()
        return "role: %s, current_id: %d, pserver_endpoints: %s, worker_num: %d" % (
            "server" if self._role == Role.SERVER else "worker", self._current_id, self._server_endpoints, self._worker_num,
        )

    def _peers(self):
        """The connection among the workers of the job: through its servers, or direct if it has none."""
        if not self.is_worker():
            raise RuntimeError("only workers exchange values with each other, and this is server %d" % self._current_id)
        from .....fluid.executor import runtime

        if not self._server_endpoints:
            return _core.RankGroup(runtime(), self._current_id, self._worker_endpoints)

        return _core.TrainerGroup(runtime(), self._server_endpoints, self._current_id, self._worker_num)

    def _collective(self, how, value):
        """All-gathers or all-reduces an array among all workers, at the first server, or directly if there is none."""
        if not self.is_worker():
            raise RuntimeError("barriers and all-reduce are for workers, and this process is a server")
        from ....executor import runtime

        if self.worker_num() > 1 and not self.get_pserver_endpoints():
            return self._collective_among_ranks(how, np.ascontiguousarray(value))
        place = (self.worker_index(), self.worker_num(), self.get_pserver_endpoints())
        return [np.array(value) for value in _core.worker_collective(runtime(), *place, how, value)]

    def _collective_among_ranks(self, how, value):
        gathered = [np.frombuffer(one, value.dtype).reshape(value.shape) for one in self._peers().gather(value.tobytes())]
        if how == "gather":
            return gathered
        if how == "sum" and value.dtype == np.float32:
            # As servers do: added up as float64, in the order of workers.
            return [np.sum([one.astype("float64") for one in gathered], axis=0).astype("float32")]
        return [{"sum": np.add, "max": np.maximum, "min": np.minimum, "barrier": np.maximum}[how].reduce(gathered)]

    def all_gather(self, input):
        """The values of all workers, in their order."""
        return [_like(input, value) for value in self._collective("gather", np.asarray(input))]

    def all_reduce(self, input, mode="sum"):
        """The numbers of all workers, joined element by element: ``sum``, ``max`` or ``min``."""
        return _like(input, self._collective(mode, np.asarray(input))[0])

    def all_reduce_worker(self, input, output, mode="sum"):
        """Joins arrays of all workers."""
        output[:] = self.all_reduce(input if isinstance(output, np.ndarray) else list(input), mode)

    def barrier_worker(self):
        """Waits for all workers."""
        self._collective("barrier", np.zeros(1, "int32"))

    def barrier_all(self):
        """A barrier of all workers. Servers wait for their workers without it."""
        if self.is_worker():
            self.barrier_worker()

    # Scripts call them by the names that Fluid's own modules use, too.
    _all_gather, _all_reduce, _barrier_worker, _barrier_all = all_gather, all_reduce_worker, barrier_worker, barrier_all


def _like(input, value):
    """A result in the form of the contribution: an array, a list or a number."""
    if isinstance(input, np.ndarray):
        return value.reshape(input.shape)
    return value.tolist() if isinstance(input, (list, tuple)) else value.reshape(-1)[0].item()


class UserDefinedRoleMaker(RoleMakerBase):
    """As the script says."""

    def __init__(self, current_id=0, role=Role.WORKER, worker_num=0, server_endpoints=None):
        super().__init__()
        if not isinstance(server_endpoints, list):
            raise TypeError("server_endpoints must be a list of endpoints such as ['10.0.0.1:6174'], not %r" % (server_endpoints,))
        if role not in (Role.WORKER, Role.SERVER):
            raise TypeError("role must be Role.WORKER or Role.SERVER, not %r" % (role,))
        for name, number in (("current_id", current_id), ("worker_num", worker_num)):
            if not isinstance(number, int):
                raise TypeError("%s must be a number, not %r" % (name, number))
            if number < 0:
                raise ValueError("%s must not be negative, but it is %d" % (name, number))
        place = (role == Role.SERVER, current_id, worker_num, server_endpoints)
        _core.check_place(*place)
        self._take(place)

    def generate_role(self):
        """It is known already."""


class PaddleCloudRoleMaker(RoleMakerBase):
    """As the variables of the launcher say."""

    def __init__(self, is_collective=False):
        super().__init__()
        self._is_collective = is_collective

    def generate_role(self):
        """Reads the environment."""
        if not self._is_collective:
            self._take(_core.find_place("cloud", dict(os.environ)))
            return
        self._current_id, self._worker_endpoints = _core.collective_rank(dict(os.environ))
        self._role, self._worker_num = Role.WORKER, len(self._worker_endpoints)
        self._role_is_generated = True


class MPISymetricRoleMaker(RoleMakerBase):
    """As ``mpirun`` says: of every two processes one is a server and one a worker."""

    def generate_role(self):
        """Reads the variables that ``mpirun`` sets for its processes."""
        self._take(_core.find_place("mpi", dict(os.environ)))

    def get_local_ip(self):
        """Returns the address of this machine under its own name."""
        return socket.gethostbyname(socket.gethostname())


class _FoundRoleMaker(RoleMakerBase):
    """The role for ``fleet.init()`` without an argument: from ``mpirun``, or from the environment of the launcher."""

    def generate_role(self):
        """Reads the environment."""
        self._take(_core.find_place("", dict(os.environ)))


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """Collective workers, as the script lists them."""

    def __init__(self, current_id=0, worker_endpoints=None):
        super().__init__()
        if not isinstance(worker_endpoints, list) or not worker_endpoints:
            raise TypeError("worker_endpoints must be a list of endpoints, not %r" % (worker_endpoints,))
        if len(set(worker_endpoints)) != len(worker_endpoints):
            raise ValueError("every worker needs an endpoint of its own: %s" % ", ".join(worker_endpoints))
        if not 0 <= current_id < len(worker_endpoints):
            raise ValueError("current_id is %d, and there are %d workers" % (current_id, len(worker_endpoints)))
        self._role, self._current_id = Role.WORKER, current_id
        self._worker_endpoints, self._worker_num = list(worker_endpoints), len(worker_endpoints)
        self._role_is_generated = True

    def generate_role(self):
        """It is known already."""


class GeneralRoleMaker(RoleMakerBase):
    """Not supported: it found its peers through HDFS."""

    def __init__(self, **kwargs):
        raise NotImplementedError("GeneralRoleMaker, which finds peers through HDFS, is not supported: PaddleCloudRoleMaker reads the same variables")
