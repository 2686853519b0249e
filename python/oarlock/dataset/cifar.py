"""CIFAR-10 and CIFAR-100: colour images of 3 x 32 x 32 pixels in [0, 1], flat, and a label."""

import pickle
import tarfile

from . import _synthetic, common

__all__ = ["test10", "test100", "train10", "train100"]

URL_PREFIX = "https://dataset.bj.bcebos.com/cifar/"
CIFAR10_URL = URL_PREFIX + "cifar-10-python.tar.gz"
CIFAR10_MD5 = "c58f30108f718f92721af3b95e74349a"
CIFAR100_URL = URL_PREFIX + "cifar-100-python.tar.gz"
CIFAR100_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"


def _read_batch(batch):
    labels = batch.get(b"labels", batch.get(b"fine_labels"))
    for sample, label in zip(batch[b"data"], labels):
        yield (sample / 255.0).astype("float32"), int(label)


def reader_creator(filename, sub_name, cycle=False):
    """A reader of the batches of the archive whose names contain ``sub_name``; for ever with ``cycle``."""

    def once():
        with tarfile.open(filename) as archive:
            for member in archive:
                if sub_name in member.name:
                    # The checksum of the archive has been compared: what is unpickled is what its authors wrote.
                    yield from _read_batch(pickle.load(archive.extractfile(member), encoding="bytes"))

    return _repeated(once, cycle)


def _repeated(once, cycle):
    def reader():
        yield from once()
        while cycle:
            yield from once()

    return reader


def _reader(classes, split, cycle=False):
    if common.synthetic():
        name = "cifar%d" % classes
        return _repeated(lambda: _synthetic.images(name, classes, (3, 32, 32), 0, 1, split), cycle)
    if classes == 100:
        return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), split, cycle)
    sub_name = {"train": "data_batch", "test": "test_batch"}[split]
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), sub_name, cycle)


def train100():
    """A reader of the training images of CIFAR-100."""
    return _reader(100, "train")


def test100():
    """A reader of the test images of CIFAR-100."""
    return _reader(100, "test")


def train10(cycle=False):
    """A reader of the training images of CIFAR-10; for ever with ``cycle``."""
    return _reader(10, "train", cycle)


def test10(cycle=False):
    """A reader of the test images of CIFAR-10; for ever with ``cycle``."""
    return _reader(10, "test", cycle)


def fetch():
    """Downloads both data sets."""
    common.download(CIFAR10_URL, "cifar", CIFAR10_MD5)
    common.download(CIFAR100_URL, "cifar", CIFAR100_MD5)
