"""Small modules of fluid: scopes, loggers, decorators, descriptions, evaluators, drawings."""

import inspect
import logging
import os
import threading

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import annotations, debugger, default_scope_funcs, device_worker, evaluator, graphviz, layers, log_helper, net_drawer
from oarlock.fluid import trainer_desc, trainer_factory, wrapped_decorator
from oarlock.fluid.dygraph.layers import Layer

CPU = fluid.CPUPlace()


def test_a_deprecated_function_says_so_and_still_works(capsys):
    @annotations.deprecated("1.5", "new", extra_message="soon")
    def old(a):
        """Doc."""
        return a + 1

    assert old(1) == 2
    assert capsys.readouterr().err == "API old is deprecated since 1.5. Please use new instead.\nsoon\n"
    assert old.__doc__ == "Doc.\n    API old is deprecated since 1.5. Please use new instead.\nsoon"


def test_wrapped_decorators_keep_signatures():
    @wrapped_decorator.signature_safe_contextmanager
    def guard(value, other=2):
        yield value + other

    assert str(inspect.signature(guard)) == "(value, other=2)"
    with guard(1) as got:
        assert got == 3


def test_a_logger_of_its_own_does_not_propagate():
    logger = log_helper.get_logger("oarlock.test.own", logging.INFO, fmt="%(message)s!")
    assert not logger.propagate and logger.handlers[-1].formatter._fmt == "%(message)s!"


def test_scopes_form_a_stack():
    outer = default_scope_funcs.get_cur_scope()
    default_scope_funcs.var("outer")
    seen = []

    def inside():
        default_scope_funcs.var("inner")
        seen.append((default_scope_funcs.get_cur_scope() is outer, default_scope_funcs.find_var("outer") is not None))

    default_scope_funcs.scoped_function(inside)
    assert seen == [(False, True)] and default_scope_funcs.find_var("inner") is None
    default_scope_funcs.enter_local_scope()
    default_scope_funcs.leave_local_scope()
    assert default_scope_funcs.get_cur_scope() is outer


SLOTS = """name: "MultiSlotDataFeed"
batch_size: 2
multi_slot_desc {
    slots { name: "words" type: "uint64" is_dense: false is_used: false }  # ids
    slots { name: 'label' type: "uint64" is_dense: true is_used: false shape: -1 shape: 2 }
}
"""


def test_slots_are_described_as_in_fluid(tmp_path):
    path = tmp_path / "data.proto"
    path.write_text(SLOTS)
    feed = fluid.DataFeedDesc(str(path))
    feed.set_batch_size(128)
    feed.set_dense_slots(["words"])
    feed.set_use_slots(["words", "label"])
    slot = '  slots {\n    name: "%s"\n    type: "uint64"\n    is_dense: true\n    is_used: true\n%s  }\n'
    assert feed.desc() == 'name: "MultiSlotDataFeed"\nbatch_size: 128\nmulti_slot_desc {\n%s%s}\npipe_command: "cat"\n' % (
        slot % ("words", ""), slot % ("label", "    shape: -1\n    shape: 2\n"))
    with pytest.raises(KeyError, match="no slot 'none'"):
        feed.set_use_slots(["none"])
    path.write_text("name: \"Other\"")
    with pytest.raises(ValueError, match="Only MultiSlotDataFeed"):
        fluid.DataFeedDesc(str(path)).set_dense_slots(["words"])
    for text, message in (("colour: 1", "no field colour"), ("multi_slot_desc { slots {", "has no }"), ("name: \"a\" }", "without a {"),
                          ("multi_slot_desc: 3", "needs {"), ("batch_size", "no value")):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            fluid.DataFeedDesc(str(path))


def test_a_pass_over_a_data_set_is_described():
    trainer = trainer_factory.TrainerFactory()._create_trainer()
    assert type(trainer) is trainer_desc.MultiTrainer and isinstance(trainer._device_worker, device_worker.Hogwild)
    trainer._set_program(fluid.default_main_program())
    trainer._set_thread(3)
    trainer._set_debug(True)
    trainer._set_infer(True)
    trainer._set_fetch_var_and_info([fluid.data("x", [1])], ["loss"], 10)
    trainer._gen_trainer_desc()
    assert str(trainer) == (
        'class_name: "MultiTrainer"\ndevice_worker_name: "HogwildWorker"\nthread_num: 3\ndebug: true\nfetch_config {\n'
        '  fetch_var_names: "x"\n  fetch_var_str_format: "loss"\n  print_period: 10\n}\nhogwild_param {\n  skip_ops: "feed"\n}\n')
    with pytest.raises(NotImplementedError, match="please use Hogwild"):
        device_worker.DeviceWorker()._gen_worker_desc(trainer.proto_desc)
    with pytest.raises(NotImplementedError, match="pslib"):
        trainer_factory.TrainerFactory()._create_trainer({"trainer": "DistMultiTrainer", "device_worker": "Hogwild"})
    for module, name in ((device_worker, "DownpourSGD"), (device_worker, "Section"), (trainer_desc, "PipelineTrainer")):
        with pytest.raises(NotImplementedError):
            getattr(module, name)


def test_a_monitor_hands_values_to_its_handler():
    got, seen = [], threading.Event()

    class Handler(trainer_factory.FetchHandler):
        def handler(self, res_dict):
            got.append(res_dict)
            seen.set()

    x = fluid.data("x", [1])
    fluid.global_scope().var("x").get_tensor().set(np.array([5.0], "float32"), CPU)
    monitor = trainer_factory.FetchHandlerMonitor(fluid.global_scope(), Handler({"mine": x, "none": fluid.data("y", [1])}, period_secs=0.01))
    monitor.start()
    assert monitor.running and seen.wait(20)
    monitor.stop()
    assert not monitor.running and got[0]["mine"].tolist() == [5.0] and got[0]["none"] is None


def sequences(array, lengths):
    return fluid.create_lod_tensor(np.array(array, "int64").reshape(-1, 1), [lengths], CPU)


@pytest.mark.filterwarnings("ignore:The .* is deprecated")
def test_evaluators_count_over_batches_and_start_anew():
    tags, label = (fluid.data(name, [None, 1], "int64", lod_level=1) for name in ("tags", "label"))
    chunks, distance = evaluator.ChunkEvaluator(tags, label, "IOB", 2), evaluator.EditDistance(tags, label)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    right, wrong = sequences([0, 1, 2], [3]), sequences([0, 1, 4], [3])
    for batch in (right, wrong):
        exe.run(feed={"tags": batch, "label": right})
    precision, recall, f1 = chunks.eval(exe)
    assert precision.tolist() == [1.0] and recall.tolist() == [0.75] and abs(f1[0] - 6 / 7) < 1e-6
    mean, share = distance.eval(exe)
    assert share.tolist() == [0.5] and mean[0] > 0 and len(chunks.metrics) == 3
    chunks.reset(exe), distance.reset(exe)
    exe.run(feed={"tags": right, "label": right})
    assert chunks.eval(exe)[1].tolist() == [1.0] and distance.eval(exe)[1].tolist() == [0.0]
    with pytest.raises(NotImplementedError):
        evaluator.Evaluator.eval(chunks, exe)


@pytest.mark.filterwarnings("ignore:The .* is deprecated")
def test_precision_of_boxes_is_kept_by_an_evaluator():
    found, box = fluid.data("found", [None, 6], lod_level=1), fluid.data("box", [None, 4], lod_level=1)
    label = fluid.data("label", [None, 1], lod_level=1)
    boxes = evaluator.DetectionMAP(found, label, box, class_num=2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    boxes.reset(exe)
    tensor = lambda rows: fluid.create_lod_tensor(np.array(rows, "float32"), [[len(rows)]], CPU)
    feed = {"found": tensor([[1, 0.9, 0, 0, 1, 1]]), "label": tensor([[1]]), "box": tensor([[0, 0, 1, 1]])}
    assert [v.item() for v in exe.run(feed=feed, fetch_list=list(boxes.get_map_var()))] == [1.0, 1.0]


def test_areas_between_points():
    assert fluid.metrics.Auc.trapezoid_area(0, 2, 1, 3) == 4.0 == fluid.metrics.Auc.trapezoid_area(2, 0, 1, 3)


def network():
    loss = layers.mean(layers.fc(fluid.data("x", [None, 2]), 1, name="layer"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    return loss.block


def test_a_program_is_shown_as_text():
    block = network()
    text = debugger.pprint_program_codes(fluid.default_main_program())
    assert "Tensor layer.w_0 (tensor(type=float32, shape=[2, 1]))" in text and "layer.tmp_0 = mul(X=x, Y=layer.w_0)" in text
    assert "@GRAD" not in text and "@GRAD" in debugger.pprint_block_codes(block, show_backward=True)
    assert debugger.repr_var(block.var("x")) == "Tensor x (tensor(type=float32, shape=[-1, 2]))"
    assert debugger.repr_op(block.ops[0]).startswith("layer.tmp_0 = mul(")


def test_a_program_is_drawn(tmp_path):
    block = network()
    debugger.draw_block_graphviz(block, highlights=["layer"], path=str(tmp_path / "block.dot"))
    text = (tmp_path / "block.dot").read_text()
    assert text.startswith("digraph G {") and "<B>mul</B>" in text and 'color="orange"' in text
    graph = net_drawer.draw_graph(
        fluid.default_startup_program(), fluid.default_main_program(), filename=str(tmp_path / "net.gv"), node_attr={"shape": "box"})
    assert os.path.exists(tmp_path / "net.gv") and 'shape="box"' in graph.code() and len(graph.edges) > 3
    net_drawer.parse_graph(fluid.default_main_program(), graphviz.Graph("again"), {})


def test_graphs_have_ranks_nodes_and_edges(tmp_path):
    graph = graphviz.Graph("t", rankdir="TB")
    rank = graph.rank_group("same", 1)
    first, second = graph.node("a", "n", rank=rank), graph.node("b", "n")
    graph.edge(first, second, color="red")
    assert str(graph.rank_groups[rank]) == "{rank=same;%s}" % first.name
    assert "%s -> %s [color=\"red\"]" % (first.name, second.name) in graph.code() == str(graph)
    assert graph.compile(str(tmp_path / "g.dot")) == str(tmp_path / "g.pdf") and graphviz.crepr("x") == '"x"' and graphviz.crepr(1) == "1"
    preview = graphviz.GraphPreviewGenerator("p")
    preview.add_edge(preview.add_param("w", "float32"), preview.add_op("mul"))
    preview.add_arg("x", highlight=True)
    preview(str(tmp_path / "p.dot"))
    assert (tmp_path / "p.dot").exists()


def test_a_run_that_fails_leaves_its_variables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    network()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    try:
        debugger.prepare_fast_nan_inf_debug(fluid.default_main_program())
        bad = {"x": np.array([[np.nan, 1]], "float32")}
        assert debugger.run_fast_nan_inf_debug(exe, fluid.default_main_program(), feed=bad, fetch_list=["mean_0.tmp_0"]) is None
    finally:
        fluid.set_flags({"FLAGS_check_nan_inf": False})
    assert "dumping a core into ./core" in capsys.readouterr().out and list(tmp_path.glob("core*.pdckpt"))
    good = {"x": np.ones([1, 2], "float32")}
    assert debugger.run_fast_nan_inf_debug(exe, fluid.default_main_program(), feed=good, fetch_list=["mean_0.tmp_0"])[0].shape == (1,)


class Two(Layer):
    """A layer with a weight and a layer inside."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([2, 2])
        self.inner = fluid.contrib.layers.BasicGRUUnit("unit", 2)
        self.note = "plain"

    def forward(self, x, scale=1.0):
        return layers.scale(self.inner(layers.mul(x, self.weight), x), scale)


def test_layers_own_parameters_and_layers():
    x = fluid.data("x", [None, 2])
    two = Two()
    assert two.full_name() == "two_0" and two(x).shape == (-1, 2)
    paths = ["weight", "inner._gate_weight", "inner._candidate_weight", "inner._gate_bias", "inner._candidate_bias"]
    assert [path for path, _ in two.named_parameters()] == paths == list(two.state_dict())
    assert two.parameters(include_sublayers=False) == [two.weight] and two.sublayers() == [two.inner]
    assert [path for path, _ in two.named_sublayers(include_self=True)] == ["", "inner"]
    two.eval()
    assert not two.inner.training
    two.train()
    assert two.inner.training
    two(x)
    assert len(fluid.default_main_program().all_parameters()) == 5
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    values = {path: np.full(param.shape, 0.5, "float32") for path, param in two.state_dict().items()}
    two.set_dict(values)
    assert np.array(fluid.global_scope().find_var(two.weight.name).get_tensor()).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    two.load_dict({two.state_dict()[path].name: value for path, value in values.items()}, use_structured_name=False)
    with pytest.raises(RuntimeError, match="Can't not find"):
        two.set_dict({})
    with pytest.warns(UserWarning, match="are not used"):
        two.set_dict(dict(values, more=1))
    with pytest.raises(AssertionError, match="clear_gradient"):
        two.clear_gradients()
    with pytest.raises(ValueError, match="shouldn't implement backward"):
        two.backward()


def test_layers_are_changed_by_assignment_and_hooks():
    x, two = fluid.data("x", [None, 2]), Two()
    before = two.register_forward_pre_hook(lambda layer, inputs: (layers.scale(inputs[0], 2.0),))
    after = two.register_forward_post_hook(lambda layer, inputs, outputs: layers.scale(outputs, 3.0))
    two(x)
    kinds = [op.type for op in fluid.default_main_program().global_block().ops]
    assert kinds[0] == "scale" and kinds[-2:] == ["scale", "scale"]
    before.remove(), after.remove(), after.remove()
    assert not two._forward_pre_hooks and not two._forward_post_hooks
    assert two.create_variable("v").name == "two_0.v" and "_generated_var" in two.create_variable().name
    two.add_parameter("none", None)
    with pytest.raises(TypeError, match="requires Parameter or None"):
        two.add_parameter("wrong", 1)
    with pytest.raises(AssertionError, match="takes a Layer"):
        two.add_sublayer("wrong", 1)
    with pytest.raises(TypeError, match="assignment to parameter 'weight'"):
        two.weight = 3
    two.weight = None
    assert two.weight is None
    two.add_sublayer("inner", None or Two())
    del two.inner
    del two.note
    for name in ("inner", "note"):
        with pytest.raises(AttributeError):
            getattr(two, name)
    with pytest.raises(NotImplementedError, match="forward belongs"):
        Layer()(x)


def test_normed_weights_are_noted():
    before = len(fluid.WeightNormParamAttr.params_with_weight_norm)
    layers.fc(fluid.data("x", [None, 4]), 2, param_attr=fluid.WeightNormParamAttr(dim=None, name="w"))
    assert [v.name for v in fluid.WeightNormParamAttr.params_with_weight_norm[before:]] == ["elementwise_mul_0.tmp_0"]


def test_names_of_modules_do_not_hide_functions():
    import subprocess
    import sys

    script = ("import oarlock; oarlock.install_as_paddle(); import paddle.fluid as f; import paddle.fluid.data, paddle.fluid.layers.rnn; "
              "print(callable(f.data), callable(f.layers.rnn)); from paddle.fluid.data import data; print(data is f.data)")
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split() == ["True"] * 3
