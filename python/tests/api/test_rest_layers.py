"""Layers that few models use, trained: losses of Fluid 1.8.5."""

import struct

import numpy as np
import oarlock.fluid as fluid
import pytest


def first(random, *shape):
    values = np.round(random.uniform(-1, 1, shape), 3).astype("float32")
    return fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(values))


@pytest.fixture(autouse=True)
def fresh():
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        yield


ACTIVATIONS = [
    (None, [2.894054, 0.520948, 0.407251, 0.052308]),
    ("leaky_relu", [2.351527, 0.430098, 0.451661, 0.083223]),
    ("elu", [2.206055, 0.440686, 0.441485, 0.154351]),
]


@pytest.mark.parametrize("act,expected", ACTIVATIONS)
def test_inplace_abn_learns_as_in_fluid(act, expected):
    random = np.random.RandomState(1)
    hidden = fluid.layers.fc(fluid.data("x", [None, 3]), 4, param_attr=first(random, 3, 4))
    out = fluid.layers.inplace_abn(hidden, act=act, act_alpha=0.5)
    assert out.name == hidden.name
    out = fluid.layers.fc(out, 1, param_attr=first(random, 4, 1))
    loss = fluid.layers.mean(fluid.layers.square(out - 1.0))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    batches = [{"x": random.uniform(-1, 1, [5, 3]).astype("float32")} for _ in expected]
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0][0]) for feed in batches]
    np.testing.assert_allclose(losses, expected, rtol=2e-5)


def test_inplace_abn_names_its_activations():
    with pytest.raises(ValueError, match="takes the activations identity, leaky_relu and elu"):
        fluid.layers.inplace_abn(fluid.data("x", [None, 3]), act="relu")


def test_search_pyramid_hash_updates_its_weight_as_in_fluid():
    ids = fluid.data("ids", [None, 1], "int32", lod_level=1)
    ids.stop_gradient = False
    # A filter without rounds contains everything; it is not used.
    numbers = np.frombuffer(struct.pack("<QQQQQ", 17070416, 64, 0, 0, 0), "float32").reshape(-1, 1).copy()
    lists = [fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(numbers)) for _ in range(2)]
    out = fluid.contrib.layers.search_pyramid_hash(
        ids, num_emb=4, space_len=30, pyramid_layer=3, rand_len=2, drop_out_percent=0.0, is_training=True, use_filter=False,
        white_list_len=10, black_list_len=10, seed=1, lr=0.5, param_attr=first(np.random.RandomState(1), 32, 1),
        param_attr_wl=lists[0], param_attr_bl=lists[1],
    )
    loss = fluid.layers.mean(fluid.layers.square(fluid.layers.sequence_pool(out, "sum") - 1.0))
    fluid.backward.append_backward(loss, parameter_list=[])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"ids": fluid.create_lod_tensor(np.array([[3], [5], [7], [9], [2]], "int32"), [[3, 2]], fluid.CPUPlace())}
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0][0]) for _ in range(4)]
    np.testing.assert_allclose(losses, [3.277658, 0.898738, 0.450833, 0.317932], rtol=1e-5)
    with pytest.raises(ValueError, match="has no parameter nonsense"):
        fluid.contrib.layers.search_pyramid_hash(ids, 4, 30, 3, 2, 0.0, True, False, 0, 0, 1, 0.5, distribute_update_vars=["nonsense"])


def test_random_crop_takes_another_place_in_every_step():
    x = fluid.layers.assign(np.arange(400, dtype="int32").reshape(1, 20, 20))
    out = fluid.layers.random_crop(x, [3, 3], seed=11)
    exe = fluid.Executor(fluid.CPUPlace())
    steps = [exe.run(fetch_list=[out])[0] for _ in range(4)]
    assert len({int(step[0, 0, 0]) for step in steps}) > 1
    for step in steps:
        assert (step[0] - step[0, 0, 0]).tolist() == [[0, 1, 2], [20, 21, 22], [40, 41, 42]]


def test_image_resize_knows_bicubic():
    x = fluid.data("x", [None, 3, 6, 10])
    assert fluid.layers.interpolate(x, out_shape=[12, 12], resample="BICUBIC").shape == (-1, 3, 12, 12)
    with pytest.raises(ValueError, match="resample must be BILINEAR, BICUBIC, NEAREST or TRILINEAR"):
        fluid.layers.image_resize(x, out_shape=[12, 12], resample="LANCZOS")
