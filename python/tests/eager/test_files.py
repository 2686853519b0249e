"""Checkpoints of eager mode: those of Fluid 1.8.5 are read, and training goes on as if it had not stopped."""

import os
import pickle
import pickletools
import sys

import numpy as np
import pytest

from oarlock import fluid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from cases import CASES, go_on, network, save, steps  # noqa: E402


def test_training_goes_on_from_a_checkpoint_of_fluid():
    wanted = CASES["losses_around_a_checkpoint"](fluid)["after"]
    np.testing.assert_allclose(go_on(fluid, os.path.join(HERE, "fluid185")), wanted, rtol=1e-5)


def test_training_goes_on_bit_equal_after_a_load(tmp_path):
    save(fluid, str(tmp_path / "directory" / "model"))
    assert go_on(fluid, str(tmp_path / "directory" / "model")) == CASES["losses_around_a_checkpoint"](fluid)["after"]


def test_files_hold_what_files_of_fluid_hold(tmp_path):
    save(fluid, str(tmp_path / "model"))
    for ending in (".pdparams", ".pdopt"):
        with open(HERE + "/fluid185" + ending, "rb") as theirs, open(str(tmp_path / "model") + ending, "rb") as ours:
            theirs, ours = pickle.load(theirs, encoding="latin1"), pickle.load(ours, encoding="latin1")
        assert sorted(theirs) == sorted(ours)
        assert theirs["StructuredToParameterName@@"] == ours["StructuredToParameterName@@"]
        for key, value in theirs.items():
            if isinstance(value, np.ndarray):
                assert ours[key].dtype == value.dtype and ours[key].shape == value.shape, key
    with open(str(tmp_path / "model.pdparams"), "rb") as file:
        assert max(op.proto for op, _, _ in pickletools.genops(file)) <= 2


def test_a_file_that_could_run_code_is_refused(tmp_path):
    class Bad:
        def __reduce__(self):
            return os.system, ("true",)

    (tmp_path / "model.pdparams").write_bytes(pickle.dumps({"x": Bad()}, protocol=2))
    with fluid.dygraph.guard(), pytest.raises(pickle.UnpicklingError, match="only arrays"):
        fluid.load_dygraph(str(tmp_path / "model"))


def test_wrong_checkpoints_are_named(tmp_path):
    with fluid.dygraph.guard():
        layer, optimizer = network(fluid)
        with pytest.raises(RuntimeError, match="not exists"):
            fluid.load_dygraph(str(tmp_path / "none"))
        with pytest.raises(AssertionError, match="empty"):
            fluid.save_dygraph({}, str(tmp_path / "none"))
        state = layer.state_dict()
        with pytest.raises(RuntimeError, match="0.weight"):
            layer.set_dict({})
        wrong = {key: value.numpy() for key, value in state.items()}
        wrong["0.weight"] = np.zeros([1, 1], "float32")
        with pytest.raises(AssertionError, match="Shape not match"):
            layer.set_dict(wrong)
        steps(fluid, layer, optimizer, 0, 1)
        with pytest.raises(AssertionError, match="not found"):
            optimizer.set_dict({"LR_Scheduler": {"step_num": 1}, "global_step": np.array([1])})


def test_a_traced_layer_computes_and_saves_the_same(tmp_path):
    x = np.random.RandomState(0).rand(8, 4).astype("float32")
    with fluid.dygraph.guard():
        layer, optimizer = network(fluid)
        steps(fluid, layer, optimizer, 0, 2)
        layer.eval()
        out, traced = fluid.dygraph.TracedLayer.trace(layer, [fluid.dygraph.to_variable(x)])
        assert np.array_equal(traced([fluid.dygraph.to_variable(x)])[0], out.numpy())
        traced.save_inference_model(str(tmp_path / "model"))
        wanted = out.numpy()
    exe = fluid.Executor()
    program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
    found = exe.run(program, feed={feeds[0]: x}, fetch_list=fetches)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
