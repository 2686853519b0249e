"""One step, whatever runs it: {``exe.run``, a data set, replicas} x {one process, servers in four modes, ranks, an elastic group}."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import oarlock.fluid as fluid

import step_matrix_job as job
from processes import LIMIT


def alone(runners):
    """The parameters of one process that makes all steps."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        inputs, loss = job.build()
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for turn, runner in enumerate(runners):
            job.train(runner, exe, main, inputs, loss, turn * job.STEPS, range(job.ROWS))
        return {name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in ("hidden", "out")}


def same(found, expected):
    for name, value in expected.items():
        np.testing.assert_allclose(np.array(found[name]), value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_all_runners_train_alike_in_one_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    same(alone(job.RUNNERS), alone(["run"] * 3))


@pytest.mark.parametrize("mode, flags", [
    ("sync", ["--server_num=2", "--worker_num=2"]),
    ("half_async", ["--server_num=2", "--worker_num=1"]),
    ("async", ["--server_num=2", "--worker_num=1"]),
    ("geo", ["--server_num=2", "--worker_num=1"]),
    ("collective", ["--nproc_per_node=2"]),
    ("elastic", ["--nproc_per_node=3", "--elastic"]),
])
def test_all_runners_train_in_a_job_as_in_one_process(tmp_path, mode, flags):
    here = os.path.dirname(os.path.abspath(job.__file__))
    command = [sys.executable, "-m", "oarlock.distributed.launch", *flags, os.path.join(here, "step_matrix_job.py"), mode]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, "OARLOCK_THREADS": "1"})
    assert run.returncode == 0, run.stdout + run.stderr
    workers = 1 if "--worker_num=1" in flags else 2
    expected = alone(["run"] * 3)
    for worker in range(workers):
        found = json.loads((tmp_path / ("params.%d" % worker)).read_text())
        if mode in ("sync", "collective", "elastic"):
            same(found, expected)
        else:
            # A communicator works beside training: how far the last step got is a matter of the moment.
            assert all(np.isfinite(np.array(value)).all() for value in found.values())
