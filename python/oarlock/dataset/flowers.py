"""Oxford 102 flowers: 3 x 224 x 224 pixels, flat, and a label in [0, 101].

The real images need the packages ``scipy`` (for the labels) and ``opencv-python``.
"""

import functools
import multiprocessing
import pickle

from .. import reader as readers
from . import _synthetic, common, image

__all__ = ["test", "train", "valid"]

DATA_URL, DATA_MD5 = "http://paddlemodels.bj.bcebos.com/flowers/102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"
LABEL_URL, LABEL_MD5 = "http://paddlemodels.bj.bcebos.com/flowers/imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"
SETID_URL, SETID_MD5 = "http://paddlemodels.bj.bcebos.com/flowers/setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"

# The authors' test set is the larger one: it serves for training.
TRAIN_FLAG = "tstid"
TEST_FLAG = "trnid"
VALID_FLAG = "valid"

_CLASSES = 102
_MEAN = [103.94, 116.78, 123.68]


def default_mapper(is_train, sample):
    """The content of an image file and its label as pixels and label."""
    img, label = sample
    img = image.simple_transform(image.load_image_bytes(img), 256, 224, is_train, mean=_MEAN)
    return img.flatten().astype("float32"), label


train_mapper = functools.partial(default_mapper, True)
test_mapper = functools.partial(default_mapper, False)


def _loadmat(filename):
    try:
        import scipy.io
    except ImportError:
        raise ImportError("the labels of the flowers are in Matlab files: pip install scipy") from None
    return scipy.io.loadmat(filename)


def _read_batches(file_list):
    """(content of an image file, label) from the files that :func:`image.batch_images_from_tar` lists."""
    with open(file_list) as names:
        for name in names:
            with open(name.strip(), "rb") as f:
                batch = pickle.load(f)
            for sample, label in zip(batch["data"], batch["label"]):
                yield sample, int(label) - 1


def reader_creator(
    data_file, label_file, setid_file, dataset_name, mapper, buffered_size=1024, use_xmap=True, cycle=False
):
    """A reader of one part of the archive, through ``mapper``; in several threads with ``use_xmap``."""
    labels = _loadmat(label_file)["labels"][0]
    numbers = _loadmat(setid_file)[dataset_name][0]
    img2label = {"jpg/image_%05d.jpg" % i: labels[i - 1] for i in numbers}
    file_list = image.batch_images_from_tar(data_file, dataset_name, img2label)

    def reader():
        yield from _read_batches(file_list)
        while cycle:
            yield from _read_batches(file_list)

    if use_xmap:
        return readers.xmap_readers(mapper, reader, min(4, multiprocessing.cpu_count()), buffered_size)
    return readers.map_readers(mapper, reader)


def _synthetic_reader(split, cycle):
    def once():
        return _synthetic.images("flowers", _CLASSES, (3, 224, 224), -110, 140, split)

    def reader():
        yield from once()
        while cycle:
            yield from once()

    return reader


def _reader(split, flag, mapper, buffered_size, use_xmap, cycle=False):
    if common.synthetic():
        return _synthetic_reader(split, cycle)
    return reader_creator(*_files(), flag, mapper, buffered_size, use_xmap, cycle)


def _files():
    return (
        common.download(DATA_URL, "flowers", DATA_MD5),
        common.download(LABEL_URL, "flowers", LABEL_MD5),
        common.download(SETID_URL, "flowers", SETID_MD5),
    )


def train(mapper=train_mapper, buffered_size=1024, use_xmap=True, cycle=False):
    """A reader of the training images, cropped at random."""
    return _reader("train", TRAIN_FLAG, mapper, buffered_size, use_xmap, cycle)


def test(mapper=test_mapper, buffered_size=1024, use_xmap=True, cycle=False):
    """A reader of the test images."""
    return _reader("test", TEST_FLAG, mapper, buffered_size, use_xmap, cycle)


def valid(mapper=test_mapper, buffered_size=1024, use_xmap=True):
    """A reader of the validation images."""
    return _reader("valid", VALID_FLAG, mapper, buffered_size, use_xmap)


def fetch():
    """Downloads the data set."""
    _files()
