"""fluid.Trainer in jobs without servers."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from oarlock.fluid import trainer

import trainer_job
from processes import LIMIT

HERE = os.path.dirname(os.path.abspath(__file__))


def test_collective_workers_train_as_one_process(tmp_path):
    command = [sys.executable, "-m", "oarlock.distributed.launch", "--nproc_per_node", "2", os.path.join(HERE, "trainer_job.py")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    alone = trainer_job.train(0, 1)
    for rank in range(2):
        made = json.loads((tmp_path / ("result.%d" % rank)).read_text())
        for name, values in alone.items():
            np.testing.assert_allclose(made[name], values, rtol=1e-5)


# The handbook's variables, and those of later launchers; servers make another job of it.
ENVIRONMENTS = [
    ({}, False), ({"PADDLE_TRAINER_IPS": "10.0.0.1,10.0.0.2", "PADDLE_TRAINER_ID": "1", "PADDLE_PSERVER_PORT": "6174"}, True),
    ({"PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:1,10.0.0.2:1"}, True),
    ({"PADDLE_TRAINER_IPS": "10.0.0.1", "PADDLE_PSERVER_IPS": "10.0.0.3", "PADDLE_TRAINING_ROLE": "TRAINER"}, False),
    ({"PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:1", "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.3:1"}, False),
]


@pytest.mark.parametrize("environment,expected", ENVIRONMENTS)
def test_variables_say_whether_there_are_servers(environment, expected):
    assert trainer._without_servers(environment) == expected
