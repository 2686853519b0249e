"""Makes descriptions of passes over data sets, and watches variables during a pass."""

import logging
import threading

import numpy as np

from . import device_worker, trainer_desc
from .executor import FetchHandler
from .framework import Variable

__all__ = ["FetchHandler", "FetchHandlerMonitor", "TrainerFactory"]

_log = logging.getLogger("oarlock")


class TrainerFactory:
    """Makes trainers' descriptions.

    Example:
        >>> from oarlock.fluid.trainer_factory import TrainerFactory
        >>> type(TrainerFactory()._create_trainer()).__name__
        'MultiTrainer'
    """

    def _create_trainer(self, opt_info=None):
        opt_info = opt_info or {"trainer": "MultiTrainer", "device_worker": "Hogwild"}
        trainer = getattr(trainer_desc, opt_info["trainer"])()
        worker = getattr(device_worker, opt_info["device_worker"])()
        if "fleet_desc" in opt_info:
            worker._set_fleet_desc(opt_info["fleet_desc"])
            trainer._set_fleet_desc(opt_info["fleet_desc"])
        trainer._set_device_worker(worker)
        return trainer


class FetchHandlerMonitor:
    """Gives a FetchHandler the values of its variables every ``period_secs`` seconds, in a thread. ``train_from_dataset`` takes the
    handler itself as ``fetch_handler``; use this class for scopes of your own.

    Args:
        scope (Scope): where the variables are.
        handler (FetchHandler): gets the values; None for a variable that has none yet.

    Example:
        >>> from oarlock.fluid.trainer_factory import FetchHandler, FetchHandlerMonitor
        >>> x = fluid.data("x", [1])
        >>> monitor = FetchHandlerMonitor(fluid.global_scope(), FetchHandler({"x": x}, period_secs=60))
        >>> monitor.start()
        >>> monitor.stop()
    """

    def __init__(self, scope, handler):
        self.fetch_instance = handler
        self._stopped = threading.Event()
        self.fetch_thread = threading.Thread(target=self.handler_launch_func, args=(scope, handler), daemon=True)

    @property
    def running(self):
        """Whether the thread watches."""
        return self.fetch_thread.is_alive() and not self._stopped.is_set()

    def handler_launch_func(self, scope, handler):
        """Calls the handler until ``stop``; runs in the thread.

        Args:
            scope (Scope): where the variables are.
            handler (FetchHandler): gets the values.
        """
        for key, var in handler.var_dict.items():
            if not isinstance(var, Variable):
                _log.warning("the value of %s is not a Variable", key)
        while not self._stopped.wait(handler.period_secs):
            handler.handler({key: self._value(scope, key, var) for key, var in handler.var_dict.items()})

    @staticmethod
    def _value(scope, key, var):
        found = scope.find_var(var.name) if isinstance(var, Variable) else None
        if found is None or not found.is_initialized():
            _log.warning("%s value currently not available", key)
            return None
        tensor = found.get_tensor()
        if tensor.lod():
            raise RuntimeError("%s has sequences and cannot become an array: choose another variable" % var.name)
        return np.array(tensor)

    def start(self):
        """Starts the thread."""
        self.fetch_thread.start()

    def stop(self):
        """Ends the thread; a handler that runs is finished first."""
        self._stopped.set()
        if self.fetch_thread.is_alive():
            self.fetch_thread.join()
