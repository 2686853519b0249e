"""Layers of neural networks."""

from ... import _core
from ..framework import Variable, default_main_program
from ._call import layer, layer_into, with_rules
from ._names import fallback

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
    "pow", "prelu", "py_func", "randint", "rank", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_sum", "relu", "relu6", "reshape", "resize_bilinear", "resize_nearest",
    "resize_trilinear", "roll", "row_conv", "sampling_id", "scale", "scatter", "scatter_nd", "scatter_nd_add",
    "selu", "shape", "shard_index", "shuffle_channel", "sign", "similarity_focus", "size", "slice", "smooth_l1",
    "soft_relu", "softmax", "space_to_depth", "spectral_norm", "split", "squeeze", "stack", "stanh",
    "strided_slice", "sum", "swish", "temporal_shift", "topk", "trace", "transpose", "tril", "triu", "unfold",
    "uniform_random_batch_size_like", "unique", "unique_with_counts", "unsqueeze", "unstack", "where",
]

__getattr__ = fallback(__name__)


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A counter that grows by ``step`` at the start of every run and is ``begin`` in the first one. ``None`` names it
    ``@STEP_COUNTER@``."""
    return layer("autoincreased_step_counter", locals())


def fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
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


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32', *,
              entry=None, evict=None):
    """Looks up the rows of a weight matrix that ids name. ``fluid.embedding`` is the same for ids without the last dimension of 1.

    Args:
        input (Variable): ids, int64 ``[..., 1]``.
        size (list): ``[rows, width]`` of the table.
        is_sparse (bool): the gradient holds only the rows that were looked up.
        is_distributed (bool): a hashed table: any int64 is an id, rows are made on first use and live on parameter servers.
        padding_idx (int): this id reads as zeros and is not trained; a negative one counts from the last row.
        param_attr (ParamAttr): name, initializer, regularizer of the table; two layers with one name share it.
        dtype (str): the element type.
        entry: ``paddle.distributed.CountFilterEntry`` or another rule of admission to a hashed table (not in Fluid).
        evict: ``paddle.distributed.UnseenEviction`` or ``ScoreEviction`` of a hashed table (not in Fluid).

    Returns:
        Variable: ``[..., width]``.

    Example:
        >>> ids = fluid.data("ids", [None, 1], "int64")
        >>> fluid.layers.embedding(ids, [1000, 8], is_sparse=True).shape
        (-1, 8)
    """
    return layer("embedding", with_rules(locals()))


def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The product of two matrices. Tensors are flattened to matrices: the first ``x_num_col_dims`` (``y_num_col_dims``)
    dimensions are the rows, the others the columns.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> w = fluid.layers.create_parameter([13, 4], "float32")
        >>> fluid.layers.mul(x, w).shape
        (-1, 4)
    """
    return layer("mul", locals())


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """The product of matrices, or of batches of matrices, as ``numpy.matmul``.

    Args:
        x, y (Variable): ``[..., n, k]`` and ``[..., k, m]``.
        transpose_x, transpose_y (bool): exchange the last two dimensions first.
        alpha (float): a factor of the result.

    Returns:
        Variable: ``[..., n, m]``.

    Example:
        >>> x, y = fluid.data("x", [8, 2, 3]), fluid.data("y", [8, 4, 3])
        >>> fluid.layers.matmul(x, y, transpose_y=True).shape
        (8, 2, 4)
    """
    return layer("matmul", locals())


def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """`size` bilinear forms of `x` and `y`."""
    return layer("bilinear_tensor_product", locals())


def cos_sim(X, Y):
    """The cosine of the angle between the rows of ``X`` and ``Y``, ``[batch, 1]``; ``Y`` may have one row."""
    return layer("cos_sim", locals())


def fsp_matrix(x, y):
    """Inner products of the channels of two feature maps, divided by the number of pixels: ``[batch, channels of x, channels
    of y]``."""
    return layer("fsp_matrix", locals())


def addmm(input, x, y, alpha=1.0, beta=1.0, name=None):
    """`beta * input + alpha * x * y`."""
    return layer("addmm", locals())


def bmm(x, y, name=None):
    """The product of two batches of matrices: ``[batch, n, k]`` and ``[batch, k, m]`` give ``[batch, n, m]``."""
    return layer("bmm", locals())


def dot(x, y, name=None):
    """The inner product of vectors ``[n]``, or of the rows of two matrices."""
    return layer("dot", locals())


def kron(x, y, out=None, name=None):
    """The Kronecker product of ``x`` and ``y``: every element of ``x`` times the whole of ``y``."""
    return layer_into("kron", locals())


def elementwise_add(x, y, axis=-1, act=None, name=None):
    """``x + y``, element by element.

    Args:
        x (Variable): the first operand; the result has its shape.
        y (Variable): the same shape, or the sizes of consecutive dimensions of ``x``, from dimension ``axis`` on.
        axis (int): where the dimensions of ``y`` begin in ``x``; -1: at the end.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> y = fluid.layers.assign(np.array([10, 20], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.elementwise_add(x, y, axis=0)])[0].tolist()
        [[11.0, 12.0], [23.0, 24.0]]
    """
    return layer("elementwise_add", locals())


def elementwise_sub(x, y, axis=-1, act=None, name=None):
    """``x - y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_sub", locals())


def elementwise_mul(x, y, axis=-1, act=None, name=None):
    """``x * y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_mul", locals())


def elementwise_div(x, y, axis=-1, act=None, name=None):
    """``x / y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_div", locals())


def elementwise_max(x, y, axis=-1, act=None, name=None):
    """The larger of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_max", locals())


def elementwise_min(x, y, axis=-1, act=None, name=None):
    """The smaller of ``x`` and ``y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_min", locals())


def elementwise_pow(x, y, axis=-1, act=None, name=None):
    """``x`` to the power of ``y``, element by element; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_pow", locals())


def elementwise_mod(x, y, axis=-1, act=None, name=None):
    """The remainder of integers, with the sign of ``y``; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_mod", locals())


def elementwise_floordiv(x, y, axis=-1, act=None, name=None):
    """The quotient of integers, rounded down; ``axis`` as in `elementwise_add`."""
    return layer("elementwise_floordiv", locals())


def relu(x, name=None):
    """``max(x, 0)``, element by element.

    Example:
        >>> x = fluid.layers.assign(np.array([-1, 0, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.relu(x)])[0].tolist()
        [0.0, 0.0, 2.0]
    """
    return layer("relu", locals())


def relu6(x, threshold=6.0, name=None):
    """`min(max(x, 0), threshold)`."""
    return layer("relu6", locals())


def log(x, name=None):
    """The natural logarithm, element by element. The argument must be positive; otherwise the result is nan or minus
    infinity."""
    return layer("log", locals())


def leaky_relu(x, alpha=0.02, name=None):
    """`x` where positive, else `alpha * x`."""
    return layer("leaky_relu", locals())


def elu(x, alpha=1.0, name=None):
    """`x` where positive, else `alpha * (exp(x) - 1)`."""
    return layer("elu", locals())


def swish(x, beta=1.0, name=None):
    """`x * sigmoid(beta * x)`."""
    return layer("swish", locals())


def hard_sigmoid(x, slope=0.2, offset=0.5, name=None):
    """``min(max(slope * x + offset, 0), 1)``, element by element."""
    return layer("hard_sigmoid", locals())


def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """`x * min(max(x + offset, 0), threshold) / scale`."""
    return layer("hard_swish", locals())


def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """``min(max(x, t_min), t_max)``, element by element."""
    return layer("brelu", locals())


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """`scale_b * tanh(scale_a * x)`."""
    return layer("stanh", locals())


def pow(x, factor=1.0, name=None):
    """`x` to the power of `factor`."""
    return layer("pow", locals())


def sign(x):
    """-1, 0 or 1 for each element: its sign."""
    return layer("sign", locals())


def selu(x, scale=None, alpha=None, name=None):
    """``scale * elu(x, alpha)``, element by element; ``None`` stands for the constants of the paper (1.0507..., 1.6732...)."""
    return layer("selu", locals())


def soft_relu(x, threshold=40.0, name=None):
    """``log(1 + exp(min(max(x, -threshold), threshold)))``, element by element."""
    return layer("soft_relu", locals())


def mish(x, threshold=20, name=None):
    """`x * tanh(softplus(x))`."""
    return layer("mish", locals())


def log1p(x, out=None, name=None):
    """`log(1 + x)`"""
    return layer_into("log1p", locals())


def clip(x, min, max, name=None):
    """Limits each element to ``[min, max]``.

    Example:
        >>> x = fluid.layers.assign(np.array([-2, 0.5, 9], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.clip(x, -1.0, 1.0)])[0].tolist()
        [-1.0, 0.5, 1.0]
    """
    return layer("clip", locals())


def clip_by_norm(x, max_norm, name=None):
    """Scales ``x`` down so that its L2 norm is at most ``max_norm``."""
    return layer("clip_by_norm", locals())


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """``scale * x + bias``, or ``scale * (x + bias)`` without ``bias_after_scale``.

    Example:
        >>> x = fluid.layers.assign(np.array([1, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.scale(x, 2.0, bias=1.0)])[0].tolist()
        [3.0, 5.0]
    """
    return layer("scale", locals())


def prelu(x, mode, param_attr=None, name=None):
    """``x`` where positive, else a learnt factor times ``x``. ``mode``: one factor for ``all``, one per ``channel``, or one
    per ``element``."""
    return layer("prelu", locals())


def maxout(x, groups, name=None, axis=1):
    """The largest element of each group of ``groups`` channels; ``axis`` is the dimension of the channels."""
    return layer("maxout", locals())


def sum(x):
    """The sum of a list of tensors of one shape.

    Example:
        >>> x = fluid.layers.fill_constant([2], "float32", 1.5)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sum([x, x])])[0].tolist()
        [3.0, 3.0]
    """
    return layer("sum", locals())


def mean(x, name=None):
    """The mean of all elements.

    Returns:
        Variable: ``[1]``; usually the loss that an optimizer minimizes.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 6]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.mean(x)])[0].tolist()
        [3.0]
    """
    return layer("mean", locals())


def softmax(input, use_cudnn=False, name=None, axis=-1):
    """``exp(x) / sum(exp(x))`` along a dimension: positive numbers that sum to 1.

    Args:
        input (Variable): any float tensor.
        axis (int): the dimension of the classes.

    Returns:
        Variable: the shape of ``input``.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 0]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.softmax(x)])[0].tolist()
        [[0.5, 0.5]]
    """
    return layer("softmax", locals())


def log_softmax(input, axis=None, dtype=None, name=None):
    """The logarithm of the softmax along ``axis`` (the last dimension where ``None``), computed in ``dtype`` if given."""
    input = input if dtype is None else input.astype(dtype)
    return layer("log_softmax", locals())


def log_loss(input, label, epsilon=0.0001, name=None):
    """The negative log likelihood of labels 0 or 1: ``input`` holds probabilities ``[batch, 1]``."""
    return layer("log_loss", locals())


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The smooth L1 loss of each row, ``[batch, 1]``: squared where ``|x - y|`` is below ``1 / sigma**2``, linear beyond."""
    return layer("smooth_l1", locals())


def dice_loss(input, label, epsilon=1e-05, name=None):
    """The Dice loss, 1 minus the overlap of prediction and label, ``[1]``."""
    return layer("dice_loss", locals())


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype='float32', name=None):
    """One-hot labels ``[batch, classes]`` mixed with ``prior_dist``, a uniform distribution where ``None``: ``(1 - epsilon)
    * label + epsilon * prior``."""
    return layer("label_smooth", locals())


def linear_chain_crf(input, label, param_attr=None, length=None):
    """The cost of tag sequences; `length` holds the steps of each sequence of a padded input."""
    return layer("linear_chain_crf", locals())


def crf_decoding(input, param_attr, label=None, length=None):
    """The most likely tags (Viterbi) by the transitions that `linear_chain_crf` made, which has the same ``param_attr``.
    With a label: 1 where the tag is right, else 0."""
    return layer("crf_decoding", locals())


def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None):
    """The most likely class of each step, without repetitions and blanks."""
    return layer("ctc_greedy_decoder", locals())


def chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None):
    """Precision, recall and F1 of the chunks that tags mark."""
    return layer("chunk_eval", locals())


def conv2d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW'
):
    """A 2-D convolution, with bias and activation.

    Args:
        input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
        num_filters (int): channels of the result.
        filter_size, stride, dilation (int or list): ``[vertical, horizontal]`` or one number for both.
        padding (int, list or str): pixels around the image, or ``"SAME"`` or ``"VALID"``.
        groups (int): channels are convolved in this number of groups.
        param_attr (ParamAttr): name, initializer, regularizer of the weight.
        bias_attr (ParamAttr or False): the same of the bias; ``False``: no bias.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: ``[batch, num_filters, H, W]`` with ``H = (height + 2 * padding - dilation * (filter_size - 1) - 1) //
            stride + 1``.

    Example:
        >>> image = fluid.data("image", [None, 3, 32, 32])
        >>> fluid.layers.conv2d(image, 16, 3, padding=1, act="relu").shape
        (-1, 16, 32, 32)
    """
    return layer("conv2d", locals())


def conv3d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW'
):
    """A 3-D convolution of ``[batch, channels, depth, height, width]``; arguments as in `conv2d`."""
    return layer("conv3d", locals())


def conv2d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW'
):
    """The transpose of a 2-D convolution: it makes images larger. ``output_size`` or ``filter_size`` must be given; other
    arguments as in `conv2d`.

    Example:
        >>> image = fluid.data("image", [None, 3, 16, 16])
        >>> fluid.layers.conv2d_transpose(image, 8, filter_size=2, stride=2).shape
        (-1, 8, 32, 32)
    """
    return layer("conv2d_transpose", locals())


def conv3d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW'
):
    """The transpose of a 3-D convolution; arguments as in `conv2d_transpose`."""
    return layer("conv3d_transpose", locals())


def pool2d(
    input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
    ceil_mode=False, name=None, exclusive=True, data_format='NCHW'
):
    """Maxima or averages over windows of images.

    Args:
        input (Variable): ``[batch, channels, height, width]``, or NHWC by ``data_format``.
        pool_size, pool_stride, pool_padding (int or list): of the window, ``[vertical, horizontal]`` or one number for both.
        pool_type (str): ``max`` or ``avg``.
        global_pooling (bool): one window over the whole image.
        ceil_mode (bool): windows that reach over the border count, too.
        exclusive (bool): an average leaves padding out.

    Returns:
        Variable: ``[batch, channels, H, W]``.

    Example:
        >>> image = fluid.data("image", [None, 16, 32, 32])
        >>> fluid.layers.pool2d(image, 2, "max", pool_stride=2).shape
        (-1, 16, 16, 16)
    """
    return layer("pool2d", locals())


def pool3d(
    input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
    ceil_mode=False, name=None, exclusive=True, data_format='NCDHW'
):
    """Maxima or averages over windows of ``[batch, channels, depth, height, width]``; arguments as in `pool2d`."""
    return layer("pool3d", locals())


def adaptive_pool2d(input, pool_size, pool_type='max', require_index=False, name=None):
    """Pooling whose windows are chosen so that the result has size ``pool_size``; ``require_index`` also returns where
    maxima were."""
    return layer("adaptive_pool2d", locals())


def batch_norm(
    input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
    do_model_average_for_mean_and_var=True, use_global_stats=False
):
    """Normalizes each channel to mean 0 and variance 1 over the batch, then multiplies by a learnt scale and adds a learnt
    shift. A test program uses the moving mean and variance instead.

    Args:
        input (Variable): ``[batch, channels, ...]``, or channels last by ``data_layout``.
        momentum (float): share of the old value when the moving mean and variance are updated.
        epsilon (float): added to the variance.
        param_attr, bias_attr (ParamAttr): of scale and shift.
        moving_mean_name, moving_variance_name (str): names of the moving statistics.
        use_global_stats (bool): use the moving statistics in training, too.
        act (str): an activation applied to the result, such as ``relu`` or ``softmax``.

    Returns:
        Variable: the shape of ``input``.

    Example:
        >>> image = fluid.data("image", [None, 3, 8, 8])
        >>> fluid.layers.batch_norm(image, act="relu").shape
        (-1, 3, 8, 8)
    """
    return layer("batch_norm", locals())


def layer_norm(
    input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
    name=None
):
    """Normalizes each sample to mean 0 and variance 1 over the dimensions from ``begin_norm_axis`` on; with learnt ``scale``
    and ``shift``.

    Example:
        >>> x = fluid.data("x", [None, 64])
        >>> fluid.layers.layer_norm(x).shape
        (-1, 64)
    """
    return layer("layer_norm", locals())


def group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout='NCHW', name=None):
    """Normalizes groups of channels of each sample, then multiplies by a learnt scale and adds a learnt shift."""
    return layer("group_norm", locals())


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Normalizes each channel of each sample, then multiplies by a learnt scale and adds a learnt shift."""
    return layer("instance_norm", locals())


def data_norm(
    input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', in_place=False, name=None,
    moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, slot_dim=-1,
    sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False
):
    """Normalizes each column by sums and squared sums that are collected over the whole training."""
    return layer("data_norm", locals())


def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """A weight divided by its largest singular value, estimated by ``power_iters`` power iterations."""
    return layer("spectral_norm", locals())


def lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75, name=None, data_format='NCHW'):
    """Local response normalization: divides by the squared sum over ``n`` neighbouring channels."""
    return layer("lrn", locals())


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """Divides vectors along ``axis`` by their L2 norm."""
    return layer("l2_normalize", locals())


def dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation='downgrade_in_infer'):
    """Sets elements to zero at random in training.

    Args:
        x (Variable): any float tensor.
        dropout_prob (float): the probability of zero.
        is_test (bool): do not drop; ``clone(for_test=True)`` sets it.
        seed (int): of the random numbers; ``None``: other ones in every run.
        dropout_implementation (str): ``downgrade_in_infer`` multiplies by ``1 - dropout_prob`` in tests, ``upscale_in_train``
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


def affine_channel(x, scale=None, bias=None, data_layout='NCHW', name=None, act=None):
    """``x * scale + bias`` with one scale and one bias per channel, given as variables."""
    return layer("affine_channel", locals())


def image_resize(
    input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, align_corners=True,
    align_mode=1, data_format='NCHW'
):
    """Resizes images by ``resample``: ``BILINEAR``, ``NEAREST`` or ``TRILINEAR``, to ``out_shape`` or by the factor
    ``scale``."""
    return layer("image_resize", locals())


def resize_bilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
    data_format='NCHW'
):
    """Resizes images ``[batch, channels, height, width]`` by bilinear interpolation, to ``out_shape`` or by the factor
    ``scale``."""
    return layer("resize_bilinear", locals())


def resize_nearest(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, data_format='NCHW'
):
    """Resizes images by nearest-neighbour interpolation, to ``out_shape`` or by the factor ``scale``."""
    return layer("resize_nearest", locals())


def resize_trilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
    data_format='NCDHW'
):
    """Resizes volumes ``[batch, channels, depth, height, width]`` by trilinear interpolation, to ``out_shape`` or by the
    factor ``scale``."""
    return layer("resize_trilinear", locals())


def row_conv(input, future_context_size, param_attr=None, act=None):
    """A convolution along sequences in which each step sees ``future_context_size`` later steps, column by column."""
    return layer("row_conv", locals())


def im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None):
    """Images as sequences of windows."""
    return layer("im2sequence", locals())


def pad(x, paddings, pad_value=0.0, name=None):
    """Adds elements before and after along each dimension.

    Args:
        paddings (list): ``[before_0, after_0, before_1, after_1, ...]``.
        pad_value (float): the value of the new elements.

    Example:
        >>> x = fluid.data("x", [2, 3])
        >>> fluid.layers.pad(x, [0, 0, 1, 1]).shape
        (2, 5)
    """
    return layer("pad", locals())


def pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW', name=None):
    """Adds pixels to images; ``paddings`` are ``[above, below, left, right]``, ``mode`` is ``constant``, ``reflect`` or
    ``edge``."""
    return layer("pad2d", locals())


def pad_constant_like(x, y, pad_value=0.0, name=None):
    """``y``, padded with ``pad_value`` at the ends until it has the shape of ``x``."""
    return layer("pad_constant_like", locals())


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """The windows of images as columns (im2col). ``paddings`` are one size, two (vertical, horizontal) or four (above, left,
    below, right)."""
    return layer("unfold", locals())


def pixel_shuffle(x, upscale_factor):
    """Rearranges ``[batch, c * r * r, h, w]`` to ``[batch, c, h * r, w * r]`` with ``r = upscale_factor``."""
    return layer("pixel_shuffle", locals())


def space_to_depth(x, blocksize, name=None):
    """Rearranges blocks of ``blocksize * blocksize`` pixels into channels, in Fluid's order."""
    return layer("space_to_depth", locals())


def shuffle_channel(x, group, name=None):
    """Takes channels of all ``group`` groups in turn."""
    return layer("shuffle_channel", locals())


def grid_sampler(x, grid, name=None):
    """Pixels of images at the points of ``grid``, by bilinear interpolation."""
    return layer("grid_sampler", locals())


def affine_grid(theta, out_shape, name=None):
    """The points to which affine maps ``theta`` lead the pixels of images of size ``out_shape``."""
    return layer("affine_grid", locals())


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Shifts a share of the channels by one frame forwards and backwards in time."""
    return layer("temporal_shift", locals())


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """The same elements in another shape.

    Args:
        x (Variable): any tensor.
        shape (list): the new sizes. One of them may be -1 (computed from the others); 0 keeps the size of that dimension of
            ``x``.
            Elements may be Variables.
        actual_shape (Variable): the sizes at run time, in place of ``shape``.
        act (str): an activation applied to the result.
        inplace (bool): reuse the memory of ``x``.

    Example:
        >>> x = fluid.data("x", [2, 4, 6])
        >>> fluid.layers.reshape(x, [-1, 0, 3, 2]).shape
        (2, 4, 3, 2)
    """
    return layer("reshape", locals())


def transpose(x, perm, name=None):
    """Permutes dimensions: dimension ``i`` of the result is dimension ``perm[i]`` of ``x``.

    Example:
        >>> x = fluid.data("x", [2, 3, 4])
        >>> fluid.layers.transpose(x, [1, 0, 2]).shape
        (3, 2, 4)
    """
    return layer("transpose", locals())


def squeeze(input, axes, name=None):
    """Removes dimensions of size 1: those of ``axes``, or all of them if ``axes`` is empty.

    Example:
        >>> fluid.layers.squeeze(fluid.data("x", [5, 1, 3]), [1]).shape
        (5, 3)
    """
    return layer("squeeze", locals())


def unsqueeze(input, axes, name=None):
    """Inserts dimensions of size 1 at the positions ``axes`` of the result.

    Example:
        >>> fluid.layers.unsqueeze(fluid.data("x", [5, 3]), [1]).shape
        (5, 1, 3)
    """
    return layer("unsqueeze", locals())


def flatten(x, axis=1, name=None):
    """A matrix: dimensions before ``axis`` become its rows, the others its columns.

    Example:
        >>> fluid.layers.flatten(fluid.data("x", [4, 2, 3]), axis=1).shape
        (4, 6)
    """
    return layer("flatten", locals())


def split(input, num_or_sections, dim=-1, name=None):
    """Splits a tensor along a dimension.

    Args:
        num_or_sections (int or list): the number of equal parts, or the size of each part (one may be -1).
        dim (int): the dimension.

    Returns:
        list of Variable: the parts.

    Example:
        >>> parts = fluid.layers.split(fluid.data("x", [3, 9]), [2, 3, -1], dim=1)
        >>> [part.shape for part in parts]
        [(3, 2), (3, 3), (3, 4)]
    """
    return layer("split", locals())


def stack(x, axis=0):
    """Joins tensors of one shape along a new dimension ``axis``.

    Example:
        >>> x = fluid.data("x", [2, 3])
        >>> fluid.layers.stack([x, x], axis=0).shape
        (2, 2, 3)
    """
    return layer("stack", locals())


def unstack(x, axis=0, num=None):
    """The slices of dimension ``axis``, as a list; ``num`` gives their number where it is not known."""
    return layer("unstack", locals())


def slice(input, axes, starts, ends):
    """A part of a tensor: along each of ``axes``, from its start up to its end. Negative positions count from the end.

    Example:
        >>> x = fluid.data("x", [3, 4, 5])
        >>> fluid.layers.slice(x, axes=[0, 2], starts=[1, -2], ends=[3, 5]).shape
        (2, 4, 2)
    """
    return layer("slice", locals())


def strided_slice(input, axes, starts, ends, strides):
    """`slice` with a stride: every ``strides[i]``-th element along ``axes[i]``."""
    return layer("strided_slice", locals())


def expand(x, expand_times, name=None):
    """Repeats a tensor ``expand_times[i]`` times along dimension ``i``.

    Example:
        >>> fluid.layers.expand(fluid.data("x", [2, 3]), [1, 2]).shape
        (2, 6)
    """
    return layer("expand", locals())


def expand_as(x, target_tensor, name=None):
    """Repeats ``x`` along each dimension until it has the sizes of ``target_tensor``."""
    return layer("expand_as", locals())


def gather(input, index, overwrite=True):
    """The rows of ``input`` whose numbers are in ``index``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
        >>> rows = fluid.layers.gather(x, fluid.layers.assign(np.array([2, 0], "int32")))
        >>> fluid.Executor().run(fetch_list=[rows])[0].tolist()
        [[3.0], [1.0]]
    """
    return layer("gather", locals())


def gather_nd(input, index, name=None):
    """The slices of ``input`` at the indices in the last dimension of ``index``."""
    return layer("gather_nd", locals())


def scatter(input, index, updates, name=None, overwrite=True):
    """``input`` with the rows ``index`` replaced by ``updates``; without ``overwrite`` rows of ``updates`` are summed there."""
    return layer("scatter", locals())


def scatter_nd_add(ref, index, updates, name=None):
    """``ref`` with ``updates`` added at the indices in the last dimension of ``index``."""
    return layer("scatter_nd_add", locals())


def scatter_nd(index, updates, shape, name=None):
    """Zeros of ``shape`` with ``updates`` added at the indices in the last dimension of ``index``."""
    return layer("scatter_nd", locals())


def index_select(input, index, dim=0):
    """The slices ``index`` of dimension ``dim``."""
    return layer("index_select", locals())


def where(condition):
    """The indices of the true elements, int64 ``[n, rank of condition]``."""
    return layer("where", locals())


def one_hot(input, depth, allow_out_of_range=False):
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


def flip(input, dims, name=None):
    """Reverses the order of elements along ``dims``."""
    return layer("flip", locals())


def roll(input, shifts, dims=None):
    """Shifts elements along ``dims``; elements that leave at one end enter at the other. ``None`` shifts the flattened
    tensor."""
    return layer("roll", locals())


def crop(x, shape=None, offsets=None, name=None):
    """A part of a tensor of size ``shape`` that begins at ``offsets``."""
    return layer("crop", locals())


def crop_tensor(x, shape=None, offsets=None, name=None):
    """A part of a tensor of size ``shape`` that begins at ``offsets``; -1 in ``shape`` means all the rest."""
    return layer("crop_tensor", locals())


def shape(input):
    """The sizes of a tensor at run time, int32.

    Example:
        >>> x = fluid.layers.fill_constant([2, 3], "float32", 0.0)
        >>> fluid.Executor().run(fetch_list=[fluid.layers.shape(x)])[0].tolist()
        [2, 3]
    """
    return layer("shape", locals())


def rank(input):
    """The number of dimensions of ``input``, an int32 tensor."""
    return layer("rank", locals())


def size(input):
    """The number of elements of ``input``, an int64 tensor."""
    return layer("size", locals())


def topk(input, k, name=None):
    """The ``k`` largest elements of each row, and their indices.

    Returns:
        tuple: values and int64 indices, both ``[..., k]``.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 5, 3]], "float32"))
        >>> values, indices = fluid.layers.topk(x, 2)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[values, indices])]
        [[[5.0, 3.0]], [[1, 2]]]
    """
    return layer("topk", locals())


def unique(x, dtype='int32'):
    """The distinct elements of a 1-D tensor in the order of their first occurrence, and for each element of ``x`` its index
    among them."""
    return layer("unique", locals())


def unique_with_counts(x, dtype='int32'):
    """`unique`, and the number of occurrences of each distinct element."""
    return layer("unique_with_counts", locals())


def multiplex(inputs, index):
    """Row ``i`` of the result is row ``i`` of the input with number ``index[i]``."""
    return layer("multiplex", locals())


def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Ids as numbers within their shard: ids of other shards than ``shard_id`` become ``ignore_value``."""
    return layer("shard_index", locals())


def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor with the shape of ``input`` and every element ``fill_value``."""
    return layer_into("full_like", locals())


def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32'):
    """A tensor of normally distributed random numbers. ``seed`` 0 takes the program's seed."""
    return layer("gaussian_random", locals())


def uniform_random_batch_size_like(
    input, shape, dtype='float32', input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """`uniform_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``."""
    return layer("uniform_random_batch_size_like", locals())


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype='float32'
):
    """`gaussian_random` of ``shape``, in which dimension ``output_dim_idx`` has the size of dimension ``input_dim_idx`` of
    ``input``."""
    return layer("gaussian_random_batch_size_like", locals())


def sampling_id(x, min=0.0, max=1.0, seed=0, dtype='float32'):
    """For each row of probabilities, the index of a random draw."""
    return layer("sampling_id", locals())


def randint(low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False, seed=0, name=None):
    """Random whole numbers in ``[low, high)``; with one bound, in ``[0, low)``."""
    return layer_into("randint", locals())


def tril(input, diagonal=0, name=None):
    """The lower triangle; elements above the diagonal are zero."""
    return layer("tril", locals())


def triu(input, diagonal=0, name=None):
    """The upper triangle; elements below the diagonal are zero."""
    return layer("triu", locals())


def meshgrid(input, name=None):
    """Coordinates of a grid: for ``n`` vectors, ``n`` tensors of ``n`` dimensions."""
    return layer("meshgrid", locals())


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of ``input`` on a diagonal; ``dim1`` and ``dim2`` are the dimensions of rows and
    columns."""
    return layer("diag_embed", locals())


def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """The sums of a diagonal."""
    return layer_into("trace", locals())


def reduce_sum(input, dim=None, keep_dim=False, name=None):
    """Sums over dimensions.

    Args:
        input (Variable): any tensor of numbers.
        dim (int or list): the dimensions to sum over; ``None``: all.
        keep_dim (bool): they stay, with size 1.

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2], [3, 4]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.reduce_sum(x, dim=1)])[0].tolist()
        [3.0, 7.0]
    """
    return layer("reduce_sum", locals())


def reduce_mean(input, dim=None, keep_dim=False, name=None):
    """Means over dimensions; arguments as in `reduce_sum`.

    Example:
        >>> x = fluid.data("x", [None, 3, 4])
        >>> fluid.layers.reduce_mean(x, dim=[1, 2], keep_dim=True).shape
        (-1, 1, 1)
    """
    return layer("reduce_mean", locals())


def reduce_max(input, dim=None, keep_dim=False, name=None):
    """The largest elements over dimensions; arguments as in `reduce_sum`."""
    return layer("reduce_max", locals())


def reduce_min(input, dim=None, keep_dim=False, name=None):
    """The smallest elements over dimensions; arguments as in `reduce_sum`."""
    return layer("reduce_min", locals())


def reduce_prod(input, dim=None, keep_dim=False, name=None):
    """Products over dimensions; arguments as in `reduce_sum`."""
    return layer("reduce_prod", locals())


def reduce_all(input, dim=None, keep_dim=False, name=None):
    """True where all elements over dimensions are true; arguments as in `reduce_sum`."""
    return layer("reduce_all", locals())


def reduce_any(input, dim=None, keep_dim=False, name=None):
    """True where any element over dimensions is true; arguments as in `reduce_sum`."""
    return layer("reduce_any", locals())


def logical_and(x, y, out=None, name=None):
    """``x and y``, element by element, of bool tensors."""
    return layer("logical_and", locals())


def logical_or(x, y, out=None, name=None):
    """``x or y``, element by element, of bool tensors."""
    return layer("logical_or", locals())


def logical_xor(x, y, out=None, name=None):
    """True where exactly one of ``x`` and ``y`` is true, element by element."""
    return layer("logical_xor", locals())


def logical_not(x, out=None, name=None):
    """``not x``, element by element, of a bool tensor."""
    return layer("logical_not", locals())


def mean_iou(input, label, num_classes):
    """The mean over classes of intersection over union; also the wrong and the correct predictions of each class."""
    return layer("mean_iou", locals())


def add_position_encoding(input, alpha, beta, name=None):
    """`alpha * input + beta * position`."""
    return layer("add_position_encoding", locals())


def hash(input, hash_size, num_hash=1, name=None):
    """Rows of ids as `num_hash` numbers below `hash_size`."""
    return layer("hash", locals())


def continuous_value_model(input, cvm, use_cvm=True):
    """Embeddings whose first two columns are shows and clicks: as logarithms, or removed without ``use_cvm``."""
    return layer("continuous_value_model", locals())


def filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0):
    """The instances that have a wanted tag, and the weight of each in a loss."""
    return layer("filter_by_instag", locals())


def merge_selected_rows(x, name=None):
    """A SelectedRows variable in which every row occurs once: values of duplicate rows are summed."""
    return layer("merge_selected_rows", locals())


def get_tensor_from_selected_rows(x, name=None):
    """The values of a SelectedRows variable as a dense tensor, one row per listed row."""
    return layer("get_tensor_from_selected_rows", locals())


def gather_tree(ids, parents):
    """Whole sequences out of the steps of a beam search of fixed width, `[steps, batch, beams]`."""
    return layer("gather_tree", locals())


def image_resize_short(input, out_short_len, resample='BILINEAR'):
    """The shorter side gets this length, the other keeps its proportion."""
    return layer("image_resize_short", locals())


def similarity_focus(input, axis, indexes, name=None):
    """A mask of the largest elements of the selected planes, each row and column used once."""
    return layer("similarity_focus", locals())


def adaptive_pool3d(input, pool_size, pool_type='max', require_index=False, name=None):
    """`adaptive_pool2d` of volumes ``[batch, channels, depth, height, width]``."""
    return layer("adaptive_pool3d", locals())


def _variables(what, given):
    """None, a Variable or several, as a list."""
    given = [] if given is None else [given] if isinstance(given, Variable) else given
    if not isinstance(given, (list, tuple)) or not all(isinstance(v, Variable) for v in given):
        raise TypeError("%s of py_func must be None, a Variable, or a list or tuple of Variables, not %r" % (what, given))
    return list(given)


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Calls a Python function whenever the program runs: ``out = func(*x)``, with LoDTensors as arguments. ``out`` is declared
    by the user. ``backward_func`` takes the inputs, the outputs and the outputs' gradients, except those in
    ``skip_vars_in_backward_input``, and returns the inputs' gradients; without it no gradient flows. What the function raises
    arrives at ``exe.run``."""
    for what, f in (("func", func), ("backward_func", backward_func)):
        if not callable(f) and (f is not None or what == "func"):
            raise TypeError("%s of py_func must be a function, not %r" % (what, f))
    inputs, outputs = _variables("x", x), _variables("out", out)
    for v in outputs:
        if not v.shape:
            raise ValueError("py_func cannot know the shape of its output %s: declare it with one" % v.name)
    skipped = [v.name for v in _variables("skip_vars_in_backward_input", skip_vars_in_backward_input)]
    unknown = set(skipped) - {v.name for v in inputs + outputs}
    if unknown:
        raise ValueError("%s: neither an input nor an output of this py_func" % ", ".join(sorted(unknown)))
    attrs = {
        "forward_callable_id": _core.keep_function(func),
        "backward_callable_id": -1 if backward_func is None else _core.keep_function(backward_func),
        "backward_skip_vars": skipped if backward_func is not None else [],
    }
    default_main_program().current_block().append_op("py_func", {"X": inputs}, {"Out": outputs}, attrs)
    return out
