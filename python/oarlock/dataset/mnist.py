"""MNIST: handwritten digits, 784 pixels in [-1, 1] and a label in [0, 9]."""

import gzip
import struct

import numpy as np

from . import _synthetic, common

__all__ = ["test", "train"]

URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"

_IMAGE_MAGIC = 2051
_LABEL_MAGIC = 2049


def _read_idx(filename, magic, header):
    """The bytes of an IDX file after its header, and the numbers of the header."""
    with gzip.open(filename, "rb") as f:
        content = f.read()
    found, *sizes = struct.unpack_from(header, content)
    if found != magic:
        raise ValueError("%s is not the right kind of IDX file: it begins with %d, not %d" % (filename, found, magic))
    return np.frombuffer(content, "uint8", offset=struct.calcsize(header)), sizes


def reader_creator(image_filename, label_filename, buffer_size):
    """A reader of (pixels, label); converts ``buffer_size`` images at a time."""

    def reader():
        pixels, (count, rows, cols) = _read_idx(image_filename, _IMAGE_MAGIC, ">IIII")
        labels, _ = _read_idx(label_filename, _LABEL_MAGIC, ">II")
        pixels = pixels.reshape(count, rows * cols)
        for start in range(0, count, buffer_size):
            images = pixels[start:start + buffer_size].astype("float32") / 255.0 * 2.0 - 1.0
            for image, label in zip(images, labels[start:start + buffer_size]):
                yield image, int(label)

    return reader


def _files(part):
    """Downloads the images and the labels of ``part``; returns their paths."""
    urls = {"train": (TRAIN_IMAGE_URL, TRAIN_LABEL_URL), "test": (TEST_IMAGE_URL, TEST_LABEL_URL)}[part]
    sums = {"train": (TRAIN_IMAGE_MD5, TRAIN_LABEL_MD5), "test": (TEST_IMAGE_MD5, TEST_LABEL_MD5)}[part]
    return [common.download(url, "mnist", md5) for url, md5 in zip(urls, sums)]


def _digits(part):
    if common.synthetic():
        return lambda: _synthetic.images("mnist", 10, (1, 28, 28), -1, 1, part)
    return reader_creator(*_files(part), 100)


def train():
    """A reader of the 60,000 training digits."""
    return _digits("train")


def test():
    """A reader of the 10,000 test digits."""
    return _digits("test")


def fetch():
    """Downloads the data set."""
    _files("train")
    _files("test")
