"""Failures of jobs: message, exit code, and nothing left running."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from processes import LIMIT, Processes, wait_for_step
from test_fleet2 import HERE, Job


def environment(**more):
    paths = os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "OMPI_", "TRAINING_"))}
    return dict(kept, OARLOCK_THREADS="1", PYTHONPATH=paths, **more)


# Every process writes its process id into a file named after its role, then trains.
RECORDED = """
import os, runpy, sys
role = os.environ["TRAINING_ROLE"] + os.environ.get("PADDLE_TRAINER_ID", os.environ.get("PADDLE_PSERVER_ID", ""))
with open(os.path.join(sys.argv[2], role), "w") as f:
    f.write(str(os.getpid()))
import oarlock
oarlock.install_as_paddle()
sys.argv = ["fleet2_job.py", sys.argv[1]]
runpy.run_path(%r, run_name="__main__")
""" % os.path.join(HERE, "fleet2_job.py")


def launched(tmp_path, job, *flags):
    """A job under the launcher; returns it and the process ids by role."""
    script, pids = tmp_path / "recorded.py", tmp_path / "pids"
    script.write_text(RECORDED)
    pids.mkdir()
    command = [sys.executable, "-m", "oarlock", "launch", "--server_num", "2", "--worker_num", "2", *flags, str(script),
               json.dumps(job), str(pids)]
    launcher = subprocess.Popen(command, cwd=tmp_path, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return launcher, lambda: {name: int((pids / name).read_text()) for name in os.listdir(pids)}


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_gone(pids):
    deadline = time.time() + LIMIT
    while any(is_running(pid) for pid in pids):
        if time.time() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("role,named", [("PSERVER1", "server 1"), ("TRAINER0", "worker 0"), ("TRAINER1", "worker 1")])
def test_a_killed_process_ends_the_job_and_none_is_left(tmp_path, role, named):
    progress = str(tmp_path / "progress")
    launcher, pids = launched(tmp_path, {"steps": 5000, "rate": 0.1, "strategy": {"a_sync": False}, "progress": progress, "pause": 0.01},
                              "--no-server-log")
    try:
        wait_for_step(progress + ".0", 5)
        found = pids()
        os.kill(found[role], signal.SIGKILL)
        _, err = launcher.communicate(timeout=LIMIT)
    finally:
        launcher.kill()
        launcher.communicate()
    assert launcher.returncode == 137, err
    assert "%s was killed with signal 9" % named in err, err
    assert all_gone(found.values()), found


def test_without_a_launcher_trainers_name_the_killed_server(tmp_path):
    progress = str(tmp_path / "progress")
    job = Job(steps=5000, rate=0.1, strategy={"a_sync": False}, progress=progress, pause=0.01)
    # Long enough for processes to start on a busy machine.
    job.env = {"FLAGS_rpc_deadline": "20000"}
    with Processes() as started:
        processes = job.start(started)
        wait_for_step(progress + ".0", 5)
        processes[1].kill()
        said = [process.communicate(timeout=LIMIT) for process in processes[2:]]
        assert [process.returncode for process in processes[2:]] == [1, 1], said
        assert any(job.endpoints[1] in err for _, err in said), said


def test_a_full_disk_fails_the_checkpoint_and_not_the_training(tmp_path):
    """A limit on the size of files stands for a full disk."""
    ckpt = str(tmp_path / "ckpt")
    Job(strategy={"a_sync": False}, steps=6, every=5, checkpoint=ckpt).run()
    before = sorted(os.listdir(ckpt))
    full = Job(strategy={"a_sync": False}, steps=30, every=5, checkpoint=ckpt, file_limit=100)
    ended = full.fail()
    assert "checkpoint" in ended[0][1] and "File too large" in ended[0][1], ended[0][1]
    # The first checkpoint is still complete, and a job resumes from it.
    assert set(before) <= set(os.listdir(ckpt))
    again = Job(strategy={"a_sync": False}, steps=8, every=5, checkpoint=ckpt).run()
    assert again[0]["first"] == 5


MPI = """
import sys, json
import numpy as np
import oarlock.fluid as fluid
from oarlock.fluid.incubate.fleet.base import role_maker
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
fleet.init(role_maker.MPISymetricRoleMaker())
x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    fleet.init_worker()
    feed = {"x": np.ones([2, 4], "float32"), "y": np.ones([2, 1], "float32")}
    losses = [exe.run(fleet.main_program, feed=feed, fetch_list=[loss])[0].item() for _ in range(20)]
    total = np.zeros(1)
    fleet.all_reduce_worker(np.array([float(fleet.worker_index() + 1)]), total)
    fleet.stop_worker()
    # One write per line: mpirun mixes the output of processes.
    print("worker %d of %d: %d finite losses, sum %g\\n" % (fleet.worker_index(), fleet.worker_num(), np.isfinite(losses).sum(), total[0]), end="", flush=True)
"""


def test_mpirun_starts_servers_and_workers(tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("skipped: there is no mpirun (Debian's openmpi-bin has it)")
    script = tmp_path / "mpi.py"
    script.write_text(MPI)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", sys.executable, str(script)]
    done = subprocess.run(command, env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("worker")) == [
        "worker 0 of 2: 20 finite losses, sum 3", "worker 1 of 2: 20 finite losses, sum 3"], done.stdout


TRAINER = """
import os, sys
import numpy as np
import oarlock.fluid as fluid

def train_func():
    x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
    first = fluid.ParamAttr("w", fluid.initializer.Constant(0.1))
    return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1, param_attr=first, bias_attr=False), y))

def reader():
    rng = np.random.RandomState(3)
    for _ in range(10):
        x = rng.uniform(-1, 1, (8, 4)).astype("float32")
        mine = slice(None)
        if "PADDLE_TRAINER_ID" in os.environ:
            first = 4 * int(os.environ["PADDLE_TRAINER_ID"])
            mine = slice(first, first + 4)
        yield [(row, [row.sum()]) for row in x[mine]]

losses = []
def handler(event):
    if isinstance(event, fluid.EndStepEvent):
        losses.append(float(event.metrics[0]))
        if len(sys.argv) > 2 and len(losses) == int(sys.argv[2]):
            os._exit(9)

config = fluid.CheckpointConfig(sys.argv[1], step_interval=4) if len(sys.argv) > 1 and sys.argv[1] else None
trainer = fluid.Trainer(train_func, lambda: fluid.optimizer.Adam(0.1), checkpoint_config=config)
trainer.train(2, handler, reader, ["x", "y"])
if losses:
    print("losses", *losses, flush=True)
"""


def trainers(tmp_path, *arguments):
    """``fluid.Trainer`` under the launcher; returns its exit code and the losses of both workers."""
    script = tmp_path / "trainer.py"
    script.write_text(TRAINER)
    command = [sys.executable, "-m", "oarlock", "launch", "--server_num", "2", "--worker_num", "2", str(script), *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=LIMIT)
    found = {}
    for worker in range(2):
        for line in (tmp_path / "log" / ("workerlog.%d" % worker)).read_text().splitlines():
            if line.startswith("losses"):
                found[worker] = [float(v) for v in line.split()[1:]]
    return done, found


def test_a_trainer_takes_its_role_from_the_environment(tmp_path):
    done, found = trainers(tmp_path)
    assert done.returncode == 0, done.stderr
    script = tmp_path / "trainer.py"
    alone = subprocess.run([sys.executable, str(script)], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=LIMIT)
    one = [float(v) for v in alone.stdout.split()[1:]]
    both = [(a + b) / 2 for a, b in zip(found[0], found[1])]
    assert len(both) == len(one) == 20 and both == pytest.approx(one, rel=1e-4), (both, one)


def test_a_killed_trainer_resumes_from_the_checkpoint_of_the_job(tmp_path):
    whole = trainers(tmp_path)[1]
    ckpt = str(tmp_path / "ckpt")
    killed, _ = trainers(tmp_path, ckpt, "15")
    assert killed.returncode == 9, killed.stderr
    done, rest = trainers(tmp_path, ckpt)
    assert done.returncode == 0, done.stderr
    for worker in range(2):
        assert 0 < len(rest[worker]) < 20 and rest[worker] == whole[worker][-len(rest[worker]):], (rest, whole)
    assert os.listdir(ckpt) == []
