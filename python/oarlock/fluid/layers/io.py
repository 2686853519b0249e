"""Inputs of a program: variables that are fed, and readers."""

import contextlib
import itertools
import threading

from ... import _core
from .. import core, unique_name
from ..data_feeder import DataFeeder
from ..framework import (
    Program, Variable, convert_np_dtype_to_dtype_, default_main_program, default_startup_program, program_guard,
)
from ._names import fallback
from ._generated import io as _generated
from ._generated.io import *  # noqa: F403

__all__ = [
    *_generated.__all__,
    "batch", "create_py_reader_by_data", "double_buffer", "load", "open_files", "py_reader", "read_file", "shuffle",
]

__getattr__ = fallback(__name__)


class Reader(Variable):
    """A reader variable: ``read_file`` makes the variables that a program reads from it."""

    def __init__(self, block, name):
        super().__init__(block, name)
        self._tensors = []
        self._inner = None

    def start(self):
        """Begins a pass; needed by readers that Python fills."""
        if self._inner is not None:
            self._inner.start()

    def reset(self):
        """Ends a pass, so that the next one can begin."""
        from ..executor import global_scope

        # First the threads that fill queues, so that no reader waits for them below.
        if self._inner is not None:
            self._inner.reset()
        _core.reset_reader(global_scope(), self.name)

    def __getattr__(self, name):
        # A reader made of a py_reader is filled as that one.
        if name.startswith("decorate_") and self.__dict__.get("_inner") is not None:
            return getattr(self._inner, name)
        raise AttributeError("a reader has no %r" % name)


class _PyReader(Reader):
    """A reader that a Python generator fills, in a thread."""

    def __init__(self, block, name):
        super().__init__(block, name)
        self._queue = None
        self._thread = None
        self._batches = None

    def decorate_paddle_reader(self, reader, places=None):
        """Reads lists of samples."""
        with program_guard(Program(), Program()):
            fields = [
                data("field_%d" % i, shape, append_batch_size=False, dtype=dtype, lod_level=lod_level)
                for i, (dtype, shape, lod_level) in enumerate(self._tensors)
            ]
            feeder = DataFeeder(fields, None)

        def batches():
            for samples in reader():
                feed = feeder.feed(samples)
                yield [feed[name] for name in feeder.feed_names]

        self._batches = batches

    def decorate_tensor_provider(self, reader, places=None):
        """Reads whole batches: arrays or tensors in the order of the reader."""
        self._batches = lambda: (list(batch) for batch in reader())

    decorate_sample_list_generator = decorate_paddle_reader
    decorate_batch_generator = decorate_tensor_provider

    def start(self):
        """Begins a pass."""
        if self._batches is None:
            raise RuntimeError("the reader has no data: call decorate_paddle_reader or decorate_tensor_provider")
        if self._thread is not None:
            raise RuntimeError("the reader runs already: call reset() first")
        self._queue.start()
        self._thread = threading.Thread(target=self._fill, name="oarlock-py-reader", daemon=True)
        self._thread.start()

    def _fill(self):
        try:
            with contextlib.closing(self._batches()) as batches:
                for batch in batches:
                    if len(batch) != len(self._tensors):
                        raise ValueError("a batch has %d arrays, but the reader has %d" % (len(batch), len(self._tensors)))
                    if not self._queue.push(batch):
                        return
            self._queue.close()
        except BaseException as e:
            # The run that misses its data raises it.
            self._queue.fail(e)

    def reset(self):
        """Ends a pass; no thread is left."""
        self._queue.reset()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def _declare(kind, name, tensors):
    """A reader variable in the startup program, which makes it, and in the main program, which reads it."""
    startup, main = default_startup_program().global_block(), default_main_program().global_block()
    for block in (startup, main):
        block.program.desc.declare_reader(0, name, tensors)
    reader = kind(main, name)
    reader._tensors = tensors
    return reader, startup


def _describe(tensors):
    flat = [d for _, shape, _ in tensors for d in shape]
    return {
        "shape_concat": flat, "lod_levels": [lod for _, _, lod in tensors], "ranks": [len(shape) for _, shape, _ in tensors],
        "dtypes": [int(dtype) for dtype, _, _ in tensors],
    }


def _tensors(shapes, dtypes, lod_levels):
    lod_levels = [0] * len(shapes) if lod_levels is None else lod_levels
    if not len(shapes) == len(dtypes) == len(lod_levels):
        raise ValueError(
            "a reader needs as many shapes as dtypes and lod_levels, not %d, %d and %d" % (len(shapes), len(dtypes), len(lod_levels))
        )
    return [(_number(dtype), [-1 if d is None else int(d) for d in shape], int(lod)) for shape, dtype, lod in zip(shapes, dtypes, lod_levels)]


def _number(dtype):
    return dtype if isinstance(dtype, core.VarDesc.VarType) else convert_np_dtype_to_dtype_(dtype)


def _filled_reader(name, capacity, tensors):
    """A reader of a queue that Python fills. The startup program makes it where the network was built."""
    from ..executor import global_scope

    queue_name = name + "_queue"
    reader, startup = _declare(_PyReader, name, tensors)
    reader._queue = _core.TensorQueue(int(capacity))
    reader._queue.put_into(global_scope(), queue_name)
    startup.create_var(name=queue_name, type=core.VarDesc.VarType.RAW, persistable=True)
    startup.append_op(
        type="create_py_reader", inputs={"blocking_queue": [queue_name]}, outputs={"Out": [name]}, attrs=_describe(tensors)
    )
    return reader


def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """A reader that a Python generator fills in a thread, up to ``capacity`` batches ahead. The queue is the double buffer."""
    return _filled_reader(name or unique_name.generate("create_py_reader"), capacity, _tensors(shapes, dtypes, lod_levels))


_loaders = itertools.count()


def read_by_loader(capacity, variables):
    """A reader whose batches become the values of variables that exist already: a loader inside a program. Its name does not
    come from the generator that names layers, so that a network has the same names with and without a loader."""
    tensors = _tensors([v.shape for v in variables], [v.dtype for v in variables], [v.lod_level for v in variables])
    reader = _filled_reader("data_loader_%d" % next(_loaders), capacity, tensors)
    block, names = default_main_program().current_block(), {v.name for v in variables}
    # Before the first operator that needs them, if the network was built before the loader.
    users = (number for number, op in enumerate(block.ops) if names.intersection(op.input_arg_names))
    _insert_read(block, next(users, len(block.ops)), reader, variables)
    return reader


def _insert_read(block, position, reader, variables):
    block._insert_op(
        position, type="read", inputs={"Reader": [reader.name]}, outputs={"Out": [v.name for v in variables]}, attrs={}
    )


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """``py_reader`` of what variables declare."""
    return py_reader(
        capacity, [v.shape for v in feed_list], [v.dtype for v in feed_list], [v.lod_level for v in feed_list], name, use_double_buffer
    )


def open_files(filenames, shapes, lod_levels, dtypes, thread_num=None, buffer_size=None, pass_num=1, is_test=None):
    """A reader of RecordIO files, with one thread for each file unless ``thread_num`` is given. ``is_test`` keeps the order
    of records."""
    filenames = [filenames] if isinstance(filenames, str) else list(filenames)
    thread_num = len(filenames) if thread_num is None else int(thread_num)
    tensors = _tensors(shapes, dtypes, lod_levels)
    reader, startup = _declare(Reader, unique_name.generate("open_files"), tensors)
    attrs = dict(
        _describe(tensors), file_names=filenames, thread_num=thread_num, pass_num=int(pass_num), is_test=bool(is_test),
        buffer_size=3 * thread_num if buffer_size is None else int(buffer_size),
    )
    startup.append_op(type="open_files", inputs={}, outputs={"Out": [reader.name]}, attrs=attrs)
    return reader


def _decorated(reader, op_type, attrs, name=None):
    if not isinstance(reader, Reader):
        raise TypeError("%s takes a reader, not %r" % (op_type, reader))
    made, startup = _declare(Reader, name or unique_name.generate(op_type), reader._tensors)
    made._inner = reader
    startup.append_op(type=op_type, inputs={"UnderlyingReader": [reader.name]}, outputs={"Out": [made.name]}, attrs=attrs)
    return made


def shuffle(reader, buffer_size):
    """A reader of the same items in random order; ``buffer_size`` items are shuffled at a time."""
    return _decorated(reader, "create_shuffle_reader", {"buffer_size": int(buffer_size)})


def batch(reader, batch_size):
    """A reader of batches of ``batch_size`` items; an incomplete last batch is dropped."""
    return _decorated(reader, "create_batch_reader", {"batch_size": int(batch_size)})


def double_buffer(reader, place=None, name=None):
    """A reader that prefetches in a thread."""
    return _decorated(reader, "create_double_buffer_reader", {}, name)


def read_file(reader):
    """The variables that a program reads from a reader, a batch in each run; ``EOFException`` at the end of a pass."""
    if not isinstance(reader, Reader):
        raise TypeError("read_file takes a reader, such as fluid.layers.py_reader makes, not %r" % (reader,))
    block = default_main_program().current_block()
    out = [
        block.create_var(
            name=unique_name.generate("read_file.tmp"), dtype=dtype, shape=shape, lod_level=lod_level, stop_gradient=True, is_data=True
        )
        for dtype, shape, lod_level in reader._tensors
    ]
    _insert_read(block, len(block.ops), reader, out)
    return out[0] if len(out) == 1 else out


def load(out, file_path, load_as_fp16=None):
    """Lets the program read a variable from a file that ``fluid.io.save_vars`` wrote.

    Args:
        out (Variable): where to write.
        file_path (str): the file.
        load_as_fp16 (bool): converts to float16.

    Example:
        >>> out = fluid.layers.create_tensor("float32")
        >>> fluid.layers.load(out, "model/fc_0.w_0")
    """
    attrs = {"file_path": file_path}
    if load_as_fp16 is not None:
        attrs["load_as_fp16"] = bool(load_as_fp16)
    default_main_program().current_block().append_op(type="load", inputs={}, outputs={"Out": [out]}, attrs=attrs)
