"""Learning-rate schedules: the returned variable is an optimizer's rate."""

from ._call import layer
from ._names import fallback

__all__ = [
    "cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup", "natural_exp_decay",
    "noam_decay", "piecewise_decay", "polynomial_decay",
]

__getattr__ = fallback(__name__)


def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """The schedule of the Transformer: grows linearly for ``warmup_steps``, then falls with the square root of the step."""
    return layer("noam_decay", locals())


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate * decay_rate ** (step / decay_steps)``; with ``staircase`` the exponent is rounded down.

    Example:
        >>> rate = fluid.layers.exponential_decay(0.1, decay_steps=1000, decay_rate=0.9, staircase=True)
        >>> optimizer = fluid.optimizer.SGD(rate)
    """
    return layer("exponential_decay", locals())


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """`rate * exp(-decay_rate * step / decay_steps)`."""
    return layer("natural_exp_decay", locals())


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """`rate / (1 + decay_rate * step / decay_steps)`."""
    return layer("inverse_time_decay", locals())


def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """Falls from ``learning_rate`` to ``end_learning_rate`` in ``decay_steps`` by a polynomial; with ``cycle`` it starts
    again over longer periods."""
    return layer("polynomial_decay", locals())


def piecewise_decay(boundaries, values):
    """``values[i]`` up to step ``boundaries[i]``, and the last value afterwards."""
    return layer("piecewise_decay", locals())


def cosine_decay(learning_rate, step_each_epoch, epochs):
    """Half a cosine over ``epochs``; the rate changes once per epoch."""
    return layer("cosine_decay", locals())


def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From `start_lr` to `end_lr` in `warmup_steps`, then `learning_rate`, which may be another schedule."""
    return layer("linear_lr_warmup", locals())
