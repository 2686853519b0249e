"""``fluid.communicator.Communicator``, started by scripts of their own in jobs of processes."""

import json
import os
import subprocess
import sys

import pytest

import oarlock.fluid as fluid
from oarlock.fluid.communicator import Communicator
from oarlock.fluid.transpiler.distribute_transpiler import DistributedMode

HERE = os.path.dirname(os.path.abspath(__file__))

sys.path.insert(0, HERE)
from test_ps import Job, result  # noqa: E402


class ScriptJob(Job):
    """Processes of a script that knows ``paddle`` only."""

    def start(self, **own):
        argument = json.dumps(dict(self.job, **own))
        command = [sys.executable, "-m", "oarlock.paddle", os.path.join(HERE, "communicator_job.py"), argument]
        process = subprocess.Popen(command, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process


def train(**job):
    """The results of trainers."""
    with ScriptJob(**job) as cluster:
        servers, trainers = cluster.serve(), cluster.train()
        results = [result(p)[0] for p in trainers]
        for server in servers:
            result(server)
        return results


@pytest.mark.parametrize("mode", ["ASYNC", "HALF_ASYNC", "SYNC", "GEO"])
def test_scripts_start_it_by_hand(mode):
    for trainer in train(mode=mode):
        assert trainer["running"] == [False, True, False]
        assert trainer["losses"][-1] < trainer["losses"][0] / 4, trainer["losses"]


def test_its_knobs_reach_it():
    """Parameters come after so many gradients that none come: nobody but the communicator exchanges."""
    one, = train(mode="ASYNC", trainers=1, envs={"communicator_min_send_grad_num_before_recv": "100000"})
    assert one["losses"] == one["losses"][:1] * 60


def transpiled(**fields):
    x = fluid.data("x", [None, 4])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    for name, value in fields.items():
        setattr(config, name, value)
    made = fluid.DistributeTranspiler(config)
    made.transpile(1, pservers="127.0.0.1:1,127.0.0.1:2", trainers=2)
    return made


ASYNC = {"sync_mode": False, "runtime_split_send_recv": True}


def test_what_does_not_fit_the_program_is_refused():
    made = transpiled(**ASYNC)
    with pytest.raises(ValueError, match="needs a trainer's program"):
        Communicator(made.get_pserver_program("127.0.0.1:1"), DistributedMode.ASYNC)
    program = made.get_trainer_program(wait_port=False)
    for given, said in [
        (dict(mode=7), "one of DistributedMode"),
        (dict(mode=DistributedMode.ASYNC, envs={"rpc_deadline": "1"}), "there is no 'rpc_deadline'"),
        (dict(mode=DistributedMode.SYNC, kwargs={"trainer_id": 0}), "trainer_id is 0, but the program was transpiled for 1"),
        (dict(mode=DistributedMode.SYNC, kwargs={"pserver_endpoints": ["127.0.0.1:1"]}), "pserver_endpoints is"),
        (dict(mode=DistributedMode.GEO, kwargs={"trainer": 2}), "there is no 'trainer'"),
    ]:
        with pytest.raises(ValueError, match=said):
            Communicator(program, **given)
    with pytest.raises(TypeError, match="must be a fluid.Program"):
        Communicator("main", DistributedMode.ASYNC)
    for mode in (DistributedMode.SYNC, DistributedMode.HALF_ASYNC, DistributedMode.GEO):
        with pytest.raises(ValueError, match="transpiled for another exchange"):
            Communicator(program, mode).start()
    with pytest.raises(ValueError, match="there is no communicator_speed"):
        Communicator(program, DistributedMode.ASYNC, envs={"communicator_speed": "1"}).start()


def test_programs_that_send_by_themselves_have_none():
    program = transpiled().get_trainer_program(wait_port=False)
    with pytest.raises(ValueError, match="runtime_split_send_recv=True"):
        Communicator(program, DistributedMode.ASYNC).start()
