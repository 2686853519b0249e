"""fluid.contrib.layers."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers


def run(fetches, feed, times=1):
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(times):
        out = exe.run(feed=feed, fetch_list=fetches)
    return out


def test_sums_of_click_prediction_over_batches():
    predict, label = fluid.data("p", [None, 1]), fluid.data("label", [None, 1])
    made = fluid.contrib.layers.ctr_metric_bundle(predict, label)
    p, y = np.array([[0.2], [0.9], [0.5]], "float32"), np.array([[0], [1], [1]], "float32")
    got = [v.item() for v in run(list(made), {"p": p, "label": y}, times=2)]
    once = [((p - y) ** 2).sum(), abs(p - y).sum(), p.sum(), (1 / (1 + np.exp(-p))).sum(), y.sum(), 3]
    np.testing.assert_allclose(got, [2 * v for v in once], rtol=1e-5)
    with pytest.raises(ValueError, match="must have one shape"):
        fluid.contrib.layers.ctr_metric_bundle(predict, fluid.data("wide", [None, 2]))


def test_parts_of_matrices():
    x, y = fluid.data("x", [None, 3]), fluid.data("y", [None, 3])
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones([2, 3], "float32")
    joined = fluid.contrib.layers.partial_concat([x, y], start_index=1, length=2)
    summed = fluid.contrib.layers.partial_sum([x, y], start_index=0, length=2)
    got = run([joined, summed], {"x": a, "y": b})
    np.testing.assert_array_equal(got[0], np.concatenate([a[:, 1:], b[:, 1:]], 1))
    np.testing.assert_array_equal(got[1], (a + b)[:, :2])


def test_a_shuffled_batch_has_the_same_rows_in_another_order_in_every_step():
    x = fluid.data("x", [None, 2])
    out = fluid.contrib.layers.shuffle_batch(x, seed=5)
    rows = np.arange(40, dtype="float32").reshape(20, 2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = [exe.run(feed={"x": rows}, fetch_list=[out])[0] for _ in range(2)]
    for one in seen:
        np.testing.assert_array_equal(one[np.argsort(one[:, 0])], rows)
    assert not np.array_equal(seen[0], seen[1])


def test_two_operators_as_one():
    x, y = fluid.data("x", [None, 3]), fluid.data("y", [None, 3])
    out = fluid.contrib.layers.fused_elemwise_activation(x, y, ["elementwise_add", "relu"])
    a, b = np.ones([2, 3], "float32"), -np.ones([2, 3], "float32")
    np.testing.assert_array_equal(run([out], {"x": a, "y": b})[0], a)
    with pytest.raises(ValueError, match="functor_list takes the names of two operators"):
        fluid.contrib.layers.fused_elemwise_activation(x, y, ["relu"])


def test_an_embedding_and_its_sum_as_one():
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
    table = fluid.ParamAttr("table", initializer=fluid.initializer.NumpyArrayInitializer(np.arange(8, dtype="float32").reshape(4, 2)))
    out = fluid.contrib.layers.fused_embedding_seq_pool(ids, [4, 2], param_attr=table)
    feed = {"ids": fluid.create_lod_tensor(np.array([[1], [3], [2]]), [[2, 1]], fluid.CPUPlace())}
    np.testing.assert_array_equal(run([out], feed)[0], [[2 + 6, 3 + 7], [4, 5]])


# A tree of three layers: the root, two nodes, four leaves.
LAYERS = np.array([[1], [2], [3], [4], [5], [6]], "int32")
TRAVEL = np.array([[0, 0], [1, 3], [1, 4], [2, 5], [2, 6]], "int32")
INFO = np.array([[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [0, 1, 0, 5, 6], [1, 2, 1, 0, 0], [2, 2, 1, 0, 0], [3, 2, 2, 0, 0], [4, 2, 2, 0, 0]], "int32")


def numbers(name, value):
    return fluid.ParamAttr(name, initializer=fluid.initializer.NumpyArrayInitializer(value))


def test_samples_from_a_tree():
    x = fluid.data("x", [None, 1], "int32")
    made = fluid.contrib.layers.tdm_sampler(
        x, [1, 2], [2, 4], 5, numbers("travel", TRAVEL), numbers("layer", LAYERS), output_positive=True, seed=1)
    nodes, labels, mask = ([v for v in part] for part in made)
    assert [list(v.shape) for v in nodes] == [[-1, 2, 1], [-1, 3, 1]]
    got = run(nodes + labels + mask, {"x": np.array([[1], [4]], "int32")})
    assert got[0][:, 0, 0].tolist() == [1, 2] and got[1][:, 0, 0].tolist() == [3, 6]
    assert got[0][:, 1, 0].tolist() == [2, 1] and set(got[1][0, 1:, 0]) <= {4, 5, 6}
    assert got[2][:, :, 0].tolist() == [[1, 0], [1, 0]] and got[3][:, :, 0].tolist() == [[1, 0, 0], [1, 0, 0]]
    assert all((m == 1).all() for m in got[4:])
    with pytest.raises(ValueError, match="layer 0 has 2 nodes, too few for 2 negative samples"):
        fluid.contrib.layers.tdm_sampler(x, [2, 2], [2, 4], 5)


def test_children_in_a_tree():
    x = fluid.data("x", [None, 1], "int32")
    child, leaf = fluid.contrib.layers.tdm_child(x, 7, 2, numbers("info", INFO))
    got = run([child, leaf], {"x": np.array([[1], [2], [6]], "int32")})
    assert got[0].reshape(3, 2).tolist() == [[3, 4], [5, 6], [0, 0]] and got[1].reshape(3, 2).tolist() == [[1, 1], [1, 1], [0, 0]]


def test_layers_that_nobody_has_are_no_attributes():
    with pytest.raises(AttributeError):
        fluid.contrib.layers.nonsense


# Results of Fluid 1.8.5: kind, both directions, first states, lengths; losses of three steps.
RECURRENT = [
    ("gru", False, False, False, [6.787992, -15.529507, -19.846827]),
    ("gru", False, True, True, [9.837861, -13.087660, -19.643648]),
    ("gru", True, False, True, [9.295257, -27.994888, -35.488102]),
    ("gru", True, True, False, [19.600767, -26.673214, -38.941547]),
    ("lstm", False, False, False, [11.486282, -0.026243, -3.822574]),
    ("lstm", False, True, True, [14.158173, 0.103758, -3.108965]),
    ("lstm", True, False, True, [7.509939, -2.336785, -6.816029]),
    ("lstm", True, True, False, [22.963005, 6.898254, -3.923426]),
]


@pytest.mark.parametrize("kind,both,first,lengths,expected", RECURRENT)
def test_recurrent_layers_learn_as_in_fluid(kind, both, first, lengths, expected):
    count, ways, width = 2, 2 if both else 1, 4
    x = layers.data("x", [-1, 5, 3], append_batch_size=False)
    length = layers.data("length", [-1], append_batch_size=False, dtype="int32") if lengths else None
    states = [
        layers.data(name, [count * ways, -1, width], append_batch_size=False) if first else None
        for name in ("hidden", "cell")[: 1 if kind == "gru" else 2]
    ]
    make = fluid.contrib.layers.basic_gru if kind == "gru" else fluid.contrib.layers.basic_lstm
    made = make(x, *states, width, num_layers=count, sequence_length=length, bidirectional=both, param_attr=fluid.ParamAttr("w"),
                bias_attr=fluid.ParamAttr("b"))
    loss = layers.reduce_sum(made[0]) + sum(layers.reduce_sum(last * last) for last in made[1:])
    names = sorted(p.name for p in fluid.default_main_program().all_parameters())
    assert names[0] == ("b_%s_b_0" % ("bw" if both else "fw")) + ("_candidate" if kind == "gru" else "")
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    state = np.random.RandomState(1)
    for name in names:
        tensor = fluid.global_scope().find_var(name).get_tensor()
        tensor.set((state.rand(*tensor.shape()) - 0.5).astype("float32"), fluid.CPUPlace())
    feed = {"x": state.rand(2, 5, 3).astype("float32")}
    if lengths:
        feed["length"] = np.array([3, 5], "int32")
    feed.update({s.name: state.rand(count * ways, 2, width).astype("float32") for s in states if s is not None})
    losses = [exe.run(feed=feed, fetch_list=[loss])[0].item() for _ in range(3)]
    np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-4)
