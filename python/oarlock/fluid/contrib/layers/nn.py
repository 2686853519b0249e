"""Layers for text matching, tree-based retrieval and click prediction."""

import numpy as np

from ... import unique_name
from ...framework import convert_np_dtype_to_dtype_
from ...initializer import Constant
from ...layer_helper import LayerHelper
from ...layers import reshape, slice
from ...layers._generated.contrib import multiclass_nms2

__all__ = [
    "fused_elemwise_activation", "fused_embedding_seq_pool", "match_matrix_tensor", "multiclass_nms2", "partial_concat",
    "partial_sum", "rank_attention", "search_pyramid_hash", "sequence_topk_avg_pooling", "shuffle_batch", "tdm_child",
    "tdm_sampler", "tree_conv", "var_conv_2d",
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


def _pair(name, value):
    """An integer for both axes, or one for each."""
    pair = list(value) if isinstance(value, (list, tuple)) else [value, value]
    if len(pair) != 2 or not all(isinstance(n, (int, np.integer)) for n in pair):
        raise ValueError("%s must be an int or two of them, not %r" % (name, value))
    return [int(n) for n in pair]


def var_conv_2d(input, row, col, input_channel, output_channel, filter_size, stride=1, param_attr=None, act=None,
                dtype="float32", name=None):
    """Convolves images each of which has a size of its own.

    A sequence of ``input`` is an image, channel after channel and row after row. Zeros around it let the window stand over
    every pixel, or every ``stride``-th one.

    Args:
        input (Variable): float32 ``[numbers, 1]`` with ``lod_level=1``: a sequence of
            ``input_channel * height * width`` numbers per image.
        row (Variable): its sequences are as long as the images are high.
        col (Variable): its sequences are as long as the images are wide.
        input_channel (int): the channels of an image.
        output_channel (int): the channels of a result.
        filter_size (int, list or tuple): the window: ``[vertical, horizontal]``, or one number for both.
        stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for both.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight
            ``[output_channel, input_channel * window height * window width]``.
        act (str): an activation of the result; ``None``: none.
        dtype (str): the element type of the weight and the result.
        name (str): the start of the names of its variables; ``None``: it is generated.

    Returns:
        Variable: ``[numbers, 1]`` with a sequence of ``output_channel * places`` numbers per image.

    Raises:
        ValueError: ``filter_size`` or ``stride`` is neither an int nor two of them.
        fluid.core.EnforceNotMet: ``input`` has not two dimensions.

    Example:
        >>> x, row, col = (fluid.data(name, [None, 1], lod_level=1) for name in ("x", "row", "col"))
        >>> ones = fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0))
        >>> out = fluid.contrib.layers.var_conv_2d(x, row, col, 1, 1, filter_size=[1, 3], param_attr=ones)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> def column(numbers, lengths):
        ...     return fluid.create_lod_tensor(np.array(numbers, "float32").reshape(-1, 1), [lengths], fluid.CPUPlace())
        >>> feed = {"x": column([1, 2, 3, 4, 5, 6], [6]), "row": column([0] * 2, [2]), "col": column([0] * 3, [3])}
        >>> exe.run(feed=feed, fetch_list=[out], return_numpy=False)[0].numpy().ravel().tolist()
        [3.0, 6.0, 5.0, 9.0, 15.0, 11.0]
    """
    helper = LayerHelper("var_conv_2d", **locals())
    filter_size, stride = _pair("filter_size", filter_size), _pair("stride", stride)
    weight = helper.create_parameter(
        attr=helper.param_attr, dtype=dtype,
        shape=[int(output_channel), int(input_channel) * filter_size[0] * filter_size[1]],
    )
    out = helper.create_variable_for_type_inference(dtype)
    columns = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    helper.append_op(
        type="var_conv_2d", inputs={"X": input, "ROW": row, "COLUMN": col, "W": weight}, outputs={"Out": out, "Col": columns},
        attrs={
            "InputChannel": input_channel, "OutputChannel": output_channel, "StrideH": stride[0], "StrideW": stride[1],
            "KernelH": filter_size[0], "KernelW": filter_size[1],
        },
    )
    return helper.append_activation(out)


def match_matrix_tensor(x, y, channel_num, act=None, param_attr=None, dtype="float32", name=None):
    """Compares every row of a sequence with every row of another: ``x W y^T``, for ``channel_num`` matrices ``W``.

    Args:
        x (Variable): float32 ``[rows, width]`` with ``lod_level=1``.
        y (Variable): float32 ``[rows, width]`` with ``lod_level=1`` and as many sequences as ``x``.
        channel_num (int): the number of matrices.
        act (str): an activation of the result; ``None``: none.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight
            ``[width, channel_num, width]``.
        dtype (str): the element type of the weight and the result.
        name (str): the start of the names of its variables; ``None``: it is generated.

    Returns:
        tuple: the matches ``[numbers, 1]``, a sequence of ``channel_num * rows of x * rows of y`` numbers per pair of
        sequences; and ``x W``, which the gradient needs.

    Raises:
        ValueError: ``x`` and ``y`` have not two dimensions, or are not equally wide.

    Example:
        >>> x, y = (fluid.data(name, [None, 1], lod_level=1) for name in "xy")
        >>> twos = fluid.ParamAttr(initializer=fluid.initializer.Constant(2.0))
        >>> out, _ = fluid.contrib.layers.match_matrix_tensor(x, y, channel_num=1, param_attr=twos)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> def column(numbers, lengths):
        ...     return fluid.create_lod_tensor(np.array(numbers, "float32").reshape(-1, 1), [lengths], fluid.CPUPlace())
        >>> feed = {"x": column([1, 2, 3], [2, 1]), "y": column([1, 10, 100], [1, 2])}
        >>> exe.run(feed=feed, fetch_list=[out], return_numpy=False)[0].numpy().ravel().tolist()
        [2.0, 4.0, 60.0, 600.0]
    """
    helper = LayerHelper("match_matrix_tensor", **locals())
    if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[1]:
        raise ValueError("match_matrix_tensor needs x and y of two dimensions and equal width, not %s and %s" % (x.shape, y.shape))
    weight = helper.create_parameter(attr=helper.param_attr, shape=[x.shape[1], channel_num, y.shape[1]], dtype=dtype)
    out = helper.create_variable_for_type_inference(dtype)
    product = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    helper.append_op(
        type="match_matrix_tensor", inputs={"X": x, "Y": y, "W": weight}, outputs={"Out": out, "Tmp": product},
        attrs={"dim_t": channel_num},
    )
    return helper.append_activation(out), product


def tree_conv(nodes_vector, edge_set, output_size, num_filters=1, max_depth=2, act="tanh", param_attr=None, bias_attr=None,
              name=None):
    """Convolves trees: each node gets features from the nodes below it (TBCNN).

    A node below another counts by three weights, which say how far to the left, to the right and to the top of the subtree
    it stands.

    Args:
        nodes_vector (Variable): float32 or float64 ``[batch, nodes, features]``.
        edge_set (Variable): int32 ``[batch, edges, 2]``: parent and child; nodes are counted from 1, and an edge with a 0
            ends the list.
        output_size (int): the features of a result.
        num_filters (int): the number of filters.
        max_depth (int): the levels of a subtree that count, at least 2.
        act (str): an activation of the result; ``None``: none.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filter
            ``[features, 3, output_size, num_filters]``.
        bias_attr (ParamAttr or bool): the same of the bias; ``False``: none.
        name (str): the start of the names of its variables; ``None``: it is generated.

    Returns:
        Variable: ``[batch, nodes, output_size, num_filters]``.

    Raises:
        fluid.core.EnforceNotMet: the shapes do not fit, or ``max_depth`` is less than 2.

    Example:
        >>> nodes = fluid.layers.assign(np.array([[[1], [10], [100]]], "float32"))
        >>> edges = fluid.layers.assign(np.array([[[1, 2], [1, 3]]], "int32"))
        >>> ones = fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0))
        >>> out = fluid.contrib.layers.tree_conv(nodes, edges, 1, act=None, param_attr=ones, bias_attr=False)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].ravel().tolist()
        [136.0, 10.0, 100.0]
    """
    helper = LayerHelper("tree_conv", **locals())
    dtype = helper.input_dtype("nodes_vector")
    weight = helper.create_parameter(attr=param_attr, shape=[nodes_vector.shape[2], 3, output_size, num_filters], dtype=dtype)
    out = helper.create_variable_for_type_inference(dtype=dtype)
    helper.append_op(
        type="tree_conv", inputs={"NodesVector": nodes_vector, "EdgeSet": edge_set, "Filter": weight}, outputs={"Out": out},
        attrs={"max_depth": max_depth},
    )
    return helper.append_activation(helper.append_bias_op(out) if helper.bias_attr else out)


def search_pyramid_hash(input, num_emb, space_len, pyramid_layer, rand_len, drop_out_percent, is_training, use_filter,
                        white_list_len, black_list_len, seed, lr, param_attr=None, param_attr_wl=None, param_attr_bl=None,
                        name=None, distribute_update_vars=None, dtype="float32"):
    """Embeds every run of 2 to ``pyramid_layer`` neighbouring ids of a sequence by hashes of it.

    The row of a run consists of pieces of ``rand_len`` numbers, which begin at places of one weight that hashes of the run
    choose. The gradient subtracts ``lr`` times itself from the weight; no optimizer changes it. As in Fluid, that happens only
    if ``input.stop_gradient`` is False.

    Args:
        input (Variable): int32 ``[rows, 1]`` with ``lod_level=1``: ids.
        num_emb (int): the numbers of a row, a multiple of ``rand_len``.
        space_len (int): the places at which pieces can begin.
        pyramid_layer (int): the ids of the longest run, at least 2.
        rand_len (int): the numbers of a piece.
        drop_out_percent (float): in training, the chance of a run to be left out; without training, the factor of all rows.
        is_training (bool): leave out runs by chance.
        use_filter (bool): use the filters.
        white_list_len (int): the numbers of a Bloom filter of the runs that count; 0: all count.
        black_list_len (int): the numbers of a Bloom filter of the runs that do not count; 0: there are none.
        seed (int): the seed of what is left out.
        lr (float): the learning rate of the weight.
        param_attr (ParamAttr): name and initializer of the weight ``[space_len + rand_len, 1]``.
        param_attr_wl (ParamAttr): name and initializer of the white filter ``[white_list_len, 1]``.
        param_attr_bl (ParamAttr): name and initializer of the black filter ``[black_list_len, 1]``.
        name (str): the start of the names of its variables; ``None``: it is generated.
        distribute_update_vars (list): the names of those of its parameters that are updated in distributed training.
        dtype (str): the element type of the weight.

    Returns:
        Variable: ``[runs, num_emb]`` with a sequence per sequence of ``input``; one without runs has a row of zeros.

    Raises:
        ValueError: ``distribute_update_vars`` names a parameter that the layer does not have.
        fluid.core.EnforceNotMet: the sizes do not fit each other.

    Example:
        >>> ids = fluid.data("ids", [None, 1], "int32", lod_level=1)
        >>> out = fluid.contrib.layers.search_pyramid_hash(
        ...     ids, num_emb=4, space_len=100, pyramid_layer=3, rand_len=2, drop_out_percent=0.0, is_training=True,
        ...     use_filter=False, white_list_len=0, black_list_len=0, seed=1, lr=0.1)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> feed = {"ids": fluid.create_lod_tensor(np.array([[3], [5], [7], [9]], "int32"), [[3, 1]], fluid.CPUPlace())}
        >>> found = exe.run(feed=feed, fetch_list=[out], return_numpy=False)[0]
        >>> found.shape(), found.recursive_sequence_lengths()
        ([4, 4], [[3, 1]])
    """
    helper = LayerHelper("search_pyramid_hash", **locals())

    def parameter(attr, length):
        made = helper.create_parameter(attr=attr, shape=[length, 1], dtype=dtype)
        made.stop_gradient = True
        return made

    inputs = {"X": input, "W": parameter(param_attr, space_len + rand_len)}
    if white_list_len > 0:
        inputs["WhiteList"] = parameter(param_attr_wl, white_list_len)
    if black_list_len > 0:
        inputs["BlackList"] = parameter(param_attr_bl, black_list_len)
    known = [attr.name for attr in (param_attr, param_attr_wl, param_attr_bl) if attr]
    unknown = [name for name in distribute_update_vars or () if name not in known]
    if unknown:
        raise ValueError("search_pyramid_hash has no parameter %s; distribute_update_vars takes names of %s" % (unknown[0], known))
    out, used, numbers = (helper.create_variable_for_type_inference(dtype) for _ in range(3))
    helper.append_op(
        type="pyramid_hash", inputs=inputs, outputs={"Out": out, "X_Temp_Out": numbers, "DropPos": used},
        attrs={
            "num_emb": num_emb, "space_len": space_len, "pyramid_layer": pyramid_layer, "rand_len": rand_len,
            "drop_out_percent": drop_out_percent, "is_training": int(is_training), "use_filter": use_filter,
            "white_list_len": white_list_len, "black_list_len": black_list_len, "seed": seed, "lr": lr,
            "distribute_update_vars": ",".join(distribute_update_vars or ()),
        },
    )
    return out


def rank_attention(input, rank_offset, rank_param_shape, rank_param_attr, max_rank=3):
    """Computes each sample of a page from all samples of the page, by a matrix for every pair of places on it.

    Fluid has it on GPUs only. As there, ``input`` gets no gradient.

    Args:
        input (Variable): float32 or float64 ``[samples, features]``.
        rank_offset (Variable): int32 ``[samples, 1 + 2 * max_rank]``: the place of a sample, from 1 on, and for each sample of
            its page the place and the row of ``input``; places of 0 or less do not count.
        rank_param_shape (list): ``[max_rank * max_rank * features, columns]``.
        rank_param_attr (ParamAttr): name, initializer, regularizer and learning rate of the matrices.
        max_rank (int): the places of a page.

    Returns:
        Variable: ``[samples, columns]``.

    Raises:
        ValueError: ``rank_param_shape`` does not fit ``input`` and ``max_rank``.

    Example:
        >>> input = fluid.layers.assign(np.array([[1], [10]], "float32"))
        >>> offset = fluid.layers.assign(np.array([[1, 1, 0, 2, 1], [2, 1, 0, 2, 1]], "int32"))
        >>> param = fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(np.array([[1], [2], [3], [4]], "float32")))
        >>> out = fluid.contrib.layers.rank_attention(input, offset, [4, 1], param, max_rank=2)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[21.0], [43.0]]
    """
    helper = LayerHelper("rank_attention", **locals())
    dtype = helper.input_dtype(input_param_name="input")
    if input.shape[1] * max_rank * max_rank != rank_param_shape[0]:
        raise ValueError(
            "rank_param_shape %s needs %d rows: max_rank * max_rank * features" % (rank_param_shape, input.shape[1] * max_rank**2)
        )
    param = helper.create_parameter(attr=rank_param_attr, shape=rank_param_shape, dtype=dtype)
    param.stop_gradient = False
    out = helper.create_variable_for_type_inference(dtype)
    # Fluid declares one more variable, whose name the next one follows.
    helper.create_variable_for_type_inference(dtype=dtype, stop_gradient=True)
    helper.append_op(
        type="rank_attention", inputs={"X": input, "RankOffset": rank_offset, "RankParam": param}, outputs={"Out": out},
        attrs={"MaxRank": max_rank},
    )
    return out
