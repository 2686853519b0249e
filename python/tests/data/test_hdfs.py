"""HDFS through a command that stands in for Hadoop's: a directory is the cluster."""

import os

import pytest

import oarlock.fluid as fluid
from oarlock.fluid.incubate.fleet.utils import fleet_util, hdfs

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../crates/oarlock-io/tests/hadoop")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    root = tmp_path / "cluster"
    root.mkdir()
    monkeypatch.setenv("FAKE_HDFS", str(root))
    monkeypatch.setenv("HADOOP_HOME", HOME)
    return root


def test_the_client_does_what_fluids_does(cluster, tmp_path):
    client = hdfs.HDFSClient(HOME, {"fs.default.name": "hdfs://host:9000", "hadoop.job.ugi": "me,secret"})
    assert client.makedirs("/user/data") and client.is_dir("/user/data") and not client.is_file("/user/data")
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    for name in ("a", "b c", "inner/d"):
        (source / name).write_text("text of %s\n" % name)
    client.upload("/user/data", str(source))
    assert client.ls("/user/data") == ["hdfs://host/user/data/%s" % n for n in ("a", "b c", "inner")]
    assert client.lsr("/user/data", ["hdfs://host/user/data/a"]) == ["hdfs://host/user/data/%s" % n for n in ("b c", "inner/d")]
    assert client.cat("/user/data/a") == "text of a" and client.cat("/user/none") == ""
    with pytest.raises(OSError, match="File exists"):
        client.upload("/user/data", str(source), retry_times=0)
    client.upload("/user/data", str(source), overwrite=True)
    fetched = client.download("/user/data", str(tmp_path / "to"))
    assert sorted(os.path.basename(f) for f in fetched) == ["a", "b c", "d"]
    with pytest.raises(FileExistsError):
        client.download("/user/data/a", str(tmp_path / "to"))
    assert not client.rename("/user/data/a", "/user/data/b c")
    assert client.rename("/user/data/a", "/user/data/b c", overwrite=True) and client.cat("/user/data/b c") == "text of a"
    assert client.upload_dir("/user/copy", str(source)) and client.is_file("/user/copy/source/inner/d")
    assert client.delete("/user/data") and not client.is_exist("/user/data") and client.ls("/user/data") == []
    assert hdfs.HDFSClient.split_files(list("abcde"), 1, 2) == ["d", "e"]
    assert set(open(str(cluster) + ".settings").read().split()) == {"fs.default.name=hdfs://host:9000", "hadoop.job.ugi=me,secret"}
    with pytest.raises(FileNotFoundError, match="no command"):
        hdfs.HDFSClient(str(tmp_path), {})


def test_models_and_data_live_there(cluster, tmp_path):
    x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    (cluster / "train").mkdir()
    for part in range(2):
        (cluster / "train" / ("part-%d" % part)).write_text("1 1.0 1 2.0\n" * 20)
    dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_use_var([x, y])
    dataset.set_hdfs_config("hdfs://host:9000", "me,secret")
    dataset.set_filelist(["hdfs:/train/part-*"])
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 40
    exe.train_from_dataset(fluid.default_main_program(), dataset)
    assert "hadoop.job.ugi=me,secret" in open(str(cluster) + ".settings").read()
    fluid.io.save_persistables(exe, "hdfs://host:9000/models/one", filename="all")
    weights = fluid.global_scope().find_var("fc_0.w_0").get_tensor()
    saved = float(fluid.executor.as_numpy(weights)[0, 0])
    exe.run(fluid.default_startup_program())
    fluid.io.load_persistables(exe, "hdfs://host:9000/models/one", filename="all")
    assert float(fluid.executor.as_numpy(fluid.global_scope().find_var("fc_0.w_0").get_tensor())[0, 0]) == saved
    assert sorted(os.listdir(cluster / "models/one")) == ["all", "oarlock.manifest"]


class OneWorker:
    """A job of one worker, which waits for nobody."""

    worker_index = staticmethod(lambda: 0)
    is_first_worker = staticmethod(lambda: True)
    barrier_worker = staticmethod(lambda: None)


def test_fleet_util_keeps_a_list_of_saves_and_copies_models_there(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fleet_util, "_fleet", OneWorker)
    util, where = fleet_util.FleetUtil(mode="transpiler"), ("hdfs://host:9000", "me,secret")
    assert util.get_last_save_model("/out", *where)[:3] == [-1, -1, ""]
    for day, number in ((20260101, 1), (20260101, 2), (20260101, 1), (20260102, -1)):
        util.write_model_donefile("/out", day, number, 7, *where)
    assert (cluster / "out" / "donefile.txt").read_text().splitlines() == [
        "20260101\t7\t/out/20260101/1/\t1\t0", "20260101\t7\t/out/20260101/2/\t2\t0", "20260102\t7\t/out/20260102/0/\t-1\t0"]
    assert util.get_last_save_model("/out", *where) == [20260102, -1, "/out/20260102/0/", 7]

    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    with fluid.program_guard(main, startup):
        x = fluid.data("x", [None, 2])
        y = fluid.layers.fc(x, 1, param_attr="w", bias_attr=False)
    exe = fluid.Executor()
    exe.run(startup, scope=scope)
    util.save_paddle_inference_model(exe, scope, main, [x], [y], "/out", 20260101, 2, *where)
    util.save_paddle_params(exe, scope, main, "dense", "/out", 20260101, -1, *where, var_names=["w"])
    assert sorted(os.listdir(cluster / "out/20260101/delta-2/dnn_plugin/inference_model"))[:2] == ["__model__", "oarlock.manifest"]
    assert (cluster / "out/20260101/base/dnn_plugin/dense").exists()

    class Config:
        train_prog_path = pruned_prog_path = "inference_model/__model__"
        is_text_train_program = is_text_pruned_program = draw = False

    assert util.check_two_programs(Config)
