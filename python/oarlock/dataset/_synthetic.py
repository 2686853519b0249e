"""Made samples: deterministic, of the shapes of the real data sets, and learnable.

Every function takes a ``split`` ("train", "test", ...). Splits differ in their samples, never in the rule behind them,
so that what is learned on one holds on the other.
"""

import zlib

import numpy as np

# Enough for a model to learn the rule, few enough to be made in an instant.
TRAIN_SAMPLES = 4096
OTHER_SAMPLES = 512


def size_of(split):
    """How many samples a split has."""
    return TRAIN_SAMPLES if split == "train" else OTHER_SAMPLES


def rng_of(*names):
    """A random generator that depends on the names only."""
    return np.random.RandomState(zlib.crc32("/".join(names).encode()))


def regression(features, split):
    """Rows of centred features and a noisy linear price."""
    weights = rng_of("regression").uniform(-10, 10, features)
    rng = rng_of("regression", split)
    for _ in range(size_of(split)):
        x = rng.rand(features) - 0.5
        yield x, np.array([x.dot(weights) + 22 + rng.normal(0, 1)])


def images(name, classes, shape, low, high, split):
    """Flat images: a pattern of the class under noise, within ``low`` and ``high``."""
    # Patterns of few blocks: neighbouring pixels agree, as in photographs, and hundreds of classes need little memory.
    blocks = rng_of(name).rand(classes, shape[0], 4, 4)
    rng = rng_of(name, split)
    rows, cols = [np.arange(n) * 4 // n for n in shape[1:]]
    for _ in range(size_of(split)):
        label = int(rng.randint(classes))
        pattern = blocks[label][:, rows][:, :, cols]
        pixels = np.clip(pattern + rng.normal(0, 0.2, shape), 0, 1)
        yield (low + (high - low) * pixels).astype("float32").ravel(), label


def word_list(count, *marks):
    """The marks, then made words."""
    return list(marks) + ["word%d" % i for i in range(count - len(marks))]


def sentiment(words, split):
    """Documents of word ids with a label: 0 prefers even words, 1 odd ones."""
    rng = rng_of("sentiment", split)
    for _ in range(size_of(split)):
        label = int(rng.randint(2))
        document = rng.randint(0, words, rng.randint(10, 60))
        bent = rng.rand(len(document)) < 0.3
        document[bent] = np.minimum(document[bent] // 2 * 2 + label, words - 1)
        yield [int(w) for w in document], label


def sentences(words, split):
    """Sentences of word ids: mostly, each word decides the next."""
    follower = rng_of("sentences").permutation(words)
    rng = rng_of("sentences", split)
    for _ in range(size_of(split)):
        sentence = [int(rng.randint(words))]
        for _ in range(rng.randint(4, 15)):
            following = follower[sentence[-1]] if rng.rand() < 0.8 else rng.randint(words)
            sentence.append(int(following))
        yield sentence


def translations(source_words, target_words, first_word, split):
    """Pairs of sentences: each word has one translation, and the order is reversed."""
    dictionary = rng_of("translations").randint(first_word, target_words, source_words)
    rng = rng_of("translations", split)
    for _ in range(size_of(split)):
        source = [int(w) for w in rng.randint(first_word, source_words, rng.randint(3, 12))]
        yield source, [int(dictionary[w]) for w in reversed(source)]
