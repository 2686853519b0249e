"""Functions that static programs of Paddle 2 use, as operators of the program."""

from .._arguments import suggest as _suggest
from ..fluid import layers as _layers
from ..fluid.input import one_hot as _one_hot
from ..fluid.layers import log_loss, relu, sigmoid, square_error_cost, tanh

__all__ = [
    "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "log_loss", "one_hot", "relu", "sigmoid", "softmax",
    "softmax_with_cross_entropy", "square_error_cost", "tanh",
]


def softmax(x, axis=-1, dtype=None, name=None):
    """Probabilities along an axis."""
    if dtype is not None:
        x = _layers.cast(x, dtype)
    return _layers.softmax(x, name=name, axis=axis)


def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
                               return_softmax=False, axis=-1):
    """Probabilities and their loss in one operator."""
    return _layers.softmax_with_cross_entropy(
        logits, label, soft_label=soft_label, ignore_index=ignore_index, numeric_stable_mode=numeric_stable_mode,
        return_softmax=return_softmax, axis=axis,
    )


def _reduced(loss, reduction):
    if reduction == "none":
        return loss
    return {"mean": _layers.reduce_mean, "sum": _layers.reduce_sum}[reduction](loss)


def cross_entropy(input, label, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1, use_softmax=True,
                  label_smoothing=0.0, name=None):
    """The loss of classes: of logits, or of probabilities without ``use_softmax``."""
    if weight is not None or label_smoothing:
        raise NotImplementedError("cross_entropy(weight, label_smoothing) is not supported: multiply the loss, smooth the labels")
    if use_softmax:
        loss = softmax_with_cross_entropy(input, label, soft_label, ignore_index, axis=axis)
    else:
        loss = _layers.cross_entropy(input, label, soft_label, ignore_index)
    return _reduced(loss, reduction)


def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None, name=None):
    """The loss of yes and no."""
    if weight is not None or pos_weight is not None:
        raise NotImplementedError("binary_cross_entropy_with_logits(weight, pos_weight) is not supported: multiply the loss")
    return _reduced(_layers.sigmoid_cross_entropy_with_logits(logit, label), reduction)


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):
    """Sets some elements to zero while training."""
    if axis is not None:
        raise NotImplementedError("dropout(axis=...) is not supported")
    return _layers.dropout(x, p, is_test=not training, name=name, dropout_implementation=mode)


def one_hot(x, num_classes, name=None):
    """A 1 at the place of each id among zeros."""
    return _one_hot(x, num_classes)


def __getattr__(name):
    raise AttributeError("Oarlock has no paddle.nn.functional.%s" % name)


_suggest(__name__)
