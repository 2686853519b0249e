"""Recurrent networks of several layers, in one or both directions, made of ordinary operators."""

import copy

from ... import layers
from ...dygraph.layers import Layer

__all__ = ["BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm"]


def _named(attr, suffix):
    """The attribute of one of several parameters: a name that the user gave gets a suffix."""
    if attr is None or attr.name is None:
        return attr
    attr = copy.deepcopy(attr)
    attr.name += suffix
    return attr


class _Unit(Layer):
    """One step of a recurrent layer. Its parameters are made by the first call, which knows the width of the input."""

    def __init__(self, name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype):
        super().__init__(name_scope + "/" + type(self).__name__, dtype)
        self._hidden_size = hidden_size
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self._gate_activation = gate_activation or layers.sigmoid
        self._activation = activation or layers.tanh

    def _make(self, input, parts):
        """Makes a weight and then a bias for each part: the attribute, a suffix of names, and how many times as wide as the state it is."""
        rows = input.shape[-1] + self._hidden_size
        for what, attr, is_bias in (("weight", self._param_attr, False), ("bias", self._bias_attr, True)):
            for name, suffix, times in parts:
                width = times * self._hidden_size
                shape = [width] if is_bias else [rows, width]
                setattr(self, "_%s%s" % (name, what), self.create_parameter(shape, _named(attr, suffix), self._dtype, is_bias))

    @staticmethod
    def _apply(parts, weight, bias):
        return layers.elementwise_add(layers.matmul(layers.concat(parts, 1), weight), bias)


class BasicGRUUnit(_Unit):
    """A step of a GRU.

    Args:
        name_scope (str): begins the names of its parameters.
        hidden_size (int): the width of the state.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weights and biases.
        gate_activation (callable), activation (callable): ``sigmoid`` and ``tanh`` by default.
        dtype (str): of the parameters.

    Example:
        >>> unit = fluid.contrib.layers.BasicGRUUnit("gru", 8)
        >>> x, hidden = fluid.data("x", [None, 4]), fluid.data("hidden", [None, 8])
        >>> unit(x, hidden).shape
        (-1, 8)
        >>> [path for path, parameter in unit.named_parameters()]
        ['_gate_weight', '_candidate_weight', '_gate_bias', '_candidate_bias']
    """

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32"):
        super().__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)

    def _build_once(self, input, pre_hidden):
        self._make(input, [("gate_", "_gate", 2), ("candidate_", "_candidate", 1)])

    def forward(self, input, pre_hidden):
        """Returns the new hidden state.

        Args:
            input (Variable): ``[batch, width]``.
            pre_hidden (Variable): the hidden state before, ``[batch, hidden_size]``.
        """
        gates = self._gate_activation(self._apply([input, pre_hidden], self._gate_weight, self._gate_bias))
        reset, update = layers.split(gates, num_or_sections=2, dim=1)
        new = self._activation(self._apply([input, reset * pre_hidden], self._candidate_weight, self._candidate_bias))
        return update * pre_hidden + (1 - update) * new


class BasicLSTMUnit(_Unit):
    """A step of an LSTM. As in Fluid, activations are fixed.

    Args:
        name_scope (str): begins the names of its parameters.
        hidden_size (int): the width of the state.
        param_attr (ParamAttr), bias_attr (ParamAttr): of weights and biases.
        gate_activation (callable), activation (callable): unused.
        forget_bias (float): is added to the forget gate.
        dtype (str): of the parameters.

    Example:
        >>> unit = fluid.contrib.layers.BasicLSTMUnit("lstm", 8)
        >>> x, hidden, cell = (fluid.data(name, [None, size]) for name, size in (("x", 4), ("hidden", 8), ("cell", 8)))
        >>> [state.shape for state in unit(x, hidden, cell)]
        [(-1, 8), (-1, 8)]
    """

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
                 forget_bias=1.0, dtype="float32"):
        super().__init__(name_scope, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)
        self._forget_bias = float(forget_bias)

    def _build_once(self, input, pre_hidden, pre_cell):
        self._make(input, [("", "", 4)])

    def forward(self, input, pre_hidden, pre_cell):
        """Returns the new hidden state and the new cell.

        Args:
            input (Variable): ``[batch, width]``.
            pre_hidden (Variable), pre_cell (Variable): those before, ``[batch, hidden_size]``.
        """
        i, j, f, o = layers.split(self._apply([input, pre_hidden], self._weight, self._bias), num_or_sections=4, dim=-1)
        cell = pre_cell * layers.sigmoid(layers.scale(f, bias=self._forget_bias)) + layers.sigmoid(i) * layers.tanh(j)
        return layers.tanh(cell) * layers.sigmoid(o), cell


def _over_time(input, units, states, mask, hidden_size, dropout):
    """Runs units over the steps of `[time, batch, width]`: outputs, and per kind of state the last ones of all layers."""
    rnn = layers.StaticRNN()
    with rnn.step():
        step = rnn.step_input(input)
        present = None if mask is None else rnn.step_input(mask)
        for number, unit in enumerate(units):
            before = [
                rnn.memory(batch_ref=input, shape=[-1, hidden_size], ref_batch_dim_idx=1) if first is None
                else rnn.memory(init=first[number])
                for first in states
            ]
            after = unit(step, *before)
            after = list(after) if isinstance(after, tuple) else [after]
            for k, (old, new) in enumerate(zip(before, after)):
                if present is not None:
                    # Where a sequence has ended its state stays.
                    new = layers.elementwise_mul(new, present, axis=0) - layers.elementwise_mul(old, present - 1, axis=0)
                    after[k] = new
                rnn.update_memory(old, new)
                rnn.step_output(new)
            step = after[0]
            if dropout is not None:
                step = dropout(step)
        rnn.step_output(step)
    made, kinds = rnn(), len(states)
    last = []
    for kind in range(kinds):
        each = [made[number * kinds + kind][-1] for number in range(len(units))]
        last.append(layers.reshape(layers.concat(each, axis=0), shape=[len(units), -1, hidden_size]))
    return made[-1], last


def _recurrent(input, first_states, make_unit, hidden_size, num_layers, sequence_length, dropout, bidirectional, batch_first,
               param_attr, bias_attr, name):
    directions = [("fw", "")] + ([("bw", "_reverse")] if bidirectional else [])
    units = [
        [
            make_unit("%s%s_layers_%d" % (name, label, i), _named(param_attr, "_%s_w_%d" % (way, i)), _named(bias_attr, "_%s_b_%d" % (way, i)))
            for i in range(num_layers)
        ]
        for way, label in directions
    ]
    if batch_first:
        input = layers.transpose(input, [1, 0, 2])
    mask = None
    if sequence_length is not None:
        mask = layers.sequence_mask(sequence_length, maxlen=layers.shape(input)[0], dtype="float32")
        mask = layers.transpose(mask, [1, 0])
    shaped = [
        None if state is None else layers.reshape(state, shape=[num_layers, len(directions), -1, hidden_size]) for state in first_states
    ]
    outputs, lasts = [], []
    for number, of_direction in enumerate(units):
        turn = (lambda x: layers.reverse(x, axis=[0])) if number else (lambda x: x)
        states = [None if state is None else [state[i, number] for i in range(num_layers)] for state in shaped]
        out, last = _over_time(turn(input), of_direction, states, None if mask is None else turn(mask), hidden_size, dropout)
        outputs.append(turn(out))
        lasts.append(last)
    out, last = outputs[0], lasts[0]
    if bidirectional:
        out = layers.concat(outputs, axis=2)
        last = [
            layers.reshape(layers.concat([forward, backward], axis=1), shape=[num_layers * 2, -1, hidden_size])
            for forward, backward in zip(*lasts)
        ]
    if batch_first:
        out = layers.transpose(out, [1, 0, 2])
    return (out, *last)


def _dropout(probability, implementation):
    if not probability:
        return None
    return lambda x: layers.dropout(x, dropout_prob=probability, dropout_implementation=implementation)


def basic_gru(input, init_hidden, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0, bidirectional=False, batch_first=True,
              param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32", name="basic_gru"):
    """GRU layers over `[batch, time, width]`: all outputs, and the last hidden states of all layers."""

    def make_unit(name, param, bias):
        return BasicGRUUnit(name, hidden_size, param, bias, gate_activation, activation, dtype)

    dropout = _dropout(dropout_prob, "downgrade_in_infer")
    return _recurrent(input, [init_hidden], make_unit, hidden_size, num_layers, sequence_length, dropout, bidirectional, batch_first,
                      param_attr, bias_attr, name)


def basic_lstm(input, init_hidden, init_cell, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0, bidirectional=False,
               batch_first=True, param_attr=None, bias_attr=None, gate_activation=None, activation=None, forget_bias=1.0,
               dtype="float32", name="basic_lstm"):
    """LSTM layers over `[batch, time, width]`: all outputs, and the last hidden states and cells of all layers."""

    def make_unit(name, param, bias):
        return BasicLSTMUnit(name, hidden_size, param, bias, gate_activation, activation, forget_bias, dtype)

    dropout = _dropout(dropout_prob, "upscale_in_train")
    return _recurrent(input, [init_hidden, init_cell], make_unit, hidden_size, num_layers, sequence_length, dropout, bidirectional,
                      batch_first, param_attr, bias_attr, name)
