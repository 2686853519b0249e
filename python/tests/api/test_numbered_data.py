"""DataLoader over data sets whose samples have numbers, samplers, and attributes of loaders."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid.dataloader import BatchSampler, Dataset


class Squares(Dataset):
    def __init__(self, size=5):
        self.size = size

    def __getitem__(self, index):
        return np.array([index], "float32"), np.array([index * index], "float32")

    def __len__(self):
        return self.size


def variables():
    return [fluid.data("x", [None, 1]), fluid.data("y", [None, 1])]


def column(feeds):
    return [feed["y"].ravel().tolist() for feed in feeds]


def test_samplers_make_batches_of_numbers():
    assert list(BatchSampler(Squares(), batch_size=2)) == [[0, 1], [2, 3], [4]]
    dropping = BatchSampler(indices=(3, 4, 5), batch_size=2, drop_last=True)
    assert list(dropping) == [[3, 4]] and len(dropping) == 1 and len(BatchSampler(Squares(), batch_size=2)) == 3
    np.random.seed(1)
    shuffled = BatchSampler(Squares(20), batch_size=20, shuffle=True)
    first, second = list(shuffled)[0], list(shuffled)[0]
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    for wrong in (dict(), dict(indices=3), dict(dataset=[1]), dict(dataset=Squares(), indices=[1]), dict(dataset=Squares(), batch_size=0),
                  dict(dataset=Squares(), shuffle=1), dict(dataset=Squares(), drop_last=1)):
        with pytest.raises(AssertionError):
            BatchSampler(**wrong)
    for call in (lambda: Dataset()[0], lambda: len(Dataset())):
        with pytest.raises(NotImplementedError, match="not implement in class Dataset"):
            call()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_feeds_a_program_from_numbered_samples(workers):
    x, y = variables()
    out = fluid.layers.reduce_sum(y)
    loader = fluid.io.DataLoader(Squares(), feed_list=[x, y], places=fluid.CPUPlace(), batch_size=2, num_workers=workers)
    assert len(loader) == 3
    exe = fluid.Executor()
    for _ in range(2):
        assert [exe.run(feed=feeds, fetch_list=[out])[0].item() for feeds in loader()] == [1.0, 13.0, 16.0]


def test_loaders_give_a_batch_for_each_place_or_lists():
    loader = fluid.io.DataLoader(Squares(), feed_list=variables(), places=[fluid.CPUPlace()] * 2, batch_size=2, drop_last=True)
    assert [column(feeds) for feeds in loader] == [[[0.0, 1.0], [4.0, 9.0]]]
    sampler = BatchSampler(Squares(), batch_size=3)
    lists = fluid.io.DataLoader(Squares(), places=fluid.CPUPlace(), return_list=True, batch_sampler=sampler,
                                collate_fn=lambda samples: [np.stack([s[1] for s in samples])])
    assert [feeds[0][0].ravel().tolist() for feeds in lists] == [[0.0, 1.0, 4.0], [9.0, 16.0]]
    short = fluid.io.DataLoader(Squares(), feed_list=variables()[:1], places=fluid.CPUPlace())
    with pytest.raises(ValueError, match="2 arrays, but the loader feeds 1"):
        list(short)
    for wrong in (dict(dataset=[1]), dict(), dict(return_list=True), dict(return_list=True, places=[fluid.CPUPlace()], num_workers=-1),
                  dict(return_list=True, places=[fluid.CPUPlace()], batch_sampler=sampler, batch_size=2),
                  dict(return_list=True, places=[fluid.CPUPlace()], batch_size=0), dict(return_list=True, places=[fluid.CPUPlace()], timeout=-1)):
        with pytest.raises(AssertionError):
            fluid.io.DataLoader(**dict({"dataset": Squares()}, **wrong))


def test_a_loader_says_how_it_is_read_and_gives_the_next_batch():
    x, y = variables()
    reader = fluid.io.PyReader(feed_list=[x, y], capacity=2, iterable=True)
    reader.decorate_batch_generator(lambda: iter([Squares()[i] for i in range(2)]), fluid.CPUPlace())
    assert reader.iterable and reader.queue is None
    for _ in range(2):
        assert [column(reader.next()), column(next(reader))] == [[[0.0]], [[1.0]]]
        with pytest.raises(StopIteration):
            reader.next()
    inside = fluid.io.PyReader(feed_list=[x, y], capacity=2, iterable=False)
    assert not inside.iterable and inside.queue is not None


def test_workers_take_batches_in_turn(monkeypatch):
    from oarlock.incubate.hapi.distributed import DistributedBatchSampler

    taken = []
    for rank in range(2):
        monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
        monkeypatch.setenv("PADDLE_TRAINER_ID", str(rank))
        sampler = DistributedBatchSampler(Squares(11), batch_size=2)
        taken.append(list(sampler))
        assert len(sampler) == len(taken[-1]) == 3 and sampler.num_samples == 6
    assert taken == [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 0]]]
    dropping = DistributedBatchSampler(Squares(10), batch_size=4, drop_last=True)
    assert len(dropping) == 1 and list(dropping) == [[4, 5, 6, 7]]
    shuffled = DistributedBatchSampler(Squares(10), batch_size=2, shuffle=True)
    first = list(shuffled)
    shuffled.set_epoch(0)
    assert list(shuffled) == first and shuffled.epoch == 1 and list(shuffled) != first
    for wrong in (dict(batch_size=0), dict(batch_size=1, shuffle=1), dict(batch_size=1, drop_last=1)):
        with pytest.raises(AssertionError):
            DistributedBatchSampler(Squares(), **wrong)
