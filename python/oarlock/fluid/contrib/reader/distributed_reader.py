"""Readers for jobs of several trainers."""

import os

__all__ = ["distributed_batch_reader"]


def distributed_batch_reader(batch_reader):
    """Every n-th batch of n trainers, beginning with that of this trainer (``PADDLE_TRAINERS_NUM``, ``PADDLE_TRAINER_ID``). Batches
    that are left over at the end are dropped, so that all trainers make the same number of steps.

    Args:
        batch_reader (callable): returns a generator of batches.

    Example:
        >>> reader = fluid.contrib.reader.distributed_batch_reader(lambda: iter([[1, 2], [3, 4]]))
        >>> list(reader())
        [[1, 2], [3, 4]]
    """
    trainers = int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
    trainer = int(os.environ.get("PADDLE_TRAINER_ID", 0))
    if not 0 <= trainer < trainers:
        raise ValueError("PADDLE_TRAINER_ID is %d, but there are %d trainers" % (trainer, trainers))

    def mine():
        group = []
        for batch in batch_reader():
            group.append(batch)
            if len(group) == trainers:
                yield group[trainer]
                group = []

    return mine
