"""Metrics as operators."""

from ._call import layer
from ._names import fallback

__all__ = [
    "accuracy", "auc",
]

__getattr__ = fallback(__name__)


def accuracy(input, label, k=1, correct=None, total=None):
    """How often the label is among the `k` largest."""
    return layer("accuracy", locals())


def auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1):
    """The area under the curve of predictions `[batch, 2]`; counters live in the scope."""
    return layer("auc", locals())
