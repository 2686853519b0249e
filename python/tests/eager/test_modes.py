"""Eager mode is turned on and off, and tensors, layers and loaders behave as those of Fluid 1.8.5."""

import numpy as np
import pytest

from oarlock import fluid
from oarlock.fluid import core, framework


def tensor(*values, dtype="float32"):
    made = fluid.dygraph.to_variable(np.array(values, dtype))
    made.stop_gradient = False
    return made


def test_guard_and_enable_turn_eager_mode_on():
    assert not fluid.in_dygraph_mode() and framework._dygraph_tracer() is None
    with fluid.dygraph.guard():
        assert fluid.in_dygraph_mode() and fluid.dygraph.enabled() and isinstance(framework._current_expected_place(), fluid.CPUPlace)
        outer = fluid.Linear(1, 1)
        with fluid.dygraph.guard():
            # Names begin anew, as in Fluid.
            assert fluid.Linear(1, 1).full_name() == outer.full_name() == "linear_0"
        assert fluid.in_dygraph_mode()
    fluid.enable_dygraph()
    try:
        assert (fluid.layers.ones([2], "float32") + 1).numpy().tolist() == [2.0, 2.0]
    finally:
        fluid.disable_dygraph()
    assert not fluid.in_dygraph_mode()


def test_guard_decorates_functions():
    @fluid.dygraph.guard()
    def function():
        return fluid.in_dygraph_mode()

    assert function() and function() and not fluid.in_dygraph_mode()


def test_a_program_is_built_beside_eager_mode():
    with fluid.dygraph.guard():
        with framework._dygraph_guard(None), fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.data("x", [None, 2])
            assert type(x) is framework.Variable and fluid.layers.relu(x).shape == (-1, 2)
        assert fluid.layers.relu(tensor(-1.0, 2.0)).numpy().tolist() == [0.0, 2.0]


def test_tensors_are_variables_only_in_eager_mode():
    with fluid.dygraph.guard():
        x, layer = tensor(1.0), fluid.Linear(1, 1)
        assert isinstance(x, framework.Variable) and isinstance(x, core.VarBase) and not isinstance(x, framework.Parameter)
        assert isinstance(layer.weight, framework.Parameter) and isinstance(layer.weight, framework.ParamBase)
    assert not isinstance(x, framework.Variable)


def test_what_belongs_to_the_other_mode_says_so():
    with pytest.raises(AssertionError, match="to_variable in imperative mode"):
        fluid.dygraph.to_variable(np.zeros(1))
    with pytest.raises(AssertionError, match="state_dict in imperative mode"):
        fluid.optimizer.SGD(0.1).state_dict()
    with fluid.dygraph.guard():
        x = tensor(1.0)
        with pytest.raises(AttributeError, match="parameter_list"):
            fluid.optimizer.SGD(0.1)
        with pytest.raises(Exception, match="In dygraph, don't support"):
            fluid.optimizer.ExponentialMovingAverage(0.1)
    with pytest.raises(TypeError, match="eager tensors"):
        fluid.layers.relu(x)


def test_errors_of_operators_name_the_line():
    with fluid.dygraph.guard(), pytest.raises(core.EnforceNotMet, match="test_modes.py"):
        fluid.layers.matmul(tensor([1.0, 2.0]), tensor([1.0, 2.0]))


def test_nan_is_found_where_it_is_made():
    fluid.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with fluid.dygraph.guard(), pytest.raises(Exception, match="`log`"):
            fluid.layers.log(tensor(-1.0))
    finally:
        fluid.set_flags({"FLAGS_check_nan_inf": False})
    with fluid.dygraph.guard():
        assert np.isnan(fluid.layers.log(tensor(-1.0)).numpy()).all()


def test_the_profiler_shows_operators_of_eager_mode(tmp_path, capsys):
    with fluid.dygraph.guard():
        with fluid.profiler.profiler("CPU", profile_path=str(tmp_path / "trace")):
            fluid.layers.relu(tensor(1.0) * tensor(2.0))
    assert "elementwise_mul" in capsys.readouterr().out and (tmp_path / "trace").exists()


def test_values_are_set_and_shown():
    with fluid.dygraph.guard():
        x = tensor(1.0, 2.0)
        x.set_value(np.array([3.0, 4.0], "float32"))
        x.value().get_tensor().set(x.numpy() * 2, fluid.CPUPlace())
        assert np.array(x.value().get_tensor()).tolist() == [6.0, 8.0] and np.asarray(x).tolist() == [6.0, 8.0]
        for wrong, what in ((np.zeros(3, "float32"), "Shape"), (np.zeros(2, "float64"), "dtype"), ([1.0, 2.0], "arguments type")):
            with pytest.raises(AssertionError, match=what):
                x.set_value(wrong)
        assert x.detach().stop_gradient and x._copy_to(fluid.CPUPlace(), True).numpy().tolist() == [6.0, 8.0]
        assert x.type == core.VarDesc.VarType.LOD_TENSOR and x.dtype == core.VarDesc.VarType.FP32 and not x.persistable
        assert (np.float32(2) + x).numpy().tolist() == [8.0, 10.0]
        assert x[...].numpy().tolist() == [6.0, 8.0] and x[tensor(1, dtype="int64")].numpy().tolist() == [8.0]
        assert not (x == None) and x != "a" and hash(x) == hash(x)  # noqa: E711
        with pytest.raises(IndexError):
            x[2]


def test_hooks_of_layers_change_inputs_and_outputs():
    with fluid.dygraph.guard():
        layer = fluid.Linear(1, 1)
        layer.weight.set_value(np.ones([1, 1], "float32"))
        x = tensor([1.0])
        before = layer.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
        after = layer.register_forward_post_hook(lambda layer, inputs, outputs: outputs + 10)
        assert layer(x).numpy().tolist() == [[12.0]]
        before.remove(), after.remove()
        assert layer(x).numpy().tolist() == [[1.0]]


def test_hooks_of_tensors_change_gradients():
    with fluid.dygraph.guard():
        x = tensor(3.0)
        handle = x.register_hook(lambda grad: grad * 2)
        (x * x).backward()
        assert x.gradient().tolist() == [12.0]
        assert handle.remove() and not handle.remove()


def test_attributes_of_layers_are_parameters_layers_and_buffers():
    class Net(fluid.dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.weight = self.create_parameter([2])
            self.part = fluid.Linear(2, 1)
            self.register_buffer("count", tensor(0.0))
            self.register_buffer("scratch", tensor(0.0), persistable=False)

    with fluid.dygraph.guard():
        net = Net()
        assert list(net.state_dict()) == ["weight", "count", "part.weight", "part.bias"]
        assert [name for name, _ in net.named_buffers()] == ["count", "scratch"] and len(net.parameters()) == 3
        with pytest.raises(TypeError, match="assignment to parameter 'weight'"):
            net.weight = 1
        with pytest.raises(TypeError, match="assignment to sublayer 'part'"):
            net.part = 1
        net.part = None
        assert list(net.state_dict()) == ["weight", "count"]
        with pytest.raises(NotImplementedError):
            net(1)


def test_user_written_layers_append_operators():
    class Mine(fluid.dygraph.Layer):
        def forward(self, x):
            out = self._helper.create_variable_for_type_inference(x.dtype)
            self._helper.append_op(type="relu", inputs={"X": [x]}, outputs={"Out": [out]})
            return out

    with fluid.dygraph.guard():
        x = tensor(-1.0, 2.0)
        y = Mine()(x)
        assert not y.stop_gradient
        y.backward()
        assert x.gradient().tolist() == [0.0, 1.0]
        assert Mine()(x.detach()).stop_gradient


def test_core_ops_take_positional_arguments():
    with fluid.dygraph.guard():
        x = tensor([1.0, 2.0], [3.0, 4.0])
        assert core.ops.concat([x, x], "axis", 1).shape == [2, 4]
        assert [part.numpy().tolist() for part in core.ops.split(x, 2, "num", 2, "axis", 1)] == [[[1.0], [3.0]], [[2.0], [4.0]]]
        out, mask = core.ops.dropout(x, "dropout_prob", 0.0)
        assert out.numpy().tolist() == x.numpy().tolist()
        target = framework._varbase_creator(dtype="float32")
        core.ops.matmul(x, x, target, "transpose_X", False, "transpose_Y", False, "alpha", 1.0)
        assert target.numpy().tolist() == [[7.0, 10.0], [15.0, 22.0]] and not target.stop_gradient
        with pytest.raises(AttributeError, match="nothing_like_this"):
            core.ops.nothing_like_this


@pytest.mark.parametrize("process", [False, True])
def test_loaders_give_tensors(process):
    def batches():
        for at in range(3):
            yield np.full([2, 3], at, "float32"), np.array([at], "int64")

    with fluid.dygraph.guard():
        loader = fluid.io.DataLoader.from_generator(capacity=2, use_multiprocess=process)
        loader.set_batch_generator(batches, places=fluid.CPUPlace())
        found = [(x.numpy().tolist(), int(y)) for x, y in loader()]
        assert found == [([[float(at)] * 3] * 2, at) for at in range(3)]
        samples = fluid.io.DataLoader.from_generator(capacity=2)
        samples.set_sample_generator(lambda: iter([(np.ones(2, "float32") * at, at) for at in range(4)]), batch_size=2)
        assert [(x.shape, y.shape) for x, y in samples()] == [([2, 2], [2])] * 2


def test_seeds_give_the_values_of_the_static_mode():
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = main.random_seed = 90
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        fluid.layers.fc(fluid.data("x", [None, 4]), 3)
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        fluid.Executor().run(startup)
    with fluid.dygraph.guard():
        fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 90
        weight = fluid.Linear(4, 3).weight.numpy()
    assert np.array_equal(weight, np.array(scope.find_var("fc_0.w_0").get_tensor()))


def test_every_name_of_fluid_is_there():
    later = {"declarative", "dygraph_to_static_func", "ProgramTranslator"}
    names = {
        "BCELoss", "BackwardStrategy", "BatchNorm", "BilinearTensorProduct", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose",
        "CosineDecay", "DataParallel", "Dropout", "Embedding", "ExponentialDecay", "GRUUnit", "GroupNorm", "InstanceNorm",
        "InverseTimeDecay", "L1Loss", "LambdaDecay", "Layer", "LayerList", "LayerNorm", "Linear", "LinearLrWarmup", "MSELoss",
        "MultiStepDecay", "NCE", "NLLLoss", "NaturalExpDecay", "NoamDecay", "PRelu", "ParallelEnv", "ParameterList", "PiecewiseDecay",
        "PolynomialDecay", "Pool2D", "ProgramTranslator", "ReduceLROnPlateau", "Sequential", "SpectralNorm", "StepDecay", "TracedLayer",
        "TreeConv", "declarative", "disable_dygraph", "disable_imperative", "dygraph_to_static_func", "enable_dygraph",
        "enable_imperative", "enabled", "grad", "guard", "load_dygraph", "no_grad", "prepare_context", "save_dygraph", "to_variable",
    }
    assert names - later <= set(fluid.dygraph.__all__)
