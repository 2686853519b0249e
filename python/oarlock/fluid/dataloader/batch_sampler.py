"""The order in which samples are taken."""

import numpy as np

from .dataset import Dataset

__all__ = ["BatchSampler"]


def _check(holds, message):
    # Scripts written for Fluid catch AssertionError here.
    if not holds:
        raise AssertionError(message)


class BatchSampler:
    """Lists of numbers of samples, one list for each batch. Derive from it for another order: write ``__iter__`` and ``__len__``.

    Args:
        dataset (Dataset): its samples are taken; or
        indices (list): the numbers to take.
        shuffle (bool): takes them in another order in every pass, drawn by ``np.random``.
        batch_size (int): the number of samples in a batch.
        drop_last (bool): leaves out a last batch that is not full.

    Example:
        >>> from oarlock.fluid.dataloader import BatchSampler
        >>> list(BatchSampler(indices=[0, 1, 2], batch_size=2))
        [[0, 1], [2]]
    """

    def __init__(self, dataset=None, indices=None, shuffle=False, batch_size=1, drop_last=False):
        if dataset is None:
            _check(indices is not None, "either dataset or indices should be set")
            _check(isinstance(indices, (list, tuple)), "indices should be a list or tuple, but got %s" % type(indices))
            self.indices = list(indices)
        else:
            _check(isinstance(dataset, Dataset), "dataset should be an instance of paddle.io.Dataset")
            _check(indices is None, "should not set both dataset and indices")
            self.indices = list(range(len(dataset)))
        _check(isinstance(batch_size, int) and batch_size > 0, "batch_size should be a positive integer, but got %r" % (batch_size,))
        _check(isinstance(shuffle, bool), "shuffle should be a boolean value, but got %s" % type(shuffle))
        _check(isinstance(drop_last, bool), "drop_last should be a boolean value, but got %s" % type(drop_last))
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self):
        if self.shuffle:
            np.random.shuffle(self.indices)
        yield from _batches(self.indices, self.batch_size, self.drop_last)

    def __len__(self):
        rest = 0 if self.drop_last else self.batch_size - 1
        return (len(self.indices) + rest) // self.batch_size


def _batches(indices, batch_size, drop_last):
    for start in range(0, len(indices), batch_size):
        batch = list(indices[start : start + batch_size])
        if len(batch) == batch_size or not drop_last:
            yield batch
