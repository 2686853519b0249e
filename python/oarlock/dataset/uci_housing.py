"""UCI housing: 13 features of a district, and the price of its houses."""

import tarfile
import tempfile

import numpy as np

from . import _synthetic, common

__all__ = ["test", "train"]

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
FLUID_URL_MODEL = "https://github.com/PaddlePaddle/book/raw/develop/01.fit_a_line/fluid/fit_a_line.fluid.tar"
FLUID_MD5_MODEL = "6e6dd637ccd5993961f68bfbde46090b"

feature_names = [
    "CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT",
]

UCI_TRAIN_DATA = None
UCI_TEST_DATA = None


def load_data(filename, feature_num=14, ratio=0.8):
    """Reads the file once; centres each feature and scales it to a range of one."""
    global UCI_TRAIN_DATA, UCI_TEST_DATA
    if UCI_TRAIN_DATA is not None and UCI_TEST_DATA is not None:
        return
    data = np.fromfile(filename, sep=" ").reshape(-1, feature_num)
    x = data[:, :-1]
    data[:, :-1] = (x - x.mean(axis=0)) / (x.max(axis=0) - x.min(axis=0))
    offset = int(len(data) * ratio)
    UCI_TRAIN_DATA, UCI_TEST_DATA = data[:offset], data[offset:]


def _reader(split):
    if common.synthetic():
        return lambda: _synthetic.regression(len(feature_names), split)
    load_data(common.download(URL, "uci_housing", MD5))
    rows = UCI_TRAIN_DATA if split == "train" else UCI_TEST_DATA

    def reader():
        for row in rows:
            yield row[:-1], row[-1:]

    return reader


def train():
    """A reader of (features, price) of the first four fifths."""
    return _reader("train")


def test():
    """A reader of (features, price) of the last fifth."""
    return _reader("test")


def predict_reader():
    """The features of one test sample, for inference."""
    features, _ = next(iter(test()()))
    return (features,)


def fluid_model():
    """A directory with a trained model."""
    archive = common.download(FLUID_URL_MODEL, "uci_housing", FLUID_MD5_MODEL, "fit_a_line.fluid.tar")
    directory = tempfile.mkdtemp()
    with tarfile.open(archive) as tar:
        tar.extractall(path=directory)
    return directory


def fetch():
    """Downloads the data set."""
    common.download(URL, "uci_housing", MD5)
