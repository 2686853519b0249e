"""Training with the errors of integer inference: programs and results of Fluid 1.8.5."""

import numpy as np
import oarlock.fluid as fluid
import pytest
from oarlock.fluid.contrib.quantize import QuantizeTranspiler

# Losses of five steps, factors of the frozen program, and its first prediction.
RESULTS = {
    "abs_max": ([1.292144, 3.777894, 4.358176, 1.170854, 1.430388], [12963.089, 12260.797], [0.24835, 0.44941, 0.30224]),
    "range_abs_max": ([1.292144, 3.811037, 4.376389, 1.180516, 1.416723], [12834.574, 12220.438], [0.24749, 0.44890, 0.30360]),
    "moving_average_abs_max": (
        [1.227159, 3.878017, 4.220366, 1.565524, 1.080220], [14589.135, 11229.442], [0.25999, 0.44395, 0.29606],
    ),
}

WEIGHT = ["fake_quantize_abs_max", "fake_dequantize_max_abs"]
BACKWARD = [
    "fill_constant", "mean_grad", "cross_entropy_grad2", "softmax_grad", "elementwise_add_grad", "mul_grad", "relu_grad",
    "elementwise_add_grad", "conv2d_grad", "sgd", "sgd", "sgd", "sgd",
]


def build():
    random = np.random.RandomState(3)

    def first(*shape):
        values = np.round(random.uniform(-1, 1, shape), 3).astype("float32")
        return fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(values))

    image, label = fluid.data("img", [None, 1, 4, 4]), fluid.data("label", [None, 1], "int64")
    hidden = fluid.layers.conv2d(image, 2, 3, act="relu", param_attr=first(2, 1, 3, 3), bias_attr=first(2))
    out = fluid.layers.fc(hidden, 3, act="softmax", param_attr=first(8, 3), bias_attr=first(3))
    return out, fluid.layers.mean(fluid.layers.cross_entropy(out, label))


def batches():
    random = np.random.RandomState(5)
    for step in range(5):
        yield {
            "img": (random.uniform(-1, 1, [4, 1, 4, 4]) * (5 - step)).astype("float32"),
            "label": random.randint(0, 3, [4, 1]).astype("int64"),
        }


def types(program):
    return [op.type for op in program.global_block().ops]


@pytest.mark.parametrize("kind", RESULTS)
def test_quantized_training_and_inference_equal_fluid(kind):
    losses, factors, prediction = RESULTS[kind]
    main, startup = fluid.Program(), fluid.Program()
    counter = ["increment"] if kind == "range_abs_max" else []
    activation = ["fake_quantize_" + kind, "fake_dequantize_max_abs"]
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        out, loss = build()
        test = main.clone(for_test=True)
        fluid.optimizer.SGD(0.5).minimize(loss)
        options = {"activation_quantize_type": kind, "window_size": 2, "moving_rate": 0.8}
        QuantizeTranspiler(**options).training_transpile(main, startup)
        forward = activation + WEIGHT + ["conv2d", "elementwise_add", "relu"] + WEIGHT + activation + ["mul"]
        assert types(main) == counter + forward + ["elementwise_add", "softmax", "cross_entropy2", "mean"] + BACKWARD
        ops = {op.type: op for op in main.global_block().ops}
        assert sorted(ops["mul_grad"].input_arg_names) == [
            "conv2d_0.tmp_2.quantized.dequantized", "fc_0.tmp_0@GRAD", "fc_0.w_0.quantized.dequantized",
        ]
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        got = [float(exe.run(main, feed=feed, fetch_list=[loss])[0][0]) for feed in batches()]
        np.testing.assert_allclose(got, losses, rtol=1e-5)

        frozen = QuantizeTranspiler(**options)
        frozen.training_transpile(test, fluid.Program())
        test = test.clone(for_test=True)
        feed = list(batches())[-1]
        np.testing.assert_allclose(exe.run(test, feed=feed, fetch_list=[out.name])[0][0], prediction, atol=1e-5)
        frozen.freeze_program(test, fluid.CPUPlace())
        assert types(test) == counter + [
            activation[0], "conv2d", "fake_dequantize_max_abs", "elementwise_add", "relu", activation[0], "mul",
            "fake_dequantize_max_abs", "elementwise_add", "softmax", "cross_entropy2", "mean",
        ]
        scaled = [op.attr("max_range") for op in test.global_block().ops if op.type == "fake_dequantize_max_abs"]
        np.testing.assert_allclose(scaled, factors, rtol=1e-5)
        np.testing.assert_allclose(exe.run(test, feed=feed, fetch_list=[out.name])[0][0], prediction, atol=1e-5)
        weight = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
        assert np.array_equal(weight, np.round(weight)) and np.abs(weight).max() == 127

        frozen.convert_to_int8(test, fluid.CPUPlace())
        stored = {var.name for var in test.list_vars() if var.persistable}
        assert {"conv2d_0.w_0.int8", "fc_0.w_0.int8"} <= stored and not {"conv2d_0.w_0", "fc_0.w_0"} & stored
        integers = np.array(fluid.global_scope().find_var("fc_0.w_0.int8").get_tensor())
        assert integers.dtype == np.int8 and np.array_equal(integers, weight)


def test_unknown_type_is_an_error():
    with pytest.raises(ValueError, match="activation_quantize_type must be one of abs_max, range_abs_max"):
        QuantizeTranspiler(activation_quantize_type="min")
