"""Descriptions of a pass over a data set: threads, what is printed, the program. ``Executor.train_from_dataset`` takes the same as
arguments; scripts that print descriptions, or make them for a look, find them here."""

import os

from ._text_format import Message

__all__ = ["MultiTrainer", "TrainerDesc"]

_ABSENT = {
    "DistMultiTrainer": "DistMultiTrainer belongs to pslib, which Oarlock does not have: train_from_dataset works with fleet of "
                        "incubate.fleet.parameter_server.distribute_transpiler",
    "PipelineTrainer": "PipelineTrainer belongs to pipelines over devices: use PipelineOptimizer",
}


def __getattr__(name):
    if name in _ABSENT:
        raise NotImplementedError(_ABSENT[name])
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


class _FetchConfig(Message):
    FIELDS = (("fetch_var_names", [""]), ("fetch_var_str_format", [""]), ("print_period", 100), ("method", 0))


class _HogwildParam(Message):
    FIELDS = (("skip_ops", [""]), ("stat_var_names", [""]))


class _Trainer(Message):
    FIELDS = (
        ("class_name", ""), ("device_worker_name", ""), ("thread_num", 0), ("filelist", [""]), ("debug", False),
        ("fetch_config", _FetchConfig), ("hogwild_param", _HogwildParam),
    )


class TrainerDesc:
    """The base of trainers' descriptions.

    Example:
        >>> from oarlock.fluid.trainer_desc import TrainerDesc
        >>> trainer = TrainerDesc()
        >>> trainer._set_thread(2)
        >>> print(trainer)
        thread_num: 2
        <BLANKLINE>
    """

    def __init__(self):
        self.proto_desc = _Trainer()
        self.proto_desc.thread_num = os.cpu_count() or 1
        self._device_worker = self._program = self._fleet_desc = None
        self._infer = False

    def _set_fetch_var_and_info(self, fetch_vars, fetch_info, print_period):
        config = self.proto_desc.fetch_config
        config.fetch_var_names.extend(var.name for var in fetch_vars)
        config.fetch_var_str_format.extend(list(fetch_info)[: len(fetch_vars)])
        config.print_period = print_period

    def _set_debug(self, debug):
        self.proto_desc.debug = debug

    def _set_thread(self, thread_num):
        self.proto_desc.thread_num = thread_num

    def _set_device_worker(self, device_worker):
        self._device_worker = device_worker

    def _set_infer(self, infer):
        self._infer = infer

    def _set_fleet_desc(self, fleet_desc):
        self._fleet_desc = fleet_desc

    def _set_program(self, program):
        self._program = program

    def _gen_trainer_desc(self):
        """Derived classes complete the description here."""

    def __str__(self):
        return str(self.proto_desc)


class MultiTrainer(TrainerDesc):
    """The description of a pass by several threads of one process.

    Example:
        >>> from oarlock.fluid.trainer_factory import TrainerFactory
        >>> trainer = TrainerFactory()._create_trainer()
        >>> trainer._set_program(fluid.default_main_program())
        >>> trainer._set_thread(2)
        >>> trainer._gen_trainer_desc()
        >>> print(trainer)
        class_name: "MultiTrainer"
        device_worker_name: "HogwildWorker"
        thread_num: 2
        <BLANKLINE>
    """

    def _gen_trainer_desc(self):
        self.proto_desc.class_name = "MultiTrainer"
        self._device_worker._set_infer(self._infer)
        self._device_worker._set_program(self._program)
        self._device_worker._gen_worker_desc(self.proto_desc)
