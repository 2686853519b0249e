"""Products, lookups, recurrent units and other layers as objects."""

import numpy as np

from .. import _state
from ..core import VarDesc
from ..data_feeder import check_type, check_variable_and_dtype
from ..framework import Variable, default_main_program, in_dygraph_mode
from ..initializer import Constant, NumpyArrayInitializer
from ..param_attr import ParamAttr
from ._apply import activated, apply, biased
from .layers import Layer

__all__ = [
    "BilinearTensorProduct", "Dropout", "Embedding", "GRUUnit", "Linear", "NCE", "PRelu", "RowConv", "SequenceConv", "TreeConv",
]


class Linear(Layer):
    """``act(x @ weight + bias)``.

    Args:
        input_dim (int), output_dim (int): the last sizes of input and output.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; ``bias_attr=False`` for no bias.
        act (str): an activation.
        dtype (str): of the parameters.

    Example:
        >>> with fluid.dygraph.guard():
        ...     layer = fluid.Linear(32, 64)
        ...     print(layer(fluid.layers.ones([30, 10, 32], "float32")).shape, layer.weight.name)
        [30, 10, 64] linear_0.w_0
    """

    _attrs = {"transpose_X": False, "transpose_Y": False, "alpha": 1.0}

    def __init__(self, input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype="float32"):
        super().__init__()
        self._act, self._dtype = act, dtype
        self.weight = self.create_parameter([input_dim, output_dim], param_attr, dtype)
        self.bias = self.create_parameter([output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        """Returns the product.

        Args:
            input (Variable): ``[..., input_dim]``.
        """
        made = apply(self, "matmul", {"X": input, "Y": self.weight}, self._attrs)
        if self.bias is not None:
            made = biased(self, made, self.bias, len(input.shape) - 1)
        return activated(self, made, self._act)


class Dropout(Layer):
    """Sets a share of elements to 0 while training.

    Args:
        p (float): the share.
        seed (int): chooses the same elements in every call.
        dropout_implementation (str): ``downgrade_in_infer`` or ``upscale_in_train``.
        is_test (bool): whether a program drops nothing; eager mode goes by ``train()`` and ``eval()``.
    """

    def __init__(self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False):
        super().__init__()
        if not isinstance(p, (float, int)):
            raise AssertionError("p argument should be a number")
        if not 0 <= p <= 1:
            raise AssertionError("p argument should between 0 and 1")
        if seed is not None and not isinstance(seed, int):
            raise AssertionError("seed argument should be None or a integer")
        if dropout_implementation not in ("downgrade_in_infer", "upscale_in_train"):
            raise AssertionError("dropout_implementation argument should be 'downgrade_in_infer' or 'upscale_in_train'")
        self._dropout_prob, self._seed, self._dropout_implementation, self._is_test = p, seed, dropout_implementation, is_test

    def forward(self, input):
        """Returns the input with some elements dropped.

        Args:
            input (Variable): any floats.
        """
        program_seed = default_main_program().random_seed
        if not self._seed and program_seed:
            self._seed = program_seed
        attrs = {
            "dropout_prob": float(self._dropout_prob), "is_test": not self.training if in_dygraph_mode() else self._is_test,
            "fix_seed": self._seed is not None, "seed": self._seed or 0, "dropout_implementation": self._dropout_implementation,
        }
        if _state.tracer is not None:
            return apply(self, "dropout", {"X": input}, attrs, others=("Mask",))
        helper = self._helper
        out = helper.create_variable_for_type_inference(input.dtype)
        mask = helper.create_variable_for_type_inference(VarDesc.VarType.UINT8, stop_gradient=True)
        helper.append_op(type="dropout", inputs={"X": [input]}, outputs={"Out": [out], "Mask": [mask]}, attrs=attrs)
        return out


class Embedding(Layer):
    """Rows of a table by number.

    Args:
        size (list): how many rows, and how wide.
        is_sparse (bool): gradients contain only the rows that were looked up.
        is_distributed (bool): changes nothing in one process.
        padding_idx (int): this row stays 0 and is not trained; None for no such row.
        param_attr (ParamAttr): of the table.
        dtype (str): of the table.
    """

    def __init__(self, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
        super().__init__()
        self._size, self._is_sparse, self._is_distributed = size, is_sparse, is_distributed
        self._padding_idx = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
        self._param_attr, self._dtype = param_attr, dtype
        self._remote_prefetch = is_sparse and not is_distributed
        self.weight = self.create_parameter(list(size), param_attr, dtype)
        self._attrs = {
            "is_sparse": is_sparse, "is_distributed": is_distributed, "remote_prefetch": self._remote_prefetch,
            "padding_idx": self._padding_idx,
        }

    def forward(self, input):
        """Returns the rows.

        Args:
            input (Variable): int64, the numbers of rows.
        """
        return apply(self, "lookup_table_v2", {"Ids": input, "W": self.weight}, self._attrs)


_ACTIVATIONS = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}


class GRUUnit(Layer):
    """One step of gated recurrent units.

    Args:
        size (int): three times the width of the hidden state.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias.
        activation (str), gate_activation (str): ``identity``, ``sigmoid``, ``tanh`` or ``relu``.
        origin_mode (bool): changes nothing, as in Fluid 1.8.
        dtype (str): of the parameters.
    """

    def __init__(self, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid", origin_mode=False,
                 dtype="float32"):
        super().__init__()
        self._bias_attr, self._dtype = bias_attr, dtype
        self.activation, self.gate_activation = _ACTIVATIONS[activation], _ACTIVATIONS[gate_activation]
        width = size // 3
        self.weight = self.create_parameter([width, 3 * width], param_attr, dtype)
        self.bias = self.create_parameter([1, 3 * width], bias_attr, dtype, is_bias=True)

    def forward(self, input, hidden):
        """Returns the new hidden state, the state after the reset gate, and the gates.

        Args:
            input (Variable): ``[batch, 3 * width]``.
            hidden (Variable): ``[batch, width]``.
        """
        for what, var in (("input", input), ("hidden", hidden)):
            check_variable_and_dtype(var, what, ["float32", "float64"], "GRUUnit")
        inputs = {"Input": [input], "HiddenPrev": [hidden], "Weight": [self.weight]}
        if self.bias is not None:
            inputs["Bias"] = [self.bias]
        gate, reset, updated = (self._helper.create_variable_for_type_inference(self._dtype) for _ in range(3))
        self._helper.append_op(
            type="gru_unit", inputs=inputs, outputs={"Gate": gate, "ResetHiddenPrev": reset, "Hidden": updated},
            attrs={"activation": self.activation, "gate_activation": self.gate_activation})
        return updated, reset, gate


def _alias_table(probabilities):
    """Splits a distribution into columns of equal weight that hold at most two classes each: how much of a column its own class has, and
    the other class or -1."""
    count = len(probabilities)
    share, other = [0.0] * count, [0] * count
    scaled = [(at, p * count) for at, p in enumerate(probabilities)]
    large, small = [each for each in scaled if each[1] > 1], [each for each in scaled if each[1] < 1]
    for at, p in scaled:
        if p == 1:
            share[at], other[at] = p, -1
    while large and small:
        (big, big_p), (little, little_p) = large.pop(0), small.pop(0)
        share[little], other[little] = little_p, big
        left = big_p + little_p - 1
        if left > 1:
            large.append((big, left))
        elif left < 1:
            small.append((big, left))
        else:
            share[big], other[big] = left, -1
    for at, _ in large[:1] + small[:1]:
        share[at], other[at] = 1.0, -1
    return share, other


class NCE(Layer):
    """Noise-contrastive estimation: a loss over many classes of which few are sampled.

    Args:
        num_total_classes (int), dim (int): how many classes, and how wide the input is.
        sample_weight (Variable): a factor for each row.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; as in Fluid 1.8 there is a bias only if ``bias_attr`` is given.
        num_neg_samples (int): how many classes are sampled.
        sampler (str): ``uniform``, ``log_uniform`` or ``custom_dist``.
        custom_dist (list): the probabilities of classes, for ``custom_dist``.
        seed (int): of the sampler.
        is_sparse (bool): gradients contain only the rows of sampled classes.
        dtype (str): of the parameters.
    """

    def __init__(self, num_total_classes, dim, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None,
                 sampler="uniform", custom_dist=None, seed=0, is_sparse=False, dtype="float32"):
        super().__init__()
        self._param_attr, self._bias_attr, self._num_total_classes, self._dtype = param_attr, bias_attr, num_total_classes, dtype
        samplers = {"uniform": 0, "log_uniform": 1, "custom_dist": 2}
        if sampler not in samplers:
            raise Exception("Unsupported sampler type.")
        self._inputs = {"SampleWeight": sample_weight}
        if sampler == "custom_dist":
            if custom_dist is None:
                raise AssertionError("sampler custom_dist needs custom_dist")
            share, other = _alias_table(custom_dist)
            self._inputs.update(
                CustomDistProbs=self._constant(np.array(custom_dist, "float32")), CustomDistAlias=self._constant(np.array(other, "int32")),
                CustomDistAliasProbs=self._constant(np.array(share, "float32")))
        self._num_neg_samples = 10 if num_neg_samples is None else int(num_neg_samples)
        self._attrs = {
            "num_total_classes": int(num_total_classes), "num_neg_samples": self._num_neg_samples, "seed": seed,
            "sampler": samplers[sampler], "is_sparse": is_sparse, "remote_prefetch": is_sparse,
        }
        self.weight = self.create_parameter([num_total_classes, dim], param_attr, dtype)
        if bias_attr:
            self.bias = self.create_parameter([num_total_classes, 1], bias_attr, dtype, is_bias=True)
            self._inputs["Bias"] = self.bias
        self._inputs["Weight"] = self.weight

    def _constant(self, array):
        made = self.create_parameter(array.shape, ParamAttr(), str(array.dtype), default_initializer=NumpyArrayInitializer(array))
        made.stop_gradient = True
        return made

    def forward(self, input, label, sample_weight=None):
        """Returns the loss of each row.

        Args:
            input (Variable): ``[rows, dim]``.
            label (Variable): int64, the true classes.
            sample_weight (Variable): a factor for each row.
        """
        check_variable_and_dtype(input, "input", ["float32", "float64"], "NCE")
        check_variable_and_dtype(label, "label", ["int64"], "NCE")
        check_type(sample_weight, "sample_weight", (Variable, type(None)), "NCE")
        inputs = {slot: given for slot, given in self._inputs.items() if given is not None}
        inputs.update(Input=input, Label=label)
        if sample_weight is not None:
            inputs["SampleWeight"] = sample_weight
        new = self._helper.create_variable_for_type_inference
        cost, logits, labels = new(input.dtype), new(input.dtype), new(label.dtype)
        self._helper.append_op(
            type="nce", inputs=inputs, outputs={"Cost": cost, "SampleLogits": logits, "SampleLabels": labels}, attrs=self._attrs)
        return cost / (self._num_neg_samples + 1)


class PRelu(Layer):
    """A rectifier whose slope below 0 is trained.

    Args:
        mode (str): one slope for ``all`` elements, for each ``channel``, or for each ``element``.
        channel (int): how many channels, for ``channel``.
        input_shape (list): the shape of the input, for ``element``.
        param_attr (ParamAttr): of the slopes.
        dtype (str): of the result.
    """

    def __init__(self, mode, channel=None, input_shape=None, param_attr=None, dtype="float32"):
        super().__init__(name_scope="prelu")
        self._mode, self._param_attr, self._dtype = mode, param_attr, dtype
        if mode == "all":
            shape = [1]
        elif mode == "channel":
            if not isinstance(channel, int):
                raise AssertionError("channel argument is required when mode is 'channel'.")
            shape = [1, channel, 1, 1]
        elif mode == "element":
            if not isinstance(input_shape, (list, tuple)):
                raise AssertionError("input_shape argument is required when mode is 'element'.")
            shape = [1] + list(input_shape)[1:]
        else:
            raise ValueError("mode should be one of all, channel, element.")
        self._alpha_shape = shape
        self.weight = self.create_parameter(shape, param_attr, "float32", default_initializer=Constant(1.0))

    def forward(self, input):
        """Returns the rectified tensor.

        Args:
            input (Variable): float32.
        """
        check_variable_and_dtype(input, "input", ["float32"], "PRelu")
        return apply(self, "prelu", {"X": input, "Alpha": self.weight}, {"mode": self._mode})


class BilinearTensorProduct(Layer):
    """``act(x @ weight[i] @ y + bias[i])`` for each ``i``.

    Args:
        input1_dim (int), input2_dim (int), output_dim (int): widths of both inputs and of the output.
        name (str): the end of the name of the output in a program.
        act (str): an activation.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; ``bias_attr=False`` for no bias.
        dtype (str): of the parameters.
    """

    def __init__(self, input1_dim, input2_dim, output_dim, name=None, act=None, param_attr=None, bias_attr=None, dtype="float32"):
        super().__init__()
        self._param_attr, self._bias_attr, self._act, self._name, self._dtype = param_attr, bias_attr, act, name, dtype
        self._input1_dim, self._input2_dim, self._output_dim = input1_dim, input2_dim, output_dim
        self.weight = self.create_parameter([output_dim, input1_dim, input2_dim], param_attr, dtype)
        self.bias = self.create_parameter([1, output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, x, y):
        """Returns the product.

        Args:
            x (Variable), y (Variable): ``[batch, input1_dim]`` and ``[batch, input2_dim]``.
        """
        for what, var in (("x", x), ("y", y)):
            check_variable_and_dtype(var, what, ["float32", "float64"], "BilinearTensorProduct")
        inputs = {"X": x, "Y": y, "Weight": self.weight, "Bias": self.bias}
        return activated(self, apply(self, "bilinear_tensor_product", inputs, {}), self._act)


def _not_eager(what):
    if in_dygraph_mode():
        raise AssertionError("%s is not supported by dynamic graph mode yet!" % what)


class SequenceConv(Layer):
    """Convolution of sequences in a program; eager tensors have no sequences.

    Args:
        name_scope (str): begins the name of the layer.
        num_filters (int): channels of the output.
        filter_size (int), filter_stride (int): rows that are convolved, and the step.
        padding (bool): changes nothing: sequences are padded with zeros.
        bias_attr (ParamAttr), param_attr (ParamAttr): of bias and weight.
        act (str): an activation.
    """

    def __init__(self, name_scope, num_filters, filter_size=3, filter_stride=1, padding=None, bias_attr=None, param_attr=None, act=None):
        _not_eager("SequenceConv")
        super().__init__(name_scope)
        self._num_filters, self._filter_size, self._filter_stride = num_filters, filter_size, filter_stride
        self._bias_attr, self._param_attr, self._act = bias_attr, param_attr, act

    def _build_once(self, input):
        self._dtype = self._helper.input_dtype(input)
        self.weight = self.create_parameter([self._filter_size * input.shape[1], self._num_filters], self._param_attr, self._dtype)
        self.bias = self.create_parameter([self._num_filters], self._bias_attr, self._dtype, is_bias=True)

    def forward(self, input):
        """Returns the convolution.

        Args:
            input (Variable): rows of sequences.
        """
        attrs = {
            "contextStride": self._filter_stride, "contextStart": -int(self._filter_size // 2), "contextLength": self._filter_size,
        }
        made = apply(self, "sequence_conv", {"X": input, "Filter": self.weight}, attrs)
        return activated(self, biased(self, made, self.bias), self._act)


class RowConv(Layer):
    """Convolution over the rows that follow, in a program; eager tensors have no sequences.

    Args:
        name_scope (str): begins the name of the layer.
        future_context_size (int): how many rows follow.
        param_attr (ParamAttr): of the weight.
        act (str): an activation.
    """

    def __init__(self, name_scope, future_context_size, param_attr=None, act=None):
        _not_eager("RowConv")
        super().__init__(name_scope)
        self._act, self._param_attr, self._future_context_size = act, param_attr, future_context_size

    def _build_once(self, input):
        self._dtype = self._helper.input_dtype(input)
        self.weight = self.create_parameter([self._future_context_size + 1, input.shape[1]], self._param_attr, self._dtype)

    def forward(self, input):
        """Returns the convolution.

        Args:
            input (Variable): rows of sequences.
        """
        return activated(self, apply(self, "row_conv", {"X": input, "Filter": self.weight}, {}), self._act)


class TreeConv(Layer):
    """Convolution of the nodes of trees.

    Args:
        feature_size (int), output_size (int), num_filters (int): widths of nodes and of the output, and how many outputs.
        max_depth (int): how far a filter reaches.
        act (str): an activation.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weight and bias; as in Fluid 1.8 there is a bias only if ``bias_attr`` is given.
        name (str): the end of the name of the output in a program.
        dtype (str): of the parameters.
    """

    def __init__(self, feature_size, output_size, num_filters=1, max_depth=2, act="tanh", param_attr=None, bias_attr=None, name=None,
                 dtype="float32"):
        super().__init__()
        self._name, self._feature_size, self._output_size, self._num_filters = name, feature_size, output_size, num_filters
        self._act, self._max_depth, self._bias_attr, self._param_attr, self._dtype = act, max_depth, bias_attr, param_attr, dtype
        if bias_attr:
            self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)
        self.weight = self.create_parameter([feature_size, 3, output_size, num_filters], param_attr, dtype)

    def forward(self, nodes_vector, edge_set):
        """Returns the convolution.

        Args:
            nodes_vector (Variable): ``[batch, nodes, feature_size]``.
            edge_set (Variable): int32, ``[batch, edges, 2]``.
        """
        for what, var in (("nodes_vector", nodes_vector), ("edge_set", edge_set)):
            check_type(var, what, Variable, "TreeConv")
        inputs = {"NodesVector": nodes_vector, "EdgeSet": edge_set, "Filter": self.weight}
        made = apply(self, "tree_conv", inputs, {"max_depth": self._max_depth})
        return activated(self, biased(self, made, self.bias if self._bias_attr else None), self._act)
