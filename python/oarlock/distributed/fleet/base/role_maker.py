"""The role of a process in its job. The core reads environments and checks numbers; these classes hold the result."""

import os

from .... import _core
from ....fluid.incubate.fleet.base.role_maker import Role, RoleMakerBase

__all__ = ["PaddleCloudRoleMaker", "Role", "RoleMakerBase", "UserDefinedRoleMaker"]


class PaddleCloudRoleMaker(RoleMakerBase):
    """As the variables of the launcher say; a process that was started alone trains alone."""

    def __init__(self, is_collective=False, **kwargs):
        super().__init__()
        _no_more(kwargs)
        self._is_collective = bool(is_collective)

    def generate_role(self):
        """Reads the environment."""
        place, self._worker_endpoints = _core.find_fleet_place(dict(os.environ), self._is_collective)
        self._take(place)


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """As the script says: ``current_id``, ``role``, ``worker_num`` and ``server_endpoints``, or ``worker_endpoints`` for equal
    workers."""

    def __init__(self, is_collective=False, init_gloo=False, current_id=0, role=Role.WORKER, worker_num=None,
                 server_endpoints=None, worker_endpoints=None, **kwargs):
        super().__init__(is_collective, **kwargs)
        if init_gloo:
            raise NotImplementedError("init_gloo=True is not supported: workers exchange values through their servers and need no Gloo")
        if not isinstance(current_id, int) or current_id < 0:
            raise ValueError("current_id must be a number from 0 on, not %r" % (current_id,))
        if role not in (Role.WORKER, Role.SERVER):
            raise TypeError("role must be Role.WORKER or Role.SERVER, not %r" % (role,))
        endpoints = list(worker_endpoints or [])
        workers = worker_num if worker_num is not None else len(endpoints)
        servers = [] if self._is_collective else list(server_endpoints or [])
        if self._is_collective and not (endpoints and current_id < len(endpoints)):
            raise ValueError("collective workers need worker_endpoints, one for each: this is worker %d of %s" % (current_id, endpoints))
        if not self._is_collective:
            _core.check_place(role == Role.SERVER, current_id, workers, servers)
        self._worker_endpoints = endpoints
        self._take((role == Role.SERVER, current_id, workers, servers))

    def generate_role(self):
        """It is known already."""


def _no_more(kwargs):
    if kwargs:
        raise TypeError("role makers of Oarlock take no %s" % ", ".join(sorted(kwargs)))
