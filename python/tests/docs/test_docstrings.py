"""The examples in the docstrings of layers and optimizers run and give what they show."""

import doctest

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers

LAYERS = sorted(set(layers.__all__))


def examples(found, name):
    return doctest.DocTestParser().get_doctest(found.__doc__ or "", {"fluid": fluid, "np": np}, name, None, None)


EXAMPLES = {name: examples(getattr(layers, name), name) for name in LAYERS}
EXAMPLES["Optimizer"] = examples(fluid.optimizer.Optimizer, "Optimizer")


@pytest.mark.parametrize("name", [name for name, found in EXAMPLES.items() if found.examples])
def test_the_example_of_a_docstring_runs(name):
    said = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(EXAMPLES[name], out=said.append)
    assert result.failed == 0, "".join(said)


def test_most_used_layers_have_an_example():
    used = ["fc", "embedding", "conv2d", "pool2d", "batch_norm", "layer_norm", "dropout", "softmax", "cross_entropy", "mean", "accuracy", "auc",
            "concat", "reshape", "relu", "sigmoid", "tanh", "exp", "matmul", "mul", "sum", "reduce_sum", "reduce_mean", "split", "stack",
            "slice", "gather", "one_hot", "topk", "argmax", "cast", "assign", "fill_constant", "transpose", "squeeze", "unsqueeze", "expand",
            "softmax_with_cross_entropy", "square_error_cost", "sequence_pool", "data"]
    assert [name for name in used if not EXAMPLES[name].examples] == []


def test_every_layer_is_documented():
    assert [name for name in LAYERS if not (getattr(layers, name).__doc__ or "").strip()] == []
    assert [name for name in LAYERS if "operator's documentation" in getattr(layers, name).__doc__] == []
