"""Forms of arguments that Fluid 1.8.5 takes or refuses: numbers of numpy, element types, Variables, paddings, nested structures, wrong types.
Results were seen in 1.8.5, unless a comment says that Oarlock takes more."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import core, layers

CPU = fluid.CPUPlace()
VarType = core.VarDesc.VarType


def x():
    return layers.assign(np.arange(8).reshape(2, 4).astype("float32"))


def image():
    return layers.assign(np.arange(32).reshape(1, 2, 4, 4).astype("float32"))


def i32(value):
    return layers.fill_constant([1], "int32", value)


def f32(value):
    return layers.fill_constant([1], "float32", value)


def ints(*values):
    return layers.assign(np.array(values, "int32"))


def run(made):
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe.run(fetch_list=made if isinstance(made, (list, tuple)) else [made])


def in_op(**attrs):
    """An operator appended with these attributes."""
    out = layers.create_tensor("float32")
    out.block.append_op(type="fill_constant", outputs={"Out": out}, attrs=dict(attrs, dtype=out.dtype))
    return out


X = np.arange(8).reshape(2, 4)
VALUES = {
    # Numbers and arrays of numpy.
    "scale": (lambda: layers.scale(x(), np.float32(2.0), np.float64(1.0)), X * 2 + 1),
    "fill value": (lambda: layers.fill_constant([2], "float32", np.float32(1.5)), [1.5, 1.5]),
    "fill sizes": (lambda: layers.fill_constant([np.int64(2), np.int32(1)], "int64", np.int64(7)), [[7], [7]]),
    "reshape": (lambda: layers.reshape(x(), [np.int64(4), np.int32(2)]), X.reshape(4, 2)),
    "transpose": (lambda: layers.transpose(x(), [np.int64(1), np.int64(0)]), X.T),
    "reduce": (lambda: layers.reduce_sum(x(), dim=np.int64(1)), X.sum(1)),
    "reduce list": (lambda: layers.reduce_sum(x(), dim=[np.int64(0)]), X.sum(0)),
    "slice": (lambda: layers.slice(x(), axes=[np.int64(1)], starts=[np.int64(1)], ends=[np.int64(3)]), X[:, 1:3]),
    "expand": (lambda: layers.expand(x(), [np.int64(2), np.int64(1)]), np.tile(X, [2, 1])),
    "unsqueeze": (lambda: layers.unsqueeze(x(), [np.int64(1)]), X[:, None]),
    "global variable": (lambda: layers.create_global_var([np.int64(2)], np.float32(1.5), "float32", persistable=True), [1.5, 1.5]),
    "global variable of an array's shape": (lambda: layers.create_global_var(np.array([2]), 1.5, "float32", persistable=True), [1.5, 1.5]),
    "pow": (lambda: layers.pow(x(), np.float32(2)), X ** 2),
    "clip": (lambda: layers.clip(x(), np.float32(1), np.float64(2)), X.clip(1, 2)),
    "x + number": (lambda: x() + np.float64(1), X + 1),
    "x * number": (lambda: x() * np.int64(3), X * 3),
    "number + x": (lambda: np.float32(1) + x(), 1 + X),
    "number - x": (lambda: np.float64(1) - x(), 1 - X),
    "index": (lambda: x()[np.int64(1)], X[1]),
    "range": (lambda: x()[:, np.int64(1):np.int64(3)], X[:, 1:3]),
    "attributes of an operator": (lambda: in_op(shape=[np.int64(2)], value=np.float32(3)), [3, 3]),
    "array as an attribute": (lambda: in_op(shape=np.array([2, 1]), value=3.0), [[3], [3]]),
    # Oarlock takes more: an array as a list.
    "reshape to an array": (lambda: layers.reshape(x(), np.array([4, 2])), X.reshape(4, 2)),
    # Element types.
    "cast to numpy's type": (lambda: layers.cast(x(), np.int32), X.astype("int32")),
    "cast to a number": (lambda: layers.cast(x(), VarType.INT32), X.astype("int32")),
    "zeros of numpy's type": (lambda: layers.zeros([1], np.int64), np.zeros(1, "int64")),
    "astype double": (lambda: x().astype("double"), X.astype("float64")),
    "astype numpy's type": (lambda: x().astype(np.float64), X.astype("float64")),
    "eye of numpy's type": (lambda: layers.eye(2, dtype=np.int32), np.eye(2, dtype="int32")),
    # Oarlock takes more: double everywhere.
    "fill double": (lambda: layers.fill_constant([1], "double", 1.5), np.array([1.5])),
    "cast to double": (lambda: layers.cast(x(), "double"), X.astype("float64")),
    # Variables.
    "concat axis": (lambda: layers.concat([x(), x()], axis=i32(1)), np.concatenate([X, X], 1)),
    "unsqueeze axis": (lambda: layers.unsqueeze(x(), i32(1)), X[:, None]),
    "unsqueeze axes": (lambda: layers.unsqueeze(x(), [i32(1), 0]), X[None, :, None]),
    "fill shape": (lambda: layers.fill_constant(ints(2, 1), "float32", 1.0), [[1], [1]]),
    "fill list of sizes": (lambda: layers.fill_constant([i32(2), 1], "float32", 1.0), [[1], [1]]),
    "fill value as a variable": (lambda: layers.fill_constant([2], "float32", f32(2.5)), [2.5, 2.5]),
    "fill value and shape": (lambda: layers.fill_constant(ints(2), "float32", f32(2.5)), [2.5, 2.5]),
    "fill value and sizes": (lambda: layers.fill_constant([i32(2), 1], "float32", f32(2.5)), [[2.5], [2.5]]),
    "reshape to a variable": (lambda: layers.reshape(x(), ints(4, 2)), X.reshape(4, 2)),
    "reshape to sizes": (lambda: layers.reshape(x(), [i32(4), -1]), X.reshape(4, 2)),
    "reshape to sizes, activated": (lambda: layers.reshape(x(), [i32(4), -1], act="relu"), X.reshape(4, 2)),
    "slice from a variable": (lambda: layers.slice(x(), axes=[1], starts=ints(1), ends=[3]), X[:, 1:3]),
    "slice between variables": (lambda: layers.slice(x(), axes=[1], starts=[i32(1)], ends=[i32(3)]), X[:, 1:3]),
    "strided slice": (lambda: layers.strided_slice(x(), axes=[1], starts=[i32(1)], ends=[4], strides=[i32(2)]), X[:, 1:4:2]),
    "expand by variables": (lambda: layers.expand(x(), [i32(2), 1]), np.tile(X, [2, 1])),
    "expand by a tensor": (lambda: layers.expand(x(), ints(2, 1)), np.tile(X, [2, 1])),
    "split along a variable": (lambda: layers.split(x(), 2, dim=i32(1))[1], X[:, 2:]),
    "split into variables": (lambda: layers.split(x(), [i32(1), 3], dim=1)[1], X[:, 1:]),
    "split by a list along a variable": (lambda: layers.split(x(), [1, 3], dim=i32(1))[0], X[:, :1]),
    "top k": (lambda: layers.topk(x(), i32(2))[0], [[3, 2], [7, 6]]),
    "one_hot": (lambda: fluid.one_hot(layers.assign(np.array([1, 2])), i32(4)), np.eye(4)[[1, 2]]),
    "one_hot of columns": (lambda: layers.one_hot(layers.assign(np.array([[1], [2]])), i32(4)), np.eye(4)[[1, 2]]),
    "power": (lambda: layers.pow(x(), f32(2.0)), X ** 2),
    "scale by a variable": (lambda: layers.scale(x(), f32(2.0)), X * 2),
    "range from a variable": (lambda: layers.range(layers.fill_constant([1], "int64", 0), 3, 1, "int64"), [0, 1, 2]),
    "linspace from a variable": (lambda: layers.linspace(f32(0), 1.0, 3, "float32"), [0, 0.5, 1]),
    "linspace of a variable's length": (lambda: layers.linspace(0, 1, i32(3), "float32"), [0, 0.5, 1]),
    "zeros of sizes": (lambda: layers.zeros([i32(2)], "float32"), [0, 0]),
    "index by a variable": (lambda: x()[i32(1)], X[1]),
    "range between variables": (lambda: x()[:, i32(1):i32(3)], X[:, 1:3]),
}


@pytest.mark.parametrize("case", VALUES)
def test_arguments_give_the_values_of_fluid(case):
    build, want = VALUES[case]
    got = run(build())[0].squeeze()
    np.testing.assert_allclose(got, np.squeeze(want))
    if "type" in case or "double" in case:
        assert got.dtype == want.dtype


TYPES = {"double": VarType.FP64, np.float64: VarType.FP64, np.dtype("int32"): VarType.INT32, VarType.INT64: VarType.INT64, "float32": VarType.FP32}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_data_is_declared_by_any_name_of_a_type(dtype):
    assert fluid.data("x", [1], dtype).dtype == TYPES[dtype] == layers.data("y", [1], dtype=dtype).dtype


def test_types_show_their_names():
    assert str(VarType.FP32) == repr(VarType.FP32) == "VarType.FP32" and int(VarType.FP32) == 5 and "%s" % x().dtype == "VarType.FP32"
    assert fluid.framework.convert_np_dtype_to_dtype_("double") == VarType.FP64
    assert fluid.framework.dtype_is_floating("float32") and not fluid.framework.dtype_is_floating(VarType.INT32)
    assert fluid.framework._dygraph_tracer() is None and fluid.framework._current_expected_place() is None


def test_sizes_of_layers_may_be_numpys():
    data = fluid.data("x", [None, np.int64(4)])
    assert data.shape == (-1, 4) and layers.fc(data, np.int64(3)).shape == (-1, 3)
    ids = fluid.data("i", [None, 1], "int64")
    assert fluid.embedding(ids, [np.int64(10), np.int32(3)]).shape == fluid.embedding(ids, np.array([10, 3])).shape == (-1, 1, 3)
    assert layers.create_parameter([np.int64(2), 3], "float32").shape == (2, 3)
    for rate in (np.float32(0.1), np.float64(0.1)):
        fluid.optimizer.Adam(rate, beta1=np.float64(0.9))


def image2():
    return fluid.data("image", [None, 2, 4, 4])


def last():
    return fluid.data("last", [None, 4, 4, 2])


PAIRS = [[0, 0], [0, 0], [1, 0], [1, 1]]
PADDINGS = {
    "a number": (1, (5, 5)), "two": ([1, 0], (5, 3)), "four": ([1, 0, 1, 1], (4, 5)), "pairs": (PAIRS, (4, 5)), "SAME": ("SAME", None),
    "VALID": ("valid", (3, 3)),
}


@pytest.mark.parametrize("form", PADDINGS)
def test_paddings_have_four_forms(form):
    padding, size = PADDINGS[form]
    assert layers.conv2d(image2(), 3, 2, padding=padding).shape[2:] == (size or (4, 4))
    assert layers.pool2d(image2(), 2, pool_padding=padding).shape[2:] == (size or (4, 4))
    # What a convolution pads, a transposed one cuts off.
    assert layers.conv2d_transpose(image2(), 3, filter_size=2, padding=padding).shape[2:] == (
        {"SAME": (4, 4)}.get(form) or tuple(8 - side for side in size))


def test_paddings_of_pairs_follow_the_layout():
    pairs = [[0, 0], [1, 0], [1, 1], [0, 0]]
    assert layers.conv2d(last(), 3, 2, padding=pairs, data_format="NHWC").shape == (-1, 4, 5, 3)
    assert layers.pool2d(last(), 2, pool_padding=pairs, data_format="NHWC").shape == (-1, 4, 5, 2)
    volume = fluid.data("volume", [None, 2, 4, 4, 4])
    assert layers.conv3d(volume, 3, 2, padding=[[0, 0]] + PAIRS).shape == layers.conv3d(volume, 3, 2, padding=[0, 0, 1, 0, 1, 1]).shape
    with pytest.raises(ValueError, match="batch or channel"):
        layers.conv2d(image2(), 3, 2, padding=[[1, 0], [0, 0], [1, 0], [1, 1]])


def true():
    return layers.less_than(layers.zeros([1], "float32"), layers.ones([1], "float32"))


def test_branches_and_loops_return_nested_structures():
    first, (second, rest) = layers.cond(
        true(), lambda: (f32(1), [f32(2), {"a": f32(3)}]), lambda: (f32(4), [f32(5), {"a": f32(6)}]))
    assert [v.item() for v in run([first, second, rest["a"]])] == [1.0, 2.0, 3.0]
    one, (two,) = layers.case([(true(), lambda: (f32(1), [f32(2)]))], default=lambda: (f32(3), [f32(4)]))
    assert [v.item() for v in run([one, two])] == [1.0, 2.0]
    one, two = layers.switch_case(i32(2), {1: lambda: (f32(1), f32(2)), 2: lambda: (f32(3), f32(4))})
    assert [v.item() for v in run([one, two])] == [3.0, 4.0]
    count, state = layers.while_loop(
        lambda i, s: layers.less_than(i, f32(3)), lambda i, s: [i + 1, {"a": s["a"] + i, "b": [s["b"][0]]}],
        [f32(0), {"a": f32(0), "b": [f32(1)]}])
    assert [v.item() for v in run([count, state["a"], state["b"][0]])] == [3.0, 3.0, 1.0]
    assert layers.cond(true(), lambda: None, lambda: None) is None and layers.cond(true(), lambda: None) is None


LISTS = {
    "whole numbers": ([[1, 2], [3]], [[2, 1]], [[1], [2], [3]], "int64"), "numbers": ([[1.5, 2], [3]], [[2, 1]], [[1.5], [2], [3]], "float64"),
    "rows": ([[[1, 2], [3, 4]], [[5, 6]]], [[2, 1]], [[[1], [2]], [[3], [4]], [[5], [6]]], "int64"),
}


@pytest.mark.parametrize("case", LISTS)
def test_tensors_are_made_of_lists(case):
    data, lengths, want, dtype = LISTS[case]
    made = fluid.create_lod_tensor(data, lengths, CPU)
    assert made.recursive_sequence_lengths() == lengths and np.array(made).tolist() == want and np.array(made).dtype == dtype


WRONG = {
    "clone of a number": (lambda: fluid.CompiledProgram(1), TypeError), "program to_string": (
        lambda: fluid.Program().to_string(1), AssertionError),
    "program to_string details": (lambda: fluid.Program().to_string(True, 1), AssertionError), "variable to_string": (
        lambda: x().to_string(1), AssertionError),
    "variable to_string details": (lambda: x().to_string(True, 1), AssertionError), "block to_string": (
        lambda: fluid.Program().global_block().to_string(1), AssertionError),
    "append_backward": (lambda: fluid.backward.append_backward(1), TypeError), "gradients": (lambda: fluid.gradients(1, 1), TypeError),
    "gradients of numbers": (lambda: fluid.gradients(x(), 1), TypeError), "minimize": (
        lambda: fluid.optimizer.SGD(0.1).minimize(1), AssertionError),
    "parameter_list": (lambda: fluid.optimizer.SGD(0.1).minimize(layers.mean(layers.fc(x(), 1)), parameter_list="a"), TypeError),
    "no rate": (lambda: fluid.optimizer.Adam(None), AssertionError), "While": (lambda: layers.While(f32(0)), TypeError),
    "while_loop": (lambda: layers.while_loop(lambda i: i, lambda i: [i], [f32(0)]), TypeError), "empty loop": (
        lambda: layers.while_loop(lambda i: true(), lambda i: [i], []), ValueError),
    "loop over a variable": (lambda: layers.while_loop(lambda i: true(), lambda i: [i], f32(0)), TypeError),
    "branch of a number": (lambda: layers.switch_case(1.0, [(1, lambda: f32(1))]), TypeError), "branch of a float": (
        lambda: layers.switch_case(f32(1), [(1, lambda: f32(1)), (2, lambda: f32(2))]), TypeError),
    "branch with a name": (lambda: layers.switch_case(i32(1), [("a", lambda: f32(1)), (2, lambda: f32(2))]), TypeError),
    "branches of a number": (lambda: layers.switch_case(i32(1), 3), TypeError), "case of a number": (lambda: layers.case(1), TypeError),
    "transpose": (lambda: layers.transpose(x(), 1), TypeError), "parameter": (lambda: layers.create_parameter(1, "float32"), TypeError),
    "global variable": (lambda: layers.create_global_var(1, 1.0, "float32"), TypeError), "use_cudnn": (
        lambda: layers.conv2d(image2(), 3, 2, use_cudnn=1), ValueError),
    "dropout": (lambda: layers.dropout(x(), 2.0), core.EnforceNotMet), "dropout_implementation": (
        lambda: layers.dropout(x(), 0.5, dropout_implementation="x"), core.EnforceNotMet),
    "dtype of fill_constant": (lambda: layers.fill_constant([1], "abc", 1), ValueError), "dtype of cast": (
        lambda: layers.cast(x(), "abc"), ValueError),
    "dtype of data": (lambda: fluid.data("x", [1], "abc"), TypeError), "dtype of a parameter": (
        lambda: layers.create_parameter([1], "abc"), ValueError),
    "Constant": (lambda: fluid.initializer.Constant(None), AssertionError), "Xavier": (lambda: fluid.initializer.Xavier(None), AssertionError),
    "MSRA": (lambda: fluid.initializer.MSRA(None), AssertionError), "Uniform": (lambda: fluid.initializer.Uniform(None), AssertionError),
    "Normal": (lambda: fluid.initializer.Normal(None), AssertionError), "version of a number": (lambda: fluid.require_version(1), TypeError),
    "version of letters": (lambda: fluid.require_version("a.b"), ValueError), "a later version": (
        lambda: fluid.require_version("2.0.0"), Exception),
    "an earlier version": (lambda: fluid.require_version("1.0.0", "1.2.0"), Exception), "set a private flag": (
        lambda: fluid.set_flags({"FLAGS_free_idle_chunk": True}), ValueError),
    "get a private flag": (lambda: fluid.get_flags(["FLAGS_use_mkldnn"]), ValueError), "flags of a number": (lambda: fluid.get_flags(1), TypeError),
    "list of lengths": (lambda: fluid.create_lod_tensor([[1, 2], [3]], [[1, 2]], CPU), AssertionError),
    "value of a variable": (lambda: x().numpy(), AssertionError), "set_value": (lambda: x().set_value(1), AssertionError),
    "detach": (lambda: x().detach(), AssertionError), "gradient": (lambda: x().gradient(), AssertionError),
    "clear_gradient": (lambda: x().clear_gradient(), AssertionError), "clear_gradients": (
        lambda: fluid.optimizer.SGD(0.1).clear_gradients(), AssertionError),
    "average that trains": (lambda: average().apply_gradients([]), NotImplementedError), "load of recomputation": (
        lambda: fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1)).load({}), NotImplementedError),
}


def average():
    fluid.optimizer.SGD(0.1).minimize(layers.mean(layers.fc(fluid.data("z", [None, 4]), 1)))
    return fluid.optimizer.ModelAverage(0.15, 1, 10)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_raise_the_errors_of_fluid(case):
    call, error = WRONG[case]
    with pytest.raises(error):
        call()


def test_versions_in_range_are_accepted():
    fluid.require_version("1.6.0")
    fluid.require_version("1.8", "1.8.5")
    fluid.require_version("1.0.0", "3.0.0.0")


def test_a_global_seed_holds_for_later_programs():
    program = fluid.Program()
    try:
        program.global_seed(7)
        assert (program.random_seed, fluid.Program().random_seed) == (7, 7)
    finally:
        program.global_seed(0)
    assert fluid.Program().random_seed == 0


def test_an_average_is_an_optimizer_and_appends_gradients():
    made = average()
    assert isinstance(made, fluid.optimizer.Optimizer) and made.current_step_lr() == 0.0
    loss = layers.mean(layers.fc(fluid.data("x", [None, 2]), 1, name="other"))
    assert sorted(p.name for p, _ in made.backward(loss)) == ["other.b_0", "other.w_0"]


def test_flags_of_the_environment_are_not_public():
    assert not core.globals().is_public("FLAGS_use_mkldnn") and core.globals().is_public("FLAGS_check_nan_inf")


def test_a_list_that_contains_itself_is_an_error():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="lists more than 32 deep"):
        fluid.layers.fill_constant(endless, "float32", 0.0)
