"""Hashed tables (`is_distributed=True`) in one process: the same rules as on servers, in memory."""

import numpy as np
import pytest

import oarlock.fluid as fluid

RNG = np.random.RandomState(0)
IDS = RNG.randint(-2**62, 2**62, (64, 1))
Y = RNG.rand(64, 1).astype("float32")
FEED = {"ids": IDS, "y": Y}


def network(optimizer, rows=10**9, **table):
    """A regression from ids alone; a tensor could not have that many rows."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        ids, y = fluid.data("ids", [None, 1], "int64"), fluid.data("y", [None, 1])
        attr = fluid.ParamAttr("table", initializer=fluid.initializer.Uniform(-0.1, 0.1, seed=1))
        options = dict({"is_sparse": True, "is_distributed": True, "param_attr": attr}, **table)
        out = fluid.layers.fc(fluid.layers.embedding(ids, [rows, 8], **options), 1)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(out, y))
        test = main.clone(for_test=True)
        optimizer.minimize(loss)
    return main, startup, test, out, loss


def test_any_int64_is_an_id_of_a_hashed_table_and_rows_are_saved(tmp_path):
    main, startup, test, out, loss = network(fluid.optimizer.Adam(0.05))
    exe, scope = fluid.Executor(), fluid.Scope()
    with fluid.scope_guard(scope):
        exe.run(startup)
        losses = [exe.run(main, feed=FEED, fetch_list=[loss])[0].item() for _ in range(30)]
        assert losses[-1] < 0.01 * losses[0]
        rows, = exe.run(main, feed=FEED, fetch_list=["table"], return_numpy=False)
        assert sorted(rows.rows()) == sorted(set(IDS[:, 0]))
        fluid.io.save_persistables(exe, str(tmp_path / "all"), main)
        fluid.io.save_inference_model(str(tmp_path / "model"), ["ids"], [out], exe, main)
        learned, = exe.run(test, feed=FEED, fetch_list=[out])
        next_loss, = exe.run(main, feed=FEED, fetch_list=[loss])
    with fluid.scope_guard(fluid.Scope()):
        program, _, fetches = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
        np.testing.assert_array_equal(exe.run(program, feed={"ids": IDS}, fetch_list=fetches)[0], learned)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        fluid.io.load_persistables(exe, str(tmp_path / "all"), main)
        assert exe.run(main, feed=FEED, fetch_list=[loss])[0] == next_loss


def test_unsupported_uses_of_hashed_tables_are_named(tmp_path):
    main, startup, _, _, loss = network(fluid.optimizer.SGD(0.1))
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        with pytest.raises(NotImplementedError, match="save one file per variable"):
            fluid.io.save_persistables(exe, str(tmp_path), main, filename="all")
        with pytest.raises(ValueError, match="a hashed table, not a tensor"):
            fluid.global_scope().find_var("table").get_tensor().shape()
    dense, startup, _, _, loss = network(fluid.optimizer.SGD(0.1), is_sparse=False)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        with pytest.raises(ValueError, match="set is_sparse=True together with is_distributed=True"):
            exe.run(dense, feed=FEED, fetch_list=[loss])
    small, startup, _, _, loss = network(fluid.optimizer.SGD(0.1), rows=63)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        with pytest.raises(Exception, match="holds 63 rows, which is its limit"):
            exe.run(small, feed=FEED, fetch_list=[loss])


@pytest.mark.parametrize("optimizer", [fluid.optimizer.SGD(0.1), fluid.optimizer.Adagrad(0.1)])
def test_replicas_train_one_table(optimizer):
    main, startup, _, _, loss = network(optimizer)
    exe, found = fluid.Executor(), []
    for replicas in (1, 2):
        with fluid.scope_guard(fluid.Scope()):
            exe.run(startup)
            places = [fluid.CPUPlace()] * replicas
            program = fluid.CompiledProgram(main).with_data_parallel(loss.name, places=places)
            for _ in range(3):
                exe.run(program, feed=FEED, fetch_list=[loss])
            found.append(exe.run(main, feed=FEED, fetch_list=[loss])[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_train_one_table_from_files(tmp_path, threads):
    main, startup, test, _, loss = network(fluid.optimizer.Adagrad(0.1))
    files = []
    for part in range(4):
        files.append(str(tmp_path / ("part-%d" % part)))
        with open(files[-1], "w") as f:
            f.writelines("1 %d 1 %f\n" % (i, y) for i, y in zip(IDS[part::4, 0], Y[part::4, 0]))
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        before, = exe.run(test, feed=FEED, fetch_list=[loss])
        dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
        dataset.set_use_var([main.global_block().var(name) for name in ("ids", "y")])
        dataset.set_batch_size(4)
        dataset.set_thread(threads)
        dataset.set_filelist(files)
        for _ in range(20):
            exe.train_from_dataset(main, dataset)
        after, = exe.run(test, feed=FEED, fetch_list=[loss])
        assert after < 0.1 * before


def saved_model(folder, main, startup, out, feed, **names):
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        exe.run(main, feed=feed)
        fluid.io.save_inference_model(str(folder), ["ids"], [out], exe, main, **names)


def loaded_model(folder, feed, **names):
    """The kind of the table that the model declares, and what it predicts."""
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        program, _, fetches = fluid.io.load_inference_model(str(folder), exe, **names)
        table = program.global_block().var("table")
        return table.type.name, exe.run(program, feed={"ids": feed["ids"]}, fetch_list=fetches)[0]


def tensor_in(file):
    """The tensor in a file."""
    program = fluid.Program()
    var = program.global_block().create_var(name=file.name, shape=[-1, 8], dtype="float32", persistable=True)
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load_vars(fluid.Executor(), str(file.parent), program, [var])
        return np.array(fluid.global_scope().find_var(file.name).get_tensor())


@pytest.mark.parametrize("names", [{}, {"params_filename": "all"}], ids=["separate", "combined"])
def test_models_hold_a_table_that_fits_as_a_tensor(tmp_path, monkeypatch, names):
    """Fluid 1.8 loads it: what `__model__` declares and what the file holds is a tensor of all rows, zeros where none was trained."""
    feed = {"ids": np.arange(0, 128, 2).reshape(64, 1), "y": Y}
    main, startup, _, out, _ = network(fluid.optimizer.SGD(0.1), rows=200)
    saved_model(tmp_path / "model", main, startup, out, feed, **names)
    kind, predicted = loaded_model(tmp_path / "model", feed, **names)
    assert kind == "LOD_TENSOR"
    if not names:
        table = tensor_in(tmp_path / "model" / "table")
        assert table.shape == (200, 8) and table[feed["ids"][:, 0]].any(axis=1).all() and not table[1::2].any()
        monkeypatch.setenv("OARLOCK_MODEL_TABLES", "rows")
        saved_model(tmp_path / "rows", main, startup, out, feed)
        kind, same = loaded_model(tmp_path / "rows", feed)
        assert kind == "SELECTED_ROWS"
        np.testing.assert_array_equal(same, predicted)


@pytest.mark.parametrize("rows, ids, why", [
    (10**9, [1, 2], r"it is declared f32\[1000000000, 8\], more than 4294967296 elements"),
    (200, [1, -7], r"id -7 is not one of its 200 rows"),
    (200, [1, 200], r"id 200 is not one of its 200 rows"),
])
def test_tables_that_cannot_be_tensors_become_rows_or_are_refused(tmp_path, monkeypatch, rows, ids, why):
    feed = {"ids": np.array(ids).reshape(2, 1), "y": Y[:2]}
    main, startup, _, out, _ = network(fluid.optimizer.SGD(0.1), rows=rows)
    saved_model(tmp_path / "model", main, startup, out, feed)
    assert loaded_model(tmp_path / "model", feed)[0] == "SELECTED_ROWS"
    with pytest.raises(NotImplementedError, match="save one file per variable"):
        saved_model(tmp_path / "model", main, startup, out, feed, params_filename="all")
    monkeypatch.setenv("OARLOCK_MODEL_TABLES", "dense")
    with pytest.raises(NotImplementedError, match="table `table` cannot be stored as a dense tensor: " + why):
        saved_model(tmp_path / "refused", main, startup, out, feed)
    assert not (tmp_path / "refused").exists()
    monkeypatch.setenv("OARLOCK_MODEL_TABLES", "sparse")
    with pytest.raises(ValueError, match="OARLOCK_MODEL_TABLES must be auto, dense or rows, but it is \"sparse\""):
        saved_model(tmp_path / "refused", main, startup, out, feed)
