"""Loaders: generators of samples or batches that feed programs while they run."""

import collections
import contextlib
import multiprocessing
import pickle
import queue
import signal
import threading
import traceback

import numpy as np

from . import _state
from .._core import VarBase
from .core import LoDTensor
from .data_feeder import DataFeeder
from .dataloader.batch_sampler import BatchSampler, _check
from .dataloader.dataset import Dataset
from .dataset import DatasetBase
from .framework import Variable
from .layers.io import read_by_loader

__all__ = ["DataLoader", "PyReader", "default_collate_fn"]

_END = object()


class _Raised:
    """An exception on its way from the reading thread to the one that trains."""

    def __init__(self, error):
        self.error = error


class _Elsewhere(Exception):
    """The traceback of an exception in another process, as text."""

    def __init__(self, text):
        super().__init__("\n" + text)


def _produce(generate, sending):
    """Runs in a process of its own: sends feeds as arrays, then how it ended."""
    # Ctrl-C is for the process that trains; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for feed in generate():
            sending.send(("feed", {name: _packed(value) for name, value in feed.items()}))
        sending.send(("end", None))
    except BaseException as error:
        text = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))
        # Whatever is wrong with an exception of the user's own class: its text is sent instead.
        except Exception:
            error = RuntimeError("%s: %s" % (type(error).__name__, error))
        sending.send(("raised", (error, text)))


def _packed(value):
    lengths = value.recursive_sequence_lengths() if isinstance(value, LoDTensor) else []
    return np.asarray(value), lengths


def _unpacked(array, lengths):
    if not lengths:
        return array
    tensor = LoDTensor()
    tensor.set(array)
    tensor.set_recursive_sequence_lengths(lengths)
    return tensor


def _from_process(generate, stop):
    """Runs a generator in a process of its own, which ends with this generator."""
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    process = fork.Process(target=_produce, args=(generate, sending), name="oarlock-loader", daemon=True)
    process.start()
    sending.close()
    try:
        while True:
            while not receiving.poll(0.1):
                if stop.is_set():
                    return
            try:
                what, value = receiving.recv()
            except EOFError:
                process.join()
                raise RuntimeError("the process that reads for the loader ended with exit code %s" % process.exitcode) from None
            if what == "end":
                return
            if what == "raised":
                error, text = value
                raise error from _Elsewhere(text)
            yield {name: _unpacked(*packed) for name, packed in value.items()}
    finally:
        receiving.close()
        process.terminate()
        process.join()


class _Pass:
    """One pass over a generator of feeds, read ahead in a thread up to ``capacity`` batches."""

    def __init__(self, generate, capacity, process=False):
        self._queue = queue.Queue(maxsize=max(1, capacity))
        self._stop = threading.Event()
        if process:
            here = generate
            generate = lambda: _from_process(here, self._stop)
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
            with contextlib.closing(generate()) as feeds:
                for feed in feeds:
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


class DataLoaderBase:
    """The base of loaders: iterated, they give batches."""

    def __iter__(self):
        raise NotImplementedError("a loader is made by DataLoader.from_generator or from_dataset")

    def __next__(self):
        raise NotImplementedError("a loader is made by DataLoader.from_generator or from_dataset")


def keep_data_loader_order(value):
    """Changes nothing: loaders always give batches in the order in which they are read.

    Args:
        value (bool): whether the order matters to the script.
    """
    if not isinstance(value, bool):
        raise TypeError("keep_data_loader_order takes True or False, not %r" % (value,))


def _stacked(samples):
    """A list of samples as one array for each field."""
    fields = zip(*(sample if isinstance(sample, (list, tuple)) else (sample,) for sample in samples))
    return [np.array([np.asarray(value) for value in field]) for field in fields]


def _tensor(value):
    """An array as a tensor of eager mode."""
    if isinstance(value, VarBase):
        return value
    made = VarBase(np.ascontiguousarray(value))
    if _state.tracer is not None:
        made._name = _state.tracer._generate("generated_var")
    return made


class _Loader(DataLoaderBase):
    """The loader that ``DataLoader.from_generator`` and ``PyReader`` return."""

    def __init__(self, feed_list, capacity, iterable, return_list, process=False, drop_last=True):
        # In eager mode batches are lists of tensors, without names.
        self._eager = _state.tracer is not None
        if self._eager:
            iterable = return_list = True
            feed_list = None
            capacity = 2 if capacity is None else capacity
        elif not feed_list:
            raise ValueError("a loader needs feed_list, the variables it feeds")
        if capacity is None or capacity <= 0:
            raise ValueError("a loader needs a capacity, how many batches it may read ahead")
        for var in feed_list or ():
            if not isinstance(var, Variable):
                raise TypeError("feed_list takes Variables, not %r" % (var,))
        self._feed_list = list(feed_list or ())
        self._names = [v.name for v in self._feed_list]
        self._capacity = capacity
        self._iterable = iterable
        self._return_list = return_list
        self._generate = None
        self._places = 1
        self._process = process
        self._drop_last = drop_last
        self._stop = threading.Event()
        self._turns = None
        # The program itself reads, and so do copies, compiled and transpiled programs of it.
        self._reader = None if iterable else read_by_loader(capacity, self._feed_list)

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
        if self._eager:
            return self.set_batch_generator(lambda: (_stacked(samples) for samples in reader()), places)
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
                if self._eager:
                    yield dict(enumerate(batch))
                    continue
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

    def _check_data(self):
        if self._generate is None:
            raise RuntimeError("the loader has no data: call set_sample_generator, set_sample_list_generator or set_batch_generator")

    @property
    def iterable(self):
        """Whether Python iterates it; otherwise the program itself reads."""
        return self._iterable

    @property
    def queue(self):
        """The queue of a loader that the program reads; None for one that Python iterates."""
        return None if self._reader is None else self._reader._queue

    def __next__(self):
        if self._turns is None:
            self._turns = iter(self)
        try:
            return next(self._turns)
        except StopIteration:
            self._turns = None
            raise

    def next(self):
        """The next feeds of a pass of its own, which begins with the first call; ``StopIteration`` at its end."""
        return next(self)

    def __iter__(self):
        if not self._iterable:
            raise RuntimeError("a loader with iterable=False is not iterated: call start() and run the program until EOFException")
        self._check_data()
        reading = _Pass(self._generate, self._capacity, self._process)
        try:
            while self._eager:
                feed = reading.next()
                if feed is None:
                    return
                yield [_tensor(value) for value in feed.values()]
            while True:
                feeds = []
                while len(feeds) < self._places:
                    feed = reading.next()
                    if feed is None:
                        break
                    feeds.append(feed)
                if not feeds or self._drop_last and len(feeds) < self._places:
                    return
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
        self._check_data()
        self._stop.clear()
        self._reader.decorate_tensor_provider(self._batches)
        self._reader.start()

    def _reset(self):
        """Ends a pass early; the next one begins anew."""
        if self._iterable:
            self._stop.set()
            self._stop = threading.Event()
        else:
            self.reset()

    def reset(self):
        """Ends a pass; for loaders that are not iterated."""
        if self._iterable:
            raise RuntimeError("reset() can only be called when the loader is not iterable")
        self._stop.set()
        self._reader.reset()

    def _batches(self):
        generate = self._generate
        feeds = _from_process(generate, self._stop) if self._process else generate()
        with contextlib.closing(feeds):
            for feed in feeds:
                yield [feed[name] for name in self._names]


class _DatasetLoader:
    """The loader that ``DataLoader.from_dataset`` returns."""

    def __init__(self, dataset, places, drop_last):
        if not isinstance(dataset, DatasetBase):
            raise TypeError("from_dataset takes a dataset of fluid.DatasetFactory, not %r" % (dataset,))
        self._places = len(places) if isinstance(places, (list, tuple)) else 1
        if not dataset._in_memory and 0 < len(dataset.filelist) < self._places:
            raise ValueError("%d places need at least as many files, but the dataset has %d" % (self._places, len(dataset.filelist)))
        dataset.set_thread(self._places)
        self._dataset = dataset
        self._drop_last = drop_last

    def __iter__(self):
        passes = self._dataset._configure().begin(self._places)
        alive = collections.deque(passes)
        try:
            while True:
                feeds = []
                while alive and len(feeds) < self._places:
                    feed = self._next(alive[0])
                    if feed is None:
                        alive.popleft()
                    else:
                        feeds.append(feed)
                        # Files are dealt out as readers get free, so one may end before another.
                        alive.rotate(-1)
                if not feeds or self._drop_last and len(feeds) < self._places:
                    return
                yield feeds
        finally:
            for one in passes:
                one.close()

    def _next(self, one):
        """The next batch of a reader that is complete or not to be dropped; None at its end."""
        while True:
            found = one.next()
            if found is None:
                return None
            feed, rows = found
            if rows == self._dataset._batch_size or not self._drop_last:
                return feed

    def __call__(self):
        return iter(self)


# The name by which scripts find the class of loaders.
GeneratorLoader = _Loader


class PyReader(_Loader):
    """Feeds a program from a Python generator."""

    # Fluid's holds its loader.
    _loader = property(lambda self: self)

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False):
        super().__init__(feed_list, capacity, iterable, return_list)


def default_collate_fn(batch):
    """Samples, each an array or a list of fields, as a list of arrays: the fields of all samples, stacked."""
    if isinstance(batch[0], np.ndarray):
        return [np.stack(batch)]
    return [np.stack(field) for field in zip(*batch)]


class DataLoader:
    """Feeds programs from a data set whose samples have numbers; ``from_generator`` and ``from_dataset`` make other loaders.

    Args:
        dataset (fluid.dataloader.Dataset): the samples, each a list of arrays.
        feed_list (list): the variables that the fields are fed to; needed unless ``return_list``.
        places (list): places; every turn gives a batch for each.
        return_list (bool): lists of arrays instead of dicts by name.
        batch_sampler (fluid.dataloader.BatchSampler): which samples make a batch; otherwise the next three arguments say so.
        batch_size (int), shuffle (bool), drop_last (bool): as those of BatchSampler.
        collate_fn (callable): makes the arrays of a batch from its samples; stacks fields by default.
        num_workers (int): 0 reads in a thread, more in a process of its own.
        use_buffer_reader (bool), use_shared_memory (bool): change nothing: batches are read ahead, and arrays are copied once.
        timeout (int): changes nothing: a process that reads and dies is noticed at once.
        worker_init_fn (callable): called in the process that reads, with the number 0.

    Example:
        >>> from oarlock.fluid.dataloader import Dataset
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return np.array([index], "float32"), np.array([index * index], "float32")
        ...     def __len__(self):
        ...         return 4
        >>> x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
        >>> loader = fluid.io.DataLoader(Squares(), feed_list=[x, y], places=fluid.CPUPlace(), batch_size=2)
        >>> [feeds[0]["y"].ravel().tolist() for feeds in loader()]
        [[0.0, 1.0], [4.0, 9.0]]
    """

    def __init__(self, dataset, feed_list=None, places=None, return_list=False, batch_sampler=None, batch_size=1, shuffle=False,
                 drop_last=False, collate_fn=None, num_workers=0, use_buffer_reader=True, use_shared_memory=True, timeout=0,
                 worker_init_fn=None):
        _check(isinstance(dataset, Dataset), "dataset should be subclass instance of paddle.io.Dataset")
        _check(return_list or feed_list is not None, "feed_list should be set when return_list=False")
        _check(places is not None, "places cannot be None")
        _check(num_workers >= 0, "num_workers should be a non-negative value")
        _check(timeout >= 0, "timeout should be a non-negative value")
        if batch_sampler is None:
            _check(batch_size is not None and batch_size > 0, "batch_size should be a positive value when batch_sampler is not given")
            batch_sampler = BatchSampler(dataset=dataset, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
        else:
            _check(isinstance(batch_sampler, BatchSampler), "batch_sampler should be None or subclass instance of paddle.io.BatchSampler")
            _check(batch_size == 1 and not shuffle and not drop_last,
                   "batch_size/shuffle/drop_last should not be set when batch_sampler is given")
        self.dataset, self.batch_sampler, self.feed_list, self.return_list = dataset, batch_sampler, feed_list, return_list
        self.places = list(places) if isinstance(places, (list, tuple)) else [places]
        self.collate_fn, self.num_workers, self.timeout, self.worker_init_fn = collate_fn, num_workers, timeout, worker_init_fn
        self.use_buffer_reader, self.use_shared_memory = use_buffer_reader, use_shared_memory and num_workers > 0

    def __len__(self):
        return len(self.batch_sampler)

    def _feeds(self):
        """The batches of a pass, as arrays by name."""
        if self.worker_init_fn is not None and self.num_workers:
            self.worker_init_fn(0)
        collate = self.collate_fn or default_collate_fn
        for indices in self.batch_sampler:
            arrays = collate([self.dataset[index] for index in indices])
            names = range(len(arrays)) if self.feed_list is None else [v.name for v in self.feed_list]
            if len(arrays) != len(names):
                raise ValueError("a batch has %d arrays, but the loader feeds %d variables" % (len(arrays), len(names)))
            yield dict(zip(names, arrays))

    def __iter__(self):
        reading = _Pass(self._feeds, 2 * len(self.places), self.num_workers > 0)
        try:
            while True:
                feeds = [feed for feed in (reading.next() for _ in self.places) if feed is not None]
                if not feeds:
                    return
                if _state.tracer is not None and self.return_list:
                    yield [_tensor(array) for array in feeds[0].values()]
                    continue
                yield [[np.asarray(array) for array in feed.values()] for feed in feeds] if self.return_list else feeds
        finally:
            reading.close()

    def __call__(self):
        return iter(self)

    @staticmethod
    def from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False,
                       use_multiprocess=False, drop_last=True):
        """A loader of what a generator yields. It is read in a thread, or with ``use_multiprocess`` in a process. With several places
        and ``drop_last=False``, the last turn may have fewer batches than places: test programs take them, training does not."""
        return _Loader(feed_list, capacity, iterable, return_list, use_multiprocess, drop_last)

    @staticmethod
    def from_dataset(dataset, places, drop_last=True):
        """A loader of a data set's batches, one for each place in every turn."""
        return _DatasetLoader(dataset, places, drop_last)
