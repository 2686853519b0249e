"""A script for Fluid 1.8 that starts the communicator by hand: ``python -m oarlock.paddle communicator_job.py '{"role": ...}'``.

Prints one line of JSON: the losses of a trainer, and whether the communicator ran before, between and after."""

import json
import sys

import numpy as np
import paddle.fluid as fluid
from paddle.fluid.communicator import Communicator
from paddle.fluid.transpiler.distribute_transpiler import DistributedMode

CONFIG = {
    "ASYNC": {},
    "HALF_ASYNC": {"half_async": True},
    "SYNC": {"half_async": True, "completely_not_async": True},
    "GEO": {"geo_sgd_mode": True, "geo_sgd_need_push_nums": 3},
}


def kwargs(job):
    """What Fluid's own Fleet passed."""
    if job["mode"] == "SYNC":
        return {"pserver_endpoints": job["servers"], "trainer_id": job["id"]}
    if job["mode"] == "GEO":
        return {"push_vars": {}, "trainers": job["trainers"], "push_nums": 3}
    return None


def main(job):
    x = fluid.data("x", [None, 4])
    y = fluid.data("y", [None, 1])
    start = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
    predicted = fluid.layers.fc(x, 1, param_attr=start, bias_attr=False)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predicted, y))
    fluid.optimizer.SGD(0.1).minimize(loss)

    config = fluid.DistributeTranspilerConfig()
    config.sync_mode, config.runtime_split_send_recv = False, True
    for name, value in CONFIG[job["mode"]].items():
        setattr(config, name, value)
    t = fluid.DistributeTranspiler(config)
    t.transpile(job.get("id", 0), pservers=",".join(job["servers"]), trainers=job["trainers"], sync_mode=False)

    exe = fluid.Executor(fluid.CPUPlace())
    if job["role"] == "server":
        program, startup = t.get_pserver_programs(job["endpoint"])
        exe.run(startup)
        exe.run(program)
        return {}

    program = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    communicator = Communicator(program, getattr(DistributedMode, job["mode"]), kwargs(job), job.get("envs", {}))
    running = [communicator.is_running()]
    communicator.start()
    running.append(communicator.is_running())
    batch = np.random.RandomState(1).uniform(-1, 1, (16, 4)).astype("float32")
    feed = {"x": batch, "y": batch.sum(1, keepdims=True)}
    losses = [float(exe.run(program, feed=feed, fetch_list=[loss])[0].ravel()[0]) for _ in range(60)]
    communicator.stop()
    running.append(communicator.is_running())
    exe.close()
    return {"losses": losses, "running": running}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
