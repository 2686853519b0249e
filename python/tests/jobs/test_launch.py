"""The launchers that Paddle's users know: they run scripts that say ``import paddle``."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
import paddle
names = ("TRAINING_ROLE", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")
print(paddle.__name__, *[os.environ.get(name) for name in names], *sys.argv[1:])
"""


@pytest.mark.parametrize("module", ["oarlock.distributed.launch_ps", "paddle.distributed.launch_ps", "oarlock launch"])
def test_a_script_runs_as_servers_and_workers(tmp_path, module):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    flags = ["--server_num=1", "--worker_num=2", "--ready_timeout=0", "--log_dir=out", str(script), "--epochs", "2"]
    start = {
        "oarlock.distributed.launch_ps": ["-m", "oarlock.distributed.launch_ps"],
        "paddle.distributed.launch_ps": ["-m", "oarlock.paddle", "-m", "paddle.distributed.launch_ps"],
        "oarlock launch": ["-m", "oarlock", "launch"],
    }[module]
    run = subprocess.run([sys.executable, *start, *flags], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out" / "serverlog.0").read_text() == "oarlock PSERVER None 2 --epochs 2\n"
    assert (tmp_path / "out" / "workerlog.1").read_text() == "oarlock TRAINER 1 2 --epochs 2\n"
    assert "[worker 0] oarlock TRAINER 0 2 --epochs 2" in run.stdout


def test_a_failing_script_is_told(tmp_path):
    (tmp_path / "bad.py").write_text("raise SystemExit(4)")
    command = [sys.executable, "-m", "oarlock.distributed.launch", "--nproc_per_node", "2", "bad.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 4
    assert "failed with exit code 4" in run.stderr
    assert os.path.exists(tmp_path / "mylog" / "workerlog.0")
