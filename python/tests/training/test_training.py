"""Optimizers, control flow and files, seen from Python."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers

OPTIMIZERS = {
    "SGD": lambda o: o.SGD(0.05),
    "Momentum": lambda o: o.Momentum(0.05, 0.9),
    "Adam": lambda o: o.Adam(0.05),
    "Adamax": lambda o: o.Adamax(0.05),
    "Adagrad": lambda o: o.Adagrad(0.3),
    "DecayedAdagrad": lambda o: o.DecayedAdagrad(0.1),
    "RMSProp": lambda o: o.RMSProp(0.05),
    "Ftrl": lambda o: o.Ftrl(0.5),
    "Lamb": lambda o: o.Lamb(0.05),
    "Lookahead": lambda o: o.LookaheadOptimizer(o.SGD(0.05), k=2),
    "GradientMerge": lambda o: o.GradientMergeOptimizer(o.SGD(0.1), k_steps=2),
    "Pipeline": lambda o: o.PipelineOptimizer(o.SGD(0.05)),
    "decay": lambda o: o.SGD(layers.piecewise_decay([10, 20], [0.1, 0.05, 0.01])),
    "clip": lambda o: o.SGD(0.05, grad_clip=fluid.clip.GradientClipByGlobalNorm(5.0), regularization=fluid.regularizer.L2Decay(1e-4)),
}


def line():
    x = fluid.data("x", [None, 4])
    y = fluid.data("y", [None, 1])
    hidden = layers.fc(x, 8, act="tanh")
    predicted = layers.fc(hidden, 1)
    return hidden, predicted, layers.mean(layers.square_error_cost(predicted, y))


def data(seed=0):
    x = np.random.RandomState(seed).rand(32, 4).astype("float32")
    return {"x": x, "y": x.sum(1, keepdims=True)}


def started():
    fluid.default_startup_program().random_seed = 3
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optimizers_train(name):
    fluid.default_startup_program().random_seed = 3
    _, _, loss = line()
    OPTIMIZERS[name](fluid.optimizer).minimize(loss)
    exe = started()
    losses = [exe.run(feed=data(), fetch_list=[loss])[0].item() for _ in range(40)]
    assert losses[-1] < losses[0] / 2, losses[::10]


def test_recomputation_gives_the_same_parameters():
    results = []
    for recompute in (False, True):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            fluid.default_startup_program().random_seed = 3
            hidden, _, loss = line()
            optimizer = fluid.optimizer.SGD(0.05)
            if recompute:
                optimizer = fluid.optimizer.RecomputeOptimizer(optimizer)
                optimizer._set_checkpoints([hidden])
            optimizer.minimize(loss)
            exe = started()
            for _ in range(3):
                exe.run(feed=data(), fetch_list=[loss])
            results.append(np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()))
    np.testing.assert_array_equal(*results)


def test_moving_averages():
    _, _, loss = line()
    fluid.optimizer.SGD(0.5).minimize(loss)
    ema = fluid.optimizer.ExponentialMovingAverage(0.9)
    ema.update()
    exe = started()
    w = lambda: np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    for _ in range(5):
        exe.run(feed=data(), fetch_list=[loss])
    trained = w()
    with ema.apply(exe):
        assert not np.array_equal(w(), trained)
    np.testing.assert_array_equal(w(), trained)


def test_files(tmp_path):
    _, predicted, loss = line()
    fluid.optimizer.Adam(0.05).minimize(loss)
    exe = started()
    for _ in range(3):
        exe.run(feed=data(), fetch_list=[loss])
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    (before,) = exe.run(test, feed=data(), fetch_list=[predicted])
    fluid.io.save_persistables(exe, str(tmp_path / "all"))
    fluid.io.save_params(exe, str(tmp_path / "one"), filename="params")
    fluid.save(main, str(tmp_path / "state" / "model"))
    names = fluid.io.save_inference_model(str(tmp_path / "infer"), ["x"], [predicted], exe)
    assert len(names) == 1
    for load in (
        lambda: fluid.io.load_persistables(exe, str(tmp_path / "all")),
        lambda: fluid.io.load_params(exe, str(tmp_path / "one"), filename="params"),
        lambda: fluid.load(main, str(tmp_path / "state" / "model"), exe),
        lambda: fluid.io.set_program_state(main, fluid.io.load_program_state(str(tmp_path / "state" / "model"))),
    ):
        exe.run(fluid.default_startup_program())
        load()
        (after,) = exe.run(test, feed=data(), fetch_list=[predicted])
        np.testing.assert_array_equal(before, after)
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path / "infer"), exe)
        assert feeds == ["x"]
        (after,) = exe.run(program, feed={"x": data()["x"]}, fetch_list=fetches)
        np.testing.assert_array_equal(before, after)
    with pytest.raises(TypeError, match="CompiledProgram"):
        fluid.io.save_params(exe, str(tmp_path / "no"), main_program=fluid.CompiledProgram(main))
    with pytest.raises(Exception, match="nowhere"):
        fluid.io.load_persistables(exe, str(tmp_path / "nowhere"))


def test_a_model_that_does_not_fit_is_refused_and_nothing_is_loaded(tmp_path):
    line()
    exe = started()
    fluid.io.save_params(exe, str(tmp_path / "m"))
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        layers.fc(fluid.data("x", [None, 4]), 9, act="tanh")
        exe.run(fluid.default_startup_program())
        old = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
        with pytest.raises(Exception, match="fc_0.w_0"):
            fluid.io.load_params(exe, str(tmp_path / "m"))
        np.testing.assert_array_equal(old, np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()))


def test_control_flow_runs():
    x = fluid.data("x", [1])
    one = layers.fill_constant([1], "float32", 1.0)
    chosen = layers.cond(layers.less_than(x, one), lambda: (x + 10.0, [x]), lambda: (x * 2.0, [one]))
    i = layers.fill_constant([1], "float32", 0.0)
    total = layers.fill_constant([1], "float32", 0.0)
    i, total = layers.while_loop(lambda i, t: layers.less_than(i, x), lambda i, t: [i + 1.0, t + i], [i, total])
    which = layers.switch_case(layers.cast(x, "int32"), {0: lambda: one * 5.0, 3: lambda: one * 7.0}, lambda: one * 9.0)
    exe = fluid.Executor()
    run = lambda v: [f.item() for f in exe.run(feed={"x": np.array([v], "float32")}, fetch_list=[chosen[0], chosen[1][0], total, which])]
    assert run(0.0) == [10.0, 0.0, 0.0, 5.0]
    assert run(3.0) == [6.0, 1.0, 3.0, 7.0]
    assert run(4.0) == [8.0, 1.0, 6.0, 9.0]


def test_metrics():
    m = fluid.metrics
    accuracy = m.Accuracy()
    accuracy.update(0.5, 10), accuracy.update(1.0, 10)
    assert accuracy.eval() == 0.75
    auc = m.Auc("auc")
    auc.update(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), np.array([[0], [1], [0], [1]]))
    assert auc.eval() == 1.0
    precision, recall = m.Precision(), m.Recall()
    for metric in (precision, recall):
        metric.update(np.array([[0.9], [0.8], [0.2]]), np.array([[1], [0], [1]]))
    assert (precision.eval(), recall.eval()) == (0.5, 0.5)
