"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup", "natural_exp_decay", "noam_decay",
    "piecewise_decay", "polynomial_decay",
]


def cosine_decay(learning_rate: float, step_each_epoch: float, epochs: float) -> Variable:
    """Half a cosine over ``epochs``; the rate changes once per epoch.

    Args:
        learning_rate (float): the first learning rate.
        step_each_epoch (float): steps per epoch.
        epochs (float): epochs until the rate is 0.

    Returns:
        Variable: the result.
    """
    return layer("cosine_decay", locals())


def exponential_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """``learning_rate * decay_rate ** (step / decay_steps)``; with ``staircase`` the exponent is rounded down.

    Args:
        learning_rate (float): the first learning rate.
        decay_steps (float): steps per decay.
        decay_rate (float): the factor per ``decay_steps`` steps.
        staircase (bool): decay once per ``decay_steps`` steps instead of a little in every step.

    Returns:
        Variable: the result.

    Example:
        >>> rate = fluid.layers.exponential_decay(0.1, decay_steps=1000, decay_rate=0.9, staircase=True)
        >>> optimizer = fluid.optimizer.SGD(rate)
    """
    return layer("exponential_decay", locals())


def inverse_time_decay(
    learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False,
) -> Variable:
    """`rate / (1 + decay_rate * step / decay_steps)`.

    Args:
        learning_rate (float): the first learning rate.
        decay_steps (float): steps per decay.
        decay_rate (float): the factor per ``decay_steps`` steps.
        staircase (bool): decay once per ``decay_steps`` steps instead of a little in every step.

    Returns:
        Variable: the result.
    """
    return layer("inverse_time_decay", locals())


def linear_lr_warmup(
    learning_rate: Union[Variable, float], warmup_steps: float, start_lr: float, end_lr: float,
) -> Variable:
    """From `start_lr` to `end_lr` in `warmup_steps`, then `learning_rate`, which may be another schedule.

    Args:
        learning_rate (Variable or float): the rate after the warm-up: a number or a schedule.
        warmup_steps (float): steps in which the rate grows.
        start_lr (float): the rate of the first step.
        end_lr (float): the rate at the end of the warm-up.

    Returns:
        Variable: the result.
    """
    return layer("linear_lr_warmup", locals())


def natural_exp_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """`rate * exp(-decay_rate * step / decay_steps)`.

    Args:
        learning_rate (float): the first learning rate.
        decay_steps (float): steps per decay.
        decay_rate (float): the factor per ``decay_steps`` steps.
        staircase (bool): decay once per ``decay_steps`` steps instead of a little in every step.

    Returns:
        Variable: the result.
    """
    return layer("natural_exp_decay", locals())


def noam_decay(d_model: float, warmup_steps: float, learning_rate: float = 1.0) -> Variable:
    """The schedule of the Transformer: grows linearly for ``warmup_steps``, then falls with the square root of the step.

    Args:
        d_model (float): the width of the model.
        warmup_steps (float): steps in which the rate grows.
        learning_rate (float): a factor.

    Returns:
        Variable: the result.
    """
    return layer("noam_decay", locals())


def piecewise_decay(boundaries: Sequence[Any], values: Sequence[Any]) -> Variable:
    """``values[i]`` up to step ``boundaries[i]``, and the last value afterwards.

    Args:
        boundaries (list): steps at which the rate changes.
        values (list): the rates, one more than boundaries.

    Returns:
        Variable: the result.
    """
    return layer("piecewise_decay", locals())


def polynomial_decay(
    learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001, power: float = 1.0,
    cycle: bool = False,
) -> Variable:
    """Falls from ``learning_rate`` to ``end_learning_rate`` in ``decay_steps`` by a polynomial; with ``cycle`` it starts
    again over longer periods.

    Args:
        learning_rate (float): the first learning rate.
        decay_steps (float): steps per decay.
        end_learning_rate (float): the last learning rate.
        power (float): the exponent.
        cycle (bool): begin anew after ``decay_steps`` steps, with longer periods.

    Returns:
        Variable: the result.
    """
    return layer("polynomial_decay", locals())
