"""Layers that Fluid previewed for 2.0, and distributions: dtype, declared shape, stop_gradient and values are those of Fluid 1.8.5."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers

INF = float("inf")


def a():
    return layers.assign(np.array([[1, -2, 3.5], [4, 5, 6]], "float32"))


def b():
    return layers.assign(np.array([[1, 0, 3], [1, 2, 1]], "float32"))


def low():
    return fluid.data("low", [None, 3])


def high():
    return fluid.data("high", [None, 3])


def v():
    return fluid.data("v", [None, 3])


def u():
    return layers.Uniform(low(), high())


def n():
    return layers.Normal(low(), high())


def diagonal(mean, variance):
    """Two independent numbers; the second has a mean and a variance that are larger by 0.2 and 0.1."""
    return layers.MultivariateNormalDiag(
        np.array([mean, mean + 0.2], "float32"), np.diag([variance, variance + 0.1]).astype("float32"))


def run(fetches):
    chance = np.random.RandomState(0)
    arrays = [chance.rand(2, 3), 1 + chance.rand(2, 3), 0.5 + chance.rand(2, 3)]
    feed = {name: array.astype("float32") for name, array in zip(("low", "high", "v"), arrays)}
    block = fluid.default_main_program().global_block()
    return fluid.Executor().run(feed={k: x for k, x in feed.items() if block.has_var(k)}, fetch_list=fetches)


# By name: how to build it, and dtype, shape, stop_gradient and values.
RECORDED = {
    "addcmul": (lambda: layers.addcmul(a(), b(), b(), 0.5),
        "float32", (2, 3), False, [[1.5, -2.0, 8.0], [4.5, 7.0, 6.5]]),
    "allclose": (lambda: layers.allclose(a(), b()),
        "bool", (1,), False, [0.0]),
    "arange": (lambda: layers.arange(1, 9, 3),
        "float32", (-1,), True, [1.0, 4.0, 7.0]),
    "categorical entropy": (lambda: layers.Categorical(low()).entropy(),
        "float32", (-1, 1), False, [[1.0962], [1.0945]]),
    "categorical kl_divergence": (lambda: layers.Categorical(low()).kl_divergence(layers.Categorical(high())),
        "float32", (-1, 1), False, [[0.0175], [0.0285]]),
    "clamp": (lambda: layers.clamp(a(), -1.0, 4.5),
        "float32", (2, 3), False, [[1.0, -1.0, 3.5], [4.0, 4.5, 4.5]]),
    "cross": (lambda: layers.cross(a(), b()),
        "float32", (2, 3), False, [[-6.0, 0.5, 2.0], [-7.0, 2.0, 3.0]]),
    "dist": (lambda: layers.dist(a(), b(), 3),
        "float32", (1,), False, [5.7198]),
    "dist 0": (lambda: layers.dist(a(), b(), 0),
        "float32", (1,), False, [5.0]),
    "dist inf": (lambda: layers.dist(a(), b(), float("inf")),
        "float32", (1,), False, [5.0]),
    "elementwise_equal": (lambda: layers.elementwise_equal(a(), b()),
        "bool", (2, 3), True, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    "full": (lambda: layers.full([2, 1], 3, dtype="int32"),
        "int32", (2, 1), True, [[3.0], [3.0]]),
    "interpolate": (lambda: layers.interpolate(layers.reshape(a(), [1, 1, 2, 3]), out_shape=[3, 4]),
        "float32", (1, 1, 3, 4), False, [[[[1.0, -1.0, -0.1667, 3.5], [2.5, 1.8333, 2.5833, 4.75], [4.0, 4.6667, 5.3333, 6.0]]]]),
    "index_sample": (lambda: layers.index_sample(a(), layers.assign(np.array([[0, 2], [1, 1]], "int64"))),
        "float32", (2, 2), False, [[1.0, 3.5], [5.0, 5.0]]),
    "logsumexp": (lambda: layers.logsumexp(a(), dim=1, keepdim=True),
        "float32", (2, 1), False, [[3.5827], [6.4076]]),
    "diagonal entropy": (lambda: diagonal(0.3, 0.4).entropy(),
        "float32", (1,), False, [2.0332]),
    "diagonal kl_divergence": (lambda: diagonal(0.3, 0.4).kl_divergence(diagonal(0.2, 0.3)),
        "float32", (2, 2), False, [[0.0654, 0.0654], [0.0654, 0.0654]]),
    "normal of lists": (lambda: layers.Normal([0.5, 1.0], [1.0, 2.0]).entropy(),
        "float32", (2,), False, [1.4189, 2.1121]),
    "normal entropy": (lambda: n().entropy(),
        "float32", (-1, 3), False, [[1.7819, 2.0565, 2.0938], [1.7435, 2.0021, 1.8435]]),
    "normal kl_divergence": (lambda: n().kl_divergence(layers.Normal(high(), low())),
        "float32", (-1, 3), False, [[3.2791, 3.3789, 6.1742], [2.9756, 12.215, 2.3744]]),
    "normal log_prob": (lambda: n().log_prob(v()),
        "float32", (-1, 3), False, [[-1.3471, -1.627, -1.5939], [-1.244, -1.5036, -1.4444]]),
    "nonzero": (lambda: layers.nonzero(layers.cast(b(), "bool")),
        "int64", (-1, 2), False, [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]),
    "nonzero rows": (lambda: layers.nonzero(layers.cast(b(), "bool"), as_tuple=True)[0],
        "int64", (-1, 1), False, [[0.0], [0.0], [1.0], [1.0], [1.0]]),
    "nonzero columns": (lambda: layers.nonzero(layers.cast(b(), "bool"), as_tuple=True)[1],
        "int64", (-1, 1), False, [[0.0], [2.0], [0.0], [1.0], [2.0]]),
    "t": (lambda: layers.t(a()),
        "float32", (3, 2), False, [[1.0, 4.0], [-2.0, 5.0], [3.5, 6.0]]),
    "uniform of numbers": (lambda: layers.Uniform(0.5, 2.5).log_prob(layers.fill_constant([2], "float32", 1.0)),
        "float32", (2,), False, [-0.6931, -0.6931]),
    "uniform entropy": (lambda: u().entropy(),
        "float32", (-1, 3), False, [[-0.1179, 0.1626, 0.3081], [-0.1761, 0.3134, -0.1244]]),
    "uniform log_prob": (lambda: u().log_prob(v()),
        "float32", (-1, 3), False, [[0.1179, -0.1626, -INF], [0.1761, -0.3134, 0.1244]]),
}


@pytest.mark.parametrize("case", RECORDED)
@pytest.mark.filterwarnings("ignore:data type of argument only support float32")
def test_values_are_those_of_fluid(case):
    build, dtype, shape, stop_gradient, values = RECORDED[case]
    made = build()
    assert (tuple(made.shape), made.stop_gradient) == (shape, stop_gradient)
    (got,) = run([made])
    assert got.dtype == dtype
    np.testing.assert_allclose(got, values, atol=1e-4)


def test_random_layers_have_their_shapes_and_ranges():
    made = [layers.randn([3, 2]), layers.randn([2], dtype="float64"), layers.randperm(5), layers.randperm(5, dtype="int32"),
            layers.Uniform(0.5, 2.5).sample([50]), layers.Uniform(low(), high()).sample([7]), layers.Normal(0.0, 1.0).sample([2, 2]),
            layers.Normal(low(), high()).sample([4], seed=3)]
    assert [tuple(m.shape) for m in made] == [(3, 2), (2,), (5,), (5,), (50,), (7, -1, 3), (2, 2), (4, -1, 3)]
    got = run(made)
    assert [g.shape for g in got] == [(3, 2), (2,), (5,), (5,), (50,), (7, 2, 3), (2, 2), (4, 2, 3)]
    assert [str(got[i].dtype) for i in (1, 2, 3)] == ["float64", "int64", "int32"]
    assert sorted(got[2]) == sorted(got[3]) == list(range(5))
    assert got[4].min() >= 0.5 and got[4].max() < 2.5


def test_results_go_into_variables_of_the_caller():
    x = a()
    outs = [layers.create_tensor("float32") for _ in range(5)] + [layers.create_tensor("int64")]
    layers.addcmul(x, x, x, out=outs[0])
    layers.clamp(x, min=0.0, output=outs[1])
    layers.full([2], 5.0, out=outs[2])
    layers.logsumexp(x, out=outs[3])
    layers.randn([2], out=outs[4])
    layers.randperm(3, out=outs[5])
    got = run(outs)
    np.testing.assert_allclose(got[0], [[2, 2, 15.75], [20, 30, 42]])
    np.testing.assert_allclose(got[1], [[1, 0, 3.5], [4, 5, 6]])
    np.testing.assert_allclose(got[2], [5, 5])
    assert got[3].shape == (1,) and got[4].shape == (2,) and sorted(got[5]) == [0, 1, 2]


WRONG = {
    "clamp without bounds": (lambda: layers.clamp(a()), AssertionError), "clamp by an int": (lambda: layers.clamp(a(), 1), TypeError),
    "addcmul by an int": (lambda: layers.addcmul(a(), a(), a(), 1), TypeError), "t of three dimensions": (
        lambda: layers.t(fluid.data("z", [1, 2, 3])), ValueError),
    "randperm of nothing": (lambda: layers.randperm(0), ValueError), "randn of a number": (lambda: layers.randn(3), TypeError),
    "randn of no sizes": (lambda: layers.randn([]), AssertionError), "allclose with an int": (lambda: layers.allclose(a(), a(), 1), TypeError),
    "dist of ints": (lambda: layers.dist(layers.zeros([1], "int64"), a()), TypeError), "full of a number": (
        lambda: layers.full(3, 1), TypeError),
    "logsumexp of None": (lambda: layers.logsumexp(None), AssertionError), "arange of bools": (
        lambda: layers.arange(0, 2, dtype="bool"), TypeError),
    "index of floats": (lambda: layers.index_sample(a(), a()), TypeError), "Uniform of a string": (lambda: layers.Uniform("a", 1.0), TypeError),
    "Normal of a number and a Variable": (lambda: layers.Normal(0.0, high()), ValueError), "divergence from a number": (
        lambda: n().kl_divergence(1.0), TypeError),
    "sample of a tuple": (lambda: u().sample((1,)), TypeError), "density of a number": (lambda: n().log_prob(1.0), TypeError),
    "sample of classes": (lambda: layers.Categorical(low()).sample(), NotImplementedError),
    "density of classes": (lambda: layers.Categorical(low()).log_prob(low()), NotImplementedError),
    "divergence of uniform numbers": (lambda: u().kl_divergence(u()), NotImplementedError),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_raise_as_in_fluid(case):
    call, error = WRONG[case]
    with pytest.raises(error):
        call()
