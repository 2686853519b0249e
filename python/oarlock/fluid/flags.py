"""Flags: what is set from outside, ``FLAGS_*``."""

import os

# Honoured: they change what happens here. Accepted: they cannot change results on a CPU.
HONOURED = {
    "FLAGS_check_nan_inf": False,
}

ACCEPTED = {
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_cpu_deterministic": True,
    "FLAGS_cudnn_batchnorm_spatial_persistent": False,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_eager_delete_scope": True,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_fast_eager_deletion_mode": True,
    "FLAGS_fraction_of_cpu_memory_to_use": 1.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_init_allocated_mem": False,
    "FLAGS_initial_cpu_memory_in_mb": 500,
    "FLAGS_memory_fraction_of_eager_deletion": 1.0,
    "FLAGS_paddle_num_threads": 1,
    "FLAGS_selected_gpus": "",
    "FLAGS_sort_sum_gradient": False,
    "FLAGS_sync_nccl_allreduce": True,
    "FLAGS_use_mkldnn": False,
    "FLAGS_use_ngraph": False,
    "FLAGS_use_pinned_memory": True,
}

_values = {}

# Did the script set a flag? Runs look at flags only then.
is_set = False


def _default(name):
    return HONOURED[name] if name in HONOURED else ACCEPTED[name]


def _known(name):
    if name not in HONOURED and name not in ACCEPTED:
        import difflib

        near = difflib.get_close_matches(name, list(HONOURED) + list(ACCEPTED), 1)
        hint = "; did you mean %s?" % near[0] if near else ""
        raise ValueError("there is no flag %s%s" % (name, hint))
    return name


def _parse(name, text):
    kind = type(_default(name))
    if not isinstance(text, str):
        return kind(text)
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
        raise ValueError("%s is on or off (1 or 0), not %r" % (name, text))
    return kind(text)


def value(name):
    """The value of a flag: as set, else from the environment, else its default."""
    if name in _values:
        return _values[_known(name)]
    if name in os.environ:
        return _parse(_known(name), os.environ[name])
    return _default(_known(name))


def get_flags(flags):
    """The values of flags, by name."""
    names = [flags] if isinstance(flags, str) else list(flags)
    return {name: value(name) for name in names}


def set_flags(flags):
    """Sets flags, by name."""
    if not isinstance(flags, dict):
        raise TypeError("flags in set_flags should be a dict")
    global is_set
    for name in flags:
        _known(name)
    is_set = True
    for name, v in flags.items():
        _values[name] = _parse(name, v)


class Flags:
    """All flags as a mapping."""

    def __getitem__(self, name):
        return value(name)

    def __setitem__(self, name, v):
        set_flags({name: v})

    def __contains__(self, name):
        return name in HONOURED or name in ACCEPTED

    def keys(self):
        """The names."""
        return list(HONOURED) + list(ACCEPTED)

    def is_public(self, name):
        """Every flag here is public."""
        return name in self

    def get(self, name, default=None):
        """The value, or a default for a flag nobody knows."""
        return value(name) if name in self else default
