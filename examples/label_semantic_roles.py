"""Semantic roles of words with a conditional random field over a bidirectional recurrent network."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle
import paddle.fluid as fluid

WORDS, VERBS, LABELS = 60, 12, 5
WORD_DIM, MARK_DIM = 16, 4
# Four gates of 12. Not of a multiple of 8: at some of those Fluid 1.8's gradient of dynamic_lstm is wrong (docs/models.md).
HIDDEN = 48
DEPTH = 4
BATCH = 20
EPOCHS = 8
NAMES = [
    "word_data", "ctx_n2_data", "ctx_n1_data", "ctx_0_data", "ctx_p1_data", "ctx_p2_data", "verb_data", "mark_data",
]


def roles(words, verb, at):
    """Made labels: 0 outside, 1 and 2 an agent of up to two words, 3 the verb, 4 what follows a verb with an object."""
    labels = [0] * len(words)
    labels[at] = 3
    if at >= 1:
        labels[at - 1] = 2 if at >= 2 and words[at - 2] % 2 else 1
    if labels[at - 1] == 2:
        labels[at - 2] = 1
    if verb % 2:
        for i in range(at + 1, min(at + 3, len(words))):
            labels[i] = 4 if words[i] % 3 else 0
    return labels


def sentences(count, rng):
    """Samples of nine sequences: words, five words of context, verb, marks near the verb, labels."""
    samples = []
    for _ in range(count):
        length = rng.randint(5, 13)
        words = list(rng.randint(2, WORDS, length))
        at, verb = rng.randint(1, length), rng.randint(VERBS)
        around = [words[i] if 0 <= i < length else int(i >= length) for i in range(at - 2, at + 3)]
        mark = [int(abs(i - at) <= 2) for i in range(length)]
        context = [[word] * length for word in around]
        samples.append([words] + context + [[verb] * length, mark, roles(words, verb, at)])
    return samples


def db_lstm(features):
    words, verb, mark = features[:6], features[6], features[7]
    emb_layers = [fluid.embedding(size=[WORDS, WORD_DIM], input=x, param_attr="emb") for x in words]
    emb_layers.append(fluid.embedding(input=verb, size=[VERBS, WORD_DIM], param_attr="vemb"))
    emb_layers.append(fluid.embedding(input=mark, size=[2, MARK_DIM]))
    hidden_0 = fluid.layers.sums(input=[fluid.layers.fc(input=emb, size=HIDDEN, act="tanh") for emb in emb_layers])
    lstm_0, _ = fluid.layers.dynamic_lstm(
        input=hidden_0, size=HIDDEN, candidate_activation="relu", gate_activation="sigmoid", cell_activation="sigmoid")
    input_tmp = [hidden_0, lstm_0]
    for i in range(1, DEPTH):
        mix_hidden = fluid.layers.sums(input=[fluid.layers.fc(input=x, size=HIDDEN, act="tanh") for x in input_tmp])
        lstm, _ = fluid.layers.dynamic_lstm(
            input=mix_hidden, size=HIDDEN, candidate_activation="relu", gate_activation="sigmoid",
            cell_activation="sigmoid", is_reverse=((i % 2) == 1))
        input_tmp = [mix_hidden, lstm]
    return fluid.layers.sums(input=[fluid.layers.fc(input=x, size=LABELS, act="tanh") for x in input_tmp])


def right_labels(paths, labels):
    return (np.array(paths).ravel() == np.concatenate(labels)).mean()


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    features = [fluid.data(name=name, shape=[None], dtype="int64", lod_level=1) for name in NAMES]
    target = fluid.data(name="target", shape=[None, 1], dtype="int64", lod_level=1)
    feature_out = db_lstm(features)
    crf_cost = fluid.layers.linear_chain_crf(
        input=feature_out, label=target, param_attr=fluid.ParamAttr(name="crfw", learning_rate=1.0))
    avg_cost = fluid.layers.mean(crf_cost)
    crf_decode = fluid.layers.crf_decoding(input=feature_out, param_attr=fluid.ParamAttr(name="crfw"))
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=features + [target], place=place)
    rng = np.random.RandomState(29)
    train, test = sentences(800, rng), sentences(200, rng)
    train_reader = paddle.batch(lambda: iter(train), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    path, = exe.run(test_program, feed=feeder.feed(test), fetch_list=[crf_decode], return_numpy=False)
    print("metric: label_accuracy %.6f" % right_labels(path, [sample[-1] for sample in test]))


if __name__ == "__main__":
    main()
