"""Jobs with parameter servers: every test starts servers and trainers as processes and waits for all of them."""

import json
import os
import signal
import subprocess

import numpy as np
import pytest

import oarlock.fluid as fluid
import ps_job
from processes import AT_ONCE, Processes, endpoints, free_ports, result, wait_for_step, wait_for_text

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "dist_losses.json")) as f:
    FLUID = json.load(f)


class Job(Processes):
    """A job of trainers and servers, each a process of ``script``."""

    script = ("ps_job.py",)

    def __init__(self, trainers=2, servers=2, env=(), **job):
        super().__init__(env)
        self.job = dict(job, trainers=trainers, servers=endpoints(servers))

    def start(self, **own):
        *options, script = self.script
        return self.python(*options, os.path.join(HERE, script), json.dumps(dict(self.job, **own)))

    def serve(self, **own):
        return [self.start(role="server", endpoint=e, **own) for e in self.job["servers"]]

    def train(self, **own):
        return [self.start(role="trainer", id=t, **own) for t in range(self.job["trainers"])]


def run(servers_first=True, **job):
    """Runs a job to its end; returns the trainers' losses."""
    with Job(**job) as cluster:
        start = [cluster.serve, cluster.train]
        first, second = (start if servers_first else reversed(start))
        processes = first() + second()
        results = [result(p)[0] for p in processes]
        return [r["losses"] for r in results if "losses" in r], cluster


def local(net="fit_a_line", steps=20, learning_rate=0.1):
    """The losses of one process, step by step."""
    loss, batches = ps_job.build({"net": net})
    fluid.optimizer.SGD(learning_rate).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeds = [{name: b[step] for name, b in batches.items()} for step in range(steps)]
    return [float(exe.run(feed=feed, fetch_list=[loss])[0].ravel()[0]) for feed in feeds]


def together(losses):
    return np.mean(losses, axis=0)


@pytest.mark.parametrize("servers_first", [True, False])
def test_sync_equals_one_process(servers_first):
    losses, _ = run(servers_first, net="fit_a_line")
    np.testing.assert_allclose(together(losses), local(), rtol=1e-5)


MODES = {
    "async": dict(sync_mode=False),
    "half-async": dict(config={"sync_mode": False, "half_async": True, "runtime_split_send_recv": True}),
    "bounded": dict(config={"sync_mode": False, "max_staleness": 2}),
}


def enough():
    """A loss that shows that a network learns; trainers of modes without sync make steps until they have reached it."""
    return local()[0] / 4


@pytest.mark.parametrize("mode", MODES)
def test_trainers_without_sync_learn(mode):
    with Job(net="fit_a_line", until=enough(), **MODES[mode]) as job:
        servers, trainers = job.serve(), job.train()
        losses = [result(p)[0]["losses"] for p in trainers]
        assert all("pushes old on average" in result(p)[1] for p in servers)
    assert np.isfinite(np.concatenate(losses)).all()


@pytest.mark.parametrize("net", ["fit_a_line", "fit_a_line_decay", "ctr_dnn_sgd", "ctr_dnn_sgd_sliced", "mnist_mlp"])
def test_sync_losses_equal_those_of_fluid(net):
    config = {"min_block_size": 1024} if net.endswith("_sliced") else {}
    losses, _ = run(net="golden:" + net.replace("_sliced", ""), config=config)
    np.testing.assert_allclose(losses, FLUID[net], rtol=2e-5)


@pytest.mark.parametrize("net", ["fit_a_line", "ctr_dnn_sgd", "mnist_mlp"])
def test_trainers_with_two_replicas_have_the_losses_of_fluid(net):
    """The two replicas of a trainer sum their gradients and push once."""
    losses, _ = run(net="golden:" + net, replicas=2)
    np.testing.assert_allclose(losses, FLUID[net], rtol=5e-5)


def test_fleet_sync_with_two_replicas_equals_one_process():
    losses, _ = run(net="fit_a_line", fleet="sync", replicas=2, env={"CPU_NUM": "2"})
    np.testing.assert_allclose(together(losses), local(), rtol=1e-5)


@pytest.mark.parametrize("strategy", ["half_async", "async"])
def test_fleet_workers_with_two_replicas_learn_without_sync(strategy):
    losses, _ = run(net="fit_a_line", fleet=strategy, replicas=2, env={"CPU_NUM": "2"}, until=enough())
    assert np.isfinite(np.concatenate(losses)).all()


def kill_a_trainer(tmp_path, policy, then, first=(), **how):
    """Kills trainer 1 after its step 5."""
    progress = str(tmp_path / "progress")
    with Job(net="fit_a_line", env={"OARLOCK_ON_LOSS": policy}, **how) as job:
        servers = job.serve()
        survivor = job.start(role="trainer", id=0, **dict(first))
        killed = job.start(role="trainer", id=1, progress=progress, hang=5)
        wait_for_step(progress, 5)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        then(job, servers, survivor)


def test_policy_fail_a_killed_trainer_ends_the_job(tmp_path):
    def then(job, servers, survivor):
        _, err = result(survivor, code=1, limit=AT_ONCE)
        assert "ConnectionError" in err and "trainer 1 was lost in step" in err, err
        assert all("trainer 1 was lost in step" in result(server, code=1, limit=AT_ONCE)[1] for server in servers)

    kill_a_trainer(tmp_path, "fail", then)


def test_policy_shrink_the_other_trainers_go_on(tmp_path):
    def then(job, servers, survivor):
        losses = result(survivor)[0]["losses"]
        assert len(losses) == 20 and sum(losses[-5:]) < sum(losses[:5]) / 2
        assert all("go on without it" in result(server)[1] for server in servers)

    kill_a_trainer(tmp_path, "shrink", then)


def test_policy_wait_a_restarted_trainer_changes_no_loss(tmp_path):
    def then(job, servers, survivor):
        again = job.start(role="trainer", id=1, again=True)
        losses = [result(survivor)[0]["losses"], result(again)[0]["losses"]]
        [result(server) for server in servers]
        rest = len(losses[1])
        assert 0 < rest < 20
        np.testing.assert_allclose(together([each[-rest:] for each in losses]), local()[-rest:], rtol=1e-5)

    kill_a_trainer(tmp_path, "wait", then)


@pytest.mark.parametrize("policy", ["fail", "wait", "shrink"])
@pytest.mark.parametrize("mode", ["async", "half_async", "geo"])
def test_a_killed_worker_without_sync(tmp_path, mode, policy):
    enough_seen = tmp_path / "enough"

    def then(job, servers, survivor):
        if policy == "fail":
            assert "trainer 1 was lost after its push" in result(survivor, code=1)[1]
            assert all("trainer 1 was lost after its push" in result(server, code=1)[1] for server in servers)
            return
        said = {"wait": "the others wait for its return", "shrink": "the others go on without it"}[policy]
        for server in servers:
            # A trainer that is restarted before that was never lost.
            wait_for_text(server, said)
        if policy == "wait":
            assert len(result(job.start(role="trainer", id=1, **{"from": 5}))[0]["losses"]) == 15
        enough_seen.touch()
        assert len(result(survivor)[0]["losses"]) >= 20
        for server in servers:
            result(server)

    # The survivor trains until the loss was noticed.
    kill_a_trainer(tmp_path, policy, then, first={"hold": str(enough_seen)}, fleet=mode, strategy=[2] if mode == "geo" else [])


def all_leave(**how):
    """Two trainers end without closing their executors, with a warning, and their servers end well."""
    with Job(net="fit_a_line", env={"OARLOCK_ON_LOSS": "fail"}) as job:
        servers, trainers = job.serve(), job.train(**how)
        for trainer in trainers:
            assert "warning: this trainer ends without exe.close()" in result(trainer)[1]
        for server in servers:
            assert "is done: 20 steps" in result(server)[1]


def test_a_trainer_that_forgets_to_close_leaves_the_job():
    all_leave(close=False)


@pytest.mark.parametrize("end", ["exit 0", "caught"])
def test_a_trainer_that_exits_with_status_0_leaves(end):
    all_leave(end=end)


def test_a_trainer_that_raises_is_lost():
    with Job(net="fit_a_line") as job:
        servers = job.serve()
        job.start(role="trainer", id=0)
        _, err = result(job.start(role="trainer", id=1, fails=15), code=1)
        assert "this trainer ends in an error" in err
        assert all("trainer 1 was lost" in result(server, code=1)[1] for server in servers)


@pytest.mark.parametrize("end,code", [("exit 3", 3), ("exit with a text", 1), ("SystemExit", 3)])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_trainer_that_exits_with_another_status_is_lost(tmp_path, mode, end, code):
    with Job(net="fit_a_line", sync_mode=mode == "sync", env={"OARLOCK_ON_LOSS": "fail"}) as job:
        servers = job.serve()
        # It makes steps until the job fails.
        other = job.start(role="trainer", id=0, hold=str(tmp_path / "never"))
        _, err = result(job.start(role="trainer", id=1, steps=5, end=end), code=code)
        assert "this process ends with status %d" % code in err and "without exe.close()" not in err, err
        for process in servers + [other]:
            assert "trainer 1 was lost" in result(process, code=1)[1]


def test_a_server_stops_at_ctrl_c():
    with Job(net="fit_a_line", servers=1) as job:
        server, = job.serve()
        wait_for_text(server, "waits for 2 trainers")
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=AT_ONCE)
        assert "KeyboardInterrupt" in err


def test_a_trainer_names_the_servers_it_waits_for():
    with Job(net="fit_a_line", env={"FLAGS_rpc_deadline": "4000"}) as job:
        _, err = result(job.start(role="trainer", id=0), code=1)
        assert "waiting for servers 127.0.0.1:" in err and "TimeoutError" in err, err


def refused(server_env, trainer_env):
    """The standard errors of a trainer that its server refuses, and of the server."""
    with Job(net="fit_a_line", servers=1, env=server_env) as job:
        server, = job.serve()
        wait_for_text(server, "waits for 2 trainers")
        job.env = dict(os.environ, OARLOCK_THREADS="1", **trainer_env)
        _, err = result(job.start(role="trainer", id=0), code=1, limit=AT_ONCE)
        server.kill()
        return err, server.communicate()[1]


def test_a_trainer_of_another_job_is_refused_at_once():
    trainer, server = refused({"OARLOCK_JOB_ID": "one"}, {"OARLOCK_JOB_ID": "two"})
    assert 'belongs to job "two", this process to job "one"' in trainer and "ConnectionError" in trainer, trainer
    assert 'belongs to job "two"' in server


def test_an_unauthenticated_peer_is_refused_at_once():
    trainer, server = refused({"OARLOCK_TOKEN": "secret"}, {"OARLOCK_TOKEN": "guess"})
    assert "does not know the token of this job" in trainer and "ConnectionError" in trainer, trainer
    assert "guess" not in server + trainer and "secret" not in server + trainer


def test_an_unknown_host_is_named_with_its_variable():
    servers = "127.0.0.1:1,no-such-host.invalid:6174"
    with Job(net="fit_a_line", env={"FLAGS_rpc_deadline": "1000", "PADDLE_PSERVERS_IP_PORT_LIST": servers}) as job:
        job.job["servers"] = servers.split(",")
        _, err = result(job.start(role="trainer", id=0), code=1)
    assert 'the host "no-such-host.invalid" of the endpoint no-such-host.invalid:6174 (from PADDLE_PSERVERS_IP_PORT_LIST)' in err, err


def certificate(folder):
    """The variables of TLS for a job with one certificate; None where none can be made."""
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
               "-subj", "/CN=my-job", "-addext", "subjectAltName=DNS:my-job", "-addext", "basicConstraints=critical,CA:FALSE",
               "-keyout", key, "-out", cert]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"OARLOCK_TLS_CERT": cert, "OARLOCK_TLS_KEY": key, "OARLOCK_TLS_NAME": "my-job"}


def test_jobs_with_tls_train_the_same_and_refuse_plain_connections(tmp_path):
    tls = certificate(tmp_path)
    if tls is None:
        pytest.skip("skipped: there is no openssl to make a certificate with")
    losses, _ = run(net="fit_a_line", env=tls)
    np.testing.assert_allclose(together(losses), local(), rtol=1e-5)
    trainer, server = refused(tls, {})
    assert "ConnectionError" in trainer and "was rejected" in server, (trainer, server)


def test_any_role_of_one_transpiler():
    loss, _ = ps_job.build({"net": "fit_a_line"})
    fluid.optimizer.SGD(0.1).minimize(loss)
    made = fluid.DistributeTranspiler()
    made.transpile(0, pservers="127.0.0.1:1,127.0.0.1:2", trainers=2)
    main, startup = made.get_pserver_programs("127.0.0.1:1")
    assert main.global_block().ops[0].type == "listen_and_serv" and startup.global_block().ops
    program = made.get_trainer_program(wait_port=False)
    assert program is fluid.default_main_program()
    types = [op.type for op in program.global_block().ops]
    assert "send" in types and "sgd" not in types
    assert [str(p) for p in made.get_pserver_programs("127.0.0.1:1")] == [str(main), str(startup)]
    with pytest.raises(ValueError, match="is not one of the servers"):
        made.get_pserver_program("127.0.0.1:3")


def test_config_and_dispatchers():
    with pytest.raises(ValueError, match="there is no min_blok_size; did you mean min_block_size"):
        fluid.DistributeTranspilerConfig().min_blok_size = 1

    class Last(fluid.transpiler.PSDispatcher):
        def dispatch(self, varlist):
            assert all(block.shape for block in varlist)
            return [self.eps[-1] for _ in varlist]

    def placed(split_method):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
            loss, _ = ps_job.build({"net": "fit_a_line"})
            fluid.optimizer.SGD(0.1).minimize(loss)
            made = fluid.DistributeTranspiler()
            made.transpile(0, pservers="a:1,b:2", trainers=2, slice_var_up=False, split_method=split_method)
            return made._core.placement()

    assert placed(Last).count("on b:2") == 2
    assert placed(fluid.transpiler.RoundRobin).count("on b:2") == 1
    assert placed(fluid.transpiler.HashName).count(" on ") == 2

    # Subclasses are called, and may call their base.
    for ours in (fluid.transpiler.RoundRobin, fluid.transpiler.HashName):
        derived = type("Derived", (ours,), {"dispatch": lambda self, varlist: super(type(self), self).dispatch(varlist)})
        assert placed(derived) == placed(ours)
    assert fluid.transpiler.RoundRobin(["a:1", "b:2"]).dispatch(["v", "w", "x"]) == ["a:1", "b:2", "a:1"]

    class Wrong(fluid.transpiler.PSDispatcher):
        def dispatch(self, varlist):
            return ["c:3"] * len(varlist)

    with pytest.raises(ValueError, match="placed a block on c:3"):
        placed(Wrong)
    with pytest.raises(NotImplementedError, match="dispatch belongs to"):
        placed(fluid.transpiler.PSDispatcher)


@pytest.mark.parametrize("init_first", [True, False])
def test_fleet_sync_equals_one_process(init_first):
    losses, _ = run(net="fit_a_line", fleet="sync", init_first=init_first)
    np.testing.assert_allclose(together(losses), local(), rtol=1e-5)


@pytest.mark.parametrize("strategy", ["async", "half_async", "geo"])
def test_fleet_learns_without_sync(strategy):
    losses, _ = run(net="fit_a_line", fleet=strategy, strategy=[2] if strategy == "geo" else [], init_first=True, until=enough())
    assert np.isfinite(np.concatenate(losses)).all()


def test_a_job_saves_the_files_of_one_process(tmp_path):
    saved = str(tmp_path / "saved")
    run(net="fit_a_line", fleet="sync", adam=True, save=saved)
    loss, batches = ps_job.build({"net": "fit_a_line"})
    predicted = fluid.default_main_program().global_block().var("fc_0.tmp_1")
    fluid.optimizer.Adam(0.05).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for step in range(20):
        exe.run(feed={name: b[step] for name, b in batches.items()})
    alone = str(tmp_path / "alone")
    fluid.io.save_persistables(exe, alone)
    fluid.io.save_inference_model(alone + "_model", ["x"], [predicted], exe)
    for kind in ("", "_model"):
        assert sorted(os.listdir(saved + kind)) == sorted(os.listdir(alone + kind))
    state = fluid.io.load_program_state(alone)
    for name, value in fluid.io.load_program_state(saved).items():
        np.testing.assert_allclose(value, state[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_servers_continue_from_a_save(tmp_path):
    saved = str(tmp_path / "saved")
    half, _ = run(net="fit_a_line", fleet="sync", save=saved, steps=10)
    rest, _ = run(net="fit_a_line", fleet="sync", model=saved, **{"from": 10})
    np.testing.assert_allclose(np.concatenate([together(half), together(rest)]), local(), rtol=1e-5)


def test_the_manuals_script_runs_unmodified():
    """``dist_train.py`` as the manual prints it, with the data and the order of batches of these losses of Fluid 1.8.5."""
    port, = free_ports(1)
    common = {"PADDLE_PSERVER_IPS": "127.0.0.1,127.0.0.2", "PADDLE_TRAINERS": "2", "PADDLE_PSERVER_PORT": str(port)}
    roles = [dict(PADDLE_TRAINING_ROLE="PSERVER", PADDLE_CURRENT_IP=ip) for ip in ("127.0.0.1", "127.0.0.2")]
    roles += [dict(PADDLE_TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=t) for t in "01"]
    with Processes(common) as job:
        processes = [job.python(os.path.join(HERE, "dist_train_same.py"), **role) for role in roles]
        ended = [process.communicate(timeout=AT_ONCE * 2) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, ended
    for (out, _), losses in zip(ended[2:], FLUID["dist_train"]):
        found = [float(line.rsplit(" ", 1)[1]) for line in out.splitlines() if line.startswith("Epoch")]
        assert len(found) == 150
        np.testing.assert_allclose(found[:10] + found[-10:], losses, rtol=1e-4)


def parts(tmp_path, first_value):
    """Four files of 25 samples; ``first_value(part, i)`` is the first number of each."""
    for part in range(4):
        lines = ["13 %d%s 1 0.5\n" % (first_value(part, i), " 0.1" * 12) for i in range(25)]
        (tmp_path / ("part-%d" % part)).write_text("".join(lines))
    return sorted(str(f) for f in tmp_path.glob("part-*"))


def shuffle(tmp_path, seed):
    """The samples of two workers after a global shuffle, and their sums over both."""
    with Job(net="fit_a_line", fleet="async", files=parts(tmp_path, lambda part, i: part * 25 + i), seed=seed) as cluster:
        cluster.serve()
        return [result(p)[0] for p in cluster.train()]


def test_a_global_shuffle_redistributes_the_samples_of_all_workers(tmp_path):
    workers = shuffle(tmp_path, 7)
    for worker in workers:
        assert worker["sizes"][:2] == [100, 100] and worker["sizes"][2] == 50
        assert worker["total"] == 100 and worker["gathered"] == [0, 1]
        assert min(sum(n < 50 for n in worker["numbers"]), sum(n >= 50 for n in worker["numbers"])) > 5
    assert sorted(workers[0]["numbers"] + workers[1]["numbers"]) == list(range(100))
    assert [w["numbers"] for w in shuffle(tmp_path, 7)] == [w["numbers"] for w in workers]
    assert [w["numbers"] for w in shuffle(tmp_path, 8)] != [w["numbers"] for w in workers]


@pytest.mark.parametrize("even, had", [("zero_weight", [6, 8]), ("pad", [8, 8]), ("shortest", [6, 6])])
def test_sync_workers_with_unequal_batches_end_their_epochs_together(even, had):
    with Job(net="fit_a_line", fleet="sync", epochs=2, even=even) as cluster:
        cluster.serve()
        workers = [result(p)[0] for p in cluster.train()]
    assert [len(worker["had"]) for worker in workers] == had
    assert workers[0]["loss"] == workers[1]["loss"]


def test_sync_epochs_with_a_global_shuffle(tmp_path):
    with Job(net="fit_a_line", fleet="sync", epochs=3, files=parts(tmp_path, lambda part, i: i % 3), seed=5) as cluster:
        cluster.serve()
        workers = [result(p)[0] for p in cluster.train()]
    assert workers[0]["had"] != workers[1]["had"]
    assert workers[0]["loss"] == workers[1]["loss"]
