"""Data, embeddings and one-hot vectors without the habit of a last dimension of 1."""

from .layers._call import layer, with_rules

__all__ = ["data", "embedding", "one_hot"]


def data(name, shape, dtype="float32", lod_level=0):
    """A variable that is fed; None or -1 for sizes that are known only when the program runs. Feeds are checked."""
    shape = [-1 if d is None else d for d in shape]
    return layer("fluid.data", {"name": name, "shape": shape, "dtype": dtype, "lod_level": lod_level})


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32", *,
              entry=None, evict=None):
    """Rows of a table by ids ``[...]``; the width becomes the last dimension. ``entry`` and ``evict`` as in
    ``fluid.layers.embedding``."""
    return layer("fluid.embedding", with_rules(locals()))


def one_hot(input, depth, allow_out_of_range=False):
    """A 1 at the place of each id among ``depth`` zeros, along a new last dimension."""
    return layer("fluid.one_hot", locals())
