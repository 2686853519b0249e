"""Jobs of collective workers, launched as users launch them."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock import distributed
from oarlock.fluid import options
from oarlock.fluid.incubate.fleet.base import role_maker
from oarlock.fluid.incubate.fleet.collective import Collective, DistributedStrategy

import ps_job
from processes import AT_ONCE, LIMIT, Processes, endpoints
from test_ps import FLUID, parts

HERE = os.path.dirname(os.path.abspath(__file__))


def launch(path, job, workers=2, flags=(), env=(), limit=LIMIT):
    """Runs a job; returns the ended launcher."""
    command = [sys.executable, "-m", "oarlock.distributed.launch", "--nproc_per_node", str(workers), *flags,
               os.path.join(HERE, "collective_job.py"), json.dumps(job)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([HERE, os.environ.get("PYTHONPATH", "")]), **dict(env))
    return subprocess.run(command, cwd=path, capture_output=True, text=True, timeout=limit, env=environment)


def train(path, job, workers=2, flags=(), env=()):
    """Runs a job that ends well; returns the result of each worker."""
    run = launch(path, job, workers, flags, env)
    assert run.returncode == 0, run.stdout + run.stderr
    return [json.loads((path / ("result.%d" % rank)).read_text()) for rank in range(workers)]


def alone(steps, rows):
    """Losses and parameters of one process that has, in each step, these rows of the batch."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        loss, data = ps_job.build({"net": "line"})
        fluid.optimizer.SGD(0.01).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        losses = []
        for step in range(steps):
            chosen = rows(step)
            feed = {name: array[step][chosen] for name, array in data.items()}
            losses.append(float(exe.run(main, feed=feed, fetch_list=[loss])[0]))
        scope = fluid.global_scope()
        return losses, {v.name: np.array(scope.find_var(v.name).get_tensor()) for v in main.all_parameters()}


def same(results, expected):
    for name, value in expected.items():
        for result in results:
            np.testing.assert_allclose(np.array(result["params"][name]), value, rtol=1e-5, atol=1e-6, err_msg=name)
        assert all(result["params"][name] == results[0]["params"][name] for result in results)


WHOLE = slice(0, ps_job.BATCH)


@pytest.mark.parametrize("job", [
    {"how": "fleet"},
    {"how": "fleet", "strategy": {"use_local_sgd": True}},
    {"how": "fleet", "strategy": {"mode": "collective", "nccl_comm_num": 2, "fuse_grad_size_in_MB": 0.001}},
    {"how": "transpiler", "config": {"mode": "collective", "collective_mode": "grad_allreduce"}},
    {"how": "transpiler", "config": {"mode": "nccl2"}},
    {"how": "transpiler", "config": {"mode": "nccl2"}, "compiled": True},
])
def test_workers_train_as_one_process(tmp_path, job):
    results = train(tmp_path, dict(job, steps=[10, 10], seeds=True))
    losses, params = alone(10, lambda step: WHOLE)
    np.testing.assert_allclose(np.mean([r["losses"] for r in results], 0), losses, rtol=1e-5)
    same(results, params)


def test_a_worker_restarted_after_the_others_finished_ends_with_that_reason(tmp_path):
    run = launch(tmp_path, {"how": "fleet", "steps": [8, 8], "dies": [1, 2], "late": True}, flags=["--elastic"])
    assert run.returncode == 0, run.stdout + run.stderr
    said = run.stdout + run.stderr
    assert "rank 1 was started again, and the other ranks have finished without it" in said
    assert "it is not started again: the others have finished without it" in said


def average_by_hand(steps, every, begin):
    """Losses and parameters of two processes, each with its half of a batch, whose parameters are averaged as Paddle 2.0 does."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss, data = ps_job.build({"net": "line"})
        fluid.optimizer.SGD(0.01).minimize(loss)
    exe, scopes, losses = fluid.Executor(fluid.CPUPlace()), [fluid.Scope(), fluid.Scope()], [[], []]
    names, half, last = [v.name for v in main.all_parameters()], ps_job.BATCH // 2, 0
    for scope in scopes:
        exe.run(startup, scope=scope)

    def average():
        for name in names:
            tensors = [scope.find_var(name).get_tensor() for scope in scopes]
            mean = np.mean([np.array(tensor) for tensor in tensors], 0, dtype="float32")
            for tensor in tensors:
                tensor.set(mean, fluid.CPUPlace())

    for step in range(1, steps + 1):
        for rank, scope in enumerate(scopes):
            feed = {name: array[step - 1][rank * half:(rank + 1) * half] for name, array in data.items()}
            losses[rank].append(exe.run(main, feed=feed, fetch_list=[loss], scope=scope)[0].item())
        if step <= begin or step - last == every:
            average()
            last = step
    average()
    return losses, {name: np.array(scopes[0].find_var(name).get_tensor()) for name in names}


@pytest.mark.parametrize("job, every, begin", [
    ({"how": "fleet", "strategy": {"use_local_sgd": True, "local_sgd_k_steps": 3, "local_sgd_begin_step": 2}}, 3, 2),
    ({"how": "transpiler", "config": {"mode": "collective", "collective_mode": "local_sgd", "local_sgd_k_steps": 4}}, 4, 1),
])
def test_local_sgd_averages_after_k_steps(tmp_path, job, every, begin):
    results = train(tmp_path, dict(job, steps=[10, 10], seeds=True))
    losses, params = average_by_hand(10, every, begin)
    np.testing.assert_allclose([r["losses"] for r in results], losses, rtol=1e-5)
    same(results, params)


@pytest.mark.parametrize("job", [
    {"how": "fleet"},
    {"how": "transpiler", "config": {"mode": "nccl2"}},
])
def test_workers_of_several_threads_train_as_one_process(tmp_path, job):
    results = train(tmp_path, dict(job, steps=[6, 6], seeds=True, compiled=True), env={"CPU_NUM": "2", "OARLOCK_THREADS": "1"})
    losses, params = alone(6, lambda step: WHOLE)
    np.testing.assert_allclose(np.mean([r["losses"] for r in results], 0), losses, rtol=1e-5)
    same(results, params)


def test_num_trainers_of_a_program_that_was_not_transpiled_is_refused():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        x = fluid.data("x", [None, 4])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        fluid.Executor(fluid.CPUPlace()).run(startup)
        alone = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name, main_program=main, num_trainers=2, trainer_id=1)
        with pytest.raises(ValueError, match="num_trainers is 2 and trainer_id 1, but the program was not transpiled"):
            alone.run(feed={"x": np.ones((64, 4), "float32")}, fetch_list=[loss.name])
        # One that does not learn exchanges nothing.
        test = fluid.ParallelExecutor(use_cuda=False, main_program=main.clone(for_test=True), num_trainers=2, trainer_id=1)
        test.run(feed={"x": np.ones((64, 4), "float32")}, fetch_list=[loss.name])


def test_losses_of_collective_workers_equal_those_of_fluid(tmp_path):
    job = {"how": "transpiler", "config": {"mode": "collective", "collective_mode": "grad_allreduce"}}
    results = train(tmp_path, dict(job, net="golden:fit_a_line", steps=[20, 20]))
    np.testing.assert_allclose(np.array([r["losses"] for r in results]), FLUID["fit_a_line"], rtol=1e-5)


@pytest.mark.parametrize("job", [{}, {"forgets": True}])
def test_a_worker_without_data_makes_zero_weight_steps(tmp_path, job):
    results = train(tmp_path, dict(job, how="fleet", steps=[3, 6]))
    _, params = alone(6, lambda step: WHOLE if step < 3 else slice(ps_job.BATCH // 2, ps_job.BATCH))
    # A worker that does not stop reads its parameters before its zero-weight steps.
    same(results[1:] if job else results, params)


def test_uneven_shortest_all_workers_stop_with_the_shortest_shard(tmp_path):
    results = train(tmp_path, {"how": "fleet", "steps": [3, 6], "even": "shortest"})
    assert [len(r["losses"]) for r in results] == [3, 3]
    same(results, alone(3, lambda step: WHOLE)[1])


def test_uneven_pad_short_shards_repeat_batches(tmp_path):
    results = train(tmp_path, {"how": "fleet", "steps": [3, 6], "even": "pad"})
    assert [len(r["losses"]) for r in results] == [6, 6]
    same(results, {name: np.array(value) for name, value in results[0]["params"].items()})


def test_fleet_sums_arrays_without_servers(tmp_path):
    results = train(tmp_path, {"how": "fleet", "steps": [1, 1, 1], "sum": True}, workers=3)
    assert all(r["sum"] == [6.0, 3.0] for r in results)


def test_a_global_shuffle_without_servers(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    files = parts(data, lambda part, i: part * 25 + i)
    job = {"how": "fleet", "net": "fit_a_line", "steps": [0, 0], "files": files, "seed": 7}
    shuffled = [result["shuffled"] for result in train(tmp_path, job)]
    for one in shuffled:
        assert one["sizes"] == [100, 100, 50]
        assert min(sum(n < 50 for n in one["numbers"]), sum(n >= 50 for n in one["numbers"])) > 5
    assert sorted(shuffled[0]["numbers"] + shuffled[1]["numbers"]) == list(range(100))
    assert [result["shuffled"] for result in train(tmp_path, job)] == shuffled


def test_logs_and_devices(tmp_path):
    (tmp_path / "show.py").write_text("import os; print(os.environ['PADDLE_TRAINER_ID'], os.environ['CPU_NUM'])")
    command = [sys.executable, "-m", "oarlock.distributed.launch", "--selected_gpus=0,1", "show.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert run.returncode == 0, run.stderr
    assert "--gpus lists 2: this build computes on CPUs, and starts 2 CPU workers" in run.stderr
    assert [(tmp_path / "mylog" / ("workerlog.%d" % r)).read_text() for r in (0, 1)] == ["0 1\n", "1 1\n"]


def test_an_unknown_network_device_is_answered_with_the_known_ones(tmp_path):
    for flags, env in ((["--iface", "nope0"], {}), ([], {"NCCL_SOCKET_IFNAME": "nope0"})):
        run = launch(tmp_path, {"how": "fleet", "steps": [1, 1]}, flags=flags, env=env)
        assert run.returncode != 0
        assert 'no network device "nope0"' in run.stderr and "lo (127.0.0.1)" in run.stderr, run.stderr
    train(tmp_path, {"how": "fleet", "steps": [1, 1]}, flags=["--iface", "lo", "--backend", "tcp"])


def test_backend_nccl_is_not_supported(tmp_path):
    run = launch(tmp_path, {"how": "fleet", "steps": [1, 1]}, flags=["--backend", "nccl"])
    assert run.returncode != 0 and "needs an Oarlock that was built for GPUs" in run.stderr


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="skipped: there is no mpirun (Debian's openmpi-bin has it)")
def test_mpi_and_tcp_give_the_same_bits(tmp_path):
    job, params = {"how": "fleet", "steps": [10, 12], "seeds": True, "net": "line"}, []
    for backend in ("tcp", "mpi"):
        place = tmp_path / backend
        place.mkdir()
        params.append([result["params"] for result in train(place, job, flags=["--backend", backend])])
    # MPI carries messages, and Oarlock sums.
    assert params[0] == params[1]
    for end in ("fails", "dies"):
        run = launch(tmp_path, dict(job, steps=[50, 50], **{end: [1, 3]}), flags=["--backend", "mpi"], limit=AT_ONCE)
        assert run.returncode != 0 and "mpirun failed with exit code" in run.stderr, run.stdout + run.stderr
    run = launch(tmp_path, job, flags=["--backend", "mpi"], env={"OARLOCK_MPI_LIBRARY": "libnothing.so"})
    assert run.returncode != 0 and "MPI cannot be used: libnothing.so" in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("end", ["dies", "fails", "exits"])
def test_the_other_ranks_name_a_rank_that_ends(tmp_path, end):
    """Without a launcher, which would end the others."""
    places, job = endpoints(3), {"how": "fleet", "steps": [20, 20, 20], end: [1, 3]}
    with Processes({"PADDLE_TRAINERS_NUM": "3", "PADDLE_TRAINER_ENDPOINTS": ",".join(places), "CPU_NUM": "1"}) as started:
        processes = [started.python(os.path.join(HERE, "collective_job.py"), json.dumps(dict(job, folder=str(tmp_path))),
                                    PADDLE_TRAINER_ID=str(rank), PADDLE_CURRENT_ENDPOINT=place) for rank, place in enumerate(places)]
        outputs = [process.communicate(timeout=LIMIT) for process in processes]
    for rank in (0, 2):
        assert processes[rank].returncode == 1
        assert "rank 1 (%s) has died" % places[1] in outputs[rank][1], outputs[rank][1]


def test_role_makers_of_collective_workers():
    alone_role = role_maker.PaddleCloudRoleMaker(is_collective=True)
    if "PADDLE_TRAINER_ENDPOINTS" not in os.environ:
        assert (alone_role.worker_num(), alone_role.is_first_worker()) == (1, True)
    role = role_maker.UserDefinedCollectiveRoleMaker(1, ["a:1", "b:1"])
    assert (role.worker_index(), role.get_trainer_endpoints()) == (1, ["a:1", "b:1"])


# Fields of the strategy with a value that shows, and what must be set with it.
FIELDS = {
    "use_local_sgd": (True, {}), "collective_mode": ("local_sgd", {}), "nccl_comm_num": (2, {}), "use_hierarchical_allreduce": (True, {}),
    "local_sgd_k_steps": (3, {"use_local_sgd": True}), "local_sgd_begin_step": (4, {"use_local_sgd": True, "local_sgd_k_steps": 2}),
    "fuse_grad_size_in_MB": (1.0, {}), "forward_recompute": (True, {"recompute_checkpoints": ["fc_0.tmp_1"]}),
}


def programs(fields):
    """The programs of a worker, as text."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        x = fluid.data("x", [None, 4])
        loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(x, 4, act="relu"), 1))
        strategy = DistributedStrategy()
        for name, value in fields.items():
            setattr(strategy, name, value)
        job = Collective()
        job.init(role_maker.UserDefinedCollectiveRoleMaker(0, ["127.0.0.1:1", "127.0.0.1:2"]))
        job.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(loss)
        return "%s\n%s" % (job.main_program, job.startup_program)


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_the_collective_strategy_change_programs(name):
    value, more = FIELDS[name]
    assert programs(dict(more, **{name: value})) != programs(more)


def test_all_fields_of_the_strategy_are_shown():
    # Both values of mode mean the same; even_reader is seen above.
    elsewhere = {"mode", "uneven", "recompute_checkpoints"}
    assert set(FIELDS) | elsewhere == set(options.names("DistributedStrategy", "honoured"))


def test_options_of_the_strategy():
    strategy = DistributedStrategy()
    assert (strategy.mode, strategy.use_local_sgd, strategy.uneven) == ("nccl2", False, "zero_weight")
    strategy.fuse_all_reduce_ops = True
    with pytest.raises(NotImplementedError, match="float32"):
        strategy.use_amp = True
    with pytest.raises(ValueError, match="zero_weight, pad, shortest"):
        strategy.uneven = "hang"
    with pytest.raises(ValueError, match="there is no use_local_sdg"):
        strategy.use_local_sdg = True
    with pytest.raises(ValueError, match="zero_weight, pad or shortest"):
        distributed.even_reader(lambda: iter(()), "maybe")
