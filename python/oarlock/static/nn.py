"""Layers of static programs by the names of Paddle 2."""

from .._arguments import suggest as _suggest
from ..fluid import layers as _layers
from ..fluid.input import embedding
from ..fluid.layers._call import layer
from ..fluid.layers import (
    batch_norm, bilinear_tensor_product, case, cond, conv2d, conv2d_transpose, conv3d, conv3d_transpose, create_parameter,
    data_norm, group_norm, instance_norm, layer_norm, nce, prelu, py_func, row_conv, sequence_concat, sequence_conv,
    sequence_enumerate, sequence_expand, sequence_expand_as, sequence_first_step, sequence_last_step, sequence_pad,
    sequence_pool, sequence_reshape, sequence_reverse, sequence_scatter, sequence_slice, sequence_softmax, sequence_unpad,
    spectral_norm, switch_case, while_loop,
)

__all__ = [
    "batch_norm", "bilinear_tensor_product", "case", "cond", "continuous_value_model", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "create_parameter", "data_norm", "embedding", "fc", "group_norm", "instance_norm", "layer_norm", "nce",
    "prelu", "py_func", "row_conv", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand",
    "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_pad", "sequence_pool", "sequence_reshape",
    "sequence_reverse", "sequence_scatter", "sequence_slice", "sequence_softmax", "sequence_unpad", "sparse_embedding",
    "spectral_norm", "switch_case", "while_loop",
]

continuous_value_model = _layers.continuous_value_model


def fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None):
    """A fully connected layer."""
    return _layers.fc(x, size, num_flatten_dims, weight_attr, bias_attr, activation, name)


def sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None, table_class="MemorySparseTable",
                     param_attr=None, dtype="float32", slot=None, *, evict=None):
    """Rows of a table that lives on parameter servers: no worker holds the table. In one process it is in memory, by the same rules. Any
    ``int64`` is an id. A row is made when its id first comes up, or when ``entry`` admits it (``paddle.distributed.CountFilterEntry``
    or ``ProbabilityEntry``); with ``ShowClickEntry`` rows count shows and clicks. With ``evict`` (``paddle.distributed.UnseenEviction``
    or ``ScoreEviction``) rows go by themselves.
    """
    for name, value, default in (("slot", slot, None), ("table_class", table_class, "MemorySparseTable")):
        if value != default:
            raise NotImplementedError("sparse_embedding(%s=%r) is not supported: rows live in memory" % (name, value))
    if is_test:
        raise NotImplementedError("sparse_embedding(is_test=True) is not supported: use program.clone(for_test=True)")
    options = {"input": input, "size": size, "is_sparse": True, "is_distributed": True, "padding_idx": padding_idx,
               "param_attr": param_attr, "dtype": dtype, "entry": entry, "evict": evict}
    return layer("fluid.embedding", options)


def __getattr__(name):
    raise AttributeError("Oarlock has no layer paddle.static.nn.%s" % name)


_suggest(__name__)
