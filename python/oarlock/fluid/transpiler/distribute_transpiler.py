"""From a program for one machine to those of trainers and parameter servers. docs/parameter-servers.md is the guide."""

import os

from ... import _core
from .. import options
from ..framework import Program, default_main_program, default_startup_program

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig"]


class DistributedMode:
    """How trainers exchange what they learned; for ``fluid.communicator.Communicator``."""

    SYNC = 0
    ASYNC = 1
    HALF_ASYNC = 2
    GEO = 3


def slice_variable(var_list, slice_count, min_block_size):
    """Cuts variables into blocks of whole rows.

    Args:
        var_list (list): the variables.
        slice_count (int): the number of servers, the largest number of blocks of a variable.
        min_block_size (int): elements that a block should have at least.

    Returns:
        list: the blocks, as ``name:number:elements``.

    Example:
        >>> from oarlock.fluid.transpiler.distribute_transpiler import slice_variable
        >>> w = fluid.default_main_program().global_block().create_var(name="w", shape=[4, 10])
        >>> slice_variable([w], 2, 10)
        ['w:0:20', 'w:1:20']
    """
    blocks = []
    for var in var_list:
        total, row = 1, 1
        for size in var.shape:
            total *= size
        for size in var.shape[1:]:
            row *= size
        count = min(slice_count, max(1, total // min_block_size))
        size = -(-total // count)
        if len(var.shape) >= 2:
            size = -(-size // row) * row
        for number in range(-(-total // size)):
            blocks.append("%s:%d:%d" % (var.name, number, min(size, total - number * size)))
    return blocks


class DistributeTranspilerConfig:
    """How to transpile; docs/options.md lists the fields."""

    def __setattr__(self, name, value):
        options.check("DistributeTranspilerConfig", name, value)
        self.__dict__[name] = value


# Fluid's are class attributes: scripts read defaults from the class, and derive classes that change them.
for _name, _default in options.defaults("DistributeTranspilerConfig").items():
    setattr(DistributeTranspilerConfig, _name, _default)


class ServerRuntimeConfig:
    """Threads of a server. Each connection has one: these change nothing."""

    def __init__(self):
        self._rpc_send_thread_num = int(os.environ.get("FLAGS_rpc_send_thread_num", 12))
        self._rpc_get_thread_num = int(os.environ.get("FLAGS_rpc_get_thread_num", 12))
        self._rpc_prefetch_thread_num = int(os.environ.get("FLAGS_rpc_prefetch_thread_num", 12))


def _fields(config):
    """The fields of a config; scripts also derive classes from it."""
    known = options.defaults("DistributeTranspilerConfig")
    return {name: getattr(config, name, default) for name, default in known.items()}


class DistributeTranspiler:
    """Makes the programs of trainers and servers; any role can be asked for, in any order."""

    def __init__(self, config=None):
        self.config = DistributeTranspilerConfig() if config is None else config
        self._core = None
        self._program = None

    def transpile(self, trainer_id, program=None, pservers="127.0.0.1:6174", trainers=1, sync_mode=True,
                  startup_program=None, current_endpoint="127.0.0.1:6174", slice_var_up=None, split_method=None):
        """Sorts and places a program. ``startup_program`` becomes the trainer's."""
        if current_endpoint is None:
            if self.config.mode != "pserver":
                raise ValueError("transpile needs current_endpoint, the address of this worker, in mode %s" % self.config.mode)
            # Trainers have no address of their own with servers.
            current_endpoint = ""
        self._program = default_main_program() if program is None else program
        startup = default_startup_program() if startup_program is None else startup_program
        self._core = _core.Transpiler(_fields(self.config))
        # The rates of schedulers of paddle.optimizer.lr in this process go to the servers with every push.
        self._core.set_by_trainers([rate for _, rate in self._program._schedulers])
        self._core.transpile(
            int(trainer_id), self._program.desc, startup.desc, pservers, trainers, bool(sync_mode), current_endpoint,
            slice_var_up, split_method,
        )
        self._startup = startup
        self._program._exchanges = self.config.mode == "collective"
        self._program._workers = len(trainers.split(",")) if self.config.mode == "nccl2" else 0
        if self.config.print_log and self.config.mode == "pserver":
            print(self._core.placement(), end="")

    def _made(self):
        if self._core is None:
            raise RuntimeError("nothing was transpiled yet: call transpile first")
        return self._core

    def get_trainer_program(self, wait_port=True):
        """The trainer's program: the one that was transpiled, rewritten. Waits until the servers answer."""
        from ..executor import runtime

        core = self._made()
        if self.config.mode == "pserver":
            core.become_trainer(self._program.desc)
            self._program._transpiled = (core, None)
        core.wait(runtime(), bool(wait_port))
        return self._program

    def get_pserver_program(self, endpoint):
        """The program of the server that listens on ``endpoint``."""
        program = Program(self._made().pserver_program(endpoint))
        program._transpiled = (self._core, endpoint)
        return program

    def get_pserver_programs(self, endpoint):
        """The program of a server, and its startup program."""
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(self, endpoint, pserver_program=None, startup_program=None):
        """The startup program of the server that listens on ``endpoint``. The other arguments are what it is made from anyway."""
        program = Program(self._made().startup_program(endpoint))
        # Loading into it means what loading into the server's program does, as in the manuals' incremental training.
        program._transpiled = (self._core, endpoint)
        return program
