"""Translation with an encoder and a decoder; the decoder of inference is a beam search in a While loop."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import layers as pd

DICT_SIZE = 12
WORD_DIM = 32
# Not a multiple of 8: at some of those Fluid 1.8's gradient of dynamic_lstm is wrong, and results differ (docs/models.md).
HIDDEN_DIM = 60
BEAM_SIZE = 2
MAX_LENGTH = 6
BATCH = 32
EPOCHS = 10
START, END = 0, 1


def sentences(count, rng):
    """Made pairs: the translation of a sentence is its words, each through a dictionary, in reverse order."""
    dictionary = np.concatenate([[0, 1], 2 + np.random.RandomState(6).permutation(DICT_SIZE - 2)])
    samples = []
    for _ in range(count):
        words = list(rng.randint(2, DICT_SIZE, rng.randint(2, 4)))
        translated = [int(dictionary[w]) for w in reversed(words)]
        samples.append(([START] + words + [END], [START] + translated, translated + [END]))
    return samples


def encoder():
    src_word = fluid.data(name="src_word_id", shape=[None, 1], dtype="int64", lod_level=1)
    src_embedding = pd.embedding(
        input=src_word, size=[DICT_SIZE, WORD_DIM], dtype="float32", param_attr=fluid.ParamAttr(name="vemb"))
    fc1 = pd.fc(input=src_embedding, size=HIDDEN_DIM * 4, act="tanh", param_attr=fluid.ParamAttr(name="enc_fc_w"),
                bias_attr=fluid.ParamAttr(name="enc_fc_b"))
    lstm_hidden, _ = pd.dynamic_lstm(
        input=fc1, size=HIDDEN_DIM * 4, param_attr=fluid.ParamAttr(name="enc_lstm_w"),
        bias_attr=fluid.ParamAttr(name="enc_lstm_b"))
    return src_word, pd.sequence_last_step(input=lstm_hidden)


def next_state(word, state):
    """One step of the decoder, the same in training and in inference because its parameters have names."""
    from_state = pd.fc(input=state, size=HIDDEN_DIM, param_attr=fluid.ParamAttr(name="dec_state_w"),
                       bias_attr=fluid.ParamAttr(name="dec_b"))
    from_word = pd.fc(input=word, size=HIDDEN_DIM, param_attr=fluid.ParamAttr(name="dec_word_w"), bias_attr=False)
    return pd.tanh(pd.elementwise_add(x=from_state, y=from_word))


def score(state):
    return pd.fc(input=state, size=DICT_SIZE, act="softmax", param_attr=fluid.ParamAttr(name="out_w"),
                 bias_attr=fluid.ParamAttr(name="out_b"))


def embed_target(word):
    return pd.embedding(
        input=word, size=[DICT_SIZE, WORD_DIM], dtype="float32", param_attr=fluid.ParamAttr(name="trg_emb"))


def train_decoder(context):
    trg_word = fluid.data(name="target_word_id", shape=[None, 1], dtype="int64", lod_level=1)
    trg_embedding = embed_target(trg_word)
    rnn = pd.DynamicRNN()
    with rnn.block():
        current_word = rnn.step_input(trg_embedding)
        pre_state = rnn.memory(init=context, need_reorder=True)
        current_state = next_state(current_word, pre_state)
        rnn.update_memory(pre_state, current_state)
        rnn.output(score(current_state))
    return trg_word, rnn()


def decode(context):
    array_len = pd.fill_constant(shape=[1], dtype="int64", value=MAX_LENGTH)
    counter = pd.zeros(shape=[1], dtype="int64", force_cpu=True)
    state_array = pd.create_array("float32")
    pd.array_write(context, array=state_array, i=counter)
    ids_array = pd.create_array("int64")
    scores_array = pd.create_array("float32")
    init_ids = fluid.data(name="init_ids", shape=[None, 1], dtype="int64", lod_level=2)
    init_scores = fluid.data(name="init_scores", shape=[None, 1], dtype="float32", lod_level=2)
    pd.array_write(init_ids, array=ids_array, i=counter)
    pd.array_write(init_scores, array=scores_array, i=counter)
    cond = pd.less_than(x=counter, y=array_len)
    while_op = pd.While(cond=cond)
    with while_op.block():
        pre_ids = pd.array_read(array=ids_array, i=counter)
        pre_state = pd.array_read(array=state_array, i=counter)
        pre_score = pd.array_read(array=scores_array, i=counter)
        # One state per prefix that is still in the beam.
        pre_state_expanded = pd.sequence_expand(pre_state, pre_score)
        current_state = next_state(embed_target(pre_ids), pre_state_expanded)
        current_state_with_lod = pd.lod_reset(x=current_state, y=pre_score)
        current_score = score(current_state_with_lod)
        topk_scores, topk_indices = pd.topk(current_score, k=BEAM_SIZE)
        accu_scores = pd.elementwise_add(
            x=pd.log(topk_scores), y=pd.reshape(pre_score, shape=[-1]), axis=0)
        selected_ids, selected_scores = pd.beam_search(
            pre_ids, pre_score, topk_indices, accu_scores, BEAM_SIZE, end_id=END, level=0)
        pd.increment(x=counter, value=1, in_place=True)
        pd.array_write(current_state, array=state_array, i=counter)
        pd.array_write(selected_ids, array=ids_array, i=counter)
        pd.array_write(selected_scores, array=scores_array, i=counter)
        length_cond = pd.less_than(x=counter, y=array_len)
        finish_cond = pd.logical_not(pd.is_empty(x=selected_ids))
        pd.logical_and(x=length_cond, y=finish_cond, out=cond)
    return pd.beam_search_decode(ids=ids_array, scores=scores_array, beam_size=BEAM_SIZE, end_id=END)


def best_translations(ids):
    """The first hypothesis of each source sentence, without the marks of start and end."""
    words = np.array(ids).ravel()
    of_source, of_hypothesis = ids.lod()
    found = []
    for first in of_source[:-1]:
        hypothesis = words[of_hypothesis[first]:of_hypothesis[first + 1]]
        found.append([int(w) for w in hypothesis if w not in (START, END)])
    return found


def translate(exe, program, ids, samples, place):
    """Translations of the samples by beam search."""
    count = len(samples)
    lod = [[1] * count, [1] * count]
    sources = [sample[0] for sample in samples]
    flat = np.concatenate(sources).reshape(-1, 1).astype("int64")
    feed = {
        "src_word_id": fluid.create_lod_tensor(flat, [[len(s) for s in sources]], place),
        "init_ids": fluid.create_lod_tensor(np.full((count, 1), START, dtype="int64"), lod, place),
        "init_scores": fluid.create_lod_tensor(np.zeros((count, 1), dtype="float32"), lod, place),
    }
    result, = exe.run(program, feed=feed, fetch_list=[ids], return_numpy=False)
    return best_translations(result)


def main():
    train_program, startup_program = fluid.Program(), fluid.Program()
    train_program.random_seed = startup_program.random_seed = 90
    with fluid.program_guard(train_program, startup_program), fluid.unique_name.guard():
        src_word, context = encoder()
        trg_word, rnn_out = train_decoder(context)
        label = fluid.data(name="target_next_word_id", shape=[None, 1], dtype="int64", lod_level=1)
        avg_cost = pd.mean(pd.cross_entropy(input=rnn_out, label=label))
        fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)
    infer_program = fluid.Program()
    with fluid.program_guard(infer_program, fluid.Program()), fluid.unique_name.guard():
        _, context = encoder()
        ids, _ = decode(context)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder([src_word, trg_word, label], place, program=train_program)
    rng = np.random.RandomState(31)
    train, test = sentences(800, rng), sentences(200, rng)
    train_reader = paddle.batch(lambda: iter(train), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss, = exe.run(train_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    found = translate(exe, infer_program, ids, test, place)
    right = [f == sample[1][1:] for f, sample in zip(found, test)]
    print("metric: sentences_right %.6f" % np.mean(right))


if __name__ == "__main__":
    main()
