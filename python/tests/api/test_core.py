"""fluid.core, and descriptions of programs, as scripts read them."""

import pytest

import oarlock.fluid as fluid
from oarlock.fluid import core, layers


def network():
    out = layers.fc(fluid.data("x", [None, 4]), 2, name="layer")
    fluid.optimizer.SGD(0.1).minimize(layers.mean(out))
    return fluid.default_main_program()


def test_blocks_describe_their_operators_and_variables():
    block = network().global_block()
    desc = block.desc
    assert (desc.id, desc.parent, desc.op_size()) == (0, -1, len(block.ops))
    assert [desc.op(i).type() for i in range(3)] == ["mul", "elementwise_add", "mean"]
    assert len(desc.all_vars()) == len(block.vars)
    assert desc.find_var(b"x").name() == "x" and desc.find_var("none") is None and desc.var("x").shape() == [-1, 4]
    assert desc.has_var(b"x") and desc.has_var_recursive("x") and desc.find_var_recursive("none") is None
    assert desc.op(0).block().id == 0


def test_operators_describe_their_attributes():
    op = network().global_block().ops[0]
    assert (op.desc.type(), op.desc.input("X"), op.desc.attr("x_num_col_dims")) == ("mul", ["x"], 1)
    assert str(op.desc.attr_type("x_num_col_dims")) == "AttrType.INT" and op.attr_type("op_namescope") == core.AttrType.STRING
    with pytest.raises(ValueError, match="has no attribute none"):
        op.attr_type("none")
    op.desc.set_input("X", ["x"])
    op.desc.set_output("Out", op.output("Out"))
    assert op.input("X") == ["x"]
    assert op.desc.infer_shape(op.block.desc) is None and op.desc.infer_var_type(op.block.desc) is None and op.desc.check_attrs() is None


def test_saved_programs_are_described():
    program = network()
    data = program.desc.serialize_to_string()
    desc = core.ProgramDesc(data)
    assert desc.num_blocks() == 1 and desc.block(0).op(0).type() == "mul" and desc.serialize_to_string() == data
    assert core.ProgramDesc().num_blocks() == 1 and core._is_program_version_supported(program._version())
    assert not core._is_program_version_supported(2000000) and program._version() == 1008005
    assert program.global_block().desc.serialize_to_string() in data


def test_roles_of_operators_are_named_and_set():
    maker = core.op_proto_and_checker_maker
    assert (maker.kOpRoleAttrName(), maker.kOpRoleVarAttrName(), maker.kOpNameScopeAttrName(), maker.kOpDeviceAttrName()) == (
        "op_role", "op_role_var", "op_namescope", "op_device")
    assert str(maker.OpRole.Backward) == "OpRole.Backward"
    program = fluid.default_main_program()
    x = fluid.data("x", [None, 4])
    guards = {
        maker.OpRole.Optimize: program._optimized_guard([x, "x@GRAD"]), maker.OpRole.Backward: program._backward_role_guard(),
        maker.OpRole.LRSched: program._lr_schedule_guard(), maker.OpRole.LRSched | maker.OpRole.Optimize: program._lr_schedule_guard(True),
    }
    for role, guard in guards.items():
        with guard:
            layers.relu(x)
        assert program.global_block().ops[-1].attr("op_role") == role
    assert program.global_block().ops[0].attr("op_role_var") == ["x", "x@GRAD"]


def test_names_and_settings_of_the_core():
    assert (core.kEmptyVarName(), core.kTempVarName(), core.kGradVarSuffix(), core.grad_var_suffix()) == ("@EMPTY@", "@TEMP@", "@GRAD", "@GRAD")
    assert core._set_eager_deletion_mode(-1, 0.0, True) is None and core.init_glog("a") is None and core.init_devices() is None
    assert (core.loaded_var_suffix(), core.is_compiled_with_mkldnn(), core.is_compiled_with_dist()) == ("@LOADED", False, True)
    with pytest.raises(AttributeError):
        core.nothing


def test_places_of_any_kind():
    place = core.Place()
    place.set_place(core.CPUPlace())
    assert place.is_cpu_place() and not place.is_gpu_place() and place._equals(core.CPUPlace()) and core.CPUPlace()._equals(core.CPUPlace())
    assert repr(place) == "CPUPlace"
    fluid.Executor(place)
    other = core.Place()
    other.set_place(core.CUDAPlace(3))
    assert other.is_gpu_place() and other.gpu_device_id() == 3 and not other._equals(place)
    other.set_place(core.CUDAPinnedPlace())
    assert other.is_cuda_pinned_place() and not other.is_gpu_place()
    copy = core.Place()
    copy.set_place(place)
    assert copy.is_cpu_place() and copy._equals(place)


def test_operators_show_blocks_as_numbers():
    cond = layers.less_than(layers.zeros([1], "float32"), layers.ones([1], "float32"))
    layers.cond(cond, lambda: layers.zeros([1], "float32"), lambda: layers.ones([1], "float32"))
    (first, *_) = [op for op in fluid.default_main_program().global_block().ops if op.type == "conditional_block"]
    assert first._block_attr_id("sub_block") == 1 and first.attr_type("sub_block") == core.AttrType.BLOCK


def test_variables_are_renamed_cloned_and_noted():
    program = network()
    block = program.global_block()
    block._rename_var("layer.tmp_0", b"product")
    assert block.ops[0].output("Out") == ["product"] == block.ops[1].input("X") and not block.has_var("layer.tmp_0")
    renamed = block._rename_var("layer.w_0", "weight")
    assert isinstance(renamed, fluid.framework.Parameter) and block.ops[0].input("Y") == ["weight"]
    with pytest.raises(ValueError, match="not in current block"):
        block._rename_var("none", "other")
    other = fluid.Program()
    assert other.global_block()._clone_variable(block.var("x")).persistable
    assert not fluid.Program().global_block()._clone_variable(block.var("x"), force_persistable=False).persistable
    x = block.var("x")
    x._set_info("key", 3)
    assert x._get_info("key") == 3 and x._get_info("none") is None and x.op is None and block.var("product").op.type == "mul"
    assert x._cloneVar().dtype == x.dtype and x._cloneVar(copy=True).op.type == "assign"
    assert block._slice_ops(0, 2) == block.ops[:2] and block._sync_with_cpp() is None and program._sync_with_cpp() is None


def test_operators_know_their_part_of_training():
    ops = network().global_block().ops
    assert [op._is_optimize_op() for op in ops if op.type in ("mul", "sgd")] == [False, True, True]
    assert [op._is_backward_op() for op in ops if op.type in ("mul", "mul_grad")] == [False, True]
    ops[0]._update_desc_attr("x_num_col_dims", 1)


def test_programs_for_inference_and_their_state():
    x = fluid.data("x", [None, 4])
    reader = fluid.io.PyReader(feed_list=[x], capacity=2, iterable=False)
    layers.dropout(x, 0.5)
    program = fluid.default_main_program()
    assert [op.type for op in program.global_block().ops] == ["read", "dropout"] and reader.queue is not None
    made = program._inference_optimize()
    assert [(op.type, op.attr("is_test")) for op in made.global_block().ops] == [("dropout", True)]
    assert [op.type for op in program._inference_optimize(prune_read_op=False).global_block().ops] == ["read", "dropout"]
    program.random_seed = 5
    assert program._seed == 5 and not program._is_distributed


def test_an_optimizer_lists_its_variables():
    optimizer = fluid.optimizer.Adam(0.1)
    assert optimizer.get_opti_var_name_list() == []
    optimizer.minimize(layers.mean(layers.fc(fluid.data("x", [None, 4]), 1, name="layer", bias_attr=False)))
    assert sorted(optimizer.get_opti_var_name_list()) == [
        "layer.w_0_%s_0" % kind for kind in ("beta1_pow_acc", "beta2_pow_acc", "moment1", "moment2")]


def test_trainers_of_servers_need_no_address():
    network()
    transpiler = fluid.DistributeTranspiler()
    transpiler.transpile(0, pservers="127.0.0.1:6174", trainers=1, current_endpoint=None)
    assert transpiler.get_trainer_program(wait_port=False)._is_distributed
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    with pytest.raises(ValueError, match="needs current_endpoint"):
        fluid.DistributeTranspiler(config).transpile(0, trainers="127.0.0.1:1,127.0.0.1:2", current_endpoint=None)
