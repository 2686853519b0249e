"""Word vectors from an n-gram model: four words predict the fifth, all through one embedding table."""

import as_paddle  # `paddle` is Oarlock where it is installed

import numpy as np
import paddle.fluid as fluid

DICT_SIZE = 60
EMBED_SIZE = 32
HIDDEN_SIZE = 128
N = 5
BATCH = 100
EPOCHS = 8


def text(count, rng):
    """A made text: four times out of five, the next word follows from the last two."""
    follower = np.random.RandomState(5).randint(0, DICT_SIZE, (DICT_SIZE, 4))
    words = list(rng.randint(0, DICT_SIZE, 2))
    while len(words) < count:
        if rng.rand() < 0.8:
            words.append(follower[words[-1], words[-2] % 4])
        else:
            words.append(rng.randint(0, DICT_SIZE))
    return np.array(words, dtype="int64")


def ngrams(words):
    """Windows of N words, one column each."""
    return np.stack([words[i:len(words) - N + 1 + i] for i in range(N)], axis=1)


def batches(grams, names):
    for start in range(0, len(grams) - BATCH + 1, BATCH):
        part = grams[start:start + BATCH]
        yield {name: part[:, i:i + 1] for i, name in enumerate(names)}


def inference_program(words):
    embeds = [
        fluid.embedding(
            input=fluid.layers.reshape(word, [-1]), size=[DICT_SIZE, EMBED_SIZE], dtype="float32", is_sparse=True,
            param_attr="shared_w")
        for word in words
    ]
    concat_embed = fluid.layers.concat(input=embeds, axis=1)
    hidden1 = fluid.layers.fc(input=concat_embed, size=HIDDEN_SIZE, act="sigmoid")
    return fluid.layers.fc(input=hidden1, size=DICT_SIZE, act="softmax")


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    names = ["firstw", "secondw", "thirdw", "fourthw", "nextw"]
    words = [fluid.data(name=name, shape=[None, 1], dtype="int64") for name in names]
    predict_word = inference_program(words[:-1])
    cost = fluid.layers.cross_entropy(input=predict_word, label=words[-1])
    avg_cost = fluid.layers.mean(cost)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup_program)
    rng = np.random.RandomState(13)
    train, test = ngrams(text(6000, rng)), ngrams(text(1500, rng))
    for epoch in range(EPOCHS):
        losses = [exe.run(main_program, feed=feed, fetch_list=[avg_cost])[0][0] for feed in batches(train, names)]
        print("epoch %d loss %.6f" % (epoch, np.mean(losses)))
    losses = [exe.run(test_program, feed=feed, fetch_list=[avg_cost])[0][0] for feed in batches(test, names)]
    print("metric: test_cross_entropy %.6f" % np.mean(losses))


if __name__ == "__main__":
    main()
