"""Sequences."""

from ._call import layer
from ._names import fallback

__all__ = [
    "lod_append", "lod_reset", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand",
    "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_mask", "sequence_pad",
    "sequence_pool", "sequence_reshape", "sequence_reverse", "sequence_scatter", "sequence_slice",
    "sequence_softmax", "sequence_unpad",
]

__getattr__ = fallback(__name__)


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row per sequence; `pool_type` is `average`, `sum`, `sqrt`, `max`, `last` or `first`, and an empty sequence
    gives `pad_value`."""
    return layer("sequence_pool", locals())


def sequence_first_step(input):
    """The first row of each sequence."""
    return layer("sequence_first_step", locals())


def sequence_last_step(input):
    """The last row of each sequence."""
    return layer("sequence_last_step", locals())


def sequence_softmax(input, use_cudnn=False, name=None):
    """A softmax over each sequence of numbers."""
    return layer("sequence_softmax", locals())


def sequence_expand(x, y, ref_level=-1, name=None):
    """Sequences of `x` repeated as often as the level of `y` says."""
    return layer("sequence_expand", locals())


def sequence_expand_as(x, y, name=None):
    """Rows of `x` repeated as often as the sequences of `y` are long."""
    return layer("sequence_expand_as", locals())


def sequence_concat(input, name=None):
    """The first sequences of all inputs joined, then the second ones, ..."""
    return layer("sequence_concat", locals())


def sequence_conv(
    input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
    param_attr=None, act=None, name=None
):
    """A convolution along sequences."""
    return layer("sequence_conv", locals())


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """Sequences as rows of one length, the longest where `None`, and their lengths."""
    return layer("sequence_pad", locals())


def sequence_unpad(x, length, name=None):
    """The way back."""
    return layer("sequence_unpad", locals())


def sequence_reverse(x, name=None):
    """Each sequence backwards."""
    return layer("sequence_reverse", locals())


def sequence_slice(input, offset, length, name=None):
    """A part of each sequence."""
    return layer("sequence_slice", locals())


def sequence_mask(x, maxlen=None, dtype='int64', name=None):
    """For each length so many ones, then zeros."""
    return layer("sequence_mask", locals())


def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """Each id with those that follow it."""
    return layer("sequence_enumerate", locals())


def sequence_reshape(input, new_dim):
    """Rows of another width."""
    return layer("sequence_reshape", locals())


def sequence_scatter(input, index, updates, name=None):
    """Numbers added to row `i` at the columns of sequence `i`."""
    return layer("sequence_scatter", locals())


def lod_reset(x, y=None, target_lod=None):
    """These offsets."""
    return layer("lod_reset", locals())


def lod_append(x, level):
    """These offsets as one more level."""
    return layer("lod_append", locals())
