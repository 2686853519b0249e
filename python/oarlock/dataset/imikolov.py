"""The Penn treebank as prepared by Mikolov: n-grams, or pairs of a sentence and the same one word later."""

import collections
import tarfile

from . import _synthetic, common

__all__ = ["build_dict", "test", "train"]

URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
MD5 = "30177ea32e27c525793142b6bf2c8e2d"

_FILES = {"train": "./simple-examples/data/ptb.train.txt", "test": "./simple-examples/data/ptb.valid.txt"}
_SYNTHETIC_WORDS = 200


class DataType:
    """The items of a reader: windows of n words, or whole sentences."""

    NGRAM = 1
    SEQ = 2


def word_count(f, word_freq=None):
    """Counts words, and one start and one end mark a line."""
    if word_freq is None:
        word_freq = collections.defaultdict(int)
    for line in f:
        # The marks are text and the words are bytes, as dictionaries that users saved have them.
        for word in line.strip().split() + ["<s>", "<e>"]:
            word_freq[word] += 1
    return word_freq


def _open():
    return tarfile.open(common.download(URL, "imikolov", MD5))


def _order(item):
    """The most frequent first, words of one frequency by their bytes."""
    word, count = item
    return -count, word if isinstance(word, bytes) else word.encode()


def build_dict(min_word_freq=50):
    """Ids of the words that occur more often than ``min_word_freq``, the most frequent first; ``<unk>`` is the last."""
    if common.synthetic():
        words = _synthetic.word_list(_SYNTHETIC_WORDS)
        return _numbered(["<s>", "<e>"] + [word.encode() for word in words])
    with _open() as archive:
        counts = word_count(archive.extractfile(_FILES["train"]))
        counts = word_count(archive.extractfile(_FILES["test"]), counts)
    # The treebank writes rare words as b"<unk>" itself: that stays a word like any other, so that ids agree with
    # dictionaries which Fluid built on Python 3.
    frequent = sorted(((w, n) for w, n in counts.items() if n > min_word_freq), key=_order)
    return _numbered([word for word, _ in frequent])


def _numbered(words):
    word_idx = {word: i for i, word in enumerate(words)}
    word_idx["<unk>"] = len(word_idx)
    return word_idx


def _sentences(split, word_idx):
    """Sentences as word ids, without marks."""
    if common.synthetic():
        marks = word_idx["<e>"] + 1
        for sentence in _synthetic.sentences(len(word_idx) - marks, split):
            yield [word + marks for word in sentence]
        return
    unknown = word_idx["<unk>"]
    with _open() as archive:
        for line in archive.extractfile(_FILES[split]):
            yield [word_idx.get(word, unknown) for word in line.strip().split()]


def _ngrams(sentence, n):
    for end in range(n, len(sentence) + 1):
        yield tuple(sentence[end - n:end])


def reader_creator(split, word_idx, n, data_type):
    """A reader of one split as ``data_type`` says."""
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise ValueError("data_type is %r, but must be DataType.NGRAM or DataType.SEQ" % (data_type,))
    if data_type == DataType.NGRAM and n < 1:
        raise ValueError("n-grams need n of at least 1, not %d" % n)

    def reader():
        start, end = word_idx["<s>"], word_idx["<e>"]
        for sentence in _sentences(split, word_idx):
            if data_type == DataType.NGRAM:
                yield from _ngrams([start] + sentence + [end], n)
            elif n <= 0 or len(sentence) < n:
                yield [start] + sentence, sentence + [end]

    return reader


def train(word_idx, n, data_type=DataType.NGRAM):
    """A reader of the training text; ``n`` is the window, or the longest sentence (0: any)."""
    return reader_creator("train", word_idx, n, data_type)


def test(word_idx, n, data_type=DataType.NGRAM):
    """A reader of the validation text; ``n`` is the window, or the longest sentence (0: any)."""
    return reader_creator("test", word_idx, n, data_type)


def fetch():
    """Downloads the data set."""
    common.download(URL, "imikolov", MD5)
