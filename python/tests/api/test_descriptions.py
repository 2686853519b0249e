"""Descriptions of programs that scripts write, and tensors with Fluid's accessors."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import core

KINDS = core.VarDesc.VarType


def test_operators_are_filled_in_and_infer_shapes():
    block = core.ProgramDesc().block(0)
    for name, shape in ((b"x", [10, 20]), (b"y", [20, 30])):
        var = block.var(name)
        var.set_type(KINDS.LOD_TENSOR)
        var.set_shape(shape)
    out = block.var("out")
    op = block.append_op()
    op.set_type("mul")
    op.set_input("X", ["x"])
    op.set_input("Y", ["y"])
    op.set_output("Out", ["out"])
    op.check_attrs()
    assert op.attr("x_num_col_dims") == 1
    op.infer_shape(block)
    assert out.shape() == [10, 30] and out == block.find_var("out") and block.op(0) == op


def test_blocks_are_appended_and_operators_removed():
    desc = fluid.Program().desc
    inner = desc.append_block(desc.block(0))
    assert (desc.num_blocks(), inner.parent, desc.block(1).id) == (2, 0, 1)
    block = desc.block(0)
    last, first = block.append_op(), block._prepend_op()
    assert [block.op(i) for i in range(block.op_size())] == [first, last]
    block._remove_op(0, 1)
    assert block.op_size() == 1 and block.op(0) == last
    last.set_type("while")
    last.set_block_attr("sub_block", inner)
    assert last._block_attr_id("sub_block") == 1


def test_readers_describe_all_that_they_read():
    var = core.ProgramDesc().block(0).var("reader")
    var.set_type(KINDS.READER)
    var.set_shapes([[2, 3], [4]])
    var.set_dtypes([KINDS.INT32, KINDS.FP64])
    var.set_lod_levels([1, 0])
    assert (var.shapes(), var.dtypes(), var.lod_levels()) == ([[2, 3], [4]], [KINDS.INT32, KINDS.FP64], [1, 0])
    assert var.type() == KINDS.READER


def test_tensors_keep_sequences_that_fit():
    tensor = core.LoDTensor([[1, 2]])
    tensor.set(np.arange(3, dtype="float32"), core.CPUPlace())
    assert tensor.recursive_sequence_lengths() == [[1, 2]]
    tensor.set(np.arange(4, dtype="float32"), core.CPUPlace())
    assert tensor.lod() == []
    with pytest.raises(ValueError):
        tensor.set_recursive_sequence_lengths([[1, 2]])


def test_elements_of_tensors_are_read_and_set():
    tensor = core.LoDTensor()
    tensor._set_dims([2, 2])
    tensor._alloc_float(core.CPUPlace())
    tensor._set_float_element(3, 2.5)
    assert tensor._get_float_element(3) == 2.5 and tensor._numel() == 4 and tensor._place().is_cpu_place()
    with pytest.raises(IndexError, match="no element 4 among 4"):
        tensor._get_float_element(4)
    with pytest.raises(TypeError):
        tensor._get_double_element(0)
    copy = tensor._copy(core.CPUPlace())
    copy._set_float_element(3, 1.0)
    assert tensor._get_float_element(3) == 2.5 and tensor[1]._get_float_element(1) == 2.5
    tensor._alloc_double()
    assert tensor._dtype() == KINDS.FP64
    other = core.LoDTensor()
    other._share_data_with(copy)
    assert np.array(other)[1, 1] == 1.0


def test_variables_of_a_scope_hold_numbers():
    var = core.Scope().var("x")
    assert not var.is_int()
    var.set_int(7)
    assert (var.is_int(), var.get_int(), var.is_float()) == (True, 7, False)
    var.set_float(0.5)
    assert var.get_float() == 0.5
    with pytest.raises(TypeError, match="not one number"):
        var.get_int()


def test_errors_of_the_core_are_what_scripts_catch():
    x = fluid.data("x", [2, 3])
    with pytest.raises(core.EnforceNotMet) as raised:
        fluid.layers.transpose(x, [0, 1, 2])
    assert isinstance(raised.value, ValueError)
    with pytest.raises(core.EnforceNotMet) as raised:
        fluid.default_main_program().global_block().append_op(type="relu", inputs={"X": [fluid.data("i", [1], "int32")]}, outputs={})
    assert isinstance(raised.value, TypeError) and isinstance(raised.value, core.InvalidType)


def test_operators_are_marked_for_a_device():
    with fluid.device_guard("cpu"):
        x = fluid.layers.fill_constant([1], "float32", 0.5)
        with fluid.device_guard("gpu"):
            y = fluid.layers.relu(x)
    assert (x.op.attr("op_device"), y.op.attr("op_device")) == ("cpu", "gpu")
    with pytest.raises(ValueError):
        with fluid.device_guard("gpu1"):
            pass


def test_values_of_parameters_are_read_by_name():
    fluid.layers.create_parameter([2], "float32", name="w", default_initializer=fluid.initializer.Constant(3.0))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert fluid.io.get_parameter_value_by_name("w", exe).tolist() == [3.0, 3.0]
    assert fluid.executor._fetch_var("w").tolist() == [3.0, 3.0]
    with pytest.raises(AssertionError, match="Cannot find"):
        fluid.executor._fetch_var("nothing")


def test_gpus_stand_for_the_cpu_if_the_environment_says_so(monkeypatch):
    with pytest.raises(RuntimeError, match="OARLOCK_GPU_AS_CPU=1"):
        fluid.Executor(fluid.CUDAPlace(0))
    monkeypatch.setenv("OARLOCK_GPU_AS_CPU", "1")
    monkeypatch.setattr(core, "_said_as_cpu", False)
    with pytest.warns(UserWarning, match="runs on the CPU") as said:
        exe = fluid.Executor(fluid.CUDAPlace(0))
        assert fluid.cuda_places([0, 1]) == [fluid.CUDAPlace(0), fluid.CUDAPlace(1)]
    assert len(said) == 1
    assert exe.run(fetch_list=[fluid.layers.fill_constant([1], "float32", 2.0)])[0].tolist() == [2.0]
