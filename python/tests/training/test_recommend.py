"""Training and inference in the manner of PaddleRec, with a small model: loaders in programs that are copied and compiled, phases with
scopes of their own, metrics that live in the scope, data sets that are read through a program, and servers started as processes."""

import os
import subprocess
import sys

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.layer_helper import LayerHelper

SLOTS = ["click", "user", "item"]


def lines(count=64):
    state = np.random.RandomState(0)
    for _ in range(count):
        user, items = state.randint(0, 20), state.randint(0, 20, state.randint(1, 4))
        yield int((user + items.sum()) % 2), user, items.tolist()


def samples():
    for click, user, items in lines():
        yield [click], [user], items


def recall(predict, label, k):
    """A metric as users write it: counts in the scope that every batch adds to."""
    helper = LayerHelper("recall_k", **locals())
    hits = layers.accuracy(predict, label, k=k, total=layers.create_tensor("int64"))
    kept = helper.create_global_variable(name="hits", persistable=True, dtype="float32", shape=[1])
    helper.set_variable_initializer(kept, fluid.initializer.Constant(value=0.0, force_cpu=True))
    helper.append_op(type="elementwise_add", inputs={"X": [kept], "Y": [hits]}, outputs={"Out": [kept]})
    return kept


class Phase:
    """A network with programs and a scope of its own."""

    def __init__(self, infer=False, loader=True):
        self.main, self.startup, self.scope = fluid.Program(), fluid.Program(), fluid.Scope()
        self.startup.random_seed = self.main.random_seed = 7
        with fluid.program_guard(self.main, self.startup), fluid.unique_name.guard(), fluid.scope_guard(self.scope):
            self.inputs = [layers.data(name, [1], dtype="int64", lod_level=1) for name in SLOTS]
            if loader:
                self.loader = fluid.io.DataLoader.from_generator(
                    feed_list=self.inputs, capacity=64, use_double_buffer=False, iterable=False)
            label, user, items = self.inputs
            parts = [
                layers.sequence_pool(layers.embedding(ids, [20, 4], is_sparse=True, param_attr=fluid.ParamAttr("table_%d" % i)), "sum")
                for i, ids in enumerate((user, items))
            ]
            predict = layers.fc(layers.fc(parts, 8, act="relu"), 2, act="softmax")
            self.auc, self.batch_auc, _ = layers.auc(predict, label, num_thresholds=2**12, slide_steps=0)
            self.hits = recall(predict, label, 1)
            self.cost = layers.mean(layers.cross_entropy(predict, label))
            if not infer:
                fluid.optimizer.Adam(0.02, lazy_mode=True).minimize(self.cost)
        self.copy = self.main.clone()

    def start(self, exe):
        with fluid.scope_guard(self.scope), fluid.program_guard(self.main, self.startup):
            exe.run(self.startup)

    def compiled(self):
        build, execute = fluid.BuildStrategy(), fluid.ExecutionStrategy()
        build.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.CoeffNumDevice
        return fluid.compiler.CompiledProgram(self.main.clone()).with_data_parallel(
            loss_name=self.cost.name, build_strategy=build, exec_strategy=execute)

    def one_pass(self, exe, program):
        """Runs until the data end; the last values of cost and area."""
        self.loader.start()
        with fluid.scope_guard(self.scope):
            try:
                while True:
                    fetched = exe.run(program=program, fetch_list=[self.cost.name, self.auc.name], return_numpy=False)
                    assert all(tensor._is_initialized() for tensor in fetched)
                    values = [np.array(tensor).item() for tensor in fetched]
            except fluid.core.EOFException:
                self.loader.reset()
        return values


@pytest.fixture(autouse=True)
def one_replica(monkeypatch):
    monkeypatch.delenv("CPU_NUM", raising=False)


def test_a_phase_trains_and_another_one_infers(tmp_path):
    exe, train = fluid.Executor(fluid.CPUPlace()), Phase()
    train.loader.set_sample_generator(samples, batch_size=8)
    train.start(exe)
    program = train.compiled()
    costs = [train.one_pass(exe, program)[0] for _ in range(6)]
    assert costs[-1] < 0.7 * costs[0]
    with fluid.scope_guard(train.scope), fluid.program_guard(train.copy, train.startup):
        fluid.io.save_persistables(exe, str(tmp_path / "saved"))
        fluid.io.save_inference_model(str(tmp_path / "model"), ["user", "item"], [train.cost.block.vars["fc_1.tmp_2"]], exe)
    infer = Phase(infer=True)
    infer.loader.set_sample_generator(samples, batch_size=8)
    infer.start(exe)
    with fluid.scope_guard(infer.scope), fluid.program_guard(infer.main, infer.startup):
        fluid.io.load_persistables(exe, str(tmp_path / "saved"), main_program=infer.main)
        # Metrics begin anew, as PaddleRec lets them: zeros, of whatever type.
        for name in ["hits"] + ["_generated_var_%d" % i for i in range(4)]:
            tensor = infer.scope.find_var(name).get_tensor()
            tensor.set(np.zeros(tensor._get_dims()).astype("float32"), fluid.CPUPlace())
    cost, area = infer.one_pass(exe, infer.main)
    assert cost < costs[0] and area > 0.9
    assert 6 < np.array(infer.scope.find_var("hits").get_tensor()).item() <= 8


def test_a_copy_that_is_compiled_trains_as_the_program_itself():
    exe = fluid.Executor()
    seen = []
    for way in ("fed", "read", "compiled"):
        phase = Phase(loader=way != "fed")
        phase.start(exe)
        if way == "fed":
            feeder = fluid.DataFeeder(phase.inputs, fluid.CPUPlace(), phase.main)
            batches = [list(samples())[i : i + 8] for i in range(0, 64, 8)]
            with fluid.scope_guard(phase.scope):
                costs = [exe.run(phase.main, feed=feeder.feed(b), fetch_list=[phase.cost])[0].item() for b in batches]
            seen.append(costs[-1])
            continue
        phase.loader.set_sample_generator(samples, batch_size=8)
        seen.append(phase.one_pass(exe, phase.main if way == "read" else phase.compiled())[0])
    np.testing.assert_allclose(seen, seen[0], rtol=1e-5)


GENERATOR = """
import paddle.fluid.incubate.data_generator as dg

class Reader(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def one():
            click, user, *items = [int(word) for word in line.split()]
            yield [("click", [click]), ("user", [user]), ("item", items)]
        return one

Reader().run_from_stdin()
"""


def test_a_data_set_that_is_read_through_a_program(tmp_path, capfd, monkeypatch):
    import oarlock._alias

    shim = oarlock._alias._SHIM
    above = os.path.dirname(os.path.dirname(oarlock.__file__))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([shim, above]))
    (tmp_path / "reader.py").write_text(GENERATOR)
    (tmp_path / "data").write_text("".join("%d %d %s\n" % (c, u, " ".join(map(str, i))) for c, u, i in lines()))
    exe, phase = fluid.Executor(), Phase(loader=False)
    phase.start(exe)
    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_batch_size(8)
    dataset.set_pipe_command("%s %s" % (sys.executable, tmp_path / "reader.py"))
    dataset.set_filelist([str(tmp_path / "data")])
    dataset.set_thread(1)
    dataset.set_use_var(phase.inputs)
    metrics = {"AUC": phase.auc, "cost": phase.cost}
    with fluid.scope_guard(phase.scope):
        for _ in range(6):
            exe.train_from_dataset(
                program=phase.main, dataset=dataset, fetch_list=metrics.values(), fetch_info=metrics.keys(), print_period=4, debug=False)
    shown = capfd.readouterr().out
    assert "AUC" in shown and "cost" in shown
    infer = Phase(infer=True, loader=False)
    infer.scope = phase.scope
    with fluid.scope_guard(phase.scope):
        exe.infer_from_dataset(program=infer.main, dataset=dataset, fetch_list=[infer.auc], fetch_info=["AUC"], print_period=4)


JOB = """
import os
import sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

mode, folder = sys.argv[1:]
fleet.init(PaddleCloudRoleMaker())
x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [1])
loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=64, use_double_buffer=False, iterable=False)
zero = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1, param_attr=zero), y))
strategy = getattr(StrategyFactory, "create_%s_strategy" % mode)(*([4] if mode == "geo" else []))
fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), strategy).minimize(cost)
if fleet.is_server():
    fleet.init_server("")
    fleet.run_server()
    # PaddleRec ends every role this way.
    fleet.stop_worker()
    print("server finished")
    sys.exit()
fleet.init_worker()

def samples():
    state = np.random.RandomState(fleet.worker_index())
    for _ in range(64):
        x = state.rand(3).astype("float32")
        yield x, [float(x.sum())]

loader.set_sample_generator(samples, 8)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fleet.startup_program)
program = fluid.compiler.CompiledProgram(fleet.main_program.clone()).with_data_parallel(
    loss_name=cost.name, build_strategy=strategy.get_build_strategy(), exec_strategy=strategy.get_execute_strategy())
costs = []
for epoch in range(6):
    loader.start()
    try:
        while True:
            costs.append(float(np.mean(np.array(exe.run(program, fetch_list=[cost.name], return_numpy=False)[0]))))
    except fluid.core.EOFException:
        loader.reset()
if fleet.worker_index() == 0:
    fleet.save_persistables(exe, os.path.join(folder, "saved"))
fleet.stop_worker()
# Without training it is about 2.4. One that comes late may find a model that the other one has trained.
assert np.mean(costs[-4:]) < 0.5, costs
print("worker finished")
"""


@pytest.mark.parametrize("mode", ["sync", "async", "half_async", "geo"])
def test_servers_and_trainers_end_by_themselves(mode, tmp_path):
    import socket

    import oarlock._alias

    (tmp_path / "job.py").write_text(JOB)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    above = os.path.dirname(os.path.dirname(oarlock.__file__))
    common = dict(
        os.environ, PYTHONPATH=os.pathsep.join([oarlock._alias._SHIM, above]), PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:%d" % port,
        PADDLE_TRAINERS_NUM="2", PADDLE_PORT=str(port), POD_IP="127.0.0.1", CPU_NUM="2", OARLOCK_THREADS="1",
    )
    roles = [dict(TRAINING_ROLE="PSERVER")] + [dict(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=str(i)) for i in range(2)]
    command = [sys.executable, str(tmp_path / "job.py"), mode, str(tmp_path)]
    processes = [
        subprocess.Popen(command, env=dict(common, **role), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for role in roles
    ]
    try:
        said = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, text in zip(processes, said):
        assert process.returncode == 0 and "finished" in text, text
    assert sorted(os.listdir(tmp_path / "saved"))[:2] == ["fc_0.b_0", "fc_0.w_0"]
