"""How workers and servers train together. What a strategy means for programs and communicator is decided by the core."""

import os

from ...... import _core
from ..... import flags, options
from .....compiler import BuildStrategy, ExecutionStrategy
from .....transpiler.distribute_transpiler import DistributedMode, DistributeTranspilerConfig, ServerRuntimeConfig, _fields

__all__ = [
    "AsyncStrategy", "DistributedStrategy", "GeoStrategy", "HalfAsyncStrategy", "ServerRuntimeConfig", "StrategyFactory",
    "SyncStrategy", "TrainerRuntimeConfig",
]

_COMMUNICATOR = "FLAGS_communicator_"


def _cpu_num():
    return max(int(os.environ.get("CPU_NUM", 1)), 1)


class TrainerRuntimeConfig:
    """The knobs of the communicator, by their names; those that are not set depend on ``CPU_NUM``."""

    def __init__(self):
        self.mode = None
        self.runtime_configs = {}

    def _set(self, name, value):
        options.check("flag", "FLAGS_" + name, None)
        self.runtime_configs[name] = str(value)

    def get_communicator_flags(self):
        """The knobs that the environment, a flag or the script sets."""
        found = {}
        for name in options.defaults("flag"):
            if name.startswith(_COMMUNICATOR) and flags.given(name) is not None:
                found[name[len("FLAGS_"):]] = str(flags.given(name))
        return dict(found, **self.runtime_configs)

    def display(self, configs):
        """The knobs, to be read."""
        return "\n".join("%s: %s" % pair for pair in sorted(configs.items()))

    def __repr__(self):
        return self.display(self.get_communicator_flags())


def _assign(target, config, what):
    """Sets fields of a config from a dict or another config of its class."""
    if isinstance(config, type(target)):
        return config
    if not isinstance(config, dict):
        raise TypeError("%s takes a dict or a %s, not %r" % (what, type(target).__name__, config))
    for name, value in config.items():
        if not hasattr(target, name):
            raise ValueError("%s has no %s" % (type(target).__name__, name))
        setattr(target, name, value)
    return target


class DistributedStrategy:
    """How workers and servers train together. ``StrategyFactory`` makes one of the classes below, which know what they mean."""

    _name = ""
    _mode = None

    def __init__(self):
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._server_runtime_config = ServerRuntimeConfig()
        self._execute_strategy = ExecutionStrategy()
        self._build_strategy = BuildStrategy()
        self._execute_strategy.num_threads = _cpu_num()
        if _cpu_num() > 1:
            self._build_strategy.reduce_strategy = BuildStrategy.ReduceStrategy.Reduce
        self.debug_opt = None
        if self._name:
            self._check_all()

    def _check_all(self):
        self.check_program_config()
        self.check_trainer_runtime_config()
        self.check_server_runtime_config()
        self.check_build_strategy()
        self.check_execute_strategy()

    def _known(self, method):
        if not self._name:
            raise NotImplementedError("%s belongs to derived classes: use StrategyFactory to make a strategy" % method)

    def set_debug_opt(self, opt_info):
        """Keeps options for debugging.

        Args:
            opt_info (dict): ``dump_slot``, ``dump_converter``, ``dump_fields``, ``dump_file_num``, ``dump_fields_path``,
                ``dump_param``. Values are not dumped here: ``dump_fields`` and ``dump_param`` must be empty.
        """
        for name in ("dump_fields", "dump_param"):
            if (opt_info or {}).get(name):
                raise NotImplementedError("%s is not supported: fetch variables with fetch_list or a FetchHandler of "
                                          "train_from_dataset" % name)
        self.debug_opt = opt_info

    def get_debug_opt(self):
        """Returns the options for debugging, all of them if ``set_debug_opt`` was given a dict, else none."""
        if not isinstance(self.debug_opt, dict):
            return {}
        given = self.debug_opt
        return {
            "dump_slot": bool(given.get("dump_slot", 0)), "dump_converter": str(given.get("dump_converter", "")),
            "dump_fields": given.get("dump_fields", []), "dump_file_num": given.get("dump_file_num", 16),
            "dump_fields_path": given.get("dump_fields_path", ""), "dump_param": given.get("dump_param", []),
        }

    def check_program_config(self):
        """Sets in the program's config what the strategy means."""
        self._known("check_program_config")
        fields = _fields(self._program_config)
        _core.strategy_config(self._name, fields)
        for name, value in fields.items():
            setattr(self._program_config, name, value)

    def check_trainer_runtime_config(self):
        """Sets the mode of the communicator."""
        self._known("check_trainer_runtime_config")
        self._trainer_runtime_config.mode = self._mode

    def check_server_runtime_config(self):
        """Every number of a server's threads is right."""
        self._known("check_server_runtime_config")

    def check_execute_strategy(self):
        """Lets the threads of a worker wait for each other, if the strategy means that."""
        self._known("check_execute_strategy")
        if self._name in ("sync", "half_async"):
            self._execute_strategy.use_thread_barrier = True

    def check_build_strategy(self):
        """Marks the program as one that sends to servers."""
        self._known("check_build_strategy")
        self._build_strategy.async_mode = True

    def get_program_config(self):
        """How programs are transpiled."""
        return self._program_config

    def set_program_config(self, config):
        """Sets how programs are transpiled; what the strategy means stays."""
        self._program_config = _assign(self._program_config, config, "set_program_config")
        self.check_program_config()

    def get_trainer_runtime_config(self):
        """The communicator's knobs."""
        return self._trainer_runtime_config

    def set_trainer_runtime_config(self, config):
        """Sets knobs of the communicator."""
        if isinstance(config, TrainerRuntimeConfig):
            self._trainer_runtime_config = config
        elif isinstance(config, dict):
            for name, value in config.items():
                self._trainer_runtime_config._set(name, value)
        else:
            raise TypeError("set_trainer_runtime_config takes a dict or a TrainerRuntimeConfig, not %r" % (config,))
        self.check_trainer_runtime_config()

    def get_server_runtime_config(self):
        """Threads of servers."""
        return self._server_runtime_config

    def set_server_runtime_config(self, config):
        """Sets threads of servers."""
        self._server_runtime_config = _assign(self._server_runtime_config, config, "set_server_runtime_config")
        self.check_server_runtime_config()

    def get_execute_strategy(self):
        """How a CompiledProgram runs."""
        return self._execute_strategy

    def set_execute_strategy(self, config):
        """Sets how a CompiledProgram runs."""
        self._execute_strategy = _assign(self._execute_strategy, config, "set_execute_strategy")
        self.check_execute_strategy()

    def get_build_strategy(self):
        """How a CompiledProgram is made."""
        return self._build_strategy

    def set_build_strategy(self, config):
        """Sets how a CompiledProgram is made."""
        self._build_strategy = _assign(self._build_strategy, config, "set_build_strategy")
        self.check_build_strategy()


class SyncStrategy(DistributedStrategy):
    """All workers finish a step together."""

    _name, _mode = "sync", DistributedMode.SYNC


class AsyncStrategy(DistributedStrategy):
    """Async: no worker waits for another."""

    _name, _mode = "async", DistributedMode.ASYNC


class HalfAsyncStrategy(DistributedStrategy):
    """The threads of a worker finish a step together."""

    _name, _mode = "half_async", DistributedMode.HALF_ASYNC


class GeoStrategy(DistributedStrategy):
    """Workers train locally and exchange how far parameters moved."""

    _name, _mode = "geo", DistributedMode.GEO

    def __init__(self, update_frequency=100):
        super().__init__()
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """Makes strategies."""

    @staticmethod
    def create_sync_strategy():
        """All workers finish a step together."""
        return SyncStrategy()

    @staticmethod
    def create_async_strategy():
        """Async: no worker waits for another."""
        return AsyncStrategy()

    @staticmethod
    def create_half_async_strategy():
        """The threads of a worker finish a step together."""
        return HalfAsyncStrategy()

    @staticmethod
    def create_geo_strategy(update_frequency=100):
        """GEO: workers train local copies and exchange differences after every ``update_frequency`` steps."""
        return GeoStrategy(update_frequency)


def strategy_of(strategy):
    """A strategy, from what ``distributed_optimizer`` takes: one, a transpiler's config, or None for sync."""
    if strategy is None:
        return SyncStrategy()
    if isinstance(strategy, DistributedStrategy):
        return strategy
    if isinstance(strategy, DistributeTranspilerConfig):
        kinds = {kind._name: kind for kind in (SyncStrategy, AsyncStrategy, HalfAsyncStrategy, GeoStrategy)}
        made = kinds[_core.strategy_of(_fields(strategy))]()
        made.set_program_config(strategy)
        return made
    raise TypeError("distributed_optimizer takes a strategy of StrategyFactory or a DistributeTranspilerConfig, not %r" % (strategy,))
