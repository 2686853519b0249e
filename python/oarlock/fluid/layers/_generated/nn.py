"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "adaptive_pool2d", "adaptive_pool3d", "add_position_encoding", "addmm", "affine_channel", "affine_grid",
    "autoincreased_step_counter", "batch_norm", "bilinear_tensor_product", "bmm", "brelu", "chunk_eval", "clip",
    "clip_by_norm", "continuous_value_model", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "cos_sim",
    "crf_decoding", "crop", "crop_tensor", "ctc_greedy_decoder", "data_norm", "deformable_conv",
    "deformable_roi_pooling", "diag_embed", "dice_loss", "dot", "dropout", "elementwise_add", "elementwise_div",
    "elementwise_floordiv", "elementwise_max", "elementwise_min", "elementwise_mod", "elementwise_mul",
    "elementwise_pow", "elementwise_sub", "elu", "embedding", "expand", "expand_as", "fc", "filter_by_instag",
    "flatten", "flip", "fsp_matrix", "full_like", "gather", "gather_nd", "gather_tree", "gaussian_random",
    "gaussian_random_batch_size_like", "get_tensor_from_selected_rows", "grid_sampler", "group_norm", "hard_sigmoid",
    "hard_swish", "hash", "im2sequence", "image_resize", "image_resize_short", "index_select", "inplace_abn",
    "instance_norm", "kron", "l2_normalize", "label_smooth", "layer_norm", "leaky_relu", "linear_chain_crf", "log",
    "log1p", "log_loss", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "lrn", "matmul",
    "maxout", "mean", "mean_iou", "merge_selected_rows", "meshgrid", "mish", "mul", "multiplex", "one_hot", "pad",
    "pad2d", "pad_constant_like", "pixel_shuffle", "pool2d", "pool3d", "pow", "prelu", "prroi_pool", "psroi_pool",
    "randint", "random_crop", "rank", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_sum", "relu", "relu6", "reshape", "resize_bilinear", "resize_nearest", "resize_trilinear",
    "roi_align", "roi_pool", "roll", "row_conv", "sampling_id", "scale", "scatter", "scatter_nd", "scatter_nd_add",
    "selu", "shape", "shard_index", "shuffle_channel", "sign", "similarity_focus", "size", "slice", "smooth_l1",
    "soft_relu", "softmax", "space_to_depth", "spectral_norm", "split", "squeeze", "stack", "stanh", "strided_slice",
    "sum", "swish", "temporal_shift", "topk", "trace", "transpose", "tril", "triu", "unfold",
    "uniform_random_batch_size_like", "unique", "unique_with_counts", "unsqueeze", "unstack", "where",
]


def adaptive_pool2d(
    input: Variable, pool_size: Union[int, Sequence[Any]], pool_type: str = 'max', require_index: bool = False,
    name: Optional[str] = None,
) -> Any:
    """Takes the maximum or the mean of windows that are chosen so that the result has the size ``pool_size``.

    Window ``i`` of ``n`` goes from ``floor(i * height / n)`` to ``ceil((i + 1) * height / n)``; neighbouring
    windows may overlap.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``.
        pool_size (int, list or tuple): the size of the result: ``[vertical, horizontal]``, or one number for both.
        pool_type (str): ``max``: the largest element; ``avg``: the mean.
        require_index (bool): also return the position of each maximum; only with ``max``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable or tuple: a Variable ``[batch, channels, *pool_size]``; with ``require_index`` a tuple of it and an
            int32 Variable of the same shape, the positions ``row * width + column`` of the maxima.

    Example:
        >>> image = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 1, 4, 4))
        >>> out = fluid.layers.adaptive_pool2d(image, pool_size=2, pool_type="avg")
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    return layer("adaptive_pool2d", locals())


def adaptive_pool3d(
    input: Variable, pool_size: Union[int, Sequence[Any]], pool_type: str = 'max', require_index: bool = False,
    name: Optional[str] = None,
) -> Any:
    """Takes the maximum or the mean of windows of volumes that are chosen so that the result has the size
    ``pool_size``.

    Windows are chosen as in ``adaptive_pool2d``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``.
        pool_size (int, list or tuple): the size of the result: ``[depth, height, width]``, or one number for all.
        pool_type (str): ``max``: the largest element; ``avg``: the mean.
        require_index (bool): also return the position of each maximum; only with ``max``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable or tuple: a Variable ``[batch, channels, *pool_size]``; with ``require_index`` a tuple of it and an
            int32 Variable of the same shape, the positions of the maxima in the flattened volume.

    Example:
        >>> video = fluid.data("video", [None, 3, 12, 32, 32])
        >>> fluid.layers.adaptive_pool3d(video, pool_size=[3, 4, 4], pool_type="avg").shape
        (-1, 3, 3, 4, 4)
    """
    return layer("adaptive_pool3d", locals())


def add_position_encoding(input: Variable, alpha: float, beta: float, name: Optional[str] = None) -> Variable:
    """Adds sines and cosines of the position: ``alpha * input + beta * encoding``.

    With ``h = width / 2`` the first ``h`` columns of the encoding at position ``p`` are
    ``sin(p / 10000 ** (k / (h - 1)))`` for ``k = 0, 1, ...``, the others are the cosines.

    Args:
        input (Variable): float32 or float64, ``[batch, positions, width]``, or ``[rows, width]`` with LoD; the
            width is even.
        alpha (float): factor of the input.
        beta (float): factor of the encoding.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the width is odd.

    Example:
        >>> x = fluid.layers.zeros([1, 2, 4], "float32")
        >>> out = fluid.layers.add_position_encoding(x, alpha=1.0, beta=1.0)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(3))
        [[[0.    0.    1.    1.   ]
          [0.841 0.    0.54  1.   ]]]
    """
    return layer("add_position_encoding", locals())


def addmm(
    input: Variable, x: Variable, y: Variable, alpha: float = 1.0, beta: float = 1.0, name: Optional[str] = None,
) -> Variable:
    """Computes ``beta * input + alpha * x @ y``.

    Args:
        input (Variable): float32 or float64, ``[m, n]``; a size of 1 is repeated.
        x (Variable): ``[m, k]``.
        y (Variable): ``[k, n]``.
        alpha (float): factor of the product.
        beta (float): factor of ``input``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[m, n]``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``x`` and ``y`` do not fit.

    Example:
        >>> ones = fluid.layers.ones([2, 2], "float32")
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.addmm(ones, x, x, alpha=0.5, beta=10.0)])[0].tolist()
        [[13.5, 15.0], [17.5, 21.0]]
    """
    return layer("addmm", locals())


def affine_channel(
    x: Variable, scale: Optional[Variable] = None, bias: Optional[Variable] = None, data_layout: str = 'NCHW',
    name: Optional[str] = None, act: Optional[str] = None,
) -> Variable:
    """Multiplies each channel by a number and adds another: ``scale[c] * x[:, c] + bias[c]``.

    ``scale`` and ``bias`` are Variables; to train them make them with ``create_parameter``. Networks with frozen
    batch normalization use it.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, ...]``.
        scale (Variable): ``[channels]``; it must be given.
        bias (Variable): ``[channels]``; it must be given.
        data_layout (str): only ``NCHW``; transpose before and after for other formats.
        name (str): prefix of the names of its variables.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        TypeError: ``scale`` or ``bias`` is missing.

    Example:
        >>> x = fluid.layers.assign(np.ones([1, 2, 1, 2], "float32"))
        >>> scale = fluid.layers.assign(np.array([2, 3], "float32"))
        >>> bias = fluid.layers.assign(np.array([0.5, 1], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.affine_channel(x, scale, bias)])[0].tolist()
        [[[[2.5, 2.5]], [[4.0, 4.0]]]]
    """
    return layer("affine_channel", locals())


def affine_grid(theta: Variable, out_shape: Union[Sequence[Any], Variable], name: Optional[str] = None) -> Variable:
    """Computes where affine maps take the pixels of images: the grid for ``grid_sampler``.

    Coordinates go from -1 to 1 over the image, in the order horizontal, vertical. Spatial transformers use it.

    Args:
        theta (Variable): float32 or float64, ``[batch, 2, 3]``: a matrix of the map of each image.
        out_shape (list, tuple or Variable): ``[batch, channels, height, width]`` of the images to make; a Variable
            is int32 ``[4]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, height, width, 2]``.

    Raises:
        fluid.core.EnforceNotMet: ``theta`` is not ``[batch, 2, 3]``.

    Example:
        >>> identity = fluid.layers.assign(np.array([[[1, 0, 0], [0, 1, 0]]], "float32"))
        >>> out = fluid.layers.affine_grid(identity, out_shape=[1, 1, 2, 2])
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    """
    return layer("affine_grid", locals())


def autoincreased_step_counter(counter_name: Optional[str] = None, begin: int = 1, step: int = 1) -> Variable:
    """Makes a counter that grows by ``step`` in every run of the program.

    Learning rate schedules use it. It is persistable: a model that is saved goes on counting when it is loaded.
    Calls with one name return the same counter.

    Args:
        counter_name (str): the name of the variable; ``None``: ``@STEP_COUNTER@``.
        begin (int): the value in the first run if ``step`` is 1; otherwise that is ``begin - 1 + step``, as in
            Fluid.
        step (int): the increase per run.

    Returns:
        Variable: int64 ``[1]``.

    Example:
        >>> counter = fluid.layers.autoincreased_step_counter(begin=5)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> [exe.run(fetch_list=[counter])[0].tolist() for _ in range(3)]
        [[5], [6], [7]]
    """
    return layer("autoincreased_step_counter", locals())


def batch_norm(
    input: Variable, act: Optional[str] = None, is_test: bool = False, momentum: float = 0.9, epsilon: float = 1e-05,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, data_layout: str = 'NCHW',
    in_place: bool = False, name: Optional[str] = None, moving_mean_name: Optional[str] = None,
    moving_variance_name: Optional[str] = None, do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Variable:
    """Normalizes each channel over the batch: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.

    Mean and variance are those of the channel in the batch. ``scale`` and ``shift`` are trained, one number per
    channel. Every training step also updates a moving mean and variance,
    ``moving = moving * momentum + batch * (1 - momentum)``, which a program made by ``clone(for_test=True)`` uses
    instead of those of the batch. They are parameters that no optimizer changes, and they are saved with the model.
    Replicas of one process and collective workers normalize by their own batches; ``BuildStrategy.sync_batch_norm``
    makes the replicas of a process share their statistics.

    Args:
        input (Variable): float32 or float64, ``[batch, channels]`` or ``[batch, channels, ...]``, or channels last
            with ``NHWC``.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        is_test (bool): use the moving mean and variance and do not change them.
        momentum (float): the share of the old value when the moving mean and variance are updated.
        epsilon (float): added to the variance, so that the division is finite.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
        bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
        data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
        in_place (bool): write the result over the input.
        name (str): prefix of the names of its variables.
        moving_mean_name (str): the name of the moving mean; ``None``: it is generated.
        moving_variance_name (str): the name of the moving variance; ``None``: it is generated.
        do_model_average_for_mean_and_var (bool): the moving mean and variance take part in
            ``fluid.optimizer.ModelAverage``.
        use_global_stats (bool): normalize by the moving mean and variance in training, too.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> out = fluid.layers.batch_norm(x)
        >>> test_program = fluid.default_main_program().clone(for_test=True)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> feed = {"x": np.array([[1, 10], [3, 30]], "float32")}
        >>> print(exe.run(feed=feed, fetch_list=[out])[0].round(3))
        [[-1. -1.]
         [ 1.  1.]]
        >>> print(exe.run(test_program, feed=feed, fetch_list=[out])[0].round(3))
        [[0.8   2.423]
         [2.8   8.481]]
    """
    return layer("batch_norm", locals())


def bilinear_tensor_product(
    x: Variable, y: Variable, size: int, act: Optional[str] = None, name: Optional[str] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
) -> Variable:
    """Computes ``size`` bilinear forms: ``out[:, i] = x @ W[i] @ y.T + b[i]``, row by row.

    The weight ``W`` is a parameter ``[size, m, n]``, the bias one ``[1, size]``.

    Args:
        x (Variable): float32 or float64, ``[batch, m]``.
        y (Variable): the element type of ``x``, ``[batch, n]``.
        size (int): the number of forms, the columns of the result.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.

    Returns:
        Variable: ``[batch, size]``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` and ``y`` have different numbers of rows.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> y = fluid.layers.assign(np.array([[3, 4]], "float32"))
        >>> ones = fluid.initializer.Constant(1.0)
        >>> out = fluid.layers.bilinear_tensor_product(x, y, size=2, param_attr=ones)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[21.0, 21.0]]
    """
    return layer("bilinear_tensor_product", locals())


def bmm(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """Multiplies two batches of matrices: ``out[b] = x[b] @ y[b]``.

    Unlike ``matmul``, it takes exactly three dimensions and repeats no batch.

    Args:
        x (Variable): float32 or float64, ``[batch, n, k]``.
        y (Variable): the element type of ``x``, ``[batch, k, m]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, n, m]``.

    Raises:
        fluid.core.EnforceNotMet: an operand does not have three dimensions, or their sizes do not fit.

    Example:
        >>> x = fluid.layers.assign(np.arange(4, dtype="float32").reshape(2, 1, 2))
        >>> y = fluid.layers.assign(np.ones([2, 2, 1], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.bmm(x, y)])[0].tolist()
        [[[1.0]], [[5.0]]]
    """
    return layer("bmm", locals())


def brelu(x: Variable, t_min: float = 0.0, t_max: float = 24.0, name: Optional[str] = None) -> Variable:
    """Limits each element to the range from ``t_min`` to ``t_max``: ``min(max(x, t_min), t_max)``.

    The gradient passes strictly between the bounds and is 0 elsewhere.

    Args:
        x (Variable): float32 or float64, any shape.
        t_min (float): lower bound.
        t_max (float): upper bound.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 5, 30], "float32"))
        >>> out = fluid.layers.brelu(x, t_min=1.0, t_max=20.0)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [1.0, 5.0, 20.0]
    """
    return layer("brelu", locals())


def chunk_eval(
    input: Variable, label: Variable, chunk_scheme: str, num_chunk_types: int,
    excluded_chunk_types: Optional[Union[Sequence[Any], int]] = None, seq_length: Optional[Variable] = None,
) -> Tuple[Variable, ...]:
    """Computes precision, recall and F1 of chunks, such as named entities, that are marked by tags.

    A tag is ``type * tags_of_the_scheme + position``. Schemes and the positions of their tags: ``IOB`` (B 0, I 1),
    ``IOE`` (I 0, E 1), ``IOBES`` (B 0, I 1, E 2, S 3), ``plain`` (one tag). The tag
    ``num_chunk_types * tags_of_the_scheme`` marks no chunk. A predicted chunk is correct if begin, end and type
    are. ``fluid.metrics.ChunkEvaluator`` adds up batches.

    Args:
        input (Variable): int64: predicted tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``seq_length``.
        label (Variable): int64: the true tags, in the same form.
        chunk_scheme (str): ``IOB``, ``IOE``, ``IOBES`` or ``plain``.
        num_chunk_types (int): the number of chunk types.
        excluded_chunk_types (list or int): types that do not count; ``None``: none.
        seq_length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input
            has LoD.

    Returns:
        tuple: (precision, recall, f1, predicted, labelled, correct): three float32 ``[1]`` and three int64 ``[1]``,
            the numbers of chunks.

    Raises:
        ValueError: ``chunk_scheme`` is unknown.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0], [1], [2], [4]], "int64"))
        >>> predicted = fluid.layers.lod_reset(predicted, target_lod=[0, 4])
        >>> label = fluid.layers.assign(np.array([[0], [1], [4], [2]], "int64"))
        >>> label = fluid.layers.lod_reset(label, target_lod=[0, 4])
        >>> found = fluid.layers.chunk_eval(predicted, label, chunk_scheme="IOB", num_chunk_types=2)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=list(found))]
        [[0.5], [0.5], [0.5], [2], [2], [1]]
    """
    return layer("chunk_eval", locals())


def clip(x: Variable, min: float, max: float, name: Optional[str] = None) -> Variable:
    """Limits each element to the range from ``min`` to ``max``: ``min(max(x, min), max)``.

    The gradient passes where ``x`` lies strictly between the bounds and is 0 elsewhere.

    Args:
        x (Variable): float32 or float64 of any shape, or SelectedRows.
        min (float): lower bound.
        max (float): upper bound, not below ``min``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.5, 9], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.clip(x, -1.0, 1.0)])[0].tolist()
        [-1.0, 0.5, 1.0]
    """
    return layer("clip", locals())


def clip_by_norm(x: Variable, max_norm: float, name: Optional[str] = None) -> Variable:
    """Scales a tensor so that its L2 norm is at most ``max_norm``: ``x * max_norm / norm(x)`` if the norm is larger,
    otherwise ``x``.

    The norm is taken over all elements together. It has no gradient. To clip gradients in an optimizer use
    ``fluid.clip.GradientClipByNorm``.

    Args:
        x (Variable): float32 or float64 of any shape, or SelectedRows.
        max_norm (float): the largest norm; positive.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([3, 4], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.clip_by_norm(x, max_norm=1.0)])[0].round(4))
        [0.6 0.8]
    """
    return layer("clip_by_norm", locals())


def continuous_value_model(input: Variable, cvm: Variable, use_cvm: bool = True) -> Variable:
    """Turns the counts of shows and clicks in the first two columns of embeddings into features, or removes them.

    With ``use_cvm`` column 0 becomes ``log(show + 1)`` and column 1 ``log(click + 1) - log(show + 1)``; other
    columns stay. The gradient of the two columns is taken from ``cvm``, the counts of the batch.

    Args:
        input (Variable): float32 or float64, ``[rows, width]``, usually of ``sequence_pool`` over an embedding; its
            first two columns are shows and clicks.
        cvm (Variable): float32 or float64, ``[batch, 2]``: shows and clicks of each sample.
        use_cvm (bool): keep the two columns; otherwise they are removed.

    Returns:
        Variable: ``[rows, width]``, or ``[rows, width - 2]`` without ``use_cvm``.

    Example:
        >>> embedding = fluid.layers.assign(np.array([[3, 1, 7]], "float32"))
        >>> cvm = fluid.layers.assign(np.array([[3, 1]], "float32"))
        >>> out = fluid.layers.continuous_value_model(embedding, cvm)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [[ 1.3863 -0.6931  7.    ]]
    """
    return layer("continuous_value_model", locals())


def conv2d(
    input: Variable, num_filters: int, filter_size: Union[int, Sequence[Any]], stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any], str] = 0, dilation: Union[int, Sequence[Any]] = 1,
    groups: Optional[int] = None, param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    use_cudnn: bool = True, act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """Convolves images with trained filters, adds a bias and applies an activation.

    Each of the ``num_filters`` filters is multiplied with every window of the image and the products are summed;
    there is no reflection of the filter. The filters are a parameter
    ``[num_filters, channels / groups, *filter_size]``. With ``groups`` equal to the number of channels the
    convolution is depthwise.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``, or
            ``[batch, height, width, channels]`` with ``NHWC``.
        num_filters (int): the channels of the result.
        filter_size (int, list or tuple): ``[vertical, horizontal]``, or one number for both.
        stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for both.
        padding (int, list, tuple or str): zeros around the image: one number, ``[vertical, horizontal]``,
            ``[top, bottom, left, right]``, ``"SAME"`` (the result has the size of the input divided by the stride)
            or ``"VALID"`` (none).
        dilation (int, list or tuple): the distance of neighbouring filter elements in the image:
            ``[vertical, horizontal]``, or one number for both.
        groups (int): divides the channels and the filters into groups; each group of filters sees only its group of
            channels. ``None``: 1.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: normally
            distributed numbers with the deviation ``sqrt(2 / (filter elements * channels))``.
        bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.

    Returns:
        Variable: ``[batch, num_filters, H, W]`` with
            ``H = (height + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``, and ``W`` likewise.

    Raises:
        ValueError: ``groups`` does not divide the channels, or ``padding`` or ``data_format`` is no known word.
        fluid.core.EnforceNotMet: the filter is larger than the padded image.
        fluid.core.EnforceNotMet: ``input`` does not have four dimensions.

    Example:
        >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
        >>> ones = fluid.initializer.Constant(1.0)
        >>> out = fluid.layers.conv2d(image, num_filters=1, filter_size=2, param_attr=ones)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[[[8.0, 12.0], [20.0, 24.0]]]]
        >>> photo = fluid.data("photo", [None, 3, 32, 32])
        >>> fluid.layers.conv2d(photo, num_filters=16, filter_size=3, padding=1, act="relu").shape
        (-1, 16, 32, 32)
        >>> fluid.layers.conv2d(photo, num_filters=16, filter_size=3, stride=2).shape
        (-1, 16, 15, 15)
    """
    return layer("conv2d", locals())


def conv2d_transpose(
    input: Variable, num_filters: int, output_size: Optional[Union[int, Sequence[Any]]] = None,
    filter_size: Optional[Union[int, Sequence[Any]]] = None, padding: Union[int, Sequence[Any], str] = 0,
    stride: Union[int, Sequence[Any]] = 1, dilation: Union[int, Sequence[Any]] = 1, groups: Optional[int] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_cudnn: bool = True,
    act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """Computes the transpose of a 2-D convolution (also called deconvolution), which makes images larger.

    Each pixel of the input is multiplied with the filter and added to a window of the result. The filters are a
    parameter ``[channels, num_filters / groups, *filter_size]``. Give ``filter_size``, ``output_size`` or both.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
        num_filters (int): the channels of the result.
        output_size (int, list or tuple): the size of the result: ``[vertical, horizontal]``, or one number for
            both. With ``filter_size`` it chooses among the sizes that the stride allows, from the size of the
            formula below to ``stride - 1`` more; ``None``: the size of the formula.
        filter_size (int, list or tuple): ``[vertical, horizontal]``, or one number for both; ``None``: the size
            that gives ``output_size``.
        padding (int, list, tuple or str): zeros around the image: one number, ``[vertical, horizontal]``,
            ``[top, bottom, left, right]``, ``"SAME"`` (the result has the size of the input divided by the stride)
            or ``"VALID"`` (none).
        stride (int, list or tuple): the steps of the window in the result: ``[vertical, horizontal]``, or one
            number for both.
        dilation (int, list or tuple): the distance of neighbouring filter elements in the result:
            ``[vertical, horizontal]``, or one number for both.
        groups (int): divides channels and filters into groups that do not mix. ``None``: 1.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.

    Returns:
        Variable: ``[batch, num_filters, H, W]`` with
            ``H = (height - 1) * stride - 2 * padding + dilation * (filter_size - 1) + 1``, and ``W`` likewise.

    Raises:
        ValueError: neither ``filter_size`` nor ``output_size`` is given.
        fluid.core.EnforceNotMet: no input of this size has the result ``output_size``.

    Example:
        >>> image = fluid.layers.assign(np.array([[1, 2]], "float32").reshape(1, 1, 1, 2))
        >>> ones = fluid.initializer.Constant(1.0)
        >>> out = fluid.layers.conv2d_transpose(image, 1, filter_size=2, stride=2, param_attr=ones)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
        >>> photo = fluid.data("photo", [None, 3, 16, 16])
        >>> fluid.layers.conv2d_transpose(photo, num_filters=8, output_size=[32, 32], stride=2).shape
        (-1, 8, 32, 32)
    """
    return layer("conv2d_transpose", locals())


def conv3d(
    input: Variable, num_filters: int, filter_size: Union[int, Sequence[Any]], stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any], str] = 0, dilation: Union[int, Sequence[Any]] = 1,
    groups: Optional[int] = None, param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    use_cudnn: bool = True, act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCDHW',
) -> Variable:
    """Convolves volumes with trained filters, adds a bias and applies an activation.

    It is ``conv2d`` with one more dimension, such as the time of videos or the depth of scans. The filters are a
    parameter ``[num_filters, channels / groups, *filter_size]``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
            ``NDHWC``.
        num_filters (int): the channels of the result.
        filter_size (int, list or tuple): ``[depth, height, width]``, or one number for all.
        stride (int, list or tuple): the steps of the window: ``[depth, height, width]``, or one number for all.
        padding (int, list, tuple or str): zeros around the volume: one number, one per dimension, two per dimension
            (front, back, top, bottom, left, right), ``"SAME"`` (the result has the size of the input divided by the
            stride) or ``"VALID"`` (none).
        dilation (int, list or tuple): the distance of neighbouring filter elements in the volume:
            ``[depth, height, width]``, or one number for all.
        groups (int): divides the channels and the filters into groups; each group of filters sees only its group of
            channels. ``None``: 1.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: normally
            distributed numbers with the deviation ``sqrt(2 / (filter elements * channels))``.
        bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
            same format.

    Returns:
        Variable: ``[batch, num_filters, D, H, W]`` with
            ``D = (depth + 2 * padding - dilation * (filter_size - 1) - 1) // stride + 1``, and ``H`` and ``W``
            likewise.

    Raises:
        ValueError: ``groups`` does not divide the channels, or ``padding`` or ``data_format`` is no known word.
        fluid.core.EnforceNotMet: the filter is larger than the padded volume.

    Example:
        >>> video = fluid.data("video", [None, 3, 12, 32, 32])
        >>> fluid.layers.conv3d(video, num_filters=2, filter_size=3).shape
        (-1, 2, 10, 30, 30)
    """
    return layer("conv3d", locals())


def conv3d_transpose(
    input: Variable, num_filters: int, output_size: Optional[Union[int, Sequence[Any]]] = None,
    filter_size: Optional[Union[int, Sequence[Any]]] = None, padding: Union[int, Sequence[Any], str] = 0,
    stride: Union[int, Sequence[Any]] = 1, dilation: Union[int, Sequence[Any]] = 1, groups: Optional[int] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_cudnn: bool = True,
    act: Optional[str] = None, name: Optional[str] = None, data_format: str = 'NCDHW',
) -> Variable:
    """Computes the transpose of a 3-D convolution, which makes volumes larger.

    It is ``conv2d_transpose`` with one more dimension. The filters are a parameter
    ``[channels, num_filters / groups, *filter_size]``. Give ``filter_size``, ``output_size`` or both.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
            ``NDHWC``.
        num_filters (int): the channels of the result.
        output_size (int, list or tuple): the size of the result: ``[depth, height, width]``, or one number for all;
            ``None``: the size of the formula below.
        filter_size (int, list or tuple): ``[depth, height, width]``, or one number for all; ``None``: the size that
            gives ``output_size``.
        padding (int, list, tuple or str): zeros around the volume: one number, one per dimension, two per dimension
            (front, back, top, bottom, left, right), ``"SAME"`` (the result has the size of the input divided by the
            stride) or ``"VALID"`` (none).
        stride (int, list or tuple): the steps of the window in the result: ``[depth, height, width]``, or one
            number for all.
        dilation (int, list or tuple): the distance of neighbouring filter elements in the result:
            ``[depth, height, width]``, or one number for all.
        groups (int): divides channels and filters into groups that do not mix. ``None``: 1.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the filters; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias, one number per filter; ``None``: zeros; ``False``: no bias.
        use_cudnn (bool): accepted; computation is on the CPU.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.
        data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
            same format.

    Returns:
        Variable: ``[batch, num_filters, D, H, W]`` with
            ``D = (depth - 1) * stride - 2 * padding + dilation * (filter_size - 1) + 1``, and ``H`` and ``W``
            likewise.

    Raises:
        ValueError: neither ``filter_size`` nor ``output_size`` is given.

    Example:
        >>> volume = fluid.data("volume", [None, 3, 4, 8, 8])
        >>> fluid.layers.conv3d_transpose(volume, num_filters=2, filter_size=2, stride=2).shape
        (-1, 2, 8, 16, 16)
    """
    return layer("conv3d_transpose", locals())


def cos_sim(X: Variable, Y: Variable) -> Variable:
    """Computes the cosine of the angle between rows: ``sum(x * y) / (norm(x) * norm(y))``.

    Dimensions after the first one are flattened.

    Args:
        X (Variable): float32 or float64, ``[batch, ...]``.
        Y (Variable): the shape of ``X``, or one row that is compared with all rows of ``X``.

    Returns:
        Variable: ``[batch, 1]``, in ``[-1, 1]``.

    Raises:
        fluid.core.EnforceNotMet: the rows of ``X`` and ``Y`` differ in size, or ``Y`` has neither one row nor those
            of ``X``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 0], [1, 1]], "float32"))
        >>> y = fluid.layers.assign(np.array([[2, 0]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.cos_sim(x, y)])[0].round(4))
        [[1.    ]
         [0.7071]]
    """
    return layer("cos_sim", locals())


def crf_decoding(
    input: Variable, param_attr: ParamLike, label: Optional[Variable] = None, length: Optional[Variable] = None,
) -> Variable:
    """Finds the most likely tags of sequences (Viterbi) by the transitions that ``linear_chain_crf`` has trained.

    With ``label`` it tells which of the tags are right instead. No gradient flows through it.

    Args:
        input (Variable): float32 or float64: scores of the tags, ``[rows, tags]`` with LoD, or
            ``[batch, steps, tags]`` with ``length``.
        param_attr (ParamAttr): names the transitions, as in ``linear_chain_crf``.
        label (Variable): int64: the true tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``length``;
            ``None``: return the tags.
        length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input has
            LoD.

    Returns:
        Variable: int64, ``[rows, 1]`` with the LoD of ``input``, or ``[batch, steps]``: the tags; with ``label`` 1
            where the tag is right, otherwise 0.

    Raises:
        ValueError: ``param_attr`` has no name.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 1], [0, 1]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 3])
        >>> tags = fluid.layers.assign(np.array([[0], [1], [1]], "int64"))
        >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 2, 3])
        >>> attr = fluid.ParamAttr("crf", initializer=fluid.initializer.Constant(0.0))
        >>> cost = fluid.layers.linear_chain_crf(x, tags, param_attr=attr)
        >>> best = fluid.layers.crf_decoding(x, param_attr=attr)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> np.array(exe.run(fetch_list=[best], return_numpy=False)[0]).ravel().tolist()
        [1, 0, 1]
    """
    return layer("crf_decoding", locals())


def crop(
    x: Variable, shape: Optional[Union[Sequence[Any]]] = None, offsets: Optional[Union[Sequence[Any]]] = None,
    name: Optional[str] = None,
) -> Variable:
    """Takes a part of a tensor: ``shape`` elements from ``offsets`` on.

    ``crop_tensor`` also takes Variables.

    Args:
        x (Variable): float32 or float64, any shape.
        shape (list or tuple): a size per dimension; it must be given; a first size of -1 keeps that of ``x``.
        offsets (list or tuple): the first position along each dimension; ``None``: zeros.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``shape``, the element type of ``x``.

    Raises:
        TypeError: there is no ``shape``, or it is a Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.crop(x, shape=[1, 2], offsets=[1, 1])])[0].tolist()
        [[5.0, 6.0]]
    """
    return layer("crop", locals())


def crop_tensor(
    x: Variable, shape: Optional[Union[Sequence[Any], Variable]] = None,
    offsets: Optional[Union[Sequence[Any], Variable]] = None, name: Optional[str] = None,
) -> Variable:
    """Takes a part of a tensor: ``shape`` elements from ``offsets`` on.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        shape (list, tuple or Variable): a size per dimension; it must be given; -1: all elements from the offset
            on. A Variable is int32 with one dimension; elements of a list may be Variables ``[1]``.
        offsets (list, tuple or Variable): the first position along each dimension; ``None``: zeros; in the same
            forms.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``shape``, the element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: the part reaches beyond ``x``.
        TypeError: there is no ``shape``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> out = fluid.layers.crop_tensor(x, shape=[-1, 2], offsets=[1, 1])
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[5.0, 6.0]]
    """
    return layer("crop_tensor", locals())


def ctc_greedy_decoder(
    input: Variable, blank: int, input_length: Optional[Variable] = None, padding_value: int = 0,
    name: Optional[str] = None,
) -> Any:
    """Decodes the most likely class of each step: repetitions and blanks are removed.

    Args:
        input (Variable): float32 or float64: probabilities, ``[rows, classes]`` with LoD, or
            ``[batch, steps, classes]`` with ``input_length``.
        blank (int): the class that stands for no symbol.
        input_length (Variable): int64, ``[batch, 1]``: the steps of each sequence of a padded input; ``None``: the
            input has LoD.
        padding_value (int): fills the rows of a padded result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable or tuple: int64 ``[symbols, 1]`` with LoD, or one -1 if no symbol is left; with ``input_length``
            the tuple (out, length): ``[batch, steps]`` and ``[batch, 1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[[0.6, 0.1, 0.3], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]]], "float32"))
        >>> steps = fluid.layers.assign(np.array([[3]], "int64"))
        >>> out, length = fluid.layers.ctc_greedy_decoder(x, blank=0, input_length=steps)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, length])]
        [[[1, 2, 0]], [[2]]]
    """
    return layer("ctc_greedy_decoder", locals())


def data_norm(
    input: Variable, act: Optional[str] = None, epsilon: float = 1e-05,
    param_attr: Optional[Mapping[str, Any]] = None, data_layout: str = 'NCHW', in_place: bool = False,
    name: Optional[str] = None, moving_mean_name: Optional[str] = None, moving_variance_name: Optional[str] = None,
    do_model_average_for_mean_and_var: bool = True, slot_dim: int = -1, sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999, enable_scale_and_shift: bool = False,
) -> Variable:
    """Normalizes each column by statistics of the whole training: ``(x - sum / size) * sqrt(size / square_sum)``.

    The layer keeps three parameters per column: ``size`` (starts at 1e4), ``sum`` (0) and ``square_sum`` (1e4).
    Their gradients are no derivatives: they are the size, the sum and the squared distances of the batch, for an
    update that adds them up. Models for click rates use it for dense features.

    Args:
        input (Variable): float32 or float64, ``[batch, width]``.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        epsilon (float): added to the squares of a batch.
        param_attr (dict): refused unless ``None``; set the sums in the scope after the startup program instead.
        data_layout (str): only ``NCHW``.
        in_place (bool): only ``False``.
        name (str): prefix of the names of its variables.
        moving_mean_name (str): accepted; Fluid does not use it either.
        moving_variance_name (str): accepted; Fluid does not use it either.
        do_model_average_for_mean_and_var (bool): accepted; Fluid does not use it either.
        slot_dim (int): the columns belong to slots of this width, whose first column is 0 for a slot that was not
            shown: it gives zeros and does not count. -1: there are no slots.
        sync_stats (bool): kept in the program for Fluid; it has no effect here.
        summary_decay_rate (float): kept in the program for Fluid; it has no effect here.
        enable_scale_and_shift (bool): only ``False``; multiply and add parameters of your own instead.

    Returns:
        Variable: the shape and element type of ``input``.

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> out = fluid.layers.data_norm(x)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(feed={"x": np.array([[1, 2]], "float32")}, fetch_list=[out])[0].tolist()
        [[1.0, 2.0]]
        >>> [p.name for p in fluid.default_main_program().all_parameters()]
        ['dn.batch_size', 'dn.batch_sum', 'dn.batch_square_sum']
    """
    return layer("data_norm", locals())


def deformable_conv(
    input: Variable, offset: Variable, mask: Variable, num_filters: int, filter_size: Union[int, Sequence[Any]],
    stride: Union[int, Sequence[Any]] = 1, padding: Union[int, Sequence[Any]] = 0,
    dilation: Union[int, Sequence[Any]] = 1, groups: Optional[int] = None, deformable_groups: Optional[int] = None,
    im2col_step: Optional[int] = None, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[Union[ParamLike, bool]] = None, modulated: bool = True, name: Optional[str] = None,
) -> Variable:
    """Convolves images with filters whose points are moved, position by position, by offsets that the network computes.

    Values are linear between pixels and 0 outside of the image. Version 2 (``modulated``) multiplies every point by a
    mask. Gradients flow into all inputs. Version 1 of Fluid 1.8.5 mixes up images and filters of a batch of several images
    if ``im2col_step`` is above 1; here results do not depend on it.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``.
        offset (Variable): ``[batch, 2 * deformable_groups * filter points, out height, out width]``: down and across for
            each point in turn.
        mask (Variable): ``[batch, deformable_groups * filter points, out height, out width]``: factors; ``None`` unless
            ``modulated``.
        num_filters (int): channels of the result.
        filter_size (int, list or tuple): height and width of the filter, or one number for both.
        stride (int, list or tuple): steps of the filter.
        padding (int, list or tuple): zeros around the image.
        dilation (int, list or tuple): distances between the points of the filter, before offsets.
        groups (int): channels are divided into this number of groups that do not see each other; ``None``: 1.
        deformable_groups (int): channels are divided into this number of groups that have offsets of their own;
            ``None``: 1.
        im2col_step (int): how many images Fluid lays out at a time; it must be above 0, results do not depend on it.
        param_attr (ParamAttr): the filters.
        bias_attr (ParamAttr or False): a bias per channel; ``False``: none.
        modulated (bool): version 2, with a mask; ``False``: version 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, num_filters, out height, out width]``.

    Raises:
        ValueError: the channels cannot be divided into ``groups``, or there is no mask although it is ``modulated``.
        TypeError: elements are no floats.

    Example:
        >>> x = fluid.data("x", [None, 3, 8, 8])
        >>> offset, mask = fluid.data("offset", [None, 18, 6, 6]), fluid.data("mask", [None, 9, 6, 6])
        >>> fluid.layers.deformable_conv(x, offset, mask, num_filters=4, filter_size=3).shape
        (-1, 4, 6, 6)
    """
    return layer("deformable_conv", locals())


def deformable_roi_pooling(
    input: Variable, rois: Variable, trans: Variable, no_trans: bool = False, spatial_scale: float = 1.0,
    group_size: Union[Sequence[Any]] = [1, 1], pooled_height: int = 1, pooled_width: int = 1,
    part_size: Optional[Union[Sequence[Any]]] = None, sample_per_part: int = 1, trans_std: float = 0.1,
    position_sensitive: bool = False, name: Optional[str] = None,
) -> Variable:
    """Pools regions of a feature map to one size: the mean of every part, each moved by offsets that the network computes.

    Gradients flow into ``input`` and ``trans``.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
        rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
            pixels of the image.
        trans (Variable): ``[regions, 2 * classes, part height, part width]``: moves across and down, for each class in
            turn, as fractions of the region.
        no_trans (bool): parts are not moved.
        spatial_scale (float): the size of the feature map over that of the image.
        group_size (list or tuple): rows and columns of channels.
        pooled_height (int): rows of the result.
        pooled_width (int): columns of the result.
        part_size (list or tuple): rows and columns of moves; ``None``: those of the result.
        sample_per_part (int): points of a part along each axis.
        trans_std (float): factor of the moves.
        position_sensitive (bool): every part has channels of its own, and the result has ``channels / (pooled_height *
            pooled_width)``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[regions, channels, pooled_height, pooled_width]``; 0 where no point lies on the map.

    Raises:
        ValueError: the channels cannot be divided into parts.
        TypeError: elements are no floats, or a size is no list.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> trans = fluid.layers.assign(np.zeros([1, 2, 1, 1], "float32"))
        >>> out = fluid.layers.deformable_roi_pooling(x, rois, trans, no_trans=True)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[1.0]]]]
    """
    return layer("deformable_roi_pooling", locals())


def diag_embed(input: Variable, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Variable:
    """Makes a batch of matrices whose diagonals are the last dimension of ``input``; other elements are 0.

    Args:
        input (Variable): numbers, ``[..., n]``.
        offset (int): 0: the main diagonal; positive: that number of places above it; negative: below it.
        dim1 (int): the dimension of the rows in the result; negative ones count from the end.
        dim2 (int): the dimension of the columns in the result; different from ``dim1``.

    Returns:
        Variable: one dimension more than ``input``; rows and columns have the size ``n + abs(offset)``.

    Raises:
        fluid.core.EnforceNotMet: ``dim1`` and ``dim2`` are not two different dimensions of the result.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.diag_embed(x)])[0].tolist()
        [[[1.0, 0.0], [0.0, 2.0]]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.diag_embed(x, offset=1)])[0].tolist()
        [[[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]]
    """
    return layer("diag_embed", locals())


def dice_loss(input: Variable, label: Variable, epsilon: float = 1e-05, name: Optional[str] = None) -> Variable:
    """Computes the Dice loss of a segmentation: ``1 - 2 * overlap / (predicted + labelled + epsilon)``, the mean over
    the batch.

    The overlap is the sum of the probabilities of the labelled classes. It suits classes of very different
    frequency.

    Args:
        input (Variable): float32 or float64, ``[batch, ..., classes]``: probabilities.
        label (Variable): int32 or int64, ``[batch, ..., 1]``: the class of each pixel.
        epsilon (float): added to the divisor, so that it is not 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[1]``.

    Raises:
        fluid.core.EnforceNotMet: the last size of ``label`` is not 1.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[[0.9, 0.1], [0.2, 0.8]]], "float32"))
        >>> label = fluid.layers.assign(np.array([[[0], [1]]], "int64"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.dice_loss(predicted, label)])[0].round(4))
        [0.15]
    """
    return layer("dice_loss", locals())


def dot(x: Variable, y: Variable, name: Optional[str] = None) -> Variable:
    """Computes the inner product of two vectors, or of each pair of rows of two matrices.

    Args:
        x (Variable): float32, float64, int32 or int64, ``[n]`` or ``[batch, n]``.
        y (Variable): the shape and element type of ``x``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[1]`` or ``[batch, 1]``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape, or have more than two dimensions.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([[1, 1], [0, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.dot(x, y)])[0].tolist()
        [[3.0], [8.0]]
    """
    return layer("dot", locals())


def dropout(
    x: Variable, dropout_prob: float, is_test: bool = False, seed: Optional[int] = None, name: Optional[str] = None,
    dropout_implementation: str = 'downgrade_in_infer',
) -> Variable:
    """Sets elements to 0 at random in training, with the probability ``dropout_prob``.

    It keeps units of a network from relying on each other. A program made by ``clone(for_test=True)`` drops
    nothing.

    Args:
        x (Variable): float32 or float64, any shape.
        dropout_prob (float): the probability of 0, in ``[0, 1]``.
        is_test (bool): drop nothing.
        seed (int): the same seed drops the same elements in every run; ``None``: other ones in every run, which
            follow from ``Program.random_seed`` if that is set.
        name (str): prefix of the names of its variables.
        dropout_implementation (str): ``downgrade_in_infer``: elements keep their value in training and are
            multiplied by ``1 - dropout_prob`` in tests; ``upscale_in_train``: elements that are kept are divided by
            ``1 - dropout_prob`` in training, and tests return ``x``.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        ValueError: ``dropout_prob`` is not in ``[0, 1]``, or ``dropout_implementation`` is unknown (when the
            program runs).

    Example:
        >>> x = fluid.data("x", [None, 4])
        >>> out = fluid.layers.dropout(x, 0.5, dropout_implementation="upscale_in_train")
        >>> test_program = fluid.default_main_program().clone(for_test=True)
        >>> exe, feed = fluid.Executor(), {"x": np.ones([100, 4], "float32")}
        >>> sorted(set(exe.run(feed=feed, fetch_list=[out])[0].ravel().tolist()))
        [0.0, 2.0]
        >>> sorted(set(exe.run(test_program, feed=feed, fetch_list=[out])[0].ravel().tolist()))
        [1.0]
    """
    return layer("dropout", locals())


def elementwise_add(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Adds two tensors: ``x + y``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. The gradient of ``y`` is summed over the repetitions. ``x + y`` with Variables does the
    same.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([10, 20], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y)])[0].tolist()
        [[11.0, 22.0], [13.0, 24.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y, axis=0)])[0].tolist()
        [[11.0, 12.0], [23.0, 24.0]]
    """
    return layer("elementwise_add", locals())


def elementwise_div(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Divides two tensors: ``x / y``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. A float divided by 0 is infinite or ``nan``. Integers lose their fraction, and a division
    by 0 is an error. ``x / y`` with Variables does the same.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_div(x, y)])[0].tolist()
        [[0.5, 0.5], [1.5, 1.0]]
    """
    return layer("elementwise_div", locals())


def elementwise_floordiv(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Computes the quotient of integers without a fraction: ``x // y``, element by element.

    It is rounded towards 0 as in Fluid, so that ``-7 // 2`` is -3, while Python gives -4.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. No gradient flows through it. ``x // y`` with Variables does the same.

    Args:
        x (Variable): the dividends: int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([7, 8, 9], "int64"))
        >>> y = fluid.layers.assign(np.array([2, 3, 4], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_floordiv(x, y)])[0].tolist()
        [3, 2, 2]
    """
    return layer("elementwise_floordiv", locals())


def elementwise_max(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Takes the larger one of two numbers: ``max(x, y)``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. The gradient goes to the larger element; of equal ones to ``y``.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_max(x, y)])[0].tolist()
        [[2.0, 5.0], [3.0, 4.0]]
    """
    return layer("elementwise_max", locals())


def elementwise_min(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Takes the smaller one of two numbers: ``min(x, y)``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. The gradient goes to the smaller element; of equal ones to ``y``.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 4], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_min(x, y)])[0].tolist()
        [[1.0, 4.0], [2.0, 4.0]]
    """
    return layer("elementwise_min", locals())


def elementwise_mod(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Computes the remainder of ``x`` divided by ``y``, element by element.

    The remainder of integers has the sign of ``x`` as in C, that of floats the sign of ``y`` as in Python; so it is
    in Fluid.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. No gradient flows through it. ``x % y`` with Variables does the same.

    Args:
        x (Variable): the dividends, any shape: float32, float64, int32 or int64.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([7, -7, 9], "int64"))
        >>> y = fluid.layers.assign(np.array([3, 3, 4], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_mod(x, y)])[0].tolist()
        [1, -1, 1]
    """
    return layer("elementwise_mod", locals())


def elementwise_mul(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Multiplies two tensors: ``x * y``, element by element; ``matmul`` computes the product of matrices.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. ``x * y`` with Variables does the same.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> weight = fluid.layers.assign(np.array([[0.5], [2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_mul(x, weight)])[0].tolist()
        [[0.5, 1.0], [6.0, 8.0]]
    """
    return layer("elementwise_mul", locals())


def elementwise_pow(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Raises ``x`` to the power of ``y``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. A negative base with an exponent that is no whole number gives ``nan``. For one exponent
    that is a number use ``pow``.

    Args:
        x (Variable): the bases: float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([2, 3], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_pow(x, y)])[0].tolist()
        [[1.0, 8.0], [9.0, 64.0]]
    """
    return layer("elementwise_pow", locals())


def elementwise_sub(
    x: Variable, y: Variable, axis: int = -1, act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Subtracts two tensors: ``x - y``, element by element.

    ``y`` is repeated along the dimensions of ``x`` that it lacks or where its size is 1. With ``x`` of shape
    ``[2, 3, 4, 5]``, ``y`` may be ``[2, 3, 4, 5]``, ``[5]``, ``[4, 5]``, ``[3, 4]`` with ``axis=1``, ``[2]`` with
    ``axis=0`` or ``[1]``. ``x - y`` with Variables does the same.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``; its sizes are those of consecutive dimensions of ``x``, or 1.
        axis (int): the dimension of ``x`` at which the dimensions of ``y`` begin; -1: the last dimensions of both
            are aligned.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``; where a size of ``x`` is 1, that of ``y``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``y`` do not fit those of ``x`` from ``axis`` on.
        TypeError: ``x`` and ``y`` have different element types, or ``y`` is no Variable.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([1, 3], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_sub(x, y, axis=0)])[0].tolist()
        [[0.0, 1.0], [0.0, 1.0]]
    """
    return layer("elementwise_sub", locals())


def elu(x: Variable, alpha: float = 1.0, name: Optional[str] = None) -> Variable:
    """Computes the exponential linear unit ``max(0, x) + min(0, alpha * (exp(x) - 1))``, element by element.

    Positive elements stay as they are; negative ones approach ``-alpha``.

    Args:
        x (Variable): float32 or float64, any shape.
        alpha (float): the limit below 0 is ``-alpha``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-100, -1, 2], "float32"))
        >>> out = fluid.layers.elu(x, alpha=0.5)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.5    -0.3161  2.    ]
    """
    return layer("elu", locals())


def embedding(
    input: Variable, size: Union[Sequence[Any]], is_sparse: bool = False, is_distributed: bool = False,
    padding_idx: Optional[int] = None, param_attr: Optional[ParamLike] = None, dtype: DTypeLike = 'float32', *,
    entry: Optional[Any] = None, evict: Optional[Any] = None,
) -> Variable:
    """Looks up a row of a trained table for each id: ``out[..., :] = table[input[..., 0]]``.

    The last dimension of the ids has size 1 and becomes the width of the table; ``fluid.embedding`` takes ids
    without that dimension. LoD is kept.

    Args:
        input (Variable): int64 or int32, ``[..., 1]``: ids from 0 to ``rows - 1``.
        size (list or tuple): ``[rows, width]`` of the table.
        is_sparse (bool): the gradient is SelectedRows: only the rows of the batch. Large tables need it. SGD,
            Adagrad, Ftrl and Adam with ``lazy_mode`` then update only these rows, Momentum, RMSProp and Adam all
            rows; Adadelta, Adamax and some others do not take such gradients.
        is_distributed (bool): a hashed table: any int64 is an id, and a row is made when its id is first used. It
            lives on the parameter servers, or in memory if there are none; ``size[0]`` is no limit.
        padding_idx (int): the row of this id reads as zeros and is not trained; a negative number counts from the
            last row; ``None``: there is no such id.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the table; layers with one name
            share a table. ``None``: Xavier's initializer.
        dtype (dtype): the element type of the table: float32 or float64.
        entry (object): ``paddle.distributed.CountFilterEntry``, ``ProbabilityEntry`` or ``ShowClickEntry``: which
            ids get a row of a hashed table, and whether shows and clicks are counted; ``None``: all ids, without
            counts. Fluid 1.8 does not have it.
        evict (object): ``paddle.distributed.UnseenEviction`` or ``ScoreEviction``: which rows of a hashed table are
            evicted; ``None``: none. Fluid does not have it.

    Returns:
        Variable: ``[..., width]`` with the LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the last size of ``input`` is not 1.
        TypeError: the ids are no integers.
        IndexError: an id is outside of the table (when the program runs).
        ValueError: ``size`` does not have two elements.

    Example:
        >>> ids = fluid.data("ids", [None, 1], "int64")
        >>> out = fluid.layers.embedding(ids, [1000, 8], is_sparse=True)
        >>> out.shape
        (-1, 8)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(feed={"ids": np.array([[3], [999], [3]])}, fetch_list=[out])[0].shape
        (3, 8)
        >>> query, title = fluid.data("query", [None, 1], "int64"), fluid.data("title", [None, 1], "int64")
        >>> shared = fluid.ParamAttr("words")
        >>> a = fluid.layers.embedding(query, [1000, 8], param_attr=shared)
        >>> b = fluid.layers.embedding(title, [1000, 8], param_attr=shared)
        >>> [p.name for p in fluid.default_main_program().all_parameters() if p.name == "words"]
        ['words']
    """
    return layer("embedding", locals())


def expand(x: Variable, expand_times: Union[Sequence[Any], Variable], name: Optional[str] = None) -> Variable:
    """Repeats a tensor ``expand_times[i]`` times along dimension ``i``.

    The gradient is summed over the repetitions.

    Args:
        x (Variable): any element type, 1 to 6 dimensions.
        expand_times (list, tuple or Variable): a number per dimension of ``x``. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: dimension ``i`` has the size ``x.shape[i] * expand_times[i]``.

    Raises:
        fluid.core.EnforceNotMet: there is not one positive number per dimension of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.expand(x, [2, 2])])[0].tolist()
        [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    return layer("expand", locals())


def expand_as(x: Variable, target_tensor: Variable, name: Optional[str] = None) -> Variable:
    """Repeats a tensor along each dimension until it has the shape of ``target_tensor``.

    Args:
        x (Variable): any element type, 1 to 6 dimensions.
        target_tensor (Variable): as many dimensions as ``x``; its sizes are multiples of those of ``x``. Its values
            are not used.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``target_tensor``, the element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: a size of ``target_tensor`` is no multiple of that of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2]], "float32"))
        >>> target = fluid.layers.zeros([2, 3], "float32")
        >>> fluid.Executor().run(fetch_list=[fluid.layers.expand_as(x, target)])[0].tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    return layer("expand_as", locals())


def fc(
    input: Union[Variable, Sequence[Variable]], size: int, num_flatten_dims: int = 1,
    param_attr: Optional[Union[ParamLike, Sequence[ParamLike]]] = None, bias_attr: Optional[ParamLike] = None,
    act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Computes a fully connected layer: ``act(input @ W + b)``.

    The dimensions from ``num_flatten_dims`` on are flattened to one. With a list of inputs each one has a weight of
    its own, and the products are summed before bias and activation. The weight is a parameter
    ``[width of the input, size]``, the bias one ``[size]``.

    Args:
        input (Variable or list): float32 or float64, ``[batch, ...]``, or a list of such Variables.
        size (int): the columns of the result.
        num_flatten_dims (int): the number of dimensions that stay; the others become the columns of a matrix. For
            the rows of ``[batch, steps, width]`` use 2.
        param_attr (ParamAttr or list): name, initializer, regularizer and learning rate of the weight, or a list
            with one for each input; ``None``: Xavier's initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the first ``num_flatten_dims`` dimensions of the input, then ``size``; with LoD as the input.

    Raises:
        ValueError: ``num_flatten_dims`` is negative, or not less than the dimensions of the input.
        fluid.core.EnforceNotMet: a size of the input that becomes a column is not known.

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> hidden = fluid.layers.fc(x, 3, param_attr=fluid.initializer.Constant(0.5), act="relu")
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(feed={"x": np.array([[1, 2]], "float32")}, fetch_list=[hidden])[0].tolist()
        [[1.5, 1.5, 1.5]]
        >>> words = fluid.data("words", [None, 20, 8])
        >>> fluid.layers.fc(words, 16, num_flatten_dims=2).shape
        (-1, 20, 16)
        >>> fluid.layers.fc([x, hidden], 4, bias_attr=False).shape
        (-1, 4)
    """
    return layer("fc", locals())


def filter_by_instag(
    ins: Variable, ins_tag: Variable, filter_tag: Variable, is_lod: bool, out_val_if_empty: int = 0,
) -> Tuple[Variable, ...]:
    """Keeps the instances that have one of the wanted tags.

    The result can go on to a part of the network that is trained with these instances only. The weight is 1 for
    each kept row; if none is kept, the result is one row of ``out_val_if_empty`` with the weight 0, so that its
    loss can be masked.

    Args:
        ins (Variable): float32 or float64, ``[rows, ...]``; with ``is_lod`` an instance is a sequence, otherwise a
            row.
        ins_tag (Variable): int64 with LoD: the tags of each instance.
        filter_tag (Variable): int64, ``[k]``: the tags to keep.
        is_lod (bool): ``ins`` has LoD.
        out_val_if_empty (int): the elements of the result if no instance is kept.

    Returns:
        tuple: (out, loss_weight): the kept rows, and float32 ``[kept rows, 1]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 1], [2, 2], [3, 3]], "float32"))
        >>> tags = fluid.layers.assign(np.array([[0], [1], [0]], "int64"))
        >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 1, 2, 3])
        >>> wanted = fluid.layers.assign(np.array([0], "int64"))
        >>> out, weight = fluid.layers.filter_by_instag(x, tags, wanted, is_lod=False)
        >>> found = fluid.Executor().run(fetch_list=[out, weight], return_numpy=False)
        >>> [np.array(tensor).tolist() for tensor in found]
        [[[1.0, 1.0], [3.0, 3.0]], [[1.0], [1.0]]]
    """
    return layer("filter_by_instag", locals())


def flatten(x: Variable, axis: int = 1, name: Optional[str] = None) -> Variable:
    """Makes a matrix: dimensions before ``axis`` become its rows, the others its columns.

    Args:
        x (Variable): any element type and shape.
        axis (int): the first dimension of the columns, from 0 to the number of dimensions; 0: one row.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[product of the sizes before axis, product of the others]``.

    Raises:
        fluid.core.EnforceNotMet: ``axis`` is larger than the number of dimensions.

    Example:
        >>> x = fluid.data("x", [4, 2, 3])
        >>> fluid.layers.flatten(x, axis=1).shape
        (4, 6)
        >>> fluid.layers.flatten(x, axis=2).shape
        (8, 3)
    """
    return layer("flatten", locals())


def flip(input: Variable, dims: Union[int, Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Reverses the order of the elements along one dimension or several; the same as ``reverse`` under its later name.

    Args:
        input (Variable): any element type and shape.
        dims (int or list): the dimensions; negative ones count from the end.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has no such dimension.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.flip(x, [1])])[0].tolist()
        [[2.0, 1.0], [4.0, 3.0]]
    """
    return layer("flip", locals())


def fsp_matrix(x: Variable, y: Variable) -> Variable:
    """Computes the flow of solution procedure between two feature maps: the mean over pixels of the products of their
    channels.

    ``out[b, i, j]`` is the sum of ``x[b, i] * y[b, j]`` over all pixels, divided by ``height * width``.
    Distillation compares these matrices of a teacher and a student.

    Args:
        x (Variable): float32 or float64, ``[batch, x_channels, height, width]``.
        y (Variable): ``[batch, y_channels, height, width]``.

    Returns:
        Variable: ``[batch, x_channels, y_channels]``.

    Raises:
        fluid.core.EnforceNotMet: the images differ in more than the number of channels.

    Example:
        >>> x = fluid.layers.assign(np.ones([1, 2, 2, 2], "float32"))
        >>> y = fluid.layers.assign(np.full([1, 3, 2, 2], 2.0, "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.fsp_matrix(x, y)])[0].tolist()
        [[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]]
    """
    return layer("fsp_matrix", locals())


def full_like(
    input: Variable, fill_value: float, out: Optional[Variable] = None, dtype: Optional[DTypeLike] = None,
    device: Optional[str] = None, stop_gradient: bool = True, name: Optional[str] = None,
) -> Variable:
    """Makes a tensor of one value with the shape of another one.

    Args:
        input (Variable): gives the shape; its values are not used.
        fill_value (float): the value of every element.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        dtype (dtype): the element type; ``None``: that of ``input``.
        device (str): accepted; values are always on the CPU.
        stop_gradient (bool): the result's ``stop_gradient``: no gradient is computed for it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``input``, of ``dtype``.

    Example:
        >>> x = fluid.layers.zeros([1, 3], "float32")
        >>> fluid.Executor().run(fetch_list=[fluid.layers.full_like(x, 2, dtype="int64")])[0].tolist()
        [[2, 2, 2]]
    """
    return layer("full_like", locals())


def gather(input: Variable, index: Variable, overwrite: bool = True) -> Variable:
    """Takes the rows of ``input`` whose numbers are in ``index``.

    Args:
        input (Variable): any element type, ``[rows, ...]``.
        index (Variable): int32 or int64, ``[n]`` or ``[n, 1]``; numbers from 0 to ``rows - 1``.
        overwrite (bool): how the gradient treats a row that occurs several times: ``True`` keeps one of its
            gradients, ``False`` sums them.

    Returns:
        Variable: ``[n, ...]``: row ``i`` is row ``index[i]`` of ``input``.

    Raises:
        IndexError: an index is outside of the rows (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4], [5, 6]], "float32"))
        >>> index = fluid.layers.assign(np.array([2, 0], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.gather(x, index)])[0].tolist()
        [[5.0, 6.0], [1.0, 2.0]]
    """
    return layer("gather", locals())


def gather_nd(input: Variable, index: Variable, name: Optional[str] = None) -> Variable:
    """Takes elements or slices at indices with several coordinates.

    The last dimension of ``index`` holds ``k`` coordinates along the first ``k`` dimensions of ``input``. With as
    many coordinates as dimensions they address elements, with fewer whole slices.

    Args:
        input (Variable): any element type and shape.
        index (Variable): int32 or int64, ``[..., k]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``index`` without its last dimension, then the dimensions of ``input`` from ``k`` on.

    Raises:
        IndexError: an index is outside of ``input`` (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> index = fluid.layers.assign(np.array([[0, 1], [1, 0]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_nd(x, index)])[0].tolist()
        [2.0, 3.0]
        >>> row = fluid.layers.assign(np.array([[1]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_nd(x, row)])[0].tolist()
        [[3.0, 4.0]]
    """
    return layer("gather_nd", locals())


def gather_tree(ids: Variable, parents: Variable) -> Variable:
    """Puts the steps of a beam search of fixed width together to whole sequences.

    It follows ``parents`` from the last step back to the first.

    Args:
        ids (Variable): int32 or int64, ``[steps, batch, beams]``: the id of each beam in each step.
        parents (Variable): the type and shape of ``ids``: the beam of the step before that each one continues.

    Returns:
        Variable: the type and shape of ``ids``: column ``b`` holds the whole sequence of the last step's beam
            ``b``.

    Raises:
        fluid.core.EnforceNotMet: ``ids`` and ``parents`` differ in shape.

    Example:
        >>> ids = fluid.layers.assign(np.array([[[2, 2]], [[3, 9]], [[0, 1]]], "int64"))
        >>> parents = fluid.layers.assign(np.array([[[0, 0]], [[1, 0]], [[1, 0]]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.gather_tree(ids, parents)])[0].tolist()
        [[[2, 2]], [[9, 3]], [[0, 1]]]
    """
    return layer("gather_tree", locals())


def gaussian_random(
    shape: Union[Sequence[Any], Variable], mean: float = 0.0, std: float = 1.0, seed: int = 0,
    dtype: DTypeLike = 'float32',
) -> Variable:
    """Makes a tensor of normally distributed random numbers.

    The numbers differ from those of Fluid with the same seed.

    Args:
        shape (list, tuple or Variable): the sizes. A Variable is int32 with one dimension; elements of a list may
            be Variables ``[1]``.
        mean (float): mean of the distribution.
        std (float): its standard deviation.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.
        dtype (dtype): the element type: float32 or float64.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        TypeError: ``dtype`` is neither float32 nor float64.

    Example:
        >>> x = fluid.layers.gaussian_random([10000], mean=5.0, std=0.1, seed=1)
        >>> out = fluid.Executor().run(fetch_list=[x])[0]
        >>> round(float(out.mean()), 1), round(float(out.std()), 1)
        (5.0, 0.1)
    """
    return layer("gaussian_random", locals())


def gaussian_random_batch_size_like(
    input: Variable, shape: Union[Sequence[Any]], input_dim_idx: int = 0, output_dim_idx: int = 0, mean: float = 0.0,
    std: float = 1.0, seed: int = 0, dtype: DTypeLike = 'float32',
) -> Variable:
    """Makes normally distributed random numbers, with a size that is taken from another tensor when the program runs.

    Args:
        input (Variable): gives one size; its values are not used.
        shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
        input_dim_idx (int): the dimension of ``input`` that gives the size.
        output_dim_idx (int): the dimension of the result that gets it.
        mean (float): mean of the distribution.
        std (float): its standard deviation.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.
        dtype (dtype): the element type; only float32.

    Returns:
        Variable: ``shape`` with the size from ``input``.

    Raises:
        NotImplementedError: ``dtype`` is not float32; cast the result instead.

    Example:
        >>> x = fluid.data("x", [None, 8])
        >>> noise = fluid.layers.gaussian_random_batch_size_like(x, [-1, 3])
        >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[noise])[0].shape
        (2, 3)
    """
    return layer("gaussian_random_batch_size_like", locals())


def get_tensor_from_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """Takes the values of SelectedRows as a dense tensor, one row per row number.

    The row numbers get lost; duplicates are not added up (``merge_selected_rows`` does that).

    Args:
        x (Variable): SelectedRows, such as the gradient of a sparse embedding.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[row numbers, width]``.

    Example:
        >>> ids = fluid.layers.assign(np.array([[1], [3], [1]], "int64"))
        >>> rows = fluid.layers.embedding(ids, [5, 2], is_sparse=True, param_attr="table")
        >>> grads = fluid.backward.append_backward(fluid.layers.reduce_sum(rows))
        >>> values = fluid.layers.get_tensor_from_selected_rows(grads[0][1])
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[values])[0].tolist()
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    return layer("get_tensor_from_selected_rows", locals())


def grid_sampler(x: Variable, grid: Variable, name: Optional[str] = None) -> Variable:
    """Takes pixels of images at the points of a grid, by bilinear interpolation.

    Coordinates go from -1, the centre of the first pixel, to 1, the centre of the last one. Pixels outside of the
    image count as 0.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, height, width]``.
        grid (Variable): the element type of ``x``, ``[batch, H, W, 2]``: horizontal and vertical coordinate of each
            point, usually of ``affine_grid``. Fluid takes only the sizes of ``x``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, channels, H, W]``.

    Raises:
        fluid.core.EnforceNotMet: the shapes of ``x`` and ``grid`` do not fit.

    Example:
        >>> image = fluid.layers.assign(np.arange(4, dtype="float32").reshape(1, 1, 2, 2))
        >>> grid = fluid.layers.assign(np.array([[[[-1, -1], [0, 0]], [[1, 1], [2, 2]]]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.grid_sampler(image, grid)])[0].tolist()
        [[[[0.0, 1.5], [3.0, 0.75]]]]
    """
    return layer("grid_sampler", locals())


def group_norm(
    input: Variable, groups: int, epsilon: float = 1e-05, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, act: Optional[str] = None, data_layout: str = 'NCHW',
    name: Optional[str] = None,
) -> Variable:
    """Normalizes groups of channels of each sample: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.

    Mean and variance are those of one group of one sample, so that the size of the batch does not matter and
    training and prediction are the same.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, ...]``, or channels last with ``NHWC``.
        groups (int): the number of groups; it divides the number of channels.
        epsilon (float): added to the variance, so that the division is finite.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale, one number per
            channel; ``None``: no scale.
        bias_attr (ParamAttr): the same of the shift; ``None``: no shift.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``groups`` does not divide the channels.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 3, 10, 30], "float32").reshape(1, 4, 1, 1))
        >>> out = fluid.layers.group_norm(x, groups=2)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].ravel().round(3))
        [-1.  1. -1.  1.]
    """
    return layer("group_norm", locals())


def hard_sigmoid(x: Variable, slope: float = 0.2, offset: float = 0.5, name: Optional[str] = None) -> Variable:
    """Computes ``min(max(slope * x + offset, 0), 1)``, a sigmoid of straight lines, element by element.

    The gradient is ``slope`` between the bounds and 0 outside of them.

    Args:
        x (Variable): float32 or float64, any shape.
        slope (float): slope between the bounds; positive.
        offset (float): the result at 0.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``. Elements lie in ``[0, 1]``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-5, 0, 1, 5], "float32"))
        >>> out = fluid.layers.hard_sigmoid(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.  0.5 0.7 1. ]
    """
    return layer("hard_sigmoid", locals())


def hard_swish(
    x: Variable, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: Optional[str] = None,
) -> Variable:
    """Computes ``x * min(max(x + offset, 0), threshold) / scale``, element by element.

    With the defaults this is 0 up to -3, ``x`` from 3 on, and close to ``swish`` between them.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): largest value of the clipped factor.
        scale (float): divides the result.
        offset (float): added to ``x`` before it is clipped.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, -1, 1, 4], "float32"))
        >>> out = fluid.layers.hard_swish(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.3333 -0.3333  0.6667  4.    ]
    """
    return layer("hard_swish", locals())


def hash(input: Variable, hash_size: int, num_hash: int = 1, name: Optional[str] = None) -> Variable:
    """Hashes each row of ids to ``num_hash`` numbers below ``hash_size``.

    The hash is xxHash64 of the bytes of the row, with the seeds 0, 1, ..., as in Fluid, so that models keep their
    ids. Feed the result to an embedding of ``hash_size`` rows.

    Args:
        input (Variable): int32 or int64, ``[n, k]``; the last dimension is hashed as a whole. LoD is kept.
        hash_size (int): hashes are at least 0 and below this number.
        num_hash (int): hashes of each row.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: int64, ``[n, num_hash, 1]``.

    Raises:
        TypeError: the ids are no integers.

    Example:
        >>> ids = fluid.layers.assign(np.array([[1, 2], [3, 4]], "int32"))
        >>> hashed = fluid.layers.hash(ids, hash_size=1000, num_hash=2)
        >>> out = fluid.Executor().run(fetch_list=[hashed])[0]
        >>> out.shape, bool((out < 1000).all())
        ((2, 2, 1), True)
    """
    return layer("hash", locals())


def im2sequence(
    input: Variable, filter_size: Union[int, Sequence[Any]] = 1, stride: Union[int, Sequence[Any]] = 1,
    padding: Union[int, Sequence[Any]] = 0, input_image_size: Optional[Variable] = None,
    out_stride: Union[int, Sequence[Any]] = 1, name: Optional[str] = None,
) -> Variable:
    """Cuts images into windows, which become the rows of a sequence per image.

    A row holds all channels of a window. The windows of an image follow each other from left to right and from top
    to bottom. Networks that read lines of text from images use it before a recurrent layer.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``.
        filter_size (int, list or tuple): the window: ``[vertical, horizontal]``, or one number for both.
        stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for both.
        padding (int, list or tuple): zeros around the image: one number, ``[vertical, horizontal]`` or
            ``[top, left, bottom, right]``.
        input_image_size (Variable): ``[batch, 2]``: height and width of each image before it was made smaller by
            ``out_stride``; windows beyond them are left out. ``None``: all windows.
        out_stride (int, list or tuple): by how much images were made smaller: ``[vertical, horizontal]``, or one
            number for both; only with ``input_image_size``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[windows of all images, channels * window height * window width]``, with a LoD of one sequence
            per image.

    Example:
        >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
        >>> out = fluid.layers.im2sequence(image, filter_size=2)
        >>> tensor = fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]
        >>> np.array(tensor).tolist(), tensor.lod()
        ([[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]], [[0, 4]])
    """
    return layer("im2sequence", locals())


def image_resize(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None, resample: str = 'BILINEAR',
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCHW',
) -> Variable:
    """Resizes images to ``out_shape`` or by the factor ``scale``.

    ``BILINEAR`` interpolates between four pixels, ``BICUBIC`` on curves of third degree through sixteen pixels,
    ``NEAREST`` takes the nearest one, ``TRILINEAR`` is for volumes. ``resize_bilinear``, ``resize_nearest`` and
    ``resize_trilinear`` are the same with a fixed ``resample``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``; for ``TRILINEAR``
            ``[batch, channels, depth, height, width]``; or channels last.
        out_shape (list, tuple or Variable): ``[height, width]`` of the result, for ``TRILINEAR``
            ``[depth, height, width]``. A Variable is int32 with one dimension; elements of a list may be Variables
            ``[1]``. ``None``: ``scale`` counts.
        scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
            ``None``; a Variable is float32 ``[1]``.
        name (str): prefix of the names of its variables.
        resample (str): ``BILINEAR``, ``BICUBIC``, ``NEAREST`` or ``TRILINEAR``.
        actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
            ``None``: not used.
        align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
            of the images do.
        align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
            ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
            that of the result; ``BICUBIC`` does as with 0.
        data_format (str): ``NCHW`` or ``NHWC``, for ``TRILINEAR`` ``NCDHW`` or ``NDHWC``: where the channels are.

    Returns:
        Variable: the sizes of ``input`` but for height and width (and depth).

    Raises:
        ValueError: neither ``out_shape`` nor a positive ``scale`` is given.
        ValueError: ``resample`` is unknown.

    Example:
        >>> image = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32").reshape(1, 1, 2, 2))
        >>> out = fluid.layers.image_resize(image, out_shape=[3, 3])
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[1.0, 1.5, 2.0], [2.0, 2.5, 3.0], [3.0, 3.5, 4.0]]]]
        >>> curve = fluid.layers.assign(np.array([0, 0, 1, 0, 0], "float32").reshape(1, 1, 1, 5))
        >>> out = fluid.layers.image_resize(curve, out_shape=[1, 9], resample="BICUBIC")
        >>> fluid.Executor().run(fetch_list=[out])[0].ravel().tolist()
        [0.0, -0.09375, 0.0, 0.59375, 1.0, 0.59375, 0.0, -0.09375, 0.0]
    """
    return layer("image_resize", locals())


def image_resize_short(input: Variable, out_short_len: int, resample: str = 'BILINEAR') -> Variable:
    """Resizes images so that the shorter side has a given length; the longer side keeps the ratio.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``; height and width are known.
        out_short_len (int): the length of the shorter side of the result.
        resample (str): ``BILINEAR`` or ``NEAREST``.

    Returns:
        Variable: ``[batch, channels, H, W]``.

    Raises:
        fluid.core.EnforceNotMet: height or width is not known.

    Example:
        >>> image = fluid.data("image", [None, 3, 40, 60])
        >>> fluid.layers.image_resize_short(image, out_short_len=20).shape
        (-1, 3, 20, 30)
    """
    return layer("image_resize_short", locals())


def index_select(input: Variable, index: Variable, dim: int = 0) -> Variable:
    """Takes the slices of dimension ``dim`` whose numbers are in ``index``.

    ``gather`` is the same for dimension 0.

    Args:
        input (Variable): any element type and shape.
        index (Variable): int32 or int64, ``[n]``.
        dim (int): the dimension; negative ones count from the end.

    Returns:
        Variable: the shape of ``input`` with size ``n`` along ``dim``.

    Raises:
        IndexError: an index is outside of the dimension (when the program runs).
        fluid.core.EnforceNotMet: ``input`` has no dimension ``dim``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> index = fluid.layers.assign(np.array([2, 0], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.index_select(x, index, dim=1)])[0].tolist()
        [[3.0, 1.0], [6.0, 4.0]]
    """
    return layer("index_select", locals())


def inplace_abn(
    input: Variable, act: Optional[str] = None, is_test: bool = False, momentum: float = 0.9, epsilon: float = 1e-05,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, data_layout: str = 'NCHW',
    name: Optional[str] = None, moving_mean_name: Optional[str] = None, moving_variance_name: Optional[str] = None,
    do_model_average_for_mean_and_var: bool = True, use_global_stats: bool = False, act_alpha: float = 1.0,
) -> Variable:
    """Normalizes each channel over the batch as ``batch_norm`` does, applies an activation, and writes over its input.

    The gradient computes the input again from the result, so a network keeps one tensor instead of two. Layers that
    read ``input`` and stand after this one see the result.

    Args:
        input (Variable): float32 or float64, ``[batch, channels]`` or ``[batch, channels, ...]``, or channels last
            with ``NHWC``.
        act (str): ``identity``, ``leaky_relu`` or ``elu``; ``None``: ``identity``.
        is_test (bool): use the moving mean and variance and do not change them.
        momentum (float): the share of the old value when the moving mean and variance are updated.
        epsilon (float): added to the variance, so that the division is finite.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
        bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
        data_layout (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last.
        name (str): prefix of the names of its variables.
        moving_mean_name (str): the name of the moving mean; ``None``: it is generated.
        moving_variance_name (str): the name of the moving variance; ``None``: it is generated.
        do_model_average_for_mean_and_var (bool): the moving mean and variance take part in
            ``fluid.optimizer.ModelAverage``.
        use_global_stats (bool): normalize by the moving mean and variance in training, too.
        act_alpha (float): the slope of ``leaky_relu`` below 0, or the bound of ``elu``; not 0.

    Returns:
        Variable: ``input`` itself.

    Raises:
        ValueError: ``act`` is another activation, or ``bias_attr`` is ``False``.
        fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.

    Example:
        >>> x = fluid.data("x", [None, 2])
        >>> hidden = fluid.layers.scale(x, 1.0)
        >>> out = fluid.layers.inplace_abn(hidden, act="leaky_relu", act_alpha=0.5)
        >>> out.name == hidden.name
        True
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print(exe.run(feed={"x": np.array([[1, 10], [3, 30]], "float32")}, fetch_list=[out])[0].round(3))
        [[-0.5 -0.5]
         [ 1.   1. ]]
    """
    return layer("inplace_abn", locals())


def instance_norm(
    input: Variable, epsilon: float = 1e-05, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, name: Optional[str] = None,
) -> Variable:
    """Normalizes each channel of each sample: ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.

    Mean and variance are those of one channel of one sample; they are not kept, so that training and prediction are
    the same. Style transfer uses it.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, ...]``.
        epsilon (float): added to the variance, so that the division is finite.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
        bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has only one dimension, or the number of channels is not known.

    Example:
        >>> image = fluid.data("image", [None, 1, 1, 3])
        >>> out = fluid.layers.instance_norm(image)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> pixels = np.array([1, 2, 3], "float32").reshape(1, 1, 1, 3)
        >>> print(exe.run(feed={"image": pixels}, fetch_list=[out])[0].round(3))
        [[[[-1.225  0.     1.225]]]]
    """
    return layer("instance_norm", locals())


def kron(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes the Kronecker product: every element of ``x`` times the whole of ``y``.

    The shape with fewer dimensions gets dimensions of size 1 in front; then each size of the result is the product
    of the sizes of ``x`` and ``y``.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        y (Variable): the element type of ``x``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: for matrices ``[n, m]`` and ``[p, q]`` it is ``[n * p, m * q]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "int64"))
        >>> y = fluid.layers.assign(np.array([[1, 0], [0, 1]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.kron(x, y)])[0].tolist()
        [[1, 0, 2, 0], [0, 1, 0, 2]]
    """
    return layer("kron", locals())


def l2_normalize(x: Variable, axis: int, epsilon: float = 1e-12, name: Optional[str] = None) -> Variable:
    """Divides vectors along a dimension by their L2 norm: ``x / sqrt(sum(x * x) + epsilon)``.

    Args:
        x (Variable): float32 or float64, any shape.
        axis (int): the dimension of the vectors; negative ones count from the end.
        epsilon (float): added to the sum, so that a vector of zeros stays finite.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[3, 4], [0, 2]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.l2_normalize(x, axis=1)])[0].round(4))
        [[0.6 0.8]
         [0.  1. ]]
    """
    return layer("l2_normalize", locals())


def label_smooth(
    label: Variable, prior_dist: Optional[Variable] = None, epsilon: float = 0.1, dtype: DTypeLike = 'float32',
    name: Optional[str] = None,
) -> Variable:
    """Mixes labels with a distribution: ``(1 - epsilon) * label + epsilon * prior``.

    Training with smoothed labels keeps a classifier from being overconfident. Use the result with
    ``soft_label=True``.

    Args:
        label (Variable): float32 or float64, ``[..., classes]``: distributions, usually of ``one_hot``.
        prior_dist (Variable): the distribution to mix in, ``[1, classes]``; ``None``: the uniform one,
            ``1 / classes``.
        epsilon (float): the weight of the prior, in ``[0, 1]``.
        dtype (dtype): accepted; the result has the element type of ``label``, as in Fluid.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``label``.

    Example:
        >>> label = fluid.layers.assign(np.array([[1, 0, 0, 0]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.label_smooth(label, epsilon=0.2)])[0].round(4))
        [[0.85 0.05 0.05 0.05]]
    """
    return layer("label_smooth", locals())


def layer_norm(
    input: Variable, scale: bool = True, shift: bool = True, begin_norm_axis: int = 1, epsilon: float = 1e-05,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, act: Optional[str] = None,
    name: Optional[str] = None,
) -> Variable:
    """Normalizes each sample over the dimensions from ``begin_norm_axis`` on:
    ``scale * (x - mean) / sqrt(variance + epsilon) + shift``.

    Mean and variance are those of one sample, so that training and prediction are the same. ``scale`` and ``shift``
    are trained, one number per normalized element.

    Args:
        input (Variable): float32 or float64, at least 2 dimensions.
        scale (bool): multiply by a trained scale.
        shift (bool): add a trained shift.
        begin_norm_axis (int): the first dimension that is normalized; all after it belong together.
        epsilon (float): added to the variance, so that the division is finite.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the scale; ``None``: ones.
        bias_attr (ParamAttr): the same of the shift; ``None``: zeros.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        ValueError: ``input`` has no dimension ``begin_norm_axis``.

    Example:
        >>> x = fluid.data("x", [None, 3])
        >>> out = fluid.layers.layer_norm(x)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print(exe.run(feed={"x": np.array([[1, 2, 3]], "float32")}, fetch_list=[out])[0].round(3))
        [[-1.225  0.     1.225]]
    """
    return layer("layer_norm", locals())


def leaky_relu(x: Variable, alpha: float = 0.02, name: Optional[str] = None) -> Variable:
    """Computes ``max(x, alpha * x)``, element by element: ``x`` where it is positive, otherwise ``alpha * x``.

    Unlike ``relu``, it has a gradient for negative arguments: ``alpha``.

    Args:
        x (Variable): float32 or float64, any shape.
        alpha (float): slope below 0; smaller than 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0, 3], "float32"))
        >>> out = fluid.layers.leaky_relu(x, alpha=0.5)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-1.0, 0.0, 3.0]
    """
    return layer("leaky_relu", locals())


def linear_chain_crf(
    input: Variable, label: Variable, param_attr: Optional[ParamLike] = None, length: Optional[Variable] = None,
) -> Variable:
    """Computes the cost of tag sequences in a linear chain conditional random field: the negative logarithm of their
    probability.

    The score of a sequence is the sum of the ``input`` of its tags and of the transitions between neighbouring
    tags. The transitions are a parameter ``[tags + 2, tags]``: row 0 holds the scores of starts, row 1 those of
    ends, row ``2 + i`` those of each tag after tag ``i``. ``crf_decoding`` with the same ``param_attr`` finds the
    best tags.

    Args:
        input (Variable): float32 or float64: scores of the tags, ``[rows, tags]`` with LoD, or
            ``[batch, steps, tags]`` with ``length``.
        label (Variable): int64: the true tags, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with ``length``.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the transitions; give it a name
            for ``crf_decoding``.
        length (Variable): int64, ``[batch]``: the steps of each sequence of a padded input; ``None``: the input has
            LoD.

    Returns:
        Variable: ``[sequences, 1]``; ``mean`` of it is the loss.

    Raises:
        IndexError: a label is no tag (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 1], [0, 1]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 3])
        >>> tags = fluid.layers.assign(np.array([[0], [1], [1]], "int64"))
        >>> tags = fluid.layers.lod_reset(tags, target_lod=[0, 2, 3])
        >>> attr = fluid.ParamAttr("crf", initializer=fluid.initializer.Constant(0.0))
        >>> cost = fluid.layers.linear_chain_crf(x, tags, param_attr=attr)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print(exe.run(fetch_list=[cost])[0].round(4))
        [[3.4402]
         [0.3133]]
    """
    return layer("linear_chain_crf", locals())


def log(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the natural logarithm ``ln(x)``, element by element.

    0 gives minus infinity and negative arguments give ``nan``; neither is an error. Use ``clip`` first where zeros
    can occur.

    Args:
        x (Variable): float32 or float64, any shape; elements should be positive.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 10, 100], "float32"))
        >>> out = fluid.layers.log(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.     2.3026 4.6052]
    """
    return layer("log", locals())


def log1p(x: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes ``log(1 + x)``, element by element, accurately also for ``x`` near 0.

    -1 gives minus infinity and smaller arguments give ``nan``. Counts are often scaled this way, because 0 stays 0.

    Args:
        x (Variable): float32 or float64, any shape; elements above -1.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([0, 1, 99], "float32"))
        >>> out = fluid.layers.log1p(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.     0.6931 4.6052]
    """
    return layer("log1p", locals())


def log_loss(input: Variable, label: Variable, epsilon: float = 0.0001, name: Optional[str] = None) -> Variable:
    """Computes the negative log likelihood of two classes:
    ``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``.

    Args:
        input (Variable): float32, ``[batch, 1]``: probabilities of class 1, usually those of ``sigmoid``.
        label (Variable): float32, ``[batch, 1]``: 0 or 1, or a probability.
        epsilon (float): added to the arguments of the logarithms, so that they are finite.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` and ``label`` differ in shape.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0.9], [0.2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1], [0]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.log_loss(predicted, label)])[0].round(4))
        [[0.1052]
         [0.223 ]]
    """
    return layer("log_loss", locals())


def log_softmax(
    input: Variable, axis: Optional[int] = None, dtype: Optional[DTypeLike] = None, name: Optional[str] = None,
) -> Variable:
    """Computes the logarithm of the softmax along a dimension: ``x - log(sum(exp(x)))``.

    It is finite also where ``softmax`` gives 0.

    Args:
        input (Variable): float32 or float64, any shape.
        axis (int): the dimension of the classes; negative ones count from the end; ``None``: the last one.
        dtype (dtype): the element type to which ``input`` is cast first: float32 or float64; ``None``: that of
            ``input``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 0], [0, 1]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.log_softmax(x)])[0].round(4))
        [[-0.6931 -0.6931]
         [-1.3133 -0.3133]]
    """
    return layer("log_softmax", locals())


def logical_and(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes ``x and y`` of truth values, element by element.

    Args:
        x (Variable): bool, any shape.
        y (Variable): bool, the shape of ``x``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: an operand is not bool.
        fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.

    Example:
        >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
        >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_and(x, y)])[0].tolist()
        [True, False, False]
    """
    return layer("logical_and", locals())


def logical_not(x: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes ``not x`` of truth values, element by element.

    Args:
        x (Variable): bool, any shape.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: ``x`` is not bool.

    Example:
        >>> x = fluid.layers.assign(np.array([True, False], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_not(x)])[0].tolist()
        [False, True]
    """
    return layer("logical_not", locals())


def logical_or(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes ``x or y`` of truth values, element by element.

    Args:
        x (Variable): bool, any shape.
        y (Variable): bool, the shape of ``x``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: an operand is not bool.
        fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.

    Example:
        >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
        >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_or(x, y)])[0].tolist()
        [True, True, False]
    """
    return layer("logical_or", locals())


def logical_xor(x: Variable, y: Variable, out: Optional[Variable] = None, name: Optional[str] = None) -> Variable:
    """Computes the exclusive or of truth values, element by element: true where exactly one of ``x`` and ``y`` is.

    Args:
        x (Variable): bool, any shape.
        y (Variable): bool, the shape of ``x``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool, the shape of ``x``. No gradient flows through it.

    Raises:
        TypeError: an operand is not bool.
        fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.

    Example:
        >>> x = fluid.layers.assign(np.array([True, True, False], "bool"))
        >>> y = fluid.layers.assign(np.array([True, False, False], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.logical_xor(x, y)])[0].tolist()
        [False, True, False]
    """
    return layer("logical_xor", locals())


def lrn(
    input: Variable, n: int = 5, k: float = 1.0, alpha: float = 0.0001, beta: float = 0.75,
    name: Optional[str] = None, data_format: str = 'NCHW',
) -> Variable:
    """Divides each element by the squares of neighbouring channels: ``x / (k + alpha * sum(x * x)) ** beta``.

    The sum is over the ``n`` channels around that of the element (local response normalization).

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``.
        n (int): the number of channels in the sum; odd.
        k (float): added to the sum; positive.
        alpha (float): factor of the sum.
        beta (float): the exponent.
        name (str): prefix of the names of its variables.
        data_format (str): only ``NCHW``; transpose before and after for other formats.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        ValueError: ``n`` is even.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32").reshape(1, 3, 1, 1))
        >>> out = fluid.layers.lrn(x, n=3, alpha=1.0, beta=0.5)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].ravel().round(4))
        [0.4082 0.5164 0.8018]
    """
    return layer("lrn", locals())


def matmul(
    x: Variable, y: Variable, transpose_x: bool = False, transpose_y: bool = False, alpha: float = 1.0,
    name: Optional[str] = None,
) -> Variable:
    """Computes ``alpha * x @ y``: the product of matrices, or of batches of matrices, as ``numpy.matmul``.

    The last two dimensions are the matrices. The dimensions before them are the batch: they are equal, or one
    operand is a single matrix, which is used for the whole batch. An operand with one dimension is a row on the
    left and a column on the right; the result then lacks that dimension, and of two vectors it is ``[1]``.

    Args:
        x (Variable): float32 or float64, ``[..., n, k]``.
        y (Variable): the element type of ``x``, ``[..., k, m]``.
        transpose_x (bool): ``x`` is ``[..., k, n]``; its last two dimensions are exchanged first.
        transpose_y (bool): ``y`` is ``[..., m, k]``; its last two dimensions are exchanged first.
        alpha (float): a factor of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[..., n, m]``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``x`` and ``y`` do not fit.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([[1, 0], [1, 1]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.matmul(x, y)])[0].tolist()
        [[3.0, 2.0], [7.0, 4.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.matmul(x, y, transpose_y=True, alpha=0.5)])[0].tolist()
        [[0.5, 1.5], [1.5, 3.5]]
        >>> queries, keys = fluid.data("queries", [None, 8, 2, 3]), fluid.data("keys", [None, 8, 4, 3])
        >>> fluid.layers.matmul(queries, keys, transpose_y=True).shape
        (-1, 8, 2, 4)
    """
    return layer("matmul", locals())


def maxout(x: Variable, groups: int, name: Optional[str] = None, axis: int = 1) -> Variable:
    """Takes the largest of each ``groups`` neighbouring channels, position by position.

    Channel ``c`` of the result is the maximum of the channels ``c * groups`` to ``c * groups + groups - 1``. The
    gradient goes to that maximum.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, height, width]``; with ``axis`` 3 the channels are
            last.
        groups (int): the number of channels in a group; it divides the number of channels.
        name (str): prefix of the names of its variables.
        axis (int): the dimension of the channels: 1, or 3 or -1.

    Returns:
        Variable: ``[batch, channels / groups, height, width]``.

    Raises:
        fluid.core.EnforceNotMet: ``groups`` does not divide the number of channels.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 5, 7, 2], "float32").reshape(1, 4, 1, 1))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.maxout(x, groups=2)])[0].tolist()
        [[[[5.0]], [[7.0]]]]
    """
    return layer("maxout", locals())


def mean(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the mean of all elements; usually it makes a loss of the costs of a batch.

    The gradient of every element is ``1 / n``. For means along dimensions use ``reduce_mean``.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[1]``, the element type of ``x``.

    Raises:
        TypeError: the elements are no floats; cast them first.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.mean(x)])[0].tolist()
        [3.0]
    """
    return layer("mean", locals())


def mean_iou(input: Variable, label: Variable, num_classes: int) -> Tuple[Variable, ...]:
    """Computes the mean over classes of intersection over union, a measure of segmentation.

    The intersection of a class are the pixels where it is predicted and true, the union those where it is one of
    them. Classes that do not occur are left out. No gradient flows through it.

    Args:
        input (Variable): int32 or int64, any shape: predicted classes.
        label (Variable): the type and shape of ``input``: the true classes.
        num_classes (int): the number of classes.

    Returns:
        tuple: (mean_iou, wrong, correct): float32 ``[1]``, and two int32 ``[num_classes]``: the pixels of each
            class that are predicted or true but not both, and those that are both.

    Raises:
        IndexError: a class is not below ``num_classes`` (when the program runs).

    Example:
        >>> predicted = fluid.layers.assign(np.array([0, 1, 1, 2], "int64"))
        >>> label = fluid.layers.assign(np.array([0, 1, 2, 2], "int64"))
        >>> found = fluid.layers.mean_iou(predicted, label, num_classes=3)
        >>> print([a.round(4).tolist() for a in fluid.Executor().run(fetch_list=list(found))[1:]])
        [[0, 1, 1], [1, 1, 1]]
    """
    return layer("mean_iou", locals())


def merge_selected_rows(x: Variable, name: Optional[str] = None) -> Variable:
    """Adds up the duplicate rows of SelectedRows, so that every row number occurs once.

    SelectedRows are the gradients of sparse embeddings: row numbers and a value for each of them.

    Args:
        x (Variable): SelectedRows.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: SelectedRows with distinct row numbers.

    Example:
        >>> ids = fluid.layers.assign(np.array([[1], [3], [1]], "int64"))
        >>> rows = fluid.layers.embedding(ids, [5, 2], is_sparse=True, param_attr="table")
        >>> grads = fluid.backward.append_backward(fluid.layers.reduce_sum(rows))
        >>> merged = fluid.layers.merge_selected_rows(grads[0][1])
        >>> values = fluid.layers.get_tensor_from_selected_rows(merged)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[values])[0].tolist()
        [[2.0, 2.0], [1.0, 1.0]]
    """
    return layer("merge_selected_rows", locals())


def meshgrid(input: Sequence[Variable], name: Optional[str] = None) -> List[Variable]:
    """Makes the coordinates of a grid from one vector per dimension.

    Result ``i`` varies along dimension ``i`` only, where it holds ``input[i]``.

    Args:
        input (list of Variable): ``n`` vectors of one element type.
        name (str): prefix of the names of its variables.

    Returns:
        list: ``n`` Variables of ``n`` dimensions, whose sizes are the lengths of the vectors.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "int64"))
        >>> y = fluid.layers.assign(np.array([3, 4, 5], "int64"))
        >>> rows, columns = fluid.layers.meshgrid([x, y])
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[rows, columns])]
        [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    """
    return layer("meshgrid", locals())


def mish(x: Variable, threshold: float = 20, name: Optional[str] = None) -> Variable:
    """Computes ``x * tanh(log(1 + exp(x)))``, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): above it ``log(1 + exp(x))`` is taken as ``x``, below ``-threshold`` as ``exp(x)``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> out = fluid.layers.mish(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.3034  0.      1.944 ]
    """
    return layer("mish", locals())


def mul(
    x: Variable, y: Variable, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: Optional[str] = None,
) -> Variable:
    """Computes the product of two matrices, to which the operands are flattened.

    The first ``x_num_col_dims`` dimensions of ``x`` are the rows of its matrix and the others are its columns; the
    same holds for ``y`` and ``y_num_col_dims``. ``fc`` uses it. For batches of matrices use ``matmul``.

    Args:
        x (Variable): float32 or float64, at least 2 dimensions.
        y (Variable): the element type of ``x``; its matrix has as many rows as that of ``x`` has columns.
        x_num_col_dims (int): the number of dimensions of ``x`` that make the rows.
        y_num_col_dims (int): the number of dimensions of ``y`` that make the rows.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the first ``x_num_col_dims`` dimensions of ``x``, then the dimensions of ``y`` from
            ``y_num_col_dims`` on.

    Raises:
        fluid.core.EnforceNotMet: the columns of ``x`` and the rows of ``y`` differ in number.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([[1, 1, 0], [0, 1, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.mul(x, y)])[0].tolist()
        [[1.0, 3.0, 4.0], [3.0, 7.0, 8.0]]
        >>> image, w = fluid.data("image", [None, 4, 5]), fluid.data("w", [20, 3])
        >>> fluid.layers.mul(image, w).shape
        (-1, 3)
    """
    return layer("mul", locals())


def multiplex(inputs: Sequence[Variable], index: Variable) -> Variable:
    """Chooses each row from one of several tensors: row ``i`` of the result is row ``i`` of ``inputs[index[i]]``.

    Args:
        inputs (list of Variable): at least two tensors of one shape and element type, ``[batch, ...]``.
        index (Variable): int32 or int64, ``[batch, 1]``: the number of the input that each row comes from.

    Returns:
        Variable: the shape of an input.

    Raises:
        ValueError: there are fewer than two inputs.
        IndexError: an index is no number of an input (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([[10, 20], [30, 40]], "float32"))
        >>> index = fluid.layers.assign(np.array([[1], [0]], "int32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.multiplex([x, y], index)])[0].tolist()
        [[10.0, 20.0], [3.0, 4.0]]
    """
    return layer("multiplex", locals())


def one_hot(input: Variable, depth: int, allow_out_of_range: bool = False) -> Variable:
    """Makes a vector per id with 1 at the position of the id and 0 elsewhere.

    The last dimension of the ids has size 1 and becomes ``depth``; ``fluid.one_hot`` takes ids without that
    dimension. No gradient flows through it.

    Args:
        input (Variable): int64 or int32, ``[..., 1]``: ids from 0 to ``depth - 1``.
        depth (int): the length of the vectors.
        allow_out_of_range (bool): another id gives zeros instead of an error.

    Returns:
        Variable: float32, ``[..., depth]``.

    Raises:
        IndexError: an id is not in ``[0, depth)``, without ``allow_out_of_range`` (when the program runs).

    Example:
        >>> ids = fluid.layers.assign(np.array([[1], [0]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.one_hot(ids, depth=3)])[0].tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return layer("one_hot", locals())


def pad(x: Variable, paddings: Sequence[Any], pad_value: float = 0.0, name: Optional[str] = None) -> Variable:
    """Adds elements of one value before and after the tensor along each dimension.

    The gradient of the added elements is dropped.

    Args:
        x (Variable): any element type and shape.
        paddings (list): ``[before_0, after_0, before_1, after_1, ...]``: two numbers per dimension of ``x``.
        pad_value (float): the value of the added elements.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: dimension ``i`` has the size ``before_i + x.shape[i] + after_i``.

    Raises:
        ValueError: there are not two numbers per dimension.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.pad(x, [0, 1, 1, 0], pad_value=9.0)])[0].tolist()
        [[9.0, 1.0, 2.0], [9.0, 9.0, 9.0]]
    """
    return layer("pad", locals())


def pad2d(
    input: Variable, paddings: Union[Sequence[Any], Variable] = [0, 0, 0, 0], mode: str = 'constant',
    pad_value: float = 0.0, data_format: str = 'NCHW', name: Optional[str] = None,
) -> Variable:
    """Adds pixels at the four sides of images.

    Args:
        input (Variable): float32, float64, int32 or int64, ``[batch, channels, height, width]``, or channels last
            with ``NHWC``.
        paddings (list, tuple or Variable): ``[top, bottom, left, right]``; a Variable is int32 ``[4]``.
        mode (str): ``constant``: pixels of ``pad_value``; ``reflect``: the image is mirrored, without its border;
            ``edge``: the border is repeated.
        pad_value (float): the value of the pixels of ``constant``.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, channels, top + height + bottom, left + width + right]``.

    Raises:
        ValueError: ``mode`` is unknown.

    Example:
        >>> image = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32").reshape(1, 1, 2, 2))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.pad2d(image, paddings=[1, 0, 0, 1])])[0].tolist()
        [[[[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]]]
        >>> out = fluid.layers.pad2d(image, paddings=[1, 0, 0, 1], mode="reflect")
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[3.0, 4.0, 3.0], [1.0, 2.0, 1.0], [3.0, 4.0, 3.0]]]]
    """
    return layer("pad2d", locals())


def pad_constant_like(x: Variable, y: Variable, pad_value: float = 0.0, name: Optional[str] = None) -> Variable:
    """Pads ``y`` with ``pad_value`` at the end of each dimension until it has the shape of ``x``.

    Args:
        x (Variable): gives the shape; its values are not used.
        y (Variable): as many dimensions as ``x``, none of them larger.
        pad_value (float): the value of the added elements.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``x``, the element type of ``y``.

    Raises:
        fluid.core.EnforceNotMet: ``y`` is larger than ``x`` along a dimension.

    Example:
        >>> x = fluid.layers.zeros([2, 3], "float32")
        >>> y = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.pad_constant_like(x, y, pad_value=-1.0)])[0].tolist()
        [[1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]
    """
    return layer("pad_constant_like", locals())


def pixel_shuffle(x: Variable, upscale_factor: int) -> Variable:
    """Rearranges channels into pixels: ``[batch, c * r * r, h, w]`` becomes ``[batch, c, h * r, w * r]``.

    It makes images larger after a convolution with ``r * r`` times the channels (sub-pixel convolution).

    Args:
        x (Variable): float32 or float64, ``[batch, channels, height, width]``.
        upscale_factor (int): ``r``; its square divides the number of channels.

    Returns:
        Variable: ``[batch, channels / r / r, height * r, width * r]``.

    Raises:
        fluid.core.EnforceNotMet: the square of ``upscale_factor`` does not divide the channels.

    Example:
        >>> x = fluid.layers.assign(np.arange(4, dtype="float32").reshape(1, 4, 1, 1))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.pixel_shuffle(x, upscale_factor=2)])[0].tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    return layer("pixel_shuffle", locals())


def pool2d(
    input: Variable, pool_size: Union[int, Sequence[Any]] = -1, pool_type: str = 'max',
    pool_stride: Union[int, Sequence[Any]] = 1, pool_padding: Union[int, Sequence[Any], str] = 0,
    global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False, name: Optional[str] = None,
    exclusive: bool = True, data_format: str = 'NCHW',
) -> Variable:
    """Takes the maximum or the mean of each window of images, channel by channel.

    The gradient of a maximum goes to the pixel that was taken, the gradient of a mean to all pixels of the window.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
        pool_size (int, list or tuple): the window: ``[vertical, horizontal]``, or one number for both. It must be
            given unless ``global_pooling`` is true.
        pool_type (str): ``max``: the largest element; ``avg``: the mean.
        pool_stride (int, list or tuple): the steps of the window: ``[vertical, horizontal]``, or one number for
            both.
        pool_padding (int, list, tuple or str): pixels around the image: one number, ``[vertical, horizontal]``,
            ``[top, bottom, left, right]``, ``"SAME"`` or ``"VALID"``. They never are a maximum.
        global_pooling (bool): one window over the whole image; ``pool_size`` and ``pool_padding`` are not used.
        use_cudnn (bool): accepted; computation is on the CPU.
        ceil_mode (bool): round the size of the result up instead of down: windows that reach over the border count,
            too.
        name (str): prefix of the names of its variables.
        exclusive (bool): a mean does not count the padding.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.

    Returns:
        Variable: ``[batch, channels, H, W]`` with
            ``H = (height - pool_size + 2 * pool_padding) // pool_stride + 1``, and ``W`` likewise; ``H`` and ``W``
            are 1 with ``global_pooling``.

    Raises:
        ValueError: ``pool_type`` is unknown, or there is no ``pool_size``.

    Example:
        >>> image = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 1, 4, 4))
        >>> out = fluid.layers.pool2d(image, pool_size=2, pool_type="max", pool_stride=2)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[5.0, 7.0], [13.0, 15.0]]]]
        >>> out = fluid.layers.pool2d(image, pool_type="avg", global_pooling=True)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[7.5]]]]
        >>> photo = fluid.data("photo", [None, 16, 32, 32])
        >>> fluid.layers.pool2d(photo, pool_size=3, pool_type="avg", pool_stride=2, pool_padding=1).shape
        (-1, 16, 16, 16)
    """
    return layer("pool2d", locals())


def pool3d(
    input: Variable, pool_size: Union[int, Sequence[Any]] = -1, pool_type: str = 'max',
    pool_stride: Union[int, Sequence[Any]] = 1, pool_padding: Union[int, Sequence[Any], str] = 0,
    global_pooling: bool = False, use_cudnn: bool = True, ceil_mode: bool = False, name: Optional[str] = None,
    exclusive: bool = True, data_format: str = 'NCDHW',
) -> Variable:
    """Takes the maximum or the mean of each window of volumes, channel by channel.

    It is ``pool2d`` with one more dimension.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
            ``NDHWC``.
        pool_size (int, list or tuple): the window: ``[depth, height, width]``, or one number for all. It must be
            given unless ``global_pooling`` is true.
        pool_type (str): ``max``: the largest element; ``avg``: the mean.
        pool_stride (int, list or tuple): the steps of the window: ``[depth, height, width]``, or one number for
            all.
        pool_padding (int, list, tuple or str): elements around the volume: one number, one per dimension, two per
            dimension (front, back, top, bottom, left, right), ``"SAME"`` or ``"VALID"``. They never are a maximum.
        global_pooling (bool): one window over the whole volume; ``pool_size`` and ``pool_padding`` are not used.
        use_cudnn (bool): accepted; computation is on the CPU.
        ceil_mode (bool): round the size of the result up instead of down: windows that reach over the border count,
            too.
        name (str): prefix of the names of its variables.
        exclusive (bool): a mean does not count the padding.
        data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
            same format.

    Returns:
        Variable: ``[batch, channels, D, H, W]`` with
            ``D = (depth - pool_size + 2 * pool_padding) // pool_stride + 1``, and ``H`` and ``W`` likewise.

    Raises:
        ValueError: ``pool_type`` is unknown, or there is no ``pool_size``.

    Example:
        >>> video = fluid.data("video", [None, 3, 12, 32, 32])
        >>> fluid.layers.pool3d(video, pool_size=2, pool_type="avg", pool_stride=2).shape
        (-1, 3, 6, 16, 16)
    """
    return layer("pool3d", locals())


def pow(x: Variable, factor: Union[Variable, float] = 1.0, name: Optional[str] = None) -> Variable:
    """Raises each element to the power of ``factor``.

    A negative element with a factor that is no whole number gives ``nan``. For a different exponent per element use
    ``elementwise_pow``.

    Args:
        x (Variable): float32, float64, int32 or int64, any shape.
        factor (Variable or float): the exponent; a Variable is float32 with the shape ``[1]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2, 3], "float32"))
        >>> out = fluid.layers.pow(x, factor=3.0)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [1.0, 8.0, 27.0]
    """
    return layer("pow", locals())


def prelu(x: Variable, mode: str, param_attr: Optional[ParamLike] = None, name: Optional[str] = None) -> Variable:
    """Computes ``max(x, 0) + weight * min(x, 0)`` with a trained slope ``weight`` for negative elements.

    The slope starts at 0.25 unless ``param_attr`` has an initializer.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, ...]``.
        mode (str): ``all``: one slope; ``channel``: one per channel (dimension 1); ``element``: one per element of
            a sample.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the slopes.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        ValueError: ``mode`` is none of the three.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[-4.0, 2.0]]]], "float32"))
        >>> out = fluid.layers.prelu(x, mode="all")
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[out])[0].tolist()
        [[[[-1.0, 2.0]]]]
    """
    return layer("prelu", locals())


def prroi_pool(
    input: Variable, rois: Variable, spatial_scale: float = 1.0, pooled_height: int = 1, pooled_width: int = 1,
    batch_roi_nums: Optional[Variable] = None, name: Optional[str] = None,
) -> Variable:
    """Pools regions of a feature map to one size: the integral of every part over its area.

    The map is linear between pixels and 0 outside, so nothing is rounded, and gradients flow into ``input`` and
    ``rois``.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
        rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
            pixels of the image.
        spatial_scale (float): the size of the feature map over that of the image.
        pooled_height (int): rows of the result.
        pooled_width (int): columns of the result.
        batch_roi_nums (Variable): int64, ``[batch]``: the number of regions of each image, instead of the LoD.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[regions, channels, pooled_height, pooled_width]``.

    Raises:
        TypeError: a number has another Python type than is listed; ``spatial_scale`` must not be an int.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.prroi_pool(x, rois)])[0].tolist()
        [[[[3.25]]]]
    """
    return layer("prroi_pool", locals())


def psroi_pool(
    input: Variable, rois: Variable, output_channels: int, spatial_scale: float, pooled_height: int,
    pooled_width: int, name: Optional[str] = None,
) -> Variable:
    """Pools regions of a feature map to one size: the mean of every part, each from channels of its own.

    Channel ``(c * pooled_height + i) * pooled_width + j`` of ``input`` is channel ``c`` of part ``(i, j)``. R-FCN uses
    it. Gradients flow into ``input``.

    Args:
        input (Variable): the feature map, float32 or float64,
            ``[batch, output_channels * pooled_height * pooled_width, h, w]``.
        rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
            pixels of the image.
        output_channels (int): channels of the result.
        spatial_scale (float): the size of the feature map over that of the image.
        pooled_height (int): rows of the result.
        pooled_width (int): columns of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[regions, output_channels, pooled_height, pooled_width]``; 0 where a part has no pixels.

    Raises:
        TypeError: a number has another Python type than is listed; ``spatial_scale`` must not be an int.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 3]], [[5, 9]], [[2, 4]], [[6, 8]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 0]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.psroi_pool(x, rois, 2, 1.0, 1, 2)])[0].tolist()
        [[[[1.0, 9.0]], [[2.0, 8.0]]]]
    """
    return layer("psroi_pool", locals())


def randint(
    low: int, high: Optional[int] = None, shape: Optional[Union[Sequence[Any], Variable]] = None,
    out: Optional[Variable] = None, dtype: Optional[DTypeLike] = None, device: Optional[str] = None,
    stop_gradient: bool = False, seed: int = 0, name: Optional[str] = None,
) -> Variable:
    """Makes a tensor of random whole numbers that are uniformly distributed over ``[low, high)``.

    Args:
        low (int): the smallest number; with ``high=None`` the upper bound, and the smallest number is 0.
        high (int): upper bound, excluded; ``None``: numbers lie in ``[0, low)``.
        shape (list, tuple or Variable): the sizes; ``None``: ``[1]``. A Variable is int32 with one dimension;
            elements of a list may be Variables ``[1]``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        dtype (dtype): the element type, int32 or int64; ``None``: int64.
        device (str): accepted; values are always on the CPU.
        stop_gradient (bool): the result's ``stop_gradient``: no gradient is computed for it.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``shape``, of ``dtype``.

    Raises:
        ValueError: ``low`` is not below ``high``.
        TypeError: ``dtype`` is neither int32 nor int64.

    Example:
        >>> x = fluid.layers.randint(low=3, high=6, shape=[50], seed=1)
        >>> sorted(set(fluid.Executor().run(fetch_list=[x])[0].tolist()))
        [3, 4, 5]
    """
    return layer("randint", locals())


def random_crop(x: Variable, shape: Sequence[Any], seed: Optional[Union[int, Variable]] = None) -> Variable:
    """Takes a part of each sample, at a random place, which is another one in every step.

    Args:
        x (Variable): float32, float64, int32, int16 or uint8; the first dimensions, all but those of ``shape``, number
            the samples.
        shape (list): the sizes of a part: those of the last dimensions of the result. Each is at most that of ``x``.
        seed (int or Variable): the first seed; each step derives the next one from it. A Variable is int64 ``[1]`` and
            holds the state. ``None``: a seed is drawn, or follows from ``Program.random_seed`` if that is set.

    Returns:
        Variable: the sizes of ``x``, with ``shape`` for the last ones. No gradient flows through it.

    Raises:
        fluid.core.EnforceNotMet: ``shape`` has as many sizes as ``x``, or a part is larger than a sample.

    Example:
        >>> image = fluid.data("image", [None, 3, 256, 256])
        >>> fluid.layers.random_crop(image, shape=[3, 224, 224]).shape
        (-1, 3, 224, 224)
        >>> numbers = fluid.layers.assign(np.arange(12, dtype="int32").reshape(1, 3, 4))
        >>> out = fluid.layers.random_crop(numbers, shape=[2, 2], seed=7)
        >>> fluid.Executor().run(feed={"image": np.zeros([1, 3, 256, 256], "float32")}, fetch_list=[out])[0].tolist()
        [[[1, 2], [5, 6]]]
    """
    return layer("random_crop", locals())


def rank(input: Variable) -> Variable:
    """Returns the number of dimensions of a tensor.

    Args:
        input (Variable): any element type and shape.

    Returns:
        Variable: int32, a constant of one element.

    Example:
        >>> x = fluid.data("x", [None, 3, 32])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.rank(x)])[0].tolist()
        [3]
    """
    return layer("rank", locals())


def reduce_all(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Computes the logical ``and`` of the elements over one, several or all dimensions.

    No gradient flows through it.

    Args:
        input (Variable): bool, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool; the shape of ``input`` without the reduced dimensions, ``[1]`` if all are reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[True, False], [True, True]], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_all(x, dim=1)])[0].tolist()
        [False, True]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_all(x)])[0].tolist()
        [False]
    """
    return layer("reduce_all", locals())


def reduce_any(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Computes the logical ``or`` of the elements over one, several or all dimensions.

    No gradient flows through it.

    Args:
        input (Variable): bool, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: bool; the shape of ``input`` without the reduced dimensions, ``[1]`` if all are reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[True, False], [False, False]], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_any(x, dim=1)])[0].tolist()
        [True, False]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_any(x)])[0].tolist()
        [True]
    """
    return layer("reduce_any", locals())


def reduce_max(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Finds the largest element over one, several or all dimensions.

    The gradient goes to every element that equals the maximum.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
            reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_max(x, dim=1)])[0].tolist()
        [5.0, 4.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_max(x)])[0].tolist()
        [5.0]
    """
    return layer("reduce_max", locals())


def reduce_mean(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Computes the mean of the elements over one, several or all dimensions.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape. The mean of integers is rounded towards 0.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
            reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_mean(x, dim=0)])[0].tolist()
        [2.0, 4.0]
        >>> volume = fluid.data("volume", [None, 3, 4])
        >>> fluid.layers.reduce_mean(volume, dim=[1, 2], keep_dim=True).shape
        (-1, 1, 1)
    """
    return layer("reduce_mean", locals())


def reduce_min(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Finds the smallest element over one, several or all dimensions.

    The gradient goes to every element that equals the minimum.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
            reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_min(x, dim=1)])[0].tolist()
        [1.0, 3.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_min(x, dim=0, keep_dim=True)])[0].tolist()
        [[1.0, 4.0]]
    """
    return layer("reduce_min", locals())


def reduce_prod(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Multiplies the elements over one, several or all dimensions.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
            reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_prod(x, dim=1)])[0].tolist()
        [2.0, 12.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_prod(x)])[0].tolist()
        [24.0]
    """
    return layer("reduce_prod", locals())


def reduce_sum(
    input: Variable, dim: Optional[Union[int, Sequence[Any]]] = None, keep_dim: bool = False,
    name: Optional[str] = None,
) -> Variable:
    """Sums the elements over one, several or all dimensions.

    Args:
        input (Variable): float32, float64, int32 or int64, any shape.
        dim (int or list): the dimensions to reduce; negative ones count from the end; ``None``: all.
        keep_dim (bool): keep each reduced dimension with size 1 instead of removing it.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the element type of ``input``; its shape without the reduced dimensions, ``[1]`` if all are
            reduced.

    Raises:
        fluid.core.EnforceNotMet: ``dim`` names a dimension that ``input`` does not have.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x)])[0].tolist()
        [10.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=1)])[0].tolist()
        [3.0, 7.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=-1, keep_dim=True)])[0].tolist()
        [[3.0], [7.0]]
    """
    return layer("reduce_sum", locals())


def relu(x: Variable, name: Optional[str] = None) -> Variable:
    """Computes the rectified linear unit ``max(x, 0)``, element by element.

    The gradient passes where ``x > 0`` and is 0 elsewhere, also at 0.

    Args:
        x (Variable): float32 or float64, any shape.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> out = fluid.layers.relu(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [0.0, 0.0, 2.0]
    """
    return layer("relu", locals())


def relu6(x: Variable, threshold: float = 6.0, name: Optional[str] = None) -> Variable:
    """Computes ``min(max(x, 0), threshold)``, element by element.

    The gradient passes where ``0 < x < threshold`` and is 0 elsewhere.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): the largest result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 3, 8], "float32"))
        >>> out = fluid.layers.relu6(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [0.0, 3.0, 6.0]
    """
    return layer("relu6", locals())


def reshape(
    x: Variable, shape: Union[Sequence[Any], Variable], actual_shape: Optional[Variable] = None,
    act: Optional[str] = None, inplace: bool = False, name: Optional[str] = None,
) -> Variable:
    """Gives the elements another shape; their order and number do not change.

    Args:
        x (Variable): any element type and shape.
        shape (list, tuple or Variable): the new sizes. One of them may be -1: it follows from the others. 0 keeps
            the size of ``x`` at that position. A Variable is int32 with one dimension; elements of a list may be
            Variables ``[1]``.
        actual_shape (Variable): int32, one dimension: the sizes at run time, which replace ``shape``; ``shape``
            must be given nevertheless.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        inplace (bool): let the result use the memory of ``x``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the new shape, the element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: the elements of ``x`` do not fill the new shape.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reshape(x, [-1])])[0].tolist()
        [1, 2, 3, 4]
        >>> y = fluid.data("y", [2, 4, 6])
        >>> fluid.layers.reshape(y, [-1, 0, 3, 2]).shape
        (2, 4, 3, 2)
    """
    return layer("reshape", locals())


def resize_bilinear(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCHW',
) -> Variable:
    """Resizes images by bilinear interpolation, to ``out_shape`` or by the factor ``scale``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
        out_shape (list, tuple or Variable): ``[height, width]`` of the result. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
        scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
            ``None``; a Variable is float32 ``[1]``.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
            ``None``: not used.
        align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
            of the images do.
        align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
            ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
            that of the result.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.

    Returns:
        Variable: ``[batch, channels, *out_shape]``.

    Raises:
        ValueError: neither ``out_shape`` nor a positive ``scale`` is given.

    Example:
        >>> image = fluid.layers.assign(np.array([[1, 3]], "float32").reshape(1, 1, 1, 2))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.resize_bilinear(image, out_shape=[1, 3])])[0].tolist()
        [[[[1.0, 2.0, 3.0]]]]
        >>> photo = fluid.data("photo", [None, 3, 32, 32])
        >>> fluid.layers.resize_bilinear(photo, scale=2.0).shape
        (-1, 3, 64, 64)
    """
    return layer("resize_bilinear", locals())


def resize_nearest(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, data_format: str = 'NCHW',
) -> Variable:
    """Resizes images by taking the nearest pixel, to ``out_shape`` or by the factor ``scale``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``, or channels last with ``NHWC``.
        out_shape (list, tuple or Variable): ``[height, width]`` of the result. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
        scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
            ``None``; a Variable is float32 ``[1]``.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): int32 ``[2]``: the size of the result at run time, which replaces the others;
            ``None``: not used.
        align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
            of the images do.
        data_format (str): ``NCHW``: the channels are dimension 1; ``NHWC``: they are last. The result has the same
            format.

    Returns:
        Variable: ``[batch, channels, *out_shape]``.

    Raises:
        ValueError: neither ``out_shape`` nor a positive ``scale`` is given.

    Example:
        >>> image = fluid.layers.assign(np.array([[1, 2]], "float32").reshape(1, 1, 1, 2))
        >>> out = fluid.layers.resize_nearest(image, out_shape=[2, 4], align_corners=False)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """
    return layer("resize_nearest", locals())


def resize_trilinear(
    input: Variable, out_shape: Optional[Union[Sequence[Any], Variable]] = None,
    scale: Optional[Union[float, Variable]] = None, name: Optional[str] = None,
    actual_shape: Optional[Variable] = None, align_corners: bool = True, align_mode: int = 1,
    data_format: str = 'NCDHW',
) -> Variable:
    """Resizes volumes by trilinear interpolation, to ``out_shape`` or by the factor ``scale``.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, depth, height, width]``, or channels last with
            ``NDHWC``.
        out_shape (list, tuple or Variable): ``[depth, height, width]`` of the result. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``. ``None``: ``scale`` counts.
        scale (float or Variable): the size of the result divided by that of the input; used if ``out_shape`` is
            ``None``; a Variable is float32 ``[1]``.
        name (str): prefix of the names of its variables.
        actual_shape (Variable): int32 ``[3]``: the size of the result at run time, which replaces the others;
            ``None``: not used.
        align_corners (bool): the centres of the corner pixels of input and result coincide; otherwise the corners
            of the images do.
        align_mode (int): with ``align_corners=False``: pixel ``i`` of the result is taken from
            ``r * (i + 0.5) - 0.5`` with 0, from ``r * i`` with 1, where ``r`` is the size of the input divided by
            that of the result.
        data_format (str): ``NCDHW``: the channels are dimension 1; ``NDHWC``: they are last. The result has the
            same format.

    Returns:
        Variable: ``[batch, channels, *out_shape]``.

    Raises:
        ValueError: neither ``out_shape`` nor a positive ``scale`` is given.

    Example:
        >>> volume = fluid.data("volume", [None, 3, 8, 16, 16])
        >>> fluid.layers.resize_trilinear(volume, out_shape=[4, 8, 8]).shape
        (-1, 3, 4, 8, 8)
    """
    return layer("resize_trilinear", locals())


def roi_align(
    input: Variable, rois: Variable, pooled_height: int = 1, pooled_width: int = 1, spatial_scale: float = 1.0,
    sampling_ratio: int = -1, name: Optional[str] = None, rois_lod: Optional[Variable] = None,
) -> Variable:
    """Pools regions of a feature map to one size: the mean of every part at points between pixels.

    Regions are not rounded to pixels; values are linear between them. Mask R-CNN uses it. Gradients flow into
    ``input``.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
        rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
            pixels of the image.
        pooled_height (int): rows of the result.
        pooled_width (int): columns of the result.
        spatial_scale (float): the size of the feature map over that of the image.
        sampling_ratio (int): points of a part along each axis; 0 or less: about one per pixel.
        name (str): prefix of the names of its variables.
        rois_lod (Variable): int64, ``[batch + 1]``: where the regions of each image begin, instead of the LoD.

    Returns:
        Variable: ``[regions, channels, pooled_height, pooled_width]``.

    Raises:
        TypeError: elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.roi_align(x, rois)])[0].tolist()
        [[[[3.25]]]]
    """
    return layer("roi_align", locals())


def roi_pool(
    input: Variable, rois: Variable, pooled_height: int = 1, pooled_width: int = 1, spatial_scale: float = 1.0,
    rois_lod: Optional[Variable] = None,
) -> Variable:
    """Pools regions of a feature map to one size: the largest value of every part.

    A region is divided into ``pooled_height * pooled_width`` parts, rounded to pixels. Fast R-CNN uses it. Gradients
    flow into ``input``.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``.
        rois (Variable): the same element type, ``[regions, 4]`` with a LoD by image: left, top, right and bottom in
            pixels of the image.
        pooled_height (int): rows of the result.
        pooled_width (int): columns of the result.
        spatial_scale (float): the size of the feature map over that of the image.
        rois_lod (Variable): int64, ``[batch + 1]``: where the regions of each image begin, instead of the LoD.

    Returns:
        Variable: ``[regions, channels, pooled_height, pooled_width]``; 0 where a part has no pixels.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 5, 2], [4, 3, 6]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 1]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.roi_pool(x, rois)])[0].tolist()
        [[[[5.0]]]]
    """
    return layer("roi_pool", locals())


def roll(
    input: Variable, shifts: Union[int, Sequence[Any]], dims: Optional[Union[int, Sequence[Any]]] = None,
) -> Variable:
    """Shifts elements along dimensions; those that leave at one end enter at the other.

    Args:
        input (Variable): any element type and shape.
        shifts (int or list): the distance along each of ``dims``; negative ones go towards the beginning.
        dims (int or list): the dimensions; negative ones count from the end; ``None``: the flattened tensor is
            shifted.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        ValueError: ``shifts`` and ``dims`` differ in length.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.roll(x, shifts=1, dims=1)])[0].tolist()
        [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.roll(x, shifts=1)])[0].tolist()
        [[6.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    return layer("roll", locals())


def row_conv(
    input: Variable, future_context_size: int, param_attr: Optional[ParamLike] = None, act: Optional[str] = None,
) -> Variable:
    """Convolves sequences with later steps, column by column: ``out[t] = x[t] * w[0] + ... + x[t + n] * w[n]``.

    Steps beyond the end of a sequence count as zeros. The weight is a parameter
    ``[future_context_size + 1, width]``. Speech recognition uses it instead of a backward recurrent layer.

    Args:
        input (Variable): float32 or float64, ``[rows, width]`` with LoD, or ``[batch, steps, width]``.
        future_context_size (int): ``n``, the number of later steps.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: the shape and LoD of ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3], [4], [5]], "float32"))
        >>> x = fluid.layers.lod_reset(x, target_lod=[0, 2, 5])
        >>> out = fluid.layers.row_conv(x, 1, param_attr=fluid.initializer.Constant(1.0))
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> np.array(exe.run(fetch_list=[out], return_numpy=False)[0]).ravel().tolist()
        [3.0, 2.0, 7.0, 9.0, 5.0]
    """
    return layer("row_conv", locals())


def sampling_id(
    x: Variable, min: float = 0.0, max: float = 1.0, seed: int = 0, dtype: DTypeLike = 'float32',
) -> Variable:
    """Draws a column of each row, with the probabilities in the row.

    A uniform random number ``r`` in ``[min, max)`` is compared with the running sums of the row.

    Args:
        x (Variable): float32 or float64, ``[batch, classes]``; each row sums to 1.
        min (float): lower bound of ``r``.
        max (float): upper bound of ``r``.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.
        dtype (dtype): accepted; the result has the type int64.

    Returns:
        Variable: ``[batch]``: the column that was drawn for each row.

    Raises:
        fluid.core.EnforceNotMet: ``x`` does not have two dimensions.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 1, 0], [0, 0, 1]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sampling_id(x)])[0].tolist()
        [1, 2]
    """
    return layer("sampling_id", locals())


def scale(
    x: Variable, scale: Union[float, Variable] = 1.0, bias: float = 0.0, bias_after_scale: bool = True,
    act: Optional[str] = None, name: Optional[str] = None,
) -> Variable:
    """Multiplies and adds numbers: ``scale * x + bias``, or ``scale * (x + bias)`` with ``bias_after_scale=False``.

    Args:
        x (Variable): numbers of any shape, or SelectedRows.
        scale (float or Variable): the factor; a Variable has one element.
        bias (float): the number to add.
        bias_after_scale (bool): add after the multiplication.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scale(x, scale=2.0, bias=1.0)])[0].tolist()
        [3.0, 5.0]
        >>> out = fluid.layers.scale(x, scale=2.0, bias=1.0, bias_after_scale=False)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [4.0, 6.0]
    """
    return layer("scale", locals())


def scatter(
    input: Variable, index: Variable, updates: Variable, name: Optional[str] = None, overwrite: bool = True,
) -> Variable:
    """Replaces the rows ``index`` of ``input`` by ``updates``, or sums ``updates`` there.

    Args:
        input (Variable): numbers, ``[rows, ...]``; it does not change itself.
        index (Variable): int32 or int64, ``[n]``.
        updates (Variable): the element type of ``input``, ``[n, ...]``: a row per index.
        name (str): prefix of the names of its variables.
        overwrite (bool): ``True``: of several updates of one row the last one stays; ``False``: the rows of
            ``index`` are set to 0 and all their updates are added.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        IndexError: an index is outside of the rows (when the program runs).
        fluid.core.EnforceNotMet: the sizes of ``updates`` do not fit those of ``input``.

    Example:
        >>> x = fluid.layers.ones([3, 2], "float32")
        >>> index = fluid.layers.assign(np.array([2, 0, 2], "int64"))
        >>> updates = fluid.layers.assign(np.array([[1, 1], [2, 2], [3, 3]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter(x, index, updates)])[0].tolist()
        [[2.0, 2.0], [1.0, 1.0], [3.0, 3.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter(x, index, updates, overwrite=False)])[0].tolist()
        [[2.0, 2.0], [1.0, 1.0], [4.0, 4.0]]
    """
    return layer("scatter", locals())


def scatter_nd(index: Variable, updates: Variable, shape: Union[Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Adds ``updates`` at indices with several coordinates to a tensor of zeros.

    It is ``scatter_nd_add`` with ``ref`` all 0.

    Args:
        index (Variable): int32 or int64, ``[..., k]``: coordinates along the first ``k`` dimensions of the result.
        updates (Variable): float32 or float64; the shape of ``index`` without its last dimension, then the sizes of
            ``shape`` from ``k`` on.
        shape (list or tuple): the sizes of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``shape``, the element type of ``updates``.

    Raises:
        IndexError: an index is outside of ``shape`` (when the program runs).

    Example:
        >>> index = fluid.layers.assign(np.array([[1], [3]], "int64"))
        >>> updates = fluid.layers.assign(np.array([9, 10], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter_nd(index, updates, shape=[5])])[0].tolist()
        [0.0, 9.0, 0.0, 10.0, 0.0]
    """
    return layer("scatter_nd", locals())


def scatter_nd_add(ref: Variable, index: Variable, updates: Variable, name: Optional[str] = None) -> Variable:
    """Adds ``updates`` to elements or slices of ``ref`` at indices with several coordinates.

    The last dimension of ``index`` holds ``k`` coordinates along the first ``k`` dimensions of ``ref``. Updates of
    an index that occurs several times are all added.

    Args:
        ref (Variable): numbers, any shape; it does not change itself.
        index (Variable): int32 or int64, ``[..., k]``.
        updates (Variable): the element type of ``ref``; the shape of ``index`` without its last dimension, then the
            dimensions of ``ref`` from ``k`` on.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``ref``.

    Raises:
        IndexError: an index is outside of ``ref`` (when the program runs).

    Example:
        >>> ref = fluid.layers.ones([3], "float32")
        >>> index = fluid.layers.assign(np.array([[1], [2], [1]], "int64"))
        >>> updates = fluid.layers.assign(np.array([10, 20, 30], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scatter_nd_add(ref, index, updates)])[0].tolist()
        [1.0, 41.0, 21.0]
    """
    return layer("scatter_nd_add", locals())


def selu(
    x: Variable, scale: Optional[float] = None, alpha: Optional[float] = None, name: Optional[str] = None,
) -> Variable:
    """Computes the scaled exponential linear unit, element by element: ``scale * x`` where ``x > 0``, otherwise
    ``scale * alpha * (exp(x) - 1)``.

    With the default constants activations of a deep network keep mean 0 and variance 1 (self-normalizing networks).

    Args:
        x (Variable): float32 or float64, any shape.
        scale (float): factor of the result; ``None``: 1.0507009873554805.
        alpha (float): factor below 0; ``None``: 1.6732632423543772.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
        >>> out = fluid.layers.selu(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-1.1113  0.      1.0507]
    """
    return layer("selu", locals())


def shape(input: Variable) -> Variable:
    """Returns the sizes of a tensor when the program runs.

    ``x.shape`` holds the sizes known when the program is built, with -1 for the others.

    Args:
        input (Variable): any tensor, or SelectedRows.

    Returns:
        Variable: int32, one element per dimension.

    Example:
        >>> x = fluid.data("x", [None, 3])
        >>> sizes = fluid.layers.shape(x)
        >>> fluid.Executor().run(feed={"x": np.zeros([5, 3], "float32")}, fetch_list=[sizes])[0].tolist()
        [5, 3]
    """
    return layer("shape", locals())


def shard_index(input: Variable, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Variable:
    """Converts class numbers to numbers within one shard of the classes.

    Classes are divided into ``nshards`` ranges of ``ceil(index_num / nshards)``. An index of the range ``shard_id``
    becomes its distance from the beginning of the range, others become ``ignore_value``. A classification layer
    that is divided among ranks uses it for its labels.

    Args:
        input (Variable): int32 or int64, ``[..., 1]``; from 0 to ``index_num - 1``.
        index_num (int): the number of classes.
        nshards (int): the number of shards.
        shard_id (int): the shard, from 0 to ``nshards - 1``.
        ignore_value (int): stands for classes of other shards.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        IndexError: ``shard_id`` is not in ``[0, nshards)``.

    Example:
        >>> label = fluid.layers.assign(np.array([[1], [6], [12], [19]], "int64"))
        >>> out = fluid.layers.shard_index(label, index_num=20, nshards=2, shard_id=0)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [[1], [6], [-1], [-1]]
    """
    return layer("shard_index", locals())


def shuffle_channel(x: Variable, group: int, name: Optional[str] = None) -> Variable:
    """Reorders channels: one of every group in turn.

    With ``group`` groups of ``n`` channels, channel ``i * n + j`` becomes channel ``j * group + i``. Between
    grouped convolutions it lets groups exchange what they know.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, height, width]``.
        group (int): the number of groups; it divides the number of channels.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``group`` does not divide the number of channels.

    Example:
        >>> x = fluid.layers.assign(np.arange(6, dtype="float32").reshape(1, 6, 1, 1))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.shuffle_channel(x, group=2)])[0].ravel().tolist()
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    """
    return layer("shuffle_channel", locals())


def sign(x: Variable) -> Variable:
    """Computes the sign of each element: -1, 0 or 1.

    The gradient is 0.

    Args:
        x (Variable): float32 or float64, any shape.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-3, 0, 0.5], "float32"))
        >>> out = fluid.layers.sign(x)
        >>> fluid.Executor().run(fetch_list=[out])[0].tolist()
        [-1.0, 0.0, 1.0]
    """
    return layer("sign", locals())


def similarity_focus(
    input: Variable, axis: int, indexes: Union[Sequence[Any], int], name: Optional[str] = None,
) -> Variable:
    """Marks the largest elements of chosen planes so that each row and each column is used at most once.

    In each plane the largest element whose row and column are free is marked, until no row or no column is left.
    The marks of all chosen planes are put together and repeated along ``axis``. No gradient flows through it.

    Args:
        input (Variable): float32 or float64, four dimensions.
        axis (int): the dimension of the planes: 1, 2 or 3; the other two are their rows and columns.
        indexes (list or int): the numbers of the planes.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``: 1 at marked positions, otherwise 0.

    Raises:
        ValueError: ``axis`` is not 1, 2 or 3.
        IndexError: there is no such plane (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.arange(8, dtype="float32").reshape(1, 2, 2, 2))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.similarity_focus(x, axis=1, indexes=[0])])[0].tolist()
        [[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]]
    """
    return layer("similarity_focus", locals())


def size(input: Variable) -> Variable:
    """Returns the number of elements of a tensor when the program runs.

    Args:
        input (Variable): any element type and shape.

    Returns:
        Variable: int64 ``[1]``.

    Example:
        >>> x = fluid.layers.zeros([2, 3], "float32")
        >>> fluid.Executor().run(fetch_list=[fluid.layers.size(x)])[0].tolist()
        [6]
    """
    return layer("size", locals())


def slice(
    input: Variable, axes: Union[Sequence[Any]], starts: Union[Sequence[Any], Variable],
    ends: Union[Sequence[Any], Variable],
) -> Variable:
    """Takes a part of a tensor: along each of ``axes`` the positions from its start up to, but without, its end.

    Negative positions count from the end of the dimension; positions beyond it are moved to it. ``x[1:3]`` with
    Variables does the same.

    Args:
        input (Variable): any element type and shape.
        axes (list or tuple): the dimensions that are cut.
        starts (list, tuple or Variable): the first position along each of ``axes``. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``.
        ends (list, tuple or Variable): the position after the last one along each of ``axes``; in the same forms.

    Returns:
        Variable: the dimensions of ``input``, with smaller sizes along ``axes``.

    Raises:
        ValueError: ``axes``, ``starts`` and ``ends`` differ in length.
        fluid.core.EnforceNotMet: ``input`` has no such dimension.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.slice(x, axes=[1], starts=[1], ends=[3])])[0].tolist()
        [[2.0, 3.0], [5.0, 6.0]]
        >>> last = fluid.layers.slice(x, axes=[0, 1], starts=[-1, 0], ends=[100, -1])
        >>> fluid.Executor().run(fetch_list=[last])[0].tolist()
        [[4.0, 5.0]]
    """
    return layer("slice", locals())


def smooth_l1(
    x: Variable, y: Variable, inside_weight: Optional[Variable] = None, outside_weight: Optional[Variable] = None,
    sigma: Optional[float] = None,
) -> Variable:
    """Computes the smooth L1 loss of each sample, the sum of its elements.

    An element with ``d = inside_weight * (x - y)`` costs ``0.5 * (sigma * d) ** 2`` where ``|d| < 1 / sigma ** 2``,
    otherwise ``|d| - 0.5 / sigma ** 2``; times ``outside_weight``. Regression of boxes uses it.

    Args:
        x (Variable): float32 or float64, ``[batch, ...]``: predictions.
        y (Variable): the type and shape of ``x``: the true values.
        inside_weight (Variable): factors of the differences, the shape of ``x``; ``None``: 1. Give both weights or
            none.
        outside_weight (Variable): factors of the losses, the shape of ``x``; ``None``: 1.
        sigma (float): differences below ``1 / sigma ** 2`` count quadratically; ``None``: 1.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.

    Example:
        >>> x = fluid.layers.assign(np.array([[0.5, 3]], "float32"))
        >>> y = fluid.layers.assign(np.array([[0, 0]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.smooth_l1(x, y)])[0].tolist()
        [[2.625]]
    """
    return layer("smooth_l1", locals())


def soft_relu(x: Variable, threshold: float = 40.0, name: Optional[str] = None) -> Variable:
    """Computes ``log(1 + exp(max(min(x, threshold), -threshold)))``, element by element.

    It is ``softplus`` of ``x`` limited to ``[-threshold, threshold]``.

    Args:
        x (Variable): float32 or float64, any shape.
        threshold (float): the largest magnitude of the argument.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 5], "float32"))
        >>> out = fluid.layers.soft_relu(x, threshold=2.0)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.3133 0.6931 2.1269]
    """
    return layer("soft_relu", locals())


def softmax(input: Variable, use_cudnn: bool = False, name: Optional[str] = None, axis: int = -1) -> Variable:
    """Computes ``exp(x) / sum(exp(x))`` along a dimension: positive numbers that sum to 1.

    The largest element is subtracted first, so that nothing overflows. For a loss use
    ``softmax_with_cross_entropy`` on the argument instead, which is faster and more accurate.

    Args:
        input (Variable): float32 or float64, any shape.
        use_cudnn (bool): accepted; computation is on the CPU.
        name (str): prefix of the names of its variables.
        axis (int): the dimension of the classes; negative ones count from the end.

    Returns:
        Variable: the shape, element type and LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has no dimension ``axis``.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 0], [0, 1]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.softmax(x)])[0].round(4))
        [[0.5    0.5   ]
         [0.2689 0.7311]]
    """
    return layer("softmax", locals())


def space_to_depth(x: Variable, blocksize: int, name: Optional[str] = None) -> Variable:
    """Rearranges blocks of pixels into channels: ``[batch, c, h, w]`` becomes ``[batch, c * b * b, h / b, w / b]``.

    The order of the elements is that of Fluid, whose reorganization also divides the channels by ``b * b``.

    Args:
        x (Variable): float32, float64, int32 or int64, ``[batch, channels, height, width]``.
        blocksize (int): ``b``; it divides height and width, and its square divides the number of channels.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, channels * b * b, height / b, width / b]``.

    Raises:
        fluid.core.EnforceNotMet: ``blocksize`` does not fit the sizes of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.arange(16, dtype="float32").reshape(1, 4, 2, 2))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.space_to_depth(x, blocksize=2)])[0].ravel().tolist()
        [0.0, 4.0, 1.0, 5.0, 8.0, 12.0, 9.0, 13.0, 2.0, 6.0, 3.0, 7.0, 10.0, 14.0, 11.0, 15.0]
        >>> fluid.layers.space_to_depth(fluid.data("image", [None, 4, 4, 6]), blocksize=2).shape
        (-1, 16, 2, 3)
    """
    return layer("space_to_depth", locals())


def spectral_norm(
    weight: Variable, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: Optional[str] = None,
) -> Variable:
    """Divides a weight by its largest singular value, as a matrix, which is estimated by power iteration.

    The weight is seen as a matrix whose rows are the positions of dimension ``dim``. The two vectors with which the
    iteration starts are persistable variables with random values; runs do not change them, so that more
    ``power_iters`` are more exact. Discriminators of generative adversarial networks use it.

    Args:
        weight (Variable): float32 or float64: the weight of a layer; its shape is known.
        dim (int): the dimension of the rows: 0 for the weight of ``fc``, 1 for that of a transposed convolution.
        power_iters (int): the iterations in each run.
        eps (float): added to the norms that are divided by.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``weight``.

    Example:
        >>> weight = fluid.layers.assign(np.array([[2, 0], [0, 1]], "float32"))
        >>> out = fluid.layers.spectral_norm(weight, power_iters=50)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print(exe.run(fetch_list=[out])[0].round(3))
        [[1.  0. ]
         [0.  0.5]]
    """
    return layer("spectral_norm", locals())


def split(
    input: Variable, num_or_sections: Union[int, Sequence[Any]], dim: int = -1, name: Optional[str] = None,
) -> List[Variable]:
    """Splits a tensor along a dimension.

    Args:
        input (Variable): any element type and shape.
        num_or_sections (int or list): the number of equal parts, or the size of each part; one size may be -1 and
            takes the rest.
        dim (int): the dimension; negative ones count from the end.
        name (str): prefix of the names of its variables.

    Returns:
        list: the parts, Variables whose sizes along ``dim`` add up to that of ``input``.

    Raises:
        ValueError: the size of the dimension is no multiple of the number of parts.
        fluid.core.EnforceNotMet: the sizes of the parts do not add up to that of the dimension.

    Example:
        >>> x = fluid.data("x", [3, 9])
        >>> [part.shape for part in fluid.layers.split(x, 3, dim=1)]
        [(3, 3), (3, 3), (3, 3)]
        >>> [part.shape for part in fluid.layers.split(x, [2, 3, -1], dim=1)]
        [(3, 2), (3, 3), (3, 4)]
    """
    return layer("split", locals())


def squeeze(input: Variable, axes: Union[Sequence[Any], int], name: Optional[str] = None) -> Variable:
    """Removes dimensions of size 1.

    Args:
        input (Variable): any element type and shape.
        axes (list or int): the dimensions to remove; negative ones count from the end; those with another size than
            1 stay. ``[]``: all of size 1.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the elements of ``input`` with fewer dimensions.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has no such dimension.

    Example:
        >>> x = fluid.data("x", [5, 1, 3, 1])
        >>> fluid.layers.squeeze(x, [1]).shape
        (5, 3, 1)
        >>> fluid.layers.squeeze(x, []).shape
        (5, 3)
    """
    return layer("squeeze", locals())


def stack(x: Union[Variable, Sequence[Variable]], axis: int = 0) -> Variable:
    """Joins tensors of one shape along a new dimension.

    ``concat`` joins along an existing one.

    Args:
        x (Variable or list): one Variable or several of one shape and element type.
        axis (int): position of the new dimension in the result; negative ones count from the end.

    Returns:
        Variable: the shape of an input with the number of inputs inserted at ``axis``.

    Raises:
        fluid.core.EnforceNotMet: the shapes differ.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
        >>> y = fluid.layers.assign(np.array([3, 4], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.stack([x, y])])[0].tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.stack([x, y], axis=1)])[0].tolist()
        [[1.0, 3.0], [2.0, 4.0]]
    """
    return layer("stack", locals())


def stanh(x: Variable, scale_a: float = 0.67, scale_b: float = 1.7159, name: Optional[str] = None) -> Variable:
    """Computes the scaled hyperbolic tangent ``scale_b * tanh(scale_a * x)``, element by element.

    Args:
        x (Variable): float32 or float64, any shape.
        scale_a (float): factor of the argument.
        scale_b (float): factor of the result.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 1], "float32"))
        >>> out = fluid.layers.stanh(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-1.0038  0.      1.0038]
    """
    return layer("stanh", locals())


def strided_slice(
    input: Variable, axes: Union[Sequence[Any]], starts: Union[Sequence[Any], Variable],
    ends: Union[Sequence[Any], Variable], strides: Union[Sequence[Any], Variable],
) -> Variable:
    """Takes every ``strides[i]``-th position along ``axes[i]``, from its start up to, but without, its end.

    Negative positions count from the end. A negative stride goes backwards; its start lies behind its end.

    Args:
        input (Variable): any element type and shape.
        axes (list or tuple): the dimensions that are cut.
        starts (list, tuple or Variable): the first position along each of ``axes``. A Variable is int32 with one
            dimension; elements of a list may be Variables ``[1]``.
        ends (list, tuple or Variable): the position after the last one along each of ``axes``; in the same forms.
        strides (list, tuple or Variable): the step along each of ``axes``, not 0; in the same forms.

    Returns:
        Variable: the dimensions of ``input``, with smaller sizes along ``axes``.

    Raises:
        ValueError: ``axes``, ``starts``, ``ends`` and ``strides`` differ in length.
        fluid.core.EnforceNotMet: the result would have no elements.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 1, 2, 3, 4, 5]], "int64"))
        >>> even = fluid.layers.strided_slice(x, axes=[1], starts=[0], ends=[6], strides=[2])
        >>> fluid.Executor().run(fetch_list=[even])[0].tolist()
        [[0, 2, 4]]
        >>> back = fluid.layers.strided_slice(x, axes=[1], starts=[5], ends=[1], strides=[-2])
        >>> fluid.Executor().run(fetch_list=[back])[0].tolist()
        [[4, 2]]
    """
    return layer("strided_slice", locals())


def sum(x: Union[Variable, Sequence[Variable]]) -> Variable:
    """Adds a list of tensors, element by element.

    SelectedRows (gradients of sparse embeddings) and tensor arrays can be added, too. Variables of the list that no
    operator has written are left out. To sum the elements of one tensor use ``reduce_sum``.

    Args:
        x (Variable or list): one Variable or several of one shape and element type.

    Returns:
        Variable: the shape and element type of the elements of ``x``.

    Raises:
        fluid.core.EnforceNotMet: the shapes differ.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
        >>> y = fluid.layers.fill_constant([2], "float32", 2.0)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sum([x, y, y])])[0].tolist()
        [5.5, 5.5]
    """
    return layer("sum", locals())


def swish(x: Variable, beta: float = 1.0, name: Optional[str] = None) -> Variable:
    """Computes ``x / (1 + exp(-beta * x))``, element by element: ``x`` times the sigmoid of ``beta * x``.

    Args:
        x (Variable): float32 or float64, any shape.
        beta (float): steepness; 0 gives ``x / 2``, large values approach ``relu``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape, element type and LoD of ``x``.

    Raises:
        TypeError: ``x`` is no Variable, or its elements are no floats.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> out = fluid.layers.swish(x)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [-0.2689  0.      1.7616]
    """
    return layer("swish", locals())


def temporal_shift(x: Variable, seg_num: int, shift_ratio: float = 0.25, name: Optional[str] = None) -> Variable:
    """Shifts some channels of videos in time: the first ones come from the frame before, the next ones from the frame
    after.

    At the ends of a video zeros come in. It mixes neighbouring frames without any computation.

    Args:
        x (Variable): float32 or float64, ``[videos * seg_num, channels, height, width]``: the frames of each video
            follow each other.
        seg_num (int): the number of frames of a video.
        shift_ratio (float): the share of channels that is shifted in each direction; at most 0.5.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``shift_ratio`` is above 0.5, or ``x`` does not hold whole videos.

    Example:
        >>> x = fluid.layers.assign(np.arange(8, dtype="float32").reshape(2, 4, 1, 1))
        >>> out = fluid.layers.temporal_shift(x, seg_num=2, shift_ratio=0.25)
        >>> fluid.Executor().run(fetch_list=[out])[0].reshape(2, 4).tolist()
        [[0.0, 5.0, 2.0, 3.0], [0.0, 0.0, 6.0, 7.0]]
    """
    return layer("temporal_shift", locals())


def topk(input: Variable, k: Union[Variable, int], name: Optional[str] = None) -> Tuple[Variable, ...]:
    """Finds the ``k`` largest elements of each row and their positions.

    Rows are the last dimension. The largest element comes first. The gradient goes to the elements that were taken.

    Args:
        input (Variable): float32, float64, int32 or int64, ``[..., n]``.
        k (Variable or int): the number of elements per row, at most ``n``; a Variable is int32 ``[1]``.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (values, indices): both ``[..., k]``; the indices are int64.

    Raises:
        fluid.core.EnforceNotMet: ``k`` is less than 1 or larger than a row.

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
    """Sums a diagonal of matrices.

    Args:
        input (Variable): numbers, at least two dimensions.
        offset (int): 0: the main diagonal; positive: that number of places above it; negative: below it.
        dim1 (int): the dimension of the rows; negative ones count from the end.
        dim2 (int): the dimension of the columns; different from ``dim1``.
        out (Variable): a Variable that receives the result and is returned; ``None``: a new Variable.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape of ``input`` without ``dim1`` and ``dim2``; of one matrix ``[1]``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` does not have the dimensions ``dim1`` and ``dim2``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.trace(x)])[0].tolist()
        [5.0]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.trace(x, offset=1)])[0].tolist()
        [2.0]
    """
    return layer("trace", locals())


def transpose(x: Variable, perm: Union[Sequence[Any]], name: Optional[str] = None) -> Variable:
    """Permutes dimensions: dimension ``i`` of the result is dimension ``perm[i]`` of ``x``.

    Args:
        x (Variable): any element type and shape.
        perm (list or tuple): every dimension of ``x`` once, in the new order.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[x.shape[perm[0]], x.shape[perm[1]], ...]``.

    Raises:
        ValueError: ``perm`` is no permutation of the dimensions of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.transpose(x, [1, 0])])[0].tolist()
        [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
        >>> fluid.layers.transpose(fluid.data("image", [None, 3, 32, 24]), [0, 2, 3, 1]).shape
        (-1, 32, 24, 3)
    """
    return layer("transpose", locals())


def tril(input: Variable, diagonal: int = 0, name: Optional[str] = None) -> Variable:
    """Keeps the lower triangle of matrices; elements above the diagonal become 0.

    Args:
        input (Variable): numbers, ``[..., n, m]``.
        diagonal (int): the last diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones
            below.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has fewer than two dimensions.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.tril(x)])[0].tolist()
        [[1.0, 0.0, 0.0], [4.0, 5.0, 0.0], [7.0, 8.0, 9.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.tril(x, diagonal=-1)])[0].tolist()
        [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [7.0, 8.0, 0.0]]
    """
    return layer("tril", locals())


def triu(input: Variable, diagonal: int = 0, name: Optional[str] = None) -> Variable:
    """Keeps the upper triangle of matrices; elements below the diagonal become 0.

    Args:
        input (Variable): numbers, ``[..., n, m]``.
        diagonal (int): the first diagonal that is kept: 0 is the main one, positive ones lie above it, negative
            ones below.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` has fewer than two dimensions.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.triu(x)])[0].tolist()
        [[1.0, 2.0, 3.0], [0.0, 5.0, 6.0], [0.0, 0.0, 9.0]]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.triu(x, diagonal=1)])[0].tolist()
        [[0.0, 2.0, 3.0], [0.0, 0.0, 6.0], [0.0, 0.0, 0.0]]
    """
    return layer("triu", locals())


def unfold(
    x: Variable, kernel_sizes: Union[int, Sequence[Any]], strides: Union[int, Sequence[Any]] = 1,
    paddings: Union[int, Sequence[Any]] = 0, dilations: Union[int, Sequence[Any]] = 1, name: Optional[str] = None,
) -> Variable:
    """Takes the windows of images as columns (im2col).

    A column holds all channels of a window. A matrix product with it is a convolution.

    Args:
        x (Variable): float32 or float64, ``[batch, channels, height, width]``.
        kernel_sizes (int or list): the window: ``[vertical, horizontal]``, or one number for both.
        strides (int or list): the steps of the window: ``[vertical, horizontal]``, or one number for both.
        paddings (int or list): zeros around the image: one number, ``[vertical, horizontal]`` or
            ``[top, left, bottom, right]``.
        dilations (int or list): the distance of neighbouring elements of a window: ``[vertical, horizontal]``, or
            one number for both.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, channels * window height * window width, windows]``.

    Example:
        >>> image = fluid.layers.assign(np.arange(9, dtype="float32").reshape(1, 1, 3, 3))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.unfold(image, kernel_sizes=[2, 2])])[0].tolist()
        [[[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]]
    """
    return layer("unfold", locals())


def uniform_random_batch_size_like(
    input: Variable, shape: Union[Sequence[Any]], dtype: DTypeLike = 'float32', input_dim_idx: int = 0,
    output_dim_idx: int = 0, min: float = -1.0, max: float = 1.0, seed: int = 0,
) -> Variable:
    """Makes random numbers uniform over ``[min, max)``, with a size that is taken from another tensor when the program
    runs.

    Args:
        input (Variable): gives one size; its values are not used.
        shape (list or tuple): the sizes; the one at ``output_dim_idx`` is replaced, give it as -1.
        dtype (dtype): the element type; only float32.
        input_dim_idx (int): the dimension of ``input`` that gives the size.
        output_dim_idx (int): the dimension of the result that gets it.
        min (float): lower bound.
        max (float): upper bound, excluded.
        seed (int): the same seed gives the same numbers in every run; 0: other numbers in every run, which follow
            from ``Program.random_seed`` if that is set.

    Returns:
        Variable: ``shape`` with the size from ``input``.

    Raises:
        NotImplementedError: ``dtype`` is not float32; cast the result instead.

    Example:
        >>> x = fluid.data("x", [None, 8])
        >>> noise = fluid.layers.uniform_random_batch_size_like(x, [-1, 3])
        >>> fluid.Executor().run(feed={"x": np.zeros([2, 8], "float32")}, fetch_list=[noise])[0].shape
        (2, 3)
    """
    return layer("uniform_random_batch_size_like", locals())


def unique(x: Variable, dtype: DTypeLike = 'int32') -> Tuple[Variable, ...]:
    """Finds the distinct elements of a vector, in the order of their first occurrence.

    Args:
        x (Variable): numbers, ``[n]``.
        dtype (dtype): element type of the indices: int32 or int64.

    Returns:
        tuple: (out, index): the distinct elements, and for each element of ``x`` its position in ``out``, ``[n]``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` does not have one dimension.
        TypeError: ``dtype`` is neither int32 nor int64.

    Example:
        >>> x = fluid.layers.assign(np.array([2, 3, 3, 1, 5, 3], "int64"))
        >>> out, index = fluid.layers.unique(x)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, index])]
        [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1]]
    """
    return layer("unique", locals())


def unique_with_counts(x: Variable, dtype: DTypeLike = 'int32') -> Tuple[Variable, ...]:
    """Finds the distinct elements of a vector, in the order of their first occurrence, and counts them.

    Args:
        x (Variable): numbers, ``[n]``.
        dtype (dtype): element type of the indices and counts: int32 or int64.

    Returns:
        tuple: (out, index, count): the distinct elements, for each element of ``x`` its position in ``out``, and
            for each element of ``out`` the number of its occurrences.

    Raises:
        fluid.core.EnforceNotMet: ``x`` does not have one dimension.
        TypeError: ``dtype`` is neither int32 nor int64.

    Example:
        >>> x = fluid.layers.assign(np.array([2, 3, 3, 1, 5, 3], "int64"))
        >>> out, index, count = fluid.layers.unique_with_counts(x)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[out, index, count])]
        [[2, 3, 1, 5], [0, 1, 1, 2, 3, 1], [1, 3, 1, 1]]
    """
    return layer("unique_with_counts", locals())


def unsqueeze(input: Variable, axes: Union[Sequence[Any], int], name: Optional[str] = None) -> Variable:
    """Inserts dimensions of size 1.

    Args:
        input (Variable): any element type and shape.
        axes (list or int): positions of the new dimensions in the result; they are inserted one after the other,
            negative ones count from the end.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the elements of ``input`` with one more dimension per element of ``axes``.

    Raises:
        fluid.core.EnforceNotMet: a position is outside of the result.

    Example:
        >>> x = fluid.data("x", [5, 3])
        >>> fluid.layers.unsqueeze(x, [1]).shape
        (5, 1, 3)
        >>> fluid.layers.unsqueeze(x, [0, -1]).shape
        (1, 5, 3, 1)
    """
    return layer("unsqueeze", locals())


def unstack(x: Variable, axis: int = 0, num: Optional[int] = None) -> List[Variable]:
    """Takes a tensor apart along a dimension, which disappears: the inverse of ``stack``.

    Args:
        x (Variable): any element type and shape.
        axis (int): the dimension; negative ones count from the end.
        num (int): the size of the dimension; ``None``: it is taken from the shape of ``x``, in which it must be
            known.

    Returns:
        list: Variables with the shape of ``x`` without dimension ``axis``.

    Raises:
        ValueError: the size of the dimension is not known, and there is no ``num``.
        fluid.core.EnforceNotMet: ``num`` is not the size of the dimension.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> first, second = fluid.layers.unstack(x, axis=1)
        >>> fluid.Executor().run(fetch_list=[first])[0].tolist()
        [1.0, 3.0]
    """
    return layer("unstack", locals())


def where(condition: Variable) -> Variable:
    """Finds the coordinates of the true elements.

    Args:
        condition (Variable): bool, any shape.

    Returns:
        Variable: int64, ``[n, rank]``: a row of coordinates for each of the ``n`` true elements, in their order.
            ``n`` is known only when the program runs.

    Raises:
        TypeError: the condition is not bool; compare or cast it first.

    Example:
        >>> condition = fluid.layers.assign(np.array([[True, False], [True, True]], "bool"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.where(condition)])[0].tolist()
        [[0, 0], [1, 0], [1, 1]]
    """
    return layer("where", locals())
