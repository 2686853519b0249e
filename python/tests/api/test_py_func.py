"""Functions of Python inside programs."""

import threading

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers


def declared(like, shape=None, dtype=None):
    block = fluid.default_main_program().current_block()
    return block.create_var(shape=shape or like.shape, dtype=dtype or like.dtype)


def tanh(x):
    return np.tanh(x)


def tanh_gradient(y, dy):
    return np.array(dy) * (1 - np.square(np.array(y)))


def train(activation, steps=5):
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        fluid.default_startup_program().random_seed = 3
        x = fluid.data("x", [None, 4])
        hidden = layers.fc(x, 5)
        loss = layers.mean(layers.square(layers.fc(activation(hidden), 1)))
        fluid.optimizer.SGD(0.1).minimize(loss)
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        data = np.random.RandomState(0).rand(6, 4).astype("float32")
        return [exe.run(feed={"x": data}, fetch_list=[loss])[0].item() for _ in range(steps)]


def test_a_function_with_its_gradient_trains_like_the_operator():
    def by_function(x):
        out = declared(x)
        return layers.py_func(tanh, x, out, tanh_gradient, skip_vars_in_backward_input=x)

    np.testing.assert_allclose(train(by_function), train(layers.tanh), rtol=1e-5)


def test_without_a_gradient_none_flows():
    def first_only(hidden):
        copy = layers.py_func(lambda h: np.array(h), hidden, declared(hidden))
        return layers.elementwise_add(hidden, copy)

    losses = train(first_only)
    assert losses[-1] < losses[0]


def test_several_arguments_and_results_and_functions_that_only_look():
    x, y = fluid.data("x", [None, 2]), fluid.data("y", [None, 2])
    seen = []
    both = [declared(x), declared(x, shape=[1])]
    layers.py_func(lambda a, b: (np.array(a) - np.array(b), [7]), [x, y], both)
    layers.py_func(lambda t: seen.append(np.array(t)), both[0], None)
    feed = {"x": np.full([3, 2], 5, "float32"), "y": np.ones([3, 2], "float32")}
    difference, seven = fluid.Executor().run(feed=feed, fetch_list=both)
    np.testing.assert_array_equal(difference, np.full([3, 2], 4))
    assert seven.tolist() == [7] and seven.dtype == np.float32
    np.testing.assert_array_equal(seen[0], difference)


def test_sequences_pass_through():
    words = fluid.data("words", [None, 1], lod_level=1)
    out = declared(words)
    layers.py_func(lambda t: t, words, out)
    pooled = layers.sequence_pool(out, "sum")
    t = fluid.create_lod_tensor(np.array([[1], [2], [4]], "float32"), [[2, 1]], fluid.CPUPlace())
    (got,) = fluid.Executor().run(feed={"words": t}, fetch_list=[pooled])
    assert got.tolist() == [[3], [4]]


def a_mistake_of_the_user(x):
    return {}["no such key"]


def test_an_exception_arrives_as_it_was_raised():
    x = fluid.data("x", [None, 2])
    out = layers.py_func(a_mistake_of_the_user, x, declared(x))
    with pytest.raises(KeyError, match="no such key") as e:
        fluid.Executor().run(feed={"x": np.ones([1, 2], "float32")}, fetch_list=[out])
    assert "a_mistake_of_the_user" in [frame.name for frame in e.traceback]
    notes = getattr(e.value, "__notes__", None)
    assert notes is None or "test_py_func.py" in notes[0]


@pytest.mark.parametrize(
    "returned, message",
    [(lambda x: (1, 2), "2 values"), (lambda x: None, "None"), (lambda x: np.zeros([1, 2], "int64"), "int64|i64")],
)
def test_wrong_results_are_named(returned, message):
    x = fluid.data("x", [None, 2])
    out = layers.py_func(returned, x, declared(x))
    with pytest.raises(Exception, match=message):
        fluid.Executor().run(feed={"x": np.ones([1, 2], "float32")}, fetch_list=[out])


def test_wrong_arguments_are_named():
    x = fluid.data("x", [None, 2])
    with pytest.raises(TypeError, match="must be a function"):
        layers.py_func("tanh", x, declared(x))
    with pytest.raises(TypeError, match="Variable"):
        layers.py_func(tanh, 3, declared(x))
    with pytest.raises(ValueError, match="shape"):
        layers.py_func(tanh, x, fluid.default_main_program().current_block().create_var(dtype="float32"))
    with pytest.raises(ValueError, match="neither an input nor an output"):
        layers.py_func(tanh, x, declared(x), tanh_gradient, skip_vars_in_backward_input=layers.data("other", [2]))


def test_a_saved_program_has_no_functions_elsewhere():
    x = fluid.data("x", [None, 2])
    out = layers.py_func(tanh, x, declared(x))
    fluid.default_main_program().global_block().ops[-1].set_attr("forward_callable_id", 10**6)
    with pytest.raises(Exception, match="does not have.*\n.*\n?.*build the network again"):
        fluid.Executor().run(feed={"x": np.ones([1, 2], "float32")}, fetch_list=[out])


def test_variables_of_the_run_are_refused_inside_and_waited_for_outside():
    """While a run that writes a parameter calls a function, it cannot be had: the function is told, another thread waits its turn."""
    x = fluid.data("x", [None, 1])
    w = layers.create_parameter([1], "float32", default_initializer=fluid.initializer.Constant(1.0))
    scope = fluid.global_scope()
    read = lambda: np.array(scope.find_var(w.name).get_tensor())
    seen, inside, outside = [], threading.Event(), []

    def look(t):
        inside.set()
        # The other thread now holds the interpreter now and then, and wants the parameter.
        other.join(0.2)
        with pytest.raises(RuntimeError, match="pass them to py_func"):
            read()
        seen.append(True)
        return np.array(t)

    out = layers.py_func(look, x, declared(x))
    loss = layers.mean(layers.elementwise_add(out, w))
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    other = threading.Thread(target=lambda: (inside.wait(), outside.append(read())))
    other.start()
    exe.run(feed={"x": np.ones([1, 1], "float32")}, fetch_list=[loss])
    other.join()
    assert seen == [True] and outside[0].tolist() == [0.5]
