"""Samplers of collective workers."""

import os

import numpy as np

from ...fluid.dataloader.batch_sampler import BatchSampler, _batches, _check

__all__ = ["DistributedBatchSampler"]


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several workers, as many for each: the first samples are taken again if they do not divide evenly. The
    launcher's variables ``PADDLE_TRAINERS_NUM`` and ``PADDLE_TRAINER_ID`` say which worker this is.

    Args:
        dataset: has a length; its samples are taken.
        batch_size (int): the number of samples in a batch.
        shuffle (bool): takes them in another order in every pass, the same on all workers.
        drop_last (bool): leaves out a last batch that is not full.

    Example:
        >>> from oarlock.incubate.hapi.distributed import DistributedBatchSampler
        >>> list(DistributedBatchSampler(range(5), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset, batch_size, shuffle=False, drop_last=False):
        _check(isinstance(batch_size, int) and batch_size > 0, "batch_size should be a positive integer")
        _check(isinstance(shuffle, bool), "shuffle should be a boolean value")
        _check(isinstance(drop_last, bool), "drop_last should be a boolean number")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.nranks = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
        self.local_rank = int(os.environ.get("PADDLE_TRAINER_ID", 0))
        self.epoch = 0
        self.num_samples = -(-len(dataset) // self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        indices = list(range(len(self.dataset)))
        indices += indices[: self.total_size - len(indices)]
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(indices)
            self.epoch += 1
        yield from _batches(self._mine(indices), self.batch_size, self.drop_last)

    def _mine(self, indices):
        """Every n-th batch, and a part of what does not make a batch for each."""
        turn = self.batch_size * self.nranks
        whole = len(indices) - len(indices) % turn
        mine = []
        for start in range(self.local_rank * self.batch_size, whole, turn):
            mine += indices[start : start + self.batch_size]
        share = (len(indices) - whole) // self.nranks
        return mine + indices[whole + self.local_rank * share : whole + (self.local_rank + 1) * share]

    def __len__(self):
        rest = 0 if self.drop_last else self.batch_size - 1
        return (self.num_samples + rest) // self.batch_size

    def set_epoch(self, epoch):
        """Sets the number of the pass, which decides the order.

        Args:
            epoch (int): the number.
        """
        self.epoch = epoch
