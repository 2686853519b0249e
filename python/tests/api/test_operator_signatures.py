"""Signatures of operators from Python, and operators outside of programs."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import core, layers
from oarlock.fluid.framework import OpProtoHolder
from oarlock.fluid.layers.layer_function_generator import (
    autodoc, deprecated, generate_activation_fn, generate_layer_fn, templatedoc,
)
from oarlock.fluid.op import DynamicRecurrentOp, OpDescCreationMethod, Operator
from oarlock.fluid.proto import framework_pb2


def test_signatures_have_slots_and_attributes():
    holder = OpProtoHolder.instance()
    proto = holder.get_op_proto("sum")
    assert [(slot.name, slot.duplicable) for slot in proto.inputs] == [("X", True)] and [slot.name for slot in proto.outputs] == ["Out"]
    kinds = {attr.name: attr.type for attr in holder.get_op_proto("scale").attrs}
    assert kinds["scale"] == framework_pb2.FLOAT and kinds["bias_after_scale"] == framework_pb2.BOOLEAN
    assert holder.has_op_proto("relu") and not holder.has_op_proto("no_such_op") and "op_role" in holder.generated_op_attr_names()
    with pytest.raises(ValueError, match='Operator "no_such_op" has not been registered.'):
        holder.get_op_proto("no_such_op")
    assert framework_pb2.OpProto.FromString(proto.SerializeToString()) == proto


def test_all_signatures_can_be_read_as_bytes():
    types = [framework_pb2.OpProto.FromString(data).type for data in core.get_all_op_protos()]
    assert types == Operator.types() and "mul" in types


def test_operators_run_on_the_variables_of_a_scope():
    scope, place = core.Scope(), core.CPUPlace()
    scope.var("x").get_tensor().set(np.array([1.0, -2.0], "float32"), place)
    op = Operator("relu", X="x", Out="y")
    op.run(scope, place)
    assert np.array(scope.find_var("y").get_tensor()).tolist() == [1.0, 0.0]
    scope.find_var("x").get_tensor().set(np.array([[3.0], [-4.0]], "float64"), place)
    op.run(scope, place)
    assert np.array(scope.find_var("y").get_tensor()).tolist() == [[3.0], [0.0]]
    assert (op.type(), op.inputs(), op.output_vars(), str(op)) == ("relu", {"X": ["x"]}, ["y"], "Op(relu), inputs:{X[x]}, outputs:{Out[y]}.")


def test_operators_update_rows_of_a_scope():
    scope, place = core.Scope(), core.CPUPlace()
    scope.var("param").get_tensor().set(np.ones((4, 2), "float32"), place)
    scope.var("rate").get_tensor().set(np.array([0.5], "float32"), place)
    grad = scope.var("grad").get_selected_rows()
    grad.set_height(4)
    grad.set_rows([1, 3])
    grad.get_tensor().set(np.ones((2, 2), "float32"), place)
    Operator("sgd", Param="param", Grad="grad", LearningRate="rate", ParamOut="param").run(scope, place)
    assert np.array(scope.find_var("param").get_tensor())[:, 0].tolist() == [1.0, 0.5, 1.0, 0.5]


def test_operators_are_described_by_keyword_arguments():
    made = OpDescCreationMethod(OpProtoHolder.instance().get_op_proto("scale"))(X="x", Out="y", scale=2.0)
    assert (made.type, made.inputs[0].arguments, made.attrs[0].name, made.attrs[0].f) == ("scale", ["x"], "scale", 2.0)
    with pytest.raises(ValueError, match="is not registered"):
        Operator("no_such_op", X="x")
    with pytest.raises(NotImplementedError, match="DynamicRNN"):
        DynamicRecurrentOp("rnn")


def test_gradients_of_an_operator_are_described():
    y = layers.scale(fluid.data("x", [2]), scale=3.0)
    found, names = core.get_grad_op_desc(y.op.desc, set(), [])
    assert [op.type() for op in found] == ["scale"] and found[0].output_arg_names() == ["x@GRAD"]
    assert names == {"x@GRAD": "x", y.name + "@GRAD": y.name} and found[0].attr("scale") == 3.0
    assert core.has_grad_op_maker("relu") and not core.has_grad_op_maker("shape") and core.has_infer_inplace("relu")
    assert core.get_op_attrs_default_value(b"scale")["bias_after_scale"] is True


def test_what_an_operator_does_not_have_is_left_out(caplog):
    block = fluid.default_main_program().global_block()
    x, y = fluid.data("x", [2]), block.create_var(name="y", dtype="float32")
    op = block.append_op(type="relu", inputs={"X": [x], "Nothing": [x]}, outputs={"Out": [y]}, attrs={"slope": 2.0})
    assert op.input_names == ["X"] and not op.has_attr("slope")
    assert "operator relu has no attribute slope" in caplog.text and "operator relu has no input Nothing" in caplog.text
    with pytest.raises(ValueError, match="can not be None"):
        block.append_op()


def test_layers_are_generated_from_signatures():
    x = layers.fill_constant([2], "float32", -2.0)
    doubled, positive = generate_layer_fn("scale")(x=x, scale=2.0), generate_activation_fn("abs")(x)
    assert [v.tolist() for v in fluid.Executor().run(fetch_list=[doubled, positive])] == [[-4.0, -4.0], [2.0, 2.0]]
    with pytest.raises(ValueError, match="one output"):
        generate_layer_fn("accuracy")
    with pytest.raises(TypeError, match="must be a Variable"):
        generate_activation_fn("abs")(3)


def test_documentation_is_filled_from_signatures():
    @templatedoc("relu")
    def layer(x):
        """${comment} of ${x_comment}"""

    assert "${" not in layer.__doc__ and "max" in layer.__doc__.lower()
    assert autodoc("first")(lambda: None).__doc__.startswith("first")
    with pytest.warns(DeprecationWarning):
        assert deprecated(lambda: 3)() == 3
