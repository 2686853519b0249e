"""Names of parameters, and variables that are declared twice, as in Fluid 1.8.5."""

import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers

W = fluid.ParamAttr(name="pw")


def x():
    return fluid.data("x", [None, 8])


def ids():
    return fluid.data("i", [None, 1], "int64")


def image():
    return fluid.data("img", [None, 3, 8, 8])


def words():
    return layers.data("words", [8], lod_level=1)


# By call: the persistable variables that Fluid 1.8.5 makes.
MADE = {
    "plain parameter": (lambda: layers.create_parameter([2], "float32"), ["create_parameter_0.w_0"]),
    "named parameter": (lambda: layers.create_parameter([2], "float32", name="w"), ["w"]),
    "parameter named by its attribute": (lambda: layers.create_parameter([2], "float32", name="w", attr=W), ["pw"]),
    "attribute without a name": (lambda: layers.create_parameter([2], "float32", "w", fluid.ParamAttr(learning_rate=2.0)), ["w"]),
    "named bias": (lambda: layers.create_parameter([2], "float32", name="w", is_bias=True), ["w"]),
    "named global variable": (lambda: layers.create_global_var([1], 0.0, "float32", True, name="g"), ["g"]),
    "fc": (lambda: layers.fc(x(), 4), ["fc_0.b_0", "fc_0.w_0"]),
    "named fc": (lambda: layers.fc(x(), 4, name="nm"), ["nm.b_0", "nm.w_0"]),
    "named fc twice": (lambda: [layers.fc(x(), 4, name="nm") for _ in range(2)], ["nm.b_0", "nm.b_1", "nm.w_0", "nm.w_1"]),
    "named fc with an attribute": (lambda: layers.fc(x(), 4, name="nm", param_attr=W), ["nm.b_0", "pw"]),
    "fc with a string": (lambda: layers.fc(x(), 4, param_attr="pw", bias_attr="pb"), ["pb", "pw"]),
    "embedding": (lambda: layers.embedding(ids(), [10, 4]), ["embedding_0.w_0"]),
    "embedding with an attribute": (lambda: fluid.embedding(ids(), [10, 4], param_attr=W), ["pw"]),
    "named conv2d": (lambda: layers.conv2d(image(), 4, 3, name="nm"), ["nm.b_0", "nm.w_0"]),
    "batch_norm": (lambda: layers.batch_norm(image()), ["batch_norm_0.%s" % end for end in ("b_0", "w_0", "w_1", "w_2")]),
    "named batch_norm": (lambda: layers.batch_norm(image(), name="nm"), ["nm.b_0", "nm.w_0", "nm.w_1", "nm.w_2"]),
    "batch_norm with names of its own": (
        lambda: layers.batch_norm(image(), moving_mean_name="mm", moving_variance_name="mv"),
        ["batch_norm_0.b_0", "batch_norm_0.w_0", "mm", "mv"]),
    "named layer_norm": (lambda: layers.layer_norm(x(), name="nm"), ["nm.b_0", "nm.w_0"]),
    "named sequence_conv": (lambda: layers.sequence_conv(words(), 4, name="nm"), ["nm.b_0", "nm.w_0"]),
    "named nce": (lambda: layers.nce(x(), ids(), 10, name="nm"), ["nm.b_0", "nm.w_0"]),
}


@pytest.mark.parametrize("case", MADE)
def test_parameters_are_called_as_in_fluid(case):
    build, expected = MADE[case]
    main = fluid.Program()
    with fluid.unique_name.guard(), fluid.program_guard(main, fluid.Program()):
        build()
    assert sorted(v.name for v in main.list_vars() if v.persistable) == expected


AGAIN = {
    "fluid.data": lambda shape, **rest: fluid.data("x", shape, **rest),
    "layers.data": lambda shape, **rest: layers.data("x", shape, append_batch_size=False, **rest),
    "create_var": lambda shape, dtype="float32", lod_level=0: fluid.default_main_program().global_block().create_var(
        name="x", shape=shape, dtype=dtype, lod_level=lod_level),
}


@pytest.mark.parametrize("how", AGAIN)
def test_a_variable_that_is_declared_again_keeps_its_type(how):
    declare = AGAIN[how]
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        first = declare([-1, 4])
        assert declare([-1, 4]).name == "x"
        others = [dict(shape=[-1, 5]), dict(shape=[-1, 4, 1]), dict(shape=[3, 4]), dict(shape=[-1, 4], dtype="int64"),
                  dict(shape=[-1, 4], lod_level=1)]
        for other in others:
            with pytest.raises(ValueError, match="variable .?x.? has been created before"):
                declare(**other)
        assert tuple(first.shape) == (-1, 4) and first.lod_level == 0


def test_a_parameter_that_is_declared_again_keeps_its_type():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        layers.create_parameter([2, 3], "float32", name="w")
        layers.create_parameter([2, 3], "float32", name="w")
        for shape, dtype in (([2, 4], "float32"), ([2, 3], "float64")):
            with pytest.raises(ValueError, match="parameter `w` is shared"):
                layers.create_parameter(shape, dtype, name="w")
        with pytest.raises(ValueError, match="persistable there and not persistable here"):
            fluid.data("w", [2, 3])
        with pytest.raises(ValueError, match="has been created before"):
            layers.create_global_var([1], 0.0, "float32", name="g")
            layers.create_global_var([2], 0.0, "float32", name="g")
