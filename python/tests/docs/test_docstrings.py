"""The examples in the docstrings of layers and optimizers run and give what they show."""

import doctest
import importlib
import inspect

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers

LAYERS = sorted(set(layers.__all__))


def examples(found, name):
    return doctest.DocTestParser().get_doctest(found.__doc__ or "", {"fluid": fluid, "np": np}, name, None, None)


# Modules whose every public class and function has an example, but for those that need a cluster or another process.
MODULES = [
    "complex", "fluid.annotations", "fluid.contrib.decoder", "fluid.contrib.extend_optimizer", "fluid.contrib.memory_usage_calc",
    "fluid.contrib.model_stat", "fluid.contrib.op_frequence", "fluid.contrib.reader", "fluid.data_feed_desc", "fluid.dataloader",
    "fluid.debugger", "fluid.default_scope_funcs", "fluid.device_worker", "fluid.evaluator", "fluid.incubate.fleet.base.mode",
    "fluid.layers.distributions", "fluid.layers.preview", "fluid.log_helper", "fluid.net_drawer", "fluid.trainer_desc",
    "fluid.transpiler.collective", "fluid.transpiler.details", "incubate.hapi.distributed", "incubate.hapi.vision", "utils",
]


def public(module):
    found = importlib.import_module("oarlock." + module)
    named = ((name, getattr(found, name)) for name in found.__all__)
    return [(name, one) for name, one in named if inspect.isclass(one) or inspect.isfunction(one)]


EXAMPLES = {name: examples(getattr(layers, name), name) for name in LAYERS}
EXAMPLES["Optimizer"] = examples(fluid.optimizer.Optimizer, "Optimizer")
OF_MODULES = {"%s.%s" % (module, name): one for module in MODULES for name, one in public(module)}
EXAMPLES.update((name, examples(one, name)) for name, one in OF_MODULES.items())
for _one in (fluid.BuildStrategy, fluid.ExecutionStrategy, fluid.WeightNormParamAttr, fluid.contrib.layers.multiclass_nms2, fluid.core.Place,
             fluid.framework.ComplexVariable,
             fluid.framework.dtype_is_floating, fluid.io.DataLoader, fluid.optimizer.ModelAverage, fluid.require_version,
             fluid.trainer_factory.FetchHandlerMonitor, fluid.trainer_factory.TrainerFactory):
    EXAMPLES[_one.__name__] = examples(_one, _one.__name__)


@pytest.mark.parametrize("name", [name for name, found in EXAMPLES.items() if found.examples])
def test_the_example_of_a_docstring_runs(name):
    said = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(EXAMPLES[name], out=said.append)
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("name", OF_MODULES)
def test_what_modules_list_is_documented_with_an_example(name):
    assert EXAMPLES[name].examples


def test_most_used_layers_have_an_example():
    used = ["fc", "embedding", "conv2d", "pool2d", "batch_norm", "layer_norm", "dropout", "softmax", "cross_entropy", "mean", "accuracy", "auc",
            "concat", "reshape", "relu", "sigmoid", "tanh", "exp", "matmul", "mul", "sum", "reduce_sum", "reduce_mean", "split", "stack",
            "slice", "gather", "one_hot", "topk", "argmax", "cast", "assign", "fill_constant", "transpose", "squeeze", "unsqueeze", "expand",
            "softmax_with_cross_entropy", "square_error_cost", "sequence_pool", "data"]
    assert [name for name in used if not EXAMPLES[name].examples] == []


def test_every_layer_is_documented():
    assert [name for name in LAYERS if not (getattr(layers, name).__doc__ or "").strip()] == []
    assert [name for name in LAYERS if "operator's documentation" in getattr(layers, name).__doc__] == []
