"""WMT14, French to English, reduced: word ids of a sentence, of its translation, and of the words that come next."""

import tarfile

from . import _synthetic, common

__all__ = ["get_dict", "test", "train"]

URL_TRAIN, MD5_TRAIN = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz", "0791583d57d5beb693b9414c5b36798c"
URL_MODEL, MD5_MODEL = "http://paddlemodels.bj.bcebos.com/wmt%2Fwmt14.tgz", "0cb4a5366189b6acba876491c8724fa3"

START = "<s>"
END = "<e>"
UNK = "<unk>"
UNK_IDX = 2

# Longer sentences are left out of training.
_LONGEST = 80


def _archive():
    return common.download(URL_TRAIN, "wmt14", MD5_TRAIN)


def _read_dict(archive, suffix, size):
    """The first ``size`` words of the one file whose name ends so."""
    members = [member for member in archive if member.name.endswith(suffix)]
    if len(members) != 1:
        raise ValueError("%s holds %d files named %s, but must hold one" % (archive.name, len(members), suffix))
    words = {}
    for number, line in zip(range(size), archive.extractfile(members[0])):
        words[line.strip().decode("utf-8")] = number
    return words


def _dicts(tar_file, dict_size):
    with tarfile.open(tar_file) as archive:
        return _read_dict(archive, "src.dict", dict_size), _read_dict(archive, "trg.dict", dict_size)


def _sample(line, source_dict, target_dict):
    """One sample, or None where the line is not a pair or too long."""
    parts = line.decode("utf-8").strip().split("\t")
    if len(parts) != 2:
        return None
    source = [source_dict.get(w, UNK_IDX) for w in [START] + parts[0].split() + [END]]
    target = [target_dict.get(w, UNK_IDX) for w in parts[1].split()]
    if len(source) > _LONGEST or len(target) > _LONGEST:
        return None
    return source, [target_dict[START]] + target, target + [target_dict[END]]


def reader_creator(tar_file, file_name, dict_size):
    """A reader of the files of the archive whose names end with ``file_name``."""

    def reader():
        source_dict, target_dict = _dicts(tar_file, dict_size)
        with tarfile.open(tar_file) as archive:
            for member in [m for m in archive if m.name.endswith(file_name)]:
                for line in archive.extractfile(member):
                    sample = _sample(line, source_dict, target_dict)
                    if sample is not None:
                        yield sample

    return reader


def _synthetic_reader(dict_size, split):
    def reader():
        for source, target in _synthetic.translations(dict_size, dict_size, UNK_IDX + 1, split):
            yield [0] + source + [1], [0] + target, target + [1]

    return reader


def _reader(dict_size, split):
    if common.synthetic():
        return _synthetic_reader(dict_size, split)
    return reader_creator(_archive(), "%s/%s" % (split, split), dict_size)


def train(dict_size):
    """A reader of the training pairs over the ``dict_size`` most frequent words."""
    return _reader(dict_size, "train")


def test(dict_size):
    """A reader of the test pairs over the ``dict_size`` most frequent words."""
    return _reader(dict_size, "test")


def gen(dict_size):
    """A reader of the pairs meant for generation."""
    return _reader(dict_size, "gen")


def get_dict(dict_size, reverse=True):
    """The source and the target dictionary: words by id, or ids by word unless ``reverse``."""
    if common.synthetic():
        words = _synthetic.word_list(dict_size, START, END, UNK)
        dicts = [{word: i for i, word in enumerate(words)} for _ in range(2)]
    else:
        dicts = _dicts(_archive(), dict_size)
    if reverse:
        dicts = [{i: word for word, i in d.items()} for d in dicts]
    source, target = dicts
    return source, target


def fetch():
    """Downloads the data set and a trained model."""
    common.download(URL_TRAIN, "wmt14", MD5_TRAIN)
    common.download(URL_MODEL, "wmt14", MD5_MODEL)
