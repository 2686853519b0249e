"""Fluid 1.8 on two parameter servers and two trainers: `ps_fluid.py ctr|word2vec MODE sgd|adam DIRECTORY PASSES SEED`.

MODE is sync, half_async, async or geo. Starts its own processes; prints the rates of all passes but the first, memory and processor
time of each process, and the AUC of the last pass (of ctr)."""
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["CPU_NUM"] = "1"
for name in [n for n in os.environ if "proxy" in n.lower()]:
    del os.environ[name]
import numpy as np

SERVERS = TRAINERS = 2
# Fluid's servers never end by themselves; this long after the last trainer they are killed.
GRACE = 3
LIMIT = 300


def launch(args):
    held = [socket.socket() for _ in range(SERVERS)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = ",".join("127.0.0.1:%d" % s.getsockname()[1] for s in held)
    for s in held:
        s.close()
    with tempfile.TemporaryDirectory() as folder:

        def start(role, number):
            log = open("%s/%s%d.log" % (folder, role, number), "w")
            command = [sys.executable, os.path.abspath(__file__)] + args + [role, str(number), ports, folder]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

        servers = [start("server", i) for i in range(SERVERS)]
        trainers = [start("trainer", i) for i in range(TRAINERS)]
        used = wait(servers, trainers)
        logs = [[json.loads(line) for line in open("%s/%d.json" % (folder, t))] for t in range(TRAINERS)]
    rates = []
    for passes in list(zip(*logs))[1:]:
        seconds = max(p["end"] for p in passes) - min(p["begin"] for p in passes)
        rates.append(sum(p["samples"] for p in passes) / seconds)
    print("USED trainers: %s; servers: %s" % (", ".join(used[p.pid] for p in trainers), ", ".join(used[p.pid] for p in servers)))
    print("AUC %.6f" % np.mean([log[-1]["auc"] for log in logs]))
    print("RESULT 0 %s" % " ".join("%.2f" % r for r in rates))


def wait(servers, trainers):
    live, used, begun, left = {p.pid: p for p in servers + trainers}, {}, time.time(), None
    while live:
        for pid in list(live):
            done, _, usage = os.wait4(pid, os.WNOHANG)
            if done:
                used[pid] = show(usage)
                del live[pid]
        if left is None and not any(p.pid in live for p in trainers):
            left = time.time()
        if left is not None and time.time() - left > GRACE or time.time() - begun > LIMIT:
            for pid, process in live.items():
                process.kill()
                used[pid] = show(os.wait4(pid, 0)[2])
            break
        time.sleep(0.05)
    return used


def show(usage):
    return "%.0f MB %.1f s" % (usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


def barrier(folder, name, number):
    open("%s/%s_%d" % (folder, name, number), "w").close()
    while not all(os.path.exists("%s/%s_%d" % (folder, name, n)) for n in range(TRAINERS)):
        time.sleep(0.005)


def node(network, mode, optimizer, directory, passes, seed, role, number, ports, folder):
    import paddle.fluid as fluid
    import paddle.fluid.incubate.fleet.base.role_maker as role_maker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

    import ps_networks

    number = int(number)
    who = role_maker.Role.SERVER if role == "server" else role_maker.Role.WORKER
    fleet.init(role_maker.UserDefinedRoleMaker(current_id=number, role=who, worker_num=TRAINERS, server_endpoints=ports.split(",")))
    strategy = {
        "sync": StrategyFactory.create_sync_strategy,
        "half_async": StrategyFactory.create_half_async_strategy,
        "async": StrategyFactory.create_async_strategy,
        "geo": lambda: StrategyFactory.create_geo_strategy(100 if network == "ctr" else 400),
    }[mode]()
    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = int(seed)
    slots, loss, stats, batch = getattr(ps_networks, network)(fluid)
    fleet.distributed_optimizer(ps_networks.optimizer(fluid, network, optimizer), strategy).minimize(loss)
    if role == "server":
        fleet.init_server()
        fleet.run_server()
        return
    exe = fluid.Executor(fluid.CPUPlace())
    fleet.init_worker()
    exe.run(fleet.startup_program)
    files = sorted(glob.glob(directory + "/part-*"))[number::TRAINERS]
    samples = sum(sum(1 for _ in open(f)) for f in files)

    def counts():
        return [np.array(fluid.global_scope().find_var(s.name).get_tensor()).ravel().astype("float64") for s in stats]

    for at in range(int(passes)):
        barrier(folder, "pass%d" % at, number)
        before, begin = counts(), time.time()
        ps_networks.train(fluid, exe, fleet.main_program, slots, files, batch, 1)
        end, auc = time.time(), 0.0
        if stats:
            positive, negative = ((b - a)[::-1] for a, b in zip(before, counts()))
            auc = np.sum((np.cumsum(positive) - positive / 2) * negative) / positive.sum() / negative.sum()
        with open("%s/%d.json" % (folder, number), "a") as log:
            log.write(json.dumps({"begin": begin, "end": end, "samples": samples, "auc": float(auc)}) + "\n")
    barrier(folder, "end", number)
    fleet.stop_worker()


if len(sys.argv) == 7:
    launch(sys.argv[1:])
else:
    node(*sys.argv[1:])
