"""``FleetUtil`` and ``fleet.metrics`` with Fleet 1.x, and Fleet 2.0's module where a Fleet is asked for."""

import json
import subprocess
import sys

import pytest

from oarlock.fluid.incubate.fleet.utils.fleet_util import _ABSENT, FleetUtil

# Every worker has a part of the numbers that Fluid 1.8.5 got as one.
SCRIPT = """
import json, os
import numpy as np
import paddle.fluid as fluid
import paddle.distributed.fleet.metrics as metrics
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory
from paddle.fluid.incubate.fleet.utils.fleet_util import FleetUtil

x = fluid.data("x", [None, 4])
loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr="w"))
fleet.init(role_maker.PaddleCloudRoleMaker())
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), StrategyFactory.create_sync_strategy()).minimize(loss)
util = FleetUtil(mode="transpiler")
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor(fluid.CPUPlace())
    fleet.init_worker()
    exe.run(fleet.startup_program)
    exe.run(fleet.main_program, feed={"x": np.ones((2, 4), "float32")}, fetch_list=[loss])
    rng, scope = np.random.RandomState(5), fluid.global_scope()
    for worker in range(2):
        part = {
            "p": rng.randint(0, 300, (1, 101)).astype("int64"), "n": rng.randint(0, 900, (1, 101)).astype("int64"),
            "sqrerr": rng.rand(1).astype("float32") * 100, "abserr": rng.rand(1).astype("float32") * 300,
            "prob": rng.rand(1).astype("float32") * 400, "q": rng.rand(1).astype("float32") * 90,
            "pos": np.array([300.0 + worker], "float32"), "total": np.array([1000.0 + 7 * worker], "float32"),
        }
        if worker == fleet.worker_index():
            for name, value in part.items():
                scope.var(name).get_tensor().set(value, fluid.CPUPlace())
    found = {"auc": util.get_global_auc(scope, "p", "n"), "all": util.get_global_metrics(scope, "p", "n")}
    found["sum"] = float(metrics.sum("pos")[0])
    found["mae"] = metrics.mae("abserr", "total")
    found["missing"] = util.get_global_auc(scope, "p", "nowhere")
    util.print_global_metrics(scope, "p", "n", print_prefix="now:")
    util.set_zero("p", scope)
    found["zeros"] = int(np.array(scope.find_var("p").get_tensor()).sum())
    weight = scope.find_var("w").get_tensor()
    trained = np.array(weight)
    weight.set(np.zeros_like(trained), fluid.CPUPlace())
    util.pull_all_dense_params(scope, fleet.main_program)
    found["pulled"] = bool((np.array(weight) == (trained if fleet.worker_index() == 0 else 0)).all())
    util.save_model("models", 20260101, 3)
    found["saved"] = sorted(os.listdir("models/20260101/3"))
    print("found " + json.dumps(found), flush=True)
    fleet.stop_worker()
"""


def launch(tmp_path, script, *flags):
    (tmp_path / "job.py").write_text(script)
    command = [sys.executable, "-m", "oarlock", "launch", *flags, "job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def found(out):
    return [json.loads(line.split("found ", 1)[1]) for line in out.splitlines() if "found {" in line]


def test_metrics_and_saves_of_fleet_1(tmp_path):
    out = launch(tmp_path, SCRIPT, "--server-num", "1", "--worker-num", "2")
    first, second = found(out)
    assert first == second
    expected = [0.49633154359854664, 0.5110003286520695, 0.14863497, 0.26864544808659785, 0.29945192, 0.21777174, 1.3750725,
                0.006848198, 2007]
    assert first["auc"] == pytest.approx(expected[0], rel=1e-12) and first["all"] == pytest.approx(expected, rel=1e-6)
    assert first["sum"] == 601 and first["mae"] == pytest.approx(expected[2], rel=1e-6)
    assert first["missing"] is None and "not found auc bucket" in out
    assert out.count("now: global AUC=0.496332 BUCKET_ERROR=0.511000") == 1
    assert first["zeros"] == 0 and first["pulled"] and "w" in first["saved"]


def test_the_rest_of_fleet_util_is_refused_by_name():
    with pytest.raises(NotImplementedError, match='FleetUtil\\(mode="transpiler"\\)'):
        FleetUtil()
    with pytest.raises(ValueError, match="transpiler"):
        FleetUtil("collective")
    util = FleetUtil(mode="transpiler")
    for name in _ABSENT:
        with pytest.raises(NotImplementedError, match="FleetUtil.%s is not supported" % name):
            getattr(util, name)
    with pytest.raises(NotImplementedError, match="mode=2"):
        util.save_fleet_model("models", mode=2)
    with pytest.raises(AttributeError):
        util.nonesuch


def test_passes_of_a_day():
    util = FleetUtil(mode="transpiler")
    assert util.get_online_pass_interval("20260101", "{0..23}", 60, 12, True) == [
        ["%02d" % hour for hour in range(12)], ["%02d" % hour for hour in range(12, 24)]]
    assert util.get_online_pass_interval("20260101", "6 7", 30, 2, False) == [["0600", "0630"], ["0700", "0730"]]


SHUFFLE = """
import random
import paddle
import paddle.distributed.fleet as fleet

paddle.enable_static()
fleet.init(is_collective=%(collective)s)
x = paddle.static.data("x", [None, 1])
loss = paddle.mean(paddle.static.nn.fc(x, 1))
strategy = fleet.DistributedStrategy()
strategy.a_sync = False
fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    name = "part-%%d" %% fleet.worker_index()
    with open(name, "w") as f:
        f.write("".join("1 %%d\\n" %% (100 * fleet.worker_index() + i) for i in range(10 * (fleet.worker_index() + 1))))
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=4, use_var=[x])
    dataset.set_filelist([name])
    dataset.load_into_memory()
    random.seed(3)
    dataset.global_shuffle(fleet)
    print('found {"all": %%d, "mine": %%d}' %% (dataset.get_memory_data_size(fleet), dataset.get_memory_data_size()), flush=True)
    fleet.stop_worker()
"""


@pytest.mark.parametrize("flags", [["--server-num", "1", "--worker-num", "2"], ["--nproc_per_node", "2"]], ids=["servers", "collective"])
def test_a_global_shuffle_takes_the_module_of_fleet_2(tmp_path, flags):
    out = found(launch(tmp_path, SHUFFLE % {"collective": "--nproc_per_node" in flags}, *flags))
    assert [each["all"] for each in out] == [30, 30] and sum(each["mine"] for each in out) == 30
