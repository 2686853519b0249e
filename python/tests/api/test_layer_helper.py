"""Layers that users write with LayerHelper, and what scripts do with variables while they build."""

import warnings

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.layer_helper import LayerHelper


def my_fc(input, size, param_attr=None, bias_attr=None, act=None, name=None):
    """A layer as Fluid's own are written."""
    helper = LayerHelper("my_fc", **locals())
    dtype = helper.input_dtype()
    products = []
    for each, attr in helper.iter_inputs_and_params():
        w = helper.create_parameter(attr=attr, shape=[each.shape[1], size], dtype=dtype)
        out = helper.create_variable_for_type_inference(dtype)
        helper.append_op(type="mul", inputs={"X": each, "Y": w}, outputs={"Out": out}, attrs={"x_num_col_dims": 1, "y_num_col_dims": 1})
        products.append(out)
    total = products[0]
    if len(products) > 1:
        total = helper.create_variable_for_type_inference(dtype)
        helper.append_op(type="sum", inputs={"X": products}, outputs={"Out": total})
    return helper.append_activation(helper.append_bias_op(total))


def test_a_layer_of_the_user_is_the_same_as_the_built_in_one():
    results = []
    for make in (layers.fc, my_fc):
        main, startup = fluid.Program(), fluid.Program()
        startup.random_seed = 3
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            x, z = fluid.data("x", [None, 4]), fluid.data("z", [None, 2])
            out = make([x, z], 3, act="relu", bias_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(0.5)), name="layer")
            loss = layers.mean(out)
            fluid.optimizer.SGD(0.1).minimize(loss)
            exe = fluid.Executor()
            exe.run(startup)
            feed = {"x": np.arange(8, dtype="float32").reshape(2, 4), "z": np.ones([2, 2], "float32")}
            results.append([exe.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(3)])
            assert sorted(p.name for p in main.all_parameters()) == ["layer.b_0", "layer.w_0", "layer.w_1"]
            assert out.shape == (-1, 3) or list(out.shape) == [-1, 3]
    assert results[0] == results[1]


def test_names_and_kinds_of_what_a_helper_makes():
    helper = LayerHelper("mine", act="nonsense")
    assert helper.name == "mine_0" and helper.layer_type == "mine"
    assert helper.create_variable_for_type_inference("float32").name == "mine_0.tmp_0"
    counter = helper.create_global_variable(persistable=True, dtype="int64", shape=[1], name="counter")
    helper.set_variable_initializer(counter, fluid.initializer.Constant(7))
    assert helper.create_or_get_global_variable("counter") [1] is False
    found, new = helper.create_or_get_global_variable("other", dtype="float32", shape=[2])
    assert new and found.name == "other"
    table = helper.create_parameter(fluid.ParamAttr("table"), [3, 2], "int32", default_initializer=fluid.initializer.Constant(4))
    assert helper.get_parameter("table") is table
    assert helper.create_parameter(False, [1], "float32") is None
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = [np.array(fluid.global_scope().find_var(name).get_tensor()) for name in ("counter", "table")]
    assert seen[0].tolist() == [7] and seen[1].dtype == np.int32 and (seen[1] == 4).all()
    with pytest.raises(TypeError, match="a parameter of int64 needs an initializer"):
        helper.create_parameter(None, [1], "int64")
    with pytest.raises(TypeError, match="the input of mine must be a Variable"):
        LayerHelper("mine", input=3).input()
    with pytest.raises(ValueError, match="mine takes one input, not 2"):
        x = fluid.data("x", [1])
        LayerHelper("mine", input=[x, x]).input()


def test_weight_normalisation_of_a_users_layer():
    x = fluid.data("x", [None, 4])
    out = my_fc(x, 3, param_attr=fluid.WeightNormParamAttr(dim=1, name="wn"), bias_attr=False)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    v, g = (np.array(fluid.global_scope().find_var("wn_" + part).get_tensor()) for part in "vg")
    got = exe.run(feed={"x": np.eye(4, dtype="float32")}, fetch_list=[out])[0]
    np.testing.assert_allclose(got, v * (g.ravel() / np.linalg.norm(v, axis=0)), rtol=1e-5)


def test_a_variable_is_true_as_in_fluid():
    x = fluid.data("x", [None, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x and bool(x)
        assert (x if x else None) is x
    with pytest.warns(UserWarning, match="take a Variable as true"):
        assert bool(x == x)


def test_slices_by_variables():
    x = fluid.data("x", [-1, -1, 3])
    size = layers.shape(x)
    one = layers.fill_constant([1], "int32", 1)
    parts = [x[:, one:size[1] - 1, :], x[:, one:], x[:, :size[1] - 1], x[:, one + 1:3, 1:2]]
    array = np.arange(2 * 5 * 3, dtype="float32").reshape(2, 5, 3)
    got = fluid.Executor().run(feed={"x": array}, fetch_list=parts)
    for have, want in zip(got, [array[:, 1:4, :], array[:, 1:], array[:, :4], array[:, 2:3, 1:2]]):
        np.testing.assert_array_equal(have, want)
    with pytest.raises(TypeError, match="the step of a slice of x must be a number"):
        x[:, ::one]


def test_names_that_scripts_import_from_modules_of_layers():
    from oarlock.fluid.data_feeder import check_dtype, check_type, check_variable_and_dtype, convert_dtype
    from oarlock.fluid.layers.nn import LayerHelper as same
    from oarlock.fluid.layers.tensor import Variable, convert_np_dtype_to_dtype_

    assert same is LayerHelper and Variable is fluid.Variable
    assert convert_np_dtype_to_dtype_("float32") == fluid.core.VarDesc.VarType.FP32
    with pytest.raises(ImportError):
        from oarlock.fluid.layers.tensor import nothing_of_this_name  # noqa: F401
    x = fluid.data("x", [1], "int32")
    assert convert_dtype(x.dtype) == convert_dtype("int32") == convert_dtype(np.int32) == "int32"
    check_variable_and_dtype(x, "x", ["int32", "int64"], "mine")
    with pytest.raises(TypeError, match="The data type of 'x' in mine must be"):
        check_dtype(x.dtype, "x", ["float32"], "mine")
    with pytest.raises(TypeError, match="The type of 'k' in mine must be"):
        check_type("1", "k", int, "mine")


def test_counts_of_accuracy_go_into_variables_of_the_user():
    x, label = fluid.data("x", [None, 3]), fluid.data("label", [None, 1], "int64")
    total, correct = layers.create_tensor("int64"), layers.create_tensor("int64")
    found = layers.accuracy(x, label, total=total, correct=correct)
    scores = np.eye(3, dtype="float32")[[0, 1, 2, 0]]
    got = fluid.Executor().run(feed={"x": scores, "label": np.array([[0], [1], [0], [0]])}, fetch_list=[found, total, correct])
    assert [v.item() for v in got] == [0.75, 4, 3]


def test_older_names_of_a_tensors_methods():
    tensor = fluid.LoDTensor()
    assert not tensor._is_initialized()
    tensor.set(np.ones([2, 3], "float32"), fluid.CPUPlace())
    assert tensor._is_initialized() and tensor._get_dims() == [2, 3]
    tensor._set_dims([4])
    assert tensor.shape() == [4]
    tensor._clear()
    assert not tensor._is_initialized()


def test_descriptions_of_variables_and_operators():
    x = fluid.data("x", [None, 4])
    out = layers.relu(x)
    kinds = fluid.core.VarDesc.VarType
    assert (x.desc.name(), x.desc.type(), x.desc.dtype(), x.desc.shape()) == ("x", kinds.LOD_TENSOR, kinds.FP32, [-1, 4])
    assert not x.desc.persistable()
    x.desc.set_persistable(True)
    assert x.persistable
    op = fluid.default_main_program().global_block().ops[-1]
    assert op.desc.type() == "relu" and op.desc.input_arg_names() == ["x"] and op.desc.output("Out") == [out.name]
