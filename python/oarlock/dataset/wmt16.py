"""WMT16 multimodal task (Multi30K), English and German: word ids of a sentence, of its translation, and of the words
that come next."""

import collections
import os
import tarfile
import tempfile

from . import _synthetic, common

__all__ = ["fetch", "get_dict", "test", "train", "validation"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
DATA_MD5 = "0c38be43600334966403524a40dcd81e"

TOTAL_EN_WORDS = 11250
TOTAL_DE_WORDS = 19220

START_MARK = "<s>"
END_MARK = "<e>"
UNK_MARK = "<unk>"

_MARKS = (START_MARK, END_MARK, UNK_MARK)
_COLUMNS = {"en": 0, "de": 1}
_TOTAL = {"en": TOTAL_EN_WORDS, "de": TOTAL_DE_WORDS}
_OTHER = {"en": "de", "de": "en"}


def _archive():
    return common.download(DATA_URL, "wmt16", DATA_MD5, "wmt16.tar.gz")


def _pairs(tar_file, file_name):
    """English and German sentences of one file, as lists of words."""
    with tarfile.open(tar_file) as archive:
        for line in archive.extractfile(file_name):
            parts = line.decode("utf-8").strip().split("\t")
            if len(parts) == 2:
                yield [part.split() for part in parts]


def _check_lang(lang):
    if lang not in _COLUMNS:
        raise ValueError("the language is %r, but must be en (English) or de (German)" % (lang,))


def _build_dict(tar_file, dict_size, save_path, lang):
    """Writes the marks and the most frequent words of the training text, one a line."""
    counts = collections.Counter()
    for pair in _pairs(tar_file, "wmt16/train"):
        counts.update(pair[_COLUMNS[lang]])
    # `sorted` is stable and the counter keeps the order of the text: words of one frequency stay in that order.
    by_count = sorted(counts, key=counts.get, reverse=True)
    os.makedirs(os.path.dirname(save_path), exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(save_path))
    with os.fdopen(handle, "wb") as f:
        for word in (list(_MARKS) + by_count)[:dict_size]:
            f.write(word.encode("utf-8") + b"\n")
    os.replace(partial, save_path)


def _read_dict(path):
    with open(path, "rb") as f:
        return [line.strip().decode("utf-8") for line in f]


def _load_dict(tar_file, dict_size, lang):
    """The words of a dictionary in the order of their ids; builds its file where that is missing."""
    path = os.path.join(common.DATA_HOME, "wmt16", "%s_%d.dict" % (lang, dict_size))
    if not os.path.exists(path) or len(_read_dict(path)) != dict_size:
        _build_dict(tar_file, dict_size, path, lang)
    return _read_dict(path)


def _numbered(words):
    return {word: i for i, word in enumerate(words)}


def reader_creator(tar_file, file_name, src_dict_size, trg_dict_size, src_lang):
    """A reader of one file of the archive."""

    def reader():
        source_dict = _numbered(_load_dict(tar_file, src_dict_size, src_lang))
        target_dict = _numbered(_load_dict(tar_file, trg_dict_size, _OTHER[src_lang]))
        start, end, unknown = [source_dict[mark] for mark in _MARKS]
        column = _COLUMNS[src_lang]
        for pair in _pairs(tar_file, file_name):
            source = [source_dict.get(w, unknown) for w in pair[column]]
            target = [target_dict.get(w, unknown) for w in pair[1 - column]]
            yield [start] + source + [end], [start] + target, target + [end]

    return reader


def _synthetic_reader(src_dict_size, trg_dict_size, split):
    def reader():
        for source, target in _synthetic.translations(src_dict_size, trg_dict_size, len(_MARKS), split):
            yield [0] + source + [1], [0] + target, target + [1]

    return reader


def _reader(split, file_name, src_dict_size, trg_dict_size, src_lang):
    _check_lang(src_lang)
    src_dict_size = min(src_dict_size, _TOTAL[src_lang])
    trg_dict_size = min(trg_dict_size, _TOTAL[_OTHER[src_lang]])
    if common.synthetic():
        return _synthetic_reader(src_dict_size, trg_dict_size, split)
    return reader_creator(_archive(), file_name, src_dict_size, trg_dict_size, src_lang)


def train(src_dict_size, trg_dict_size, src_lang="en"):
    """A reader of the training pairs; the sizes of the dictionaries count the marks of start, end and unknown."""
    return _reader("train", "wmt16/train", src_dict_size, trg_dict_size, src_lang)


def test(src_dict_size, trg_dict_size, src_lang="en"):
    """A reader of the test pairs."""
    return _reader("test", "wmt16/test", src_dict_size, trg_dict_size, src_lang)


def validation(src_dict_size, trg_dict_size, src_lang="en"):
    """A reader of the validation pairs."""
    return _reader("validation", "wmt16/val", src_dict_size, trg_dict_size, src_lang)


def get_dict(lang, dict_size, reverse=False):
    """Ids by word, or words by id with ``reverse``."""
    _check_lang(lang)
    dict_size = min(dict_size, _TOTAL[lang])
    if common.synthetic():
        words = _synthetic.word_list(dict_size, *_MARKS)
    else:
        words = _load_dict(_archive(), dict_size, lang)
    return dict(enumerate(words)) if reverse else _numbered(words)


def fetch():
    """Downloads the data set."""
    _archive()
