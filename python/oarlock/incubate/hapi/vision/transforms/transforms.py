"""Random changes of the colours of images ``[height, width, 3]`` in the order blue, green, red, with values from 0 to 255."""

import random

import numpy as np

__all__ = ["BrightnessTransform", "ColorJitter", "ContrastTransform", "HueTransform", "SaturationTransform"]

# Weights of blue, green and red in grey.
_GREY = np.array([0.114, 0.587, 0.299], "float32")


class _Change:
    """A change by a random factor around 1."""

    what = ""

    def __init__(self, value):
        if value < 0:
            raise ValueError("%s value should be non-negative" % self.what)
        self.value = value

    def __call__(self, img):
        if self.value == 0:
            return img
        alpha = np.random.uniform(max(0, 1 - self.value), 1 + self.value)
        return self._changed(img.astype("float32"), alpha).clip(0, 255).astype(img.dtype)


class BrightnessTransform(_Change):
    """Multiplies an image by a random factor.

    Args:
        value (float): the factor is between ``1 - value``, but at least 0, and ``1 + value``.

    Example:
        >>> from oarlock.incubate.hapi.vision import BrightnessTransform
        >>> BrightnessTransform(0.4)(np.zeros([2, 2, 3], "uint8")).shape
        (2, 2, 3)
    """

    what = "brightness"

    def _changed(self, img, alpha):
        return img * alpha


class ContrastTransform(_Change):
    """Moves an image towards, or away from, its mean grey.

    Args:
        value (float): the factor is between ``1 - value``, but at least 0, and ``1 + value``.

    Example:
        >>> from oarlock.incubate.hapi.vision import ContrastTransform
        >>> ContrastTransform(0.4)(np.zeros([2, 2, 3], "uint8")).shape
        (2, 2, 3)
    """

    what = "contrast"

    def _changed(self, img, alpha):
        return img * alpha + (img @ _GREY).mean() * (1 - alpha)


class SaturationTransform(_Change):
    """Moves every pixel towards, or away from, its grey.

    Args:
        value (float): the factor is between ``1 - value``, but at least 0, and ``1 + value``.

    Example:
        >>> from oarlock.incubate.hapi.vision import SaturationTransform
        >>> SaturationTransform(0.4)(np.zeros([2, 2, 3], "uint8")).shape
        (2, 2, 3)
    """

    what = "saturation"

    def _changed(self, img, alpha):
        return img * alpha + (img @ _GREY)[..., np.newaxis] * (1 - alpha)


class HueTransform:
    """Turns the hue of all pixels by a random angle.

    Args:
        value (float): the angle is between ``-value`` and ``value`` of a full turn; from 0 to 0.5.

    Example:
        >>> from oarlock.incubate.hapi.vision import HueTransform
        >>> HueTransform(0.4)(np.zeros([2, 2, 3], "uint8")).shape
        (2, 2, 3)
    """

    def __init__(self, value):
        if not 0 <= value <= 0.5:
            raise ValueError("hue value should be in [0.0, 0.5]")
        self.value = value

    def __call__(self, img):
        if self.value == 0:
            return img
        hue, saturation, value = _to_hsv(img.astype("uint8"))
        turn = int(np.random.uniform(-self.value, self.value) * 255)
        return _from_hsv((hue + turn) % 256, saturation, value).astype(img.dtype)


def _to_hsv(img):
    """Hue, from 0 to 255 for a full turn, saturation and value, rounded to whole numbers."""
    blue, green, red = (img[..., i].astype("float64") for i in range(3))
    value = np.maximum(np.maximum(blue, green), red)
    span = value - np.minimum(np.minimum(blue, green), red)
    safe = np.where(span == 0, 1, span)
    sixth = np.where(value == red, (green - blue) / safe, np.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe))
    hue = np.where(span == 0, 0, np.rint(sixth * 256 / 6) % 256)
    saturation = np.where(value == 0, 0, np.rint(span * 255 / np.where(value == 0, 1, value)))
    return hue, saturation, value


def _from_hsv(hue, saturation, value):
    """The colours of hue, saturation and value."""
    # 255 and 256 both stand for a full turn, as in OpenCV.
    sixth, share = hue * 6 / 255, saturation / 255
    sector = np.floor(sixth).astype(int) % 6
    part = sixth - np.floor(sixth)
    low, falling, rising = value * (1 - share), value * (1 - share * part), value * (1 - share * (1 - part))
    # Of each sixth of a turn: blue, green, red.
    options = [(low, rising, value), (low, value, falling), (rising, value, low), (value, falling, low), (value, low, rising),
               (falling, low, value)]
    channels = [np.choose(sector, [option[i] for option in options]) for i in range(3)]
    return np.rint(np.stack(channels, -1)).clip(0, 255)


class ColorJitter:
    """Changes brightness, contrast, saturation and hue at random, in an order that is drawn once.

    Args:
        brightness (float), contrast (float), saturation (float), hue (float): as those of the classes above; 0 for no change.

    Example:
        >>> from oarlock.incubate.hapi.vision import ColorJitter
        >>> ColorJitter(0.4, 0.4, 0.4, 0.4)(np.zeros([2, 2, 3], "uint8")).shape
        (2, 2, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        kinds = ((BrightnessTransform, brightness), (ContrastTransform, contrast), (SaturationTransform, saturation), (HueTransform, hue))
        self.transforms = [kind(value) for kind, value in kinds if value != 0]
        random.shuffle(self.transforms)

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img
