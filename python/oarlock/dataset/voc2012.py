"""Pascal VOC 2012: pixels ``[height, width, 3]``, and the class of each pixel ``[height, width]``.

The real images need the package ``pillow``.
"""

import io
import tarfile

import numpy as np

from . import _synthetic, common

__all__ = ["test", "train", "val"]

VOC_URL = "http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar"
VOC_MD5 = "6cd6e144f989b92b3379bac3b3de84fd"
SET_FILE = "VOCdevkit/VOC2012/ImageSets/Segmentation/{}.txt"
DATA_FILE = "VOCdevkit/VOC2012/JPEGImages/{}.jpg"
LABEL_FILE = "VOCdevkit/VOC2012/SegmentationClass/{}.png"
CACHE_DIR = "voc2012"

_CLASSES = 21


def _pixels(content):
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("the images of VOC 2012 are JPEG and PNG files: pip install pillow") from None
    return np.array(Image.open(io.BytesIO(content)))


def reader_creator(filename, sub_name):
    """Returns a reader of one list of images of the archive."""

    def reader():
        with tarfile.open(filename) as archive:
            for line in archive.extractfile(SET_FILE.format(sub_name)).read().decode().split():
                yield tuple(_pixels(archive.extractfile(file.format(line)).read()) for file in (DATA_FILE, LABEL_FILE))

    return reader


def _synthetic_reader(split):
    def reader():
        for flat, label in _synthetic.images("voc2012", _CLASSES, (3, 32, 32), 0, 255, split):
            pixels = flat.reshape(3, 32, 32).transpose(1, 2, 0).astype("uint8")
            yield pixels, np.full([32, 32], label, "uint8")

    return reader


def _reader(split, sub_name):
    if common.synthetic():
        return _synthetic_reader(split)
    return reader_creator(common.download(VOC_URL, CACHE_DIR, VOC_MD5), sub_name)


def train():
    """Returns a reader of the 2,913 images of the list ``trainval``.

    Example::

        pixels, classes = next(oarlock.dataset.voc2012.train()())
    """
    return _reader("train", "trainval")


def test():
    """Returns a reader of the 1,464 images of the list ``train``, as in Fluid.

    Example::

        pixels, classes = next(oarlock.dataset.voc2012.test()())
    """
    return _reader("test", "train")


def val():
    """Returns a reader of the 1,449 images of the list ``val``.

    Example::

        pixels, classes = next(oarlock.dataset.voc2012.val()())
    """
    return _reader("val", "val")


def fetch():
    """Downloads the data set."""
    common.download(VOC_URL, CACHE_DIR, VOC_MD5)
