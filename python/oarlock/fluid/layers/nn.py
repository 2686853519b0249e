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
    """A counter of block 0 that grows by `step` at the start of every run, from `begin - 1`. `None` names it
    `@STEP_COUNTER@`."""
    return layer("autoincreased_step_counter", locals())


def fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
    """A fully connected layer: `act(input * W + b)`."""
    return layer("fc", locals())


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32', *,
              entry=None, evict=None):
    """`fluid.layers.embedding`: the rows of ids `[..., 1]`; the width takes the place of the last dimension. Of a table with
    ``is_distributed``, ``entry`` (``paddle.distributed.CountFilterEntry``, ...) says which ids get a row, and ``evict``
    (``paddle.distributed.UnseenEviction`` or ``ScoreEviction``) which rows go by themselves; Fluid has neither."""
    return layer("embedding", with_rules(locals()))


def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The product of two matrices, into which tensors are folded: so many first dimensions are rows, the others
    columns."""
    return layer("mul", locals())


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """`matmul`: the product of matrices or of batches of matrices."""
    return layer("matmul", locals())


def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """`size` bilinear forms of `x` and `y`."""
    return layer("bilinear_tensor_product", locals())


def cos_sim(X, Y):
    """The cosine between rows."""
    return layer("cos_sim", locals())


def fsp_matrix(x, y):
    """How the channels of two feature maps go together."""
    return layer("fsp_matrix", locals())


def addmm(input, x, y, alpha=1.0, beta=1.0, name=None):
    """`beta * input + alpha * x * y`."""
    return layer("addmm", locals())


def bmm(x, y, name=None):
    """Products of the matrices of two batches."""
    return layer("bmm", locals())


def dot(x, y, name=None):
    """Inner products of vectors."""
    return layer("dot", locals())


def kron(x, y, out=None, name=None):
    """The Kronecker product."""
    return layer_into("kron", locals())


def elementwise_add(x, y, axis=-1, act=None, name=None):
    """`x + y`"""
    return layer("elementwise_add", locals())


def elementwise_sub(x, y, axis=-1, act=None, name=None):
    """`x - y`"""
    return layer("elementwise_sub", locals())


def elementwise_mul(x, y, axis=-1, act=None, name=None):
    """`x * y`"""
    return layer("elementwise_mul", locals())


def elementwise_div(x, y, axis=-1, act=None, name=None):
    """`x / y`"""
    return layer("elementwise_div", locals())


def elementwise_max(x, y, axis=-1, act=None, name=None):
    """The larger of `x` and `y`."""
    return layer("elementwise_max", locals())


def elementwise_min(x, y, axis=-1, act=None, name=None):
    """The smaller of `x` and `y`."""
    return layer("elementwise_min", locals())


def elementwise_pow(x, y, axis=-1, act=None, name=None):
    """`x` to the power of `y`."""
    return layer("elementwise_pow", locals())


def elementwise_mod(x, y, axis=-1, act=None, name=None):
    """The remainder of integers, with the sign of `y`."""
    return layer("elementwise_mod", locals())


def elementwise_floordiv(x, y, axis=-1, act=None, name=None):
    """The quotient of integers, rounded down."""
    return layer("elementwise_floordiv", locals())


def relu(x, name=None):
    """`max(x, 0)`"""
    return layer("relu", locals())


def relu6(x, threshold=6.0, name=None):
    """`min(max(x, 0), threshold)`."""
    return layer("relu6", locals())


def log(x, name=None):
    """The natural logarithm."""
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
    """`slope * x + offset`, cut at 0 and 1."""
    return layer("hard_sigmoid", locals())


def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """`x * min(max(x + offset, 0), threshold) / scale`."""
    return layer("hard_swish", locals())


def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """`x` cut at both bounds."""
    return layer("brelu", locals())


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """`scale_b * tanh(scale_a * x)`."""
    return layer("stanh", locals())


def pow(x, factor=1.0, name=None):
    """`x` to the power of `factor`."""
    return layer("pow", locals())


def sign(x):
    """-1, 0 or 1."""
    return layer("sign", locals())


def selu(x, scale=None, alpha=None, name=None):
    """`scale` times `elu` with `alpha`, the constants of its paper where `None`."""
    return layer("selu", locals())


def soft_relu(x, threshold=40.0, name=None):
    """`log(1 + exp(x))` with `x` cut at both sides of the threshold."""
    return layer("soft_relu", locals())


def mish(x, threshold=20, name=None):
    """`x * tanh(softplus(x))`."""
    return layer("mish", locals())


def log1p(x, out=None, name=None):
    """`log(1 + x)`"""
    return layer_into("log1p", locals())


def clip(x, min, max, name=None):
    """Each element within bounds."""
    return layer("clip", locals())


def clip_by_norm(x, max_norm, name=None):
    """Scaled down to at most this norm."""
    return layer("clip_by_norm", locals())


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """`scale * x + bias`"""
    return layer("scale", locals())


def prelu(x, mode, param_attr=None, name=None):
    """Negative elements times a learnt factor: one for `all`, one per `channel`, or one per `element` of an example."""
    return layer("prelu", locals())


def maxout(x, groups, name=None, axis=1):
    """The largest of each group of channels."""
    return layer("maxout", locals())


def sum(x):
    """, `sums(input)`: the sum of tensors of one shape."""
    return layer("sum", locals())


def mean(x, name=None):
    """The mean of all elements, `[1]`."""
    return layer("mean", locals())


def softmax(input, use_cudnn=False, name=None, axis=-1):
    """Exponentials that sum to one."""
    return layer("softmax", locals())


def log_softmax(input, axis=None, dtype=None, name=None):
    """The logarithm of the softmax, computed in `dtype` if given."""
    input = input if dtype is None else input.astype(dtype)
    return layer("log_softmax", locals())


def log_loss(input, label, epsilon=0.0001, name=None):
    """Of probabilities of one class."""
    return layer("log_loss", locals())


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """Squared near zero, absolute beyond; `weights` are the inside and the outside one."""
    return layer("smooth_l1", locals())


def dice_loss(input, label, epsilon=1e-05, name=None):
    """One minus the overlap of prediction and label, `[1]`."""
    return layer("dice_loss", locals())


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype='float32', name=None):
    """Labels `[batch, classes]` mixed with a distribution, a uniform one where `None`."""
    return layer("label_smooth", locals())


def linear_chain_crf(input, label, param_attr=None, length=None):
    """The cost of tag sequences; `length` holds the steps of each sequence of a padded input."""
    return layer("linear_chain_crf", locals())


def crf_decoding(input, param_attr, label=None, length=None):
    """The best tags by the transitions that [`linear_chain_crf`](Net::linear_chain_crf) made under the name
    `transition`; with a label whether they are right."""
    return layer("crf_decoding", locals())


def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None):
    """The best class of each step, without repetitions and blanks."""
    return layer("ctc_greedy_decoder", locals())


def chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None):
    """Precision, recall and F1 of the chunks that tags mark."""
    return layer("chunk_eval", locals())


def conv2d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW'
):
    """A convolution of images `[batch, channels, height, width]`."""
    return layer("conv2d", locals())


def conv3d(
    input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
    bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW'
):
    """A convolution of volumes `[batch, channels, depth, height, width]`."""
    return layer("conv3d", locals())


def conv2d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW'
):
    """The transpose of a convolution of images: makes them larger."""
    return layer("conv2d_transpose", locals())


def conv3d_transpose(
    input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
    param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCDHW'
):
    """The transpose of a convolution of volumes."""
    return layer("conv3d_transpose", locals())


def pool2d(
    input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
    ceil_mode=False, name=None, exclusive=True, data_format='NCHW'
):
    """Maxima or averages of windows of images `[batch, channels, height, width]`."""
    return layer("pool2d", locals())


def pool3d(
    input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
    ceil_mode=False, name=None, exclusive=True, data_format='NCDHW'
):
    """Maxima or averages of windows of volumes `[batch, channels, depth, height, width]`."""
    return layer("pool3d", locals())


def adaptive_pool2d(input, pool_size, pool_type='max', require_index=False, name=None):
    """Windows as large as gives a result of this size."""
    return layer("adaptive_pool2d", locals())


def batch_norm(
    input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
    do_model_average_for_mean_and_var=True, use_global_stats=False
):
    """Normalises each channel over the batch, then scales and shifts it."""
    return layer("batch_norm", locals())


def layer_norm(
    input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
    name=None
):
    """Normalises each example."""
    return layer("layer_norm", locals())


def group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout='NCHW', name=None):
    """Normalises groups of channels of each example."""
    return layer("group_norm", locals())


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Normalises each channel of each example."""
    return layer("instance_norm", locals())


def data_norm(
    input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', in_place=False, name=None,
    moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, slot_dim=-1,
    sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False
):
    """Normalises each element by sums that are kept over all of training."""
    return layer("data_norm", locals())


def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """A weight divided by its largest singular value."""
    return layer("spectral_norm", locals())


def lrn(input, n=5, k=1.0, alpha=0.0001, beta=0.75, name=None, data_format='NCHW'):
    """Divides by the size of neighbouring channels."""
    return layer("lrn", locals())


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """Vectors along a dimension to length 1."""
    return layer("l2_normalize", locals())


def dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation='downgrade_in_infer'):
    """Sets elements to zero at random while training."""
    return layer("dropout", locals())


def affine_channel(x, scale=None, bias=None, data_layout='NCHW', name=None, act=None):
    """A factor and a summand for each channel, from variables."""
    return layer("affine_channel", locals())


def image_resize(
    input, out_shape=None, scale=None, name=None, resample='BILINEAR', actual_shape=None, align_corners=True,
    align_mode=1, data_format='NCHW'
):
    """`image_resize`, with `resample` one of BILINEAR, NEAREST and TRILINEAR."""
    return layer("image_resize", locals())


def resize_bilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
    data_format='NCHW'
):
    """Images `[batch, channels, height, width]` made larger or smaller, linear between pixels."""
    return layer("resize_bilinear", locals())


def resize_nearest(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, data_format='NCHW'
):
    """Images made larger or smaller by repeating pixels or leaving them out."""
    return layer("resize_nearest", locals())


def resize_trilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
    data_format='NCDHW'
):
    """Volumes `[batch, channels, depth, height, width]` made larger or smaller, linear between pixels."""
    return layer("resize_trilinear", locals())


def row_conv(input, future_context_size, param_attr=None, act=None):
    """Each step sees so many steps ahead, column by column."""
    return layer("row_conv", locals())


def im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None):
    """Images as sequences of windows."""
    return layer("im2sequence", locals())


def pad(x, paddings, pad_value=0.0, name=None):
    """Two numbers per dimension: what is added before and after."""
    return layer("pad", locals())


def pad2d(input, paddings=[0, 0, 0, 0], mode='constant', pad_value=0.0, data_format='NCHW', name=None):
    """Pixels above, below, left and right; `mode` is constant, reflect or edge."""
    return layer("pad2d", locals())


def pad_constant_like(x, y, pad_value=0.0, name=None):
    """`y` as large as `x`."""
    return layer("pad_constant_like", locals())


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """The windows of images side by side. Paddings are one size, two (vertical, horizontal) or four (above, left,
    below, right)."""
    return layer("unfold", locals())


def pixel_shuffle(x, upscale_factor):
    """Channels become pixels."""
    return layer("pixel_shuffle", locals())


def space_to_depth(x, blocksize, name=None):
    """Pixels become channels, in the order Fluid has."""
    return layer("space_to_depth", locals())


def shuffle_channel(x, group, name=None):
    """Channels of all groups in turn."""
    return layer("shuffle_channel", locals())


def grid_sampler(x, grid, name=None):
    """Pixels of images at given points."""
    return layer("grid_sampler", locals())


def affine_grid(theta, out_shape, name=None):
    """Where affine maps lead the points of images of these sizes."""
    return layer("affine_grid", locals())


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Some channels from the frame before and after."""
    return layer("temporal_shift", locals())


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """The same elements in another shape."""
    return layer("reshape", locals())


def transpose(x, perm, name=None):
    """Dimension `i` of the result is dimension `perm[i]` of `x`."""
    return layer("transpose", locals())


def squeeze(input, axes, name=None):
    """Without these dimensions of size 1."""
    return layer("squeeze", locals())


def unsqueeze(input, axes, name=None):
    """With new dimensions of size 1 at these places."""
    return layer("unsqueeze", locals())


def flatten(x, axis=1, name=None):
    """A matrix; dimensions before `axis` are its rows."""
    return layer("flatten", locals())


def split(input, num_or_sections, dim=-1, name=None):
    """Parts along a dimension."""
    return layer("split", locals())


def stack(x, axis=0):
    """Along a new dimension."""
    return layer("stack", locals())


def unstack(x, axis=0, num=None):
    """The slices of a dimension; `num` where its size is not known."""
    return layer("unstack", locals())


def slice(input, axes, starts, ends):
    """Along each of `axes`, from its start up to its end; negative ones count from the end."""
    return layer("slice", locals())


def strided_slice(input, axes, starts, ends, strides):
    """Every `stride`-th."""
    return layer("strided_slice", locals())


def expand(x, expand_times, name=None):
    """Repeated so often along each dimension."""
    return layer("expand", locals())


def expand_as(x, target_tensor, name=None):
    """Repeated until it is as large as another."""
    return layer("expand_as", locals())


def gather(input, index, overwrite=True):
    """Rows by their index."""
    return layer("gather", locals())


def gather_nd(input, index, name=None):
    """Slices by the indices in the last dimension of `index`."""
    return layer("gather_nd", locals())


def scatter(input, index, updates, name=None, overwrite=True):
    """Rows replaced, or summed up without `overwrite`."""
    return layer("scatter", locals())


def scatter_nd_add(ref, index, updates, name=None):
    """Slices added at indices."""
    return layer("scatter_nd_add", locals())


def scatter_nd(index, updates, shape, name=None):
    """Slices added to zeros."""
    return layer("scatter_nd", locals())


def index_select(input, index, dim=0):
    """Slices of a dimension."""
    return layer("index_select", locals())


def where(condition):
    """`where(condition)`: the indices of what is true."""
    return layer("where", locals())


def one_hot(input, depth, allow_out_of_range=False):
    """`fluid.layers.one_hot(input, depth, allow_out_of_range=False)`: of ids `[..., 1]`; `depth` takes the place of
    the last dimension."""
    return layer("one_hot", locals())


def flip(input, dims, name=None):
    """Backwards along these dimensions."""
    return layer("flip", locals())


def roll(input, shifts, dims=None):
    """Shifted along dimensions, what falls out comes in again; `None` shifts the elements of the whole tensor."""
    return layer("roll", locals())


def crop(x, shape=None, offsets=None, name=None):
    """A part of a tensor."""
    return layer("crop", locals())


def crop_tensor(x, shape=None, offsets=None, name=None):
    """A part of a tensor; -1 in `shape` stands for all that follows."""
    return layer("crop_tensor", locals())


def shape(input):
    """`shape(input)`: its sizes, i32."""
    return layer("shape", locals())


def rank(input):
    """See the operator's documentation."""
    return layer("rank", locals())


def size(input):
    """`size(input)`: its number of elements, i64."""
    return layer("size", locals())


def topk(input, k, name=None):
    """The largest of each row, and their indices."""
    return layer("topk", locals())


def unique(x, dtype='int32'):
    """See the operator's documentation."""
    return layer("unique", locals())


def unique_with_counts(x, dtype='int32'):
    """As [`Net::unique_of`], and how often each element occurs."""
    return layer("unique_with_counts", locals())


def multiplex(inputs, index):
    """Row `i` of the input that `index[i]` names."""
    return layer("multiplex", locals())


def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Ids within their shard."""
    return layer("shard_index", locals())


def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """The shape of `input`, every element `value`."""
    return layer_into("full_like", locals())


def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype='float32'):
    """See the operator's documentation."""
    return layer("gaussian_random", locals())


def uniform_random_batch_size_like(
    input, shape, dtype='float32', input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """See the operator's documentation."""
    return layer("uniform_random_batch_size_like", locals())


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype='float32'
):
    """See the operator's documentation."""
    return layer("gaussian_random_batch_size_like", locals())


def sampling_id(x, min=0.0, max=1.0, seed=0, dtype='float32'):
    """An index per row, drawn with the row's probabilities."""
    return layer("sampling_id", locals())


def randint(low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False, seed=0, name=None):
    """Whole numbers in `[low, high)`."""
    return layer_into("randint", locals())


def tril(input, diagonal=0, name=None):
    """The lower triangle; elements above the diagonal are zero."""
    return layer("tril", locals())


def triu(input, diagonal=0, name=None):
    """The upper triangle; elements below the diagonal are zero."""
    return layer("triu", locals())


def meshgrid(input, name=None):
    """The coordinates of a grid, a tensor per list."""
    return layer("meshgrid", locals())


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the rows of `input` on a diagonal; `dims` are the axes of rows and columns."""
    return layer("diag_embed", locals())


def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """The sum of a diagonal."""
    return layer_into("trace", locals())


def reduce_sum(input, dim=None, keep_dim=False, name=None):
    """Sums."""
    return layer("reduce_sum", locals())


def reduce_mean(input, dim=None, keep_dim=False, name=None):
    """Means."""
    return layer("reduce_mean", locals())


def reduce_max(input, dim=None, keep_dim=False, name=None):
    """Largest elements."""
    return layer("reduce_max", locals())


def reduce_min(input, dim=None, keep_dim=False, name=None):
    """Smallest elements."""
    return layer("reduce_min", locals())


def reduce_prod(input, dim=None, keep_dim=False, name=None):
    """Products."""
    return layer("reduce_prod", locals())


def reduce_all(input, dim=None, keep_dim=False, name=None):
    """Are all true?"""
    return layer("reduce_all", locals())


def reduce_any(input, dim=None, keep_dim=False, name=None):
    """Is any true?"""
    return layer("reduce_any", locals())


def logical_and(x, y, out=None, name=None):
    """Both."""
    return layer("logical_and", locals())


def logical_or(x, y, out=None, name=None):
    """One or both."""
    return layer("logical_or", locals())


def logical_xor(x, y, out=None, name=None):
    """One, but not both."""
    return layer("logical_xor", locals())


def logical_not(x, out=None, name=None):
    """See the operator's documentation."""
    return layer("logical_not", locals())


def mean_iou(input, label, num_classes):
    """Mean over classes of intersection over union; also the wrong and the correct predictions of each class."""
    return layer("mean_iou", locals())


def add_position_encoding(input, alpha, beta, name=None):
    """`alpha * input + beta * position`."""
    return layer("add_position_encoding", locals())


def hash(input, hash_size, num_hash=1, name=None):
    """Rows of ids as `num_hash` numbers below `hash_size`."""
    return layer("hash", locals())


def continuous_value_model(input, cvm, use_cvm=True):
    """Shows and clicks in front of each row, as logarithms or left out."""
    return layer("continuous_value_model", locals())


def filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0):
    """The instances that have a wanted tag, and the weight of each in a loss."""
    return layer("filter_by_instag", locals())


def merge_selected_rows(x, name=None):
    """See the operator's documentation."""
    return layer("merge_selected_rows", locals())


def get_tensor_from_selected_rows(x, name=None):
    """See the operator's documentation."""
    return layer("get_tensor_from_selected_rows", locals())


def gather_tree(ids, parents):
    """Whole sequences out of the steps of a beam search of fixed width, `[steps, batch, beams]`."""
    return layer("gather_tree", locals())


def image_resize_short(input, out_short_len, resample='BILINEAR'):
    """The shorter side gets this length, the other keeps its proportion."""
    return layer("image_resize_short", locals())


def similarity_focus(input, axis, indexes, name=None):
    """Marks the largest elements of planes, each row and column once."""
    return layer("similarity_focus", locals())


def adaptive_pool3d(input, pool_size, pool_type='max', require_index=False, name=None):
    """The same for volumes."""
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
