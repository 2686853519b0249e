"""Functions of eager mode as programs: the program computes what the function computes, and the same gradients."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid.dygraph import ProgramTranslator, declarative, to_variable

layers = fluid.layers


def both_ways(function, *arrays, others=(), gradients=True):
    """The result and the gradients of a function, as it is written and as a program; both must be equal."""
    found = []
    for run in (function, declarative(function)):
        with fluid.dygraph.guard():
            inputs = [to_variable(array) for array in arrays]
            for each in inputs:
                each.stop_gradient = not gradients or each.numpy().dtype.kind != "f"
            result = run(*inputs, *others)
            flat = result if isinstance(result, (list, tuple)) else [result]
            values = [each.numpy() for each in flat]
            grads = []
            if gradients and any(not each.stop_gradient for each in flat):
                total = layers.sums([layers.reduce_sum(each * each) for each in flat if not each.stop_gradient])
                total.backward()
                grads = [each.gradient() for each in inputs if not each.stop_gradient]
            found.append(values + grads)
    assert len(found[0]) == len(found[1])
    for eager, static in zip(*found):
        np.testing.assert_allclose(eager, static, rtol=1e-6)
    return found[1]


def f32(*values):
    return np.array(values, "float32")


def by_sign(x):
    if layers.mean(x) > 0:
        y = x * 2
        unused = y
    else:
        y = x - 1
    return y


def without_else(x):
    y = x + 1
    if layers.reduce_sum(y) > 3:
        y = y * 3
    return y


def nested(x):
    scale = 1
    if layers.mean(x) > 0:
        if layers.mean(x) > 5:
            scale = 2
            y = x * x
        else:
            y = x + 1
    elif x.shape[0] == 2:
        y = -x
    else:
        y = x
    return y * layers.cast(scale, "float32") if not isinstance(scale, int) else y * scale


@pytest.mark.parametrize("function", [by_sign, without_else, nested])
@pytest.mark.parametrize("x", [f32(1, 2), f32(-3, 1), f32(8, 9)])
def test_a_branch_on_a_tensor_takes_the_way_of_its_value(function, x):
    both_ways(function, x)


def python_branch(x, flag=False):
    if flag:
        return x * 2
    return x


def test_a_branch_on_a_python_value_is_decided_when_the_program_is_built():
    both_ways(python_branch, f32(1, 2))
    with fluid.dygraph.guard():
        program, _, _, _ = ProgramTranslator().get_program(python_branch, f32(1, 2), True)
    assert "conditional_block" not in [op.type for op in program.global_block().ops]


def doubling(x):
    while layers.reduce_sum(x) < 100:
        x = x * 2
    return x


def counting(x):
    i = 0
    total = x * 0
    while i < layers.reduce_sum(x):
        total = total + x
        i += 1
    return total


@pytest.mark.parametrize("function", [doubling, counting])
def test_a_loop_runs_as_long_as_its_tensor_says(function):
    both_ways(function, f32(1, 2))


def over_range(x, n):
    for _ in range(n):
        x = x * 2
    return x


def over_part(x, n):
    last = x
    for i in range(1, n, 2):
        last = x * layers.cast(i, "float32") if not isinstance(i, int) else x * i
    return last


def over_rows(x):
    total = x[0] * 0
    for row in x:
        total = total + row * row
    return total


def over_numbered_rows(x):
    total = x[0] * 0
    for i, row in enumerate(x):
        if i > 0:
            total = total + row
    return total


@pytest.mark.parametrize("function", [over_range])
def test_a_loop_over_a_range_ends_at_the_value_of_a_tensor(function):
    both_ways(function, f32(1, 2), np.array([3], "int32"))


@pytest.mark.parametrize("function", [over_rows, over_numbered_rows])
def test_a_loop_over_a_tensor_sees_its_rows(function):
    both_ways(function, np.arange(6, dtype="float32").reshape(3, 2))


def logic(x, y=None):
    if y is None and (layers.mean(x) > 0 or layers.mean(x) < -5) and not layers.reduce_sum(x) > 10:
        x = x * 2
    if 0 < layers.mean(x) < 3:
        x = x + 1
    return x


@pytest.mark.parametrize("x", [f32(1, 2), f32(-9, -8), f32(20, 1), f32(-1, 0)])
def test_and_or_not_and_chains_work_on_tensors(x):
    both_ways(logic, x)


def leaves_loop(x):
    i = layers.fill_constant([1], "int32", 0)
    while i < 10:
        i = i + 1
        if i > 5:
            break
        if i == 2:
            continue
        x = x * 2
    return x


def leaves_python_loop(x):
    for i in range(8):
        x = x + i
        if layers.reduce_sum(x) > 12:
            break
    else:
        x = x * 100
    return x


@pytest.mark.parametrize("function", [leaves_loop, leaves_python_loop])
@pytest.mark.parametrize("x", [f32(1, 2), f32(-90, 2)])
def test_break_and_continue_leave_out_the_rest(function, x):
    both_ways(function, x, gradients=False)


def returns_early(x):
    if layers.mean(x) > 0:
        return x * 2
    x = x - 1
    if layers.mean(x) < -5:
        return x * x
    return x


def returns_from_loop(x):
    for _ in range(10):
        x = x * 2
        if layers.reduce_sum(x) > 50:
            return x
    return x - 1


def returns_two(x):
    if layers.mean(x) > 0:
        return x, x * 2
    return x + 1, x * 3


@pytest.mark.parametrize("function", [returns_early, returns_from_loop, returns_two])
@pytest.mark.parametrize("x", [f32(1, 2), f32(-1, 0), f32(-9, -9)])
def test_an_early_return_gives_the_value_of_its_way(function, x):
    # The gradient of a block that also hands on a flag is not there yet.
    both_ways(function, x, gradients=function is not returns_from_loop)


def calls(x):
    def local(y):
        return returns_early(y) + 1

    return local(by_sign(x))


def factorial(x, n):
    if n == 0:
        return x
    return factorial(x * n, n - 1)


def test_functions_that_are_called_are_translated_too():
    both_ways(calls, f32(1, 2))
    both_ways(calls, f32(-1, -2))
    both_ways(factorial, f32(1, 2), others=(4,))


def sizes(x):
    y = layers.reshape(x, [x.shape[1], -1])
    for _ in range(len(y)):
        y = y + len(x)
    return y


def test_sizes_are_those_of_the_tensor():
    both_ways(sizes, np.ones([2, 3], "float32"))


def appends(x, n):
    items = []
    for i in range(n):
        items.append(x * 2)
        x = x + 1
    return layers.concat(items, axis=0)


def appends_in_branch(x):
    items = [x]
    if layers.mean(x) > 0:
        items.append(x * 2)
    else:
        items.append(x * 3)
    return layers.concat(items, axis=0)


def test_lists_grow_in_loops_and_branches():
    both_ways(appends_in_branch, f32(1, 2))
    both_ways(appends_in_branch, f32(-1, -2))
    both_ways(appends, f32(1, 2), np.array([3], "int64"), gradients=False)


def casts(x):
    print("x is", x)
    assert layers.reduce_sum(x) > 0, "positive"
    return x * float(int(layers.reduce_sum(x)))


def test_print_assert_and_casts_work_on_tensors():
    both_ways(casts, f32(1.5, 2))
    with fluid.dygraph.guard(), pytest.raises(Exception, match="positive"):
        declarative(casts)(to_variable(f32(-1, 0)))


class Net(fluid.dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.linear = fluid.dygraph.Linear(3, 2)
        self.norm = fluid.dygraph.BatchNorm(2)
        self.offset = to_variable(f32(1, 2))
        self.__scale = 2.0

    def forward(self, x):
        y = self.norm(self.linear(x)) * self.__scale + self.offset
        if layers.mean(y) > 0:
            y = layers.relu(y)
        return layers.mean(y * y)


class StaticNet(Net):
    forward = declarative(Net.forward)


def train(net_class):
    with fluid.dygraph.guard():
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 5
        net = net_class()
        optimizer = fluid.optimizer.SGD(0.1, parameter_list=net.parameters())
        rng, losses = np.random.RandomState(0), []
        for _ in range(5):
            loss = net(to_variable(rng.rand(4, 3).astype("float32")))
            loss.backward()
            optimizer.minimize(loss)
            net.clear_gradients()
            losses.append(float(loss.numpy()[0]))
        net.eval()
        losses.append(float(net(to_variable(np.ones([4, 3], "float32"))).numpy()[0]))
        return losses, {name.partition("net_0")[2] or name: value.numpy() for name, value in net.state_dict().items()}


def test_a_layer_trains_as_a_program_as_it_does_eagerly():
    (eager, eager_state), (static, static_state) = train(Net), train(StaticNet)
    np.testing.assert_allclose(eager, static, rtol=1e-5)
    for name, value in eager_state.items():
        np.testing.assert_allclose(value, static_state[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_function_is_built_once_for_tensors_of_one_type():
    seen = []

    @declarative
    def watched(x):
        seen.append(x)
        return x + 1

    with fluid.dygraph.guard():
        for size in (2, 2, 3, 2):
            watched(to_variable(np.ones([size], "float32")))
    assert len(seen) == 2


def test_a_saved_program_predicts_the_same(tmp_path):
    with fluid.dygraph.guard():
        net = StaticNet()
        net.eval()
        x = np.random.RandomState(1).rand(4, 3).astype("float32")
        expected = net(to_variable(x)).numpy()
        ProgramTranslator().save_inference_model(str(tmp_path))
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path), exe)
        found, = exe.run(program, feed={feeds[0]: x}, fetch_list=fetches)
    np.testing.assert_allclose(expected, found, rtol=1e-6)


def test_the_plain_function_runs_when_translation_is_off():
    translator = ProgramTranslator.get_instance()
    translator.enable(False)
    try:
        with fluid.dygraph.guard():
            seen = []

            @declarative
            def watched(x):
                seen.append(isinstance(x, fluid.core.VarBase))
                return x

            watched(to_variable(f32(1)))
        assert seen == [True]
    finally:
        translator.enable(True)


def test_outside_eager_mode_a_function_builds_into_the_current_program():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.data("x", [2], "float32")
        y = declarative(by_sign)(x)
        exe = fluid.Executor(fluid.CPUPlace())
        for values, expected in ((f32(1, 2), f32(2, 4)), (f32(-1, -2), f32(-2, -3))):
            found, = exe.run(feed={"x": values}, fetch_list=[y])
            np.testing.assert_array_equal(found, expected)


def wrong_sizes(x):
    if layers.mean(x) > 0:
        x = layers.matmul(x, layers.ones([7, 7], "float32"))
    return x


def generates(x):
    yield x


def tries(x):
    try:
        if layers.mean(x) > 0:
            x = x + 1
    except ValueError:
        pass
    return x


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def test_errors_name_the_line_of_the_user():
    with fluid.dygraph.guard():
        x = to_variable(np.ones([2, 3], "float32"))
        with pytest.raises(Exception) as caught:
            declarative(wrong_sizes)(x)
        lines = [(entry.path.name, entry.lineno + 1) for entry in caught.traceback]
        assert ("test_to_static.py", line_of(wrong_sizes, "matmul")) in lines
        with pytest.raises(SyntaxError, match="generator.*test_to_static.py, line %d" % line_of(generates, "def")):
            declarative(generates)(x)
        with pytest.raises(NotImplementedError, match="try") as caught:
            declarative(tries)(x)
        assert ("test_to_static.py", line_of(tries, "if ")) in [(entry.path.name, entry.lineno + 1) for entry in caught.traceback]


def test_a_variable_of_one_way_only_has_no_value_afterwards():
    def one_way(x):
        if layers.mean(x) > 0:
            y = x
        return y + 1

    with fluid.dygraph.guard(), pytest.raises(UnboundLocalError, match="y has no value here"):
        declarative(one_way)(to_variable(f32(1)))


def test_the_code_of_a_translated_function_can_be_read():
    assert "convert_ifelse" in ProgramTranslator().get_code(by_sign)
