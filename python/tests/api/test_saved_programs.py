"""Programs as messages, text, lists and drawings; tools of transpilers."""

import io as text_io
import os
import socket
import types

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.incubate.fleet.utils import utils
from oarlock.fluid.incubate.fleet.utils.fleet_util import FleetUtil
from oarlock.fluid.proto import framework_pb2
from oarlock.fluid.transpiler import collective, details


def network():
    out = layers.fc(fluid.data("x", [None, 4]), 2, act="relu", name="layer")
    loss = layers.mean(layers.dropout(out, 0.5))
    fluid.optimizer.Adam(0.1).minimize(loss)
    layers.cond(layers.less_than(loss, loss), lambda: loss, lambda: layers.scale(loss, 2.0))
    return out


def test_messages_keep_every_byte_of_a_program():
    network()
    data = fluid.default_main_program().desc.serialize_to_string()
    found = framework_pb2.ProgramDesc.FromString(data)
    assert found.SerializeToString() == data
    block = found.blocks[0]
    mul = block.ops[0]
    assert mul.type == "mul" and {slot.parameter: list(slot.arguments) for slot in mul.inputs} == {"X": ["x"], "Y": ["layer.w_0"]}
    (dims,) = [attr for attr in mul.attrs if attr.name == "x_num_col_dims"]
    assert (dims.type, dims.i, framework_pb2.AttrType.Name(dims.type)) == (framework_pb2.INT, 1, "INT")
    (x,) = [var for var in block.vars if var.name == "x"]
    assert x.type.type == framework_pb2.VarType.LOD_TENSOR and list(x.type.lod_tensor.tensor.dims) == [-1, 4]
    assert not block.HasField("forward_block_idx") and block.parent_idx == -1
    copy = framework_pb2.ProgramDesc()
    copy.CopyFrom(found)
    copy.blocks.add().idx = 9
    assert len(copy.blocks) == len(found.blocks) + 1


def test_damaged_messages_are_refused():
    network()
    data = fluid.default_main_program().desc.serialize_to_string()
    for bad in (data[:-1], b"\x0a\xff", b"\x0f", b"\xff" * 12):
        with pytest.raises(ValueError, match="cut short|damaged|unknown form"):
            framework_pb2.ProgramDesc.FromString(bad)
    with pytest.raises(AttributeError, match="has no field colour"):
        framework_pb2.OpDesc().colour = 1


def test_programs_change_between_bytes_and_text(tmp_path):
    network()
    main = fluid.default_main_program()
    utils.save_program(main, str(tmp_path / "net"))
    assert FleetUtil("transpiler").program_type_trans(str(tmp_path), "net", False) == "net.pbtxt"
    assert utils.program_type_trans(str(tmp_path), "net.pbtxt", True) == "net.pbtxt.bin"
    from_text, from_bytes = (utils.load_program(str(tmp_path / name), text) for name, text in (("net.pbtxt", True), ("net", False)))
    assert from_text.desc.to_text() == from_bytes.desc.to_text()
    assert (tmp_path / "net").read_bytes() == (tmp_path / "net.pbtxt.bin").read_bytes()
    (tmp_path / "bad").write_text("blocks { idx: 0")
    with pytest.raises(ValueError, match="does not hold a program as text"):
        utils.load_program(str(tmp_path / "bad"), is_text=True)


def test_programs_are_listed_drawn_and_compared(tmp_path, caplog):
    out = network()
    main = fluid.default_main_program()
    path = str(tmp_path / "net")
    utils.save_program(main, path)
    tool = FleetUtil("transpiler")
    tool.parse_program_proto(path, False, str(tmp_path))
    assert "'name': 'layer.w_0'" in (tmp_path / "vars_persistable.log").read_text()
    assert (tmp_path / "vars_all.log").read_text().startswith("all vars:\n{'name'") and "'type': 'mul'" in (tmp_path / "ops.log").read_text()
    tool.draw_from_program_file(path, False, str(tmp_path), "drawing")
    tool.draw_from_program(main, str(tmp_path), "again")
    assert (tmp_path / "drawing.dot").exists() and (tmp_path / "again.dot").exists()
    pruned = main._prune([out])
    assert utils.check_pruned_program_vars(main, pruned)
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        layers.create_parameter([3, 3], "float32", name="layer.w_0")
        layers.create_parameter([1], "float32", name="other")
        assert not utils.check_pruned_program_vars(main, fluid.default_main_program())
    assert "not find variable 'other'" in caplog.text and "layer.w_0 not match" in caplog.text


def test_a_saved_model_is_loaded_and_run(tmp_path):
    out = layers.fc(fluid.data("x", [None, 4]), 2, name="layer")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["x"], [out], exe)
    feed = types.SimpleNamespace(feeded_vars_names=["x"], feeded_vars_dims=[4], feeded_vars_types=["float32"], feeded_vars_filelist=None)
    fetch = types.SimpleNamespace(fetch_vars_names=None)
    config = types.SimpleNamespace(
        dump_model_dir=str(tmp_path), dump_program_filename="__model__", is_text_dump_program=False, feed_config=feed, fetch_config=fetch,
        batch_size=3, save_params_filename=None)
    (got,) = FleetUtil("transpiler").check_vars_and_dump(config)
    assert got.shape == (3, 2)
    (tmp_path / "numbers").write_text("1 0 0 0 0 1 0 0\n")
    feed.feeded_vars_filelist = [str(tmp_path / "numbers")]
    name = utils.program_type_trans(str(tmp_path), "__model__", False)
    (got,) = utils.check_saved_vars_try_dump(str(tmp_path), name, True, feed, fetch, batch_size=2)
    weight = np.array(fluid.global_scope().find_var("layer.w_0").get_tensor())
    np.testing.assert_allclose(got, weight[:2], rtol=1e-6)
    with pytest.raises(RuntimeError, match="a batch needs 12"):
        utils.check_saved_vars_try_dump(str(tmp_path), "__model__", False, feed, fetch, batch_size=3)
    feed.feeded_vars_dims = [5]
    with pytest.raises(RuntimeError, match="shape not match"):
        utils.check_saved_vars_try_dump(str(tmp_path), "__model__", False, feed, fetch)


def test_operators_are_found_shown_and_deleted():
    out = network()
    block = out.block
    assert details.find_op_by_input_arg(block, "layer.w_0") == 0 and details.find_op_by_output_arg(block, "nothing") == -1
    first, last = (details.find_op_by_output_arg(block, "layer.w_0", reverse) for reverse in (False, True))
    assert first == last and block.ops[first].type == "adam"
    assert details.variable_to_code(block.var("layer.w_0")) == (
        "persist trainable parameter layer.w_0 : fluid.VarType.LOD_TENSOR.shape(4, 2).astype(VarType.FP32)")
    code = details.op_to_code(block.ops[0])
    assert code.startswith("{Out=['layer.tmp_0']} = mul(inputs={X=['x'], Y=['layer.w_0']}, ") and "op_callstack" not in code
    printed = text_io.StringIO()
    details.program_to_code(fluid.default_main_program(), printed)
    assert "{ // block 1" in printed.getvalue() and "sub_block = block[1]" in printed.getvalue()
    one = text_io.StringIO()
    details.block_to_code(block, 0, one, skip_op_callstack=True)
    assert printed.getvalue().startswith(one.getvalue()) and details.get_indent_space(1, 2) == "  "
    details.delete_ops(block, block.ops[1:])
    assert [op.type for op in block.ops] == ["mul"]


def test_elements_grow_together():
    sets = details.UnionFind("abcd")
    sets.union("a", "b"), sets.union("c", "d"), sets.union("a", "b")
    assert not sets.is_connected("b", "c")
    sets.union("b", "d")
    assert sets.is_connected("a", "c") and sets.find("z") == -1 and details.UnionFind().find("a") == -1


def test_waiting_ends_when_servers_listen():
    with socket.create_server(("127.0.0.1", 0)) as server:
        details.wait_server_ready(["127.0.0.1:%d" % server.getsockname()[1]])
    with pytest.raises(AssertionError, match="takes a list"):
        details.wait_server_ready("127.0.0.1:1")


TWO = ["127.0.0.1:6170", "127.0.0.1:6171"]


@pytest.mark.parametrize("kind", [collective.GradAllReduce, collective.LocalSGD])
def test_programs_of_collective_workers_exchange_values(kind):
    network()
    made = kind(nrings=1)
    made.transpile(None, None, 1, ",".join(TWO), TWO[1], wait_port=False)
    assert (made.nranks, made.rank, made.endpoints, made.current_endpoint) == (2, 1, TWO, TWO[1])
    assert any(op.type == "c_allreduce_sum" for op in fluid.default_main_program().global_block().ops)
    for rank, endpoints, here in ((0, TWO[:1], TWO[0]), (-1, TWO, TWO[0]), (0, TWO, "127.0.0.1:1")):
        with pytest.raises(ValueError):
            kind().transpile(None, None, rank, endpoints, here, False)
    assert collective.LocalSGD().snapshot_name("w") == "w@SNAPSHOT"


def test_a_program_loads_a_variable_from_a_file(tmp_path):
    w = layers.create_parameter([2, 2], "float32", name="w")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_vars(exe, str(tmp_path), vars=[w])
    kept = np.array(fluid.global_scope().find_var("w").get_tensor())
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        out = layers.create_tensor("float32")
        layers.load(out, os.path.join(str(tmp_path), "w"))
        np.testing.assert_array_equal(exe.run(fetch_list=[out])[0], kept)
