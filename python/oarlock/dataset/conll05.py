"""CoNLL-2005 semantic roles: nine sequences a sample, namely words, five words around the verb, the verb, marks near
the verb, labels.

The training set is not free: :func:`test` serves for training.
"""

import gzip
import os
import tarfile
import tempfile

import numpy as np

from . import _synthetic, common

__all__ = ["get_dict", "get_embedding", "test"]

DATA_URL, DATA_MD5 = "http://paddlemodels.bj.bcebos.com/conll05st/conll05st-tests.tar.gz", "387719152ae52d60422c016e92a742fc"
WORDDICT_URL, WORDDICT_MD5 = "http://paddlemodels.bj.bcebos.com/conll05st%2FwordDict.txt", "ea7fb7d4c75cc6254716f0177a506baa"
VERBDICT_URL, VERBDICT_MD5 = "http://paddlemodels.bj.bcebos.com/conll05st%2FverbDict.txt", "0d2977293bbb6cbefab5b0f97db1e77c"
TRGDICT_URL, TRGDICT_MD5 = "http://paddlemodels.bj.bcebos.com/conll05st%2FtargetDict.txt", "d8c7f03ceb5fc2e5a0fa7503a4353751"
EMB_URL, EMB_MD5 = "http://paddlemodels.bj.bcebos.com/conll05st%2Femb", "bf436eb0faa1f6f9103017f8be57cdb7"

UNK_IDX = 0

_WORDS = "conll05st-release/test.wsj/words/test.wsj.words.gz"
_PROPS = "conll05st-release/test.wsj/props/test.wsj.props.gz"

_SYNTHETIC_WORDS, _SYNTHETIC_VERBS = 300, 30
_SYNTHETIC_TAGS = ("A0", "A1", "V")


def load_dict(filename):
    """Ids of the lines of a file."""
    with open(filename, encoding="utf-8") as f:
        return {line.strip(): number for number, line in enumerate(f)}


def load_label_dict(filename):
    """Ids of labels: B- and I- of each tag, in alphabetical order, then O."""
    with open(filename, encoding="utf-8") as f:
        lines = [line.strip() for line in f]
    return _label_dict(line[2:] for line in lines if line[:2] in ("B-", "I-"))


def _label_dict(tags):
    labels = [prefix + tag for tag in sorted(set(tags)) for prefix in ("B-", "I-")]
    return {label: i for i, label in enumerate(labels + ["O"])}


def _spans_to_labels(column):
    """Brackets, as in ``(A0* * *)``, as B-, I- and O labels."""
    labels, tag, inside = [], "O", False
    for mark in column:
        if "(" in mark:
            tag = mark[1:mark.find("*")]
            labels.append("B-" + tag)
            inside = ")" not in mark
        elif mark == "*)":
            labels.append("I-" + tag)
            inside = False
        elif mark == "*":
            labels.append("I-" + tag if inside else "O")
        else:
            raise ValueError("%r is not a mark of a span: expected *, *), (TAG* or (TAG*)" % mark)
    return labels


def _sentences(words_file, props_file):
    """(words, rows of properties); an empty line ends a sentence."""
    words, rows = [], []
    for word, properties in zip(words_file, props_file):
        row = properties.decode("utf-8").split()
        if row:
            words.append(word.decode("utf-8").strip())
            rows.append(row)
        elif words:
            yield words, rows
            words, rows = [], []


def corpus_reader(data_path, words_name, props_name):
    """A reader of (words, verb, labels), one sample for each verb of each sentence."""

    def reader():
        with tarfile.open(data_path) as archive:
            words_file = gzip.GzipFile(fileobj=archive.extractfile(words_name))
            props_file = gzip.GzipFile(fileobj=archive.extractfile(props_name))
            with words_file, props_file:
                for words, rows in _sentences(words_file, props_file):
                    first, *columns = zip(*rows)
                    verbs = [verb for verb in first if verb != "-"]
                    for verb, column in zip(verbs, columns):
                        yield words, verb, _spans_to_labels(column)

    return reader


def _around(sentence, at):
    """The words from two before to two after a place; beyond the ends stand ``bos`` and ``eos``."""
    padded = ["bos", "bos"] + list(sentence) + ["eos", "eos"]
    return padded[at:at + 5]


def reader_creator(corpus_reader, word_dict=None, predicate_dict=None, label_dict=None):
    """A reader of the nine sequences of ids."""

    def reader():
        for sentence, predicate, labels in corpus_reader():
            length = len(sentence)
            at = labels.index("B-V")
            context = [[word_dict.get(w, UNK_IDX)] * length for w in _around(sentence, at)]
            mark = [int(abs(i - at) <= 2) for i in range(length)]
            words = [word_dict.get(w, UNK_IDX) for w in sentence]
            verb = [predicate_dict.get(predicate)] * length
            yield (words, *context, verb, mark, [label_dict.get(label) for label in labels])

    return reader


def _synthetic_corpus():
    """Sentences where the agent stands before the verb and, after every second verb, the object behind it."""
    rng = _synthetic.rng_of("conll05")
    for _ in range(_synthetic.OTHER_SAMPLES):
        length = rng.randint(6, 15)
        words = ["word%d" % w for w in rng.randint(0, _SYNTHETIC_WORDS - 3, length)]
        at, verb = rng.randint(2, length - 2), rng.randint(_SYNTHETIC_VERBS)
        labels = ["O"] * length
        labels[at - 2:at + 1] = ["B-A0", "I-A0", "B-V"]
        if verb % 2:
            labels[at + 1:at + 3] = ["B-A1", "I-A1"]
        words[at] = "word%d" % verb
        yield words, "word%d" % verb, labels


def get_dict():
    """Ids of words, of verbs and of labels."""
    if common.synthetic():
        words = _synthetic.word_list(_SYNTHETIC_WORDS, "<unk>", "bos", "eos")
        verbs = _synthetic.word_list(_SYNTHETIC_VERBS)
        return {w: i for i, w in enumerate(words)}, {v: i for i, v in enumerate(verbs)}, _label_dict(_SYNTHETIC_TAGS)
    return (
        load_dict(common.download(WORDDICT_URL, "conll05st", WORDDICT_MD5)),
        load_dict(common.download(VERBDICT_URL, "conll05st", VERBDICT_MD5)),
        load_label_dict(common.download(TRGDICT_URL, "conll05st", TRGDICT_MD5)),
    )


def get_embedding():
    """The path of trained word vectors: 16 bytes of header, then 32 float32 a word."""
    if common.synthetic():
        return _synthetic_embedding()
    return common.download(EMB_URL, "conll05st", EMB_MD5)


def _synthetic_embedding():
    vectors = _synthetic.rng_of("conll05", "embedding").normal(0, 0.1, (_SYNTHETIC_WORDS, 32)).astype(np.float32)
    path = os.path.join(tempfile.mkdtemp(prefix="oarlock"), "emb")
    with open(path, "wb") as f:
        f.write(bytes(16) + vectors.tobytes())
    return path


def test():
    """A reader of the test set."""
    corpus = _synthetic_corpus
    if not common.synthetic():
        corpus = corpus_reader(common.download(DATA_URL, "conll05st", DATA_MD5), _WORDS, _PROPS)
    return reader_creator(corpus, *get_dict())


def fetch():
    """Downloads the data set, its dictionaries and the word vectors."""
    for url, md5 in (
        (WORDDICT_URL, WORDDICT_MD5), (VERBDICT_URL, VERBDICT_MD5), (TRGDICT_URL, TRGDICT_MD5), (EMB_URL, EMB_MD5),
        (DATA_URL, DATA_MD5),
    ):
        common.download(url, "conll05st", md5)
