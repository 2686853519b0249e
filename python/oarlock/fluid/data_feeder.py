"""Samples of a reader as feeds of a program."""

import numpy as np

from .core import LoDTensor, VarDesc
from .framework import Variable, cpu_places, default_main_program

__all__ = ["DataFeeder"]

_BY_NAME = {np.dtype(name).name: name for name in VarDesc.VarType.by_numpy}
_NUMPY = {int(kind): name for name, kind in VarDesc.VarType.by_numpy.items()}


def convert_dtype(dtype):
    """The name of an element type: of a ``VarDesc.VarType``, a numpy type or a name."""
    if isinstance(dtype, VarDesc.VarType):
        return _NUMPY[int(dtype)]
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in _BY_NAME:
        raise ValueError("dtype must be one of %s, not %s" % (", ".join(_BY_NAME), name))
    return name


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """For layers that users write: refuses an argument of another type."""
    if not isinstance(input, expected_type):
        raise TypeError(
            "The type of '%s' in %s must be %s, but received %s. %s" % (input_name, op_name, expected_type, type(input), extra_message)
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """For layers that users write: refuses another element type."""
    if convert_dtype(input_dtype) not in expected_dtype:
        raise TypeError(
            "The data type of '%s' in %s must be %s, but received %s. %s"
            % (input_name, op_name, expected_dtype, convert_dtype(input_dtype), extra_message)
        )


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """For layers that users write: refuses what is no Variable of one of these element types."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


class DataFeeder:
    """Turns lists of samples into ``{name: LoDTensor}``, by the shapes, types and sequences of ``feed_list``."""

    def __init__(self, feed_list, place, program=None):
        program = program or default_main_program()
        self.place = place
        self._vars = []
        for var in feed_list:
            if isinstance(var, str):
                var = program.global_block().var(var)
            if not isinstance(var, Variable):
                raise TypeError("Feed list should contain a list of variable")
            self._vars.append(var)
        self.feed_names = [v.name for v in self._vars]

    def feed(self, iterable):
        """The feed of one batch."""
        columns = [[] for _ in self._vars]
        for number, sample in enumerate(iterable):
            if len(sample) != len(self._vars):
                raise ValueError(
                    "sample %d has %d fields, but the feed list has %d: %s"
                    % (number, len(sample), len(self._vars), ", ".join(self.feed_names))
                )
            for column, field in zip(columns, sample):
                column.append(field)
        return {var.name: _tensor(var, column) for var, column in zip(self._vars, columns)}

    def feed_parallel(self, iterable, num_places=None):
        """The feeds of several places, one batch each."""
        batches = list(iterable)
        if num_places is not None and len(batches) != num_places:
            raise ValueError("feed_parallel takes a batch for each of %d places, not %d" % (num_places, len(batches)))
        for batch in batches:
            yield self.feed(batch)

    def decorate_reader(self, reader, multi_devices, num_places=None, drop_last=True):
        """A reader of batches as a reader of feeds."""

        def single():
            for batch in reader():
                yield self.feed(batch)

        def several():
            count = num_places or len(cpu_places())
            group = []
            for batch in reader():
                group.append(self.feed(batch))
                if len(group) == count:
                    yield group
                    group = []
            if group and not drop_last:
                raise ValueError(
                    "%d batches are left over for %d places: pass drop_last=True, or a number of batches that the places divide"
                    % (len(group), count)
                )

        return several if multi_devices else single


def _tensor(var, column):
    dtype = _NUMPY[int(var.dtype)]
    if var.lod_level:
        return _sequences(var, column, dtype)
    shape = [d for d in var.shape[1:]]
    try:
        array = np.array(column, dtype=dtype)
    except (TypeError, ValueError) as e:
        number = _misfit(column, shape)
        raise ValueError(
            "slot %s takes %s%s, but sample %d is %r (%s)" % (var.name, dtype, shape, number, column[number], e)
        ) from None
    tensor = LoDTensor()
    tensor.set(_of_rank(var, array))
    return tensor


def _of_rank(var, array):
    """An array with as many dimensions as a variable. As in Fluid its sizes may be others: scripts declare `[1]` and feed rows."""
    if array.ndim == len(var.shape) or sum(d < 0 for d in var.shape) > 1:
        return array
    try:
        return array.reshape(var.shape)
    except ValueError:
        raise ValueError("slot %s takes %s, but samples make up %s" % (var.name, list(var.shape), list(array.shape))) from None


def _misfit(column, shape):
    for number, field in enumerate(column):
        try:
            if np.asarray(field).shape != np.asarray(column[0]).shape:
                return number
        except ValueError:
            return number
    return 0


def _sequences(var, column, dtype):
    lengths = [[] for _ in range(var.lod_level)]
    flat = []

    def collect(item, level):
        if level == var.lod_level:
            flat.append(item)
            return
        lengths[level].append(len(item))
        for inner in item:
            collect(inner, level + 1)

    for number, field in enumerate(column):
        try:
            collect(field, 0)
        except TypeError:
            raise ValueError(
                "slot %s takes sequences (lod_level %d), but sample %d is %r" % (var.name, var.lod_level, number, field)
            ) from None
    tail = [abs(d) for d in var.shape[1:]]
    array = _of_rank(var, np.array(flat, dtype=dtype)) if flat else np.zeros([0] + tail, dtype)
    tensor = LoDTensor()
    tensor.set(array)
    tensor.set_recursive_sequence_lengths(lengths)
    return tensor
