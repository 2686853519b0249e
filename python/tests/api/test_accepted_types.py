"""Layers refuse, when they are called, the Python types and element types that Fluid refuses."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers


def var(dtype, shape=(4, 6)):
    return fluid.data("%s_%d" % (dtype, len(shape)), list(shape), dtype)


@pytest.mark.parametrize("call", [
    lambda: layers.relu(np.zeros(3)), lambda: layers.relu(var("int32")), lambda: layers.cast(var("int32"), "int16"),
    lambda: layers.concat([var("uint8")]), lambda: layers.reduce_sum(var("bool")), lambda: layers.sums(3),
    lambda: layers.logical_not(var("float32")), lambda: layers.less_than(var("int64"), var("int64"), cond=1),
    lambda: layers.pow(var("float32"), factor=var("int32")), lambda: layers.assign([1.0]), lambda: layers.fc(np.zeros((2, 2)), 1),
    lambda: layers.squeeze(var("float32"), axes=1), lambda: layers.fill_constant([1], "uint8", 1), lambda: layers.eye(-1),
    lambda: layers.crop_tensor(var("float32"), shape=3), lambda: layers.pool2d(var("float32", (1, 1, 2, 2)), 2, use_cudnn=[0]),
])
def test_other_types_raise_type_error(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("call", [
    lambda: layers.conv2d_transpose(var("float32", (1, 3, 5, 5)), 6, filter_size=3, data_format="NCDHW"),
    lambda: layers.maxout(var("float32", (2, 4, 6, 6)), groups=2, axis=2), lambda: layers.crop_tensor(var("float32"), shape=[2, -2]),
    lambda: layers.fill_constant([1], "uint4", 1), lambda: layers.prelu(var("float32"), mode="any"),
])
def test_other_values_raise_value_error(call):
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize("shape", [[-1, -1], [-2, 12], [4, 6, 0]])
def test_impossible_shapes_of_reshape_raise_assertion_error(shape):
    with pytest.raises(AssertionError):
        layers.reshape(var("float32"), shape)


def test_programs_for_half_precision_can_be_built():
    half = var("float16")
    assert layers.fc(half, 2).dtype == half.dtype and layers.softmax(layers.relu(half)).shape == (4, 6)
    with fluid.program_guard(fluid.Program()):
        out = layers.relu(var("float16"))
        with pytest.raises(TypeError, match="f32 or f64"):
            fluid.Executor().run(feed={"float16_2": np.zeros((4, 6), "float16")}, fetch_list=[out])


def test_negative_dimensions_of_fc_count_from_the_end():
    x = var("float32", (2, 3, 5))
    assert layers.fc(x, 7, num_flatten_dims=-1).shape == (2, 3, 7)


def test_sizes_of_fill_constant_may_be_fed():
    sizes = fluid.data("sizes", [2], "int64")
    out = layers.fill_constant(sizes, "float32", 1.5)
    assert fluid.Executor().run(feed={"sizes": np.array([1, 2])}, fetch_list=[out])[0].tolist() == [[1.5, 1.5]]


def test_lists_of_variables_are_checked_by_append_backward():
    loss = layers.mean(layers.fc(var("float32"), 1))
    for given in ({"parameter_list": "w"}, {"no_grad_set": [3]}, {"callbacks": print}):
        with pytest.raises(TypeError):
            fluid.backward.append_backward(loss, **given)
    with pytest.raises(TypeError):
        fluid.gradients(loss, var("float32"), no_grad_set=loss)
