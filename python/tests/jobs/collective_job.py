"""One worker of a job without servers, as tests launch it: ``collective_job.py '{"how": "fleet", ...}'``.

Writes a file of JSON with what a test compares: losses and parameters."""

import json
import os
import sys
import time

import numpy as np

import ps_job
import oarlock.fluid as fluid
from oarlock import distributed
from oarlock.fluid.incubate.fleet.base import role_maker
from oarlock.fluid.incubate.fleet.collective import DistributedStrategy, fleet


def by_fleet(job, loss):
    fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
    strategy = DistributedStrategy()
    for name, value in job.get("strategy", {}).items():
        setattr(strategy, name, value)
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.01), strategy).minimize(loss)
    return fleet.main_program, fleet.startup_program


def by_transpiler(job, loss):
    if not loss.block.program.global_block().has_var(loss.name + "@GRAD"):
        fluid.optimizer.SGD(0.01).minimize(loss)
    config = fluid.DistributeTranspilerConfig()
    for name, value in job["config"].items():
        setattr(config, name, value)
    made = fluid.DistributeTranspiler(config)
    made.transpile(int(os.environ["PADDLE_TRAINER_ID"]), trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"],
                   current_endpoint=os.environ["PADDLE_CURRENT_ENDPOINT"])
    return made.get_trainer_program(), fluid.default_startup_program()


def main(job):
    rank, workers = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    loss, data = ps_job.build(dict(job, net=job.get("net", "line")))
    if job.get("seeds") and rank:
        fluid.default_startup_program().random_seed = 1000 + rank
    main_program, startup = (by_fleet if job["how"] == "fleet" else by_transpiler)(job, loss)
    if job.get("compiled"):
        main_program = fluid.CompiledProgram(main_program).with_data_parallel(loss_name=loss.name)
    exe = fluid.Executor(fluid.CPUPlace())
    again = os.environ.get("OARLOCK_RESTART", "0") != "0"
    while again and job.get("late") and not os.path.exists("result.0"):
        time.sleep(0.05)
    exe.run(startup)
    share = next(iter(data.values())).shape[1] // workers

    def batches():
        for step in range(job["steps"][rank]):
            yield {name: array[step][rank * share:(rank + 1) * share] for name, array in data.items()}

    reader = batches
    if job.get("even"):
        reader = distributed.even_reader(batches, job["even"])
    if job.get("files"):
        dealt = ps_job.deal_out(dict(job, id=rank), fleet)
    losses = []
    for step, feed in enumerate(reader()):
        if job.get("dies") == [rank, step] and not (again and job.get("late")):
            os._exit(9)
        if job.get("fails") == [rank, step]:
            raise ValueError("this worker fails")
        if job.get("exits") == [rank, step]:
            sys.exit(3)
        losses.append(float(np.mean(exe.run(main_program, feed=feed, fetch_list=[loss])[0])))
    summed = None
    if job["how"] == "fleet" and job.get("sum"):
        summed = np.zeros(2)
        fleet._role().all_reduce_worker(np.array([rank + 1.0, 1.0]), summed)
        summed = summed.tolist()
        fleet.barrier_worker()
    if not job.get("forgets"):
        fleet.stop_worker() if job["how"] == "fleet" else exe.close()
    scope = fluid.global_scope()
    names = [v.name for v in loss.block.program.all_parameters()]
    result = {"losses": losses, "dealt": dealt if job.get("files") else None, "sum": summed, "params": {n: np.array(scope.find_var(n).get_tensor()).tolist() for n in names}}
    with open("result.%d" % rank, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
