"""Readers, feeders and loaders."""

import threading

import numpy as np
import pytest

import oarlock
import oarlock.fluid as fluid
from oarlock.fluid import layers


def mean_of_x(iterable):
    x = fluid.data("x", [None, 2])
    n = fluid.data("n", [None, 1], "int64")
    total = layers.reduce_sum(x)
    count = layers.reduce_sum(n)
    loader = fluid.io.DataLoader.from_generator(feed_list=[x, n], capacity=4, iterable=iterable)
    return loader, [total, count]


def samples(count=10):
    for i in range(count):
        yield np.full([2], i, "float32"), [i]


@pytest.mark.parametrize("form", ["sample", "sample_list", "batch"])
def test_iterable_loaders(form):
    loader, fetches = mean_of_x(True)
    if form == "sample":
        loader.set_sample_generator(samples, batch_size=4, drop_last=False, places=fluid.CPUPlace())
    elif form == "sample_list":
        loader.set_sample_list_generator(oarlock.batch(samples, 4), places=fluid.CPUPlace())
    else:
        rows = lambda a: np.repeat(np.asarray(a, "float32")[:, None], 2, 1)
        parts = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        loader.set_batch_generator(lambda: ((rows(p), np.asarray(p)[:, None]) for p in parts), places=fluid.CPUPlace())
    exe = fluid.Executor()
    for _ in range(2):
        sums = [exe.run(feed=feed, fetch_list=fetches) for feed in loader()]
        assert [s[1].item() for s in sums] == [6, 22, 17]
        assert sum(s[0].item() for s in sums) == 90


def test_loaders_that_are_started():
    loader, fetches = mean_of_x(False)
    loader.set_sample_list_generator(oarlock.batch(samples, 4))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(2):
        loader.start()
        seen = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                seen.append(exe.run(fetch_list=fetches)[1].item())
        loader.reset()
        assert seen == [6, 22, 17]
    with pytest.raises(ValueError, match="not started"):
        exe.run(fetch_list=fetches)


def test_a_generator_that_raises_ends_the_loop_with_its_exception():
    loader, _ = mean_of_x(True)

    def broken():
        yield from list(samples(4))
        raise OSError("the disk is gone")

    loader.set_sample_generator(broken, batch_size=2)
    seen = 0
    with pytest.raises(OSError, match="the disk is gone"):
        for _ in loader():
            seen += 1
    assert seen == 2


def test_leaving_early_leaves_no_thread():
    loader, _ = mean_of_x(True)
    loader.set_sample_generator(lambda: samples(10**6), batch_size=2)
    before = threading.active_count()
    for _ in loader():
        break
    for reader in (oarlock.reader.buffered(lambda: samples(10**6), 2), oarlock.reader.xmap_readers(lambda s: s, lambda: samples(10**6), 2, 4)):
        for _ in reader():
            break
    assert threading.active_count() == before


def test_readers():
    r = oarlock.reader
    numbers = lambda: iter(range(10))
    assert list(r.firstn(numbers, 3)()) == [0, 1, 2]
    assert list(r.chain(numbers, numbers)()) == list(range(10)) * 2
    assert list(r.compose(numbers, numbers)()) == [(i, i) for i in range(10)]
    with pytest.raises(r.ComposeNotAligned):
        list(r.compose(numbers, r.firstn(numbers, 3))())
    assert sorted(r.shuffle(numbers, 4)()) == list(range(10))
    assert list(r.map_readers(lambda a, b: a + b, numbers, numbers)()) == [2 * i for i in range(10)]
    assert list(r.buffered(numbers, 3)()) == list(range(10))
    assert list(r.xmap_readers(lambda i: i * i, numbers, 3, 4, order=True)()) == [i * i for i in range(10)]
    assert sorted(r.multiprocess_reader([numbers, numbers])()) == sorted(list(range(10)) * 2)
    assert [len(b) for b in oarlock.batch(numbers, 4)()] == [4, 4, 2]
    assert [len(b) for b in oarlock.batch(numbers, 4, drop_last=True)()] == [4, 4]


def test_trainers_share_batches(monkeypatch):
    batches = oarlock.batch(lambda: iter(range(10)), 2)
    assert list(fluid.contrib.reader.distributed_batch_reader(batches)()) == list(batches())
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    # The fifth batch has no partner.
    assert list(fluid.contrib.reader.distributed_batch_reader(batches)()) == [[2, 3], [6, 7]]
    monkeypatch.setenv("PADDLE_TRAINER_ID", "2")
    with pytest.raises(ValueError, match="there are 2 trainers"):
        fluid.contrib.reader.distributed_batch_reader(batches)


def test_feeders_name_slot_and_sample():
    x = fluid.data("x", [None, 3])
    feeder = fluid.DataFeeder([x], fluid.CPUPlace())
    with pytest.raises(ValueError, match="slot x"):
        feeder.feed([([1, 2, 3],), ([1, 2],)])
    with pytest.raises(ValueError, match="sample 0 has 2 fields"):
        feeder.feed([([1, 2, 3], 4)])


def test_samples_are_collated_as_fluid_does():
    fields = [[np.full([2], i, "float32"), np.array([i])] for i in range(3)]
    x, n = fluid.io.default_collate_fn(fields)
    assert x.shape == (3, 2) and n.ravel().tolist() == [0, 1, 2]
    only, = fluid.io.default_collate_fn([np.zeros([4]), np.ones([4])])
    assert only.shape == (2, 4)
