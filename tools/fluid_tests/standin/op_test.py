"""Stand-in for the ``op_test.py`` of Fluid's unit tests. A test describes one operator (``op_type``, ``inputs``, ``outputs``,
``attrs``); the stand-in builds a program of this operator, runs it, and compares outputs with those that the test computed, and
gradients with differences of outputs.

It uses the public front end only: ``Block.append_op``, ``Executor.run``, ``append_backward`` and ``fluid.op.Operator``.
"""

import random
import unittest

import numpy as np

import paddle.fluid as fluid
import paddle.fluid.core as core
from paddle.fluid.backward import append_backward
from paddle.fluid.op import Operator

# Of these, the first one that an input has is the precision of the test.
_PRECISIONS = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


def randomize_probability(batch_size, class_num, dtype="float32"):
    """Returns rows of positive numbers whose sum is 1."""
    rows = np.random.uniform(0.1, 1.0, size=(batch_size, class_num)).astype(dtype)
    return rows / rows.sum(axis=1, keepdims=True)


def skip_check_grad_ci(reason=None):
    """Marks a class of tests without a gradient.

    Args:
        reason (str): why there is none.
    """
    if not isinstance(reason, str):
        raise AssertionError("The reason for skipping check_grad is required.")

    def mark(cls):
        cls.no_need_check_grad = True
        return cls

    return mark


def _set_use_system_allocator(value=None):
    """Sets Fluid's flag of the allocator; returns its value so far."""
    flags = core.globals()
    before = flags["FLAGS_use_system_allocator"]
    if value is not None:
        flags["FLAGS_use_system_allocator"] = value
    return before


def _array_and_lod(value):
    """The array and the lengths of sequences of a value of a test; the latter may be None."""
    if isinstance(value, tuple):
        return np.asarray(value[0]), value[1]
    return np.asarray(value), None


def _named(slots):
    """Yields slot, variable, value; a slot of several variables is a list of pairs."""
    for slot, value in slots.items():
        if isinstance(value, list):
            for pair in value:
                yield slot, pair[0], pair[1]
        else:
            yield slot, slot, value


def _tensor(value, place):
    array, lengths = _array_and_lod(value)
    tensor = core.LoDTensor()
    tensor.set(array, place)
    if lengths is not None:
        tensor.set_recursive_sequence_lengths(lengths)
    return tensor


def _mean_of(block, names):
    """Appends the mean of the means of variables."""
    means = []
    for name in names:
        var = block.var(name)
        means.append(block.create_var(dtype=var.dtype, shape=[1]))
        block.append_op(type="mean", inputs={"X": [var]}, outputs={"Out": [means[-1]]})
    if len(means) == 1:
        return means[0]
    total = block.create_var(dtype=means[0].dtype, shape=[1])
    block.append_op(type="sum", inputs={"X": means}, outputs={"Out": [total]})
    loss = block.create_var(dtype=means[0].dtype, shape=[1])
    block.append_op(type="scale", inputs={"X": [total]}, outputs={"Out": [loss]}, attrs={"scale": 1.0 / len(means)})
    return loss


def get_numeric_gradient(place, scope, op, inputs, input_to_check, output_names, delta=0.005, in_place=False):
    """Computes a gradient by differences: each element of an input is moved by ``delta`` both ways.

    Args:
        place (Place): where the operator runs.
        scope (Scope): holds its variables.
        op (Operator): the operator.
        inputs (dict): values of its inputs by slot.
        input_to_check (str): the input to which the gradient belongs.
        output_names (list): the outputs; their means are summed.
        delta (float): the distance.
        in_place (bool): whether the operator overwrites its inputs, so that they have to be set before every run.

    Returns:
        numpy.ndarray: the gradient.
    """
    def set_inputs():
        for _, name, value in _named(inputs):
            scope.var(name).get_tensor().set(_array_and_lod(value)[0], place)
            if isinstance(value, tuple):
                scope.find_var(name).get_tensor().set_recursive_sequence_lengths(value[1])

    def mean():
        op.run(scope, place)
        values = [np.array(scope.find_var(name).get_tensor()).astype(dtype).mean() for name in output_names]
        return dtype.type(np.array(values).sum() / len(output_names))

    set_inputs()
    tensor = scope.find_var(input_to_check).get_tensor()
    origin = np.array(tensor)
    lengths = tensor.recursive_sequence_lengths()
    dtype = origin.dtype
    if dtype.kind != "f":
        raise ValueError("%s is %s: a gradient needs floats" % (input_to_check, dtype))
    gradient = np.zeros(origin.size, dtype)
    for i in range(origin.size):
        ends = []
        for step in (delta, -delta):
            if in_place:
                set_inputs()
            moved = origin.copy()
            moved.reshape(-1)[i] = float(origin.reshape(-1)[i]) + step
            tensor.set(moved, place)
            if lengths:
                tensor.set_recursive_sequence_lengths(lengths)
            ends.append(mean())
        gradient[i] = (ends[0] - ends[1]) / delta / 2
    tensor.set(origin, place)
    return gradient.reshape(origin.shape)


class OpTest(unittest.TestCase):
    """A test of one operator."""

    @classmethod
    def setUpClass(cls):
        cls._random_states = np.random.get_state(), random.getstate()
        cls.dtype = None
        cls.outputs = {}
        np.random.seed(123)
        random.seed(124)

    @classmethod
    def tearDownClass(cls):
        np.random.set_state(cls._random_states[0])
        random.setstate(cls._random_states[1])

    # Values keep the types of numpy.
    np_dtype_to_fluid_dtype = staticmethod(lambda input: input)
    fluid_dtype_to_np_dtype = staticmethod(lambda self, dtype: dtype)
    np_value_to_fluid_value = staticmethod(lambda input: input)

    def try_call_once(self, data_type):
        """Notes the precision of the test, the first time."""
        if self.dtype is None:
            self.dtype = data_type

    def infer_dtype_from_inputs_outputs(self, inputs, outputs):
        """Notes the precision of the test, that of its inputs."""
        kinds = {_array_and_lod(value)[0].dtype.name for _, _, value in _named(inputs)}
        for name in _PRECISIONS:
            if name in kinds:
                self.dtype = np.dtype(name)
                break
        type(self).dtype = self.dtype

    def get_sequence_batch_size_1_input(self, lod=None, shape=None):
        """Returns random rows that are one sequence."""
        lod, shape = lod or [[13]], shape or [13, 23]
        assert len(lod[0]) == 1 and lod[0][0] == shape[0]
        return np.random.uniform(0.1, 1, shape).astype("float32"), lod

    def get_sequence_instance_size_0_input(self, lod=None, shape=None):
        """Returns random rows of sequences of which some are empty: at the beginning, in the middle and at the end."""
        lod, shape = lod or [[0, 0, 4, 0, 3, 0, 0, 5, 0, 0]], shape or [12, 10]
        assert sum(lod[0]) == shape[0]
        return np.random.uniform(0.1, 1, shape).astype("float32"), lod

    def feed_var(self, input_vars, place):
        """Returns the tensors of the inputs by the names of variables."""
        return {name: _tensor(value, place) for slot, name, value in _named(self.inputs) if slot in input_vars}

    def _append_ops(self, block):
        type(self).op_type = self.op_type
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        duplicable = {slot for is_input in (True, False) for slot, many in _slots(self.op_type, is_input) if many}
        slots = []
        for given, is_input in ((self.inputs, True), (self.outputs, False)):
            known = [slot for slot, _ in _slots(self.op_type, is_input)]
            made = {}
            for slot, name, value in _named(given):
                if slot not in known:
                    continue
                array, lengths = _array_and_lod(value)
                shape = {"shape": list(array.shape), "lod_level": len(lengths or [])} if is_input else {}
                made.setdefault(slot, []).append(block.create_var(name=name, dtype=array.dtype, **shape))
            slots.append({slot: found if slot in duplicable else found[:1] for slot, found in made.items()})
        inputs, outputs = slots
        for slot, optional in _missing_outputs(self.op_type, outputs):
            if not optional:
                outputs[slot] = [block.create_var(name=slot)]
        for name in getattr(self, "cache_name_list", []):
            inputs[name] = [block.create_var(name=name, persistable=True, type=core.VarDesc.VarType.RAW, stop_gradient=True)]
        return block.append_op(type=self.op_type, inputs=inputs, outputs=outputs, attrs=dict(getattr(self, "attrs", {})))

    def _get_inputs(self, block):
        return {slot: [block.var(n) for s, n, _ in _named(self.inputs) if s == slot] for slot in self.inputs}

    def _get_outputs(self, block):
        return {slot: [block.var(n) for s, n, _ in _named(self.outputs) if s == slot] for slot in self.outputs}

    def calc_output(self, place):
        """Runs the operator; returns its outputs."""
        return self._calc_output(place)[0]

    def _calc_output(self, place, no_check_set=None, **_):
        program = fluid.Program()
        block = program.global_block()
        op = self._append_ops(block)
        names = list(getattr(self, "fetch_list", []))
        if not names:
            names = [name for slot, name, _ in _named(self.outputs)
                     if block.has_var(name) and not (no_check_set and slot in no_check_set)]
        if not names:
            names = [slot for slot, _ in _slots(self.op_type, False) if block.has_var(slot)]
        outs = fluid.Executor(place).run(program, feed=self.feed_var(self.inputs, place), fetch_list=names, return_numpy=False)
        self.op, self.program = op, program
        return outs, names

    def _get_places(self):
        return [] if self.dtype == np.float16 else [fluid.CPUPlace()]

    def check_output_with_place(self, place, atol=0, no_check_set=None, equal_nan=False, check_dygraph=True, inplace_atol=None):
        """Runs the operator and compares its outputs with those of the test."""
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        outs, names = self._calc_output(place, no_check_set=no_check_set)
        known = [slot for slot, _ in _slots(self.op_type, False)]
        for slot, name, value in _named(self.outputs):
            if slot not in known or (no_check_set and slot in no_check_set):
                continue
            expected, lengths = _array_and_lod(value)
            actual = outs[names.index(name)]
            array = np.array(actual)
            close = np.allclose(array, expected, atol=atol, equal_nan=equal_nan)
            self.assertTrue(close, "Output (%s) of %s differs: %s" % (name, self.op_type, _difference(array, expected)))
            if lengths is not None:
                self.assertListEqual(actual.recursive_sequence_lengths(), lengths, "Output (%s) has another LoD" % name)
        return (outs, outs, names) if check_dygraph else (outs, names)

    def check_output(self, atol=1e-5, no_check_set=None, equal_nan=False, check_dygraph=True, inplace_atol=None):
        """The same on all places."""
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        for place in self._get_places():
            self.check_output_with_place(place, atol, no_check_set, equal_nan, check_dygraph)

    def check_output_customized(self, checker):
        """Runs the operator and calls ``checker`` with its outputs, the shortest first."""
        for place in self._get_places():
            checker(sorted((np.array(out) for out in self.calc_output(place)), key=len))

    def check_grad(self, inputs_to_check, output_names, no_grad_set=None, numeric_grad_delta=0.005, in_place=False,
                   max_relative_error=0.005, user_defined_grads=None, check_dygraph=True):
        """Compares gradients of inputs with differences of outputs, or with arrays, on all places."""
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        for place in self._get_places():
            self.check_grad_with_place(place, inputs_to_check, output_names, no_grad_set, numeric_grad_delta, in_place,
                                       max_relative_error, user_defined_grads)

    def check_grad_with_place(self, place, inputs_to_check, output_names, no_grad_set=None, numeric_grad_delta=0.005,
                              in_place=False, max_relative_error=0.005, user_defined_grads=None, check_dygraph=True):
        """The same on one place."""
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        if not isinstance(output_names, list):
            output_names = [output_names]
        exact = self.dtype == np.float64
        expected = user_defined_grads
        if not expected:
            self.scope = core.Scope()
            self.op = self._operator()
            delta = 1e-5 if exact else numeric_grad_delta
            expected = [get_numeric_gradient(place, self.scope, self.op, self.inputs, name, output_names, delta, in_place)
                        for name in inputs_to_check]
        found = self._get_gradient(inputs_to_check, place, output_names, no_grad_set)
        self._assert_is_close(expected, found, inputs_to_check, max_relative_error, "Gradient check on %s" % place)

    def _check_grad_helper(self):
        self.infer_dtype_from_inputs_outputs(self.inputs, self.outputs)
        type(self).op_type = self.op_type

    def _operator(self):
        """The operator outside of a program."""
        args = {}
        for slots, is_input in ((self.inputs, True), (self.outputs, False)):
            known = [slot for slot, _ in _slots(self.op_type, is_input)]
            for slot, name, _ in _named(slots):
                if slot in known:
                    args.setdefault(slot, []).append(name)
        for slot, optional in _missing_outputs(self.op_type, args):
            if not optional:
                args[slot] = [slot]
        known = Operator.get_op_attr_names(self.op_type)
        args.update({name: value for name, value in getattr(self, "attrs", {}).items() if name in known})
        return Operator(self.op_type, **args)

    def _get_gradient(self, input_to_check, place, output_names, no_grad_set, parallel=False):
        program = fluid.Program()
        block = program.global_block()
        self._append_ops(block)
        loss = _mean_of(block, output_names)
        pairs = append_backward(loss=loss, parameter_list=input_to_check, no_grad_set=no_grad_set)
        fetches = [grad for _, grad in pairs]
        outs = fluid.Executor(place).run(program, feed=self.feed_var(self.inputs, place), fetch_list=fetches, return_numpy=False)
        return [_dense(out) for out in outs]

    def _assert_is_close(self, numeric_grads, analytic_grads, names, max_relative_error, msg_prefix):
        for expected, actual, name in zip(numeric_grads, analytic_grads, names):
            size = np.abs(np.asarray(expected))
            size = np.where(size < 1e-3, 1.0, size)
            off = np.abs(expected - actual) / size
            worst = off.max() if off.size else 0.0
            self.assertLessEqual(worst, max_relative_error, "%s: the gradient of %s of %s is off by %g of its size: %s"
                                 % (msg_prefix, name, self.op_type, worst, _difference(np.asarray(actual), expected)))


def _dense(value):
    """The array of a gradient; rows of a table are put where they belong."""
    if not isinstance(value, core.SelectedRows):
        return np.array(value)
    rows = np.array(value.get_tensor())
    table = np.zeros((value.height(),) + rows.shape[1:], rows.dtype)
    np.add.at(table, value.rows(), rows)
    return table


def _slots(op_type, is_input):
    return Operator.get_op_inputs(op_type) if is_input else Operator.get_op_outputs(op_type)


def _missing_outputs(op_type, outputs):
    """Output slots that a test does not give, and whether the operator can do without."""
    proto = fluid.framework.OpProtoHolder.instance().get_op_proto(op_type)
    return [(slot.name, slot.dispensable) for slot in proto.outputs if slot.name not in outputs]


def _difference(actual, expected):
    expected = np.asarray(expected)
    if actual.shape != expected.shape:
        return "shape %s instead of %s" % (actual.shape, expected.shape)
    if not actual.size:
        return "empty"
    at = int(np.argmax(np.abs(actual.astype("float64") - expected.astype("float64"))))
    return "element %d is %r instead of %r" % (at, actual.reshape(-1)[at], expected.reshape(-1)[at])
