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
    """One row per sequence.

    Args:
        input (Variable): sequences, LoD level 1 or more.
        pool_type (str): ``average``, ``sum``, ``sqrt`` (sum divided by the root of the length), ``max``, ``last`` or
            ``first``.
        pad_value (float): the result of an empty sequence.

    Example:
        >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
        >>> rows = fluid.layers.embedding(words, [1000, 8])
        >>> fluid.layers.sequence_pool(rows, "sum").shape
        (-1, 8)
    """
    return layer("sequence_pool", locals())


def sequence_first_step(input):
    """The first row of each sequence."""
    return layer("sequence_first_step", locals())


def sequence_last_step(input):
    """The last row of each sequence."""
    return layer("sequence_last_step", locals())


def sequence_softmax(input, use_cudnn=False, name=None):
    """The softmax over the elements of each sequence; ``input`` has one column."""
    return layer("sequence_softmax", locals())


def sequence_expand(x, y, ref_level=-1, name=None):
    """Repeats each sequence (or row) of ``x`` as often as level ``ref_level`` of ``y`` says."""
    return layer("sequence_expand", locals())


def sequence_expand_as(x, y, name=None):
    """Repeats row ``i`` of ``x`` as often as sequence ``i`` of ``y`` has elements."""
    return layer("sequence_expand_as", locals())


def sequence_concat(input, name=None):
    """Joins the first sequences of all inputs, then the second ones, and so on."""
    return layer("sequence_concat", locals())


def sequence_conv(
    input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
    param_attr=None, act=None, name=None
):
    """A convolution along sequences with windows of ``filter_size`` rows, ``[rows, num_filters]``."""
    return layer("sequence_conv", locals())


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """Sequences padded with ``pad_value`` to one length (``maxlen``, or that of the longest), and their lengths, int64."""
    return layer("sequence_pad", locals())


def sequence_unpad(x, length, name=None):
    """Sequences of the lengths ``length`` from a padded tensor: the inverse of `sequence_pad`."""
    return layer("sequence_unpad", locals())


def sequence_reverse(x, name=None):
    """Reverses the rows of each sequence."""
    return layer("sequence_reverse", locals())


def sequence_slice(input, offset, length, name=None):
    """A part of each sequence: ``length`` rows from ``offset`` on, both with one number per sequence."""
    return layer("sequence_slice", locals())


def sequence_mask(x, maxlen=None, dtype='int64', name=None):
    """For each length ``n`` a row of ``n`` ones followed by zeros, up to ``maxlen`` columns (the largest length where
    ``None``).

    Example:
        >>> lengths = fluid.layers.assign(np.array([1, 3], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.sequence_mask(lengths)])[0].tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    return layer("sequence_mask", locals())


def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """For each id, the ``win_size`` ids from it on; positions beyond the end of the sequence are ``pad_value``."""
    return layer("sequence_enumerate", locals())


def sequence_reshape(input, new_dim):
    """The elements of each sequence in rows of ``new_dim`` columns."""
    return layer("sequence_reshape", locals())


def sequence_scatter(input, index, updates, name=None):
    """``input`` with the elements of sequence ``i`` of ``updates`` added to row ``i``, at the columns in ``index``."""
    return layer("sequence_scatter", locals())


def lod_reset(x, y=None, target_lod=None):
    """``x`` with the LoD of ``y``, or with the offsets ``target_lod``."""
    return layer("lod_reset", locals())


def lod_append(x, level):
    """``x`` with ``level`` as an additional, innermost LoD level."""
    return layer("lod_append", locals())
