"""One process of a job that trains with every runner in turn: ``step_matrix_job.py MODE``. A worker writes its parameters as JSON."""

import json
import os
import sys

import numpy as np

import oarlock.fluid as fluid

STEPS, ROWS = 4, 8
RUNNERS = ("run", "dataset", "replicas")


def build():
    fluid.default_startup_program().random_seed = 7
    x = fluid.data("x", [None, 4], "float32")
    y = fluid.data("y", [None, 1], "float32")
    hidden = fluid.layers.fc(x, 6, act="tanh", param_attr="hidden")
    out = fluid.layers.fc(hidden, 1, param_attr="out")
    return [x, y], fluid.layers.mean(fluid.layers.square_error_cost(out, y))


def batch(step, rows):
    x = np.array([[(step * 31 + row * 17 + i * 7) % 13 / 8 - 0.75 for i in range(4)] for row in rows], "float32")
    return {"x": x, "y": x[:, :1] - x[:, 1:2] + 0.5}


def train(runner, exe, program, inputs, loss, first, rows):
    """Makes ``STEPS`` steps from ``first`` on."""
    steps = range(first, first + STEPS)
    if runner == "dataset":
        name = "rows.%d.%d" % (first, rows[0])
        with open(name, "w") as file:
            for feed in (batch(step, rows) for step in steps):
                for x, y in zip(feed["x"], feed["y"]):
                    file.write("4 %s 1 %s\n" % (" ".join(repr(float(v)) for v in x), repr(float(y[0]))))
        dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
        dataset.set_use_var(inputs)
        dataset.set_batch_size(len(rows))
        dataset.set_thread(1)
        dataset.set_filelist([name])
        return exe.train_from_dataset(program, dataset)
    if runner == "replicas":
        program = fluid.CompiledProgram(program).with_data_parallel(loss_name=loss.name, places=fluid.cpu_places(2))
    for step in steps:
        exe.run(program, feed=batch(step, rows))


def train_with_all(exe, program, inputs, loss, rows):
    for turn, runner in enumerate(RUNNERS):
        train(runner, exe, program, inputs, loss, turn * STEPS, rows)
    found = {name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in ("hidden", "out")}
    return {name: value.tolist() for name, value in found.items()}


def share(worker, workers):
    count = ROWS // workers
    return list(range(worker * count, (worker + 1) * count))


def with_servers(mode):
    from oarlock.fluid.incubate.fleet.base import role_maker
    from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

    fleet.init(role_maker.PaddleCloudRoleMaker())
    inputs, loss = build()
    strategy = getattr(StrategyFactory, "create_%s_strategy" % mode)(*([2] if mode == "geo" else []))
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        return fleet.run_server()
    exe = fluid.Executor(fluid.CPUPlace())
    fleet.init_worker()
    exe.run(fleet.startup_program)
    rows = share(fleet.worker_index(), fleet.worker_num())
    write(fleet.worker_index(), train_with_all(exe, fleet.main_program, inputs, loss, rows))
    fleet.stop_worker()


def with_ranks(mode):
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    if os.environ.get("OARLOCK_RESTART", "0") != "0":
        return
    inputs, loss = build()
    fluid.optimizer.SGD(0.1).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    config.mode, config.collective_mode = "collective", "grad_allreduce"
    made = fluid.DistributeTranspiler(config)
    made.transpile(rank, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"], current_endpoint=os.environ["PADDLE_CURRENT_ENDPOINT"])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    if mode == "elastic" and rank == 2:
        os._exit(9)
    write(rank, train_with_all(exe, made.get_trainer_program(), inputs, loss, share(rank, 2)))
    exe.close()


def write(worker, params):
    with open("params.%d" % worker, "w") as file:
        json.dump(params, file)


if __name__ == "__main__":
    (with_ranks if sys.argv[1] in ("collective", "elastic") else with_servers)(sys.argv[1])
