"""Every layer, called as Fluid's documentation calls it, builds the operators and names that Fluid 1.8 built."""

import ast
import os
import re

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock import _core
from oarlock.fluid import layers

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "..", "..", "..", "crates", "oarlock", "tests", "layers", "fluid.txt")


def batch(shape, dtype="float32", lod_level=0):
    return dict(shape=shape, dtype=dtype, lod_level=lod_level)


def fixed(shape, dtype="float32"):
    return dict(shape=shape, dtype=dtype, append_batch_size=False)


INPUTS = {
    "x": batch([4], "float32", 0), "x1": batch([4], "float32", 0), "c": batch([4], "float32", 0), "x12": batch([12],
    "float32", 0), "t3": batch([3, 4], "float32", 0), "ids": batch([1], "int64", 1), "tag": batch([1], "int64", 1),
    "sids": batch([1], "int64", 1), "lab": batch([1], "int64", 0), "lab2": batch([1], "int64", 0), "len": batch([1],
    "int64", 0), "tag32": batch([1], "int32", 1), "img": batch([3, 8, 8], "float32", 0), "img2": batch([4, 8, 8],
    "float32", 0), "vol": batch([2, 4, 6, 6], "float32", 0), "seq": batch([4], "float32", 1), "seq1": batch([1],
    "float32", 1), "seq8": batch([8], "float32", 1), "seq12": batch([12], "float32", 1), "fx": fixed([2, 3],
    "float32"), "fx2": fixed([2, 3], "float32"), "sq2": fixed([2, 3], "float32"), "fi": fixed([2], "int64"), "sq":
    fixed([3, 3], "float32"), "s2": fixed([2, 3, 4], "float32"), "v3": fixed([3], "float32"), "y1": batch([1],
    "float32", 0), "i": batch([3], "int64", 0), "i2": batch([3], "int64", 0), "b": batch([3], "bool", 0), "b2":
    batch([3], "bool", 0), "one": fixed([1], "float32"), "prob": batch([2], "float32", 0), "z": batch([1, 4],
    "float32", 0), "s3": fixed([2, 4, 3], "float32"), "et": fixed([4, 3], "float32"), "gi": fixed([2, 1], "int64"),
    "mi": batch([1], "int32", 0), "dl": batch([3, 1], "int64", 0), "cv": batch([2], "float32", 0), "bi": batch([3],
    "int64", 2), "bs": batch([3], "float32", 2), "gt": fixed([3, 2, 2], "int64"), "gp": fixed([3, 2, 2], "int64"),
    "tags3": batch([3, 1], "int64", 0), "pt": batch([2], "int64", 0), "pc": batch([2], "int64", 0),
    "img83": batch([3, 8, 6]), "imgl": batch([8, 8, 3]), "n1": fixed([1], "int32"), "n2": fixed([2], "int32"),
    "n4": fixed([4], "int32"), "gr": batch([8, 8, 2]), "th": fixed([2, 2, 3]), "ts": fixed([4, 4, 2, 2]),
    "it": fixed([2], "int64"),
}

# Those of object detection, as tools/layer_programs.py declares them.
INPUTS.update({
    "map1": batch([8, 4, 4], "float32", 0), "map2": batch([8, 2, 2], "float32", 0), "map3": batch([8, 1, 1], "float32", 0),
    "pic": batch([3, 64, 64], "float32", 0), "boxes": batch([4], "float32", 1), "priors": batch([4], "float32", 0),
    "pvar": batch([4], "float32", 0), "codes": batch([20, 4], "float32", 0), "confs": batch([20, 3], "float32", 0),
    "info": batch([3], "float32", 0), "cls32": batch([1], "int32", 1), "crowd": batch([1], "int32", 1),
    "overlap": batch([20], "float32", 1), "matches": batch([20], "int32", 0), "negs": batch([1], "int32", 1),
    "rows3": batch([1, 4], "float32", 1), "allcodes": batch([8], "float32", 0), "scores2": batch([2], "float32", 0),
    "score3": batch([3, 20], "float32", 0), "score1": batch([1, 20], "float32", 0), "rpnscore": batch([3, 4, 4], "float32", 0),
    "rpnmove": batch([12, 4, 4], "float32", 0), "quads": batch([8], "float32", 1), "segms": batch([2], "float32", 3),
    "ymap": batch([21, 4, 4], "float32", 0), "ybox": batch([5, 4], "float32", 0), "ylabel": batch([5], "int32", 0),
    "yscore": batch([5], "float32", 0), "size2": batch([2], "int32", 0), "dloff": batch([18, 2, 2], "float32", 0),
    "dlmask": batch([9, 2, 2], "float32", 0), "moves": batch([2, 2, 2], "float32", 0), "logits": batch([20, 1], "float32", 0),
    "lab32": batch([1], "int32", 0), "fscore": batch([1], "float32", 1), "rpnanchor": fixed([4, 4, 3, 4], "float32"),
    "rpnvar": fixed([4, 4, 3, 4], "float32"), "fixed4": fixed([4], "float32"), "fgnum": fixed([1], "int32"),
})


def selected_rows():
    """A variable of selected rows."""
    return fluid.default_main_program().global_block().create_var(
        name="sr", dtype="float32", shape=[4, 2], persistable=True, type=fluid.core.VarDesc.VarType.SELECTED_ROWS
    )


def static_rnn_boot(s2):
    """A recurrent net whose memory starts with a value."""
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(s2)
        memory = rnn.memory(shape=[-1, 5], batch_ref=s2, init_value=0.5)
        hidden = layers.fc([word, memory], 5, act="tanh")
        rnn.update_memory(memory, hidden)
        rnn.step_output(hidden)
        rnn.step_output(word)
    return rnn()


def dynamic_rnn_memory(seq, x):
    """A recurrent net over sequences of different lengths."""
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(seq)
        fixed_part = rnn.static_input(x)
        memory = rnn.memory(shape=[3], value=0.5)
        hidden = layers.fc([word, fixed_part, memory], 3)
        rnn.update_memory(memory, hidden)
        rnn.output(hidden, word)
    return rnn()


def switch_in_loop(one):
    """A choice inside a loop."""
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    cond = layers.less_than(i, n)
    with layers.While(cond, is_test=True).block():
        last = layers.equal(i, n)
        with layers.Switch() as switch:
            with switch.case(last):
                layers.assign(layers.scale(one, 2.0), one)
            with switch.default():
                layers.assign(layers.scale(one, 3.0), one)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    return one


NETS = {"static_rnn_boot": static_rnn_boot, "dynamic_rnn_memory": dynamic_rnn_memory, "switch_in_loop": switch_in_loop}


def examples():
    """Example, names returned, operators of the main and the startup program."""
    with open(RECORDED) as f:
        parts = f.read().split("=== ")[1:]
    ops = lambda text: re.findall(r"^  (?!var )(?:.* = )?(\w+)\(", text, re.M)
    for part in parts:
        example, returns, programs = part.split("\n", 2)
        main, startup = programs.split("--- startup\n")
        yield example, returns.split()[1:], ops(main), ops(startup)


def flat(value):
    if value is None:
        return []
    if isinstance(value, fluid.Variable):
        return [value.name]
    return [name for item in value for name in flat(item)]


def types(program):
    return [op.type for block in program.blocks for op in block.ops]


@pytest.mark.parametrize("example,returns,main,startup", list(examples()), ids=lambda v: v if isinstance(v, str) else "")
def test_layer(example, returns, main, startup):
    nodes = list(ast.walk(ast.parse(example)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - {n.arg for n in nodes if isinstance(n, ast.arg)}
    unknown = set(main) - set(_core.Builder().op_types())
    if unknown:
        pytest.skip("operators that are not there: %s" % ", ".join(sorted(unknown)))
    scope = {name: getattr(layers, name) for name in layers.__all__}
    scope.update(fluid=fluid, np=np, layers=layers, **NETS)
    if "sr" in names:
        scope["sr"] = selected_rows()
    missing = names - set(scope) - set(INPUTS)
    for name in sorted(names & set(INPUTS), key=example.find):
        scope[name] = layers.data(name, **INPUTS[name])
    assert not missing, "no layer %s" % ", ".join(sorted(missing))
    value = eval(example, scope)
    assert flat(value) == returns
    assert types(fluid.default_main_program()) == main
    assert types(fluid.default_startup_program()) == startup


def test_detection_map():
    """Two batches, with the results of Fluid 1.8.5."""
    found = fluid.layers.data("found", [6], lod_level=1)
    label, sides = (fluid.layers.data(name, [n], lod_level=1) for name, n in (("label", 1), ("sides", 4)))
    metric = fluid.metrics.DetectionMAP(found, label, sides, class_num=5)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    first = (
        [[1, 0.9, 0.1, 0.1, 0.4, 0.4], [1, 0.8, 0.1, 0.1, 0.4, 0.45], [2, 0.7, 0.5, 0.5, 0.9, 0.9],
         [3, 0.6, 0.0, 0.0, 0.2, 0.2], [1, 0.95, 0.6, 0.6, 1.2, 0.9], [2, 0.3, 0.2, 0.2, 0.6, 0.6],
         [2, 0.4, 0.2, 0.2, 0.5, 0.5]], [[4, 3]],
        [[1, 0.1, 0.1, 0.4, 0.4], [2, 0.5, 0.5, 0.9, 0.8], [1, 0.6, 0.6, 0.95, 0.9], [2, 0.2, 0.2, 0.55, 0.55],
         [4, 0.1, 0.1, 0.2, 0.2]], [[2, 3]],
    )
    second = (
        [[2, 0.5, 0.5, 0.5, 0.9, 0.9], [1, 0.85, 0.0, 0.0, 0.1, 0.1]], [[1, 1]],
        [[2, 0.5, 0.5, 0.9, 0.9], [1, 0.3, 0.3, 0.6, 0.6]], [[1, 1]],
    )

    def run(detections, lengths, truth, true_lengths):
        truth = np.array(truth, dtype="float32")

        def lod(array, lengths):
            return fluid.create_lod_tensor(np.array(array, dtype="float32"), lengths, fluid.CPUPlace())

        feed = {
            "found": lod(detections, lengths),
            "label": lod(truth[:, :1], true_lengths),
            "sides": lod(truth[:, 1:], true_lengths),
        }
        return [float(value[0]) for value in exe.run(feed=feed, fetch_list=list(metric.get_map_var()))]

    np.testing.assert_allclose(run(*first), [0.6666667, 0.6666667], rtol=1e-6)
    np.testing.assert_allclose(run(*second), [0.5, 0.5555556], rtol=1e-6)
    metric.reset(exe)
    np.testing.assert_allclose(run(*second), [0.5, 0.5], rtol=1e-6)


def test_results_can_go_into_variables_that_are_there():
    x = fluid.data("x", [None, 2])
    out = fluid.default_main_program().global_block().create_var(name="mine", dtype="float32", shape=[-1, 2])
    assert layers.ones_like(x, out=out) is out
    filled = layers.full_like(x, 3.0, stop_gradient=False)
    assert not filled.stop_gradient and layers.full_like(x, 3.0).stop_gradient
    eyes = layers.eye(2, batch_shape=[3])
    feed = {"x": np.zeros([1, 2], "float32")}
    got = fluid.Executor().run(feed=feed, fetch_list=[out, filled, eyes])
    assert got[0].tolist() == [[1, 1]] and got[1].tolist() == [[3, 3]]
    np.testing.assert_array_equal(got[2], np.broadcast_to(np.eye(2), [3, 2, 2]))
    with pytest.raises(ValueError, match="is_custom"):
        layers.hsigmoid(x, layers.data("label", [1], dtype="int64"), 4, is_custom=True)
