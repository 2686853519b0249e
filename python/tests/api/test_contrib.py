"""fluid.contrib outside of its layers and decoders."""

import os
import stat

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.contrib import utils
from oarlock.fluid.contrib.model_stat import summary


def train(make, steps=3):
    x = fluid.data("x", [None, 2])
    out = layers.fc(x, 1, param_attr=fluid.ParamAttr("w", fluid.initializer.Constant(0.5)), bias_attr=fluid.ParamAttr("b"))
    optimizer = make()
    optimizer.minimize(layers.mean(out))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(steps):
        exe.run(feed={"x": np.array([[1, 2], [3, 4]], "float32")})
    return optimizer, [np.array(fluid.global_scope().find_var(n).get_tensor()).ravel() for n in "wb"]


def test_decoupled_decay_shrinks_weights_beside_the_gradient():
    sgd = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.SGD)
    optimizer, (w, b) = train(lambda: sgd(weight_decay=0.1, apply_decay_param_fun=lambda name: name == "w", learning_rate=0.01))
    want = np.array([0.5, 0.5])
    for _ in range(3):
        want = want * 0.9 - 0.01 * np.array([2, 3])
    np.testing.assert_allclose(w, want, rtol=1e-5)
    np.testing.assert_allclose(b, [-0.03], rtol=1e-5)
    assert str(optimizer) == "Weight Decay, params: w"


def test_decay_is_no_part_of_a_test_program():
    sgd = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.SGD)
    loss = layers.mean(layers.fc(fluid.data("x", [None, 2]), 1))
    before = [op.type for op in fluid.default_main_program().global_block().ops]
    sgd(weight_decay=layers.fill_constant([1], "float32", 0.1), learning_rate=0.01).minimize(loss)
    test = fluid.default_main_program().clone(for_test=True)
    assert [op.type for op in test.global_block().ops if op.type != "fill_constant"] == before
    for coeff, message in ((1, "float or Variable"), (None, "float or Variable")):
        with pytest.raises(TypeError, match=message):
            sgd(weight_decay=coeff, learning_rate=0.01)
    with pytest.raises(TypeError, match="derived class of Optimizer"):
        fluid.contrib.extend_with_decoupled_weight_decay(fluid.Executor)


def test_memory_is_estimated_from_shapes_as_in_fluid():
    layers.fc(fluid.data("x", [None, 1000]), 2000)
    assert fluid.contrib.memory_usage(fluid.default_main_program(), 100) == (1562.5 / 1024 * 1.05, 1562.5 / 1024 * 1.1, "MB")
    with pytest.raises(ValueError, match="positive"):
        fluid.contrib.memory_usage(fluid.default_main_program(), 0)
    with pytest.raises(TypeError, match="requires Program"):
        fluid.contrib.memory_usage(None, 1)


def test_operators_and_pairs_of_them_are_counted():
    x = fluid.data("x", [None, 4])
    layers.relu(layers.fc(layers.relu(layers.fc(x, 4, bias_attr=False)), 4, bias_attr=False))
    alone, pairs = fluid.contrib.op_freq_statistic(fluid.default_main_program())
    assert dict(alone) == {"mul": 2, "relu": 2} and dict(pairs) == {"mul->relu": 2, "relu->mul": 1}
    with pytest.raises(TypeError, match="should be Program"):
        fluid.contrib.op_freq_statistic(None)


def test_parameters_and_operations_are_summed_up(capsys):
    image = layers.pool2d(layers.conv2d(fluid.data("x", [None, 3, 8, 8]), 4, 3, act="relu", bias_attr=False), 2)
    layers.fc(layers.batch_norm(image), 2)
    summary(fluid.default_main_program())
    shown = capsys.readouterr().out
    assert [line.split("|")[2].strip() for line in shown.splitlines() if line.startswith("|")][1:] == [
        "conv2d", "relu", "pool2d", "batch_norm", "mul"]
    assert "Total PARAMs: %d(" % (108 + 8 + 4 * 25 * 2 + 1) in shown


def fake_hadoop(tmp_path):
    """A ``hadoop fs`` whose files are those below a directory."""
    home, root = tmp_path / "hadoop", tmp_path / "cluster"
    os.makedirs(home / "bin"), os.makedirs(root)
    script = """#!/usr/bin/env python3
import os, shutil, sys
root, args = %r, [a for a in sys.argv[2:] if not a.startswith("-D")]
at = lambda path: root + path
what, rest = args[0], args[1:]
if what == "-test":
    sys.exit(not {"-e": os.path.exists, "-d": os.path.isdir}[rest[0]](at(rest[1])))
if what == "-mkdir":
    os.makedirs(at(rest[-1]), exist_ok=True)
elif what == "-put":
    shutil.copy(rest[0], at(rest[1]))
elif what == "-get":
    shutil.copy(at(rest[0]), rest[1])
elif what == "-rm":
    os.remove(at(rest[-1]))
elif what == "-ls":
    for folder, folders, files in os.walk(at(rest[-1])):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            kind = "drwxr-xr-x" if os.path.isdir(path) else "-rw-r--r--"
            print(kind, 1, "u", "g", 1, "2020-01-0%%d" %% (9 if name == "b.txt" else 1), "10:00", path[len(root):])
""" % str(root)
    program = home / "bin" / "hadoop"
    program.write_text(script)
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return utils.HDFSClient(str(home), {"fs.default.name": "hdfs://here"}), root


def test_files_go_to_a_cluster_and_come_back(tmp_path):
    client, root = fake_hadoop(tmp_path)
    for name in ("b.txt", "c/d.txt"):
        os.makedirs(os.path.dirname(tmp_path / "local" / name), exist_ok=True)
        (tmp_path / "local" / name).write_text(name)
    utils.multi_upload(client, "/data", str(tmp_path / "local"))
    assert client.is_exist("/data/c/d.txt") and client.is_dir("/data/c") and not client.is_dir("/data/b.txt")
    assert client.lsr("/data") == ["/data/c/d.txt", "/data/b.txt"]
    assert client.lsr("/data", only_file=False, sort=False) == ["/data/b.txt", "/data/c", "/data/c/d.txt"]
    assert client.upload("/data", str(tmp_path / "local" / "b.txt")) is False
    assert client.upload("/data", str(tmp_path / "local" / "b.txt"), overwrite=True) is True
    assert client.upload("/data", str(tmp_path / "local")) is False
    assert client.makedirs("/data") is None and client.makedirs("/other") is True
    both = [utils.multi_download(client, "/data", str(tmp_path / "got"), trainer, 2) for trainer in range(2)]
    assert both == [[str(tmp_path / "got" / "c" / "d.txt")], [str(tmp_path / "got" / "b.txt")]]
    assert (tmp_path / "got" / "c" / "d.txt").read_text() == "c/d.txt"
    assert client.download("/data/b.txt", str(tmp_path / "got")) is False
    assert client.download("/data/b.txt", str(tmp_path / "got"), overwrite=True) is True
    assert client.download("/data/none", str(tmp_path / "got")) is False
    with pytest.raises(TypeError, match="takes an HDFSClient"):
        utils.multi_upload(None, "/data", "local")


def distributed():
    """A network with a hashed table, transpiled for a trainer and a server of which neither runs."""
    words = fluid.data("words", [None, 1], "int64")
    rows = layers.embedding(words, [100, 4], is_sparse=True, is_distributed=True, param_attr=fluid.ParamAttr("table"))
    loss = layers.mean(layers.fc(rows, 1, param_attr=fluid.ParamAttr("w"), bias_attr=False))
    fluid.optimizer.SGD(0.1).minimize(loss)
    # The trainer's startup program waits for the server.
    startup = fluid.default_startup_program().clone()
    transpiler = fluid.DistributeTranspiler()
    transpiler.transpile(0, pservers="127.0.0.1:6174", trainers=1)
    return transpiler, startup, loss


def test_a_program_with_hashed_tables_becomes_local():
    transpiler, startup, loss = distributed()
    trainer = transpiler.get_trainer_program(wait_port=False)
    local = utils.convert_dist_to_sparse_program(trainer)
    (lookup,) = [op for op in local.global_block().ops if op.type == "lookup_table"]
    assert lookup.attr("is_distributed") is False and not any(op.type == "send" for op in local.global_block().ops)
    assert utils.convert_dist_to_sparse_program(local) is None
    exe = fluid.Executor()
    exe.run(startup)
    assert np.isfinite(exe.run(local, feed={"words": np.array([[3]], "int64")}, fetch_list=[loss.name])[0]).all()


def test_tables_are_loaded_for_inference_and_for_more_training(tmp_path):
    words = fluid.data("words", [None, 1], "int64")
    rows = layers.embedding(words, [10, 4], param_attr=fluid.ParamAttr("table"))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["words"], [rows], exe)
    kept = np.array(fluid.global_scope().find_var("table").get_tensor())
    with fluid.scope_guard(fluid.Scope()):
        program = utils.load_persistables_for_inference(str(tmp_path), exe, None, "table")
        np.testing.assert_array_equal(np.array(fluid.global_scope().find_var("table").get_tensor()), kept)
        assert isinstance(program, fluid.Program)
    with pytest.raises(ValueError, match="no directory"):
        utils.load_persistables_for_inference(str(tmp_path / "none"), exe, program, "table")
    for path, program, message in (
        (tmp_path / "none", program, "no file named"), (tmp_path / "__model__", program, "must be called so"),
        (tmp_path / "table", None, "instance of fluid.Program"), (tmp_path / "table", program, "that of a server"),
    ):
        with pytest.raises(ValueError, match=message):
            utils.load_persistables_for_increment(str(tmp_path), exe, program, "table", str(path))


def test_a_server_loads_its_parts_before_it_goes_on(tmp_path):
    transpiler, _, _ = distributed()
    exe = fluid.Executor()
    w = np.random.RandomState(0).uniform(-1, 1, [4, 1]).astype("float32")
    program = fluid.Program()
    with fluid.scope_guard(fluid.Scope()):
        program.global_block().create_parameter(name="w", shape=[4, 1])
        fluid.global_scope().var("w").get_tensor().set(w, fluid.CPUPlace())
        # A hashed table is saved as the rows it has.
        kind = fluid.core.VarDesc.VarType.SELECTED_ROWS
        program.global_block().create_var(name="table", type=kind, shape=[100, 4], dtype="float32", persistable=True)
        rows = fluid.global_scope().var("table").get_selected_rows()
        rows.set_height(100), rows.set_rows([7, 9])
        rows.get_tensor().set(np.arange(8, dtype="float32").reshape(2, 4), fluid.CPUPlace())
        fluid.io.save_persistables(exe, str(tmp_path), program)
    server = transpiler.get_pserver_program("127.0.0.1:6174")
    with fluid.scope_guard(fluid.Scope()):
        exe.run(transpiler.get_startup_program("127.0.0.1:6174", server))
        utils.load_persistables_for_increment(str(tmp_path), exe, server, "table", str(tmp_path / "table"))
        np.testing.assert_array_equal(np.array(fluid.global_scope().find_var("w").get_tensor()), w)


def test_slim_says_what_to_use():
    with pytest.raises(NotImplementedError, match="contrib.slim is not supported"):
        fluid.contrib.Compressor
