"""One process of a job with parameter servers, as tests start it: ``python ps_job.py '{"role": "trainer", ...}'``.

Prints one line of JSON with what a test compares: losses, and parameters when asked for."""

import json
import os
import random
import sys
import time

import numpy as np

import oarlock.fluid as fluid
from oarlock.fluid.incubate.fleet.base import role_maker
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from oarlock.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../crates/oarlock/tests/golden")
BATCH = 20


def fit_a_line():
    """Batches that a line fits, the same in every process."""
    rng = np.random.RandomState(7)
    x = rng.uniform(-1, 1, (20, BATCH, 13)).astype("float32")
    weights = np.arange(13, dtype="float32") / 6
    return {"x": x, "y": (x @ weights + 0.5)[..., None]}


def build(job):
    """The network; returns its loss and the batches."""
    if job["net"].startswith("golden:"):
        return golden(job["net"][len("golden:"):])
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 90
    x = fluid.data("x", [None, 13])
    y = fluid.data("y", [None, 1])
    predicted = fluid.layers.fc(x, 1)
    return fluid.layers.mean(fluid.layers.square_error_cost(predicted, y)), fit_a_line()


def golden(net):
    """A network of the predecessor's, as it saved it."""
    directory = os.path.join(GOLDEN, net)
    for name, switch in (("main", fluid.framework.switch_main_program), ("startup", fluid.framework.switch_startup_program)):
        with open(os.path.join(directory, name + ".program"), "rb") as f:
            switch(fluid.Program.parse_from_string(f.read()))
    block = fluid.default_main_program().global_block()
    loss = next(op.output("Out")[0] for op in block.ops if op.type == "mean")
    return block.var(loss), dict(np.load(os.path.join(directory, "batches.npz")))


def transpiler(job):
    config = fluid.DistributeTranspilerConfig()
    for name, value in job.get("config", {}).items():
        setattr(config, name, value)
    made = fluid.DistributeTranspiler(config)
    made.transpile(job.get("id", 0), pservers=",".join(job["servers"]), trainers=job["trainers"],
                   sync_mode=job.get("sync_mode", True), current_endpoint=job.get("endpoint", ""))
    return made


def steps(job, exe, program, loss, batches):
    """Trains on this trainer's share of every batch."""
    size = len(next(iter(batches.values()))[0]) // job["trainers"]
    losses = []
    if "replicas" in job:
        how = StrategyFactory.create_sync_strategy().get_build_strategy() if "fleet" in job else fluid.BuildStrategy()
        places = [fluid.CPUPlace()] * job["replicas"]
        program = fluid.CompiledProgram(program).with_data_parallel(loss.name, how, places=places)
    start = fluid.executor.runtime().done() if job.get("again") else job.get("from", 0)
    for step in range(start, job.get("steps", 20)):
        mine = slice(job["id"] * size, (job["id"] + 1) * size)
        value, = exe.run(program, feed={name: b[step][mine] for name, b in batches.items()}, fetch_list=[loss])
        losses.append(float(value.mean()))
        if "progress" in job:
            with open(job["progress"], "a") as f:
                f.write("%d\n" % step)
        time.sleep(job.get("pause", 0))
    return losses


def by_transpiler(job):
    loss, batches = build(job)
    if not job["net"].startswith("golden:"):
        fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    made = transpiler(job)
    if job["role"] == "server":
        main, startup = made.get_pserver_programs(job["endpoint"])
        exe.run(startup)
        if "model" in job:
            fluid.io.load_persistables(exe, job["model"], main)
        exe.run(main)
        return {}
    program = made.get_trainer_program()
    exe.run(fluid.default_startup_program())
    losses = steps(job, exe, program, loss, batches)
    if "save" in job:
        fluid.io.save_persistables(exe, job["save"], program)
    if "end" in job:
        ends[job["end"]]()
    if job.get("close", True):
        exe.close()
    return {"losses": losses}


def caught():
    try:
        sys.exit(3)
    except SystemExit:
        print("{}")
        sys.exit()


# How a script ends.
ends = {
    "exit 3": lambda: sys.exit(3),
    "exit with a text": lambda: sys.exit("no more batches"),
    "SystemExit": lambda: (_ for _ in ()).throw(SystemExit(3)),
    "exit 0": lambda: sys.exit(0),
    "caught": caught,
}


def shuffled(job, exe):
    """Trains on samples that all workers deal out again; returns which of them came here."""
    dataset, dealt = deal_out(job, fleet, keep=True)
    exe.train_from_dataset(fleet.main_program, dataset)
    total = np.zeros(1)
    fleet.all_reduce_worker(np.array([float(len(dealt["numbers"]))]), total)
    gathered = fleet._role_maker.all_gather(job["id"])
    fleet.barrier_worker()
    fleet.stop_worker()
    return dict(dealt, total=float(total[0]), gathered=gathered)


def deal_out(job, fleet, keep=False):
    """Loads the worker's files and deals the samples of all workers out again."""
    random.seed(job["seed"])
    block = fluid.default_main_program().global_block()
    dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_use_var([block.var("x"), block.var("y")])
    dataset.set_batch_size(10)
    dataset.set_filelist(fleet.split_files(job["files"]))
    dataset.load_into_memory()
    before = dataset.get_memory_data_size()
    dataset.global_shuffle(fleet)
    sizes = [dataset.get_memory_data_size(fleet), dataset.get_shuffle_data_size(fleet), before]
    numbers = [int(n) for batch in dataset._configure().begin(1) for n in _first_column(batch)]
    dealt = {"numbers": numbers, "sizes": sizes}
    return (dataset, dealt) if keep else dealt


def _first_column(batches):
    while True:
        batch = batches.next()
        if batch is None:
            return
        yield from np.array(batch[0]["x"])[:, 0]


def over_epochs(job, exe, loss, batches, evaluate):
    """Trains some epochs in which workers have unequal numbers of batches; they meet after each. Returns how many this one had, and the
    loss of a batch after the last."""
    batches = [{name: b[step] for name, b in batches.items()} for step in range(4)]
    had = []
    for _ in range(job["epochs"]):
        if "files" in job:
            dataset, dealt = deal_out(job, fleet, keep=True)
            exe.train_from_dataset(fleet.main_program, dataset)
            had.append(-(-len(dealt["numbers"]) // 10))
        else:
            for batch in fleet.even_reader(lambda: iter(batches[:3 + job["id"]]), job["even"])():
                exe.run(fleet.main_program, feed=batch, fetch_list=[loss])
                had.append(len(had))
            total = np.zeros(1)
            fleet.all_reduce_worker(np.ones(1), total)
            assert total[0] == job["trainers"]
    fleet.barrier_worker()
    value, = exe.run(evaluate, feed=batches[0], fetch_list=[loss])
    fleet.stop_worker()
    return {"had": had, "loss": float(np.ravel(value)[0])}


def by_fleet(job):
    loss, batches = build(job)
    evaluate = fluid.default_main_program().clone(for_test=True)
    serves = job["role"] == "server"
    fleet.init(role_maker.UserDefinedRoleMaker(
        current_id=job["servers"].index(job["endpoint"]) if serves else job["id"],
        role=role_maker.Role.SERVER if serves else role_maker.Role.WORKER, worker_num=job["trainers"],
        server_endpoints=job["servers"]))
    strategy = getattr(StrategyFactory, "create_%s_strategy" % job["fleet"])(*job.get("strategy", []))
    optimizer = fluid.optimizer.Adam(0.05) if job.get("adam") else fluid.optimizer.SGD(0.1)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    if serves:
        fleet.init_server(job.get("model"))
        fleet.run_server()
        return {}
    exe = fluid.Executor(fluid.CPUPlace())
    if job.get("init_first"):
        fleet.init_worker()
        exe.run(fleet.startup_program)
    else:
        exe.run(fleet.startup_program)
        fleet.init_worker()
    if "epochs" in job:
        return over_epochs(job, exe, loss, batches, evaluate)
    if "files" in job:
        return shuffled(job, exe)
    losses = steps(job, exe, fleet.main_program, loss, batches)
    if "save" in job:
        fleet.save_persistables(exe, job["save"])
        fleet.save_inference_model(exe, job["save"] + "_model", ["x"], [fluid.default_main_program().global_block().var("fc_0.tmp_1")])
    fleet.stop_worker()
    return {"losses": losses}


if __name__ == "__main__":
    description = json.loads(sys.argv[1])
    print(json.dumps((by_fleet if "fleet" in description else by_transpiler)(description)))
