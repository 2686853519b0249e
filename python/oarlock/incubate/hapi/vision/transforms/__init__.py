"""Random changes of images."""

from . import transforms
from .transforms import BrightnessTransform, ColorJitter, ContrastTransform, HueTransform, SaturationTransform

__all__ = transforms.__all__
