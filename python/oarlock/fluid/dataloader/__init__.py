"""Data sets whose samples have numbers, and the order in which ``DataLoader`` takes them."""

from .batch_sampler import BatchSampler
from .dataset import Dataset

__all__ = ["BatchSampler", "Dataset"]
