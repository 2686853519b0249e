"""Data parallel on threads: what Fluid 1.8.5 computes on two devices, feeds, fetches, strategies, loaders and mistakes."""

import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import replica_models as models
from oarlock import fluid
from oarlock.fluid import layers

HERE = os.path.dirname(os.path.abspath(__file__))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def two(count=2):
    return [fluid.CPUPlace()] * count


def network(optimizer=True):
    """A program, its test program, its loss and its prediction, ready to run."""
    x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    predicted = layers.fc(layers.fc(x, 3, act="tanh"), 1)
    loss = layers.mean(layers.square_error_cost(predicted, y))
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    if optimizer:
        fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe, main, test, loss, predicted


def batch(samples=6):
    rng = np.random.RandomState(1)
    return {"x": rng.rand(samples, 4).astype("float32"), "y": rng.rand(samples, 1).astype("float32")}


def parallel(main, loss, **more):
    return fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=two(), **more)


@pytest.mark.parametrize("model", models.MODELS, ids=lambda m: m.__name__)
def test_two_replicas_compute_what_fluid_computes_on_two_devices(model):
    with open(os.path.join(HERE, "replicas.json")) as f:
        expected = json.load(f)[model.__name__]
    found = models.run(fluid, model)
    close(found["losses"], expected["losses"])
    assert found["params"].keys() == expected["params"].keys()
    for name, value in expected["params"].items():
        close(found["params"][name], value)


@pytest.mark.parametrize("model", models.MODELS, ids=lambda m: m.__name__)
def test_replicas_equal_one_run_and_repeat_bit_for_bit(model):
    sync = {"sync_batch_norm": True} if model is models.batch_norm else {}
    three = models.run(fluid, model, places=3, **sync)
    one = models.run(fluid, model, places=None)
    close([np.mean(losses) for losses in three["losses"]], [losses[0] for losses in one["losses"]])
    for name, value in one["params"].items():
        close(three["params"][name], value)
    assert models.run(fluid, model, places=3, **sync) == three


def test_reduce_strategies_agree_and_gradient_scale_one_sums_losses():
    reduce = fluid.BuildStrategy.ReduceStrategy.Reduce
    assert models.run(fluid, models.sgd, reduce_strategy=reduce) == models.run(fluid, models.sgd)
    scale = fluid.BuildStrategy.GradientScaleStrategy
    found = models.run(fluid, models.sgd, steps=1, gradient_scale_strategy=scale.One)
    again = models.run(fluid, models.sgd, steps=0)
    plain = models.run(fluid, models.sgd, steps=1)
    step = lambda run: np.array(run["params"]["fc_0.b_0"]) - again["params"]["fc_0.b_0"]
    close(step(found), 2 * step(plain))


@pytest.mark.parametrize("places", [1, 2])
def test_the_gradient_of_the_loss_can_be_fed(places):
    exe, main, _, loss, _ = network()
    strategy = fluid.BuildStrategy()
    strategy.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.Customized
    compiled = fluid.CompiledProgram(main).with_data_parallel(loss.name, strategy, places=two(places))
    grads = lambda *of: exe.run(
        compiled, feed=dict(batch(), **{loss.name + "@GRAD": np.array(of[:places], "float32")}), fetch_list=["fc_1.b_0@GRAD"])[0][0]
    fluid.global_scope().find_var("learning_rate_0").get_tensor().set(np.zeros(1, "float32"))
    whole = grads(1.0, 1.0)
    close(grads(0.5, 0.5), 0.5 * whole)
    with pytest.raises(fluid.core.EnforceNotMet, match="mean_0.tmp_0@GRAD`, but it is not fed"):
        exe.run(compiled, feed=batch(), fetch_list=[loss])


def test_fetches_are_those_of_all_replicas():
    exe, main, _, loss, predicted = network()
    compiled = parallel(main, loss)
    found = exe.run(compiled, feed=batch(5), fetch_list=[loss, predicted, "fc_0.b_0", "fc_0.w_0@GRAD"])
    assert [v.shape for v in found] == [(2,), (5, 1), (6,), (8, 3)]
    np.testing.assert_array_equal(found[2][:3], found[2][3:])
    np.testing.assert_array_equal(found[2][:3], np.array(fluid.global_scope().find_var("fc_0.b_0").get_tensor()))
    np.testing.assert_array_equal(found[3][:4], found[3][4:])
    lists = exe.run(compiled, feed=batch(5), fetch_list=[loss, predicted], return_merged=False)
    assert [[v.shape for v in values] for values in lists] == [[(1,), (1,)], [(3, 1), (2, 1)]]
    (tensor,) = exe.run(compiled, feed=batch(5), fetch_list=[predicted], return_numpy=False)
    assert isinstance(tensor, fluid.LoDTensor) and np.array(tensor).shape == (5, 1)
    assert exe.run(compiled, feed=batch(5)) == []
    single = fluid.CompiledProgram(main).with_data_parallel(loss.name, places=fluid.CPUPlace())
    assert exe.run(single, feed=batch(5), fetch_list=[loss])[0].shape == (1,)
    ((value,),) = exe.run(single, feed=batch(5), fetch_list=[loss], return_merged=False)
    assert value.shape == (1,)


def test_sequences_are_divided_among_replicas_and_joined_in_order():
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    rows = layers.embedding(words, [10, 2])
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"words": fluid.create_lod_tensor(np.arange(6).reshape(6, 1), [[1, 3, 2]], fluid.CPUPlace())}
    compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=two())
    whole, ids = exe.run(compiled, feed=feed, fetch_list=[rows, words], return_numpy=False)
    assert whole.recursive_sequence_lengths() == [[1, 3, 2]] and np.array(ids).ravel().tolist() == [0, 1, 2, 3, 4, 5]
    parts = exe.run(compiled, feed=feed, fetch_list=[words], return_numpy=False, return_merged=False)[0]
    assert [p.recursive_sequence_lengths() for p in parts] == [[[1, 3]], [[2]]]
    (expected,) = exe.run(feed=feed, fetch_list=[rows], return_numpy=False)
    np.testing.assert_array_equal(np.array(whole), np.array(expected))


def test_feeds_of_every_replica():
    exe, main, _, loss, predicted = network(optimizer=False)
    compiled = fluid.CompiledProgram(main).with_data_parallel(places=two())
    whole = batch(6)
    feeds = [{name: value[:4] for name, value in whole.items()}, {name: value[4:] for name, value in whole.items()}]
    (expected,) = exe.run(main, feed=whole, fetch_list=[predicted])
    np.testing.assert_array_equal(exe.run(compiled, feed=feeds, fetch_list=[predicted])[0], expected)
    np.testing.assert_array_equal(exe.run(compiled, feed=tuple(feeds), fetch_list=[predicted])[0], expected)


def test_a_batch_with_fewer_samples_than_replicas_is_an_error():
    exe, main, test, loss, predicted = network()
    train = parallel(main, loss)
    with pytest.raises(ValueError, match="the batch has 1 sample of `x`, but 2 replicas share it"):
        exe.run(train, feed=batch(1), fetch_list=[loss])
    with pytest.raises(ValueError, match="there are 1 feed for 2 replicas"):
        exe.run(train, feed=[batch(2)], fetch_list=[loss])
    with pytest.raises(ValueError, match="replica 0 is fed `x`, `y`, but replica 1 `x`"):
        exe.run(train, feed=[batch(2), {"x": batch(2)["x"]}], fetch_list=[loss])
    with pytest.raises(TypeError, match="Each element of feed list should be a dict"):
        exe.run(train, feed=[batch(2), 3], fetch_list=[loss])
    with pytest.raises(TypeError, match="a list with a dict for each of 2 replicas"):
        exe.run(train, feed=7, fetch_list=[loss])
    exe.run(train, feed=batch(2), fetch_list=[loss])
    # A test program uses as many replicas as there are samples, as in Fluid.
    tested = fluid.CompiledProgram(test).with_data_parallel(share_vars_from=train, places=two())
    assert exe.run(tested, feed=batch(1), fetch_list=[predicted])[0].shape == (1, 1)
    assert exe.run(tested, feed=[batch(3)], fetch_list=[predicted])[0].shape == (3, 1)


def test_a_test_program_shares_variables():
    exe, main, test, loss, _ = network()
    scope = fluid.Scope()
    exe.run(fluid.default_startup_program(), scope=scope)
    train = parallel(main, loss)
    tested = fluid.CompiledProgram(test).with_data_parallel(share_vars_from=train, places=two())
    with pytest.raises(ValueError, match="not compiled and executed, so there is no variables to share"):
        exe.run(tested, feed=batch(), fetch_list=[loss])
    for _ in range(3):
        exe.run(train, feed=batch(), fetch_list=[loss], scope=scope)
    (shared,) = exe.run(tested, feed=batch(), fetch_list=[loss])
    (expected,) = exe.run(test, feed=batch(), fetch_list=[loss], scope=scope)
    close(shared.mean(), expected[0])
    with pytest.raises(ValueError, match="The shared Program is not data parallel"):
        fluid.CompiledProgram(test).with_data_parallel(share_vars_from=fluid.CompiledProgram(main))


def test_a_compiled_program_is_not_saved(tmp_path):
    exe, main, _, loss, predicted = network()
    compiled = parallel(main, loss)
    exe.run(compiled, feed=batch(), fetch_list=[loss])
    for save in (
        lambda program: fluid.io.save_persistables(exe, str(tmp_path), main_program=program),
        lambda program: fluid.io.save_params(exe, str(tmp_path), main_program=program),
        lambda program: fluid.io.save_inference_model(str(tmp_path), ["x"], [predicted], exe, main_program=program),
        lambda program: fluid.save(program, str(tmp_path / "model")),
    ):
        with pytest.raises(TypeError, match="a CompiledProgram cannot be saved: save the original"):
            save(compiled)
        save(main)


def test_mistakes_when_compiling():
    _, main, _, loss, _ = network()
    with pytest.raises(ValueError, match="needs loss_name"):
        fluid.CompiledProgram(main).with_data_parallel()
    with pytest.raises(ValueError, match="loss_name is 'lost', but the program has no such variable"):
        fluid.CompiledProgram(main).with_data_parallel("lost")
    compiled = parallel(main, loss)
    with pytest.raises(ValueError, match="a program is compiled once"):
        compiled.with_data_parallel(loss.name)
    with pytest.raises(ValueError, match="places is empty"):
        fluid.CompiledProgram(main).with_data_parallel(loss.name, places=[])
    with pytest.raises(TypeError, match="places takes places"):
        fluid.CompiledProgram(main).with_data_parallel(loss.name, places=[2])
    with pytest.raises(TypeError, match="share_vars_from takes a ParallelExecutor"):
        fluid.ParallelExecutor(False, loss.name, main, share_vars_from=compiled)
    with pytest.raises(TypeError, match="CompiledProgram takes a Program"):
        fluid.CompiledProgram(compiled)


def test_parallel_executor(monkeypatch):
    monkeypatch.setenv("CPU_NUM", "2")
    _, main, test, loss, predicted = network()
    train = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, main_program=main)
    assert train.device_count == 2
    first = train.run([loss.name], feed=batch())[0]
    second = train.run(fetch_list=[loss], feed_dict=batch())[0]
    assert first.shape == (2,) and second.mean() < first.mean()
    train.drop_local_exe_scopes()
    tested = fluid.ParallelExecutor(use_cuda=False, main_program=test, share_vars_from=train)
    (found,) = tested.run([loss.name], feed=[batch(3), batch(4)])
    assert found.shape == (2,)
    (tensor,) = train.run([predicted.name], feed=batch(), return_numpy=False)
    assert isinstance(tensor, fluid.LoDTensor)


def test_parallel_executor_in_another_scope(monkeypatch):
    monkeypatch.setenv("CPU_NUM", "3")
    scope = fluid.Scope()
    exe, main, _, loss, _ = network()
    exe.run(fluid.default_startup_program(), scope=scope)
    train = fluid.ParallelExecutor(False, loss.name, main, scope=scope)
    w = lambda of: np.array(of.find_var("fc_0.w_0").get_tensor())
    before = w(fluid.global_scope())
    assert train.run([loss.name], feed=batch(7))[0].shape == (3,)
    np.testing.assert_array_equal(w(fluid.global_scope()), before)
    assert not np.array_equal(w(scope), before)


def test_cpu_num(monkeypatch, caplog):
    monkeypatch.setattr(fluid._places, "_said_one", False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.delenv("CPU_NUM", raising=False)
    with caplog.at_level(logging.WARNING, "oarlock"):
        assert [len(fluid.cpu_places()) for _ in range(2)] == [1, 1]
    assert [r.getMessage().split(":")[0] for r in caplog.records] == ["CPU_NUM is not set"]
    monkeypatch.setenv("CPU_NUM", "5")
    assert len(fluid.cpu_places()) == 5 and len(fluid.cpu_places(3)) == 3
    for bad in ("0", "many", "-1"):
        monkeypatch.setenv("CPU_NUM", bad)
        with pytest.raises(ValueError, match="CPU_NUM must be a number from 1 on, not %r" % bad):
            fluid.cpu_places()


def test_places_are_counted_when_it_first_runs(monkeypatch):
    exe, main, _, loss, _ = network()
    compiled = fluid.CompiledProgram(main).with_data_parallel(loss.name)
    monkeypatch.setenv("CPU_NUM", "3")
    assert exe.run(compiled, feed=batch(), fetch_list=[loss])[0].shape == (3,)


def test_a_loader_that_is_iterated_feeds_every_place():
    exe, main, test, loss, predicted = network()
    x, y = main.global_block().var("x"), main.global_block().var("y")
    whole = batch(10)

    def batches():
        for i in range(5):
            yield whole["x"][2 * i:2 * i + 2], whole["y"][2 * i:2 * i + 2]

    train = parallel(main, loss)
    tested = fluid.CompiledProgram(test).with_data_parallel(share_vars_from=train, places=two())
    for make in (
        lambda: fluid.io.DataLoader.from_generator([x, y], capacity=3),
        lambda: fluid.io.PyReader([x, y], capacity=3),
    ):
        loader = make()
        loader.set_batch_generator(batches, places=two())
        # The fifth batch is left over.
        assert [exe.run(train, feed=feed, fetch_list=[predicted])[0].shape for feed in loader()] == [(4, 1)] * 2
    rest = fluid.io.DataLoader.from_generator([x, y], capacity=3, drop_last=False).set_batch_generator(batches, places=two())
    assert [exe.run(tested, feed=feed, fetch_list=[predicted])[0].shape for feed in rest()] == [(4, 1), (4, 1), (2, 1)]


@pytest.mark.parametrize("kind", ["DataLoader", "py_reader"])
def test_a_loader_that_is_not_iterated_feeds_every_replica_in_turn(kind):
    def batches():
        for i in range(5):
            yield np.full([2, 1], i, "float32"), np.full([2, 1], i, "float32")

    if kind == "DataLoader":
        x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
        loader = fluid.io.DataLoader.from_generator([x, y], capacity=4, iterable=False)
        loader.set_batch_generator(batches)
    else:
        loader = layers.py_reader(4, [[-1, 1], [-1, 1]], ["float32", "float32"])
        loader.decorate_tensor_provider(batches)
        x, y = layers.read_file(loader)
    loss = layers.mean(layers.square_error_cost(layers.fc(x, 1), y))
    fluid.optimizer.SGD(0.01).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    compiled = parallel(fluid.default_main_program(), loss)
    for _ in range(2):
        loader.start()
        seen = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                seen.append(exe.run(compiled, fetch_list=[x])[0].ravel().tolist())
        loader.reset()
        # The order of replicas decides which batch each reads.
        assert seen == [[0, 0, 1, 1], [2, 2, 3, 3]]


def test_a_data_feeder_feeds_replicas():
    exe, main, _, loss, _ = network()
    feeder = fluid.DataFeeder(["x", "y"], fluid.CPUPlace(), main)
    samples = lambda n: [(np.ones(4, "float32") * i, [0.5]) for i in range(n)]
    compiled = parallel(main, loss)
    feeds = list(feeder.feed_parallel([samples(2), samples(3)], num_places=2))
    assert exe.run(compiled, feed=feeds, fetch_list=["x"])[0].shape == (5, 4)


def test_an_error_in_a_replica_is_named_and_undone():
    exe, main, _, loss, _ = network()
    fluid.set_flags({"FLAGS_check_nan_inf": True})
    try:
        w = lambda: np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
        before, feed = w(), batch()
        feed["x"][5, 0] = np.nan
        with pytest.raises(fluid.core.EnforceNotMet, match="in replica 1 of 2"):
            exe.run(parallel(main, loss), feed=feed, fetch_list=[loss])
        np.testing.assert_array_equal(w(), before)
    finally:
        fluid.set_flags({"FLAGS_check_nan_inf": False})


def test_auc_counts_the_samples_of_all_replicas():
    """As many replicas as there may be, the areas over all batches and over the last one are those of one run."""
    rng = np.random.RandomState(3)
    batches = [(rng.rand(12, 2).astype("float32"), rng.randint(0, 2, (12, 1))) for _ in range(3)]
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        p, y = fluid.data("p", [None, 2]), fluid.data("y", [None, 1], "int64")
        area, of_batch, states = layers.auc(p, y, num_thresholds=127)
    found = {}
    for places in (1, 2, 3):
        exe = fluid.Executor(fluid.CPUPlace())
        with fluid.scope_guard(fluid.Scope()):
            exe.run(startup)
            program = fluid.CompiledProgram(main).with_data_parallel(places=[fluid.CPUPlace()] * places)
            areas = [exe.run(program, feed={"p": x, "y": t}, fetch_list=[area, of_batch]) for x, t in batches]
            counts = [np.array(fluid.global_scope().find_var(v.name).get_tensor()) for v in states]
        for both in areas:
            for each in both:
                assert each.shape == (places,) and (each == each[0]).all()
        found[places] = [[float(each[0]) for each in both] for both in areas], counts
    assert found[1][0] == found[2][0] == found[3][0]
    for one, two, three in zip(found[1][1], found[2][1], found[3][1]):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three)


def test_the_example_of_the_manual(tmp_path):
    """With ``CPU_NUM`` in the environment of the process, as the manual has it."""
    script = tmp_path / "train.py"
    script.write_text('''
import os
os.environ["CPU_NUM"] = str(2)
import numpy
import paddle.fluid as fluid

exe = fluid.Executor(fluid.CPUPlace())
train_program, startup_program = fluid.Program(), fluid.Program()
with fluid.program_guard(train_program, startup_program):
    data = fluid.data(name="X", shape=[None, 1], dtype="float32")
    hidden = fluid.layers.fc(input=data, size=10)
    loss = fluid.layers.mean(hidden)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.01).minimize(loss)
startup_program.random_seed = 1
exe.run(startup_program)
train_exe = fluid.ParallelExecutor(use_cuda=False, main_program=train_program, loss_name=loss.name)
test_exe = fluid.ParallelExecutor(use_cuda=False, main_program=test_program, share_vars_from=train_exe)
x = numpy.random.random(size=(10, 1)).astype("float32")
loss_data, = train_exe.run(feed={"X": x}, fetch_list=[loss.name])
x2 = numpy.random.random(size=(9, 1)).astype("float32")
loss_data, = train_exe.run(feed=[{"X": x}, {"X": x2}], fetch_list=[loss.name])
loss_data, = test_exe.run(feed={"X": x}, fetch_list=[loss.name])
print(loss_data.shape)
''')
    done = subprocess.run([sys.executable, "-m", "oarlock.paddle", str(script)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("(2,)\n", 0), done.stderr
