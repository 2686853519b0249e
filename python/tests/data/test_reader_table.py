"""Every way to feed data works with every way to run a program, in every mode, and all train the same model.

A mode is a column: how a program is made ready to train, and around what it runs. A new mode is one more entry of MODES."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import oarlock
import oarlock.fluid as fluid
from oarlock.fluid import layers

BATCH, SAMPLES = 5, 20
WEIGHTS = np.array([[1.0], [-2.0]], "float32")


def samples():
    for i in range(SAMPLES):
        x = np.array([np.sin(i), np.cos(3 * i)], "float32")
        yield x, x @ WEIGHTS


def batches():
    return oarlock.batch(samples, BATCH)()


class Local:
    """One process, one machine."""

    def minimize(self, loss):
        fluid.optimizer.SGD(0.2).minimize(loss)

    @contextlib.contextmanager
    def running(self, exe):
        exe.run(fluid.default_startup_program())
        yield fluid.default_main_program()

    def weights(self):
        return np.array(fluid.global_scope().find_var("w").get_tensor())


SERVER = """
import sys
import oarlock.fluid as fluid
exe = fluid.Executor(fluid.CPUPlace())
for name in sys.argv[1:]:
    with open(name, "rb") as f:
        exe.run(fluid.Program.parse_from_string(f.read()))
"""


class Servers(Local):
    """A trainer and a parameter server, which is a process of its own."""

    sync_mode = True

    def minimize(self, loss):
        super().minimize(loss)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            endpoint = "127.0.0.1:%d" % free.getsockname()[1]
        transpiler = fluid.DistributeTranspiler()
        transpiler.transpile(0, pservers=endpoint, trainers=1, sync_mode=self.sync_mode)
        main, startup = transpiler.get_pserver_programs(endpoint)
        self.folder = tempfile.TemporaryDirectory()
        names = [os.path.join(self.folder.name, name) for name in ("startup", "main")]
        for name, program in zip(names, (startup, main)):
            with open(name, "wb") as f:
                f.write(program.serialize_to_string())
        self.server = subprocess.Popen([sys.executable, "-c", SERVER] + names, stderr=subprocess.PIPE, text=True)
        self.program = transpiler.get_trainer_program()

    @contextlib.contextmanager
    def running(self, exe):
        try:
            exe.run(fluid.default_startup_program())
            yield self.program
            exe.close()
            _, said = self.server.communicate(timeout=60)
            assert self.server.returncode == 0, said
        finally:
            fluid.executor.runtime().abandon()
            if self.server.poll() is None:
                self.server.kill()
                self.server.communicate()
            self.folder.cleanup()


class AsyncServers(Servers):
    """The same, and the server waits for nobody."""

    sync_mode = False


MODES = {"local": Local, "servers": Servers, "async servers": AsyncServers}


def fed():
    return [fluid.data("x", [None, 2]), fluid.data("y", [None, 1])]


def write_text(tmp_path):
    """The samples in two files, cut where a batch ends."""
    lines = ["2 %r %r 1 %r\n" % (float(x[0]), float(x[1]), float(y[0])) for x, y in samples()]
    for part in range(2):
        half = SAMPLES // 2
        (tmp_path / ("part-%d" % part)).write_text("".join(lines[part * half : (part + 1) * half]))
    return [str(tmp_path / "part-*")]


class Reader:
    """Declares variables, and makes steps: each is what `exe.run` gets as its feed, or None for programs that read by themselves.
    `replica_steps` are those of two replicas, and `dealt` is how many samples of a step each of them gets."""

    dealt = [BATCH, BATCH]

    def declare(self, tmp_path):
        self.vars = fed()
        return self.vars

    def replica_steps(self):
        return self.steps()


class Feeder(Reader):
    """A dict, whose samples are dealt out to replicas."""

    dealt = [3, 2]

    def steps(self):
        feeder = fluid.DataFeeder(self.vars, fluid.CPUPlace())
        return (feeder.feed(batch) for batch in batches())


class Iterated(Reader):
    def make(self):
        return fluid.io.DataLoader.from_generator(feed_list=self.vars, capacity=2)

    def steps(self, places=1):
        loader = self.make()
        loader.set_sample_list_generator(batches, places=fluid.cpu_places(places))
        return loader()

    def replica_steps(self):
        return self.steps(2)


class IteratedProcess(Iterated):
    def make(self):
        return fluid.io.DataLoader.from_generator(feed_list=self.vars, capacity=2, use_multiprocess=True)


class IteratedPyReader(Iterated):
    def make(self):
        return fluid.io.PyReader(feed_list=self.vars, capacity=2, iterable=True)


class Started(Reader):
    def make(self):
        return fluid.io.DataLoader.from_generator(feed_list=self.vars, capacity=2, iterable=False)

    def declare(self, tmp_path):
        variables = super().declare(tmp_path)
        self.reader = self.make()
        self.reader.set_sample_generator(samples, batch_size=BATCH)
        return variables

    def steps(self):
        self.reader.start()
        while True:
            yield None


class StartedPyReader(Started):
    def make(self):
        return fluid.io.PyReader(feed_list=self.vars, capacity=2, iterable=False)


class PyReaderOp(Started):
    def declare(self, tmp_path):
        self.reader = layers.py_reader(capacity=2, shapes=[[-1, 2], [-1, 1]], dtypes=["float32", "float32"])
        self.reader.decorate_paddle_reader(batches)
        return layers.read_file(self.reader)


class PyReaderByData(Started):
    def declare(self, tmp_path):
        self.reader = layers.create_py_reader_by_data(capacity=2, feed_list=fed())
        self.reader.decorate_paddle_reader(batches)
        self.reader = layers.double_buffer(self.reader)
        return layers.read_file(self.reader)


class OpenFiles(Started):
    def declare(self, tmp_path):
        name = str(tmp_path / "samples.recordio")
        feeder = fluid.DataFeeder(fed(), fluid.CPUPlace())
        one_by_one = oarlock.batch(samples, 1)
        assert fluid.recordio_writer.convert_reader_to_recordio_file(name, one_by_one, feeder, max_num_records=3) == SAMPLES
        reader = layers.open_files([name], shapes=[[-1, 2], [-1, 1]], lod_levels=[0, 0], dtypes=["float32", "float32"])
        self.reader = layers.double_buffer(layers.batch(reader, BATCH))
        return layers.read_file(self.reader)


class FromQueue(Reader):
    kind = "QueueDataset"

    def declare(self, tmp_path):
        variables = super().declare(tmp_path)
        self.dataset = fluid.DatasetFactory().create_dataset(self.kind)
        self.dataset.set_use_var(variables)
        self.dataset.set_batch_size(BATCH)
        self.dataset.set_filelist(write_text(tmp_path))
        return variables

    def load(self):
        return self.dataset

    def steps(self):
        return fluid.io.DataLoader.from_dataset(self.load(), [fluid.CPUPlace()])()


class FromMemory(FromQueue):
    kind = "InMemoryDataset"

    def load(self):
        self.dataset.load_into_memory()
        return self.dataset


READERS = [
    Feeder, Iterated, IteratedProcess, IteratedPyReader, Started, StartedPyReader, PyReaderOp, PyReaderByData, OpenFiles, FromQueue,
    FromMemory,
]


def run_steps(exe, program, reader, steps=None):
    with contextlib.closing(iter(reader.steps() if steps is None else steps)) as steps:
        try:
            for feed in steps:
                exe.run(program, feed=feed, fetch_list=[])
        except fluid.core.EOFException:
            reader.reader.reset()


class Run:
    """Passes of `exe.run`. A program is made ready once, before the first pass."""

    replicas = 1

    def ready(self, program, loss):
        return program

    def __call__(self, exe, program, reader):
        run_steps(exe, program, reader)


class RunClone(Run):
    def ready(self, program, loss):
        return program.clone()


class RunCompiled(Run):
    def ready(self, program, loss):
        return fluid.CompiledProgram(program)


class RunParallel(Run):
    """The way of PaddleRec: a copy, compiled for data parallel."""

    def ready(self, program, loss):
        return fluid.CompiledProgram(program.clone()).with_data_parallel(loss.name, places=fluid.cpu_places(self.replicas))


class RunReplicas(RunParallel):
    replicas = 2

    def __call__(self, exe, program, reader):
        run_steps(exe, program, reader, reader.replica_steps())


class TrainFromDataset(Run):
    def __call__(self, exe, program, reader):
        exe.train_from_dataset(program, reader.load())


class TrainCloneFromDataset(TrainFromDataset, RunClone):
    pass


class TrainCompiledFromDataset(TrainFromDataset, RunParallel):
    pass


DATASETS = [FromQueue, FromMemory]
RUNNERS = [Run, RunClone, RunCompiled, RunParallel]
FROM_DATASET = [TrainFromDataset, TrainCloneFromDataset, TrainCompiledFromDataset]

TABLE = [("local", reader, runner) for reader in READERS for runner in RUNNERS]
# Which of two replicas gets which file of a data set is chance.
TABLE += [("local", reader, RunReplicas) for reader in READERS if reader not in DATASETS]
TABLE += [(mode, reader, runner) for mode in ("servers", "async servers") for reader in READERS for runner in (Run, RunParallel)]
TABLE += [(mode, reader, runner) for mode in MODES for reader in DATASETS for runner in FROM_DATASET]


def two_passes(groups):
    """Two passes, computed by hand. A step takes a group of samples per replica, whose gradients are averaged."""
    w = np.zeros([2, 1], "float32")
    data = list(samples())
    for _ in range(2):
        for start in range(0, SAMPLES, sum(groups)):
            slope, at = 0, start
            for size in groups:
                x, y = (np.stack(field) for field in zip(*data[at : at + size]))
                slope, at = slope + 2 * x.T @ (x @ w - y) / size / len(groups), at + size
            w = w - 0.2 * slope
    return w


def network(mode, reader, tmp_path):
    x, y = reader.declare(tmp_path)
    zero = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.0))
    predicted = layers.fc(x, 1, param_attr=zero, bias_attr=False)
    loss = layers.mean(layers.square_error_cost(predicted, y))
    mode.minimize(loss)
    return predicted, loss


@pytest.mark.parametrize("mode,reader,runner", TABLE, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_cell(mode, reader, runner, tmp_path):
    mode, reader, runner = MODES[mode](), reader(), runner()
    _, loss = network(mode, reader, tmp_path)
    exe = fluid.Executor(fluid.CPUPlace())
    with mode.running(exe) as program:
        program = runner.ready(program, loss)
        for _ in range(2):
            runner(exe, program, reader)
        groups = reader.dealt if runner.replicas == 2 else [BATCH]
        np.testing.assert_allclose(mode.weights(), two_passes(groups), rtol=1e-4, atol=1e-6)


BY_PROGRAM = [Started, StartedPyReader, PyReaderOp, PyReaderByData, OpenFiles]


@pytest.mark.parametrize("reader", BY_PROGRAM, ids=lambda v: v.__name__)
def test_a_test_program_reads_and_an_inference_model_does_not(reader, tmp_path):
    reader = reader()
    predicted, loss = network(Local(), reader, tmp_path)
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    reader.reader.start()
    with pytest.raises(fluid.core.EOFException):
        while True:
            seen.append(exe.run(test, fetch_list=[loss])[0].item())
    reader.reader.reset()
    targets = np.concatenate([y for _, y in samples()])
    np.testing.assert_allclose(np.mean(seen), np.mean(targets**2), rtol=1e-5)
    fed_name = predicted.block.program.global_block().ops[1].input("X")[0]
    fluid.io.save_inference_model(str(tmp_path / "model"), [fed_name], [predicted], exe)
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
        kinds = {var.type for var in program.list_vars()}
        assert feeds == [fed_name] and fluid.core.VarDesc.VarType.READER not in kinds
        assert "read" not in [op.type for op in program.global_block().ops]
        assert exe.run(program, feed={fed_name: np.ones([3, 2], "float32")}, fetch_list=fetches)[0].shape == (3, 1)
    # Readers are no values that could be saved.
    fluid.io.save_persistables(exe, str(tmp_path / "saved"))
    assert set(os.listdir(tmp_path / "saved")) == {"w", "learning_rate_0", "oarlock.manifest"}


@pytest.mark.parametrize("runner", [Run, RunClone, RunCompiled, RunParallel, RunReplicas], ids=lambda v: v.__name__)
@pytest.mark.parametrize("reader", [Started, PyReaderOp], ids=lambda v: v.__name__)
def test_what_the_generator_raises_is_raised_by_the_run(reader, runner, tmp_path):
    class Broken(reader):
        pass

    def broken():
        yield from batches()
        raise OSError("the disk is gone")

    reader, runner = Broken(), runner()
    _, loss = network(Local(), reader, tmp_path)
    set_generator = getattr(reader.reader, "set_sample_list_generator", None) or reader.reader.decorate_paddle_reader
    set_generator(broken)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    program = runner.ready(fluid.default_main_program(), loss)
    with pytest.raises(OSError, match="the disk is gone"):
        runner(exe, program, reader)
    reader.reader.reset()
    # The next pass is not spoilt by it.
    set_generator(batches)
    runner(exe, program, reader)


def test_a_feed_comes_before_a_reader(tmp_path):
    reader = Started()
    _, loss = network(Local(), reader, tmp_path)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    x, y = (np.stack(field) for field in zip(*samples()))
    for program in (fluid.default_main_program(), fluid.CompiledProgram(fluid.default_main_program())):
        exe.run(program, feed={"x": x, "y": y})
        with pytest.raises(ValueError, match="a reader gives `y`, but only some of what it gives is fed"):
            exe.run(program, feed={"x": x})


def test_mistakes_are_told(tmp_path):
    reader = Started()
    _, loss = network(Local(), reader, tmp_path)
    exe = fluid.Executor()
    with pytest.raises(fluid.core.EnforceNotMet, match="`read` needs `data_loader_.*, but it has no value in this scope"):
        exe.run()
    with fluid.scope_guard(fluid.Scope()):
        with pytest.raises(ValueError, match="holds no queue.*\n(.*\n)*.*help: run the startup program in the scope"):
            exe.run(fluid.default_startup_program())
    exe.run(fluid.default_startup_program())
    for program in (None, RunParallel().ready(fluid.default_main_program(), loss)):
        with pytest.raises(ValueError, match="reads from a reader that is not started"):
            exe.run(program)
    with pytest.raises(RuntimeError, match="not iterated: call start"):
        next(iter(reader.reader))
    iterated = fluid.io.DataLoader.from_generator(feed_list=reader.vars, capacity=2)
    with pytest.raises(RuntimeError, match="can only be called when the loader is not iterable"):
        iterated.start()
    for loader in (reader.reader, iterated):
        with pytest.raises(TypeError, match="takes a dataset of fluid.DatasetFactory, not"):
            exe.train_from_dataset(fluid.default_main_program(), loader)
    empty = fluid.io.DataLoader.from_generator(feed_list=reader.vars, capacity=2, iterable=False)
    with pytest.raises(RuntimeError, match="the loader has no data: call set_sample_generator"):
        empty.start()


def test_arrays_that_are_used_again_keep_what_was_yielded():
    """A generator may fill the same array for every batch."""
    x = fluid.data("x", [None, 4096])
    loader = fluid.io.DataLoader.from_generator([x], capacity=8, iterable=False)
    array = np.zeros([2, 4096], "float32")

    def filled():
        for i in range(6):
            array[:] = i
            yield [array]

    loader.set_batch_generator(filled)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    loader.start()
    seen = [exe.run(fetch_list=[x])[0][0, 0] for _ in range(6)]
    loader.reset()
    assert seen == [0, 1, 2, 3, 4, 5]


def test_what_is_read_must_be_what_is_declared():
    x = fluid.data("x", [None, 2])
    loader = fluid.io.DataLoader.from_generator([x], capacity=2, iterable=False)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for wrong, error in ((np.zeros([3, 2]), TypeError), (np.zeros([3, 4], "float32"), fluid.core.EnforceNotMet)):
        loader.set_batch_generator(lambda: iter([[wrong]]))
        loader.start()
        with pytest.raises(error, match="`x` is declared f32\\[\\?, 2\\], but a tensor of .* is read"):
            exe.run(fetch_list=[x])
        loader.reset()


def test_threads_of_a_trainer_that_waits_for_others(tmp_path):
    """Two threads, a file each: a step is that of their joined batch, without fleet and its communicator, too."""
    mode, reader = Servers(), FromQueue()
    network(mode, reader, tmp_path)
    exe = fluid.Executor(fluid.CPUPlace())
    reader.dataset.set_thread(2)
    # A reader that is early would take both files: each waits until the other one is open.
    meet = tmp_path / "meet.sh"
    meet.write_text('touch "$1/$$"; until [ "$(ls "$1" | wc -l)" -ge 2 ]; do sleep 0.01; done; exec cat')
    with mode.running(exe) as program:
        for number in range(2):
            here = tmp_path / str(number)
            here.mkdir()
            reader.dataset.set_pipe_command("sh %s %s" % (meet, here))
            exe.train_from_dataset(program, reader.load())
        trained = mode.weights()
    w = np.zeros([2, 1], "float32")
    data, half = list(samples()), SAMPLES // 2
    for _ in range(2):
        for start in range(0, half, BATCH):
            both = data[start : start + BATCH] + data[half + start : half + start + BATCH]
            x, y = np.stack([s[0] for s in both]), np.stack([s[1] for s in both])
            w = w - 0.2 * 2 * x.T @ (x @ w - y) / (2 * BATCH)
    np.testing.assert_allclose(trained, w, rtol=1e-4, atol=1e-6)
