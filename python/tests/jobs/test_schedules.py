"""Learning-rate schedules with parameter servers as processes: two servers and two trainers. crates/oarlock/tests/schedules.rs has the
matrix of schedules, optimizers and modes."""

import json
import os

import numpy as np
import pytest

from processes import Processes, endpoints, result

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "schedule_losses.json")) as f:
    FLUID = json.load(f)


def run(trainers, **job):
    """Runs a job to its end; returns the results of trainers and of servers."""
    servers = endpoints(2)
    with Processes() as processes:
        def start(role, index):
            argument = json.dumps(dict(job, role=role, index=index, trainers=trainers, servers=servers))
            return processes.python("-m", "oarlock.paddle", os.path.join(HERE, "schedule_job.py"), argument)

        started = [start("PSERVER", i) for i in range(2)] + [start("TRAINER", i) for i in range(trainers)]
        found = [result(process)[0] for process in started]
    return found[2:], found[:2]


@pytest.mark.parametrize("schedule", ["exponential", "polynomial", "cosine"])
@pytest.mark.parametrize("mode", ["sync", "fleet_sync"])
def test_sync_losses_with_a_schedule_equal_those_of_fluid(mode, schedule):
    """Fluid's own Fleet stays at the rate of its second step for ever; its transpiler does what both should."""
    trainers, servers = run(2, mode=mode, schedule=schedule, net="regression", steps=8)
    np.testing.assert_allclose([t["losses"] for t in trainers], FLUID[schedule]["sync"], rtol=1e-5)
    assert all(server["@LR_DECAY_COUNTER@"] == 7 for server in servers)


@pytest.mark.parametrize("mode, schedule", [
    ("fleet_async", "exponential"), ("fleet_async", "polynomial"), ("fleet_async", "cosine"), ("async", "piecewise"), ("fleet_half_async", "warmup"),
])
def test_without_sync_every_push_has_the_rate_of_its_number(mode, schedule):
    """The gradient is always 1: in every order of pushes, the weight falls by the sum of sixteen rates."""
    _, servers = run(2, mode=mode, schedule=schedule, net="line", steps=8)
    weight, = [server["w"] for server in servers if "w" in server]
    np.testing.assert_allclose(weight, -sum(FLUID[schedule]["rates"]), rtol=1e-5)
    assert all(server["@LR_DECAY_COUNTER@"] == 15 for server in servers)


@pytest.mark.parametrize("mode", ["fleet2_sync", "fleet2_async"])
def test_a_scheduler_of_the_script_sets_the_rate_of_its_pushes(mode):
    _, servers = run(2, mode=mode, net="line", steps=6)
    weight, = [server["w"] for server in servers if "w" in server]
    first = sum(0.5 * 0.5 ** step for step in range(6))
    # Sync workers use the rate of the first; async ones each their own, and the second one's is half of it.
    np.testing.assert_allclose(weight, -first if mode == "fleet2_sync" else -1.5 * first, rtol=1e-6)
