"""Recurrent layers; cells, and what runs them; decoders."""

import collections
import copy

import numpy as np

from .. import unique_name
from ..framework import default_main_program
from ..param_attr import ParamAttr
from . import control_flow, nn, ops, sequence_lod, tensor
from ._names import fallback
from ._structure import each, flatten, rebuild
from ._generated import rnn as _generated
from ._generated.rnn import *  # noqa: F403

__all__ = [
    *_generated.__all__,
    "BasicDecoder", "BeamSearchDecoder", "DecodeHelper", "Decoder", "GRUCell", "GreedyEmbeddingHelper", "LSTMCell",
    "RNNCell", "SampleEmbeddingHelper", "TrainingHelper", "dynamic_decode", "rnn",
]

__getattr__ = fallback(__name__)


class RNNCell:
    """A step of a recurrent network; subclasses define ``call``, and ``state_shape`` for their first states."""

    def call(self, inputs, states, **kwargs):
        """From inputs and states to outputs and new states, which are nested as the states are."""
        raise NotImplementedError("%s has no method call(inputs, states)" % type(self).__name__)

    def __call__(self, inputs, states, **kwargs):
        return self.call(inputs, states, **kwargs)

    @property
    def state_shape(self):
        """The sizes of every state; the batch in front may be left out."""
        raise NotImplementedError("%s has no property state_shape" % type(self).__name__)

    @property
    def state_dtype(self):
        """The element types of the states, or one for all."""
        raise NotImplementedError("%s has no property state_dtype" % type(self).__name__)

    def get_initial_states(self, batch_ref, shape=None, dtype="float32", init_value=0, batch_dim_idx=0):
        """States of one value, for as many rows as a dimension of ``batch_ref`` has."""
        batch_ref = flatten(batch_ref)[0]
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = "float32"

        def filled(shape, dtype):
            if isinstance(shape, dict):
                return {key: filled(shape[key], dtype[key] if isinstance(dtype, dict) else dtype) for key in sorted(shape)}
            if all(isinstance(size, int) for size in shape):
                shape = list(shape) if shape[0] == -1 else [-1] + list(shape)
                return tensor.fill_constant_batch_size_like(
                    batch_ref, shape, dtype, init_value, input_dim_idx=batch_dim_idx
                )
            dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shape)
            items = [filled(*pair) for pair in zip(shape, dtypes)]
            return type(shape)(*items) if hasattr(shape, "_fields") else type(shape)(items)

        return filled(self.state_shape if shape is None else shape, dtype)


class _Unit(RNNCell):
    """A cell with parameters, which are made at its first call."""

    def __init__(self, unit, hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name):
        self.hidden_size = hidden_size
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self._gate, self._act = gate_activation or ops.sigmoid, activation or ops.tanh
        self._dtype = dtype
        # Fluid numbers the name alone, too.
        unique_name.generate(name)
        self._prefix = unique_name.generate(name + "/" + unit)
        self._parameters = None

    def _made(self, inputs, gates):
        """A weight per entry of ``gates``, a count and an end of its name, then a bias per entry."""
        if self._parameters is None:
            rows, attr, bias = inputs.shape[-1] + self.hidden_size, self._param_attr, self._bias_attr
            widths = [(count * self.hidden_size, end) for count, end in gates]
            self._parameters = [self._parameter([rows, n], attr, end, is_bias=False) for n, end in widths]
            self._parameters += [self._parameter([n], bias, end, is_bias=True) for n, end in widths]
        return self._parameters

    def _parameter(self, shape, attr, end, is_bias):
        attr = copy.copy(ParamAttr._to_attr(attr))
        if attr is not False:
            attr.name = unique_name.generate(self._prefix + (".b" if is_bias else ".w")) if attr.name is None else attr.name + end
        return tensor.create_parameter(shape, self._dtype, attr=attr, is_bias=is_bias)


def _affine(x, hidden, weight, bias):
    return nn.elementwise_add(nn.matmul(tensor.concat([x, hidden], 1), weight), bias)


class GRUCell(_Unit):
    """A gated recurrent unit: ``u, r = gate([x, h] W + b)``, ``c = act([x, r h] W' + b')``, ``h' = u h + (1 - u) c``."""

    def __init__(
        self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32",
        name="GRUCell"
    ):
        super().__init__(
            "BasicGRUUnit", hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name
        )

    def call(self, inputs, states):
        """One step; the output is the new state."""
        gate_w, candidate_w, gate_b, candidate_b = self._made(inputs, [(2, "_gate"), (1, "_candidate")])
        r, u = nn.split(self._gate(_affine(inputs, states, gate_w, gate_b)), 2, dim=1)
        c = self._act(_affine(inputs, r * states, candidate_w, candidate_b))
        hidden = u * states + (1 - u) * c
        return hidden, hidden

    @property
    def state_shape(self):
        """The width of the hidden state."""
        return [self.hidden_size]


class LSTMCell(_Unit):
    """A long short-term memory: ``i, j, f, o = [x, h] W + b``, ``c' = c gate(f + forget_bias) + gate(i) act(j)``,
    ``h' = act(c') gate(o)``. (Fluid ignored ``gate_activation`` and ``activation``.)"""

    def __init__(
        self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, forget_bias=1.0,
        dtype="float32", name="LSTMCell"
    ):
        super().__init__(
            "BasicLSTMUnit", hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name
        )
        self._forget_bias = tensor.fill_constant([1], dtype, forget_bias)
        self._forget_bias.stop_gradient = False

    def call(self, inputs, states):
        """One step with the states ``[h, c]``; the output is ``h``."""
        hidden, cell = states
        i, j, f, o = nn.split(_affine(inputs, hidden, *self._made(inputs, [(4, "")])), 4, dim=-1)
        kept = nn.elementwise_mul(cell, self._gate(nn.elementwise_add(f, self._forget_bias)))
        cell = nn.elementwise_add(kept, nn.elementwise_mul(self._gate(i), self._act(j)))
        hidden = self._act(cell) * self._gate(o)
        return hidden, [hidden, cell]

    @property
    def state_shape(self):
        """The widths of the hidden state and of the cell."""
        return [[self.hidden_size], [self.hidden_size]]


def _time_first(x):
    """Batch and time exchanged."""
    return nn.transpose(x, [1, 0] + list(range(2, len(x.shape))))


def _blended(a, b, mask):
    """``a`` where the mask, one number per row, is 1, and ``b`` where it is 0."""
    return nn.elementwise_mul(a, mask, axis=0) - nn.elementwise_mul(b, mask - 1, axis=0)


def rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False, **kwargs):
    """Runs a cell over time. Returns its outputs of all steps and its states after the last."""
    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    for state in flatten(initial_states):
        state.stop_gradient = False
    inputs = inputs if time_major else each(_time_first, inputs)
    mask = None
    if sequence_length is not None:
        steps = nn.shape(flatten(inputs)[0])[0]
        mask = sequence_lod.sequence_mask(sequence_length, maxlen=steps, dtype=flatten(initial_states)[0].dtype)
        mask = nn.transpose(mask, [1, 0])

    def turned(x):
        return tensor.reverse(x, axis=[0])

    if is_reverse:
        inputs = each(turned, inputs)
        mask = None if mask is None else turned(mask)
    steps = control_flow.StaticRNN()
    with steps.step():
        step_inputs = each(steps.step_input, inputs)
        states = each(steps.memory, initial_states)
        outputs, new_states = cell.call(step_inputs, each(lambda x: x, states), **kwargs)
        if mask is not None:
            step_mask = steps.step_input(mask)
            new_states = each(lambda old, new: _blended(new, old, step_mask), states, new_states)
        each(steps.update_memory, states, new_states)
        each(steps.step_output, outputs)
        each(steps.step_output, new_states)
    made = steps()
    made = made if isinstance(made, list) else [made]
    count = len(flatten(outputs))
    final_states = rebuild(new_states, iter([x[-1] for x in made[count:]]))
    final_outputs = rebuild(outputs, iter(made[:count]))
    final_outputs = each(turned, final_outputs) if is_reverse else final_outputs
    return final_outputs if time_major else each(_time_first, final_outputs), final_states


class Decoder:
    """The base of decoders for ``dynamic_decode``: a decoder chooses its next input, and when to finish."""

    def initialize(self, inits):
        """The first inputs, the first states, and a bool per row: is there nothing to decode?"""
        raise NotImplementedError("%s has no method initialize(inits)" % type(self).__name__)

    def step(self, time, inputs, states, **kwargs):
        """Outputs, next states, next inputs, and a bool per row: was this its last step?"""
        raise NotImplementedError("%s has no method step(time, inputs, states)" % type(self).__name__)

    def finalize(self, outputs, final_states, sequence_lengths):
        """Outputs ``[time, batch, ...]`` and states as they are returned; may be left out."""
        raise NotImplementedError


class BeamSearchDecoder(Decoder):
    """Keeps the best branches of every row. A cell's inputs and states are ``[batch * beams, ...]``; what else it reads
    must be tiled with ``tile_beam_merge_with_batch``."""

    OutputWrapper = collections.namedtuple("OutputWrapper", ("scores", "predicted_ids", "parent_ids"))
    StateWrapper = collections.namedtuple("StateWrapper", ("cell_states", "log_probs", "finished", "lengths"))

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        self.cell, self.embedding_fn, self.output_fn = cell, embedding_fn, output_fn
        self.start_token, self.end_token, self.beam_size = start_token, end_token, beam_size
        self.kinf = 1e9

    @staticmethod
    def _with_branches(x, beam_size):
        x = nn.unsqueeze(x, [1])
        return nn.expand(x, [1, beam_size] + [1] * (len(x.shape) - 2))

    @staticmethod
    def tile_beam_merge_with_batch(x, beam_size):
        """Every row of ``x`` repeated for every branch, ``[batch * beams, ...]``."""
        x = BeamSearchDecoder._with_branches(x, beam_size)
        x = nn.transpose(x, list(range(2, len(x.shape))) + [0, 1])
        # 0 keeps a size, known or not.
        x = nn.reshape(x, shape=[0] * (len(x.shape) - 2) + [-1])
        return nn.transpose(x, [len(x.shape) - 1] + list(range(len(x.shape) - 1)))

    def _split_batch_beams(self, x):
        return nn.reshape(x, shape=(-1, self.beam_size) + tuple(x.shape[1:]))

    def _merge_batch_beams(self, x):
        return nn.reshape(x, shape=(-1,) + tuple(x.shape[2:]))

    def _expand_to_beam_size(self, x):
        return self._with_branches(x, self.beam_size)

    def _mask_probs(self, probs, finished):
        """A branch that has finished can only go on with the end token."""
        finished = tensor.cast(finished, probs.dtype)
        spread = nn.expand(nn.unsqueeze(finished, [2]), [1, 1, self.vocab_size])
        ended = nn.elementwise_mul(spread, self.noend_mask_tensor, axis=-1)
        return ended - nn.elementwise_mul(probs, finished - 1, axis=0)

    def _gather(self, x, indices, batch_size):
        """The values of the chosen branches."""
        if batch_size.dtype != indices.dtype:
            batch_size = tensor.cast(batch_size, indices.dtype)
        batch_size.stop_gradient = True
        rows = nn.unsqueeze(tensor.range(0, batch_size, 1, dtype=indices.dtype), [1])
        places = nn.stack([nn.expand(rows, [1, self.beam_size]), indices], axis=2)
        places.stop_gradient = True
        return nn.gather_nd(x, places)

    def initialize(self, initial_cell_states):
        """The start token for every branch; only one branch of each row may be chosen at first."""
        state = flatten(initial_cell_states)[0]
        self.batch_size = nn.shape(state)[0]
        self.start_token_tensor = tensor.fill_constant([1], "int64", self.start_token)
        self.end_token_tensor = tensor.fill_constant([1], "int64", self.end_token)
        cell_states = each(self._expand_to_beam_size, initial_cell_states)
        rows = nn.unsqueeze(nn.expand(self.start_token_tensor, [self.batch_size]), [1])
        ids = nn.expand(rows, [1, self.beam_size])
        first = np.array([[0.0] + [-self.kinf] * (self.beam_size - 1)], dtype="float32")
        log_probs = nn.expand(tensor.assign(first), [self.batch_size, 1])
        finished = tensor.fill_constant_batch_size_like(state, [-1, self.beam_size], "bool", False, force_cpu=True)
        lengths = tensor.zeros_like(ids)
        inputs = self.embedding_fn(ids) if self.embedding_fn else ids
        return inputs, self.StateWrapper(cell_states, log_probs, finished, lengths), finished

    def _beam_search_step(self, time, logits, next_cell_states, beam_state):
        """Chooses the best branches; returns an ``OutputWrapper`` and a ``StateWrapper``."""
        self.vocab_size = logits.shape[-1]
        self.vocab_size_tensor = tensor.fill_constant([1], "int64", self.vocab_size)
        only_end = np.full([self.vocab_size], -self.kinf, "float32")
        only_end[self.end_token] = 0
        self.noend_mask_tensor = tensor.assign(only_end)
        scores = self._mask_probs(nn.log(nn.softmax(logits)), beam_state.finished)
        scores = nn.elementwise_add(scores, beam_state.log_probs, axis=0)
        flat = [-1, self.beam_size * self.vocab_size]
        best, places = nn.topk(nn.reshape(scores, flat), k=self.beam_size)
        parents = nn.elementwise_floordiv(places, self.vocab_size_tensor)
        tokens = nn.elementwise_mod(places, self.vocab_size_tensor)
        log_probs = self._gather(nn.reshape(scores, flat), places, self.batch_size)
        cell_states = each(lambda x: self._gather(x, parents, self.batch_size), next_cell_states)
        finished = self._gather(beam_state.finished, parents, self.batch_size)
        lengths = self._gather(beam_state.lengths, parents, self.batch_size)
        lengths = lengths + tensor.cast(nn.logical_not(finished), lengths.dtype)
        finished = nn.logical_or(finished, control_flow.equal(tokens, self.end_token_tensor))
        state = self.StateWrapper(cell_states, log_probs, finished, lengths)
        return self.OutputWrapper(best, tokens, parents), state

    def step(self, time, inputs, states, **kwargs):
        """A step of the cell and of the search."""
        inputs = each(self._merge_batch_beams, inputs)
        cell_states = each(self._merge_batch_beams, states.cell_states)
        outputs, next_states = self.cell(inputs, cell_states, **kwargs)
        outputs = each(self._split_batch_beams, outputs)
        next_states = each(self._split_batch_beams, next_states)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        output, state = self._beam_search_step(time, outputs, next_states, states)
        ids = output.predicted_ids
        ids.stop_gradient = True
        return output, state, self.embedding_fn(ids) if self.embedding_fn else ids, state.finished

    def finalize(self, outputs, final_states, sequence_lengths):
        """Whole sequences ``[time, batch, beams]`` out of the steps."""
        return nn.gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def _kept_where(finished, old, new):
    """``old`` where ``finished`` is true, else ``new``."""
    dtype, is_bool = old.dtype, old.dtype == finished.dtype
    if is_bool:
        old, new = tensor.cast(old, "float32"), tensor.cast(new, "float32")
    mask = tensor.cast(finished, old.dtype)
    mask.stop_gradient = True
    kept = _blended(old, new, mask)
    return tensor.cast(kept, dtype) if is_bool else kept


def _array_around(dtype):
    """An array in the block around the current one."""
    main = default_main_program()
    inner = main.current_block_idx
    main.current_block_idx = main.current_block().parent_idx
    array = control_flow.create_array(dtype)
    main.current_block_idx = inner
    return array


def dynamic_decode(
    decoder, inits=None, max_step_num=None, output_time_major=False, impute_finished=False, is_test=False,
    return_length=False, **kwargs
):
    """Runs a decoder step by step until every row has finished, or up to step ``max_step_num``, counted from 0. Returns
    the outputs of all steps, the last states, and with ``return_length`` how many steps each row took."""
    inputs, states, finished = decoder.initialize(inits)
    finished.stop_gradient = True
    time = tensor.fill_constant([1], "int64", 0)
    going = nn.logical_not(nn.reduce_all(finished))
    last = None if max_step_num is None else tensor.fill_constant([1], "int64", max_step_num)
    loop = control_flow.While(going, is_test=is_test)
    lengths = tensor.cast(tensor.zeros_like(finished), "int64")
    lengths.stop_gradient = True
    if not is_test:
        # The gradient needs the values of all steps.
        inputs, states = [each(lambda x: control_flow.array_write(x, time), s) for s in (inputs, states)]

    def value(place):
        return place if is_test else control_flow.array_read(place, time)

    def carry(x, place):
        tensor.assign(x, place) if is_test else control_flow.array_write(x, i=time, array=place)

    with loop.block():
        step_inputs, step_states = each(value, inputs), each(value, states)
        outputs, next_states, next_inputs, next_finished = decoder.step(time, step_inputs, step_states, **kwargs)
        next_finished = nn.logical_or(next_finished, finished)
        next_lengths = nn.elementwise_add(lengths, tensor.cast(nn.logical_not(finished), lengths.dtype))
        next_lengths.stop_gradient = True
        if impute_finished:
            next_states = each(lambda old, new: _kept_where(finished, old, new), step_states, next_states)
        arrays = each(lambda x: _array_around(x.dtype), outputs)
        each(lambda x, array: control_flow.array_write(x, i=time, array=array), outputs, arrays)
        control_flow.increment(x=time, value=1.0, in_place=True)
        each(carry, next_inputs, inputs)
        each(carry, next_states, states)
        tensor.assign(next_finished, finished)
        tensor.assign(next_lengths, lengths)
        if last is None:
            nn.logical_not(nn.reduce_all(finished), going)
        else:
            some = nn.logical_not(nn.reduce_all(finished))
            nn.logical_and(some, control_flow.less_equal(time, last), going)
    outputs = each(lambda array: tensor.tensor_array_to_tensor(array, axis=0, use_stack=True)[0], arrays)
    states = each(value, states)
    if type(decoder).finalize is not Decoder.finalize:
        outputs, states = decoder.finalize(outputs, states, lengths)
    outputs = outputs if output_time_major else each(_time_first, outputs)
    return (outputs, states, lengths) if return_length else (outputs, states)


class DecodeHelper:
    """The choices of a ``BasicDecoder``: ids, and next inputs."""

    def initialize(self):
        """The first inputs, and a bool per row: is there nothing to decode?"""
        raise NotImplementedError("%s has no method initialize()" % type(self).__name__)

    def sample(self, time, outputs, states):
        """Ids of the step."""
        raise NotImplementedError("%s has no method sample(time, outputs, states)" % type(self).__name__)

    def next_inputs(self, time, outputs, states, sample_ids):
        """A bool per row: was this its last step?, the next inputs, the next states."""
        raise NotImplementedError("%s has no method next_inputs" % type(self).__name__)


class TrainingHelper(DecodeHelper):
    """Takes the inputs of all steps from a variable (teacher forcing)."""

    def __init__(self, inputs, sequence_length, time_major=False):
        self.inputs, self.sequence_length, self.time_major = inputs, sequence_length, time_major
        before = 0 if time_major else 2

        def padded(x):
            # One more step, which is read after the last.
            return nn.pad(x, [0] * before + [0, 1] + [0] * (2 * len(x.shape) - before - 2))

        self.inputs_ = each(padded, inputs)

    def initialize(self):
        """The inputs of the first step."""
        zero = tensor.fill_constant([1], self.sequence_length.dtype, 0)
        finished = control_flow.equal(self.sequence_length, zero)
        return each(lambda x: x[0] if self.time_major else x[:, 0], self.inputs), finished

    def sample(self, time, outputs, states):
        """The best of each row."""
        return tensor.argmax(outputs, axis=-1)

    def next_inputs(self, time, outputs, states, sample_ids):
        """The inputs of the next step."""
        time = tensor.cast(time, "int32")
        if self.sequence_length.dtype != time.dtype:
            self.sequence_length = tensor.cast(self.sequence_length, time.dtype)
        following = time + 1
        finished = control_flow.less_equal(self.sequence_length, following)
        axes = [0 if self.time_major else 1]

        def at_step(x):
            return nn.squeeze(nn.slice(x, axes=axes, starts=[following], ends=[following + 1]), axes=axes)

        return finished, each(at_step, self.inputs_), states


class GreedyEmbeddingHelper(DecodeHelper):
    """The best id of each row is its next input, up to the end token."""

    def __init__(self, embedding_fn, start_tokens, end_token):
        self.embedding_fn, self.start_tokens = embedding_fn, start_tokens
        self.end_token = tensor.fill_constant([1], "int64", end_token)

    def initialize(self):
        """The start tokens."""
        finished = tensor.fill_constant_batch_size_like(self.start_tokens, [-1], "bool", False, force_cpu=True)
        return self.embedding_fn(self.start_tokens), finished

    def sample(self, time, outputs, states):
        """The best of each row."""
        return tensor.argmax(outputs, axis=-1)

    def next_inputs(self, time, outputs, states, sample_ids):
        """The ids that were chosen."""
        return control_flow.equal(sample_ids, self.end_token), self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Ids are drawn with the probabilities of the outputs; a higher temperature makes them more alike."""

    def __init__(self, embedding_fn, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding_fn, start_tokens, end_token)
        self.seed = seed
        self.softmax_temperature = (
            None if softmax_temperature is None else tensor.fill_constant([1], "float32", softmax_temperature)
        )

    def sample(self, time, outputs, states):
        """Draws an id for each row."""
        logits = outputs if self.softmax_temperature is None else outputs / self.softmax_temperature
        probs = nn.softmax(logits)
        probs.stop_gradient = True
        return nn.sampling_id(probs, seed=self.seed or 0, dtype=self.start_tokens.dtype)


class BasicDecoder(Decoder):
    """A cell whose ids and next inputs a helper chooses."""

    OutputWrapper = collections.namedtuple("OutputWrapper", ("cell_outputs", "sample_ids"))

    def __init__(self, cell, helper, output_fn=None):
        self.cell, self.helper, self.output_fn = cell, helper, output_fn

    def initialize(self, initial_cell_states):
        """The helper's first inputs and the given states."""
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(self, time, inputs, states, **kwargs):
        """A step of the cell, then of the helper."""
        outputs, states = self.cell(inputs, states, **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        ids = self.helper.sample(time=time, outputs=outputs, states=states)
        ids.stop_gradient = True
        finished, inputs, states = self.helper.next_inputs(time=time, outputs=outputs, states=states, sample_ids=ids)
        return self.OutputWrapper(outputs, ids), states, inputs, finished
