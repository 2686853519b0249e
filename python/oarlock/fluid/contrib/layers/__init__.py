"""Layers that Fluid keeps in ``contrib``."""

from . import metric_op, nn, rnn_impl
from .metric_op import *
from .nn import *
from .rnn_impl import *

__all__ = metric_op.__all__ + nn.__all__ + rnn_impl.__all__

# Layers of Fluid that Oarlock does not have, with the reason.
_NOT_HERE = {
    "match_matrix_tensor": "its operator is not supported yet",
    "rank_attention": "its operator needs a GPU",
    "search_pyramid_hash": "its operator is not supported yet",
    "tree_conv": "its operator is not supported yet",
    "var_conv_2d": "its operator is not supported yet",
}


def __getattr__(name):
    if name in _NOT_HERE:
        raise NotImplementedError("fluid.contrib.layers.%s: %s" % (name, _NOT_HERE[name]))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
