"""Images from files, resized, cropped and flipped. Reading and resizing need the package ``opencv-python``.

Arrays are height, width, channel (blue, green, red) as OpenCV has them; :func:`to_chw` puts the channel first.
"""

import os
import pickle
import tarfile

import numpy as np

__all__ = [
    "batch_images_from_tar", "center_crop", "left_right_flip", "load_and_transform", "load_image", "load_image_bytes",
    "random_crop", "resize_short", "simple_transform", "to_chw",
]


def _cv2():
    try:
        import cv2
    except ImportError:
        raise ImportError("reading and resizing images needs OpenCV: pip install opencv-python-headless") from None
    return cv2


def batch_images_from_tar(data_file, dataset_name, img2label, num_per_batch=1024):
    """Splits the images of an archive over files of ``num_per_batch``; the path of a text that lists them."""
    out_path = os.path.join(data_file + "_batch", dataset_name)
    meta_file = out_path + ".txt"
    if os.path.exists(meta_file):
        return meta_file
    os.makedirs(out_path, exist_ok=True)
    written = []

    def write(images, labels):
        path = os.path.abspath(os.path.join(out_path, "batch_%d" % len(written)))
        with open(path, "wb") as f:
            pickle.dump({"label": labels, "data": images}, f, protocol=2)
        written.append(path)

    images, labels = [], []
    with tarfile.open(data_file) as archive:
        for member in archive:
            if member.name not in img2label:
                continue
            images.append(archive.extractfile(member).read())
            labels.append(img2label[member.name])
            if len(images) == num_per_batch:
                write(images, labels)
                images, labels = [], []
    if images:
        write(images, labels)
    # Last, and in one step: where this file exists, all batches do.
    with open(meta_file + ".part", "w") as f:
        f.writelines(path + "\n" for path in written)
    os.replace(meta_file + ".part", meta_file)
    return meta_file


def load_image_bytes(bytes, is_color=True):
    """An image from the content of a file."""
    return _cv2().imdecode(np.frombuffer(bytes, np.uint8), 1 if is_color else 0)


def load_image(file, is_color=True):
    """An image from a file."""
    return _cv2().imread(file, 1 if is_color else 0)


def resize_short(im, size):
    """Resizes so that the shorter edge is ``size``."""
    cv2 = _cv2()
    h, w = im.shape[:2]
    h_new, w_new = (size * h // w, size) if h > w else (size, size * w // h)
    return cv2.resize(im, (w_new, h_new), interpolation=cv2.INTER_CUBIC)


def to_chw(im, order=(2, 0, 1)):
    """Transposes from height, width, channel to channel, height, width."""
    if im.ndim != len(order):
        raise ValueError("an image of %d dimensions cannot be transposed by %r" % (im.ndim, order))
    return im.transpose(order)


def center_crop(im, size, is_color=True):
    """The square of ``size`` in the middle."""
    top, left = (im.shape[0] - size) // 2, (im.shape[1] - size) // 2
    return im[top:top + size, left:left + size]


def random_crop(im, size, is_color=True):
    """A square of ``size`` somewhere."""
    top, left = np.random.randint(0, im.shape[0] - size + 1), np.random.randint(0, im.shape[1] - size + 1)
    return im[top:top + size, left:left + size]


def left_right_flip(im, is_color=True):
    """The mirror image."""
    return im[:, ::-1]


def simple_transform(im, resize_size, crop_size, is_train, is_color=True, mean=None):
    """Resize, crop and, in training, flip at random; channels first, as float32, less ``mean``."""
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        if np.random.randint(2) == 0:
            im = left_right_flip(im, is_color)
    else:
        im = center_crop(im, crop_size, is_color)
    if im.ndim == 3:
        im = to_chw(im)
    im = im.astype("float32")
    if mean is not None:
        mean = np.array(mean, dtype=np.float32)
        # One value a channel, or one a pixel.
        im -= mean[:, None, None] if mean.ndim == 1 and is_color else mean
    return im


def load_and_transform(filename, resize_size, crop_size, is_train, is_color=True, mean=None):
    """:func:`load_image`, then :func:`simple_transform`."""
    return simple_transform(load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean)
