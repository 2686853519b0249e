"""Tables of rows by id (`is_distributed=True`) in one process: the same rules as on servers, in memory."""

import numpy as np
import pytest

import oarlock.fluid as fluid

RNG = np.random.RandomState(0)
IDS = RNG.randint(-2**62, 2**62, (64, 1))
Y = RNG.rand(64, 1).astype("float32")
FEED = {"ids": IDS, "y": Y}


def network(optimizer, rows=10**9, **table):
    """A regression from ids alone; a table of so many rows could not be a tensor."""
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


def test_any_number_is_an_id_and_what_was_learned_is_kept(tmp_path):
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


def test_what_files_and_tensors_cannot_be_is_said(tmp_path):
    main, startup, _, _, loss = network(fluid.optimizer.SGD(0.1))
    exe = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        with pytest.raises(NotImplementedError, match="save one file per variable"):
            fluid.io.save_persistables(exe, str(tmp_path), main, filename="all")
        with pytest.raises(ValueError, match="a table of rows by id, not a tensor"):
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
