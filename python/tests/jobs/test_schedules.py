"""Learning-rate schedules with parameter servers as processes: two servers and two trainers. crates/oarlock/tests/schedules.rs has the
matrix of schedules, optimizers and modes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from test_ps import HERE, LIMIT, free_ports

with open(os.path.join(HERE, "schedule_losses.json")) as f:
    FLUID = json.load(f)


def run(trainers, **job):
    """Runs a job to its end; returns what trainers and servers printed."""
    servers = ["127.0.0.1:%d" % port for port in free_ports(2)]

    def start(role, index):
        argument = json.dumps(dict(job, role=role, index=index, trainers=trainers, servers=servers))
        command = [sys.executable, "-m", "oarlock.paddle", os.path.join(HERE, "schedule_job.py"), argument]
        return subprocess.Popen(command, env=dict(os.environ, OARLOCK_THREADS="1"), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    processes = [start("PSERVER", i) for i in range(2)] + [start("TRAINER", i) for i in range(trainers)]
    try:
        found = []
        for process in processes:
            out, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
            found.append(json.loads(out.splitlines()[-1]))
        return found[2:], found[:2]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()


@pytest.mark.parametrize("schedule", ["exponential", "polynomial", "cosine"])
@pytest.mark.parametrize("mode", ["sync", "fleet_sync"])
def test_sync_losses_are_those_of_fluid(mode, schedule):
    """Fluid's own Fleet stays at the rate of its second step for ever; its transpiler does what both should."""
    trainers, servers = run(2, mode=mode, schedule=schedule, net="regression", steps=8)
    np.testing.assert_allclose([t["losses"] for t in trainers], FLUID[schedule]["sync"], rtol=1e-5)
    assert all(server["@LR_DECAY_COUNTER@"] == 7 for server in servers)


@pytest.mark.parametrize("mode, schedule", [
    ("fleet_async", "exponential"), ("fleet_async", "polynomial"), ("fleet_async", "cosine"), ("async", "piecewise"), ("fleet_half_async", "warmup"),
])
def test_without_sync_every_push_has_a_rate_of_its_own(mode, schedule):
    """The gradient is always 1: whichever order pushes come in, the weight falls by the sum of sixteen rates."""
    _, servers = run(2, mode=mode, schedule=schedule, net="line", steps=8)
    weight, = [server["w"] for server in servers if "w" in server]
    np.testing.assert_allclose(weight, -sum(FLUID[schedule]["rates"]), rtol=1e-5)
    assert all(server["@LR_DECAY_COUNTER@"] == 15 for server in servers)


@pytest.mark.parametrize("mode", ["fleet2_sync", "fleet2_async"])
def test_a_scheduler_of_the_script_sets_the_rate_of_its_worker(mode):
    _, servers = run(2, mode=mode, net="line", steps=6)
    weight, = [server["w"] for server in servers if "w" in server]
    first = sum(0.5 * 0.5 ** step for step in range(6))
    # Together workers use the rate of the first; otherwise each its own, and the second one's is half of it.
    np.testing.assert_allclose(weight, -first if mode == "fleet2_sync" else -1.5 * first, rtol=1e-6)
