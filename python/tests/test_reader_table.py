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
    """Declares variables, and makes steps: each is what `exe.run` gets as its feed, or None for programs that read by themselves."""

    def declare(self, tmp_path):
        self.vars = fed()
        return self.vars



class Feeder(Reader):
    def steps(self):
        feeder = fluid.DataFeeder(self.vars, fluid.CPUPlace())
        return (feeder.feed(batch) for batch in batches())


class Iterated(Reader):
    def make(self):
        return fluid.io.DataLoader.from_generator(feed_list=self.vars, capacity=2)

    def steps(self):
        loader = self.make()
        loader.set_sample_list_generator(batches, places=[fluid.CPUPlace()])
        return loader()


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


def run_steps(exe, program, reader):
    with contextlib.closing(iter(reader.steps())) as steps:
        try:
            for feed in steps:
                exe.run(program, feed=feed, fetch_list=[])
        except fluid.core.EOFException:
            reader.reader.reset()


def compiled_steps(exe, program, reader):
    run_steps(exe, fluid.CompiledProgram(program), reader)


def from_dataset(exe, program, reader):
    exe.train_from_dataset(program, reader.load())


RUNNERS = [run_steps, compiled_steps]

TABLE = [(mode, reader, runner) for mode in MODES for reader in READERS for runner in RUNNERS]
TABLE += [(mode, reader, from_dataset) for mode in MODES for reader in (FromQueue, FromMemory)]


@pytest.fixture(scope="module")
def expected():
    """Two passes, computed by hand."""
    w = np.zeros([2, 1], "float32")
    data = list(samples())
    for _ in range(2):
        for start in range(0, SAMPLES, BATCH):
            x = np.stack([s[0] for s in data[start : start + BATCH]])
            y = np.stack([s[1] for s in data[start : start + BATCH]])
            w = w - 0.2 * 2 * x.T @ (x @ w - y) / BATCH
    return w


@pytest.mark.parametrize("mode,reader,runner", TABLE, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_cell(mode, reader, runner, tmp_path, expected):
    mode, reader = MODES[mode](), reader()
    x, y = reader.declare(tmp_path)
    zero = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.0))
    predicted = layers.fc(x, 1, param_attr=zero, bias_attr=False)
    mode.minimize(layers.mean(layers.square_error_cost(predicted, y)))
    exe = fluid.Executor(fluid.CPUPlace())
    with mode.running(exe) as program:
        for _ in range(2):
            runner(exe, program, reader)
        np.testing.assert_allclose(mode.weights(), expected, rtol=1e-4, atol=1e-6)


def test_threads_of_a_trainer_that_waits_for_others(tmp_path):
    """Two threads, a file each: a step is that of their joined batch, without fleet and its communicator, too."""
    mode, reader = Servers(), FromQueue()
    x, y = reader.declare(tmp_path)
    zero = fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.0))
    predicted = layers.fc(x, 1, param_attr=zero, bias_attr=False)
    mode.minimize(layers.mean(layers.square_error_cost(predicted, y)))
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
