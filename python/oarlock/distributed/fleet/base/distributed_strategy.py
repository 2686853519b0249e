"""How the processes of a job train together. docs/options.md has the table of the fields; the core decides what they mean."""

from ....fluid import options
from ....fluid.compiler import BuildStrategy, ExecutionStrategy

__all__ = ["DistributedStrategy"]

_PLACE = "fleet.DistributedStrategy"
_STRATEGIES = {"build_strategy": BuildStrategy, "execution_strategy": ExecutionStrategy}
_EXTRAS = ("recompute", "gradient_merge", "lars", "lamb", "dgc", "localsgd")


class DistributedStrategy:
    """How workers train together."""

    def __init__(self):
        values = {}
        for name, default in options.defaults(_PLACE).items():
            field, _, key = name.partition(".")
            if key:
                values.setdefault(field, {})[key] = default
            else:
                values[name] = default
        values.update({name: kind() for name, kind in _STRATEGIES.items()})
        # The keys that the script sets: others may have better defaults than the table's, which are Paddle's.
        self.__dict__.update(_values=values, _given=set())

    def __getattr__(self, name):
        if name not in self._values:
            options.check(_PLACE, name, None)
        value = self._values[name]
        return dict(value) if isinstance(value, dict) else value

    def __setattr__(self, name, value):
        if isinstance(self._values.get(name), dict):
            self._set_config(name, value)
            return
        if name in _STRATEGIES:
            if not isinstance(value, _STRATEGIES[name]):
                raise TypeError("%s must be a paddle.static.%s, not %r" % (name, _STRATEGIES[name].__name__, value))
        else:
            options.check(_PLACE, name, value)
        self._values[name] = value
        if name == "a_sync":
            if not isinstance(value, bool):
                raise TypeError("a_sync is True or False, not %r" % (value,))
            self._values["a_sync_configs"]["k_steps"] = 0

    def _set_config(self, field, config):
        if not isinstance(config, dict):
            raise TypeError("%s takes a dict, not %r" % (field, config))
        for key, value in config.items():
            options.check(_PLACE, "%s.%s" % (field, key), value)
        self._values[field].update(config)
        self._given.update("%s.%s" % (field, key) for key in config)

    def _extras(self):
        return [name for name in _EXTRAS if self._values[name]]

    def _knobs(self):
        """The communicator's knobs that the script sets."""
        known = {"max_merge_var_num", "send_queue_size", "independent_recv_thread", "min_send_grad_num_before_recv", "send_wait_times"}
        configs = self._values["a_sync_configs"]
        return {key: str(configs[key]) for key in known if "a_sync_configs." + key in self._given}

    def save_to_prototxt(self, output):
        """Paddle's text form of a strategy."""
        raise NotImplementedError("save_to_prototxt is not there: set the fields in the script, which every process runs")

    def load_from_prototxt(self, pb_file):
        """Paddle's text form of a strategy."""
        raise NotImplementedError("load_from_prototxt is not there: set the fields in the script, which every process runs")

    def __repr__(self):
        default = DistributedStrategy()._values
        shown = ["%s: %r" % (name, value) for name, value in self._values.items() if name not in _STRATEGIES and value != default[name]]
        return "DistributedStrategy(%s)" % ", ".join(shown)
