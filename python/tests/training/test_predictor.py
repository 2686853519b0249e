"""Predictors and trainers as scripts use them."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid.core import AnalysisConfig, PaddleTensor, create_paddle_predictor


def save_model(directory, **files):
    """A saved classifier, and what the executor predicts with it."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        x = fluid.data("x", [None, 20], "float32")
        ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
        words = fluid.layers.sequence_pool(fluid.layers.embedding(ids, size=[50, 6]), "sum")
        hidden = fluid.layers.fc(fluid.layers.concat([x, words], axis=1), 30, act="relu")
        y = fluid.layers.fc(hidden, 3, act="softmax")
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        fluid.io.save_inference_model(directory, ["x", "ids"], [y], exe, main, **files)
        array = np.random.RandomState(0).rand(2, 20).astype("float32")
        words = fluid.create_lod_tensor(np.array([[1], [2], [3], [44], [5]], "int64"), [[2, 3]], fluid.CPUPlace())
        expected = exe.run(main, feed={"x": array, "ids": words}, fetch_list=[y])[0]
    return array, np.array([[1], [2], [3], [44], [5]], "int64"), [[0, 2, 5]], expected


def zero_copy(predictor, x, ids, lod):
    assert predictor.get_input_names() == ["x", "ids"]
    tensors = {name: predictor.get_input_tensor(name) for name in predictor.get_input_names()}
    tensors["x"].reshape(x.shape)
    tensors["x"].copy_from_cpu(x)
    tensors["ids"].copy_from_cpu(ids)
    tensors["ids"].set_lod(lod)
    predictor.zero_copy_run()
    out = predictor.get_output_tensor(predictor.get_output_names()[0])
    assert out.shape() == [2, 3] and out.type() == fluid.core.PaddleDType.FLOAT32
    return out.copy_to_cpu()


def test_an_input_that_was_not_set_is_named(tmp_path):
    x, ids, lod, expected = save_model(str(tmp_path / "m"))
    config = AnalysisConfig(str(tmp_path / "m"))
    config.switch_specify_input_names(True)
    predictor = create_paddle_predictor(config)
    wanted = predictor.get_input_tensor("ids")
    predictor.get_input_tensor("x").copy_from_cpu(x)
    # To look at an input, and to say its sizes, is not to set it.
    wanted.reshape([5, 1]), wanted.set_lod(lod), wanted.shape()
    with pytest.raises(fluid.core.EnforceNotMet, match="(?s)input `ids` is not given.*the model needs `x`, `ids`"):
        predictor.zero_copy_run()
    wanted.copy_from_cpu(ids)
    predictor.zero_copy_run()
    with pytest.raises(fluid.core.EnforceNotMet, match="input `x` is not given"):
        predictor.clone().zero_copy_run()
    for given in ([PaddleTensor(x, "x")], [PaddleTensor(x, "x"), PaddleTensor(x, "x")]):
        with pytest.raises(ValueError, match="the model has"):
            predictor.run(given)
    out = predictor.run([PaddleTensor(ids, "ids", lod=lod), PaddleTensor(x, "x")])
    np.testing.assert_allclose(out[0].as_ndarray(), expected, rtol=1e-6)


def test_both_ways_to_predict(tmp_path):
    x, ids, lod, expected = save_model(str(tmp_path / "m"))
    config = AnalysisConfig(str(tmp_path / "m"))
    config.disable_gpu()
    config.switch_use_feed_fetch_ops(False)
    config.set_cpu_math_library_num_threads(1)
    predictor = create_paddle_predictor(config)
    np.testing.assert_allclose(zero_copy(predictor, x, ids, lod), expected, rtol=1e-6)
    out = predictor.run([PaddleTensor(x), PaddleTensor(ids, lod=lod)])
    assert out[0].shape == [2, 3] and out[0].name == predictor.get_output_names()[0]
    np.testing.assert_allclose(out[0].as_ndarray(), expected, rtol=1e-6)
    np.testing.assert_allclose(out[0].data.float_data(), expected.ravel(), rtol=1e-6)
    config.switch_specify_input_names(True)
    out = create_paddle_predictor(config).run([PaddleTensor(ids, "ids", lod), PaddleTensor(x, "x")])
    np.testing.assert_allclose(out[0].as_ndarray(), expected, rtol=1e-6)


def test_a_model_from_two_files_and_from_bytes(tmp_path):
    directory = str(tmp_path / "m")
    x, ids, lod, expected = save_model(directory, model_filename="net", params_filename="weights")
    program, params = os.path.join(directory, "net"), os.path.join(directory, "weights")
    predictor = create_paddle_predictor(AnalysisConfig(program, params))
    np.testing.assert_allclose(zero_copy(predictor, x, ids, lod), expected, rtol=1e-6)
    config = AnalysisConfig("")
    with open(program, "rb") as p, open(params, "rb") as w:
        net, weights = p.read(), w.read()
    config.set_model_buffer(net, len(net), weights, len(weights))
    assert config.model_from_memory()
    np.testing.assert_allclose(zero_copy(create_paddle_predictor(config), x, ids, lod), expected, rtol=1e-6)


def test_every_thread_has_a_clone(tmp_path):
    x, ids, lod, _ = save_model(str(tmp_path / "m"))
    predictor = create_paddle_predictor(AnalysisConfig(str(tmp_path / "m")))
    first, found = zero_copy(predictor, x, ids, lod), []

    def work(clone):
        found.extend(zero_copy(clone, x, ids, lod) for _ in range(20))

    threads = [threading.Thread(target=work, args=(predictor.clone(),)) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert len(found) == 80 and all(np.array_equal(f, first) for f in found)


def test_what_is_refused(tmp_path):
    save_model(str(tmp_path / "m"))
    config = AnalysisConfig(str(tmp_path / "m"))
    with pytest.raises(RuntimeError, match="computes on CPUs"):
        config.enable_use_gpu(100, 0)
    with pytest.raises(Exception, match="there is no model at"):
        create_paddle_predictor(AnalysisConfig(str(tmp_path / "nothing")))
    predictor = create_paddle_predictor(config)
    with pytest.raises(Exception, match="the model has no input `xx`"):
        predictor.get_input_tensor("xx")
    with pytest.raises(ValueError, match=r"the model has 2 inputs \(x, ids\), but 1 are given"):
        predictor.run([PaddleTensor(np.zeros([1, 20], "float32"))])


def test_startup_after_a_load_warns(tmp_path):
    x = fluid.data("x", [None, 3], "float32")
    fluid.layers.fc(x, 2)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fluid.io.save_params(exe, str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exe.run(fluid.default_startup_program())
        fluid.io.load_params(exe, str(tmp_path))
        exe.run(feed={"x": np.zeros([1, 3], "float32")})
    with pytest.warns(UserWarning, match="what was loaded is lost: `fc_0.b_0`, `fc_0.w_0`"):
        exe.run(fluid.default_startup_program())


SCRIPT = """
import os, signal, sys
import numpy as np
import oarlock.fluid as fluid
import oarlock

directory, last = sys.argv[1], int(sys.argv[2])


def train_func():
    x = fluid.layers.data("x", [4])
    y = fluid.layers.data("y", [1])
    hidden = fluid.layers.dropout(fluid.layers.fc(x, 8, act="tanh"), 0.3)
    return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))


def samples():
    values = np.random.RandomState(3).rand(40, 5).astype("float32")
    for row in values:
        yield row[:4], row[4:]


seen = []


def on_event(event):
    if isinstance(event, fluid.EndStepEvent):
        seen.append((event.epoch, event.step))
        if len(seen) == last:
            os.kill(os.getpid(), signal.SIGKILL)


rate = lambda: fluid.optimizer.Adam(fluid.layers.exponential_decay(0.05, 5, 0.9))
config = fluid.CheckpointConfig(directory, max_num_checkpoints=2, step_interval=2)
trainer = fluid.Trainer(train_func, rate, place=fluid.CPUPlace(), checkpoint_config=config)
reader = oarlock.batch(oarlock.reader.shuffle(samples, 40), 8)
trainer.train(3, on_event, reader, ["x", "y"])
names = sorted(trainer.scope.local_var_names())
for name in names:
    var = trainer.scope.find_var(name)
    if var.kind() == "a tensor":
        print(name, np.array(var.get_tensor()).tobytes().hex())
print("first", seen[0], "last", seen[-1])
"""


def run_script(tmp_path, directory, last):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    return subprocess.run([sys.executable, str(script), str(directory), str(last)], capture_output=True, text=True)


def test_a_killed_trainer_goes_on_bit_for_bit(tmp_path):
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    assert run_script(tmp_path, killed, 4).returncode == -signal.SIGKILL
    subprocess.run(["cp", "-r", str(killed), str(straight)], check=True)
    # Killed twice more on the way; the other runs through from the first checkpoint.
    assert run_script(tmp_path, killed, 3).returncode == -signal.SIGKILL
    assert run_script(tmp_path, killed, 5).returncode == -signal.SIGKILL
    a, b = run_script(tmp_path, killed, 0), run_script(tmp_path, straight, 0)
    assert a.returncode == 0 and b.returncode == 0, a.stderr + b.stderr
    assert a.stdout.splitlines()[:-1] == b.stdout.splitlines()[:-1]
    assert a.stdout.splitlines()[-1].endswith("last (2, 4)") and "first (0, 3)" in b.stdout
    assert os.listdir(killed) == []


def test_train_save_infer(tmp_path, monkeypatch):
    def net():
        return fluid.layers.fc(fluid.layers.data("x", [4]), 1)

    def train_func():
        cost = fluid.layers.square_error_cost(net(), fluid.layers.data("y", [1]))
        return [fluid.layers.mean(cost)]

    def reader():
        random = np.random.RandomState(1)
        for _ in range(20):
            x = random.rand(8, 4).astype("float32")
            yield [(row, row.sum(keepdims=True)) for row in x]

    events = []

    def on_event(event):
        events.append(type(event).__name__)
        if isinstance(event, fluid.BeginStepEvent):
            event.fetch_metrics = event.step % 2 == 0
        if isinstance(event, fluid.EndStepEvent):
            assert len(event.metrics) == (1 if event.step % 2 == 0 else 0)

    trainer = fluid.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1), place=fluid.CPUPlace())
    before = trainer.test(reader, ["x", "y"])
    trainer.train(2, on_event, reader, ["x", "y"])
    assert trainer.test(reader, ["x", "y"])[0] < before[0] / 10
    assert events[:3] == ["BeginEpochEvent", "BeginStepEvent", "EndStepEvent"] and events[-1] == "EndEpochEvent"
    trainer.save_params(str(tmp_path / "params"))
    trainer.save_inference_model(str(tmp_path / "model"), ["x", "y"], [0])
    inferencer = fluid.Inferencer(net, str(tmp_path / "params"), place=fluid.CPUPlace())
    out = inferencer.infer({"x": np.ones([1, 4], "float32")})
    assert abs(out[0][0, 0] - 4) < 1
    again = fluid.contrib.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1), param_path=str(tmp_path / "params"))
    assert again.test(reader, ["x", "y"]) == trainer.test(reader, ["x", "y"])
    # Replicas learn and predict the same.
    monkeypatch.setenv("CPU_NUM", "2")
    shapes = []
    on_replicas = fluid.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1), param_path=str(tmp_path / "params"), parallel=True)
    on_replicas.train(1, lambda e: isinstance(e, fluid.EndStepEvent) and shapes.append(e.metrics[0].shape), reader, ["x", "y"])
    alone = fluid.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1), param_path=str(tmp_path / "params"))
    alone.train(1, lambda event: None, reader, ["x", "y"])
    np.testing.assert_allclose(on_replicas.test(reader, ["x", "y"]), alone.test(reader, ["x", "y"]), rtol=1e-3)
    assert shapes == [(2,)] * 20
    inferencer = fluid.Inferencer(net, str(tmp_path / "params"), parallel=True)
    for rows in (1, 5):
        assert inferencer.infer({"x": np.ones([rows, 4], "float32")})[0].shape == (rows, 1)
    stopped = []
    again.train(5, lambda event: (stopped.append(event), again.stop()), reader, ["x", "y"])
    assert len(stopped) < 5


def test_a_compiled_program_as_a_predictor(tmp_path):
    x = fluid.data("x", [None, 3])
    y = fluid.layers.fc(x, 2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    rows = np.ones([2, 3], "float32")
    (want,) = exe.run(feed={"x": rows}, fetch_list=[y])
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    config = fluid.core.NativeConfig()
    config.model_dir = str(tmp_path)
    compiled = fluid.CompiledProgram(fluid.default_main_program())._with_inference_optimize(config)
    (got,) = exe.run(compiled, feed=[fluid.core.PaddleTensor(rows)])
    assert compiled._is_inference
    np.testing.assert_allclose(got.as_ndarray(), want)
