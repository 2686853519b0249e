"""Groups of layers that often stand together."""

from . import layers

__all__ = ["glu", "img_conv_group", "scaled_dot_product_attention", "sequence_conv_pool", "simple_img_conv_pool"]


def simple_img_conv_pool(input, num_filters, filter_size, pool_size, pool_stride, pool_padding=0, pool_type="max",
                         global_pooling=False, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1,
                         param_attr=None, bias_attr=None, act=None, use_cudnn=True):
    """A convolution and a pooling."""
    conv = layers.conv2d(
        input, num_filters, filter_size, stride=conv_stride, padding=conv_padding, dilation=conv_dilation,
        groups=conv_groups, param_attr=param_attr, bias_attr=bias_attr, act=act, use_cudnn=use_cudnn,
    )
    return layers.pool2d(
        conv, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride, pool_padding=pool_padding,
        global_pooling=global_pooling, use_cudnn=use_cudnn,
    )


def img_conv_group(input, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3, conv_act=None, param_attr=None,
                   conv_with_batchnorm=False, conv_batchnorm_drop_rate=0.0, pool_stride=1, pool_type="max", use_cudnn=True):
    """Convolutions, each perhaps with batch normalisation and dropout, and a pooling."""
    count = len(conv_num_filter)

    def each(value):
        if isinstance(value, (list, tuple)):
            if len(value) != count:
                raise ValueError("img_conv_group has %d convolutions, but a list of %d" % (count, len(value)))
            return list(value)
        return [value] * count

    paddings, sizes, attrs = each(conv_padding), each(conv_filter_size), each(param_attr)
    norms, drops = each(conv_with_batchnorm), each(conv_batchnorm_drop_rate)
    out = input
    for i in range(count):
        out = layers.conv2d(
            out, conv_num_filter[i], sizes[i], padding=paddings[i], param_attr=attrs[i],
            act=None if norms[i] else conv_act, use_cudnn=use_cudnn,
        )
        if norms[i]:
            out = layers.batch_norm(out, act=conv_act)
            if abs(drops[i]) > 1e-5:
                out = layers.dropout(out, dropout_prob=drops[i])
    return layers.pool2d(out, pool_size=pool_size, pool_type=pool_type, pool_stride=pool_stride, use_cudnn=use_cudnn)


def sequence_conv_pool(input, num_filters, filter_size, param_attr=None, act="sigmoid", pool_type="max", bias_attr=None):
    """A convolution over sequences and a pooling."""
    conv = layers.sequence_conv(input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act)
    return layers.sequence_pool(conv, pool_type)


def glu(input, dim=-1):
    """Half of the input, gated by the other half."""
    a, b = layers.split(input, num_or_sections=2, dim=dim)
    return layers.elementwise_mul(a, layers.sigmoid(b))


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """Values weighted by how alike their keys and the queries are."""
    for what, var in (("queries", queries), ("keys", keys), ("values", values)):
        if len(var.shape) != 3:
            raise ValueError("%s should have 3 dimensions, not %s" % (what, var.shape))
    if len({queries.dtype, keys.dtype, values.dtype}) > 1:
        raise TypeError("queries, keys and values must have one element type, not %s, %s and %s" % (queries.dtype, keys.dtype, values.dtype))
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("queries and keys should have one size, not %s and %s" % (queries.shape[-1], keys.shape[-1]))
    if keys.shape[-1] % num_heads or values.shape[-1] % num_heads:
        raise ValueError("%d heads do not divide %s and %s" % (num_heads, keys.shape[-1], values.shape[-1]))

    def project(x):
        return x if num_heads == 1 else layers.fc(x, size=x.shape[-1], num_flatten_dims=2)

    def split_heads(x):
        if num_heads == 1:
            return x
        size = x.shape[-1]
        parts = layers.reshape(x, shape=[0, 0, num_heads, size // num_heads], inplace=True)
        return layers.transpose(parts, perm=[0, 2, 1, 3])

    def join_heads(x):
        if len(x.shape) == 3:
            return x
        x = layers.transpose(x, perm=[0, 2, 1, 3])
        return layers.reshape(x, shape=[0, 0, x.shape[2] * x.shape[3]])

    q, k, v = (split_heads(x) for x in (project(queries), project(keys), project(values)))
    scaled = layers.scale(q, scale=(keys.shape[-1] // num_heads) ** -0.5)
    product = layers.matmul(scaled, k, transpose_y=True)
    weights = layers.reshape(product, shape=[-1, product.shape[-1]], act="softmax")
    weights = layers.reshape(weights, shape=product.shape)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_prob=dropout_rate, is_test=False)
    return join_heads(layers.matmul(weights, v))
