"""One process of a job whose learning rate changes: ``python schedule_job.py JSON``, a script of Fluid 1.8 that runs unchanged with
``python -m oarlock.paddle``. Prints one line of JSON with what a test compares.

``schedule_losses.json`` holds what Fluid 1.8.5 itself says: for each schedule the losses of two trainers with two servers in sync mode
({"mode": "sync", "trainers": 2, "net": "regression", "steps": 8}), and the rates of sixteen steps of one process ({"role": "LOCAL", "net":
"line", "steps": 17}: the weight falls by the rate in every step)."""

import json
import os
import sys

import numpy as np
import paddle.fluid as fluid

job = json.loads(sys.argv[1])
role, index, trainers, mode = job["role"], job.get("index", 0), job.get("trainers", 1), job.get("mode")
servers = job.get("servers", [])

SCHEDULES = {
    "exponential": lambda layers: layers.exponential_decay(0.1, 2, 0.5),
    "polynomial": lambda layers: layers.polynomial_decay(0.1, 5, 0.01),
    "cosine": lambda layers: layers.cosine_decay(0.1, 2, 12),
    "piecewise": lambda layers: layers.piecewise_decay([3, 6], [1.0, 0.1, 0.01]),
    "noam": lambda layers: layers.noam_decay(4, 3),
    "warmup": lambda layers: layers.linear_lr_warmup(layers.exponential_decay(0.1, 2, 0.5), 3, 0.0, 0.1),
}


def regression():
    x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    first = fluid.initializer.NumpyArrayInitializer(np.arange(4, dtype="float32").reshape(4, 1) / 10)
    bias = fluid.ParamAttr(name="b", initializer=fluid.initializer.Constant(0.5))
    found = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=first), bias_attr=bias)
    return fluid.layers.mean(fluid.layers.square_error_cost(found, y))


def line():
    """Its gradient is 1 wherever it stands."""
    fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    w = fluid.layers.create_parameter([1], "float32", name="w", attr=fluid.ParamAttr(
        name="w", initializer=fluid.initializer.Constant(0.0)))
    return fluid.layers.mean(fluid.layers.scale(w, 1.0))


loss = {"regression": regression, "line": line}[job["net"]]()
exe = fluid.Executor(fluid.CPUPlace())


def train(program, before=lambda: None):
    rng, losses, count = np.random.RandomState(7), [], 8 // trainers
    for _ in range(job["steps"]):
        x = rng.uniform(-1, 1, (8, 4)).astype("float32")
        mine = x[index * count:(index + 1) * count]
        before()
        found, = exe.run(program, feed={"x": mine, "y": mine.sum(1, keepdims=True)}, fetch_list=[loss])
        losses.append(float(np.ravel(found)[0]))
    return losses


def kept():
    """What a server has in the end."""
    value = lambda name: fluid.global_scope().find_var(name)  # noqa: E731
    found = {name: value(name) for name in ("w", "@LR_DECAY_COUNTER@")}
    return {name: float(np.ravel(np.array(var.get_tensor()))[0]) for name, var in found.items() if var is not None}


def transpiled():
    optimizer().minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.sync_mode = mode == "sync"
    transpiler = fluid.DistributeTranspiler(config)
    transpiler.transpile(index, pservers=",".join(servers), trainers=trainers, sync_mode=mode == "sync")
    if role == "PSERVER":
        program, startup = transpiler.get_pserver_programs(servers[index])
        exe.run(startup)
        exe.run(program)
        return kept()
    program = transpiler.get_trainer_program()
    exe.run(fluid.default_startup_program())
    losses = train(program)
    exe.close()
    return {"losses": losses}


def with_fleet():
    import paddle.fluid.incubate.fleet.base.role_maker as role_maker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

    os.environ.setdefault("CPU_NUM", "1")
    kind = role_maker.Role.SERVER if role == "PSERVER" else role_maker.Role.WORKER
    fleet.init(role_maker.UserDefinedRoleMaker(current_id=index, role=kind, worker_num=trainers, server_endpoints=servers))
    strategy = getattr(StrategyFactory, "create_%s_strategy" % mode[len("fleet_"):])()
    fleet.distributed_optimizer(optimizer(), strategy).minimize(loss)
    if role == "PSERVER":
        fleet.init_server()
        fleet.run_server()
        return kept()
    fleet.init_worker()
    exe.run(fleet.startup_program)
    losses = train(fleet.main_program)
    fleet.stop_worker()
    return {"losses": losses}


def with_fleet2():
    """A scheduler of Paddle 2, whose rate each worker sets itself: that of worker n is 1 / (n + 1) of the first one's."""
    import paddle
    import paddle.distributed.fleet as fleet

    fleet.init(fleet.UserDefinedRoleMaker(
        current_id=index, role=fleet.Role.SERVER if role == "PSERVER" else fleet.Role.WORKER, worker_num=trainers,
        server_endpoints=servers))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode == "fleet2_async"
    scheduler = paddle.optimizer.lr.ExponentialDecay(0.5 / (index + 1), 0.5)
    fleet.distributed_optimizer(paddle.optimizer.SGD(scheduler), strategy).minimize(loss)
    if role == "PSERVER":
        fleet.init_server()
        fleet.run_server()
        return kept()
    exe.run(fluid.default_startup_program())
    fleet.init_worker()
    steps = iter(range(job["steps"]))
    losses = train(fluid.default_main_program(), lambda: scheduler.step() if next(steps) else None)
    fleet.stop_worker()
    return {"losses": losses}


def optimizer():
    return fluid.optimizer.SGD(SCHEDULES[job["schedule"]](fluid.layers))


def alone():
    optimizer().minimize(loss)
    exe.run(fluid.default_startup_program())
    return {"losses": train(fluid.default_main_program())}


if role == "LOCAL":
    result = alone()
elif mode.startswith("fleet2"):
    result = with_fleet2()
else:
    result = with_fleet() if mode.startswith("fleet") else transpiled()
print(json.dumps(result), flush=True)
