"""Data sets of files, training from them, and the scripts that make their lines."""

import gzip
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import oarlock
import oarlock.fluid as fluid
import oarlock.fluid.incubate.data_generator as dg
from oarlock.fluid import layers


def click_model():
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
    dense = fluid.data("dense", [None, 2])
    label = fluid.data("label", [None, 1], "int64")
    pooled = layers.sequence_pool(layers.embedding(ids, [50, 4], is_sparse=True), "sum")
    predicted = layers.fc(layers.concat([pooled, dense], 1), 2, act="softmax")
    auc, _, stats = layers.auc(predicted, label)
    loss = layers.mean(layers.cross_entropy(predicted, label))
    return [ids, dense, label], loss, auc, stats


def write(tmp_path, files=2, lines=40):
    names = []
    for f in range(files):
        names.append(tmp_path / ("part-%d" % f))
        names[-1].write_text("".join("2 %d %d 2 0.%d 1 1 %d\n" % (i % 48 + 1, i % 7, i % 9, (i + f) % 2) for i in range(lines)))
    return [str(n) for n in names]


def dataset_of(kind, variables, files, batch=10, threads=1):
    dataset = fluid.DatasetFactory().create_dataset(kind)
    dataset.set_use_var(variables)
    dataset.set_batch_size(batch)
    dataset.set_thread(threads)
    dataset.set_filelist(files)
    return dataset


def started(loss):
    fluid.optimizer.Adam(0.1, lazy_mode=True).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


def seen(stats):
    return sum(int(np.array(fluid.global_scope().find_var(s.name).get_tensor()).sum()) for s in stats[2:])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_every_sample_counts_once(kind, threads, tmp_path, capfd):
    variables, loss, auc, stats = click_model()
    exe = started(loss)
    dataset = dataset_of(kind, variables, write(tmp_path, 3), threads=threads)
    if kind == "InMemoryDataset":
        dataset.load_into_memory()
        assert "bytes per sample" in capfd.readouterr().out
        assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (120, 0)
        dataset.local_shuffle()
        dataset.global_shuffle()
        assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (120, 120)
    exe.train_from_dataset(dataset=dataset, fetch_list=[loss, auc], fetch_info=["loss", "auc"], print_period=5)
    assert seen(stats) == 120
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("batch 0: loss ") and ", auc " in lines[0]
    if kind == "InMemoryDataset":
        dataset.release_memory()
        assert dataset.get_memory_data_size() == 0
        with pytest.raises(ValueError, match="holds no samples"):
            exe.train_from_dataset(dataset=dataset)


def test_inference_learns_nothing(tmp_path):
    variables, loss, _, stats = click_model()
    exe = started(loss)
    w = lambda: np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    before = w()
    exe.infer_from_dataset(fluid.default_main_program(), dataset_of("QueueDataset", variables, write(tmp_path)), thread=2)
    assert seen(stats) == 80
    np.testing.assert_array_equal(before, w())


def test_handlers_get_values_and_their_exceptions_end_the_run(tmp_path):
    variables, loss, auc, _ = click_model()
    exe = started(loss)
    dataset = dataset_of("QueueDataset", variables, write(tmp_path, 2, 2000), batch=2)
    got = []

    class Keep(fluid.executor.FetchHandler):
        def handler(self, res_dict):
            got.append(res_dict)

    exe.train_from_dataset(dataset=dataset, fetch_handler=Keep({"auc": auc, "loss": loss}, period_secs=0))
    assert got and 0.0 <= got[0]["auc"].item() <= 1.0 and got[0]["loss"].shape == (1,)

    class Fail(fluid.executor.FetchHandler):
        def handler(self, res_dict):
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        exe.train_from_dataset(dataset=dataset, fetch_handler=Fail({"auc": auc}, period_secs=0))


@pytest.mark.parametrize("threads", [1, 2])
def test_bad_lines_fail_or_are_skipped(threads, tmp_path):
    variables, loss, _, stats = click_model()
    exe = started(loss)
    files = write(tmp_path)
    with open(files[1], "a") as f:
        f.write("2 1 x 2 0 0 1 1\n")
    dataset = dataset_of("QueueDataset", variables, files, threads=threads)
    with pytest.raises(fluid.core.EnforceNotMet, match=r"part-1:41:5: expected value 2 of 2 of slot `ids`"):
        exe.train_from_dataset(dataset=dataset)
    dataset.set_bad_lines("skip")
    with pytest.warns(UserWarning, match="1 of 81 lines were skipped"):
        exe.train_from_dataset(dataset=dataset)


def test_compressed_piped_and_missing_files(tmp_path):
    variables, loss, _, stats = click_model()
    exe = started(loss)
    text = b"1 7 2 0.5 1 1 1\n" * 25
    with gzip.open(tmp_path / "a.gz", "wb") as f:
        f.write(text)
    dataset = dataset_of("QueueDataset", variables, [str(tmp_path / "*.gz")])
    exe.train_from_dataset(dataset=dataset)
    assert seen(stats) == 25
    dataset.set_pipe_command("head -n 5 | sed 's/^1 7/1 9/'")
    exe.train_from_dataset(dataset=dataset)
    assert seen(stats) == 30
    dataset.set_pipe_command("false")
    with pytest.raises(OSError, match="the pipe command `false` failed"):
        exe.train_from_dataset(dataset=dataset)
    dataset.set_pipe_command("cat")
    dataset.set_filelist([str(tmp_path / "no-such-file")])
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        exe.train_from_dataset(dataset=dataset)
    dataset.set_filelist(["hdfs:/some/where"])
    with pytest.raises(fluid.core.EnforceNotMet, match="needs the command `hadoop`"):
        exe.train_from_dataset(dataset=dataset)


def test_lines_are_merged_by_their_ids(tmp_path):
    a, b = fluid.data("a", [None, 1], "int64", lod_level=1), fluid.data("b", [None, 1], "int64", lod_level=1)
    (tmp_path / "part-0").write_text("1 k1 1 5 1 0\n1 k2 1 6 1 0\n1 k1 1 0 1 7\n1 k3 1 1 1 1\n")
    dataset = dataset_of("InMemoryDataset", [a, b], [str(tmp_path / "part-0")], batch=4)
    dataset.set_merge_by_lineid(merge_size=2)
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 4
    dataset.global_shuffle()
    assert dataset.get_memory_data_size() == 1
    ((feed,),) = list(fluid.io.DataLoader.from_dataset(dataset, [fluid.CPUPlace()], drop_last=False)())
    assert np.array(feed["a"]).tolist() == [[5]] and np.array(feed["b"]).tolist() == [[7]]


def test_preloading_and_memory_limits(tmp_path):
    variables, _, _, _ = click_model()
    dataset = dataset_of("InMemoryDataset", variables, write(tmp_path), threads=2)
    dataset.preload_into_memory()
    dataset.wait_preload_done()
    assert dataset.get_memory_data_size() == 80
    dataset.set_memory_limit(100)
    with pytest.raises(IndexError, match="does not fit into memory"):
        dataset.load_into_memory()


def test_what_is_refused_says_so(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        fluid.DatasetFactory().create_dataset("Nothing")
    dataset = fluid.DatasetFactory().create_dataset()
    with pytest.raises(ValueError, match="float32 and dtype=int64"):
        dataset.set_use_var([fluid.data("z", [None, 1], "float64")])
    with pytest.raises(NotImplementedError, match="InMemoryDataset"):
        dataset.local_shuffle()
    with pytest.raises(RuntimeError, match="dataset is need"):
        fluid.Executor().train_from_dataset()
    x = fluid.data("x", [None, 2])
    dataset.set_use_var([x, fluid.data("n", [None, 1], "int64", lod_level=1)])
    assert 'name: "x"\n    type: "float"\n    is_dense: true\n    is_used: true\n    shape: -1\n    shape: 2' in dataset.desc()


def test_loaders_of_datasets_leave_nothing_behind(tmp_path):
    variables, loss, _, _ = click_model()
    dataset = dataset_of("QueueDataset", variables, write(tmp_path, 2, 45))
    loader = fluid.io.DataLoader.from_dataset(dataset, fluid.cpu_places(2), drop_last=False)
    rows = [[len(feed["label"]) for feed in feeds] for feeds in loader()]
    assert sum(map(sum, rows)) == 90 and all(len(feeds) == 2 for feeds in rows[:-1])
    loader = fluid.io.DataLoader.from_dataset(dataset, fluid.cpu_places(2))
    assert all(len(feed["label"]) == 10 for feeds in loader() for feed in feeds)
    dataset.set_pipe_command("cat; sleep 60")
    start = time.time()
    for _ in fluid.io.DataLoader.from_dataset(dataset, [fluid.CPUPlace()])():
        break
    assert time.time() - start < 10


def process_loader(generate):
    x = fluid.data("x", [None, 1])
    s = fluid.data("s", [None, 1], "int64", lod_level=1)
    loader = fluid.io.DataLoader.from_generator(feed_list=[x, s], capacity=2, use_multiprocess=True)
    loader.set_sample_list_generator(generate, places=fluid.CPUPlace())
    return loader


def children():
    pid = os.getpid()
    return [t for t in open("/proc/%d/task/%d/children" % (pid, pid)).read().split()]


def test_loaders_in_a_process_of_their_own():
    def generate():
        for i in range(3):
            yield [([os.getpid()], [i] * (i + 1))]

    loader = process_loader(generate)
    feeds = [feed for (feed,) in loader()]
    assert [f["s"].recursive_sequence_lengths() for f in feeds] == [[[1]], [[2]], [[3]]]
    assert np.array(feeds[0]["x"]).item() != os.getpid()

    def broken():
        yield [([1], [1])]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone") as raised:
        list(process_loader_again(loader, broken)())
    assert "in broken" in str(raised.value.__cause__)

    def dies():
        yield [([1], [1])]
        os._exit(3)

    with pytest.raises(RuntimeError, match="exit code 3"):
        list(process_loader_again(loader, dies)())

    def endless():
        while True:
            yield [([1], [1])]

    before = threading.active_count(), children()
    for _ in process_loader_again(loader, endless)():
        break
    assert (threading.active_count(), children()) == before


def process_loader_again(loader, generate):
    return loader.set_sample_list_generator(generate, places=fluid.CPUPlace())


def test_a_py_reader_that_raises_ends_the_run_with_its_exception():
    reader = layers.py_reader(capacity=2, shapes=[[-1, 1]], dtypes=["float32"])

    def broken():
        yield [([1.0],)]
        raise OSError("the disk is gone")

    reader.decorate_paddle_reader(broken)
    total = layers.reduce_sum(layers.read_file(reader))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    with pytest.raises(ValueError, match="not started"):
        exe.run(fetch_list=[total])
    before = threading.active_count()
    reader.start()
    assert exe.run(fetch_list=[total])[0].item() == 1.0
    with pytest.raises(OSError, match="the disk is gone"):
        exe.run(fetch_list=[total])
    reader.reset()
    assert threading.active_count() == before


def test_readers_of_records(tmp_path):
    x = fluid.data("x", [None, 1])
    feeder = fluid.DataFeeder([x], fluid.CPUPlace())
    numbers = oarlock.batch(lambda: ([float(i)] for i in range(10)), 1)
    count = fluid.recordio_writer.convert_reader_to_recordio_files(str(tmp_path / "n.recordio"), 4, numbers, feeder)
    files = sorted(str(p) for p in tmp_path.glob("n-*.recordio"))
    assert count == 10 and [os.path.basename(f) for f in files] == ["n-%05d.recordio" % i for i in range(3)]
    reader = layers.open_files(files, shapes=[[-1, 1]], lod_levels=[0], dtypes=["float32"], thread_num=2, pass_num=2)
    reader = layers.batch(layers.shuffle(reader, 100), 5)
    value = layers.read_file(reader)
    assert value.shape == (-1, 1)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(2):
        got = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                got.append(exe.run(fetch_list=[value])[0])
        assert [len(g) for g in got] == [5] * 4
        flat = np.concatenate(got).ravel().tolist()
        assert sorted(flat) == sorted(list(range(10)) * 2) and flat != sorted(flat)
        reader.reset()


class Words(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            words = (line or "4 5").split()
            yield [("words", [int(w) for w in words]), ("score", [len(words) / 2])]

        return samples


def test_generators_of_data(tmp_path, capsys):
    Words().run_from_memory()
    assert capsys.readouterr().out == "2 4 5 1 1.0\n"
    strings = dg.MultiSlotStringDataGenerator()
    assert strings._gen_str([("a", ["1", "2"]), ("b", ["x"])]) == "2 1 2 1 x\n"
    generator = Words()
    generator._gen_str([("words", [1]), ("score", [1.0])])
    assert generator._proto_info == [("words", "uint64"), ("score", "float")]
    with pytest.raises(ValueError, match="not match: require<words>, get<score>"):
        generator._gen_str([("score", [1.0]), ("words", [1])])
    with pytest.raises(ValueError, match="can not be empty"):
        generator._gen_str([("words", []), ("score", [1.0])])

    script = tmp_path / "words.py"
    script.write_text(textwrap.dedent("""
        import oarlock.fluid.incubate.data_generator as dg
        class Words(dg.MultiSlotDataGenerator):
            def generate_sample(self, line):
                return lambda: iter([[("words", [int(w) for w in line.split()]), ("score", [0.5])]])
        Words().run_from_stdin()
    """))
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    score = fluid.data("score", [None, 1])
    (tmp_path / "part-0").write_text("1 2 3\n4 5\n")
    dataset = dataset_of("QueueDataset", [words, score], [str(tmp_path / "part-0")])
    dataset.set_pipe_command("%s %s" % (sys.executable, script))
    ((feed,),) = list(fluid.io.DataLoader.from_dataset(dataset, [fluid.CPUPlace()], drop_last=False)())
    assert np.array(feed["words"]).ravel().tolist() == [1, 2, 3, 4, 5]


def test_ctrl_c_ends_a_pass_within_a_second(tmp_path):
    script = tmp_path / "train.py"
    (tmp_path / "part-0").write_text("1 1.0\n")
    script.write_text(textwrap.dedent("""
        import time
        import oarlock.fluid as fluid
        x = fluid.data("x", [None, 1])
        loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        dataset = fluid.DatasetFactory().create_dataset()
        dataset.set_use_var([x])
        dataset.set_filelist([%r])
        dataset.set_pipe_command("cat; sleep 60")
        print("training", flush=True)
        try:
            exe.train_from_dataset(dataset=dataset)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """ % str(tmp_path / "part-0")))
    child = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "training\n"
    time.sleep(0.3)
    start = time.time()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    # A loaded machine needs longer for the rest.
    assert time.time() - start < 5
    assert child.wait(20) == 0


CSV = """label,c1,note,c2,ids
1,0.5,"a, b",2,7|8
0,1.5,,4,
1,2.5,x,6,9
"""


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_columns_of_csv_files_fill_variables(tmp_path, kind):
    variables, _, _, stats = click_model()
    (tmp_path / "part-0.csv").write_text(CSV)
    dataset = dataset_of(kind, variables, [str(tmp_path / "part-0.csv")], batch=3)
    dataset.set_csv({"dense": ["c1", "c2"]})
    if kind == "InMemoryDataset":
        dataset.load_into_memory()
    batch, rows = dataset._configure().begin(1)[0].next()
    assert rows == 3
    by_name = {name: np.array(tensor) for name, tensor in batch.items()}
    assert by_name["dense"].tolist() == [[0.5, 2], [1.5, 4], [2.5, 6]] and by_name["label"].ravel().tolist() == [1, 0, 1]
    assert by_name["ids"].ravel().tolist() == [7, 8, 0, 9] and batch["ids"].lod() == [[0, 2, 3, 4]]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    exe.train_from_dataset(dataset=dataset)
    assert seen(stats) == 3


def test_mistakes_in_csv_files_are_named(tmp_path):
    variables, _, _, _ = click_model()
    (tmp_path / "a.csv").write_text("label;ids;dense\n1;7;0.5|1\n1;7;x|1\n")
    dataset = dataset_of("InMemoryDataset", variables, [str(tmp_path / "a.csv")])
    dataset.set_csv(delimiter=";")
    with pytest.raises(fluid.core.EnforceNotMet, match=r"a.csv:3:5: column `dense`: expected a value of type float32, found `x`"):
        dataset.load_into_memory()
    dataset.set_bad_lines("skip")
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 1
    dataset.set_csv({"nothing": "a"})
    with pytest.raises(ValueError, match="columns are given for nothing"):
        dataset.load_into_memory()
    dataset.set_csv(delimiter=";;")
    with pytest.raises(ValueError, match="one ASCII character"):
        dataset.load_into_memory()
    dataset.set_parquet()
    with pytest.raises((NotImplementedError, fluid.core.EnforceNotMet), match="Parquet"):
        dataset.load_into_memory()
