"""Names of Fleet 1.x around the jobs that python/tests/jobs runs."""

import socket

import pytest

from oarlock.fluid.incubate.fleet.base import fleet_base, mode, role_maker


def test_modes_have_fluids_numbers():
    assert (mode.Mode.TRANSPILER, mode.Mode.PSLIB, mode.Mode.COLLECTIVE) == (1, 2, 3) and fleet_base.Mode is mode.Mode


def test_a_fleet_must_save():
    class Half(fleet_base.Fleet):
        def init_worker(self):
            """Nothing."""

        init_server = run_server = stop_worker = distributed_optimizer = init_worker

    with pytest.raises(TypeError, match="save_inference_model|save_persistables"):
        Half(1)


def test_the_address_of_this_machine(monkeypatch):
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "10.0.0.7")
    assert role_maker.MPISymetricRoleMaker().get_local_ip() == "10.0.0.7"
