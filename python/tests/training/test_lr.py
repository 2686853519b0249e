"""Rates that a script changes between runs: ``paddle.optimizer.lr``."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock import optimizer, static
from oarlock.distributed import fleet
from oarlock.optimizer import lr

# What Paddle 2.6.2 says after 0, 4, 9 and 14 steps.
RATES = {
    "noam": (lambda: lr.NoamDecay(64, 10), [0.0, 0.015811388300841896, 0.035575623676894264, 0.03340765523905305]),
    "piecewise": (lambda: lr.PiecewiseDecay([3, 6], [0.1, 0.2, 0.05]), [0.1, 0.2, 0.05, 0.05]),
    "natural": (lambda: lr.NaturalExpDecay(0.5, 0.1), [0.5, 0.33516002301781966, 0.20328482987029955, 0.12329848197080322]),
    "inverse": (lambda: lr.InverseTimeDecay(0.5, 0.1), [0.5, 0.35714285714285715, 0.2631578947368421, 0.20833333333333331]),
    "polynomial": (lambda: lr.PolynomialDecay(0.5, 7, power=2.0), [0.5, 0.0919183673469388, 0.0001, 0.0001]),
    "cycle": (lambda: lr.PolynomialDecay(0.5, 7, end_lr=0.01, cycle=True), [0.5, 0.22, 0.185, 0.01]),
    "warmup": (lambda: lr.LinearWarmup(0.5, 5, 0.0, 0.5), [0.0, 0.4, 0.5, 0.5]),
    "then": (lambda: lr.LinearWarmup(lr.ExponentialDecay(0.5, 0.8), 5, 0.0, 0.5), [0.0, 0.4, 0.2048, 0.067108864]),
    "exponential": (lambda: lr.ExponentialDecay(0.5, 0.9), [0.5, 0.32805, 0.1937102445, 0.11438396227480505]),
    "multistep": (lambda: lr.MultiStepDecay(0.5, [3, 8]), [0.5, 0.05, 0.005, 0.005]),
    "step": (lambda: lr.StepDecay(0.5, 4), [0.5, 0.05, 0.005, 0.0005]),
    "lambda": (lambda: lr.LambdaDecay(0.5, lambda epoch: 0.95 ** epoch), [0.5, 0.407253125, 0.31512470486230454, 0.24383748955776477]),
    "multiplicative": (lambda: lr.MultiplicativeDecay(0.5, lambda epoch: 0.95), [0.5, 0.407253125, 0.31512470486230454, 0.24383748955776477]),
    "cosine": (lambda: lr.CosineAnnealingDecay(0.5, 8, eta_min=0.1), [0.5, 0.3, 0.11522409349774265, 0.4414213562373098]),
}


@pytest.mark.parametrize("name", RATES)
def test_schedules_say_what_the_predecessor_says(name):
    make, expected = RATES[name]
    scheduler, found = make(), []
    for step in range(15):
        if step in (0, 4, 9, 14):
            found.append(scheduler())
        if step == 7:
            # A state that is saved goes on in another object.
            other = make()
            other.set_state_dict(scheduler.state_dict())
            scheduler = other
        scheduler.step()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_plateau_lowers_the_rate():
    losses = [1, 0.9, 0.9, 0.91, 0.92, 0.93, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]
    for settings, expected in [({}, [0.5, 0.05, 0.005, 0.0005]), ({"mode": "max", "threshold_mode": "abs", "cooldown": 2}, [0.5, 0.05, 0.005, 0.0005]),
                               ({"min_lr": 0.2, "factor": 0.5}, [0.5, 0.25, 0.2, 0.2])]:
        scheduler, found = lr.ReduceOnPlateau(0.5, patience=2, **settings), []
        for loss in losses:
            scheduler.step(np.array([loss]))
            found.append(scheduler())
        np.testing.assert_allclose([found[at] for at in (0, 4, 9, 14)], expected)


def line(rate, wrap=lambda inner: inner):
    """A program whose only weight falls by the rate in every run."""
    x = static.data("x", [1, 1])
    w = static.create_parameter([1], "float32", name="w", default_initializer=fluid.initializer.Constant(0.0))
    wrap(optimizer.SGD(rate)).minimize(fluid.layers.mean(fluid.layers.elementwise_mul(x, w)))
    exe = static.Executor()
    exe.run(static.default_startup_program())
    return lambda program=None: exe.run(program, feed={"x": np.ones((1, 1), "float32")}, fetch_list=[w])[0].item()


def merged(inner):
    return fluid.optimizer.GradientMergeOptimizer(inner, k_steps=1)


@pytest.mark.parametrize("wrap", [lambda inner: inner, merged])
def test_every_run_uses_the_rate_of_its_time(wrap):
    scheduler = lr.ExponentialDecay(0.5, 0.5)
    run = line(scheduler, wrap)
    assert [run(), run()] == [-0.5, -1.0]
    scheduler.step()
    assert run() == -1.25
    scheduler.step()
    assert run(static.CompiledProgram(static.default_main_program())) == -1.375


def test_an_optimizer_tells_its_rate():
    scheduler = lr.StepDecay(0.5, 1)
    sgd = optimizer.SGD(scheduler)
    scheduler.step()
    assert sgd.get_lr() == 0.05 and optimizer.SGD(0.3).get_lr() == 0.3
    with pytest.raises(TypeError, match="a number, a Variable or an LRScheduler"):
        optimizer.SGD("fast")


def test_workers_send_their_rate_to_servers():
    fleet.init(fleet.UserDefinedRoleMaker(current_id=0, worker_num=1, server_endpoints=["127.0.0.1:1"]))
    loss = fluid.layers.mean(static.nn.fc(static.data("x", [None, 2]), 1))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync, strategy.a_sync_configs = True, {"launch_barrier": False}
    fleet.distributed_optimizer(optimizer.SGD(lr.StepDecay(0.5, 1)), strategy).minimize(loss)
    sends = [op for op in loss.block.ops if op.type == "send" and op.input("X") == ["learning_rate_0"]]
    assert len(sends) == 1


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="OneCycleLR is not supported: use LambdaDecay"):
        lr.OneCycleLR
