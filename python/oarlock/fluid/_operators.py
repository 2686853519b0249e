"""Operators as functions: ``core.ops.relu(x)``, ``core.ops.concat([x, y], "axis", 1)``, as the layers of Fluid 1.8 call them in eager mode."""

from . import _state

# Slots of operators in the order of positional arguments. Before ``>`` inputs: ``*`` marks those that are lists. After it outputs: ``&``
# marks those that are arguments, too, and ``*`` those whose number is an argument.
_SLOTS = {
    "X > Out": (
        "abs acos add_position_encoding arg_max arg_min asin assign atan bilinear_interp brelu cast ceil clip clip_by_norm cos crop "
        "crop_tensor cumsum elu erf exp expand fill_any_like fill_zeros_like fill_zeros_like2 flatten flip floor frobenius_norm "
        "gelu get_tensor_from_selected_rows hard_shrink hard_sigmoid hard_swish hash im2sequence increment is_empty isfinite isinf "
        "isnan l1_norm leaky_relu lod_reset log log1p logical_not logsigmoid maxout mean merge_selected_rows mish nearest_interp "
        "one_hot one_hot_v2 p_norm pad pad2d pixel_shuffle pool2d pool3d pow reciprocal reduce_all reduce_any reduce_max "
        "reduce_mean reduce_min reduce_prod reduce_sum relu relu6 reshape reverse roll round rsqrt sampling_id scale selu "
        "sequence_enumerate sequence_erase sequence_reshape sequence_softmax shard_index shuffle_channel sigmoid sign "
        "similarity_focus sin soft_relu softmax softplus softshrink softsign space_to_depth sqrt square squared_l2_norm squeeze "
        "stanh swish tanh tanh_shrink temporal_shift thresholded_relu transpose tril_triu trilinear_interp unsqueeze"
    ),
    "X Y > Out": (
        "bmm conv_shift cross dist dot elementwise_add elementwise_div elementwise_floordiv elementwise_max elementwise_min "
        "elementwise_mod elementwise_mul elementwise_pow elementwise_sub equal equal_reduce fsp greater_equal greater_than "
        "iou_similarity kron less_equal less_than logical_and logical_or logical_xor minus mul not_equal pad_constant_like "
        "sequence_expand sequence_expand_as"
    ),
    "> Out": "assign_value eye fill gaussian_random randint randperm seed truncated_gaussian_random uniform_random",
    "Input > Out": (
        "diag_embed fill_constant_batch_size_like gaussian_random_batch_size_like shape size slice strided_slice trace "
        "uniform_random_batch_size_like"
    ),
    "Input Filter > Output": "conv2d conv2d_transpose conv3d conv3d_transpose depthwise_conv2d depthwise_conv2d_transpose",
    "X* > Out": "concat fusion_seqpool_concat partial_concat partial_sum sequence_concat sum",
    "X > Out XShape": "flatten2 reshape2 squeeze2 transpose2 unsqueeze2",
    "X > Out*": "split split_byref split_selected_rows unbind",
    "X Index > Out": "gather gather_nd index_sample index_select",
    "W Ids > Out": "fused_embedding_seq_pool lookup_table lookup_table_v2",
    "X > Out Mask": "dropout max_pool2d_with_index max_pool3d_with_index",
    "X > Y": "sequence_mask sequence_reverse unfold",
    "X Label > Y": "bpr_loss cross_entropy teacher_student_sigmoid_loss",
    "X ROIs > Out": "prroi_pool psroi_pool roi_align",
    "BBoxes Scores > Out": "locality_aware_nms multiclass_nms",
    "BBoxes Scores > Out Index": "matrix_nms multiclass_nms2",
    "Input > Output": "ctc_align polygon_box_transform",
    "Input Image > Boxes Variances": "density_prior_box prior_box",
    "Param Grad LearningRate > ParamOut": "dpsgd proximal_gd",
    "Param Grad Moment LearningRate > ParamOut MomentOut": "adagrad decayed_adagrad",
    "X > Out Indices": "argsort top_k",
    "X Filter > Out": "row_conv sequence_conv",
    "X Ids Updates > Out": "scatter sequence_scatter",
    "X Label > Out": "bce_loss sigmoid_cross_entropy_with_logits",
    "> &Out": "fill_constant",
    "Anchor GtBoxes GtLabels IsCrowd ImInfo > LocationIndex ScoreIndex TargetBBox TargetLabel BBoxInsideWeight ForegroundNumber": (
        "retinanet_target_assign"
    ),
    "Anchor GtBoxes IsCrowd ImInfo > LocationIndex ScoreIndex TargetBBox TargetLabel BBoxInsideWeight": "rpn_target_assign",
    "BBoxes* Scores* Anchors* ImInfo > Out": "retinanet_detection_output",
    "ClsLoss MatchIndices MatchDist > NegIndices UpdatedMatchIndices": "mine_hard_examples",
    "Condition > Out": "where_index",
    "Condition X Y > Out": "where",
    "DetectRes Label > AccumPosCount AccumTruePos AccumFalsePos MAP": "detection_map",
    "Diagonal > Out": "diag",
    "DistMat > ColToRowMatchIndices ColToRowMatchDist": "bipartite_match",
    "Emission Transition > ViterbiPath": "crf_decoding",
    "Emission Transition Label > Alpha EmissionExps TransitionExps LogLikelihood": "linear_chain_crf",
    "FpnRois > MultiFpnRois* RestoreIndex": "distribute_fpn_proposals",
    "Hyps Refs > SequenceNum Out": "edit_distance",
    "Ids Parents > Out": "gather_tree",
    "Ids X* > Out": "multiplex",
    "Ids* > Out*": "split_ids",
    "Ids* Rows* X* > Out*": "merge_ids",
    "ImInfo GtClasses IsCrowd GtSegms Rois LabelsInt32 > MaskRois RoiHasMaskInt32 MaskInt32": "generate_mask_labels",
    "Inference Label > Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks": "chunk_eval",
    "Input > Anchors Variances": "anchor_generator",
    "Input HiddenPrev Weight Bias > Gate ResetHiddenPrev Hidden": "gru_unit",
    "Input ImInfo > Output": "box_clip",
    "Input InitH InitC W > Out last_h last_c": "cudnn_lstm",
    "Input Label Weight > Cost SampleLogits SampleLabels": "nce",
    "Input Offset Filter > Output": "deformable_conv_v1",
    "Input Offset Mask Filter > Output": "deformable_conv",
    "Input Other > Out": "allclose",
    "Input ROIs Trans > TopCount Output": "deformable_psroi_pooling",
    "Input W > Out": "fc",
    "Input Weight > BatchGate BatchResetHiddenPrev BatchHidden Hidden": "gru",
    "Input Weight Bias > Hidden Cell BatchGate BatchCellPreAct": "lstm",
    "Input Weight ProjWeight Bias > Projection Cell BatchGate BatchCellPreAct BatchHidden": "lstmp",
    "Input X Y > Out": "addmm",
    "Input* > Output* FusedOutput": "coalesce_tensor",
    "Ins Ins_tag Filter_tag > Out LossWeight IndexMap": "filter_by_instag",
    "Label Left Right > Out": "rank_loss",
    "Logits Label > Softmax Loss": "softmax_with_cross_entropy",
    "Logits Label > WarpCTCGrad Loss": "warpctc",
    "Logits Labels > Loss": "hinge_loss",
    "Logits Labels > Samples Probabilities LogitsDim LabelsDim SampledLogits SampledLabels": "sample_logits",
    "MaxProbs Indices Labels > BatchMetrics AccumMetrics AccumStatesInfo": "precision_recall",
    "MultiLevelRois* MultiLevelScores* > FpnRois": "collect_fpn_proposals",
    "Out Indices Label > Accuracy &Correct &Total": "accuracy",
    "Param Grad AvgSquaredGrad AvgSquaredUpdate > ParamOut AvgSquaredGradOut AvgSquaredUpdateOut": "adadelta",
    "Param Grad LearningRate Moment InfNorm Beta1Pow > ParamOut MomentOut InfNormOut": "adamax",
    "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow > &ParamOut &Moment1Out &Moment2Out &Beta1PowOut &Beta2PowOut": "adam",
    "Param Grad LearningRate Moment1 Moment2 Beta1Pow Beta2Pow > ParamOut Moment1Out Moment2Out": "lamb",
    "Param Grad Velocity LearningRate > &ParamOut &VelocityOut": "momentum",
    "Param Grad Velocity LearningRate > ParamOut VelocityOut": "lars_momentum",
    "Param LearningRate Grad > &ParamOut": "sgd",
    "Param MeanSquare LearningRate Grad Moment > ParamOut MomentOut MeanSquareOut MeanGradOut": "rmsprop",
    "Param Moment Grad LearningRate > ParamOut MomentOut": "proximal_adagrad",
    "Param SquaredAccumulator LinearAccumulator Grad LearningRate > ParamOut SquaredAccumOut LinearAccumOut": "ftrl",
    "Predict Label StatPos StatNeg > AUC StatPosOut StatNegOut": "auc",
    "Predicted Labels > Loss": "log_loss",
    "Predictions Labels > OutMeanIou OutWrong OutCorrect": "mean_iou",
    "PriorBox TargetBox > OutputBox": "box_coder",
    "PriorBox TargetBox BoxScore > DecodeBox OutputAssignBox": "box_decoder_and_assign",
    "RpnRois GtClasses IsCrowd GtBoxes ImInfo > Rois LabelsInt32 BboxTargets BboxInsideWeights BboxOutsideWeights": (
        "generate_proposal_labels"
    ),
    "Score Label QueryID > PositivePair NegativePair": "positive_negative_pair",
    "Scores BboxDeltas ImInfo Anchors Variances > RpnRois RpnRoiProbs": "generate_proposals",
    "Start End Step > Out": "range",
    "Start Stop Num > Out": "linspace",
    "Theta > Output": "affine_grid",
    "Weight U V > Out": "spectral_norm",
    "X > Norm Out": "norm",
    "X > Out Index": "unique",
    "X > Out Index Count": "unique_with_counts",
    "X > Out MaxIndex": "sequence_pool",
    "X > Out MidOut": "lrn",
    "X > Y Mean Variance": "group_norm",
    "X > Y*": "unstack",
    "X Alpha > Out": "prelu",
    "X BatchSize BatchSum BatchSquareSum > Y Means Scales": "data_norm",
    "X CVM > Y": "cvm",
    "X C_prev > C H": "lstm_unit",
    "X Filter Bias > Out ColMat": "fusion_seqconv_eltadd_relu",
    "X GTBox GTLabel > Loss ObjectnessMask GTMatchMask": "yolov3_loss",
    "X Grid > Output": "grid_sampler",
    "X ImgSize > Boxes Scores": "yolo_box",
    "X Index Updates > Out": "scatter_nd_add",
    "X Indices > Out": "unpool",
    "X Label > Out Total_weight": "nll_loss",
    "X Label > Y XShape MatchX": "cross_entropy2",
    "X Label Centers CenterUpdateRate > CentersOut SampleCenterDiff Loss": "center_loss",
    "X Label FgNum > Out": "sigmoid_focal_loss",
    "X Length > Out": "sequence_unpad",
    "X MatchIndices > Out OutWeight": "target_assign",
    "X Offset Length > Out": "sequence_slice",
    "X PadValue > Out Length": "sequence_pad",
    "X PriorDist > Out": "label_smooth",
    "X ROIs > Out Argmax": "roi_pool",
    "X ROIs > Out Mask TransformMatrix Out2InIdx Out2InWeights": "roi_perspective_transform",
    "X ROW COLUMN > Out pos": "sequence_topk_avg_pooling",
    "X Scale Bias > Out": "affine_channel",
    "X Scale Bias > Y Mean Variance": "layer_norm",
    "X Scale Bias > Y SavedMean SavedVariance": "instance_norm",
    "X Scale Bias Mean Variance > Y &MeanOut &VarianceOut SavedMean SavedVariance": "batch_norm",
    "X Seed > Out ShuffleIdx SeedOut": "shuffle_batch",
    "X Target > Loss": "kldiv_loss",
    "X Travel Layer > Out Mask": "tdm_sampler",
    "X TreeInfo > Child LeafMask": "tdm_child",
    "X W Label > Out PreOut W_Out": "hierarchical_sigmoid",
    "X W* Bias* > ReluOut* Out": "fusion_repeated_fc_relu",
    "X WeightX WeightH > ReorderedH0 XX BatchedInput BatchedOut Hidden": "fusion_gru",
    "X WeightX WeightH Bias > Hidden Cell XX BatchedInput BatchedHidden BatchedCell ReorderedH0 ReorderedC0 CheckedCell": "fusion_lstm",
    "X Y > &Out": "matmul",
    "X Y > Diff Out": "smooth_l1_loss",
    "X Y > IntermediateVal Out": "modified_huber_loss",
    "X Y > Out IntermediateOut": "fused_elemwise_activation",
    "X Y > Out XNorm YNorm": "cos_sim",
    "X Y > Residual Out": "huber_loss",
    "X Y > SquaredX SquaredY SquaredXY Out": "fusion_squared_mat_sub",
    "X Y > sub_result Out": "squared_l2_distance",
    "X Y Weight > Out": "bilinear_tensor_product",
    "X target_tensor > Out": "expand_as",
    "X* > Out*": "meshgrid",
    "X* > Y": "stack",
    "X* CVM > Out": "fusion_seqpool_cvm_concat",
    "X* FCWeight > Out FCOut": "fusion_seqexpand_concat_fc",
    "X1 X2 Label > Activated Out": "margin_rank_loss",
    "current_step X > Out": "dgc_clip_by_norm",
    "current_step nranks Param Grad Velocity LearningRate > Grad_out ParamOut VelocityOut": "dgc_momentum",
    "param in_sum_1 in_sum_2 in_sum_3 in_num_accumulates in_old_num_accumulates in_num_updates > out_sum_1 out_sum_2 out_sum_3 out_num_accumulates out_old_num_accumulates out_num_updates": (
        "average_accumulates"
    ),
    "pre_ids pre_scores scores > selected_ids selected_scores": "beam_search",
}


def _parse(signature):
    inputs, outputs = (part.split() for part in signature.split(">"))
    split = lambda slot: (slot.strip("*&"), slot.endswith("*"), slot.startswith("&"))
    return [split(slot) for slot in inputs], [split(slot) for slot in outputs]


_SIGNATURES = {name: _parse(signature) for signature, names in _SLOTS.items() for name in names.split()}


def _function(name):
    inputs, outputs = _SIGNATURES[name]
    count = len(inputs) + sum(many or passed for _, many, passed in outputs)

    def call(*args):
        if _state.tracer is None:
            raise AssertionError("core.ops.%s runs in eager mode: use it inside fluid.dygraph.guard()" % name)
        if len(args) < count or (len(args) - count) % 2:
            raise TypeError("core.ops.%s takes %d arguments, then names and values of attributes, not %d" % (name, count, len(args)))
        given = iter(args)
        tensors = {slot: value for (slot, _, _), value in zip(inputs, given) if value is not None}
        targets, kept = {}, {}
        for slot, many, passed in outputs:
            if not passed:
                targets[slot] = [None] * (next(given) if many else 1)
                continue
            target = next(given)
            targets[slot] = [target if target._has_value() else None]
            if targets[slot][0] is None:
                kept[slot] = target
        rest = list(given)
        made = _state.tracer.call(name, tensors, targets, dict(zip(rest[::2], rest[1::2])))
        for slot, target in kept.items():
            target._become(made[slot][0])
            made[slot] = [target]
        results = [made[slot] if many else made[slot][0] for slot, many, _ in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = name
    return call


class _Operators:
    """``core.ops``."""

    def __getattr__(self, name):
        if name not in _SIGNATURES:
            raise AttributeError("core.ops has no operator %s" % name)
        made = _function(name)
        setattr(self, name, made)
        return made

    def __dir__(self):
        return sorted(_SIGNATURES)


ops = _Operators()
