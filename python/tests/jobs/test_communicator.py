"""``fluid.communicator.Communicator``, started by the script of a trainer."""

import pytest

import oarlock.fluid as fluid
from oarlock.fluid.communicator import Communicator
from oarlock.fluid.transpiler.distribute_transpiler import DistributedMode
from processes import result
from test_ps import Job


class ScriptJob(Job):
    """Processes of a script that imports ``paddle`` only."""

    script = ("-m", "oarlock.paddle", "communicator_job.py")


def train(**job):
    """The results of trainers."""
    with ScriptJob(**job) as cluster:
        servers, trainers = cluster.serve(), cluster.train()
        results = [result(p)[0] for p in trainers]
        for server in servers:
            result(server)
        return results


# The number of gradients that may be on their way is bounded, so that training is stable at any speed.
FEW = {"communicator_send_queue_size": "2", "communicator_max_merge_var_num": "2", "communicator_min_send_grad_num_before_recv": "1"}


@pytest.mark.parametrize("mode", ["ASYNC", "HALF_ASYNC", "SYNC", "GEO"])
def test_a_script_starts_and_stops_the_communicator(mode):
    """Sync trainers make 60 steps; the others make steps until parameters that the servers trained have arrived."""
    for trainer in train(mode=mode, envs={} if mode in ("SYNC", "GEO") else FEW, until_trained=mode != "SYNC"):
        assert trainer["running"] == [False, True, False]
        assert trainer["losses"][-1] < trainer["untrained"] / 4, trainer["losses"]


def test_settings_reach_the_communicator():
    """Parameters are to be fetched after 100,000 gradients: they never are, because only the communicator exchanges."""
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


def test_a_communicator_that_does_not_fit_the_program_is_refused():
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


def test_a_program_without_split_send_and_recv_has_no_communicator():
    program = transpiled().get_trainer_program(wait_port=False)
    with pytest.raises(ValueError, match="runtime_split_send_recv=True"):
        Communicator(program, DistributedMode.ASYNC).start()
