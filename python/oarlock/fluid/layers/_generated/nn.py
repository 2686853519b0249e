"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "adaptive_pool2d", "adaptive_pool3d", "add_position_encoding", "addmm", "affine_channel", "affine_grid",
    "autoincreased_step_counter", "batch_norm", "bilinear_tensor_product", "bmm", "brelu", "chunk_eval", "clip",
    "clip_by_norm", "continuous_value_model", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "cos_sim",
    "crf_decoding", "crop", "crop_tensor", "ctc_greedy_decoder", "data_norm", "diag_embed", "dice_loss", "dot",
    "dropout", "elementwise_add", "elementwise_div", "elementwise_floordiv", "elementwise_max", "elementwise_min",
    "elementwise_mod", "elementwise_mul", "elementwise_pow", "elementwise_sub", "elu", "embedding", "expand",
    "expand_as", "fc", "filter_by_instag", "flatten", "flip", "fsp_matrix", "full_like", "gather", "gather_nd",
    "gather_tree", "gaussian_random", "gaussian_random_batch_size_like", "get_tensor_from_selected_rows",
    "grid_sampler", "group_norm", "hard_sigmoid", "hard_swish", "hash", "im2sequence", "image_resize",
    "image_resize_short", "index_select", "instance_norm", "kron", "l2_normalize", "label_smooth", "layer_norm",
    "leaky_relu", "linear_chain_crf", "log", "log1p", "log_loss", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "lrn", "matmul", "maxout", "mean", "mean_iou", "merge_selected_rows", "meshgrid",
    "mish", "mul", "multiplex", "one_hot", "pad", "pad2d", "pad_constant_like", "pixel_shuffle", "pool2d", "pool3d",
    "pow", "prelu", "randint", "rank", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_sum", "relu", "relu6", "reshape", "resize_bilinear", "resize_nearest", "resize_trilinear",
    "roll", "row_conv", "sampling_id", "scale", "scatter", "scatter_nd", "scatter_nd_add", "selu", "shape",
    "shard_index", "shuffle_channel", "sign", "similarity_focus", "size", "slice", "smooth_l1", "soft_relu",
    "softmax", "space_to_depth", "spectral_norm", "split", "squeeze", "stack", "stanh", "strided_slice", "sum",
    "swish", "temporal_shift", "topk", "trace", "transpose", "tril", "triu", "unfold",
    "uniform_random_batch_size_like", "unique", "unique_with_counts", "unsqueeze", "unstack", "where",
]


def adaptive_pool2d(
    input: Variable, pool_size: Union[int, Sequence[Any]], pool_type: str = 'max', require_index: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Pooling whose windows are chosen so that the result has size ``pool_size``; ``require_index`` also returns where
    maxima were.

    Args:
        input (Variable): the input.
        pool_size (int or list): sizes of the result: one number for all dimensions, or one each.
        pool_type (str): ``max`` or ``avg``.
        require_index (bool): return the positions of the maxima, too; only for ``max``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("adaptive_pool2d", locals())


def adaptive_pool3d(
    input: Variable, pool_size: Union[int, Sequence[Any]], pool_type: str = 'max', require_index: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """`adaptive_pool2d` of volumes ``[batch, channels, depth, height, width]``.

    Args:
        input (Variable): the input.
        pool_size (int or list): sizes of the result: one number for all dimensions, or one each.
        pool_type (str): ``max`` or ``avg``.
        require_index (bool): return the positions of the maxima, too; only for ``max``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("adaptive_pool3d", locals())


def add_position_encoding(input: Variable, alpha: float, beta: float, name: Optional[str] = None) -> Variable:
    """`alpha * input + beta * position`.

    Args:
        input (Variable): sequences x positions x D, or positions x D with LoD; D even.
        alpha (float): factor of `X`.
        beta (float): factor of the encoding.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("add_position_encoding", locals())


def addmm(
    input: Variable, x: Variable, y: Variable, alpha: float = 1.0, beta: float = 1.0, name: Optional[str] = None,
) -> Variable:
    """`beta * input + alpha * x * y`.

    Args:
        input (Variable): float, broadcast to [m, n].
        x (Variable): float, [m, k].
        y (Variable): float, [k, n].
        alpha (float): factor of the product.
        beta (float): factor of `Input`.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("addmm", locals())


def affine_channel(
    x: Variable, scale: Optional[Variable] = None, bias: Optional[Variable] = None, data_layout: str = 'NCHW',
    name: Optional[str] = None, act: Optional[str] = None,
) -> Variable:
    """``x * scale + bias`` with one scale and one bias per channel, given as variables.

    Args:
        x (Variable): [n, channels, ...] or [n, ..., channels], f32 or f64.
        scale (Variable): [channels].
        bias (Variable): [channels].
        data_layout (str): where the channels are: ``NCHW`` or ``NHWC``.
        name (str): prefix of the names of its variables.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: the result.
    """
    return layer("affine_channel", locals())


def affine_grid(theta: Variable, out_shape: Union[Sequence[Any], Variable], name: Optional[str] = None) -> Variable:
    """The points to which affine maps ``theta`` lead the pixels of images of size ``out_shape``.

    Args:
        theta (Variable): [n, 2, 3], f32 or f64.
        out_shape (list or Variable): ``[batch, channels, height, width]`` of the image to sample.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("affine_grid", locals())


def autoincreased_step_counter(counter_name: Optional[str] = None, begin: int = 1, step: int = 1) -> Variable:
    """A counter that grows by ``step`` at the start of every run and is ``begin`` in the first one. ``None`` names it
    ``@STEP_COUNTER@``.

    Args:
        counter_name (str): ``None``: ``@STEP_COUNTER@``.
        begin (int): the value in the first run.
        step (int): the increase per run.

    Returns:
        Variable: the result.
    """
    return layer("autoincreased_step_counter", locals())


def batch_norm(
    input: Variable, act: Optional[str] = None, is_test: bool = False, momentum: float = 0.9, epsilon: float = 1e-05,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, data_layout: str = 'NCHW',
    in_place: bool = False, name: Optional[str] = None, moving_mean_name: Optional[str] = None,
    moving_variance_name: Optional[str] = None, do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Variable:
    """Normalizes each channel to mean 0 and variance 1 over the batch, then multiplies by a learnt scale and adds a learnt
    shift. A test program uses the moving mean and variance instead.

    Args:
        input (Variable): ``[batch, channels, ...]``, or channels last by ``data_layout``.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        is_test (bool): use the running statistics, and leave them alone.
        momentum (float): share of the old value when the moving mean and variance are updated.
        epsilon (float): added to the variance.
        param_attr (ParamAttr): of scale and shift.
        bias_attr (ParamAttr): of scale and shift.
        data_layout (str): where the channels are: ``NCHW`` or ``NHWC``.
        in_place (bool): write the result over the input.
        name (str): prefix of the names of its variables.
        moving_mean_name (str): names of the moving statistics.
        moving_variance_name (str): names of the moving statistics.
        do_model_average_for_mean_and_var (bool): running statistics take part in `ModelAverage`.
        use_global_stats (bool): use the moving statistics in training, too.

    Returns:
        Variable: the shape of ``input``.

    Example:
        >>> image = fluid.data("image", [None, 3, 8, 8])
        >>> fluid.layers.batch_norm(image, act="relu").shape
        (-1, 3, 8, 8)
    """
    return layer("batch_norm", locals())


def bilinear_tensor_product(
    x: Variable, y: Variable, size: int, act: Optional[str] = None, name: Optional[str] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
) -> Variable:
    """`size` bilinear forms of `x` and `y`.

    Args:
        x (Variable): [batch, m].
        y (Variable): [batch, n].
        size (int): columns of the result.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        bias_attr (ParamAttr): the same of the bias; ``False``: no bias.

    Returns:
        Variable: the result.
    """
    return layer("bilinear_tensor_product", locals())


def bmm(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """The product of two batches of matrices: ``[batch, n, k]`` and ``[batch, k, m]`` give ``[batch, n, m]``.

    Args:
        x (Variable): float, [batch, m, k].
        y (Variable): float, [batch, k, n].
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("bmm", locals())


def brelu(x: Variable, t_min: float = 0.0, t_max: float = 24.0, name: Optional[str] = None) -> Variable:
    """``min(max(x, t_min), t_max)``, element by element.

    Args:
        x (Variable): f32 or f64.
        t_min (float): lower bound.
        t_max (float): upper bound.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("brelu", locals())


def chunk_eval(
    input: Variable, label: Variable, chunk_scheme: str, num_chunk_types: int,
    excluded_chunk_types: Optional[Union[int, Sequence[Any]]] = None, seq_length: Optional[Variable] = None,
) -> Variable:
    """Precision, recall and F1 of the chunks that tags mark.

    Args:
        input (Variable): the input.
        label (Variable): i64, the true tags.
        chunk_scheme (str): `IOB`, `IOE`, `IOBES` or `plain`.
        num_chunk_types (int): how many types of chunks there are.
        excluded_chunk_types (int or list): types that do not count.
        seq_length (Variable): steps of each sequence of a padded input.

    Returns:
        Variable: the result.
    """
    return layer("chunk_eval", locals())


def clip(x: Variable, min: float, max: float, name: Optional[str] = None) -> Variable:
    """Limits each element to ``[min, max]``.

    Args:
        x (Variable): a tensor or selected rows.
        min (float): lower bound (must be set).
        max (float): upper bound (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.5, 9], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.clip(x, -1.0, 1.0)])[0].tolist()
        [-1.0, 0.5, 1.0]
    """
    return layer("clip", locals())


def clip_by_norm(x: Variable, max_norm: float, name: Optional[str] = None) -> Variable:
    """Scales ``x`` down so that its L2 norm is at most ``max_norm``.

    Args:
        x (Variable): a tensor or selected rows.
        max_norm (float): the largest norm (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("clip_by_norm", locals())


def continuous_value_model(input: Variable, cvm: Variable, use_cvm: bool = True) -> Variable:
    """Embeddings whose first two columns are shows and clicks: as logarithms, or removed without ``use_cvm``.

    Args:
        input (Variable): the input.
        cvm (Variable): shows and clicks, ``[batch, 2]``.
        use_cvm (bool): keep the first two columns as logarithms; otherwise remove them.

    Returns:
        Variable: the result.
    """
    return layer("continuous_value_model", locals())


def conv2d(
    input: Variable, num_filters: int, filter_size: Union[int, Sequence[Any]], stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any], str] = 0, dilation: Union[int, Sequence[Any]] = 1,
    groups: Optional[int] = None, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[Union[ParamLike, bool]] = None, use_cudnn: bool = True, act: Optional[str] = None,
    name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """A 2-D convolution, with bias and activation.

    Args:
        input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
        num_filters (int): channels of the result.
        filter_size (int or list): ``[vertical, horizontal]`` or one number for both.
        stride (int or list): ``[vertical, horizontal]`` or one number for both.
        padding (int, list or str): pixels around the image, or ``"SAME"`` or ``"VALID"``.
        dilation (int or list): ``[vertical, horizontal]`` or one number for both.
        groups (int): channels are convolved in this number of groups.
        param_attr (ParamAttr): name, initializer, regularizer of the weight.
        bias_attr (ParamAttr or False): the same of the bias; ``False``: no bias.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: ``[batch, num_filters, H, W]`` with ``H = (height + 2 * padding - dilation * (filter_size - 1) - 1) //
            stride + 1``.

    Example:
        >>> image = fluid.data("image", [None, 3, 32, 32])
        >>> fluid.layers.conv2d(image, 16, 3, padding=1, act="relu").shape
        (-1, 16, 32, 32)
    """
    return layer("conv2d", locals())


def conv2d_transpose(
    input: Variable, num_filters: int, output_size: Optional[Union[int, Sequence[Any]]] = None,
    filter_size: Optional[Union[int, Sequence[Any]]] = None, padding: Union[int, Sequence[Any], str] = 0,
    stride: Union[int, Sequence[Any]] = 1, dilation: Union[int, Sequence[Any]] = 1, groups: Optional[int] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_cudnn: bool = True,
    act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """The transpose of a 2-D convolution: it makes images larger. ``output_size`` or ``filter_size`` must be given; other
    arguments as in `conv2d`.

    Args:
        input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
        num_filters (int): channels of the result.
        output_size (int or list): size of the result.
        filter_size (int or list): size of the filter; without it, the size that gives `output_size`.
        padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
        stride (int or list): steps of the filter.
        dilation (int or list): distances between the filter's elements.
        groups (int): channels are cut into so many groups that do not see each other.
        param_attr (ParamAttr): the filters.
        bias_attr (ParamAttr): the bias, one per channel.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): activation.
        name (str): prefix of the names of its variables.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.

    Example:
        >>> image = fluid.data("image", [None, 3, 16, 16])
        >>> fluid.layers.conv2d_transpose(image, 8, filter_size=2, stride=2).shape
        (-1, 8, 32, 32)
    """
    return layer("conv2d_transpose", locals())


def conv3d(
    input: Variable, num_filters: int, filter_size: Union[int, Sequence[Any]], stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any], str] = 0, dilation: Union[int, Sequence[Any]] = 1,
    groups: Optional[int] = None, param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    use_cudnn: bool = True, act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCDHW',
) -> Variable:
    """A 3-D convolution of ``[batch, channels, depth, height, width]``; arguments as in `conv2d`.

    Args:
        input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
        num_filters (int): channels of the result.
        filter_size (int or list): size of the filter.
        stride (int or list): steps of the filter.
        padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
        dilation (int or list): distances between the filter's elements.
        groups (int): channels are cut into so many groups that do not see each other.
        param_attr (ParamAttr): the filters.
        bias_attr (ParamAttr): the bias, one per channel.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): activation.
        name (str): prefix of the names of its variables.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("conv3d", locals())


def conv3d_transpose(
    input: Variable, num_filters: int, output_size: Optional[Union[int, Sequence[Any]]] = None,
    filter_size: Optional[Union[int, Sequence[Any]]] = None, padding: Union[int, Sequence[Any], str] = 0,
    stride: Union[int, Sequence[Any]] = 1, dilation: Union[int, Sequence[Any]] = 1, groups: Optional[int] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_cudnn: bool = True,
    act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCDHW',
) -> Variable:
    """The transpose of a 3-D convolution; arguments as in `conv2d_transpose`.

    Args:
        input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
        num_filters (int): channels of the result.
        output_size (int or list): size of the result.
        filter_size (int or list): size of the filter; without it, the size that gives `output_size`.
        padding (int, list or str): zeros around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
        stride (int or list): steps of the filter.
        dilation (int or list): distances between the filter's elements.
        groups (int): channels are cut into so many groups that do not see each other.
        param_attr (ParamAttr): the filters.
        bias_attr (ParamAttr): the bias, one per channel.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): activation.
        name (str): prefix of the names of its variables.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("conv3d_transpose", locals())


def cos_sim(X: Variable, Y: Variable) -> Variable:
    """The cosine of the angle between the rows of ``X`` and ``Y``, ``[batch, 1]``; ``Y`` may have one row.

    Args:
        X (Variable): [n, ...].
        Y (Variable): like `X`, or one row for all.

    Returns:
        Variable: the result.
    """
    return layer("cos_sim", locals())


def crf_decoding(
    input: Variable, param_attr: ParamLike, label: Optional[Variable] = None, length: Optional[Variable] = None,
) -> Variable:
    """The most likely tags (Viterbi) by the transitions that `linear_chain_crf` made, which has the same ``param_attr``.
    With a label: 1 where the tag is right, else 0.

    Args:
        input (Variable): the input.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        label (Variable): the true classes.
        length (Variable): ``[batch]``, int64: for padded input without LoD.

    Returns:
        Variable: the result.
    """
    return layer("crf_decoding", locals())


def crop(
    x: Variable, shape: Optional[Union[int, Sequence[Any]]] = None,
    offsets: Optional[Union[int, Sequence[Any]]] = None, name: Optional[str] = None,
) -> Variable:
    """A part of a tensor of size ``shape`` that begins at ``offsets``.

    Args:
        x (Variable): any tensor.
        shape (int or list): its sizes; a first one of -1 keeps that of `X`.
        offsets (int or list): where the part starts along each axis.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("crop", locals())


def crop_tensor(
    x: Variable, shape: Optional[Union[Sequence[Any], Variable]] = None,
    offsets: Optional[Union[Sequence[Any], Variable]] = None, name: Optional[str] = None,
) -> Variable:
    """A part of a tensor of size ``shape`` that begins at ``offsets``; -1 in ``shape`` means all the rest.

    Args:
        x (Variable): any tensor.
        shape (list or Variable): its sizes; -1 stands for all that follows.
        offsets (list or Variable): where the part starts along each axis; -1 stands for one that is computed.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("crop_tensor", locals())


def ctc_greedy_decoder(
    input: Variable, blank: int, input_length: Optional[Variable] = None, padding_value: int = 0,
    name: Optional[str] = None,
) -> Variable:
    """The most likely class of each step, without repetitions and blanks.

    Args:
        input (Variable): the input.
        blank (int): the class that stands for no symbol.
        input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
        padding_value (int): fills the result behind a sequence.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("ctc_greedy_decoder", locals())


def data_norm(
    input: Variable, act: Optional[str] = None, epsilon: float = 1e-05,
    param_attr: Optional[Mapping[str, Any]] = None, data_layout: str = 'NCHW', in_place: bool = False,
    name: Optional[str] = None, moving_mean_name: Optional[str] = None, moving_variance_name: Optional[str] = None,
    do_model_average_for_mean_and_var: bool = True, slot_dim: int = -1, sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999, enable_scale_and_shift: bool = False,
) -> Variable:
    """Normalizes each column by sums and squared sums that are collected over the whole training.

    Args:
        input (Variable): matrix.
        act (str): activation.
        epsilon (float): added to sums of squares.
        param_attr (dict): name, initializer and regularizer of the weight.
        data_layout (str): where the channels are: ``NCHW`` or ``NHWC``.
        in_place (bool): accepted.
        name (str): prefix of the names of its variables.
        moving_mean_name (str): accepted.
        moving_variance_name (str): accepted.
        do_model_average_for_mean_and_var (bool): accepted.
        slot_dim (int): width of a slot whose first element says whether it is there; negative for none.
        sync_stats (bool): carried along for saved programs.
        summary_decay_rate (float): how much of the sums stays.
        enable_scale_and_shift (bool): use `scale_w` and `bias`.

    Returns:
        Variable: the result.
    """
    return layer("data_norm", locals())


def diag_embed(input: Variable, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Variable:
    """Matrices with the last dimension of ``input`` on a diagonal; ``dim1`` and ``dim2`` are the dimensions of rows and
    columns.

    Args:
        input (Variable): [..., n], any dtype.
        offset (int): how far above the main diagonal; below if negative.
        dim1 (int): the axis of rows; negative ones count from the end.
        dim2 (int): the axis of columns.

    Returns:
        Variable: the result.
    """
    return layer("diag_embed", locals())


def dice_loss(input: Variable, label: Variable, epsilon: float = 1e-05, name: Optional[str] = None) -> Variable:
    """The Dice loss, 1 minus the overlap of prediction and label, ``[1]``.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.
        epsilon (float): keeps divisions finite.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("dice_loss", locals())


def dot(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """The inner product of vectors ``[n]``, or of the rows of two matrices.

    Args:
        x (Variable): numbers, [n] or [batch, n].
        y (Variable): of the same dtype and shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("dot", locals())


def dropout(
    x: Variable, dropout_prob: float, is_test: bool = False, seed: Optional[int] = None, name: Optional[str] = None,
    dropout_implementation: str = 'downgrade_in_infer',
) -> Variable:
    """Sets elements to zero at random in training.

    Args:
        x (Variable): any float tensor.
        dropout_prob (float): the probability of zero.
        is_test (bool): do not drop; ``clone(for_test=True)`` sets it.
        seed (int): of the random numbers; ``None``: other ones in every run.
        name (str): prefix of the names of its variables.
        dropout_implementation (str): ``downgrade_in_infer`` multiplies by ``1 - dropout_prob`` in tests, ``upscale_in_train``.
            divides by
            it in training.

    Returns:
        Variable: the shape of ``x``.

    Example:
        >>> x = fluid.data("x", [None, 32])
        >>> fluid.layers.dropout(x, 0.5, dropout_implementation="upscale_in_train").shape
        (-1, 32)
    """
    return layer("dropout", locals())


def elementwise_add(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``x + y``, element by element.

    Args:
        x (Variable): the first operand; the result has its shape.
        y (Variable): the same shape, or the sizes of consecutive dimensions of ``x``, from dimension ``axis`` on.
        axis (int): where the dimensions of ``y`` begin in ``x``; -1: at the end.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([10, 20], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y, axis=0)])[0].tolist()
        [[11.0, 12.0], [23.0, 24.0]]
    """
    return layer("elementwise_add", locals())


def elementwise_div(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``x / y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_div", locals())


def elementwise_floordiv(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """The quotient of integers, rounded down; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_floordiv", locals())


def elementwise_max(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """The larger of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_max", locals())


def elementwise_min(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """The smaller of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_min", locals())


def elementwise_mod(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """The remainder of integers, with the sign of ``y``; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_mod", locals())


def elementwise_mul(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``x * y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_mul", locals())


def elementwise_pow(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``x`` to the power of ``y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_pow", locals())


def elementwise_sub(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``x - y``, element by element; ``axis`` as in `elementwise_add`.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; its sizes are those of `X` from `axis` on, or 1.
        axis (int): the dimension of `x` where the dimensions of `y` begin; -1: both end together.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elementwise_sub", locals())


def elu(x: Variable, alpha: float = 1.0, name: Optional[str] = None) -> Variable:
    """`x` where positive, else `alpha * (exp(x) - 1)`.

    Args:
        x (Variable): f32 or f64.
        alpha (float): depth below 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("elu", locals())


def embedding(
    input: Variable, size: Sequence[Any], is_sparse: bool = False, is_distributed: bool = False,
    padding_idx: Optional[int] = None, param_attr: Optional[ParamLike] = None, dtype: str = 'float32', *,
    entry: Optional[str] = None, evict: Optional[str] = None,
) -> Variable:
    """Looks up rows of a weight matrix by id. ``fluid.embedding`` is the same for ids without the last dimension of 1.

    Args:
        input (Variable): ids, int64 ``[..., 1]``.
        size (list): ``[rows, width]`` of the table.
        is_sparse (bool): the gradient holds only the rows that were looked up.
        is_distributed (bool): a hashed table: any int64 is an id, rows are made on first use and live on parameter servers.
        padding_idx (int): this id reads as zeros and is not trained; a negative one counts from the last row.
        param_attr (ParamAttr): name, initializer, regularizer of the table; two layers with one name share it.
        dtype (str): the element type.
        entry (str): ``paddle.distributed.CountFilterEntry`` or another rule of admission to a hashed table (not in Fluid).
        evict (str): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction`` of a hashed table (not in Fluid).

    Returns:
        Variable: ``[..., width]``.

    Example:
        >>> ids = fluid.data("ids", [None, 1], "int64")
        >>> fluid.layers.embedding(ids, [1000, 8], is_sparse=True).shape
        (-1, 8)
    """
    return layer("embedding", locals())


def expand(x: Variable, expand_times: Union[Sequence[Any], Variable], name: Optional[str] = None) -> Variable:
    """Repeats a tensor ``expand_times[i]`` times along dimension ``i``.

    Args:
        x (Variable): any tensor.
        expand_times (list or Variable): how often, along each axis.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.expand(fluid.data("x", [2, 3]), [1, 2]).shape
        (2, 6)
    """
    return layer("expand", locals())


def expand_as(x: Variable, target_tensor: Variable, name: Optional[str] = None) -> Variable:
    """Repeats ``x`` along each dimension until it has the sizes of ``target_tensor``.

    Args:
        x (Variable): any tensor.
        target_tensor (Variable): its sizes are multiples of those of `X`.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("expand_as", locals())


def fc(
    input: Union[Variable, Sequence[Variable]], size: int, num_flatten_dims: int = 1,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[Union[ParamLike, bool]] = None,
    act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """A fully connected layer: ``act(input @ W + b)``. With a list of inputs every input has a weight, and the products are
    summed.

    Args:
        input (Variable or list): ``[batch, d1, d2, ...]``.
        size (int): columns of the result.
        num_flatten_dims (int): the first ``num_flatten_dims`` dimensions are kept, the others become the columns of a matrix.
        param_attr (ParamAttr): name, initializer, regularizer of the weight.
        bias_attr (ParamAttr or False): the same of the bias; ``False``: no bias.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, size]``, or the kept dimensions and ``size``.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> fluid.layers.fc(x, 10, act="relu").shape
        (-1, 10)
    """
    return layer("fc", locals())


def filter_by_instag(
    ins: Variable, ins_tag: Variable, filter_tag: Variable, is_lod: bool, out_val_if_empty: int = 0,
) -> Variable:
    """The instances that have a wanted tag, and the weight of each in a loss.

    Args:
        ins (Variable): instances: sequences if is_lod, else rows.
        ins_tag (Variable): i64 tags, a sequence per instance.
        filter_tag (Variable): i64 tags to keep.
        is_lod (bool): instances are sequences of `Ins` (must be set).
        out_val_if_empty (int): what `Out` holds if no instance is kept.

    Returns:
        Variable: the result.
    """
    return layer("filter_by_instag", locals())


def flatten(x: Variable, axis: int = 1, name: Optional[str] = None) -> Variable:
    """A matrix: dimensions before ``axis`` become its rows, the others its columns.

    Args:
        x (Variable): any tensor.
        axis (int): axes before this one make rows, the others columns.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.flatten(fluid.data("x", [4, 2, 3]), axis=1).shape
        (4, 6)
    """
    return layer("flatten", locals())


def flip(input: Variable, dims: Union[int, Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Reverses the order of elements along ``dims``.

    Args:
        input (Variable): any tensor.
        dims (int or list): the axes; negative ones count from the end (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("flip", locals())


def fsp_matrix(x: Variable, y: Variable) -> Variable:
    """Inner products of the channels of two feature maps, divided by the number of pixels: ``[batch, channels of x, channels
    of y]``.

    Args:
        x (Variable): the input.
        y (Variable): the second operand.

    Returns:
        Variable: the result.
    """
    return layer("fsp_matrix", locals())


def full_like(
    input: Variable, fill_value: float, out: Optional[Variable] = None, dtype: Optional[str] = None,
    device: Optional[str] = None, stop_gradient: bool = True, name: Optional[str] = None,
) -> Variable:
    """A tensor with the shape of ``input`` and every element ``fill_value``.

    Args:
        input (Variable): the input.
        fill_value (float): the value of all elements.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        dtype (str): the element type.
        device (str): accepted; values are always on the CPU.
        stop_gradient (bool): no gradient flows through the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("full_like", locals())


def gather(input: Variable, index: Variable, overwrite: bool = True) -> Variable:
    """The rows of ``input`` whose numbers are in ``index``.

    Args:
        input (Variable): any tensor.
        index (Variable): i32 or i64, [n] or [n, 1].
        overwrite (bool): in the gradient, the last of several uses of a row wins; false: they are summed.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
        >>> rows = fluid.layers.gather(x, fluid.layers.assign(np.array([2, 0], "int32")))
        >>> fluid.Executor().run(fetch_list=[rows])[0].tolist()
        [[3.0], [1.0]]
    """
    return layer("gather", locals())


def gather_nd(input: Variable, index: Variable, name: Optional[str] = None) -> Variable:
    """The slices of ``input`` at the indices in the last dimension of ``index``.

    Args:
        input (Variable): any tensor.
        index (Variable): i32 or i64, [..., k]: indices along the first k axes of `X`.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("gather_nd", locals())


def gather_tree(ids: Variable, parents: Variable) -> Variable:
    """Whole sequences out of the steps of a beam search of fixed width, `[steps, batch, beams]`.

    Args:
        ids (Variable): i32 or i64 [steps, batch, beams].
        parents (Variable): like `Ids`: the beam of the step before that each continues.

    Returns:
        Variable: the result.
    """
    return layer("gather_tree", locals())


def gaussian_random(
    shape: Union[Sequence[Any], Variable], mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: str = 'float32',
) -> Variable:
    """A tensor of normally distributed random numbers. ``seed`` 0 takes the program's seed.

    Args:
        shape (list or Variable): the sizes.
        mean (float): middle of the distribution.
        std (float): its standard deviation.
        seed (int): start of the sequence; 0 for another one in every run.
        dtype (str): element type of `Out`: f32 or f64.

    Returns:
        Variable: the result.
    """
    return layer("gaussian_random", locals())


def gaussian_random_batch_size_like(
    input: Variable, shape: Union[int, Sequence[Any]], input_dim_idx: int = 0, output_dim_idx: int = 0,
    mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: str = 'float32',
) -> Variable:
    """`gaussian_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``.

    Args:
        input (Variable): the tensor that gives the size.
        shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
        input_dim_idx (int): which size of `Input` to take.
        output_dim_idx (int): which size of `Out` it becomes.
        mean (float): middle of the distribution.
        std (float): its standard deviation.
        seed (int): start of the sequence; 0 for another one in every run.
        dtype (str): element type of `Out`: f32 or f64.

    Returns:
        Variable: the result.
    """
    return layer("gaussian_random_batch_size_like", locals())


def get_tensor_from_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """The values of a SelectedRows variable as a dense tensor, one row per listed row.

    Args:
        x (Variable): row-sparse.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("get_tensor_from_selected_rows", locals())


def grid_sampler(x: Variable, grid: Variable, name: Optional[str] = None) -> Variable:
    """Pixels of images at the points of ``grid``, by bilinear interpolation.

    Args:
        x (Variable): [n, channels, h, w], f32 or f64.
        grid (Variable): [n, h, w, 2]: horizontal and vertical place, from -1 to 1 over the image.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("grid_sampler", locals())


def group_norm(
    input: Variable, groups: int, epsilon: float = 1e-05, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, act: Optional[str] = None, data_layout: str = 'NCHW',
    name: Optional[str] = None,
) -> Variable:
    """Normalizes groups of channels of each sample, then multiplies by a learnt scale and adds a learnt shift.

    Args:
        input (Variable): [n, channels, ...] or [n, ..., channels], f32 or f64.
        groups (int): channels are normalised in so many groups.
        epsilon (float): added to variances.
        param_attr (ParamAttr): the factor of each channel; by default there is none.
        bias_attr (ParamAttr): what is added to each channel; by default there is nothing.
        act (str): activation.
        data_layout (str): where the channels are: ``NCHW`` or ``NHWC``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("group_norm", locals())


def hard_sigmoid(x: Variable, slope: float = 0.2, offset: float = 0.5, name: Optional[str] = None) -> Variable:
    """``min(max(slope * x + offset, 0), 1)``, element by element.

    Args:
        x (Variable): f32 or f64.
        slope (float): slope between the bounds.
        offset (float): value at 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("hard_sigmoid", locals())


def hard_swish(
    x: Variable, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: Optional[str] = None,
) -> Variable:
    """`x * min(max(x + offset, 0), threshold) / scale`.

    Args:
        x (Variable): f32 or f64.
        threshold (float): end of the ramp.
        scale (float): divides the output.
        offset (float): added to `X` before the ramp.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("hard_swish", locals())


def hash(input: Variable, hash_size: int, num_hash: int = 1, name: Optional[str] = None) -> Variable:
    """Rows of ids as `num_hash` numbers below `hash_size`.

    Args:
        input (Variable): i32 or i64; the last dimension is hashed as a whole.
        hash_size (int): hashes lie in ``[0, hash_size)``.
        num_hash (int): how many hashes of each row, with seeds 0, 1, ...
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("hash", locals())


def im2sequence(
    input: Variable, filter_size: Union[int, Sequence[Any]] = 1, stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any]] = 0, input_image_size: Optional[Variable] = None,
    out_stride: Union[int, Sequence[Any]] = 1, name: Optional[str] = None,
) -> Variable:
    """Images as sequences of windows.

    Args:
        input (Variable): images: batch, channels, height, width.
        filter_size (int or list): height and width of a window.
        stride (int or list): steps of the window, down and across.
        padding (int or list): zeros around the image: one number, two for the axes, or up, left, down, right.
        input_image_size (Variable): height and width of each image as it was.
        out_stride (int or list): how much smaller images became, down and across.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("im2sequence", locals())


def image_resize(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None, resample: str = 'BILINEAR',
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCHW',
) -> Variable:
    """Resizes images by ``resample``: ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``, to ``out_shape`` or by the factor
    ``scale``.

    Args:
        input (Variable): the input.
        out_shape (list or Variable): sizes of the result.
        scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
        name (str): prefix of the names of its variables.
        resample (str): ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``.
        actual_shape (Variable): sizes of the result that are computed; they replace the others.
        align_corners (bool): first and last pixels stay where they are.
        align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("image_resize", locals())


def image_resize_short(input: Variable, out_short_len: int, resample: str = 'BILINEAR') -> Variable:
    """The shorter side gets this length, the other keeps its proportion.

    Args:
        input (Variable): the input.
        out_short_len (int): the shorter side of the result; the longer one keeps the ratio.
        resample (str): ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``.

    Returns:
        Variable: the result.
    """
    return layer("image_resize_short", locals())


def index_select(input: Variable, index: Variable, dim: int = 0) -> Variable:
    """The slices ``index`` of dimension ``dim``.

    Args:
        input (Variable): any tensor.
        index (Variable): [k] or [k, 1], i32 or i64.
        dim (int): the axis; negative ones count from the end.

    Returns:
        Variable: the result.
    """
    return layer("index_select", locals())


def instance_norm(
    input: Variable, epsilon: float = 1e-05, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, name: Optional[str] = None,
) -> Variable:
    """Normalizes each channel of each sample, then multiplies by a learnt scale and adds a learnt shift.

    Args:
        input (Variable): [n, channels, ...], f32 or f64.
        epsilon (float): added to the variance.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        bias_attr (ParamAttr): the same of the bias; ``False``: no bias.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("instance_norm", locals())


def kron(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """The Kronecker product of ``x`` and ``y``: every element of ``x`` times the whole of ``y``.

    Args:
        x (Variable): any tensor of numbers.
        y (Variable): of the same dtype; the shorter shape gets axes of size 1 in front.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("kron", locals())


def l2_normalize(x: Variable, axis: int, epsilon: float = 1e-12, name: Optional[str] = None) -> Variable:
    """Divides vectors along ``axis`` by their L2 norm.

    Args:
        x (Variable): the input.
        axis (int): the dimension.
        epsilon (float): keeps divisions finite.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("l2_normalize", locals())


def label_smooth(
    label: Variable, prior_dist: Optional[Variable] = None, epsilon: float = 0.1, dtype: str = 'float32',
    name: Optional[str] = None,
) -> Variable:
    """One-hot labels ``[batch, classes]`` mixed with ``prior_dist``, a uniform distribution where ``None``: ``(1 - epsilon)
    * label + epsilon * prior``.

    Args:
        label (Variable): the true classes.
        prior_dist (Variable): the distribution to mix in, ``[1, classes]``; ``None``: the uniform one.
        epsilon (float): weight of the prior.
        dtype (str): the element type.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("label_smooth", locals())


def layer_norm(
    input: Variable, scale: bool = True, shift: bool = True, begin_norm_axis: int = 1, epsilon: float = 1e-05,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, act: Optional[str] = None,
    name: Optional[str] = None,
) -> Variable:
    """Normalizes each sample to mean 0 and variance 1 over the dimensions from ``begin_norm_axis`` on; with learnt ``scale``
    and ``shift``.

    Args:
        input (Variable): f32 or f64.
        scale (bool): with a factor for each element.
        shift (bool): with something added to each element.
        begin_norm_axis (int): the first dimension that is normalised.
        epsilon (float): added to variances.
        param_attr (ParamAttr): the factors.
        bias_attr (ParamAttr): what is added.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [None, 64])
        >>> fluid.layers.layer_norm(x).shape
        (-1, 64)
    """
    return layer("layer_norm", locals())


def leaky_relu(x: Variable, alpha: float = 0.02, name: Optional[str] = None) -> Variable:
    """`x` where positive, else `alpha * x`.

    Args:
        x (Variable): f32 or f64.
        alpha (float): slope below 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("leaky_relu", locals())


def linear_chain_crf(
    input: Variable, label: Variable, param_attr: Optional[ParamLike] = None, length: Optional[Variable] = None,
) -> Variable:
    """The cost of tag sequences; `length` holds the steps of each sequence of a padded input.

    Args:
        input (Variable): the input.
        label (Variable): i64, the tag of each row.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        length (Variable): ``[batch]``, int64: for padded input without LoD.

    Returns:
        Variable: the result.
    """
    return layer("linear_chain_crf", locals())


def log(x: Variable, name: Optional[str] = None) -> Variable:
    """The natural logarithm, element by element. The argument must be positive; otherwise the result is nan or minus
    infinity.

    Args:
        x (Variable): f32 or f64.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("log", locals())


def log1p(x: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """`log(1 + x)`

    Args:
        x (Variable): f32 or f64.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("log1p", locals())


def log_loss(input: Variable, label: Variable, epsilon: float = 0.0001, name: Optional[str] = None) -> Variable:
    """The negative log likelihood of labels 0 or 1: ``input`` holds probabilities ``[batch, 1]``.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.
        epsilon (float): added to arguments of logarithms (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("log_loss", locals())


def log_softmax(
    input: Variable, axis: Optional[int] = None, dtype: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """The logarithm of the softmax along ``axis`` (the last dimension where ``None``), computed in ``dtype`` if given.

    Args:
        input (Variable): the input.
        axis (int): the dimension.
        dtype (str): the element type.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("log_softmax", locals())


def logical_and(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """``x and y``, element by element, of bool tensors.

    Args:
        x (Variable): a bool tensor.
        y (Variable): a bool tensor of the same shape.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("logical_and", locals())


def logical_not(x: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """``not x``, element by element, of a bool tensor.

    Args:
        x (Variable): a bool tensor.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("logical_not", locals())


def logical_or(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """``x or y``, element by element, of bool tensors.

    Args:
        x (Variable): a bool tensor.
        y (Variable): a bool tensor of the same shape.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("logical_or", locals())


def logical_xor(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """True where exactly one of ``x`` and ``y`` is true, element by element.

    Args:
        x (Variable): a bool tensor.
        y (Variable): a bool tensor of the same shape.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("logical_xor", locals())


def lrn(
    input: Variable, n: int = 5, k: float = 1.0, alpha: float = 0.0001, beta: float = 0.75,
    name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """Local response normalization: divides by the squared sum over ``n`` neighbouring channels.

    Args:
        input (Variable): images of four sizes, f32 or f64.
        n (int): how many channels are neighbours, the element's own included; odd.
        k (float): the least divisor, before `beta`.
        alpha (float): the weight of squares.
        beta (float): the exponent.
        name (str): prefix of the names of its variables.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("lrn", locals())


def matmul(
    x: Variable, y: Variable, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0,
    name: Optional[str] = None,
) -> Variable:
    """The product of matrices, or of batches of matrices, as ``numpy.matmul``.

    Args:
        x (Variable): ``[..., n, k]`` and ``[..., k, m]``.
        y (Variable): ``[..., n, k]`` and ``[..., k, m]``.
        transpose_x (bool): exchange the last two dimensions first.
        transpose_y (bool): exchange the last two dimensions first.
        alpha (float): a factor of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[..., n, m]``.

    Example:
        >>> x, y = fluid.data("x", [8, 2, 3]), fluid.data("y", [8, 4, 3])
        >>> fluid.layers.matmul(x, y, transpose_y=True).shape
        (8, 2, 4)
    """
    return layer("matmul", locals())


def maxout(x: Variable, groups: int, name: Optional[str] = None, axis: int = 1) -> Variable:
    """The largest element of each group of ``groups`` channels; ``axis`` is the dimension of the channels.

    Args:
        x (Variable): images of four sizes.
        groups (int): how many channels are compared (must be set).
        name (str): prefix of the names of its variables.
        axis (int): the axis of the channels.

    Returns:
        Variable: the result.
    """
    return layer("maxout", locals())


def mean(x: Variable, name: Optional[str] = None) -> Variable:
    """The mean of all elements.

    Args:
        x (Variable): any float tensor.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[1]``; usually the loss that an optimizer minimizes.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.mean(x)])[0].tolist()
        [3.0]
    """
    return layer("mean", locals())


def mean_iou(input: Variable, label: Variable, num_classes: int) -> Variable:
    """The mean over classes of intersection over union; also the wrong and the correct predictions of each class.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.
        num_classes (int): how many classes there are (must be set).

    Returns:
        Variable: the result.
    """
    return layer("mean_iou", locals())


def merge_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """A SelectedRows variable in which every row occurs once: values of duplicate rows are summed.

    Args:
        x (Variable): row-sparse.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("merge_selected_rows", locals())


def meshgrid(input: Union[Variable, Sequence[Variable]], name: Optional[str] = None) -> Variable:
    """Coordinates of a grid: for ``n`` vectors, ``n`` tensors of ``n`` dimensions.

    Args:
        input (Variable or list): lists, [n] each.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("meshgrid", locals())


def mish(x: Variable, threshold: float = 20, name: Optional[str] = None) -> Variable:
    """`x * tanh(softplus(x))`.

    Args:
        x (Variable): f32 or f64.
        threshold (float): beyond it softplus is taken for its asymptote.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("mish", locals())


def mul(
    x: Variable, y: Variable, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: Optional[str] = None,
) -> Variable:
    """The product of two matrices. Tensors are flattened to matrices: the first ``x_num_col_dims`` (``y_num_col_dims``)
    dimensions are the rows, the others the columns.

    Args:
        x (Variable): any float tensor.
        y (Variable): with as many rows as `X` has columns.
        x_num_col_dims (int): the number of axes of `X` that make its rows; the others make its columns.
        y_num_col_dims (int): the number of axes of `Y` that make its rows; the others make its columns.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> w = fluid.layers.create_parameter([13, 4], "float32")
        >>> fluid.layers.mul(x, w).shape
        (-1, 4)
    """
    return layer("mul", locals())


def multiplex(inputs: Union[Variable, Sequence[Variable]], index: Variable) -> Variable:
    """Row ``i`` of the result is row ``i`` of the input with number ``index[i]``.

    Args:
        inputs (Variable or list): tensors of one shape, ``[batch, ...]``.
        index (Variable): ``[batch, 1]``, int32 or int64: from which input each row comes.

    Returns:
        Variable: the result.
    """
    return layer("multiplex", locals())


def one_hot(input: Variable, depth: int, allow_out_of_range: bool = False) -> Variable:
    """Vectors with a one at the position of the id.

    Args:
        input (Variable): ids, int64 ``[..., 1]``.
        depth (int): the length of the vectors.
        allow_out_of_range (bool): an id outside of ``[0, depth)`` gives zeros instead of an error.

    Returns:
        Variable: float32 ``[..., depth]``.

    Example:
        >>> ids = fluid.layers.assign(np.array([[1], [0]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.one_hot(ids, 3)])[0].tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return layer("one_hot", locals())


def pad(x: Variable, paddings: Sequence[Any], pad_value: float = 0.0, name: Optional[str] = None) -> Variable:
    """Adds elements before and after along each dimension.

    Args:
        x (Variable): any tensor.
        paddings (list): ``[before_0, after_0, before_1, after_1, ...]``.
        pad_value (float): the value of the new elements.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [2, 3])
        >>> fluid.layers.pad(x, [0, 0, 1, 1]).shape
        (2, 5)
    """
    return layer("pad", locals())


def pad2d(
    input: Variable, paddings: Union[Sequence[Any], Variable] = [0, 0, 0, 0], mode: str = 'constant',
    pad_value: float = 0.0, data_format: str = 'NCHW', name: Optional[str] = None,
) -> Variable:
    """Adds pixels to images; ``paddings`` are ``[above, below, left, right]``, ``mode`` is ``constant``, ``reflect`` or
    ``edge``.

    Args:
        input (Variable): images of four sizes.
        paddings (list or Variable): pixels above, below, left and right.
        mode (str): what they are: constant, reflect or edge.
        pad_value (float): their value, if they are constant.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("pad2d", locals())


def pad_constant_like(x: Variable, y: Variable, pad_value: float = 0.0, name: Optional[str] = None) -> Variable:
    """``y``, padded with ``pad_value`` at the ends until it has the shape of ``x``.

    Args:
        x (Variable): its sizes are those of `Out`.
        y (Variable): of the same rank, along no axis larger.
        pad_value (float): what is added.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("pad_constant_like", locals())


def pixel_shuffle(x: Variable, upscale_factor: int) -> Variable:
    """Rearranges ``[batch, c * r * r, h, w]`` to ``[batch, c, h * r, w * r]`` with ``r = upscale_factor``.

    Args:
        x (Variable): [n, channels, h, w].
        upscale_factor (int): r; its square divides the number of channels.

    Returns:
        Variable: the result.
    """
    return layer("pixel_shuffle", locals())


def pool2d(
    input: Variable, pool_size: Union[int, Sequence[Any]] = -1, pool_type: str = 'max',
    pool_stride: Union[int, Sequence[Any]] = 1, pool_padding: Union[int, Sequence[Any]] = 0,
    global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False, name: Optional[str] = None,
    exclusive: bool = True, data_format: str = 'NCHW',
) -> Variable:
    """Maxima or averages over windows of images.

    Args:
        input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
        pool_size (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
        pool_type (str): ``max`` or ``avg``.
        pool_stride (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
        pool_padding (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
        global_pooling (bool): one window over the whole image.
        use_cudnn (bool): accepted; computation is on the CPU.
        ceil_mode (bool): windows that reach over the border count, too.
        name (str): prefix of the names of its variables.
        exclusive (bool): an average leaves padding out.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: ``[batch, channels, H, W]``.

    Example:
        >>> image = fluid.data("image", [None, 16, 32, 32])
        >>> fluid.layers.pool2d(image, 2, "max", pool_stride=2).shape
        (-1, 16, 16, 16)
    """
    return layer("pool2d", locals())


def pool3d(
    input: Variable, pool_size: Union[int, Sequence[Any]] = -1, pool_type: str = 'max',
    pool_stride: Union[int, Sequence[Any]] = 1, pool_padding: Union[int, Sequence[Any], str] = 0,
    global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False, name: Optional[str] = None,
    exclusive: bool = True, data_format: str = 'NCDHW',
) -> Variable:
    """Maxima or averages over windows of ``[batch, channels, depth, height, width]``; arguments as in `pool2d`.

    Args:
        input (Variable): images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64.
        pool_size (int or list): size of the window.
        pool_type (str): `max` or `avg`.
        pool_stride (int or list): steps of the window.
        pool_padding (int, list or str): rows and columns around the image: one number, one per dimension, one per side, pairs per dimension, ``SAME`` or ``VALID``.
        global_pooling (bool): one window over the whole image.
        use_cudnn (bool): accepted; computation is on the CPU.
        ceil_mode (bool): count a window that is not full as well.
        name (str): prefix of the names of its variables.
        exclusive (bool): an average does not count what was added around.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("pool3d", locals())


def pow(x: Variable, factor: Union[Variable, float] = 1.0, name: Optional[str] = None) -> Variable:
    """`x` to the power of `factor`.

    Args:
        x (Variable): f32, f64, i32 or i64.
        factor (Variable or float): the power.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("pow", locals())


def prelu(x: Variable, mode: str, param_attr: Optional[ParamLike] = None, name: Optional[str] = None) -> Variable:
    """``x`` where positive, else a learnt factor times ``x``. ``mode``: one factor for ``all``, one per ``channel``, or one
    per ``element``.

    Args:
        x (Variable): [n, channels, ...].
        mode (str): all: one slope; channel: one per channel; element: one per element of a sample.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("prelu", locals())


def randint(
    low: int, high: Optional[int] = None, shape: Optional[Union[Sequence[Any], Variable]] = None,
    out: Optional[Variable] = None, dtype: Optional[str] = None, device: Optional[str] = None,
    stop_gradient: bool = False, seed: int = 0, name: Optional[str] = None,
) -> Variable:
    """Random whole numbers in ``[low, high)``; with one bound, in ``[0, low)``.

    Args:
        low (int): the least number (must be set).
        high (int): above the greatest number (must be set).
        shape (list or Variable): the sizes.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        dtype (str): element type of `Out`: i32 or i64.
        device (str): accepted; values are always on the CPU.
        stop_gradient (bool): no gradient flows through the result.
        seed (int): start of the sequence; 0 for another one in every run.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("randint", locals())


def rank(input: Variable) -> Variable:
    """The number of dimensions of ``input``, an int32 tensor.

    Args:
        input (Variable): the input.

    Returns:
        Variable: the result.
    """
    return layer("rank", locals())


def reduce_all(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """True where all elements over dimensions are true; arguments as in `reduce_sum`.

    Args:
        input (Variable): a bool tensor.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reduce_all", locals())


def reduce_any(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """True where any element over dimensions is true; arguments as in `reduce_sum`.

    Args:
        input (Variable): a bool tensor.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reduce_any", locals())


def reduce_max(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """The largest elements over dimensions; arguments as in `reduce_sum`.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reduce_max", locals())


def reduce_mean(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Means over dimensions; arguments as in `reduce_sum`.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [None, 3, 4])
        >>> fluid.layers.reduce_mean(x, dim=[1, 2], keep_dim=True).shape
        (-1, 1, 1)
    """
    return layer("reduce_mean", locals())


def reduce_min(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """The smallest elements over dimensions; arguments as in `reduce_sum`.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reduce_min", locals())


def reduce_prod(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Products over dimensions; arguments as in `reduce_sum`.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to reduce; `None` for all of them. Negative ones count from the end.
        keep_dim (bool): leave reduced dimensions in place, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("reduce_prod", locals())


def reduce_sum(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Sums over dimensions.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to sum over; ``None``: all.
        keep_dim (bool): they stay, with size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=1)])[0].tolist()
        [3.0, 7.0]
    """
    return layer("reduce_sum", locals())


def relu(x: Variable, name: Optional[str] = None) -> Variable:
    """``max(x, 0)``, element by element.

    Args:
        x (Variable): any float tensor.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.relu(x)])[0].tolist()
        [0.0, 0.0, 2.0]
    """
    return layer("relu", locals())


def relu6(x: Variable, threshold: float = 6.0, name: Optional[str] = None) -> Variable:
    """`min(max(x, 0), threshold)`.

    Args:
        x (Variable): f32 or f64.
        threshold (float): the largest output.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("relu6", locals())


def reshape(
    x: Variable, shape: Sequence[Any], actual_shape: Optional[Variable] = None, act: Optional[str] = None,
    inplace: bool = False, name: Optional[str] = None,
) -> Variable:
    """The same elements in another shape.

    Args:
        x (Variable): any tensor.
        shape (list): the new sizes. One of them may be -1 (computed from the others); 0 keeps the size of that dimension of.
            ``x``.
            Elements may be Variables.
        actual_shape (Variable): the sizes at run time, in place of ``shape``.
        act (str): an activation applied to the result.
        inplace (bool): reuse the memory of ``x``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [2, 4, 6])
        >>> fluid.layers.reshape(x, [-1, 0, 3, 2]).shape
        (2, 4, 3, 2)
    """
    return layer("reshape", locals())


def resize_bilinear(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCHW',
) -> Variable:
    """Resizes images ``[batch, channels, height, width]`` by bilinear interpolation, to ``out_shape`` or by the factor
    ``scale``.

    Args:
        input (Variable): the input.
        out_shape (list or Variable): sizes of the result.
        scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): sizes of the result that are computed; they replace the others.
        align_corners (bool): first and last pixels stay where they are.
        align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("resize_bilinear", locals())


def resize_nearest(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, data_format: str = 'NCHW',
) -> Variable:
    """Resizes images by nearest-neighbour interpolation, to ``out_shape`` or by the factor ``scale``.

    Args:
        input (Variable): the input.
        out_shape (list or Variable): sizes of the result.
        scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): sizes of the result that are computed; they replace the others.
        align_corners (bool): first and last pixels stay where they are.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("resize_nearest", locals())


def resize_trilinear(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCDHW',
) -> Variable:
    """Resizes volumes ``[batch, channels, depth, height, width]`` by trilinear interpolation, to ``out_shape`` or by the
    factor ``scale``.

    Args:
        input (Variable): the input.
        out_shape (list or Variable): sizes of the result.
        scale (float or Variable): sizes of the result over those of the input, if `out_shape` is not set.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): sizes of the result that are computed; they replace the others.
        align_corners (bool): first and last pixels stay where they are.
        align_mode (int): without aligned corners: 0 compares centres of pixels, 1 their corners.
        data_format (str): where the channels are: ``NCHW`` or ``NHWC`` (``NCDHW`` or ``NDHWC`` for volumes).

    Returns:
        Variable: the result.
    """
    return layer("resize_trilinear", locals())


def roll(
    input: Variable, shifts: Union[int, Sequence[Any]], dims: Optional[Union[int, Sequence[Any]]] = None,
) -> Variable:
    """Shifts elements along ``dims``; elements that leave at one end enter at the other. ``None`` shifts the flattened
    tensor.

    Args:
        input (Variable): any tensor.
        shifts (int or list): how far along each of `dims`; negative ones go towards the beginning.
        dims (int or list): the axes; negative ones count from the end.

    Returns:
        Variable: the result.
    """
    return layer("roll", locals())


def row_conv(
    input: Variable, future_context_size: int, param_attr: Optional[ParamLike] = None, act: Optional[str] = None,
) -> Variable:
    """A convolution along sequences in which each step sees ``future_context_size`` later steps, column by column.

    Args:
        input (Variable): a matrix with LoD, or sequences x steps x columns.
        future_context_size (int): the number of steps after the current one.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: the result.
    """
    return layer("row_conv", locals())


def sampling_id(x: Variable, min: float = 0.0, max: float = 1.0, seed: int = 0, dtype: str = 'float32') -> Variable:
    """For each row of probabilities, the index of a random draw.

    Args:
        x (Variable): probabilities [batch, classes].
        min (float): lower bound of r.
        max (float): upper bound of r.
        seed (int): of r; 0 for another one in every run.
        dtype (str): the element type.

    Returns:
        Variable: the result.
    """
    return layer("sampling_id", locals())


def scale(
    x: Variable, scale: Union[float, Variable] = 1.0, bias: float = 0.0, bias_after_scale: bool = True,
    act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """``scale * x + bias``, or ``scale * (x + bias)`` without ``bias_after_scale``.

    Args:
        x (Variable): any tensor of numbers, or selected rows.
        scale (float or Variable): the factor: a number, or a variable `[1]`.
        bias (float): what is added.
        bias_after_scale (bool): multiply first?.
        act (str): activation.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scale(x, 2.0, bias=1.0)])[0].tolist()
        [3.0, 5.0]
    """
    return layer("scale", locals())


def scatter(
    input: Variable, index: Variable, updates: Variable, name: Optional[str] = None, overwrite: bool = True,
) -> Variable:
    """``input`` with the rows ``index`` replaced by ``updates``; without ``overwrite`` rows of ``updates`` are summed there.

    Args:
        input (Variable): any tensor of numbers.
        index (Variable): int32 or int64 positions.
        updates (Variable): [n], then the other axes of `X`.
        name (str): prefix of the names of its variables.
        overwrite (bool): the last update of a row wins; false: rows start from 0 and all updates are summed.

    Returns:
        Variable: the result.
    """
    return layer("scatter", locals())


def scatter_nd(
    index: Variable, updates: Variable, shape: Union[int, Sequence[Any]], name: Optional[str] = None,
) -> Variable:
    """Zeros of ``shape`` with ``updates`` added at the indices in the last dimension of ``index``.

    Args:
        index (Variable): int32 or int64 positions.
        updates (Variable): the values to add, one (slice) per index.
        shape (int or list): sizes of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("scatter_nd", locals())


def scatter_nd_add(ref: Variable, index: Variable, updates: Variable, name: Optional[str] = None) -> Variable:
    """``ref`` with ``updates`` added at the indices in the last dimension of ``index``.

    Args:
        ref (Variable): the tensor that is added to.
        index (Variable): i32 or i64, [..., k]: indices along the first k axes of `X`.
        updates (Variable): the axes of `Index` but the last, then the axes of `X` from k on.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("scatter_nd_add", locals())


def selu(
    x: Variable, scale: Optional[float] = None, alpha: Optional[float] = None, name: Optional[str] = None,
) -> Variable:
    """``scale * elu(x, alpha)``, element by element; ``None`` stands for the constants of the paper (1.0507..., 1.6732...).

    Args:
        x (Variable): f32 or f64.
        scale (float): slope above 0.
        alpha (float): depth below 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("selu", locals())


def shape(input: Variable) -> Variable:
    """The sizes of a tensor at run time, int32.

    Args:
        input (Variable): any tensor, or selected rows.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.fill_constant([2, 3], "float32", 0.0)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.shape(x)])[0].tolist()
        [2, 3]
    """
    return layer("shape", locals())


def shard_index(input: Variable, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Variable:
    """Ids as numbers within their shard: ids of other shards than ``shard_id`` become ``ignore_value``.

    Args:
        input (Variable): ids from 0 on, i32 or i64; the last size is 1.
        index_num (int): how many ids there are (must be set).
        nshards (int): how many shards there are (must be set).
        shard_id (int): which of them this is (must be set).
        ignore_value (int): what stands for ids of other shards.

    Returns:
        Variable: the result.
    """
    return layer("shard_index", locals())


def shuffle_channel(x: Variable, group: int, name: Optional[str] = None) -> Variable:
    """Takes channels of all ``group`` groups in turn.

    Args:
        x (Variable): [n, channels, h, w].
        group (int): the number of groups; it divides the number of channels.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("shuffle_channel", locals())


def sign(x: Variable) -> Variable:
    """-1, 0 or 1 for each element: its sign.

    Args:
        x (Variable): f32 or f64.

    Returns:
        Variable: the result.
    """
    return layer("sign", locals())


def similarity_focus(
    input: Variable, axis: int, indexes: Union[int, Sequence[Any]], name: Optional[str] = None,
) -> Variable:
    """A mask of the largest elements of the selected planes, each row and column used once.

    Args:
        input (Variable): four sizes, f32 or f64.
        axis (int): 1, 2 or 3; the other two are rows and columns (must be set).
        indexes (int or list): the planes along `axis` to look at (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("similarity_focus", locals())


def size(input: Variable) -> Variable:
    """The number of elements of ``input``, an int64 tensor.

    Args:
        input (Variable): any tensor.

    Returns:
        Variable: the result.
    """
    return layer("size", locals())


def slice(
    input: Variable, axes: Union[int, Sequence[Any]], starts: Union[Sequence[Any], Variable],
    ends: Union[Sequence[Any], Variable],
) -> Variable:
    """A part of a tensor: along each of ``axes``, from its start up to its end. Negative positions count from the end.

    Args:
        input (Variable): any tensor.
        axes (int or list): the axes that are cut (must be set).
        starts (list or Variable): the first element along each axis; negative ones count from the end.
        ends (list or Variable): the element after the last one along each axis; negative ones count from the end.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [3, 4, 5])
        >>> fluid.layers.slice(x, axes=[0, 2], starts=[1, -2], ends=[3, 5]).shape
        (2, 4, 2)
    """
    return layer("slice", locals())


def smooth_l1(
    x: Variable, y: Variable, inside_weight: Optional[Variable] = None, outside_weight: Optional[Variable] = None,
    sigma: Optional[float] = None,
) -> Variable:
    """The smooth L1 loss of each row, ``[batch, 1]``: squared where ``|x - y|`` is below ``1 / sigma**2``, linear beyond.

    Args:
        x (Variable): the input.
        y (Variable): the second operand.
        inside_weight (Variable): factor of the difference, like ``x``; goes with ``outside_weight``.
        outside_weight (Variable): factor of the loss, like ``x``.
        sigma (float): the loss is quadratic below ``1 / sigma ** 2``; ``None``: 1.

    Returns:
        Variable: the result.
    """
    return layer("smooth_l1", locals())


def soft_relu(x: Variable, threshold: float = 40.0, name: Optional[str] = None) -> Variable:
    """``log(1 + exp(min(max(x, -threshold), threshold)))``, element by element.

    Args:
        x (Variable): f32 or f64.
        threshold (float): largest magnitude of the input.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("soft_relu", locals())


def softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None, axis: int = -1) -> Variable:
    """``exp(x) / sum(exp(x))`` along a dimension: positive numbers that sum to 1.

    Args:
        input (Variable): any float tensor.
        use_cudnn (bool): accepted; computation is on the CPU.
        name (str): prefix of the names of its variables.
        axis (int): the dimension of the classes.

    Returns:
        Variable: the shape of ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 0]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.softmax(x)])[0].tolist()
        [[0.5, 0.5]]
    """
    return layer("softmax", locals())


def space_to_depth(x: Variable, blocksize: int, name: Optional[str] = None) -> Variable:
    """Rearranges blocks of ``blocksize * blocksize`` pixels into channels, in Fluid's order.

    Args:
        x (Variable): [n, channels, h, w].
        blocksize (int): b; it divides height and width, and its square the number of channels.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("space_to_depth", locals())


def spectral_norm(
    weight: Variable, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: Optional[str] = None,
) -> Variable:
    """A weight divided by its largest singular value, estimated by ``power_iters`` power iterations.

    Args:
        weight (Variable): f32 or f64.
        dim (int): the axis whose positions are rows of the matrix; all others together are columns.
        power_iters (int): how often the estimate is improved.
        eps (float): added to norms that are divided by.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("spectral_norm", locals())


def split(
    input: Variable, num_or_sections: Union[int, Sequence[Any]], dim: int = -1, name: Optional[str] = None,
) -> Any:
    """Splits a tensor along a dimension.

    Args:
        input (Variable): any tensor.
        num_or_sections (int or list): the number of equal parts, or the size of each part (one may be -1).
        dim (int): the dimension.
        name (str): prefix of the names of its variables.

    Returns:
        list of Variable: the parts.

    Example:
        >>> parts = fluid.layers.split(fluid.data("x", [3, 9]), [2, 3, -1], dim=1)
        >>> [part.shape for part in parts]
        [(3, 2), (3, 3), (3, 4)]
    """
    return layer("split", locals())


def squeeze(input: Variable, axes: Union[int, Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Removes dimensions of size 1: those of ``axes``, or all of them if ``axes`` is empty.

    Args:
        input (Variable): any tensor.
        axes (int or list): the axes to drop if their size is 1; empty: all of size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.squeeze(fluid.data("x", [5, 1, 3]), [1]).shape
        (5, 3)
    """
    return layer("squeeze", locals())


def stack(x: Union[Variable, Sequence[Variable]], axis: int = 0) -> Variable:
    """Joins tensors of one shape along a new dimension ``axis``.

    Args:
        x (Variable or list): any tensors of one dtype and shape.
        axis (int): where the new axis is; negative ones count from the end.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [2, 3])
        >>> fluid.layers.stack([x, x], axis=0).shape
        (2, 2, 3)
    """
    return layer("stack", locals())


def stanh(x: Variable, scale_a: float = 0.67, scale_b: float = 1.7159, name: Optional[str] = None) -> Variable:
    """`scale_b * tanh(scale_a * x)`.

    Args:
        x (Variable): f32 or f64.
        scale_a (float): factor of the input.
        scale_b (float): factor of the output.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("stanh", locals())


def strided_slice(
    input: Variable, axes: Union[int, Sequence[Any]], starts: Union[Sequence[Any], Variable],
    ends: Union[Sequence[Any], Variable], strides: Union[Sequence[Any], Variable],
) -> Variable:
    """`slice` with a stride: every ``strides[i]``-th element along ``axes[i]``.

    Args:
        input (Variable): any tensor.
        axes (int or list): the axes that are cut (must be set).
        starts (list or Variable): the first element along each axis; negative ones count from the end.
        ends (list or Variable): the element after the last one along each axis; negative ones count from the end.
        strides (list or Variable): the step along each axis; negative ones go backwards.

    Returns:
        Variable: the result.
    """
    return layer("strided_slice", locals())


def sum(x: Union[Variable, Sequence[Variable]]) -> Variable:
    """The sum of a list of tensors of one shape.

    Args:
        x (Variable or list): tensors of one shape, selected rows of one height, or arrays; what nothing has written is left out.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sum([x, x])])[0].tolist()
        [3.0, 3.0]
    """
    return layer("sum", locals())


def swish(x: Variable, beta: float = 1.0, name: Optional[str] = None) -> Variable:
    """`x * sigmoid(beta * x)`.

    Args:
        x (Variable): f32 or f64.
        beta (float): steepness.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("swish", locals())


def temporal_shift(x: Variable, seg_num: int, shift_ratio: float = 0.25, name: Optional[str] = None) -> Variable:
    """Shifts a share of the channels by one frame forwards and backwards in time.

    Args:
        x (Variable): [sequences * seg_num, channels, h, w], f32 or f64.
        seg_num (int): frames of a sequence (must be set).
        shift_ratio (float): the part of the channels that comes from each neighbour; at most one half.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("temporal_shift", locals())


def topk(input: Variable, k: Union[Variable, int], name: Optional[str] = None) -> Tuple[Variable, ...]:
    """The ``k`` largest elements of each row, and their indices.

    Args:
        input (Variable): the input.
        k (Variable or int): the number of elements per row, also as a Variable.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: values and int64 indices, both ``[..., k]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
        >>> values, indices = fluid.layers.topk(x, 2)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[values, indices])]
        [[[5.0, 3.0]], [[1, 2]]]
    """
    return layer("topk", locals())


def trace(
    input: Variable, offset: int = 0, dim1: int = 0, dim2: int = 1, out: Optional[Variable] = None,
    name: Optional[str] = None,
) -> Variable:
    """The sums of a diagonal.

    Args:
        input (Variable): numbers, at least two axes.
        offset (int): how far above the main diagonal; below if negative.
        dim1 (int): the axis of rows; negative ones count from the end.
        dim2 (int): the axis of columns.
        out (Variable): the result goes into this Variable; ``None``: a new one.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("trace", locals())


def transpose(x: Variable, perm: Union[int, Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Permutes dimensions: dimension ``i`` of the result is dimension ``perm[i]`` of ``x``.

    Args:
        x (Variable): any tensor.
        perm (int or list): the old number of every new dimension.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> x = fluid.data("x", [2, 3, 4])
        >>> fluid.layers.transpose(x, [1, 0, 2]).shape
        (3, 2, 4)
    """
    return layer("transpose", locals())


def tril(input: Variable, diagonal: int = 0, name: Optional[str] = None) -> Variable:
    """The lower triangle; elements above the diagonal are zero.

    Args:
        input (Variable): the input.
        diagonal (int): which diagonal: 0 is the main one, positive ones lie above it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("tril", locals())


def triu(input: Variable, diagonal: int = 0, name: Optional[str] = None) -> Variable:
    """The upper triangle; elements below the diagonal are zero.

    Args:
        input (Variable): the input.
        diagonal (int): which diagonal: 0 is the main one, positive ones lie above it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("triu", locals())


def unfold(
    x: Variable, kernel_sizes: Union[int, Sequence[Any]], strides: Union[int, Sequence[Any]] = 1,
    paddings: Union[int, Sequence[Any]] = 0, dilations: Union[int, Sequence[Any]] = 1, name: Optional[str] = None,
) -> Variable:
    """The windows of images as columns (im2col). ``paddings`` are one size, two (vertical, horizontal) or four (above, left,
    below, right).

    Args:
        x (Variable): [n, channels, h, w], f32 or f64.
        kernel_sizes (int or list): height and width of the window (must be set).
        strides (int or list): steps of the window, vertical and horizontal (must be set).
        paddings (int or list): zeros above, left, below, right (must be set).
        dilations (int or list): distance of the window's elements, vertical and horizontal (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("unfold", locals())


def uniform_random_batch_size_like(
    input: Variable, shape: Union[int, Sequence[Any]], dtype: str = 'float32', input_dim_idx: int = 0,
    output_dim_idx: int = 0, min: float = -1.0, max: float = 1.0, seed: int = 0,
) -> Variable:
    """`uniform_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``.

    Args:
        input (Variable): the tensor that gives the size.
        shape (int or list): the sizes; the one at `output_dim_idx` is replaced (must be set).
        dtype (str): element type of `Out`: f32 or f64.
        input_dim_idx (int): which size of `Input` to take.
        output_dim_idx (int): which size of `Out` it becomes.
        min (float): lower bound.
        max (float): upper bound, excluded.
        seed (int): start of the sequence; 0 for another one in every run.

    Returns:
        Variable: the result.
    """
    return layer("uniform_random_batch_size_like", locals())


def unique(x: Variable, dtype: str = 'int32') -> Variable:
    """The distinct elements of a 1-D tensor in the order of their first occurrence, and for each element of ``x`` its index
    among them.

    Args:
        x (Variable): [n], numbers.
        dtype (str): element type of indices and counts: i32 or i64 (must be set).

    Returns:
        Variable: the result.
    """
    return layer("unique", locals())


def unique_with_counts(x: Variable, dtype: str = 'int32') -> Variable:
    """`unique`, and the number of occurrences of each distinct element.

    Args:
        x (Variable): [n], numbers.
        dtype (str): element type of indices and counts: i32 or i64 (must be set).

    Returns:
        Variable: the result.
    """
    return layer("unique_with_counts", locals())


def unsqueeze(input: Variable, axes: Union[int, Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Inserts dimensions of size 1 at the positions ``axes`` of the result.

    Args:
        input (Variable): any tensor.
        axes (int or list): where to insert, one after the other; negative: from the end.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.

    Example:
        >>> fluid.layers.unsqueeze(fluid.data("x", [5, 3]), [1]).shape
        (5, 1, 3)
    """
    return layer("unsqueeze", locals())


def unstack(x: Variable, axis: int = 0, num: Optional[int] = None) -> Variable:
    """The slices of dimension ``axis``, as a list; ``num`` gives their number where it is not known.

    Args:
        x (Variable): any tensor.
        axis (int): the axis; negative ones count from the end.
        num (int): the number of pieces, which is the size of X along the axis (must be set).

    Returns:
        Variable: the result.
    """
    return layer("unstack", locals())


def where(condition: Variable) -> Variable:
    """The indices of the true elements, int64 ``[n, rank of condition]``.

    Args:
        condition (Variable): bool.

    Returns:
        Variable: the result.
    """
    return layer("where", locals())
