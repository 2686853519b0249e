"""Types of Python and element types that Fluid's layers take; any other raises TypeError when a layer is called, as in Fluid 1.8.5. Where
Fluid takes float32, float64 is taken as well; ``F`` stands for float32 alone."""

import numpy as np

from ..core import VarDesc
from ..framework import Variable

_KINDS = VarDesc.VarType
_LETTERS = {
    "h": _KINDS.FP16, "f": _KINDS.FP32, "d": _KINDS.FP64, "i": _KINDS.INT32, "l": _KINDS.INT64, "s": _KINDS.INT16, "b": _KINDS.INT8,
    "u": _KINDS.UINT8, "?": _KINDS.BOOL, "F": _KINDS.FP32,
}

# Arguments that are Variables, or lists of Variables, by the letters of the element types that they may have.
_DTYPES = {
    "fd": """
        add_position_encoding.input addmm.x addmm.y affine_channel.x affine_grid.theta auc.input beam_search.pre_scores
        beam_search.scores crf_decoding.input dynamic_gru.input dynamic_lstm.input dynamic_lstmp.input fsp_matrix.x fsp_matrix.y
        grid_sampler.grid grid_sampler.x group_norm.input gru_unit.hidden gru_unit.input hsigmoid.input huber_loss.input
        huber_loss.label instance_norm.input kldiv_loss.target kldiv_loss.x l2_normalize.x label_smooth.label layer_norm.input
        linear_chain_crf.input log.x log1p.x lstm.init_c lstm.init_h lstm.input lstm_unit.cell_t_prev lstm_unit.hidden_t_prev
        lstm_unit.x_t maxout.x mish.x mse_loss.input mse_loss.label nce.input npair_loss.anchor npair_loss.positive pixel_shuffle.x
        prelu.x selu.x sequence_conv.input sequence_first_step.input sequence_last_step.input sequence_softmax.input
        similarity_focus.input smooth_l1.x smooth_l1.y spectral_norm.weight square_error_cost.input square_error_cost.label
        teacher_student_sigmoid_loss.input teacher_student_sigmoid_loss.label temporal_shift.x unfold.x
        uniform_random_batch_size_like.input
    """,
    "fdil": """
        crop_tensor.x dot.x multiplex.inputs sum.x sums.input dot.y equal.x equal.y greater_equal.x greater_equal.y greater_than.x greater_than.y increment.x
        index_select.input is_empty.x isfinite.x less_equal.x less_equal.y less_than.x less_than.y lod_append.x lod_reset.x
        not_equal.x not_equal.y pad_constant_like.y pow.x reduce_mean.input reduce_sum.input sequence_expand.x sequence_expand_as.x
        sequence_pad.pad_value sequence_pad.x sequence_reshape.input sequence_scatter.input sequence_scatter.updates
        sequence_slice.input sequence_unpad.x shape.input strided_slice.input tril.input triu.input unique.x unique_with_counts.x
    """,
    "il": """
        auc.label gather_tree.ids gather_tree.parents hash.input index_select.index mean_iou.input mean_iou.label multiplex.index
        one_hot.input sequence_enumerate.input sequence_scatter.index sequence_slice.length sequence_slice.offset
    """,
    "l": """
        array_read.i array_write.i beam_search.pre_ids beam_search_decode.ids chunk_eval.input chunk_eval.label edit_distance.input
        edit_distance.label embedding.input fluid.embedding.input hsigmoid.label linear_chain_crf.label nce.label
        sequence_unpad.length shard_index.input
    """,
    "f": """
        beam_search_decode.scores clip_by_norm.x cos_sim.X cos_sim.Y crop.x im2sequence.input log_loss.input log_loss.label
        lrn.input margin_rank_loss.label rank_loss.label rank_loss.left rank_loss.right row_conv.input sequence_pool.input
        warpctc.input
    """,
    "hfd": """
        accuracy.input batch_norm.input bpr_loss.input brelu.x clip.x continuous_value_model.input conv2d.input conv3d.input cross_entropy.input
        dropout.x elu.x hard_shrink.x hard_sigmoid.x hard_swish.x leaky_relu.x mean.x mul.x mul.y relu.x relu6.x
        sigmoid_cross_entropy_with_logits.x soft_relu.x softmax.input softshrink.x stanh.x swish.x thresholded_relu.x
    """,
    "hfdil": """
        adaptive_pool2d.input adaptive_pool3d.input elementwise_add.x elementwise_add.y elementwise_div.x elementwise_div.y
        elementwise_floordiv.x elementwise_floordiv.y elementwise_max.x elementwise_max.y elementwise_min.x elementwise_min.y
        elementwise_mod.x elementwise_mod.y elementwise_mul.x elementwise_mul.y elementwise_pow.x elementwise_pow.y
        elementwise_sub.x elementwise_sub.y kron.x kron.y pad.x pad2d.input reshape.x space_to_depth.x transpose.x
    """,
    "?": """
        logical_and.x logical_and.y logical_not.x logical_or.x logical_or.y logical_xor.x logical_xor.y reduce_all.input
        reduce_any.input
    """,
    "hfdilb": """
        squeeze.input
    """,
    "fdilb": """
        flatten.x sequence_reverse.x
    """,
    "fdil?": """
        Print.input expand.x expand_as.target_tensor expand_as.x ones_like.x zeros_like.x
    """,
    "hfdilsbu": """
        scale.x
    """,
    "hfdil?": """
        concat.input
    """,
    "hfdilu?": """
        cast.x
    """,
    "fdilsu": """
        argmax.x argmin.x argsort.input
    """,
    "fdilu": """
        reverse.x
    """,
    "i": "warpctc.label",
    "fdl": """
        npair_loss.labels
    """,
}

# The same for arguments that may be something else than Variables.
_DTYPES_IF_VARIABLE = {
    "?": "is_empty.cond logical_and.y logical_or.y logical_xor.y logical_and.out logical_or.out logical_xor.out logical_not.out",
    "i": "affine_grid.out_shape linspace.num",
    "il": "fill_constant.shape",
    "l": "warpctc.input_length warpctc.label_length",
    "F": "pow.factor",
    "fd": "dynamic_gru.h_0 dynamic_lstm.c_0 dynamic_lstm.h_0 dynamic_lstmp.c_0 dynamic_lstmp.h_0 linspace.start linspace.stop",
    "fdl": "sequence_concat.input",
    "fdil": "sums.out",
    "fdil?": "ones_like.out zeros_like.out",
    "hfd": """
        acos.x asin.x atan.x ceil.x cos.x floor.x logsigmoid.x reciprocal.x round.x rsqrt.x sigmoid.x sin.x softplus.x softsign.x sqrt.x
        tanh.x tanh_shrink.x log_softmax.input sign.x
    """,
    "hfdil": "abs.x exp.x square.x stack.x meshgrid.input kron.out trace.out",
    "hfdil?": "assign.input",
}

# Arguments that name an element type.
_DTYPE_NAMES = {
    "fd": "uniform_random.dtype uniform_random_batch_size_like.dtype",
    "il": "randint.dtype",
    "hfd": "embedding.dtype fluid.embedding.dtype",
    "fdil": "range.dtype",
    "hfdil?": "fill_constant.dtype full_like.dtype ones.dtype zeros.dtype",
    "hfdilb?": "create_tensor.dtype",
    "hfdilbu?": "cast.dtype",
    "hfdilsbu?": "create_global_var.dtype create_parameter.dtype",
}

_LIST, _LIST_OR_VARIABLE = (list, tuple, np.ndarray), (list, tuple, np.ndarray, Variable)
_OPTIONAL_VARIABLE, _NUMBER = (Variable, type(None)), (int, np.integer)

# Other arguments, by the types of Python that they may have.
_TYPES = {
    (Variable,): """
        array_write.x flip.input gaussian_random_batch_size_like.input get_tensor_from_selected_rows.x has_inf.x has_nan.x
        pad_constant_like.x reorder_lod_tensor_by_rank.rank_table reorder_lod_tensor_by_rank.x sequence_expand_as.y
        conv2d_transpose.input conv3d_transpose.input cumsum.x
    """,
    _OPTIONAL_VARIABLE: """
        affine_channel.bias affine_channel.scale beam_search.ids dynamic_gru.h_0 dynamic_lstm.c_0 dynamic_lstm.h_0 dynamic_lstmp.c_0
        dynamic_lstmp.h_0 is_empty.cond reshape.actual_shape less_than.cond less_equal.cond greater_than.cond greater_equal.cond
        equal.cond not_equal.cond
    """,
    (Variable, list, tuple): """
        array_to_lod_tensor.table array_to_lod_tensor.x fc.input lod_rank_table.x lod_tensor_to_array.table lod_tensor_to_array.x sum.x
        sums.input tensor_array_to_tensor.input
    """,
    (Variable, np.ndarray): "assign.input diag.diagonal sign.x",
    _LIST: """
        create_global_var.shape create_parameter.shape flip.dims gaussian_random_batch_size_like.shape ones.shape
        strided_slice.axes uniform_random_batch_size_like.shape zeros.shape transpose.perm
    """,
    _LIST_OR_VARIABLE: """
        crop.shape crop_tensor.shape expand.expand_times fill_constant.shape reshape.shape strided_slice.ends
        strided_slice.starts strided_slice.strides uniform_random.shape
    """,
    (list, tuple, Variable, type(None)): "randint.shape",
    (list, tuple): "multiplex.inputs sequence_concat.input squeeze.axes similarity_focus.indexes meshgrid.input",
    (str,): "adaptive_pool2d.pool_type adaptive_pool3d.pool_type kldiv_loss.reduction",
    (bool, type(None)): "less_than.force_cpu",
    (bool,): "adaptive_pool2d.require_index adaptive_pool3d.require_index image_resize.align_corners",
    _NUMBER: """
        lstm.hidden_size lstm.max_len lstm.num_layers pixel_shuffle.upscale_factor shuffle_channel.group similarity_focus.axis
        spectral_norm.dim spectral_norm.power_iters temporal_shift.seg_num gru_unit.size
    """,
    (float, np.floating): "spectral_norm.eps temporal_shift.shift_ratio",
    (int, np.integer, Variable): "concat.axis one_hot.depth",
    (int, float, np.integer, np.floating): "mish.threshold",
    (int, list, tuple, np.ndarray, Variable): "unsqueeze.axes adaptive_pool2d.pool_size adaptive_pool3d.pool_size",
    (int, list, tuple): "reverse.axis split.num_or_sections",
}


def _by_layer(table):
    """The checks of each layer: argument and what it may be."""
    found = {}
    for accepted, names in table.items():
        for name in names.split():
            layer, _, argument = name.rpartition(".")
            found.setdefault(layer, []).append((argument, accepted))
    return found


def _kinds(table):
    """The same with element types for letters."""
    kinds = lambda letters: frozenset(_LETTERS[letter] for letter in letters + ("d" if "f" in letters else ""))
    return {name: [(argument, kinds(letters)) for argument, letters in checks] for name, checks in _by_layer(table).items()}


_dtypes, _dtypes_if_variable, _dtype_names = _kinds(_DTYPES), _kinds(_DTYPES_IF_VARIABLE), _kinds(_DTYPE_NAMES)
_types = _by_layer(_TYPES)


def check(name, args):
    """Raises TypeError for an argument of a layer that Fluid does not take.

    Args:
        name (str): the layer.
        args (dict): its arguments.
    """
    for argument, accepted in _types.get(name, ()):
        if argument in args and not isinstance(args[argument], accepted):
            _refuse(name, argument, "of type %s" % " or ".join(kind.__name__ for kind in accepted), type(args[argument]))
    for argument, accepted in _dtypes.get(name, ()):
        for var in _each(args.get(argument)):
            if not isinstance(var, Variable):
                _refuse(name, argument, "a Variable", type(var))
            _check_dtype(name, argument, var.dtype, accepted)
    for argument, accepted in _dtypes_if_variable.get(name, ()):
        for var in _each(args.get(argument)):
            if isinstance(var, Variable) and var.type != _KINDS.LOD_TENSOR_ARRAY:
                _check_dtype(name, argument, var.dtype, accepted)
    for argument, accepted in _dtype_names.get(name, ()):
        kind = _kind_of(args.get(argument))
        if kind is not None:
            _check_dtype(name, argument, kind, accepted)


def _each(value):
    return value if isinstance(value, (list, tuple)) else [value]


def _kind_of(dtype):
    """The element type that an argument names; None for none, and for a name that the layer itself will refuse."""
    if dtype is None or isinstance(dtype, _KINDS):
        return dtype
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        return next((kind for kind in _KINDS if kind == dtype), None)
    try:
        return _KINDS.by_numpy.get(np.dtype(dtype).name)
    except TypeError:
        return None


def _check_dtype(name, argument, dtype, accepted):
    # Fluid 1.8.5 has no bfloat16: it is taken where float32 is.
    if (_KINDS.FP32 if dtype == _KINDS.BF16 else dtype) not in accepted:
        expected = " or ".join(sorted(kind.name for kind in accepted))
        _refuse(name, argument, "of element type %s" % expected, "%s" % dtype.name)


def _refuse(name, argument, expected, received):
    raise TypeError("The argument '%s' of %s must be %s, but received %s" % (argument, name, expected, received))
