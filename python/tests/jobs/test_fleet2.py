"""Fleet 2.0 with static programs: every field of a strategy shows, and jobs of real processes train, evaluate and save."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock import optimizer, static
from oarlock.distributed import fleet
from oarlock.fluid import options
from processes import LIMIT, Processes, endpoints, result, wait_for_step

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = ["127.0.0.1:1", "127.0.0.1:2"]
WORKERS = ["127.0.0.1:3", "127.0.0.1:4"]


def role(kind):
    """The role of a worker in a job with servers, of a collective worker, or of one process."""
    if kind == "servers":
        return fleet.UserDefinedRoleMaker(current_id=1, worker_num=2, server_endpoints=SERVERS)
    if kind == "collective":
        return fleet.UserDefinedRoleMaker(is_collective=True, current_id=1, worker_endpoints=WORKERS)
    return None


def made(kind, rule, fields):
    """The programs of a worker, as text."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), fluid.unique_name.guard():
        x = static.data("x", [None, 8])
        hidden = static.nn.fc(x, 8, name="hidden")
        loss = fluid.layers.mean(static.nn.fc(hidden, 1, name="out"))
        fleet.init(role(kind))
        strategy = fleet.DistributedStrategy()
        strategy.a_sync_configs = {"launch_barrier": False}
        for name, value in fields:
            field, _, key = name.partition(".")
            setattr(strategy, field, {key: value} if key else value)
        rate = {"SGD": 0.1, "Momentum": 0.1, "Adam": 0.1}[rule]
        fleet.distributed_optimizer(getattr(optimizer, rule)(rate), strategy).minimize(loss)
        return "%s\n%s" % (main, startup)


def checkpoint(name="hidden.tmp_0"):
    return [("recompute", True), ("recompute_configs.checkpoints", [name])]


# The kind of job, the optimizer, what is set first, and then the field with a value that shows.
FIELDS = {
    "a_sync": ("servers", "SGD", [], False),
    "a_sync_configs.k_steps": ("servers", "SGD", [("a_sync", True)], 5),
    "recompute": ("", "SGD", [("recompute_configs.checkpoints", ["hidden.tmp_1"])], True),
    "recompute_configs.checkpoints": ("", "SGD", checkpoint(), ["hidden.tmp_1"]),
    "gradient_merge": ("", "SGD", [], True),
    "gradient_merge_configs.k_steps": ("", "SGD", [("gradient_merge", True)], 4),
    "gradient_merge_configs.avg": ("", "SGD", [("gradient_merge", True), ("gradient_merge_configs.k_steps", 2)], False),
    "lars": ("", "Momentum", [], True),
    "lars_configs.lars_coeff": ("", "Momentum", [("lars", True)], 0.5),
    "lars_configs.lars_weight_decay": ("servers", "Momentum", [("lars", True)], 0.5),
    "lamb": ("servers", "Adam", [], True),
    "lamb_configs.lamb_weight_decay": ("", "Adam", [("lamb", True)], 0.5),
    "lamb_configs.exclude_from_weight_decay": ("", "Adam", [("lamb", True)], ["hidden"]),
    "dgc": ("collective", "Momentum", [], True),
    "dgc_configs.rampup_begin_step": ("", "Momentum", [("dgc", True)], 7),
    "dgc_configs.rampup_step": ("", "Momentum", [("dgc", True)], 7),
    "dgc_configs.sparsity": ("", "Momentum", [("dgc", True)], [0.5]),
    "localsgd": ("collective", "SGD", [], True),
    "localsgd_configs.k_steps": ("collective", "SGD", [("localsgd", True)], 3),
    "localsgd_configs.begin_step": ("collective", "SGD", [("localsgd", True), ("localsgd_configs.k_steps", 2)], 4),
    "nccl_comm_num": ("collective", "SGD", [], 2),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_a_fleet_2_strategy_change_programs(name):
    kind, rule, first, value = FIELDS[name]
    if kind == "servers" and name.startswith("l"):
        # Updates are in the programs of servers.
        fields = [dict(first), dict(first, **{name: value})]
        assert served(rule, list(fields[0].items())) != served(rule, list(fields[1].items()))
        return
    assert made(kind, rule, first) != made(kind, rule, first + [(name, value)])


def served(rule, fields):
    """The programs of a server, as text."""
    made("servers", rule, fields)
    programs = fleet.fleet._transpiler.get_pserver_programs(SERVERS[0])
    return "\n".join(str(program) for program in programs)


KNOBS = {"max_merge_var_num": 3, "send_queue_size": 7, "independent_recv_thread": True, "min_send_grad_num_before_recv": 4,
         "send_wait_times": 2}


@pytest.mark.parametrize("name", KNOBS)
def test_a_sync_configs_reach_the_communicator(name):
    strategy = fleet.DistributedStrategy()
    assert strategy._knobs() == {}
    strategy.a_sync_configs = {name: KNOBS[name]}
    assert strategy._knobs() == {name: str(KNOBS[name])}


def test_launch_barrier_waits_for_servers():
    script = """
import sys, oarlock.static as static, oarlock.fluid as fluid
from oarlock.distributed import fleet
fluid.set_flags({'FLAGS_rpc_deadline': 300})
fleet.init(fleet.UserDefinedRoleMaker(worker_num=1, server_endpoints=['127.0.0.1:9']))
strategy = fleet.DistributedStrategy()
strategy.a_sync_configs = {'launch_barrier': sys.argv[1] == 'wait'}
loss = fluid.layers.mean(static.nn.fc(static.data('x', [None, 1]), 1))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
"""
    ended = [subprocess.run([sys.executable, "-c", script, how], capture_output=True, text=True, timeout=60) for how in ("wait", "go")]
    assert "TimeoutError" in ended[0].stderr and ended[1].returncode == 0, ended


def test_strategies_inside_are_checked():
    build = static.BuildStrategy()
    made("", "SGD", [("build_strategy", build), ("execution_strategy", static.ExecutionStrategy())])
    build.debug_graphviz_path = "x"
    with pytest.raises(NotImplementedError, match="debug_graphviz_path"):
        made("", "SGD", [("build_strategy", build)])
    for name in ("build_strategy", "execution_strategy"):
        with pytest.raises(TypeError, match="must be a paddle.static"):
            made("", "SGD", [(name, {})])


def test_every_honoured_field_is_shown():
    here = {"a_sync_configs." + name for name in KNOBS} | {"a_sync_configs.launch_barrier", "build_strategy", "execution_strategy"}
    assert set(FIELDS) | here == set(options.names("fleet.DistributedStrategy", "honoured"))


def test_the_table_has_every_field_of_paddle():
    """The fields of 2.6.2's message, as it lists them."""
    with open(os.path.join(HERE, "fleet_fields.txt")) as f:
        theirs = set(f.read().split())
    assert theirs <= set(options._table()["fleet.DistributedStrategy"]), theirs - set(options._table()["fleet.DistributedStrategy"])


def test_contradictory_strategies_are_named():
    with pytest.raises(NotImplementedError, match="`gradient_merge` is about workers without parameter servers"):
        made("servers", "SGD", [("gradient_merge", True)])
    with pytest.raises(ValueError, match="`lamb` replaces adam, and the optimizer is sgd"):
        made("", "SGD", [("lamb", True)])
    with pytest.raises(ValueError, match="`a_sync` is off, and `k_steps` is 4"):
        made("servers", "SGD", [("a_sync", False), ("a_sync_configs.k_steps", 4)])
    with pytest.raises(ValueError, match="there is no a_sync_configs.k_step; did you mean a_sync_configs.k_steps"):
        made("", "SGD", [("a_sync_configs.k_step", 4)])
    with pytest.raises(TypeError, match="must be a paddle.distributed.fleet.DistributedStrategy"):
        fleet.init(strategy=fluid.DistributeTranspilerConfig())


def test_methods_of_fleet_2_check_the_role():
    fleet.init(role("servers"))
    with pytest.raises(RuntimeError, match="minimize.loss. before fleet.init_worker"):
        fleet.init_worker()
    made("servers", "SGD", [])
    with pytest.raises(RuntimeError, match="run_server is for servers, and this process is a worker"):
        fleet.run_server()
    assert (fleet.worker_index(), fleet.worker_num(), fleet.server_num(), fleet.is_first_worker()) == (1, 2, 2, False)
    assert fleet.server_endpoints(to_string=True) == ",".join(SERVERS)
    with pytest.raises(NotImplementedError, match="fleet.distributed_model is not supported: it belongs to eager mode"):
        fleet.distributed_model
    with pytest.raises(fluid.core.EnforceNotMet, match="fleet.init_worker.. came before the startup program"):
        fleet.init_worker()


DEFAULTS = {"steps": 12, "rate": 0.5}
COMMAND = ("-m", "oarlock.paddle", os.path.join(HERE, "fleet2_job.py"))


class Job:
    """The processes of a job under the environment of a launcher: servers and workers, or collective workers."""

    def __init__(self, workers=2, servers=2, **job):
        self.job, self.env = dict(DEFAULTS, **job), {}
        self.endpoints = endpoints(servers)
        self.workers = endpoints(workers)

    def start(self, processes):
        """Starts all processes, servers first."""
        argument, common = json.dumps(self.job), dict(self.env, PADDLE_TRAINERS_NUM=str(len(self.workers)))
        if self.job.get("collective"):
            common["PADDLE_TRAINER_ENDPOINTS"] = ",".join(self.workers)
        else:
            common["PADDLE_PSERVERS_IP_PORT_LIST"] = ",".join(self.endpoints)
        for host, port in (endpoint.split(":") for endpoint in self.endpoints):
            processes.python(*COMMAND, argument, TRAINING_ROLE="PSERVER", POD_IP=host, PADDLE_PORT=port, **common)
        for i, endpoint in enumerate(self.workers):
            own = {"PADDLE_CURRENT_ENDPOINT": endpoint} if self.job.get("collective") else {"TRAINING_ROLE": "TRAINER"}
            processes.python(*COMMAND, argument, PADDLE_TRAINER_ID=str(i), **own, **common)
        return processes.processes

    def kill_at(self, step):
        """Starts it, and kills every process, as a power failure does, when the first worker has reached this step. No worker passes it."""
        self.job["hang"] = step
        with Processes() as processes:
            self.start(processes)
            wait_for_step(self.job["progress"] + ".0", step)
            for process in processes.processes:
                process.kill()
            return [process.communicate() for process in processes.processes]

    def fail(self):
        """Runs it until its workers have ended; returns the outputs and errors of the workers."""
        with Processes() as processes:
            return [process.communicate(timeout=LIMIT) for process in self.start(processes)[len(self.endpoints):]]

    def run(self):
        """Runs it to its end; returns the results of the workers."""
        with Processes() as processes:
            return [result(process)[0] for process in self.start(processes)][len(self.endpoints):]


def collective(workers=2, **job):
    """A job of collective workers."""
    return Job(workers, servers=0, collective=True, **job)


def alone(**job):
    """The same script in one process, without a launcher."""
    with Processes() as processes:
        for name in [name for name in processes.env if name.startswith("PADDLE_")]:
            del processes.env[name]
        return result(processes.python(*COMMAND, json.dumps(dict(DEFAULTS, **job))))[0]


METRICS = ("mean_loss", "acc", "auc")


def test_sync_training_and_evaluation_equal_one_process(tmp_path):
    one = alone()
    workers = Job(strategy={"a_sync": False}, save=str(tmp_path / "saved"), predict=True).run()
    for worker in workers:
        np.testing.assert_allclose([worker[name] for name in METRICS], [one[name] for name in METRICS], rtol=2e-5)
        assert worker["gathered"] == [0, 1] and worker["most"] == [20]
    assert [worker["files"] for worker in workers] == [["a", "b"], ["c"]]
    saved = sorted(os.listdir(tmp_path / "saved"))
    assert "table" in saved and "hidden.w_0" in saved and "learning_rate_0" in saved
    assert {"ctr.pdiparams", "ctr.pdmodel"} <= set(os.listdir(tmp_path / "saved_prefix"))
    exe = static.Executor()
    program, feeds, fetches = static.load_inference_model(str(tmp_path / "saved_prefix" / "ctr"), exe)
    old = fluid.io.load_inference_model(str(tmp_path / "saved_model"), exe)
    feed = {"x": np.ones([3, 4], "float32"), "ids": np.arange(3).reshape(3, 1)}
    both = [exe.run(p, feed=feed, fetch_list=f)[0] for p, f in ((program, fetches), (old[0], old[2]))]
    assert feeds == ["x", "ids"] and both[0].shape == (3, 2) and (both[0] == both[1]).all()


@pytest.mark.parametrize("strategy", [
    {}, {"localsgd": True}, {"nccl_comm_num": 2},
    # Averaging after every step equals one process.
    {"localsgd": True, "localsgd_configs": {"k_steps": 5, "begin_step": 1000}},
])
def test_collective_workers_equal_one_process(tmp_path, strategy):
    one = alone(collective=True)
    workers = collective(strategy=strategy, save=str(tmp_path / "saved")).run()
    for worker in workers:
        np.testing.assert_allclose([worker[name] for name in METRICS], [one[name] for name in METRICS], rtol=2e-5)
        assert worker["gathered"] == [0, 1] and worker["most"] == [20]
    assert [worker["files"] for worker in workers] == [["a", "b"], ["c"]]
    np.testing.assert_allclose(np.mean([worker["losses"] for worker in workers], axis=0), one["losses"], rtol=2e-5)
    assert {"table", "hidden.w_0"} <= set(os.listdir(tmp_path / "saved"))


def test_collective_workers_merge_gradients():
    # Twice as many rows make one update.
    merged = collective(strategy={"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True}}).run()
    one = alone(collective=True, strategy={"gradient_merge": True, "gradient_merge_configs": {"k_steps": 2, "avg": True}})
    np.testing.assert_allclose(np.mean([worker["losses"] for worker in merged], axis=0), one["losses"], rtol=2e-5)


MODES = {
    "sync": {"a_sync": False}, "async": {"a_sync": True},
    "geo": {"a_sync": True, "a_sync_configs": {"k_steps": 2}},
}


@pytest.mark.parametrize("mode", MODES)
def test_evaluation_over_unequal_shards_equals_one_process(mode):
    """At a rate of 0 nothing is learned, so every mode must count as one process does."""
    one = alone(rate=0.0)
    workers = Job(strategy=MODES[mode], rate=0.0, shares=[7, 33]).run()
    for worker in workers:
        np.testing.assert_allclose([worker[name] for name in METRICS], [one[name] for name in METRICS], rtol=1e-6)
        assert worker["most"] == [33]


def test_collective_workers_evaluate_as_one_process():
    one = alone(rate=0.0)
    workers = collective(rate=0.0, shares=[7, 33]).run()
    for worker in workers:
        np.testing.assert_allclose([worker[name] for name in METRICS], [one[name] for name in METRICS], rtol=1e-6)
        np.testing.assert_allclose(worker["errors"], one["errors"], rtol=1e-6)
        assert (worker["most"], worker["least"], worker["gathered"]) == ([33], [7], [0, 1])
    assert [worker["files"] for worker in workers] == [["a", "b"], ["c"]]


def test_a_sparse_embedding_on_servers_trains_as_one_process():
    one = alone(sparse=True)
    workers = Job(strategy={"a_sync": False}, sparse=True).run()
    np.testing.assert_allclose(np.mean([worker["losses"] for worker in workers], axis=0), one["losses"], rtol=2e-5)
    assert len(Job(strategy={"a_sync": True}, sparse=True).run()[0]["losses"]) == 12


def test_ids_enter_a_table_as_its_entry_says():
    import oarlock.distributed as distributed
    import oarlock.static as static
    from oarlock import fluid

    def text(**rules):
        program = fluid.Program()
        with fluid.program_guard(program, fluid.Program()):
            ids = fluid.data("ids", [None, 1], "int64")
            static.nn.sparse_embedding(ids, [10, 2], **rules)
            for embedding in (fluid.embedding, fluid.layers.embedding):
                embedding(ids, [10, 2], is_sparse=True, is_distributed=True, **rules)
        lookups = [op for op in program.global_block().ops if op.type.startswith("lookup")]
        found, = {tuple(op.attr(name) for name in rules) for op in lookups}
        assert len(lookups) == 3
        return found

    assert text(entry=distributed.CountFilterEntry(3)) == ("count_filter_entry:3",)
    assert text(entry=distributed.ProbabilityEntry(0.25)) == ("probability_entry:0.25",)
    assert text(entry=distributed.ShowClickEntry("s", "c"), evict=distributed.UnseenEviction(7)) == ("show_click_entry:s:c", "unseen=7")
    by_score = "period=5&delete_threshold=0.5&show_click_decay_rate=0.98&nonclk_coeff=0.1&click_coeff=1"
    assert text(evict=distributed.ScoreEviction(5, 0.5)) == (by_score,)
    assert text(evict=distributed.ScoreEviction(5, 0.5, unseen=9)) == ("unseen=9&" + by_score,)
    wrong = [lambda: distributed.ProbabilityEntry(2.0), lambda: distributed.CountFilterEntry(-1), lambda: distributed.ShowClickEntry(1, "c"),
             lambda: distributed.UnseenEviction(0), lambda: text(evict=distributed.ScoreEviction(5, show_click_decay_rate=2.0))]
    for make in wrong:
        with pytest.raises(ValueError):
            make()
    with pytest.raises(TypeError, match="one of the classes of paddle.distributed as `entry`"):
        text(entry="count_filter_entry:3")


def test_servers_load_the_named_variables(tmp_path):
    saved = str(tmp_path / "saved")
    Job(strategy={"a_sync": False}, save=saved).run()
    rest = Job(strategy={"a_sync": False}, rate=0.0, load=[saved], steps=1).run()
    fresh = Job(strategy={"a_sync": False}, rate=0.0, steps=1).run()
    some = Job(strategy={"a_sync": False}, rate=0.0, load=[saved, ["table"]], steps=1).run()
    losses = [run[0]["mean_loss"] for run in (rest, some, fresh)]
    assert len(set(losses)) == 3 and losses[0] == min(losses), losses


def test_init_worker_before_the_startup_program_names_the_right_order():
    ended = Job(strategy={"a_sync": False}, wrong_order=True).fail()
    for _, err in ended:
        assert "call exe.run(paddle.static.default_startup_program()) first, then fleet.init_worker()" in err, err


def resumed(tmp_path, strategy, servers=2, **job):
    """A job that is killed entirely at step 17 with checkpoints every 5 steps, and started again, perhaps with other servers."""
    job = dict(job, strategy=strategy, steps=30, every=5, checkpoint=str(tmp_path / "ckpt"), progress=str(tmp_path / "progress"))
    said = Job(**job).kill_at(17)
    left = sorted(os.listdir(job["checkpoint"])) if os.path.isdir(job["checkpoint"]) else said
    os.remove(job["progress"] + ".0")
    again = Job(servers=servers, **job).run()
    assert all(worker["first"] in (5, 10, 15) and worker["notes"] == {"reader": "batch %d" % worker["first"]} for worker in again), left
    return again


def test_shrink_evicts_rows():
    # The ids of the job's three steps: a row counts one update for each step that its id is in.
    rng = np.random.RandomState(7)
    rng.uniform(-1, 1, (3, 40, 4))
    seen = np.concatenate([np.unique(step) for step in rng.randint(0, 30, (3, 40, 1))])
    _, updates = np.unique(seen, return_counts=True)
    stale = [{"steps": 3}, {"count": 3}, {"threshold": 3}, {"threshold": 1}, {"threshold": 1}]
    workers = Job(strategy={"a_sync": False}, sparse=True, steps=3, shrink=stale).run()
    often = int((updates == 3).sum())
    assert [worker["gone"] for worker in workers] == [[0, len(updates) - often, 0, often, 0]] * 2


@pytest.mark.parametrize("sparse", [False, True])
def test_a_killed_job_resumes_bit_by_bit(tmp_path, sparse):
    sync = {"a_sync": False}
    never = Job(strategy=sync, steps=30, optimizer="Adam", rate=0.05, sparse=sparse, dropout=False).run()
    again = resumed(tmp_path, sync, optimizer="Adam", rate=0.05, sparse=sparse, dropout=False)
    for whole, rest in zip(never, again):
        assert rest["losses"] == whole["losses"][rest["first"]:]
        # Every worker has its own histograms of the AUC; they are restored, too.
        assert rest["auc"] == whole["auc"]
    assert len(os.listdir(tmp_path / "ckpt")) <= 3


@pytest.mark.parametrize("servers", [1, 3])
def test_another_number_of_servers_resumes_a_job(tmp_path, servers):
    sync = {"a_sync": False}
    never = Job(strategy=sync, steps=30, optimizer="Adam", rate=0.05, sparse=True).run()
    again = resumed(tmp_path, sync, servers=servers, optimizer="Adam", rate=0.05, sparse=True)
    for whole, rest in zip(never, again):
        np.testing.assert_allclose(rest["losses"], whole["losses"][rest["first"]:], rtol=1e-5)


@pytest.mark.parametrize("mode", ["async", "geo"])
def test_a_job_without_sync_resumes_from_a_snapshot(tmp_path, mode):
    job = dict(strategy=MODES[mode], steps=30, every=5, checkpoint=str(tmp_path / "ckpt"), progress=str(tmp_path / "progress"))
    Job(**job).kill_at(17)
    workers = Job(**job).run()
    # Worker 0 triggers snapshots; the position of another worker is in its own record, if it has written one.
    assert workers[0]["first"] in (5, 10, 15) and workers[1]["first"] in (0, 5, 10, 15), workers
    assert all(len(worker["losses"]) == 30 - worker["first"] for worker in workers)


def test_a_checkpoint_is_rewritten_for_other_servers(tmp_path):
    ckpt = str(tmp_path / "ckpt")
    Job(strategy={"a_sync": False}, steps=12, every=5, checkpoint=ckpt, sparse=True).run()

    def oarlock(*arguments):
        done = subprocess.run([sys.executable, "-m", "oarlock", "ckpt", *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "2 servers" in oarlock("list", ckpt)
    assert "for 3 servers" in oarlock("reshard", ckpt, "--servers", "3")
    assert "3 servers" in oarlock("list", ckpt)
    assert "good" in oarlock("verify", ckpt)
    made = json.loads(oarlock("reshard", ckpt, "--servers", "3", "--json"))
    assert made["servers"] == 3 and made["from"] == {"number": made["number"] - 1, "servers": 3}
    rest = Job(servers=3, strategy={"a_sync": False}, steps=12, every=5, checkpoint=ckpt, sparse=True).run()
    whole = Job(strategy={"a_sync": False}, steps=12, sparse=True).run()
    np.testing.assert_allclose(rest[0]["losses"], whole[0]["losses"][rest[0]["first"]:], rtol=1e-5)


def test_servers_load_a_save_with_a_hashed_table(tmp_path):
    saved = str(tmp_path / "saved")
    Job(strategy={"a_sync": False}, sparse=True, save=saved, optimizer="Adam", rate=0.05, steps=10).run()
    fresh = Job(strategy={"a_sync": False}, sparse=True, rate=0.0, steps=1).run()
    loaded = Job(servers=3, strategy={"a_sync": False}, sparse=True, rate=0.0, steps=1, load=[saved, ["table"]]).run()
    assert loaded[0]["mean_loss"] != fresh[0]["mean_loss"]


def test_checkpoint_notify_lets_servers_save_their_tables(tmp_path):
    Job(strategy={"a_sync": False}, sparse=True, notify=str(tmp_path), save=str(tmp_path / "saved"), steps=5).run()
    assert sorted(os.listdir(tmp_path / "__lookup_table__")) == ["table_0", "table_1"]
    whole = os.path.getsize(tmp_path / "saved" / "table")
    parts = [os.path.getsize(tmp_path / "__lookup_table__" / name) for name in ("table_0", "table_1")]
    # Two files have two headers, and the same rows.
    assert 0 < sum(parts) - whole < 200, (parts, whole)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_model_predicts_with_the_tables_of_running_servers(tmp_path, sparse):
    saved = str(tmp_path / "saved")
    # Of a hashed table, some ids were never trained.
    rows = 40 if sparse else 30
    done = Job(strategy={"a_sync": False}, sparse=sparse, save=saved, look=rows, steps=5).run()[0]
    assert len(done["remote"]) == rows and done["remote"] == done["local"]


def test_tables_are_saved_in_the_form_of_the_environment_variable(tmp_path):
    def run(form, **job):
        os.environ["OARLOCK_TABLE_FILES"] = form
        try:
            return Job(strategy={"a_sync": False}, sparse=True, **job).run()[0]
        finally:
            del os.environ["OARLOCK_TABLE_FILES"]

    whole = run("one", save=str(tmp_path / "one"), look=40, steps=5)
    parts = run("text", save=str(tmp_path / "text"), look=40, steps=5)
    assert whole["local"] == parts["local"] == parts["remote"]
    lines = (tmp_path / "text" / "table.part-00000.txt").read_text().splitlines()
    assert len(lines) == 30 and all(line.split("\t")[1] == "4" for line in lines)
    shown = subprocess.run([sys.executable, "-m", "oarlock", "inspect", str(tmp_path / "text")], capture_output=True, text=True, timeout=60)
    assert "hashed table of 30 rows" in shown.stdout and "table.part-00000.txt" in shown.stdout, shown
    # Three servers read the lines.
    fresh = Job(strategy={"a_sync": False}, sparse=True, rate=0.0, steps=1).run()
    loaded = Job(servers=3, strategy={"a_sync": False}, sparse=True, rate=0.0, steps=1, load=[str(tmp_path / "text"), ["table"]]).run()
    again = Job(servers=2, strategy={"a_sync": False}, sparse=True, rate=0.0, steps=1, load=[str(tmp_path / "one"), ["table"]]).run()
    assert loaded[0]["mean_loss"] == again[0]["mean_loss"] != fresh[0]["mean_loss"]
