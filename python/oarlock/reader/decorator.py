"""Readers made of other readers."""

import itertools
import multiprocessing
import queue
import random
import threading

__all__ = [
    "ComposeNotAligned", "buffered", "cache", "chain", "compose", "firstn", "map_readers", "multiprocess_reader",
    "shuffle", "xmap_readers",
]


class ComposeNotAligned(ValueError):
    """Readers that are composed end at different samples."""


def cache(reader):
    """Reads once and keeps everything in memory."""
    samples = []
    full = False

    def cached():
        nonlocal samples, full
        if not full:
            samples = list(reader())
            full = True
        return iter(samples)

    return cached


def map_readers(func, *readers):
    """``func`` of the samples of several readers."""

    def mapped():
        return map(func, *[reader() for reader in readers])

    return mapped


def shuffle(reader, buf_size):
    """Samples in random order, among ``buf_size`` at a time."""

    def shuffled():
        buffer = []
        for sample in reader():
            buffer.append(sample)
            if len(buffer) >= buf_size:
                random.shuffle(buffer)
                yield from buffer
                buffer = []
        random.shuffle(buffer)
        yield from buffer

    return shuffled


def chain(*readers):
    """The samples of one reader after those of another."""

    def chained():
        return itertools.chain(*[reader() for reader in readers])

    return chained


def compose(*readers, **kwargs):
    """Samples of several readers joined to tuples; readers of different lengths are an error unless ``check_alignment=False``."""
    check = kwargs.pop("check_alignment", True)
    if kwargs:
        raise TypeError("compose has no argument %s" % ", ".join(kwargs))
    as_tuple = lambda x: x if isinstance(x, tuple) else (x,)

    def composed():
        open_readers = [reader() for reader in readers]
        if not check:
            for samples in zip(*open_readers):
                yield sum(map(as_tuple, samples), ())
            return
        missing = object()
        for samples in itertools.zip_longest(*open_readers, fillvalue=missing):
            if any(sample is missing for sample in samples):
                raise ComposeNotAligned("outputs of readers are not aligned.")
            yield sum(map(as_tuple, samples), ())

    return composed


def firstn(reader, n):
    """The first ``n`` samples."""

    def first():
        return itertools.islice(reader(), n)

    return first


class _Raised:
    """An exception on its way from one thread to another."""

    def __init__(self, error):
        self.error = error


_END = object()


def _put(q, item, stop):
    """Puts an item; returns False if the consumer has ended."""
    while not stop.is_set():
        try:
            q.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False


def buffered(reader, size):
    """Reads ahead in a thread, up to ``size`` samples. An exception of the reader is raised where the samples are taken."""

    def read_ahead():
        q, stop = queue.Queue(maxsize=size), threading.Event()

        def fill():
            try:
                for sample in reader():
                    if not _put(q, sample, stop):
                        return
                _put(q, _END, stop)
            except BaseException as e:
                _put(q, _Raised(e), stop)

        thread = threading.Thread(target=fill, name="oarlock-buffered", daemon=True)
        thread.start()
        try:
            while True:
                item = q.get()
                if item is _END:
                    return
                if isinstance(item, _Raised):
                    raise item.error
                yield item
        finally:
            stop.set()
            thread.join()

    return read_ahead


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """Maps samples in ``process_num`` threads, in their order if wanted."""

    def mapped():
        todo, done, stop = queue.Queue(buffer_size), queue.Queue(buffer_size), threading.Event()

        def feed():
            try:
                for item in enumerate(reader()):
                    if not _put(todo, item, stop):
                        return
            except BaseException as e:
                _put(done, _Raised(e), stop)
            for _ in range(process_num):
                _put(todo, _END, stop)

        def work():
            while not stop.is_set():
                try:
                    item = todo.get(timeout=0.1)
                except queue.Empty:
                    continue
                if item is _END:
                    _put(done, _END, stop)
                    return
                try:
                    if not _put(done, (item[0], mapper(item[1])), stop):
                        return
                except BaseException as e:
                    _put(done, _Raised(e), stop)
                    return

        threads = [threading.Thread(target=feed, daemon=True)]
        threads += [threading.Thread(target=work, daemon=True) for _ in range(process_num)]
        for thread in threads:
            thread.start()
        try:
            yield from _collect(done, process_num, order)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    return mapped


def _collect(done, workers, order):
    early, following = {}, 0
    while workers:
        item = done.get()
        if item is _END:
            workers -= 1
        elif isinstance(item, _Raised):
            raise item.error
        elif not order:
            yield item[1]
        else:
            early[item[0]] = item[1]
            while following in early:
                yield early.pop(following)
                following += 1


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """Runs each reader in a process of its own; samples come as they are read."""
    if not isinstance(readers, (list, tuple)) or not readers:
        raise ValueError("readers must be a list of readers that is not empty")

    def run(reader, q):
        try:
            for sample in reader():
                if sample is None:
                    raise ValueError("sample has None")
                q.put((0, sample))
            q.put((1, None))
        except BaseException as e:
            import traceback

            q.put((2, "%s\n%s" % (e, traceback.format_exc())))

    def read():
        context = multiprocessing.get_context("fork")
        q = context.Queue(queue_size)
        processes = [context.Process(target=run, args=(reader, q), daemon=True) for reader in readers]
        for process in processes:
            process.start()
        left = len(processes)
        try:
            while left:
                try:
                    kind, sample = q.get(timeout=1.0)
                except queue.Empty:
                    if all(not p.is_alive() for p in processes) and q.empty():
                        raise RuntimeError("a reader's process died without a word") from None
                    continue
                if kind == 0:
                    yield sample
                elif kind == 1:
                    left -= 1
                else:
                    raise RuntimeError("a reader of multiprocess_reader failed: %s" % sample)
        finally:
            for process in processes:
                if process.is_alive():
                    process.terminate()
                process.join()

    return read
