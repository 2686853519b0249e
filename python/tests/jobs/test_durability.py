"""Servers, trainers and launchers that are killed: no acknowledged update is lost, and none counts twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import oarlock.fluid as fluid
from oracle_job import ROWS, expected
from processes import LIMIT, Processes, endpoints, wait_for_step
from test_failures import all_gone, environment

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oracle_job.py")
STEPS, SERVERS = 40, 2
#: Kills of the longest test; a soak asks for more.
KILLS = int(os.environ.get("OARLOCK_TEST_KILLS", "2"))


def workers(mode):
    """Several workers of GEO mix their parameters as often as they exchange them: only that of one is known exactly."""
    return 1 if mode == "geo" else 2


def launched(tmp_path, job, *flags, **env):
    """A job under the launcher."""
    job = dict({"dir": str(tmp_path), "steps": STEPS, "pause": 0.02}, **job)
    command = [sys.executable, "-m", "oarlock", "launch", "--server-num", str(SERVERS), "--worker-num", str(workers(job["mode"])),
               *flags, SCRIPT, json.dumps(job)]
    settings = environment(FLAGS_communicator_is_sgd_optimizer="1", **env)
    return subprocess.Popen(command, cwd=tmp_path, env=settings, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True)


def pid(tmp_path, role):
    return int((tmp_path / (role + ".pid")).read_text())


def ended(launcher, limit=LIMIT):
    """The output and the exit code of a launcher."""
    try:
        out, _ = launcher.communicate(timeout=limit)
    finally:
        launcher.kill()
    return out, launcher.returncode


def assert_exact(tmp_path, mode, said, steps=STEPS):
    """The parameters are the sums of all gradients, to the last bit."""
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        program, _, fetches = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
        table, dense = exe.run(program, feed={"ids": np.arange(ROWS).reshape(-1, 1)}, fetch_list=fetches)
    for found, wanted in zip((table, dense), expected(workers(mode), steps, mode)):
        np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=said)


@pytest.mark.parametrize("mode,hashed", [("sync", False), ("sync", True), ("half_async", True), ("async", False), ("geo", False)])
def test_a_killed_server_comes_back_with_every_update(tmp_path, mode, hashed):
    launcher = launched(tmp_path, {"mode": mode, "hashed": hashed})
    try:
        for server in (1, 0):
            wait_for_step(str(tmp_path / "progress.0"), 8 if server else 20)
            time.sleep(random.SystemRandom().random() / 20)
            os.kill(pid(tmp_path, "PSERVER%d" % server), signal.SIGKILL)
    finally:
        said, code = ended(launcher)
    assert code == 0, said
    assert "server 1 was killed with signal 9 (by hand, or because memory ran out); it is restarted with its log" in said, said
    assert said.count("is restored from its log") == 2, said
    assert_exact(tmp_path, mode, said)
    assert not (tmp_path / "log" / "server-state").exists(), "the logs of a job that is done are deleted"


def test_servers_and_trainers_killed_at_random_in_sync_training_leave_the_exact_result(tmp_path):
    steps = 30 + 15 * KILLS
    launcher = launched(tmp_path, {"mode": "sync", "hashed": True, "steps": steps}, "--max-restart", str(KILLS), "--max-server-restart", "100000",
                        OARLOCK_SERVER_LOG_MB="1")
    try:
        for kill in range(KILLS):
            wait_for_step(str(tmp_path / "progress.0"), 10 + 10 * kill)
            time.sleep(random.SystemRandom().random() / 10)
            os.kill(pid(tmp_path, "TRAINER1" if kill % 2 else "PSERVER%d" % (kill // 2 % SERVERS)), signal.SIGKILL)
    finally:
        said, code = ended(launcher, LIMIT + 20 * KILLS)
    assert code == 0, said
    assert_exact(tmp_path, "sync", said, steps)


def test_a_job_whose_launcher_was_killed_goes_on(tmp_path):
    launcher = launched(tmp_path, {"mode": "sync", "hang": 12}, "--job-id", "j")
    try:
        wait_for_step(str(tmp_path / "progress.0"), 12)
        found = [pid(tmp_path, role) for role in ("PSERVER0", "PSERVER1", "TRAINER0", "TRAINER1")]
    finally:
        launcher.kill()
        launcher.communicate()
    assert all_gone(found)
    said, code = ended(launched(tmp_path, {"mode": "sync"}, "--job-id", "j"))
    assert code == 1 and 'job "j" has logs of servers in' in said and "--resume" in said, said
    said, code = ended(launched(tmp_path, {"mode": "sync"}, "--job-id", "j", "--resume"))
    assert code == 0, said
    assert_exact(tmp_path, "sync", said)


def by_hand(processes, tmp_path, role, number, servers, **env):
    """One process of an asynchronous job without a launcher."""
    place = {"TRAINING_ROLE": role, "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers), "PADDLE_TRAINERS_NUM": "1"}
    if role == "PSERVER":
        place.update(zip(("POD_IP", "PADDLE_PORT"), servers[number].split(":")), PADDLE_PSERVER_ID=str(number))
    else:
        place["PADDLE_TRAINER_ID"] = str(number)
    job = {"dir": str(tmp_path), "mode": "async", "steps": 5000, "pause": 0.01}
    return processes.python(SCRIPT, json.dumps(job), **place, **env)


def test_a_server_that_is_restarted_without_its_log_is_refused_by_name(tmp_path):
    servers = endpoints(2)
    with Processes() as processes:
        first = [by_hand(processes, tmp_path, "PSERVER", number, servers) for number in range(2)]
        trainer = by_hand(processes, tmp_path, "TRAINER", 0, servers)
        wait_for_step(str(tmp_path / "progress.0"), 10)
        first[1].kill()
        first[1].wait()
        by_hand(processes, tmp_path, "PSERVER", 1, servers)
        started = time.time()
        _, err = trainer.communicate(timeout=LIMIT)
        took = time.time() - started
    assert trainer.returncode != 0, err
    assert "server 1 (%s) of this job came back without its log: it has 0 of " % servers[1] in err, err
    assert took < 60, took


def test_a_server_by_hand_comes_back_with_its_log(tmp_path):
    servers, log = endpoints(2), dict(OARLOCK_SERVER_LOG=str(tmp_path / "logs"), OARLOCK_JOB_ID="by-hand", OARLOCK_DURABILITY="power")
    with Processes() as processes:
        first = [by_hand(processes, tmp_path, "PSERVER", number, servers, **log) for number in range(2)]
        trainer = by_hand(processes, tmp_path, "TRAINER", 0, servers, OARLOCK_JOB_ID="by-hand")
        wait_for_step(str(tmp_path / "progress.0"), 10)
        first[1].kill()
        first[1].wait()
        before = len((tmp_path / "progress.0").read_text().split())
        by_hand(processes, tmp_path, "PSERVER", 1, servers, **log)
        wait_for_step(str(tmp_path / "progress.0"), before + 200)
        trainer.kill()
        _, err = trainer.communicate(timeout=LIMIT)
    assert "came back" not in err, err
