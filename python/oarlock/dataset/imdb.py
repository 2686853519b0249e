"""IMDB reviews: the word ids of a review, and 0 for a good or 1 for a bad one."""

import collections
import re
import string
import tarfile

from . import _synthetic, common

__all__ = ["build_dict", "test", "train"]

URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"

_SYNTHETIC_WORDS = 500


def tokenize(pattern):
    """The words, as lower-case bytes without punctuation, of every review whose path matches."""
    # One pass in the order of the archive: seeking in a compressed file means reading it again.
    with tarfile.open(common.download(URL, "imdb", MD5)) as archive:
        for member in archive:
            if pattern.match(member.name):
                text = archive.extractfile(member).read().rstrip(b"\n\r")
                yield text.translate(None, string.punctuation.encode()).lower().split()


def build_dict(pattern, cutoff):
    """Ids of the words that occur more than ``cutoff`` times, the most frequent first; ``<unk>`` is the last."""
    if common.synthetic():
        return _synthetic_dict()
    counts = collections.Counter(word for document in tokenize(pattern) for word in document)
    frequent = sorted(((-n, word) for word, n in counts.items() if n > cutoff))
    word_idx = {word: i for i, (_, word) in enumerate(frequent)}
    word_idx["<unk>"] = len(word_idx)
    return word_idx


def _synthetic_dict():
    words = _synthetic.word_list(_SYNTHETIC_WORDS)
    word_idx = {word.encode(): i for i, word in enumerate(words)}
    word_idx["<unk>"] = len(word_idx)
    return word_idx


def reader_creator(pos_pattern, neg_pattern, word_idx):
    """A reader of (word ids, label), good reviews first; everything is kept in memory."""
    unknown = word_idx["<unk>"]
    samples = []
    for label, pattern in enumerate([pos_pattern, neg_pattern]):
        for document in tokenize(pattern):
            samples.append(([word_idx.get(word, unknown) for word in document], label))
    return lambda: iter(samples)


def _reader(split, word_idx):
    if common.synthetic():
        return lambda: _synthetic.sentiment(len(word_idx), split)
    pos, neg = [re.compile(r"aclImdb/%s/%s/.*\.txt$" % (split, kind)) for kind in ("pos", "neg")]
    return reader_creator(pos, neg, word_idx)


def train(word_idx):
    """A reader of the training reviews."""
    return _reader("train", word_idx)


def test(word_idx):
    """A reader of the test reviews."""
    return _reader("test", word_idx)


def word_dict():
    """The dictionary of all reviews."""
    return build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 150)


def fetch():
    """Downloads the data set."""
    common.download(URL, "imdb", MD5)
