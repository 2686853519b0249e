"""A job whose result is known exactly: gradients are whole numbers, the learning rate is 1, and parameters start at 0. So a parameter is the
sum of all gradients, and one push that is lost or counted twice shows: ``oarlock launch ... oracle_job.py '{"mode": "sync", ...}'``.

Worker 0 saves a model that gives the parameters."""

import json
import os
import signal
import sys
import time

import numpy as np

import oarlock.fluid as fluid
from oarlock.fluid import communicator
from oarlock.fluid.incubate.fleet.base import role_maker
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

ROWS, WIDTH, BATCH = 40, 4, 8
STRATEGIES = {
    "sync": StrategyFactory.create_sync_strategy,
    "half_async": StrategyFactory.create_half_async_strategy,
    "async": StrategyFactory.create_async_strategy,
    "geo": lambda: StrategyFactory.create_geo_strategy(3),
}


def batch(worker, step):
    """The ids and the whole numbers of one step of a worker."""
    rng = np.random.RandomState(1000 * worker + step)
    return {"ids": rng.randint(0, ROWS, (BATCH, 1)).astype("int64"), "w": rng.randint(-3, 4, (BATCH, WIDTH)).astype("float32"),
            "v": rng.randint(-3, 4, (1, WIDTH)).astype("float32")}


def expected(workers, steps, mode):
    """The table and the dense parameter after all steps of all workers. Sync training takes the mean over workers. A single worker of GEO
    ends at the sum; several mix their parameters as often as they exchange them."""
    table, dense = np.zeros((ROWS, WIDTH)), np.zeros(WIDTH)
    for worker in range(workers):
        for step in range(steps):
            feed = batch(worker, step)
            np.subtract.at(table, feed["ids"][:, 0], feed["w"])
            dense -= feed["v"][0]
    share = 1 / workers if mode == "sync" else 1
    return table * share, dense * share


def network(job):
    ids = fluid.data("ids", [None, 1], "int64")
    w, v = fluid.data("w", [None, WIDTH]), fluid.data("v", [None, WIDTH])
    zero = fluid.initializer.Constant(0.0)
    rows = fluid.embedding(ids, [ROWS, WIDTH], is_sparse=True, is_distributed=job.get("hashed", False),
                           param_attr=fluid.ParamAttr("table", initializer=zero))
    rows = fluid.layers.reshape(rows, [-1, WIDTH])
    dense = fluid.layers.create_parameter([WIDTH], "float32", name="dense", default_initializer=zero)
    loss = fluid.layers.reduce_sum(rows * w) + fluid.layers.reduce_sum(fluid.layers.elementwise_mul(v, dense))
    return loss, rows, fluid.layers.scale(dense, 1.0)


def main(job):
    with open(os.path.join(job["dir"], "%s%s.pid" % (os.environ["TRAINING_ROLE"], os.environ.get(
            "PADDLE_TRAINER_ID", os.environ.get("PADDLE_PSERVER_ID", "")))), "w") as f:
        f.write(str(os.getpid()))
    fleet.init(role_maker.PaddleCloudRoleMaker())
    loss, rows, dense = network(job)
    fleet.distributed_optimizer(fluid.optimizer.SGD(1.0), STRATEGIES[job["mode"]]()).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = fluid.Executor(fluid.CPUPlace())
    fleet.init_worker()
    exe.run(fleet.startup_program)
    first = fluid.executor.runtime().done() if job["mode"] == "sync" else 0
    progress = os.path.join(job["dir"], "progress.%d" % fleet.worker_index())
    for step in range(first, job["steps"]):
        exe.run(fleet.main_program, feed=batch(fleet.worker_index(), step), fetch_list=[loss])
        with open(progress, "a") as f:
            f.write("%d\n" % step)
        if step == job.get("hang"):
            signal.pause()
        time.sleep(job.get("pause", 0))
    # A communicator has sent all gradients, and GEO all differences, when it has stopped.
    if communicator._core.has_communicator(communicator.runtime()):
        communicator._core.stop_communicator(communicator.runtime())
    fleet.barrier_worker()
    if fleet.is_first_worker():
        if job["mode"] == "geo":
            # The parameters of a worker are its own; it fetches those of the servers.
            exe.run(fleet.startup_program)
        fleet.save_inference_model(exe, os.path.join(job["dir"], "model"), ["ids"], [rows, dense])
    fleet.barrier_worker()
    fleet.stop_worker()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
