"""Jobs of several processes: their launchers, Fleet, and data that is not the same for all."""

import os
import random

__all__ = ["CountFilterEntry", "InMemoryDataset", "ProbabilityEntry", "QueueDataset", "ScoreEviction", "ShowClickEntry",
           "UnseenEviction", "even_reader", "fleet"]

_KEPT = 64


def even_reader(reader, how="pad", seed=0, rank=None, endpoints=None, role=None):
    """A reader of batches that gives all workers of a job as many: the workers agree before each batch who still has one.

    ``pad``: a worker that runs out repeats batches it had, drawn by chance, until the longest shard has ended. ``shortest``: all
    stop when the first runs out. ``zero_weight``: the reader itself; a worker that runs out goes on without weight in
    ``Executor.close`` or ``fleet.stop_worker``, which is what happens anyway. With parameter servers, steps are made without a worker
    that has run out and waits for the others.

    Take batches in the thread that trains: workers do everything in one order. ``rank`` and ``endpoints``, or a ``role`` maker, come from
    the launcher's variables unless they are given."""
    if how not in ("zero_weight", "pad", "shortest"):
        raise ValueError("how is zero_weight, pad or shortest, not %r" % (how,))
    if how == "zero_weight":
        return reader

    def batches():
        index, workers, total = _workers(rank, endpoints, role)
        if workers == 1:
            yield from reader()
            return
        chance, kept, source, count = random.Random(seed + index), [], iter(reader()), 0
        while True:
            batch = next(source, None)
            active = total(float(batch is not None))
            if active == 0 or (how == "shortest" and active < workers):
                return
            if batch is None:
                if not kept:
                    raise ValueError("worker %d has no batch at all that it could repeat" % index)
                batch = chance.choice(kept)
            else:
                count += 1
                # Every batch so far is kept with the same chance.
                if len(kept) < _KEPT:
                    kept.append(batch)
                elif chance.randrange(count) < _KEPT:
                    kept[chance.randrange(_KEPT)] = batch
            yield batch

    return batches


def _workers(rank, endpoints, role):
    """Which worker this is, how many there are, and what adds up a number of each."""
    from .. import _core
    from ..fluid.executor import runtime

    if role is None and endpoints is None and os.environ.get("PADDLE_PSERVERS_IP_PORT_LIST"):
        from ..fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker

        role = PaddleCloudRoleMaker()
        role._generated()
    if role is not None:
        return role.worker_index(), role.worker_num(), role.all_reduce
    rank, endpoints = _core.collective_rank(dict(os.environ)) if endpoints is None else (rank, endpoints)
    if len(endpoints) == 1:
        return rank, 1, None
    group = _core.RankGroup(runtime(), rank, endpoints)
    return rank, len(endpoints), lambda number: group.sum([number])[0]


def __getattr__(name):
    # Launchers run without the rest of the package.
    if name == "fleet":
        import importlib

        return importlib.import_module(".fleet", __name__)
    if name in ("InMemoryDataset", "QueueDataset"):
        from .fleet import dataset

        return getattr(dataset, name)
    if name in ("CountFilterEntry", "ProbabilityEntry", "ScoreEviction", "ShowClickEntry", "UnseenEviction"):
        from . import entry_attr

        return getattr(entry_attr, name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
