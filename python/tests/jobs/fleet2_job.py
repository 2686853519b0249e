"""A static script of Paddle 2 with Fleet, as tests start it in every process of a job: ``python -m oarlock.paddle fleet2_job.py JSON``.

Prints one line of JSON with what a test compares."""

import json
import resource
import subprocess
import sys
import time

import numpy as np
import paddle
import paddle.distributed.fleet as fleet

paddle.enable_static()

ROWS = 40


def samples(job):
    """This worker's rows of every batch; workers may have different numbers of them."""
    rng = np.random.RandomState(7)
    x = rng.uniform(-1, 1, (job["steps"], ROWS, 4)).astype("float32")
    ids = rng.randint(0, 30, (job["steps"], ROWS, 1)).astype("int64")
    y = (x.sum(-1, keepdims=True) + (ids % 3 - 1) > 0).astype("int64")
    first, last = 0, ROWS
    if fleet.worker_num() > 1:
        shares = job.get("shares", [ROWS // fleet.worker_num()] * fleet.worker_num())
        first = sum(shares[:fleet.worker_index()])
        last = first + shares[fleet.worker_index()]
    return [{"x": x[s][first:last], "ids": ids[s][first:last], "y": y[s][first:last]} for s in range(job["steps"])]


def network(job):
    x = paddle.static.data("x", [None, 4])
    ids = paddle.static.data("ids", [None, 1], "int64")
    y = paddle.static.data("y", [None, 1], "int64")
    if job.get("sparse"):
        first = paddle.nn.initializer.Constant(0.1)
        rows = paddle.static.nn.sparse_embedding(ids, [1000, 4], param_attr=paddle.ParamAttr("table", first))
    else:
        rows = paddle.static.nn.embedding(ids, [30, 4], is_sparse=not job.get("collective"), param_attr=paddle.ParamAttr("table"))
    joined = paddle.concat([x, paddle.reshape(rows, [-1, 4])], axis=1)
    hidden = paddle.static.nn.fc(joined, 8, activation="relu", name="hidden")
    if job.get("dropout"):
        hidden = paddle.nn.functional.dropout(hidden, 0.2)
    out = paddle.nn.functional.softmax(paddle.static.nn.fc(hidden, 2))
    cost = paddle.nn.functional.cross_entropy(out, y, use_softmax=False, reduction="none")
    auc, _, stats = paddle.static.auc(out, y)
    return {"loss": paddle.mean(cost), "out": out, "auc": auc, "stats": stats, "hidden": hidden, "y": y,
            "right": paddle.static.accuracy(out, y)}


def main(job):
    role = None
    if "role" in job:
        role = fleet.UserDefinedRoleMaker(**job["role"])
    fleet.init(role, is_collective=job.get("collective", False))
    paddle.seed(90)
    net = network(job)
    strategy = fleet.DistributedStrategy()
    for name, value in job.get("strategy", {}).items():
        setattr(strategy, name, value)
    kind = job.get("optimizer", "SGD")
    optimizer = getattr(paddle.optimizer, kind)(learning_rate=job.get("rate", 0.1))
    fleet.distributed_optimizer(optimizer, strategy).minimize(net["loss"])
    if fleet.is_server():
        if "file_limit" in job:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_limit"], job["file_limit"]))
        fleet.init_server(*job.get("load", []), checkpoint=job.get("checkpoint"))
        fleet.run_server()
        return {}
    exe = paddle.static.Executor(paddle.CPUPlace())
    if job.get("wrong_order"):
        fleet.init_worker()
    exe.run(paddle.static.default_startup_program())
    if not job.get("collective"):
        fleet.init_worker()
    stood = fleet.load_checkpoint(job["checkpoint"]) if "checkpoint" in job else None
    return dict(train(job, net, exe, stood), **after(job, net, exe))


def train(job, net, exe, stood):
    main_program, losses, counted = paddle.static.default_main_program(), [], np.zeros(3)
    first = stood["step"] if stood else 0
    for step, feed in enumerate(samples(job)[first:], first):
        if step and step != first and "checkpoint" in job and step % job["every"] == 0:
            fleet.save_checkpoint(job["checkpoint"], step=step, notes={"reader": "batch %d" % step}, max_num=2)
        if "progress" in job:
            with open("%s.%d" % (job["progress"], fleet.worker_index()), "a") as f:
                f.write("%d\n" % step)
        time.sleep(job.get("pause", 0))
        loss, right = exe.run(main_program, feed=feed, fetch_list=[net["loss"], net["right"]])
        losses.append(loss.item())
        count = len(feed["y"])
        counted += [loss.item() * count, right.item() * count, count]
    total = fleet.metrics.sum(counted)
    return {
        "first": first, "notes": stood and stood["notes"], "losses": losses, "mean_loss": float(total[0] / total[2]),
        "acc": fleet.metrics.acc(np.array([counted[1]]), np.array([counted[2]])),
        "auc": fleet.metrics.auc(net["stats"][2], net["stats"][3]),
        "least": fleet.metrics.min(np.array([len(feed["y"])])).tolist(),
        "errors": [fleet.metrics.mae(counted[:1], counted[2:]), fleet.metrics.mse(counted[:1], counted[2:]),
                   fleet.metrics.rmse(counted[:1], counted[2:])],
        "most": fleet.metrics.max(np.array([len(feed["y"])])).tolist(),
        "gathered": [np.asarray(v).tolist() for v in fleet.util.all_gather(fleet.worker_index())],
        "files": fleet.util.get_file_shard(["a", "b", "c"]),
    }


def after(job, net, exe):
    fleet.barrier_worker()
    done = {}
    if "notify" in job and fleet.is_first_worker():
        notify = paddle.static.Program()
        notify.global_block().append_op("checkpoint_notify", attrs={
            "epmap": fleet.server_endpoints(), "dir": job["notify"], "lookup_table": "table"})
        exe.run(notify)
    if "shrink" in job:
        done["gone"] = [fleet.shrink(**stale) for stale in job["shrink"]]
    if "save" in job:
        fleet.save_persistables(exe, job["save"])
        fleet.save_inference_model(exe, job["save"] + "_model", ["x", "ids"], [net["out"]])
    fleet.barrier_worker()
    if fleet.is_first_worker() and job.get("predict"):
        paddle.static.save_inference_model(
            job["save"] + "_prefix/ctr", [paddle.static.default_main_program().global_block().var(n) for n in ("x", "ids")],
            [net["out"]], exe)
    if fleet.is_first_worker() and job.get("look"):
        # Somebody who is no part of the job.
        model, servers = job["save"] + "_model", fleet.server_endpoints()
        for name, endpoints in [("local", None), ("remote", servers)]:
            ran = subprocess.run([sys.executable, "-c", LOOK, model, json.dumps(endpoints), str(job["look"])],
                                 capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0, ran.stderr
            done[name] = json.loads(ran.stdout.splitlines()[-1])
    fleet.stop_worker()
    return done


LOOK = """
import json, sys
import numpy as np
import oarlock.fluid as fluid
exe = fluid.Executor(fluid.CPUPlace())
program, feeds, fetches = fluid.io.load_inference_model(sys.argv[1], exe, pserver_endpoints=json.loads(sys.argv[2]))
ids = np.arange(int(sys.argv[3])).reshape(-1, 1)
feed = {"x": np.ones((len(ids), 4), "float32"), "ids": ids}
print(json.dumps(np.asarray(exe.run(program, feed=feed, fetch_list=fetches)[0]).tolist()))
"""


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
