"""Programs, variables, operators and runs, as users write them."""

import subprocess
import sys

import numpy as np
import pytest

import oarlock
import oarlock.fluid as fluid
from oarlock.fluid import layers
from processes import LIMIT


def linear():
    x = layers.data("x", [13])
    y = layers.data("y", [1])
    predicted = layers.fc(x, 1)
    return x, y, predicted, layers.mean(layers.square_error_cost(predicted, y))


def batch(rows=20):
    x = np.random.RandomState(0).rand(rows, 13).astype("float32")
    return {"x": x, "y": x.sum(1, keepdims=True)}


def test_training_and_a_test_clone():
    _, _, predicted, loss = linear()
    test = fluid.default_main_program().clone(for_test=True)
    fluid.default_startup_program().random_seed = 1
    _, pairs = fluid.optimizer.SGD(0.05).minimize(loss)
    assert [(p.name, g.name) for p, g in pairs] == [("fc_0.w_0", "fc_0.w_0@GRAD"), ("fc_0.b_0", "fc_0.b_0@GRAD")]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = [exe.run(feed=batch(), fetch_list=[loss])[0].item() for _ in range(200)]
    assert losses[-1] < losses[0] / 100
    (tested,) = exe.run(test, feed=batch(), fetch_list=[loss.name])
    assert tested.item() < losses[-1] + 1e-6
    assert not any(op.type == "sgd" for op in test.global_block().ops)


def test_explain_shows_every_pass_and_the_plan():
    _, _, _, loss = linear()
    fluid.optimizer.SGD(0.05).minimize(loss)
    text = oarlock.explain(fluid.default_main_program(), ["y", "x"], [loss])
    assert "pass drop_ports: no change" in text
    assert "pass optimizer_group:" in text
    plan = text[text.index("plan:"):]
    assert "feed x ->" in plan and "fetch %s <-" % loss.name in plan and "fused_sgd(" in plan
    compiled = fluid.CompiledProgram(fluid.default_main_program())
    assert oarlock.explain(compiled, {"x": None, "y": None}, loss.name) == text
    with pytest.raises(TypeError, match="explain takes a Program or a CompiledProgram, not 3"):
        oarlock.explain(3)


def test_variables():
    x = fluid.data("ids", [None, 3], "int64", lod_level=1)
    assert (x.name, x.shape, x.lod_level, x.dtype) == ("ids", (-1, 3), 1, fluid.core.VarDesc.VarType.INT64)
    assert x.stop_gradient and not x.persistable
    x.stop_gradient = False
    assert not x.stop_gradient
    assert x.astype("float32").dtype == fluid.core.VarDesc.VarType.FP32
    w = layers.create_parameter([4, 3], "float32", name="w")
    assert isinstance(w, fluid.framework.Parameter) and w.trainable
    assert fluid.default_main_program().all_parameters() == [w] or [p.name for p in fluid.default_main_program().all_parameters()] == ["w"]


def test_operators_and_slices():
    x = fluid.data("x", [None, 4, 5])
    y = [x + 1.0, 2.0 - x, x * x, x / 2.0, x ** 2.0, -x, x[:, 1:3], x[0], x[:, -1, ::2], x[..., 2]]
    z = x < 0.5
    data = np.random.RandomState(1).rand(3, 4, 5).astype("float32")
    got = fluid.Executor().run(feed={"x": data}, fetch_list=y + [z])
    want = [data + 1, 2 - data, data * data, data / 2, data**2, -data, data[:, 1:3], data[0], data[:, -1, ::2], data[..., 2]]
    for g, w in zip(got, want + [data < 0.5]):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-6)


def test_blocks_and_operators():
    _, _, _, loss = linear()
    block = fluid.default_main_program().global_block()
    assert [op.type for op in block.ops] == ["mul", "elementwise_add", "elementwise_sub", "square", "mean"]
    mul = block.ops[0]
    assert mul.input("X") == ["x"] and mul.output("Out") == ["fc_0.tmp_0"] and mul.attr("x_num_col_dims") == 1
    assert mul.input_arg_names == ["x", "fc_0.w_0"] and mul.has_attr("op_role")
    assert block.has_var("x") and not block.has_var("nothing")
    with pytest.raises(ValueError, match="nothing"):
        block.var("nothing")
    out = block.create_var(name="twice", dtype="float32", shape=[1])
    op = block.append_op(type="scale", inputs={"X": [loss]}, outputs={"Out": [out]}, attrs={"scale": 2.0})
    assert op.type == "scale" and out.shape == (1,)
    op.set_attr("scale", 3)
    assert op.attr("scale") == 3.0
    again = fluid.Program.parse_from_string(fluid.default_main_program().serialize_to_string())
    assert [o.type for o in again.global_block().ops] == [o.type for o in block.ops]


def test_an_operator_object_survives_insertions_and_removals():
    linear()
    block = fluid.default_main_program().global_block()
    add = block.ops[1]
    out = block.create_var(name="zero", dtype="float32", shape=[1])
    zero = block._prepend_op(
        type="fill_constant", outputs={"Out": [out]}, attrs={"shape": [1], "value": 0.0, "dtype": 5})
    # A layer that puts its operator in front, too.
    layers.autoincreased_step_counter()
    assert (add.type, add.idx) == ("elementwise_add", 3) and block.ops.index(add) == 3
    assert (zero.type, zero.idx) == ("fill_constant", 1)
    add.set_attr("axis", 0)
    assert block.ops[3].attr("axis") == 0
    block._remove_op(zero.idx)
    assert add.idx == 2
    with pytest.raises(ValueError, match="was removed"):
        zero.type
    copy = fluid.default_main_program().clone().global_block().ops[2]
    assert copy.type == add.type and copy != add


def test_rows_and_arrays_of_a_scope():
    scope = fluid.Scope()
    rows = scope.var("rows").get_selected_rows()
    rows.set_rows([0, 4])
    rows.set_height(10)
    rows.get_tensor().set(np.ones([2, 3], "float32"), fluid.CPUPlace())
    again = scope.find_var("rows").get_selected_rows()
    assert again.rows() == [0, 4] and again.height() == 10 and np.array(again.get_tensor()).shape == (2, 3)
    with pytest.raises(ValueError, match="selected rows|SelectedRows"):
        scope.find_var("rows").get_lod_tensor_array()
    array = scope.var("array").get_lod_tensor_array()
    for i in range(2):
        t = fluid.LoDTensor()
        t.set(np.full([1], i, "float32"), fluid.CPUPlace())
        array.append(t)
    array[0] = array[1]
    again = scope.find_var("array").get_lod_tensor_array()
    assert [np.array(t).item() for t in again] == [1, 1] and len(again) == 2
    with pytest.raises(IndexError):
        array[2]


def test_fetched_arrays_of_one_element_are_numbers():
    """Scripts write float(loss) of an array of shape [1]."""
    one, three = layers.fill_constant([1], "float32", 1.5), layers.fill_constant([1], "int64", 3)
    got = fluid.Executor().run(fetch_list=[one, three])
    assert (float(got[0]), int(got[1]), "%f %d" % tuple(got)) == (1.5, 3, "1.500000 3")


def test_lod_tensors():
    words = layers.data("words", [1], dtype="int64", lod_level=1)
    emb = layers.embedding(words, [10, 4])
    pooled = layers.sequence_pool(emb, "sum")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    t = fluid.create_lod_tensor([[1, 2, 3], [4]], [[3, 1]], fluid.CPUPlace())
    assert t.lod() == [[0, 3, 4]] and t.recursive_sequence_lengths() == [[3, 1]] and t.shape() == [4, 1]
    table = np.array(fluid.global_scope().find_var("embedding_0.w_0").get_tensor())
    (got,) = exe.run(feed={"words": t}, fetch_list=[pooled])
    np.testing.assert_allclose(got, [table[1:4].sum(0), table[4]], rtol=1e-6)
    with pytest.raises(Exception, match="return_numpy"):
        exe.run(feed={"words": t}, fetch_list=[emb])
    (whole,) = exe.run(feed={"words": t}, fetch_list=[emb], return_numpy=False)
    assert whole.lod() == [[0, 3, 4]] and np.array(whole).shape == (4, 4)
    with pytest.raises(ValueError):
        t.set_recursive_sequence_lengths([[2, 1]])


def test_large_feeds_are_read_in_place_and_never_written():
    x = fluid.data("x", [None, 1000])
    y = layers.relu(x)
    data = np.linspace(-1, 1, 200_000, dtype="float32").reshape(200, 1000)
    kept = data.copy()
    for _ in range(3):
        (got,) = fluid.Executor().run(feed={"x": data}, fetch_list=[y])
        np.testing.assert_array_equal(got, np.maximum(kept, 0))
    np.testing.assert_array_equal(data, kept)
    (strided,) = fluid.Executor().run(feed={"x": data[::2]}, fetch_list=[y])
    np.testing.assert_array_equal(strided, np.maximum(kept[::2], 0))


def test_errors_name_the_users_line():
    linear()
    with pytest.raises(oarlock.fluid.core.EnforceNotMet) as e:
        layers.elementwise_add(layers.data("a", [3]), layers.data("b", [4]))
    assert "test_basics.py" in str(e.value) and "elementwise_add" in str(e.value)
    exe = fluid.Executor()
    with pytest.raises(Exception, match="startup"):
        exe.run(feed=batch(), fetch_list=["fc_0.tmp_1"])
    with pytest.raises(RuntimeError, match="CPUPlace"):
        fluid.Executor(fluid.CUDAPlace(0))
    assert not fluid.core.is_compiled_with_cuda()


def test_flags():
    assert fluid.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": False}
    with pytest.raises(ValueError, match="FLAGS_check_nan_inf"):
        fluid.set_flags({"FLAGS_check_nan_inff": True})
    fluid.set_flags({"FLAGS_check_nan_inf": 1})
    try:
        x = fluid.data("x", [None, 1])
        y = layers.log(x)
        with pytest.raises(Exception, match="log"):
            fluid.Executor().run(feed={"x": -np.ones([2, 1], "float32")}, fetch_list=[y])
    finally:
        fluid.set_flags({"FLAGS_check_nan_inf": 0})


SCRIPT = """
import paddle, paddle.fluid as fluid, paddle.fluid.layers as layers
from paddle.fluid import core, framework, compiler
import paddle.reader, paddle.compat
import subprocess, sys
assert fluid.layers is layers and paddle.fluid.layers.fc is layers.fc
assert paddle.batch is not None and paddle.fluid.__name__ == "oarlock.fluid"
if len(sys.argv) == 1:
    subprocess.check_call([sys.executable, __file__, "child"])
print("fine", *sys.argv[1:])
"""


def test_scripts_run_under_the_name_paddle(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    out = subprocess.run([sys.executable, "-m", "oarlock.paddle", str(script)], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["fine", "child", "fine"]
    gone = subprocess.run([sys.executable, "-m", "oarlock.paddle", "no.py"], capture_output=True, text=True)
    assert gone.returncode == 2 and "no.py" in gone.stderr


def test_sequences_of_ids_are_fed_in_the_rank_of_the_variable():
    flat = fluid.data("flat", [None], dtype="int64", lod_level=1)
    column = fluid.data("column", [None, 1], dtype="int64", lod_level=1)
    feed = fluid.DataFeeder([flat, column], fluid.CPUPlace()).feed([([1, 2], [3]), ([4], [5, 6])])
    assert feed["flat"].shape() == [3] and feed["column"].shape() == [3, 1]
    assert feed["flat"].recursive_sequence_lengths() == [[2, 1]]


ENDLESS = """
import os, signal, threading
import oarlock.fluid as fluid
from oarlock.fluid import layers
i = layers.fill_constant([1], "float32", 0.0)

def interrupt_soon(x):
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    return x

# The run itself starts the clock, so that it is interrupted and not the lines before it.
begun = fluid.default_main_program().current_block().create_var(name="begun", shape=[1], dtype="float32")
layers.py_func(interrupt_soon, i, begun)
go = layers.less_than(i, layers.fill_constant([1], "float32", 1.0))
with layers.While(go).block():
    layers.increment(i, 0.0)
    layers.less_than(i, layers.fill_constant([1], "float32", 1.0), cond=go)
try:
    fluid.Executor().run(fetch_list=[i])
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_stops_a_run():
    out = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=LIMIT)
    assert out.stdout.split() == ["stopped"], out.stderr


def test_pruned_runs_update_nothing_that_is_not_fetched():
    _, _, predicted, loss = linear()
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    w = lambda: np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    before = w()
    exe.run(feed={"x": batch()["x"]}, fetch_list=[predicted], use_prune=True)
    np.testing.assert_array_equal(w(), before)
    exe.run(feed=batch(), fetch_list=[predicted])
    assert not np.array_equal(w(), before)


def test_options_that_would_change_results_are_refused():
    strategy = fluid.BuildStrategy()
    strategy.fuse_all_optimizer_ops = True
    fluid.CompiledProgram(fluid.default_main_program(), strategy)
    strategy.debug_graphviz_path = "graph.dot"
    with pytest.raises(NotImplementedError, match="debug_graphviz_path = 'graph.dot' is not supported"):
        fluid.CompiledProgram(fluid.default_main_program(), strategy)
    with pytest.raises(ValueError, match="there is no fuse_everything"):
        strategy.fuse_everything = True
    with pytest.raises(IndexError, match="no block 7"):
        fluid.default_main_program().current_block_idx = 7
    with pytest.raises(ValueError, match="too large"):
        layers.transpose(layers.data("t", [2, 3]), [2**40, 1, 0])
    with pytest.raises(ValueError, match="linear_chain_crf"):
        layers.crf_decoding(layers.data("e", [3], lod_level=1), None)


def test_the_command(tmp_path):
    run = lambda *args: subprocess.run([sys.executable, "-m", "oarlock", *args], capture_output=True, text=True)
    assert run("--version").stdout == "oarlock %s\n" % oarlock.__version__
    made = run("data", "gen", "criteo", "--samples", "50", "--out", str(tmp_path))
    assert made.returncode == 0 and made.stdout.startswith("50 samples in 4 files")
    assert run("data", "stat", str(tmp_path / "part-*")).returncode == 0
    wrong = run("data", "stat", str(tmp_path / "nothing"))
    assert wrong.returncode == 1 and wrong.stderr.startswith("error[")
    assert run("dta").returncode == 2


def test_ctrl_c_ends_the_command(tmp_path):
    import signal
    import time

    args = ["data", "gen", "criteo", "--samples", "1000000000", "--out", str(tmp_path / "much")]
    busy = subprocess.Popen([sys.executable, "-m", "oarlock", *args])
    while not (tmp_path / "much").exists() and busy.poll() is None:
        time.sleep(0.05)
    busy.send_signal(signal.SIGINT)
    assert busy.wait(timeout=LIMIT) == -signal.SIGINT


def test_the_stub_knows_the_core():
    import ast
    import os

    from oarlock import _core

    with open(os.path.join(os.path.dirname(oarlock.__file__), "_core.pyi")) as f:
        stub = ast.parse(f.read())
    classes = {c.name: c for c in stub.body if isinstance(c, ast.ClassDef)}
    named = lambda body: {n.name for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef))} | {
        n.target.id for n in body if isinstance(n, ast.AnnAssign)}
    public = lambda thing: {n for n in dir(thing) if not n.startswith("__")}
    unknown = public(_core) - named(stub.body)
    for name, c in classes.items():
        if not issubclass(getattr(_core, name), Exception):
            unknown |= {"%s.%s" % (name, n) for n in public(getattr(_core, name)) - named(c.body)}
    assert not unknown
