"""Fleet 2.0: the same script on every process of a job. ``paddle.distributed.fleet`` is this process in its job."""

from ...fluid import options
from ...fluid.incubate import data_generator
from ...fluid.incubate.data_generator import MultiSlotDataGenerator, MultiSlotStringDataGenerator
from . import base, metrics
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker, Role, UserDefinedRoleMaker
from .base.util_factory import UtilBase
from .dataset import InMemoryDataset, QueueDataset
from .fleet import Fleet

_one = Fleet()
# Paddle has the process under this name, too.
fleet = _one

_METHODS = (
    "all_reduce", "barrier_worker", "distributed_optimizer", "even_reader", "init", "init_server", "init_worker", "is_first_worker",
    "is_server", "is_worker", "load_checkpoint", "node_num", "run_server", "save_checkpoint", "save_inference_model",
    "save_persistables", "server_endpoints",
    "server_index", "server_num", "shrink", "stop_worker", "worker_endpoints", "worker_index", "worker_num",
)

__all__ = [
    "DistributedStrategy", "Fleet", "InMemoryDataset", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator",
    "PaddleCloudRoleMaker", "QueueDataset", "Role", "UserDefinedRoleMaker", "UtilBase", "base", "data_generator", "metrics",
    "util", *_METHODS,
]

globals().update({name: getattr(_one, name) for name in _METHODS})
util = _one.util
# The attributes that functions with a Fleet argument read: the module can be passed as a Fleet.
_role = _one._role

# Other names of Paddle's Fleet, and the reason why they are not supported.
_ABSENT = {
    "distributed_model": "it belongs to eager mode", "distributed_scaler": "it belongs to eager mode",
    "state_dict": "it belongs to eager mode", "set_state_dict": "it belongs to eager mode",
    "load_model": "use fleet.init_server(dirname)",
    "load_inference_model": "use paddle.static.load_inference_model", "save_cache_model": "tables keep no cache",
    "save_one_table": "use fleet.save_persistables", "load_one_table": "use fleet.init_server(dirname, var_names)",
    "minimize": "call it of what fleet.distributed_optimizer returns", "HybridCommunicateGroup": "networks are not split over workers",
}


def __getattr__(name):
    options.check_renamed(__name__.replace("oarlock", "paddle", 1), name)
    if name in _ABSENT:
        raise NotImplementedError("fleet.%s is not supported: %s" % (name, _ABSENT[name]))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
