"""Decoders made of a cell that the user writes: ``TrainingDecoder`` runs it over known sequences, ``BeamSearchDecoder`` searches with it.
A ``StateCell`` holds the cell's states and is the same for both."""

import contextlib

from ... import layers, unique_name
from ...core import VarDesc
from ...framework import Variable
from ...layer_helper import LayerHelper

__all__ = ["BeamSearchDecoder", "InitState", "StateCell", "TrainingDecoder"]


class _DecoderType:
    TRAINING = 1
    BEAM_SEARCH = 2


class InitState:
    """The first value of a state.

    Args:
        init (Variable): the value; otherwise one is made of the arguments below.
        shape (list), value (float), dtype (str): a constant of this shape.
        init_boot (Variable): the constant has as many rows as this variable.
        need_reorder (bool): rows follow the order in which a TrainingDecoder takes sequences; for batches of several.

    Example:
        >>> encoded = fluid.data("encoded", [None, 8])
        >>> fluid.contrib.InitState(init_boot=encoded, shape=[-1, 4], value=0.5).value.shape
        (-1, 4)
    """

    def __init__(self, init=None, shape=None, value=0.0, init_boot=None, need_reorder=False, dtype="float32"):
        if init is None and init_boot is None:
            raise ValueError("init_boot must be provided to infer the shape of InitState .\n")
        if init is None:
            init = layers.fill_constant_batch_size_like(input=init_boot, value=value, shape=shape, dtype=dtype)
        self._init, self._need_reorder = init, need_reorder

    @property
    def value(self):
        """The variable."""
        return self._init

    @property
    def need_reorder(self):
        """Whether rows follow the order of sequences."""
        return self._need_reorder


class _MemoryState:
    """A state of a TrainingDecoder: a memory of its recurrent network."""

    def __init__(self, decoder, first):
        self._rnn = decoder.dynamic_rnn
        self._memory = self._rnn.memory(init=first.value, need_reorder=first.need_reorder)

    def get(self):
        return self._memory

    def update(self, value):
        self._rnn.update_memory(self._memory, value)


class _ArrayState:
    """A state of a BeamSearchDecoder: an array with an entry for each step, and its length so far."""

    def __init__(self, decoder, first):
        block = decoder._parent_block()
        self._array = block.create_var(
            name=unique_name.generate("array_state_array"), type=VarDesc.VarType.LOD_TENSOR_ARRAY, dtype=first.value.dtype)
        self._counter = block.create_var(
            name=unique_name.generate("array_state_counter"), shape=[1], dtype="int64", stop_gradient=True)
        block.append_op(
            type="fill_constant", outputs={"Out": [self._counter]},
            attrs={"shape": [1], "dtype": int(VarDesc.VarType.INT64), "value": 0.0, "force_cpu": True})
        block.append_op(
            type="write_to_array", inputs={"X": [first.value], "I": [self._counter]}, outputs={"Out": [self._array]})

    def get(self):
        return layers.array_read(array=self._array, i=self._counter)

    def update(self, value):
        layers.increment(x=self._counter, value=1, in_place=True)
        layers.array_write(value, array=self._array, i=self._counter)


_KINDS = {_DecoderType.TRAINING: _MemoryState, _DecoderType.BEAM_SEARCH: _ArrayState}


class StateCell:
    """The states and inputs of a recurrent cell, by name.

    Args:
        inputs (dict): by name, the inputs of a step; None for one that every step sets.
        states (dict): by name, `InitState`.
        out_state (str): the name of the state that the decoder scores.
        name (str): the name of the cell.

    ``state_updater`` gets the function that computes new states; decoders call ``compute_state`` and ``update_states`` in every step.

    Example:
        >>> from oarlock.fluid.contrib.decoder import InitState, StateCell
        >>> encoded = fluid.data("encoded", [None, 8])
        >>> cell = StateCell(inputs={"x": None}, states={"h": InitState(init=encoded)}, out_state="h")
        >>> @cell.state_updater
        ... def update(cell):
        ...     both = [cell.get_state("h"), cell.get_input("x")]
        ...     cell.set_state("h", fluid.layers.fc(both, 8, act="tanh"))
    """

    def __init__(self, inputs, states, out_state, name=None):
        if not all(isinstance(state, InitState) for state in states.values()):
            raise ValueError("state must be an InitState object.")
        if out_state not in states:
            raise ValueError("out_state must be one state in states")
        self._helper = LayerHelper("state_cell", name=name)
        self._first, self._current = dict(states), dict(states)
        self._state_names = list(states)
        self._inputs = inputs
        self._decoder = None
        # By name of the state, for the current decoder; made when the first state is needed, inside its block.
        self._holders = None
        self._updater = None
        self._out_state = out_state

    def _enter_decoder(self, decoder):
        if self._decoder is not None:
            raise ValueError("StateCell has already entered a decoder.")
        self._decoder, self._holders = decoder, None
        self._current = dict(self._first)

    def _leave_decoder(self, decoder):
        if self._decoder is not decoder:
            raise ValueError("StateCell not in decoder, invalid leaving operation.")
        self._decoder = self._holders = None

    def _switch_decoder(self):
        """Makes the states those of the decoder's current step."""
        if self._decoder is not None and self._holders is None:
            kind = _KINDS[self._decoder.type]
            self._holders = {name: kind(self._decoder, self._first[name]) for name in self._state_names}
            self._current.update((name, holder.get()) for name, holder in self._holders.items())

    def get_state(self, state_name):
        """Returns the variable of a state.

        Args:
            state_name (str): its name.
        """
        self._switch_decoder()
        if state_name not in self._current:
            raise ValueError("Unknown state %s. There are %s" % (state_name, ", ".join(self._state_names)))
        return self._current[state_name]

    def get_input(self, input_name):
        """Returns the variable of an input.

        Args:
            input_name (str): its name.
        """
        if self._inputs.get(input_name) is None:
            raise ValueError("Invalid input %s." % input_name)
        return self._inputs[input_name]

    def set_state(self, state_name, state_value):
        """Sets a state for the rest of the step.

        Args:
            state_name (str): its name.
            state_value (Variable): the value.
        """
        self._current[state_name] = state_value

    def state_updater(self, updater):
        """Takes the function that computes the new states of a step. It can be a decorator.

        Args:
            updater (callable): takes the cell, reads states and inputs, and sets states.
        """
        self._updater = updater
        return updater

    def compute_state(self, inputs):
        """Sets inputs of a step and computes its states.

        Args:
            inputs (dict): by name, variables.
        """
        self._switch_decoder()
        for name, value in inputs.items():
            if name not in self._inputs:
                raise ValueError("Unknown input %s. Please make sure %s in input place holder." % (name, name))
            self._inputs[name] = value
        if self._updater is None:
            raise ValueError("StateCell has no updater: call state_updater first")
        self._updater(self)

    def update_states(self):
        """Keeps the states of a step for the next one."""
        self._switch_decoder()
        if self._holders is None:
            raise ValueError("update_states belongs into the block of a decoder")
        for name, holder in self._holders.items():
            holder.update(self._current[name])

    def out_state(self):
        """Returns the state that the decoder scores."""
        return self._current[self._out_state]


class TrainingDecoder:
    """Runs a cell over known sequences, for training.

    Args:
        state_cell (StateCell): the cell.
        name (str): the name of the decoder.

    Example:
        >>> from oarlock.fluid.contrib.decoder import InitState, StateCell, TrainingDecoder
        >>> encoded, words = fluid.data("encoded", [None, 8]), fluid.data("words", [None, 4], lod_level=1)
        >>> cell = StateCell(inputs={"x": None}, states={"h": InitState(init=encoded, need_reorder=True)}, out_state="h")
        >>> @cell.state_updater
        ... def update(cell):
        ...     both = [cell.get_state("h"), cell.get_input("x")]
        ...     cell.set_state("h", fluid.layers.fc(both, 8, act="tanh"))
        >>> decoder = TrainingDecoder(cell)
        >>> with decoder.block():
        ...     decoder.state_cell.compute_state(inputs={"x": decoder.step_input(words)})
        ...     score = fluid.layers.fc(decoder.state_cell.get_state("h"), 16, act="softmax")
        ...     decoder.state_cell.update_states()
        ...     decoder.output(score)
        >>> decoder().shape
        (-1, 16)
    """

    BEFORE_DECODER = 0
    IN_DECODER = 1
    AFTER_DECODER = 2

    def __init__(self, state_cell, name=None):
        self._helper = LayerHelper("training_decoder", name=name)
        self._status = TrainingDecoder.BEFORE_DECODER
        self._dynamic_rnn = layers.DynamicRNN()
        self._state_cell = state_cell
        state_cell._enter_decoder(self)

    @contextlib.contextmanager
    def block(self):
        """The step."""
        if self._status != TrainingDecoder.BEFORE_DECODER:
            raise ValueError("decoder.block() can only be invoked once")
        self._status = TrainingDecoder.IN_DECODER
        with self._dynamic_rnn.block():
            yield
        self._status = TrainingDecoder.AFTER_DECODER
        self._state_cell._leave_decoder(self)

    def _inside(self, method):
        if self._status != TrainingDecoder.IN_DECODER:
            raise ValueError("%s should be invoked inside block of TrainingDecoder object." % method)

    @property
    def state_cell(self):
        """The cell."""
        self._inside("state_cell")
        return self._state_cell

    @property
    def dynamic_rnn(self):
        """The recurrent network beneath."""
        return self._dynamic_rnn

    @property
    def type(self):
        """The kind of decoder."""
        return _DecoderType.TRAINING

    def step_input(self, x):
        """Returns the current step's rows of sequences.

        Args:
            x (Variable): the sequences.
        """
        self._inside("step_input")
        return self._dynamic_rnn.step_input(x)

    def static_input(self, x):
        """Returns the rows of a variable that belong to the sequences that still run.

        Args:
            x (Variable): a row, or a sequence, for each sequence.
        """
        self._inside("static_input")
        return self._dynamic_rnn.static_input(x)

    def output(self, *outputs):
        """Adds outputs of every step.

        Args:
            outputs (Variable): the outputs.
        """
        self._inside("output")
        self._dynamic_rnn.output(*outputs)

    def __call__(self, *args, **kwargs):
        """Returns the outputs of all steps, as sequences."""
        if self._status != TrainingDecoder.AFTER_DECODER:
            raise ValueError("Output of training decoder can only be visited outside the block.")
        return self._dynamic_rnn(*args, **kwargs)


class BeamSearchDecoder:
    """Searches for the sequences with the best scores of a cell, for inference. Embedding and scores are layers of the decoder: with the
    names of a trained network's parameters they use those.

    Args:
        state_cell (StateCell): the cell.
        init_ids (Variable), init_scores (Variable): ids and scores to begin with, with two levels of sequences.
        target_dict_dim (int): the number of words.
        word_dim (int): the width of embeddings.
        input_var_dict (dict): by name of a cell's input, a variable with a row for each sequence.
        topk_size (int): how many words of each sequence are looked at.
        sparse_emb (bool): the embedding has sparse gradients.
        max_len (int): the longest sequence.
        beam_size (int): how many sequences are kept.
        end_id (int): the word that ends a sequence.
        name (str): the name of the decoder.

    Example:
        >>> from oarlock.fluid.contrib.decoder import BeamSearchDecoder, InitState, StateCell
        >>> encoded = fluid.data("encoded", [None, 8], lod_level=1)
        >>> ids = fluid.data("ids", [None, 1], "int64", lod_level=2)
        >>> scores = fluid.data("scores", [None, 1], lod_level=2)
        >>> cell = StateCell(inputs={"x": None}, states={"h": InitState(init=encoded)}, out_state="h")
        >>> @cell.state_updater
        ... def update(cell):
        ...     both = [cell.get_state("h"), cell.get_input("x")]
        ...     cell.set_state("h", fluid.layers.fc(both, 8, act="tanh"))
        >>> decoder = BeamSearchDecoder(cell, ids, scores, target_dict_dim=16, word_dim=4, topk_size=4, max_len=3, beam_size=2)
        >>> decoder.decode()
        >>> translation_ids, translation_scores = decoder()
    """

    BEFORE_BEAM_SEARCH_DECODER = 0
    IN_BEAM_SEARCH_DECODER = 1
    AFTER_BEAM_SEARCH_DECODER = 2

    def __init__(self, state_cell, init_ids, init_scores, target_dict_dim, word_dim, input_var_dict={}, topk_size=50, sparse_emb=True,
                 max_len=100, beam_size=1, end_id=1, name=None):
        self._helper = LayerHelper("beam_search_decoder", name=name)
        self._counter = layers.zeros(shape=[1], dtype="int64")
        self._counter.stop_gradient = True
        self._max_len = layers.fill_constant(shape=[1], dtype="int64", value=max_len)
        self._cond = layers.less_than(x=self._counter, y=self._max_len)
        self._while = layers.While(self._cond)
        self._zero = layers.fill_constant(shape=[1], dtype="int64", value=0, force_cpu=True)
        self._state_cell = state_cell
        state_cell._enter_decoder(self)
        self._status = BeamSearchDecoder.BEFORE_BEAM_SEARCH_DECODER
        # By name of the variable that read an array: the array. Then the values to append at the end of a step.
        self._arrays, self._updates = {}, []
        self._ids_array = self._scores_array = None
        self._beam_size, self._end_id, self._topk_size = beam_size, end_id, topk_size
        self._init_ids, self._init_scores = init_ids, init_scores
        self._target_dict_dim, self._word_dim, self._sparse_emb = target_dict_dim, word_dim, sparse_emb
        self._input_var_dict = dict(input_var_dict)

    @contextlib.contextmanager
    def block(self):
        """The step."""
        if self._status != BeamSearchDecoder.BEFORE_BEAM_SEARCH_DECODER:
            raise ValueError("block() can only be invoke once.")
        self._status = BeamSearchDecoder.IN_BEAM_SEARCH_DECODER
        with self._while.block():
            yield
            with layers.Switch() as switch:
                with switch.case(self._cond):
                    layers.increment(x=self._counter, value=1.0, in_place=True)
                    for value, array in self._updates:
                        layers.array_write(x=value, i=self._counter, array=array)
                    layers.less_than(x=self._counter, y=self._max_len, cond=self._cond)
        self._status = BeamSearchDecoder.AFTER_BEAM_SEARCH_DECODER
        self._state_cell._leave_decoder(self)

    def _inside(self, method):
        if self._status != BeamSearchDecoder.IN_BEAM_SEARCH_DECODER:
            raise ValueError("%s should be invoked inside block of BeamSearchDecoder object." % method)

    @property
    def type(self):
        """The kind of decoder."""
        return _DecoderType.BEAM_SEARCH

    @property
    def state_cell(self):
        """The cell."""
        self._inside("state_cell")
        return self._state_cell

    def early_stop(self):
        """Ends the search after this step."""
        layers.fill_constant(shape=[1], value=0, dtype="bool", force_cpu=True, out=self._cond)

    def decode(self):
        """Builds the step: embedding, cell, scores of all words, and the choice of the best. Write ``block`` yourself for another one."""
        with self.block():
            prev_ids = self.read_array(init=self._init_ids, is_ids=True)
            prev_scores = self.read_array(init=self._init_scores, is_scores=True)
            feeds, read = self._step_inputs(prev_ids, prev_scores)
            for name in self._state_cell._state_names:
                self._state_cell.set_state(name, layers.sequence_expand(self._state_cell.get_state(name), prev_scores))
            self._state_cell.compute_state(inputs=feeds)
            selected_ids, selected_scores = self._select(prev_ids, prev_scores)
            with layers.Switch() as switch:
                with switch.case(layers.is_empty(selected_ids)):
                    self.early_stop()
                with switch.default():
                    self._state_cell.update_states()
                    self.update_array(prev_ids, selected_ids)
                    self.update_array(prev_scores, selected_scores)
                    for name, before in read.items():
                        self.update_array(before, feeds[name])

    def _step_inputs(self, prev_ids, prev_scores):
        """The inputs of the cell by name, with a row for each sequence of the beam, and the variables they were read as."""
        embedded = layers.embedding(
            input=prev_ids, size=[self._target_dict_dim, self._word_dim], dtype="float32", is_sparse=self._sparse_emb)
        feeds, read = {}, {}
        for name, first in self._input_var_dict.items():
            if name not in self._state_cell._inputs:
                raise ValueError("Variable %s not found in StateCell!\n" % name)
            read[name] = self.read_array(init=first)
            feeds[name] = layers.sequence_expand(read[name], prev_scores)
        for name in self._state_cell._inputs:
            feeds.setdefault(name, embedded)
        return feeds, read

    def _select(self, prev_ids, prev_scores):
        state = layers.lod_reset(x=self._state_cell.out_state(), y=prev_scores)
        scores = layers.fc(input=state, size=self._target_dict_dim, act="softmax")
        best, words = layers.topk(scores, k=self._topk_size)
        total = layers.elementwise_add(x=layers.log(x=best), y=layers.reshape(prev_scores, shape=[-1]), axis=0)
        return layers.beam_search(prev_ids, prev_scores, words, total, self._beam_size, end_id=self._end_id, level=0)

    def read_array(self, init, is_ids=False, is_scores=False):
        """Returns a variable of the step before; in the first step, ``init``.

        Args:
            init (Variable): the first value.
            is_ids (bool), is_scores (bool): these are the ids, or the scores, of the result.
        """
        self._inside("read_array")
        if is_ids and is_scores:
            raise ValueError("Shouldn't mark current array be ids array and scores array at the same time.")
        if not isinstance(init, Variable):
            raise TypeError("The input argument `init` must be a Variable.")
        block = self._parent_block()
        array = block.create_var(
            name=unique_name.generate("beam_search_decoder_array"), type=VarDesc.VarType.LOD_TENSOR_ARRAY, dtype=init.dtype)
        block.append_op(type="write_to_array", inputs={"X": [init], "I": [self._zero]}, outputs={"Out": [array]})
        if is_ids:
            self._ids_array = array
        elif is_scores:
            self._scores_array = array
        value = layers.array_read(array=array, i=self._counter)
        self._arrays[value.name] = array
        return value

    def update_array(self, array, value):
        """Keeps a value for the next step, which reads it where this one read ``array``.

        Args:
            array (Variable): what ``read_array`` returned.
            value (Variable): the new value.
        """
        self._inside("update_array")
        for what, var in (("array", array), ("value", value)):
            if not isinstance(var, Variable):
                raise TypeError("The input argument `%s` must be a Variable." % what)
        if array.name not in self._arrays:
            raise ValueError("Please invoke read_array before update_array.")
        self._updates.append((value, self._arrays[array.name]))

    def __call__(self):
        """Returns the ids and scores of the best sequences, with two levels of sequences."""
        if self._status != BeamSearchDecoder.AFTER_BEAM_SEARCH_DECODER:
            raise ValueError("Output of BeamSearchDecoder object can only be visited outside the block.")
        return layers.beam_search_decode(
            ids=self._ids_array, scores=self._scores_array, beam_size=self._beam_size, end_id=self._end_id)

    def _parent_block(self):
        program = self._helper.main_program
        parent = program.current_block().parent_idx
        if parent < 0:
            raise ValueError("Invalid block with index %d." % parent)
        return program.block(parent)
