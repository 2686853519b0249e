"""What a thread of ``train_from_dataset`` does with its batches, as trainers describe it."""

__all__ = ["DeviceWorker", "Hogwild"]

_PSLIB = "%s belongs to pslib, which Oarlock does not have: use fleet of incubate.fleet.parameter_server.distribute_transpiler"
_ABSENT = {"DownpourSGD": _PSLIB, "DownpourSGDOPT": _PSLIB, "Section": "%s belongs to pipelines over devices: use PipelineOptimizer"}


def __getattr__(name):
    if name in _ABSENT:
        raise NotImplementedError(_ABSENT[name] % name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


class DeviceWorker:
    """The base: derived classes describe themselves in a trainer's description.

    Example:
        >>> from oarlock.fluid.device_worker import DeviceWorker, Hogwild
        >>> isinstance(Hogwild(), DeviceWorker)
        True
    """

    def __init__(self):
        self._program = None
        self._infer = None
        self._fleet_desc = None

    def _set_infer(self, infer=False):
        self._infer = infer

    def _set_fleet_desc(self, fleet_desc):
        self._fleet_desc = fleet_desc

    def _set_program(self, program):
        self._program = program

    def _gen_worker_desc(self, trainer_desc):
        raise NotImplementedError("DeviceWorker does not implement gen_worker_desc, please use Hogwild")


class Hogwild(DeviceWorker):
    """A thread that trains shared parameters without locks: what ``train_from_dataset`` runs.

    Example:
        >>> from oarlock.fluid.trainer_desc import MultiTrainer
        >>> from oarlock.fluid.device_worker import Hogwild
        >>> trainer = MultiTrainer()
        >>> trainer._set_device_worker(Hogwild())
    """

    def _gen_worker_desc(self, trainer_desc):
        trainer_desc.device_worker_name = "HogwildWorker"
        if self._program is None:
            raise RuntimeError("program of current device worker is not configured: call _set_program first")
        if self._infer:
            trainer_desc.hogwild_param.skip_ops.append("feed")
