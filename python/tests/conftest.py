import signal

import pytest

import oarlock.fluid as fluid


@pytest.fixture(autouse=True)
def fresh():
    """Every test has programs, names and a scope of its own."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        with fluid.scope_guard(fluid.Scope()):
            yield


# A shell that puts the tests into the background has SIGINT ignored, and so would every process that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
