"""Going on from a save: the manuals' incremental training with parameter servers, and what is said when a run resumes."""

import re

import numpy as np
import pytest

import oarlock.fluid as fluid

SERVERS = ["127.0.0.1:6174", "127.0.0.1:6175"]


def network():
    """Two layers whose weights are cut into blocks for two servers."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 1])
        out = fluid.layers.fc(fluid.layers.fc(x, 64), 1)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(out, y))
        fluid.optimizer.Adam(0.1).minimize(loss)
    return main, startup, loss


def transpiled():
    main, startup, _ = network()
    config = fluid.DistributeTranspilerConfig()
    config.min_block_size = 16
    made = fluid.DistributeTranspiler(config)
    made.transpile(0, main, pservers=",".join(SERVERS), trainers=1, startup_program=startup)
    return made


@pytest.mark.parametrize("into", ["startup program", "server's program"])
def test_a_server_loads_its_blocks_of_cut_parameters(tmp_path, into):
    """The manuals' listing: ``fluid.io.load_persistables(exe, path, pserver_startup)`` after ``exe.run(pserver_startup)``."""
    exe, path = fluid.Executor(fluid.CPUPlace()), str(tmp_path / "models")
    main, startup, loss = network()
    feed = {"x": np.random.RandomState(1).rand(16, 8).astype("float32"), "y": np.ones([16, 1], "float32")}
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        for _ in range(3):
            exe.run(main, feed=feed, fetch_list=[loss])
        fluid.io.save_persistables(exe, path, main)
    saved = fluid.io.load_program_state(path)
    made, cut = transpiled(), {}
    for endpoint in SERVERS:
        scope = fluid.Scope()
        with fluid.scope_guard(scope):
            pserver_prog = made.get_pserver_program(endpoint)
            pserver_startup = made.get_startup_program(endpoint, pserver_prog)
            exe.run(pserver_startup)
            fluid.io.load_persistables(exe, path, pserver_startup if into == "startup program" else pserver_prog)
        for var in pserver_prog.list_vars():
            block, found = re.fullmatch(r"(.*)\.block(\d+)", var.name), scope.find_var(var.name)
            if block and found is not None:
                cut.setdefault(block[1], {})[int(block[2])] = np.array(found.get_tensor())
    assert "fc_0.w_0" in cut and len(cut["fc_0.w_0"]) == 2
    for name, blocks in cut.items():
        whole = np.concatenate([blocks[at].reshape(-1) for at in sorted(blocks)])
        np.testing.assert_array_equal(whole, saved[name].reshape(-1), err_msg=name)


def test_memory_optimize_of_a_server_program_warns():
    pserver_prog = transpiled().get_pserver_program(SERVERS[0])
    with pytest.warns(UserWarning, match="memory_optimize does nothing on a pserver program"):
        fluid.memory_optimize(pserver_prog)
    with pytest.warns(UserWarning, match="release_memory does nothing on a pserver program"):
        fluid.release_memory(pserver_prog)


def train(folder, stop_after=None):
    """Trains with checkpoints after every step; an exception ends it early."""

    class Stopped(Exception):
        pass

    def train_func():
        x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [1])
        return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))

    def on_event(event):
        if isinstance(event, fluid.BeginStepEvent) and event.step == stop_after:
            raise Stopped

    config = fluid.CheckpointConfig(folder, max_num_checkpoints=3, epoch_interval=1, step_interval=1)
    trainer = fluid.Trainer(train_func, lambda: fluid.optimizer.SGD(0.1), place=fluid.CPUPlace(), checkpoint_config=config)
    reader = lambda: iter([[(np.ones(2, "float32"), [1.0])]] * 5)
    try:
        trainer.train(1, on_event, reader, feed_order=["x", "y"])
    except Stopped:
        pass


def test_resuming_says_from_where_and_passes_over_a_damaged_checkpoint(tmp_path, capfd):
    folder = tmp_path / "run"
    train(str(folder), stop_after=3)
    assert capfd.readouterr().err == ""
    params = folder / "checkpoint_2" / "__params__"
    params.write_bytes(params.read_bytes()[:-1] + b"\xff")
    train(str(folder), stop_after=4)
    said = capfd.readouterr().err
    assert "warning: checkpoint 2 in %s is damaged, an older one is used" % folder in said
    assert "resuming from checkpoint 1 in %s: epoch 0, after 2 steps of it" % folder in said
