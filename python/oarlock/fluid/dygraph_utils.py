"""Activations and biases in eager mode, for layers that users write."""

from . import _state
from .framework import dygraph_only


@dygraph_only
def _append_activation_in_dygraph(input, act=None, use_cudnn=False, use_mkldnn=False):
    """Applies an activation by name; nothing if it is None."""
    if not act:
        return input
    return _state.tracer.call(act, {"X": input}, {"Out": [None]}, {})["Out"][0]


@dygraph_only
def _append_bias_in_dygraph(input, bias=None, axis=1):
    """Adds a bias; nothing if it is None."""
    if bias is None:
        return input
    return _state.tracer.call("elementwise_add", {"X": input, "Y": bias}, {"Out": [None]}, {"axis": axis})["Out"][0]
