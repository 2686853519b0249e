"""Layers for text matching, tree-based retrieval and click prediction."""

import numpy as np

from ... import unique_name
from ...framework import convert_np_dtype_to_dtype_
from ...initializer import Constant
from ...layer_helper import LayerHelper
from ...layers import reshape, slice
from ...layers._generated.contrib import multiclass_nms2

__all__ = [
    "fused_elemwise_activation", "fused_embedding_seq_pool", "multiclass_nms2", "partial_concat", "partial_sum",
    "sequence_topk_avg_pooling", "shuffle_batch", "tdm_child", "tdm_sampler",
]


def fused_elemwise_activation(x, y, functor_list, axis=-1, scale=0.0, save_intermediate_out=True):
    """``unary(binary(x, y))`` or ``binary(x, unary(y))``, by ``functor_list``, as one operator."""
    if isinstance(functor_list, str):
        functor_list = functor_list.split(",")
    if not isinstance(functor_list, list) or len(functor_list) != 2:
        raise ValueError("functor_list takes the names of two operators, not %r" % (functor_list,))
    helper = LayerHelper("fused_elemwise_activation", **locals())
    out, between = (helper.create_variable_for_type_inference(dtype=x.dtype) for _ in range(2))
    helper.append_op(
        type="fused_elemwise_activation", inputs={"X": x, "Y": y}, outputs={"Out": out, "IntermediateOut": between},
        attrs={"axis": axis, "scale": scale, "save_intermediate_out": save_intermediate_out, "functor_list": functor_list},
    )
    return out


def sequence_topk_avg_pooling(input, row, col, topks, channel_num):
    """Means of the greatest elements of each row of matrices of different sizes."""
    helper = LayerHelper("sequence_topk_avg_pooling", **locals())
    out = helper.create_variable_for_type_inference(dtype=helper.input_dtype())
    pos = helper.create_variable_for_type_inference(dtype="int32", stop_gradient=True)
    helper.append_op(
        type="sequence_topk_avg_pooling", inputs={"X": input, "ROW": row, "COLUMN": col}, outputs={"Out": out, "pos": pos},
        attrs={"topks": topks, "channel_num": channel_num},
    )
    return out


def fused_embedding_seq_pool(input, size, is_sparse=False, padding_idx=None, combiner="sum", param_attr=None, dtype="float32"):
    """An embedding and the sum over each sequence, as one operator."""
    helper = LayerHelper("fused_embedding_seq_pool", **locals())
    table = helper.create_parameter(attr=helper.param_attr, shape=size, dtype=dtype)
    out = helper.create_variable_for_type_inference(dtype)
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx < 0:
        padding_idx += size[0]
    helper.append_op(
        type="fused_embedding_seq_pool", inputs={"Ids": input, "W": table}, outputs={"Out": out},
        attrs={"is_sparse": is_sparse, "combiner": combiner, "padding_idx": padding_idx},
    )
    return out


def shuffle_batch(x, seed=None):
    """The rows of a batch in another order in every step. ``seed`` is a number, or a variable that keeps the state."""
    helper = LayerHelper("shuffle_batch", **locals())
    out = helper.create_variable_for_type_inference(dtype=x.dtype)
    order = helper.create_variable_for_type_inference(dtype="int64")
    if seed is None:
        seed = helper.main_program.random_seed or np.random.randint(-65536, 65535)
    attrs = {}
    if isinstance(seed, (int, np.integer)):
        attrs["startup_seed"] = int(seed)
        seed = helper.create_variable(name=unique_name.generate("shuffle_batch_seed"), dtype="int64", persistable=True)
    helper.append_op(
        type="shuffle_batch", inputs={"X": x, "Seed": seed}, outputs={"Out": out, "ShuffleIdx": order, "SeedOut": seed}, attrs=attrs
    )
    return out


def _stripes(op_type, input, start_index, length):
    input = input if isinstance(input, (list, tuple)) else [input]
    for name, value in (("start_index", start_index), ("length", length)):
        if not isinstance(value, int):
            raise TypeError("%s of %s must be an int, not %r" % (name, op_type, value))
    helper = LayerHelper(op_type, input=input)
    out = helper.create_variable_for_type_inference(dtype=helper.input_dtype())
    helper.append_op(
        type=op_type, inputs={"X": list(input)}, outputs={"Out": [out]}, attrs={"start_index": start_index, "length": length}
    )
    return out


def partial_concat(input, start_index=0, length=-1):
    """The columns from ``start_index`` on of several matrices, side by side; ``length`` columns of each, -1 for all."""
    return _stripes("partial_concat", input, start_index, length)


def partial_sum(input, start_index=0, length=-1):
    """The sum of the columns from ``start_index`` on of several matrices; ``length`` columns of each, -1 for all."""
    return _stripes("partial_sum", input, start_index, length)


def _whole_numbers(layer, **dtypes):
    for name, dtype in dtypes.items():
        if dtype not in ("int32", "int64"):
            raise TypeError("%s of %s must be 'int32' or 'int64', not %r" % (name, layer, dtype))


def tdm_child(x, node_nums, child_nums, param_attr=None, dtype="int32"):
    """The children of nodes of a tree, and which of them are leaves. The tree is a parameter with a row per node: item, layer,
    parent, children."""
    _whole_numbers("tdm_child", dtype=dtype)
    helper = LayerHelper("tdm_child", **locals())
    tree = helper.create_parameter(
        attr=helper.param_attr, shape=[node_nums, 3 + child_nums], dtype=dtype, default_initializer=Constant(0)
    )
    tree.stop_gradient = True
    child, leaf = (helper.create_variable_for_type_inference(dtype=dtype, stop_gradient=True) for _ in range(2))
    helper.append_op(
        type="tdm_child", inputs={"X": x, "TreeInfo": tree}, outputs={"Child": child, "LeafMask": leaf},
        attrs={"child_nums": child_nums, "dtype": int(convert_np_dtype_to_dtype_(dtype))},
    )
    return child, leaf


def tdm_sampler(x, neg_samples_num_list, layer_node_num_list, leaf_node_num, tree_travel_attr=None, tree_layer_attr=None,
                output_positive=True, output_list=True, seed=0, tree_dtype="int32", dtype="int32"):
    """For each item, the nodes on its path through a tree and other nodes of the same layers: nodes, labels and a mask, each as
    a list with an entry per layer, or as one tensor if ``output_list`` is False."""
    _whole_numbers("tdm_sampler", tree_dtype=tree_dtype, dtype=dtype)
    if len(neg_samples_num_list) != len(layer_node_num_list):
        raise ValueError(
            "neg_samples_num_list has %d layers, but layer_node_num_list has %d"
            % (len(neg_samples_num_list), len(layer_node_num_list))
        )
    for number, (others, nodes) in enumerate(zip(neg_samples_num_list, layer_node_num_list)):
        if others >= nodes:
            raise ValueError("layer %d has %d nodes, too few for %d negative samples and a positive one" % (number, nodes, others))
    begins = [0] + [int(end) for end in np.cumsum(layer_node_num_list)]
    if leaf_node_num is None or leaf_node_num >= begins[-1]:
        raise ValueError("leaf_node_num must be less than the %d nodes of the tree, not %r" % (begins[-1], leaf_node_num))
    helper = LayerHelper("tdm_sampler", **locals())

    def tree(attr, shape):
        made = helper.create_parameter(attr=attr, shape=shape, dtype=tree_dtype, default_initializer=Constant(0))
        made.stop_gradient = True
        return made

    travel = tree(tree_travel_attr, [leaf_node_num, len(layer_node_num_list)])
    layer = tree(tree_layer_attr, [begins[-1], 1])
    made = [helper.create_variable_for_type_inference(dtype=dtype, stop_gradient=True) for _ in range(3)]
    helper.append_op(
        type="tdm_sampler", inputs={"X": x, "Travel": travel, "Layer": layer},
        outputs=dict(zip(("Out", "Labels", "Mask"), made)),
        attrs={
            "neg_samples_num_list": list(neg_samples_num_list), "output_positive": output_positive, "layer_offset_lod": begins,
            "seed": seed, "dtype": int(convert_np_dtype_to_dtype_(dtype)),
        },
    )
    if not output_list:
        return tuple(made)
    widths = [others + bool(output_positive) for others in neg_samples_num_list]
    return tuple(_by_layer(whole, widths) for whole in made)


def _by_layer(whole, widths):
    parts, start = [], 0
    for width in widths:
        part = reshape(slice(whole, axes=[1], starts=[start], ends=[start + width]), [-1, width, 1])
        part.stop_gradient = True
        parts.append(part)
        start += width
    return parts
