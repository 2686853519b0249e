"""Movie reviews of the NLTK corpus: the word ids of a review, and 0 for a bad or 1 for a good one. 1,600 train, 400 test."""

import collections
import re
import zipfile

from . import _synthetic, common

__all__ = ["get_word_dict", "test", "train"]

URL = "https://corpora.bj.bcebos.com/movie_reviews%2Fmovie_reviews.zip"
MD5 = "155de2b77c6834dd8eea7cbe88e93acb"
NUM_TRAINING_INSTANCES = 1600

_SYNTHETIC_WORDS = 500
# Words, and runs of punctuation.
_TOKEN = re.compile(r"\w+|[^\w\s]+")


def _reviews():
    """The words of every review by its path, sorted: bad ones, then good ones."""
    with zipfile.ZipFile(common.download(URL, "corpora", MD5, save_name="movie_reviews.zip")) as archive:
        for name in sorted(archive.namelist()):
            if re.search(r"(neg|pos)/[^/]+\.txt$", name):
                yield name, _TOKEN.findall(archive.read(name).decode("ascii", "replace"))


def get_word_dict():
    """Returns pairs of a word and its id, the most frequent word first.

    Example::

        ids = dict(oarlock.dataset.sentiment.get_word_dict())
    """
    if common.synthetic():
        return [(word, i) for i, word in enumerate(_synthetic.word_list(_SYNTHETIC_WORDS))]
    counts = collections.Counter(word for _, words in _reviews() for word in words)
    return [(word, i) for i, (word, _) in enumerate(counts.most_common())]


def _samples():
    """All reviews, bad and good ones in turn."""
    ids = dict(get_word_dict())
    kinds = ([], [])
    for name, words in _reviews():
        kinds["/pos/" in name].append([ids[word] for word in words])
    for pair in zip(*kinds):
        yield from ((words, label) for label, words in enumerate(pair))


def train():
    """Returns an iterator of the training reviews; not a reader: call it for each pass.

    Example::

        reader = paddle.batch(oarlock.dataset.sentiment.train, batch_size=32)
    """
    if common.synthetic():
        return _synthetic.sentiment(_SYNTHETIC_WORDS, "train")
    return iter(list(_samples())[:NUM_TRAINING_INSTANCES])


def test():
    """Returns an iterator of the test reviews; not a reader: call it for each pass.

    Example::

        reader = paddle.batch(oarlock.dataset.sentiment.test, batch_size=32)
    """
    if common.synthetic():
        return _synthetic.sentiment(_SYNTHETIC_WORDS, "test")
    return iter(list(_samples())[NUM_TRAINING_INSTANCES:])


def fetch():
    """Downloads the data set."""
    common.download(URL, "corpora", MD5, save_name="movie_reviews.zip")
