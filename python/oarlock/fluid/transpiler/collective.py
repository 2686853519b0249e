"""Programs of collective workers. ``DistributeTranspiler`` with ``mode = "collective"`` does the same."""

from ..framework import default_main_program, default_startup_program
from .distribute_transpiler import DistributeTranspiler, DistributeTranspilerConfig

__all__ = ["GradAllReduce", "LocalSGD"]


class Collective:
    """The base: workers with equal programs."""

    mode = ""

    def __init__(self, nrings):
        self.nrings = nrings
        self.endpoints = self.current_endpoint = self.nranks = self.rank = None
        self.startup_program = self.main_program = None

    def transpile(self, startup_program, main_program, rank, endpoints, current_endpoint, wait_port):
        """Rewrites both programs for one of several workers.

        Args:
            startup_program (Program), main_program (Program): the programs; the default ones if they are None.
            rank (int): the number of this worker.
            endpoints (list or str): the addresses of all workers.
            current_endpoint (str): that of this worker.
            wait_port (bool): whether the first worker waits until the others listen.
        """
        endpoints = endpoints.split(",") if isinstance(endpoints, str) else list(endpoints)
        if len(endpoints) == 1:
            raise ValueError("the number of endpoints must > 1")
        if rank < 0:
            raise ValueError("rank must >= 0")
        if current_endpoint not in endpoints:
            raise ValueError("current endpoint %s is not in %s" % (current_endpoint, endpoints))
        self.startup_program = default_startup_program() if startup_program is None else startup_program
        self.main_program = default_main_program() if main_program is None else main_program
        self.nranks, self.rank, self.endpoints, self.current_endpoint = len(endpoints), rank, endpoints, current_endpoint
        config = DistributeTranspilerConfig()
        config.mode, config.collective_mode, config.nccl_comm_num, config.wait_port = "collective", self.mode, self.nrings, wait_port
        DistributeTranspiler(config).transpile(
            rank, program=self.main_program, startup_program=self.startup_program, trainers=",".join(endpoints),
            current_endpoint=current_endpoint)


class GradAllReduce(Collective):
    """Workers sum their gradients before each update.

    Args:
        nrings (int): how many groups exchange at the same time.

    Example:
        >>> from oarlock.fluid.transpiler.collective import GradAllReduce
        >>> loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 4]), 1))
        >>> made = fluid.optimizer.SGD(0.1).minimize(loss)
        >>> GradAllReduce().transpile(None, None, 0, "127.0.0.1:6170,127.0.0.1:6171", "127.0.0.1:6170", wait_port=False)
        >>> "c_allreduce_sum" in [op.type for op in fluid.default_main_program().global_block().ops]
        True
    """

    mode = "grad_allreduce"

    def __init__(self, nrings=2):
        super().__init__(nrings)


class LocalSGD(Collective):
    """Workers update on their own, and then move to the mean of where they went.

    Args:
        nrings (int): how many groups exchange at the same time.

    Example:
        >>> from oarlock.fluid.transpiler.collective import LocalSGD
        >>> LocalSGD().snapshot_name("fc_0.w_0")
        'fc_0.w_0@SNAPSHOT'
    """

    mode = "local_sgd"

    def __init__(self, nrings=2):
        super().__init__(nrings)
        self.snapshot_key = "@SNAPSHOT"

    def snapshot_name(self, param_name):
        """Returns the name of the variable that keeps a parameter as it was before the local steps.

        Args:
            param_name (str): the parameter.
        """
        return param_name + self.snapshot_key
