"""Cells, ``rnn`` and decoders: the programs of Fluid 1.8.5, what it computed, and cells that a user writes."""

import os

import numpy as np
import pytest

from oarlock import fluid

layers, optimizer = fluid.layers, fluid.optimizer
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "..", "..", "crates", "oarlock", "tests", "golden", "programs")
WORDS, STEPS = 7, 4


def data(*names):
    return [fluid.data(name, [None, STEPS], "int64") for name in names]


def embedded(ids):
    return fluid.embedding(ids, [WORDS, 4], param_attr=fluid.ParamAttr(name="emb"))


def projected(hidden):
    return layers.fc(
        hidden, WORDS, num_flatten_dims=len(hidden.shape) - 1, param_attr=fluid.ParamAttr(name="out_w"), bias_attr=False
    )


def errors(logits, labels):
    return layers.softmax_with_cross_entropy(logits, layers.unsqueeze(labels, [2]))


def rnn_gru():
    (src,), lengths, (trg, lab) = data("src"), fluid.data("src_len", [None], "int64"), data("trg", "lab")
    _, last = layers.rnn(layers.GRUCell(5, name="enc"), embedded(src), sequence_length=lengths)
    out, _ = layers.rnn(layers.GRUCell(5), embedded(trg), initial_states=last)
    loss = layers.mean(errors(projected(out), lab))
    optimizer.SGD(0.5).minimize(loss)
    return [loss]


def rnn_lstm():
    (src,), lengths, (trg, lab) = data("src"), fluid.data("src_len", [None], "int64"), data("trg", "lab")
    turned = layers.transpose(embedded(src), [1, 0, 2])
    _, last = layers.rnn(layers.LSTMCell(5), turned, sequence_length=lengths, time_major=True, is_reverse=True)
    cell = layers.LSTMCell(
        5, param_attr=fluid.ParamAttr(name="w"), bias_attr=fluid.ParamAttr(name="b"), forget_bias=0.5
    )
    meaning = [embedded(trg), layers.expand(layers.unsqueeze(last[0], [1]), [1, STEPS, 1])]
    out, _ = layers.rnn(cell, layers.concat(meaning, axis=2), is_reverse=True)
    loss = layers.mean(errors(projected(out), lab))
    optimizer.Adam(0.05).minimize(loss)
    return [loss]


def decode_training():
    (src,), lengths, (trg, lab) = data("src"), fluid.data("src_len", [None], "int64"), data("trg", "lab")
    cell = layers.GRUCell(5, param_attr=fluid.ParamAttr(name="g"), bias_attr=fluid.ParamAttr(name="gb"))
    _, last = layers.rnn(cell, embedded(src), sequence_length=lengths)
    helper = layers.TrainingHelper(embedded(trg), lengths)
    decoder = layers.BasicDecoder(layers.GRUCell(5), helper, output_fn=projected)
    (out, ids), _, steps = layers.dynamic_decode(decoder, inits=last, impute_finished=True, return_length=True)
    wrong = errors(out, layers.slice(lab, [1], [0], [STEPS]))
    loss = layers.mean(wrong * layers.unsqueeze(layers.sequence_mask(lengths, maxlen=STEPS, dtype="float32"), [2]))
    optimizer.SGD(0.5).minimize(loss)
    return [loss, ids, steps]


def beams(cell, is_test):
    (src,), lengths = data("src"), fluid.data("src_len", [None], "int64")
    inner = cell(5)
    _, last = layers.rnn(cell(5), embedded(src), sequence_length=lengths)
    decoder = layers.BeamSearchDecoder(inner, 0, 1, 3, embedding_fn=embedded, output_fn=projected)
    out, state, steps = layers.dynamic_decode(decoder, last, 5, is_test=is_test, return_length=True)
    return [out, state.log_probs, steps]


def decode_greedy():
    (src,) = data("src")
    fluid.data("src_len", [None], "int64")
    _, last = layers.rnn(layers.GRUCell(5), embedded(src))
    start = layers.fill_constant_batch_size_like(src, [-1], "int64", 0)
    helper = layers.GreedyEmbeddingHelper(embedded, start, 1)
    decoder = layers.BasicDecoder(layers.GRUCell(5), helper, output_fn=projected)
    (out, ids), _ = layers.dynamic_decode(decoder, inits=last, max_step_num=4, output_time_major=True, is_test=True)
    return [out, ids]


CASES = {
    "rnn_gru": rnn_gru,
    "rnn_lstm": rnn_lstm,
    "decode_training": decode_training,
    "decode_beam": lambda: beams(layers.LSTMCell, False),
    "decode_beam_test": lambda: beams(layers.GRUCell, True),
    "decode_greedy": decode_greedy,
}


def operators(program):
    """Types and arguments of the forward pass; the order of what a block reads and writes is accidental. (Fluid leads
    gradients also through numbers that have none, such as bools; Oarlock does not.)"""

    def args(slots):
        return {slot: sorted(names) for slot, names in slots.items() if names}

    return [
        (op.type, args({s: op.input(s) for s in op.input_names}), args({s: op.output(s) for s in op.output_names}))
        for block in program.blocks
        for op in block.ops
        if op.attr("op_role") in (0, 256)
    ]


@pytest.mark.parametrize("name", CASES)
def test_as_fluid(name):
    with np.load(os.path.join(GOLDEN, name + ".npz")) as archive:
        golden = dict(archive)
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        fetches = CASES[name]()
        recorded = golden.get("program/main", golden.get("program/forward"))
        theirs = fluid.Program.parse_from_string(recorded.tobytes())
        for ours, expected in zip(operators(main), operators(theirs)):
            assert ours == expected
        assert len(operators(main)) == len(operators(theirs))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)

        def part(prefix):
            return {key[len(prefix) :]: value for key, value in golden.items() if key.startswith(prefix)}

        for var, value in part("init/").items():
            fluid.global_scope().find_var(var).get_tensor().set(value, fluid.CPUPlace())
        steps = sum(key.endswith("/fetch0") for key in golden)
        for step in range(steps):
            found = exe.run(main, feed=part("feed%d/" % (step % 2)), fetch_list=fetches)
            for i, value in enumerate(found):
                np.testing.assert_allclose(value, golden["step%d/fetch%d" % (step, i)], rtol=1e-4, atol=1e-5)
        for var, value in part("final/").items():
            found = np.array(fluid.global_scope().find_var(var).get_tensor())
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


class Total(layers.RNNCell):
    """Adds its inputs, and counts; the states are a dict."""

    def call(self, inputs, states, by=1.0):
        total = states["total"] + inputs * by
        return {"sum": total}, {"total": total, "count": states["count"] + 1.0}

    @property
    def state_shape(self):
        return {"total": [2], "count": [1]}


def run(fetches, feed):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetches)


def test_a_cell_of_the_user():
    x = fluid.data("x", [None, 3, 2], "float32")
    lengths = fluid.data("lengths", [None], "int64")
    outputs, states = layers.rnn(Total(), x, sequence_length=lengths, by=2.0)
    value = np.arange(12, dtype="float32").reshape(2, 3, 2)
    feed = {"x": value, "lengths": np.array([3, 1])}
    sums, total, count = run([outputs["sum"], states["total"], states["count"]], feed)
    np.testing.assert_allclose(sums[0], 2 * np.cumsum(value[0], axis=0))
    np.testing.assert_allclose(total, 2 * np.stack([value[0].sum(axis=0), value[1][0]]))
    np.testing.assert_allclose(count, [[3], [1]])


class Countdown(layers.Decoder):
    """Every row counts down from its number to 0; its states are nested."""

    def initialize(self, inits):
        zero = layers.fill_constant([1], "float32", 0.0)
        return inits, [layers.zeros_like(inits)], layers.less_equal(layers.reduce_sum(inits, dim=1), zero)

    def step(self, time, inputs, states):
        less = inputs - 1.0
        zero = layers.fill_constant([1], "float32", 0.0)
        finished = layers.less_equal(layers.reduce_sum(less, dim=1), zero)
        return inputs, [states[0] + inputs], less, finished


@pytest.mark.parametrize("is_test", [False, True])
def test_a_decoder_of_the_user(is_test):
    x = fluid.data("x", [None, 1], "float32")
    outputs, states, lengths = layers.dynamic_decode(
        Countdown(), x, impute_finished=True, is_test=is_test, return_length=True
    )
    feed = {"x": np.array([[3], [1]], dtype="float32")}
    seen, total, steps = run([outputs, states[0], lengths], feed)
    np.testing.assert_allclose(seen[0, :, 0], [3, 2, 1])
    np.testing.assert_allclose(total, [[6], [1]])
    assert list(steps) == [3, 1]


def test_mistakes():
    x = fluid.data("x", [None, 3, 2], "float32")
    with pytest.raises(NotImplementedError, match="RNNCell has no property state_shape"):
        layers.rnn(layers.RNNCell(), x)

    class Forgetful(Total):
        def call(self, inputs, states):
            return inputs, []

    with pytest.raises(ValueError, match="structures of 2 and 0 variables do not match"):
        layers.rnn(Forgetful(), x)
