"""Sentiment of texts of any length: ``understand_sentiment.py conv|stacked_lstm``."""

import as_paddle  # `paddle` is Oarlock where it is installed

import sys

import numpy as np
import paddle
import paddle.fluid as fluid

DICT_DIM = 200
CLASS_DIM = 2
EMB_DIM = 32
HID_DIM = 32
# Not a multiple of 8: at some of those Fluid 1.8's gradient of dynamic_lstm is wrong, and results differ (docs/models.md).
LSTM_DIM = 36
STACKED_NUM = 3
BATCH = 32


def reviews(count, rng):
    """Made reviews: a few words of praise or blame among neutral ones; "not" (word 0) turns the next word around."""
    feeling = np.zeros(DICT_DIM)
    feeling[1:41] = np.repeat([1, -1], 20)
    samples = []
    while len(samples) < count:
        words = rng.randint(1, DICT_DIM, rng.randint(8, 25))
        words[rng.rand(len(words)) < 0.1] = 0
        turned = np.where(np.concatenate([[1], words[:-1]]) == 0, -1, 1)
        score = (feeling[words] * turned).sum()
        if score != 0:
            samples.append((list(words), int(score > 0)))
    return samples


def convolution_net(data):
    emb = fluid.embedding(input=data, size=[DICT_DIM, EMB_DIM], is_sparse=True)
    conv_3 = fluid.nets.sequence_conv_pool(
        input=emb, num_filters=HID_DIM, filter_size=3, act="tanh", pool_type="sqrt")
    conv_4 = fluid.nets.sequence_conv_pool(
        input=emb, num_filters=HID_DIM, filter_size=4, act="tanh", pool_type="sqrt")
    return fluid.layers.fc(input=[conv_3, conv_4], size=CLASS_DIM, act="softmax")


def stacked_lstm_net(data):
    emb = fluid.embedding(input=data, size=[DICT_DIM, EMB_DIM], is_sparse=True)
    fc1 = fluid.layers.fc(input=emb, size=LSTM_DIM * 4)
    lstm1, cell1 = fluid.layers.dynamic_lstm(input=fc1, size=LSTM_DIM * 4)
    inputs = [fc1, lstm1]
    for i in range(2, STACKED_NUM + 1):
        fc = fluid.layers.fc(input=inputs, size=LSTM_DIM * 4)
        lstm, cell = fluid.layers.dynamic_lstm(input=fc, size=LSTM_DIM * 4, is_reverse=(i % 2) == 0)
        inputs = [fc, lstm]
    fc_last = fluid.layers.sequence_pool(input=inputs[0], pool_type="max")
    lstm_last = fluid.layers.sequence_pool(input=inputs[1], pool_type="max")
    return fluid.layers.fc(input=[fc_last, lstm_last], size=CLASS_DIM, act="softmax")


NETWORKS = {"conv": (convolution_net, 4), "stacked_lstm": (stacked_lstm_net, 3)}


def main(name):
    if name not in NETWORKS:
        sys.exit("there is no network %r: choose %s" % (name, " or ".join(NETWORKS)))
    network, epochs = NETWORKS[name]
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    data = fluid.data(name="words", shape=[None], dtype="int64", lod_level=1)
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    prediction = network(data)
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adagrad(learning_rate=0.02).minimize(avg_cost)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=[data, label], place=place)
    rng = np.random.RandomState(23)
    train, test = reviews(1920, rng), reviews(480, rng)
    train_reader = paddle.batch(lambda: iter(train), batch_size=BATCH)
    test_reader = paddle.batch(lambda: iter(test), batch_size=BATCH)
    for epoch in range(epochs):
        for batch in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(batch), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    right = [exe.run(test_program, feed=feeder.feed(batch), fetch_list=[acc])[0][0] for batch in test_reader()]
    print("metric: test_accuracy %.6f" % np.mean(right))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "conv")
