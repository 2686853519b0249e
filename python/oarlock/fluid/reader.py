"""Loaders: generators of samples or batches that feed programs while they run."""

import queue
import threading

import numpy as np

from .core import EOFException
from .data_feeder import DataFeeder
from .framework import Variable

__all__ = ["DataLoader", "PyReader"]

_END = object()


class _Raised:
    """An exception on its way from the reading thread to the one that trains."""

    def __init__(self, error):
        self.error = error


class _Pass:
    """One pass over a generator of feeds, read ahead in a thread up to ``capacity`` batches."""

    def __init__(self, generate, capacity):
        self._queue = queue.Queue(maxsize=max(1, capacity))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fill, args=(generate,), name="oarlock-loader", daemon=True)
        self._thread.start()

    def _put(self, item):
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _fill(self, generate):
        try:
            for feed in generate():
                if not self._put(feed):
                    return
            self._put(_END)
        except BaseException as e:
            self._put(_Raised(e))

    def next(self):
        """The next feed, or None at the end. What the generator raised is raised here, with its traceback."""
        item = self._queue.get()
        if item is _END:
            self._queue.put(_END)
            return None
        if isinstance(item, _Raised):
            self._queue.put(item)
            raise item.error
        return item

    def close(self):
        """Ends the thread."""
        self._stop.set()
        self._thread.join()


class _Loader:
    """What ``DataLoader.from_generator`` and ``PyReader`` are."""

    def __init__(self, feed_list, capacity, iterable, return_list):
        if not feed_list:
            raise ValueError("a loader needs feed_list, the variables it feeds")
        if capacity is None or capacity <= 0:
            raise ValueError("a loader needs a capacity, how many batches it may read ahead")
        for var in feed_list:
            if not isinstance(var, Variable):
                raise TypeError("feed_list takes Variables, not %r" % (var,))
        self._feed_list = list(feed_list)
        self._names = [v.name for v in feed_list]
        self._capacity = capacity
        self._iterable = iterable
        self._return_list = return_list
        self._generate = None
        self._places = 1
        self._running = None
        if not iterable:
            # Runs of this program take their feeds from here once the loader is started.
            feed_list[0].block.program._loaders.append(self)

    def set_sample_generator(self, reader, batch_size, drop_last=True, places=None):
        """Reads samples, one after the other; batches are made here."""
        if batch_size <= 0:
            raise ValueError("batch_size must be larger than 0")

        def batches():
            samples = []
            for sample in reader():
                samples.append(sample if isinstance(sample, (list, tuple)) else (sample,))
                if len(samples) == batch_size:
                    yield samples
                    samples = []
            if samples and not drop_last:
                yield samples

        return self.set_sample_list_generator(batches, places)

    def set_sample_list_generator(self, reader, places=None):
        """Reads lists of samples."""
        feeder = DataFeeder(self._feed_list, None)

        def feeds():
            for samples in reader():
                yield feeder.feed(samples)

        return self._set(feeds, places)

    def set_batch_generator(self, reader, places=None):
        """Reads whole batches: arrays or tensors in the order of ``feed_list``."""

        def feeds():
            for number, batch in enumerate(reader()):
                batch = batch if isinstance(batch, (list, tuple)) else [batch]
                if len(batch) != len(self._names):
                    raise ValueError(
                        "batch %d has %d arrays, but the loader feeds %d variables: %s"
                        % (number, len(batch), len(self._names), ", ".join(self._names))
                    )
                yield dict(zip(self._names, batch))

        return self._set(feeds, places)

    decorate_sample_generator = set_sample_generator
    decorate_sample_list_generator = set_sample_list_generator
    decorate_batch_generator = set_batch_generator
    decorate_paddle_reader = set_sample_list_generator
    decorate_tensor_provider = set_batch_generator

    def _set(self, feeds, places):
        self._generate = feeds
        if self._iterable:
            places = places if places is not None else [None]
            self._places = len(places) if isinstance(places, (list, tuple)) else 1
        return self

    def _begin(self):
        if self._generate is None:
            raise RuntimeError("the loader has no data: call set_sample_generator, set_sample_list_generator or set_batch_generator")
        return _Pass(self._generate, self._capacity)

    def __iter__(self):
        if not self._iterable:
            raise RuntimeError("a loader with iterable=False is not iterated: call start() and run the program until EOFException")
        reading = self._begin()
        try:
            while True:
                feeds = []
                while len(feeds) < self._places:
                    feed = reading.next()
                    if feed is None:
                        return
                    feeds.append(feed)
                # One feed for each place, as the executor takes them.
                yield [[np.asarray(f[n]) for n in self._names] for f in feeds] if self._return_list else feeds
        finally:
            reading.close()

    def __call__(self):
        return iter(self)

    def start(self):
        """Begins a pass; for loaders that are not iterated."""
        if self._iterable:
            raise RuntimeError("start() can only be called when the loader is not iterable")
        if self._running is not None:
            raise RuntimeError("the loader runs already: call reset() first")
        self._running = self._begin()

    def reset(self):
        """Ends a pass; for loaders that are not iterated."""
        if self._iterable:
            raise RuntimeError("reset() can only be called when the loader is not iterable")
        if self._running is not None:
            self._running.close()
            self._running = None

    def _next_feed(self):
        if self._running is None:
            raise RuntimeError("the program reads from a loader that is not started: call start()")
        feed = self._running.next()
        if feed is None:
            raise EOFException("There is no next data.")
        return feed


class PyReader(_Loader):
    """Feeds a program from a Python generator."""

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False):
        super().__init__(feed_list, capacity, iterable, return_list)


class DataLoader:
    """Makes loaders."""

    @staticmethod
    def from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False,
                       use_multiprocess=False, drop_last=True):
        """A loader of what a generator yields. It is read in a thread, with ``use_multiprocess`` too: feeds are made by the core,
        which does not hold the interpreter."""
        return _Loader(feed_list, capacity, iterable, return_list)

    @staticmethod
    def from_dataset(dataset, places, drop_last=True):
        """Datasets are not there yet."""
        raise NotImplementedError("DataLoader.from_dataset needs Dataset, which the Python package does not have yet")

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("DataLoader(dataset, ...) belongs to eager mode: use DataLoader.from_generator")
