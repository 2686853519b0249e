"""Data parallel training in eager mode, with real processes."""

import json
import os

import numpy as np
import pytest

from processes import LIMIT, Processes, endpoints

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parallel_job.py")


def run(job, ranks):
    places = endpoints(ranks)
    with Processes() as processes:
        started = [
            processes.python(JOB, json.dumps(job), PADDLE_TRAINERS_NUM=str(ranks), PADDLE_TRAINER_ID=str(rank),
                             PADDLE_TRAINER_ENDPOINTS=",".join(places), PADDLE_CURRENT_ENDPOINT=places[rank])
            for rank in range(ranks)
        ]
        ended = [process.communicate(timeout=LIMIT) for process in started]
        assert all(process.returncode == 0 for process in started), ended
    return [json.loads(out.splitlines()[-1]) for out, _ in ended]


@pytest.mark.parametrize("sparse", [False, True])
def test_two_processes_equal_one_on_the_joint_batch(sparse):
    both = run({"sparse": sparse}, 2)
    assert both[0]["first"] == both[1]["first"], "both begin with the parameters of the first"
    assert both[0]["last"] == both[1]["last"]
    one = run({"sparse": sparse, "first": both[0]["first"]}, 1)[0]
    np.testing.assert_allclose(np.sum([b["losses"] for b in both], axis=0), one["losses"], rtol=1e-5)
    for name, value in one["last"].items():
        np.testing.assert_allclose(both[0]["last"][name], value, rtol=1e-5, atol=1e-6, err_msg=name)
