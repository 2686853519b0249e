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
    """Computes a rate that falls by half a cosine: ``learning_rate * 0.5 * (cos(epoch * pi / epochs) + 1)``.

    The rate changes once per epoch, ``epoch = step // step_each_epoch``. Steps are counted by
    ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first step is 0.

    Args:
        learning_rate (float): the rate of the first step.
        step_each_epoch (float): the number of steps in an epoch.
        epochs (float): the number of epochs until the rate is 0.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.cosine_decay(0.1, step_each_epoch=1, epochs=4)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.1, 0.0854, 0.05, 0.0146, 0.0]
    """
    return layer("cosine_decay", locals())


def exponential_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """Computes a rate that falls exponentially: ``learning_rate * decay_rate ** (step / decay_steps)``.

    Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    The first step is 0.

    Args:
        learning_rate (float): the rate of the first step.
        decay_steps (float): the number of steps to which ``decay_rate`` belongs.
        decay_rate (float): the factor per ``decay_steps`` steps.
        staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
            instead of a little in every step.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.exponential_decay(0.1, decay_steps=2, decay_rate=0.5, staircase=True)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.1, 0.1, 0.05, 0.05, 0.025]
    """
    return layer("exponential_decay", locals())


def inverse_time_decay(
    learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False,
) -> Variable:
    """Computes a rate that falls with the inverse of the time:
    ``learning_rate / (1 + decay_rate * step / decay_steps)``.

    Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    The first step is 0.

    Args:
        learning_rate (float): the rate of the first step.
        decay_steps (float): the number of steps to which ``decay_rate`` belongs.
        decay_rate (float): how fast the rate falls.
        staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
            instead of a little in every step.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.inverse_time_decay(0.1, decay_steps=2, decay_rate=0.5)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.1, 0.08, 0.0667, 0.0571, 0.05]
    """
    return layer("inverse_time_decay", locals())


def linear_lr_warmup(
    learning_rate: Union[Variable, float], warmup_steps: float, start_lr: float, end_lr: float,
) -> Variable:
    """Raises the rate linearly from ``start_lr`` towards ``end_lr`` in the first ``warmup_steps`` steps; then
    ``learning_rate`` counts.

    In the warm-up the rate is ``start_lr + (end_lr - start_lr) * step / warmup_steps``. Steps are counted by
    ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first step is 0.

    Args:
        learning_rate (Variable or float): the rate after the warm-up: a number, or another schedule.
        warmup_steps (float): the number of steps in the warm-up.
        start_lr (float): the rate of the first step.
        end_lr (float): the rate that the warm-up approaches, usually ``learning_rate``.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.linear_lr_warmup(0.1, warmup_steps=4, start_lr=0.0, end_lr=0.1)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.0, 0.025, 0.05, 0.075, 0.1]
    """
    return layer("linear_lr_warmup", locals())


def natural_exp_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Variable:
    """Computes a rate that falls exponentially: ``learning_rate * exp(-decay_rate * step / decay_steps)``.

    Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    The first step is 0.

    Args:
        learning_rate (float): the rate of the first step.
        decay_steps (float): the number of steps to which ``decay_rate`` belongs.
        decay_rate (float): the exponent per ``decay_steps`` steps.
        staircase (bool): change the rate once per ``decay_steps`` steps, by rounding ``step / decay_steps`` down,
            instead of a little in every step.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.natural_exp_decay(0.1, decay_steps=2, decay_rate=0.5)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.1, 0.0779, 0.0607, 0.0472, 0.0368]
    """
    return layer("natural_exp_decay", locals())


def noam_decay(d_model: float, warmup_steps: float, learning_rate: float = 1.0) -> Variable:
    """Computes the schedule of the Transformer:
    ``learning_rate * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5)``.

    The rate grows linearly for ``warmup_steps`` steps and then falls with the square root of the step. Steps are
    counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program. The first
    step is 1.

    Args:
        d_model (float): the width of the model.
        warmup_steps (float): the steps in which the rate grows.
        learning_rate (float): a factor of the rate.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.noam_decay(d_model=1, warmup_steps=4)
        >>> optimizer = fluid.optimizer.Adam(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.125, 0.25, 0.375, 0.5, 0.4472]
    """
    return layer("noam_decay", locals())


def piecewise_decay(boundaries: Union[Sequence[Any]], values: Union[Sequence[Any]]) -> Variable:
    """Takes a rate from a list by the number of the step: ``values[i]`` before step ``boundaries[i]``, and the last
    value from the last boundary on.

    Steps are counted by ``@LR_DECAY_COUNTER@``, a persistable variable that grows by 1 in every run of the program.
    The first step is 0.

    Args:
        boundaries (list or tuple): the steps at which the rate changes, in increasing order.
        values (list or tuple): the rates, one more than boundaries.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Raises:
        ValueError: ``values`` does not have one element more than ``boundaries``.

    Example:
        >>> rate = fluid.layers.piecewise_decay(boundaries=[2, 3], values=[1.0, 0.5, 0.1])
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [1.0, 1.0, 0.5, 0.1, 0.1]
    """
    return layer("piecewise_decay", locals())


def polynomial_decay(
    learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001, power: float = 1.0,
    cycle: bool = False,
) -> Variable:
    """Computes a rate that falls by a polynomial:
    ``(learning_rate - end_learning_rate) * (1 - step / decay_steps) ** power + end_learning_rate``.

    After ``decay_steps`` steps it stays at ``end_learning_rate``. Steps are counted by ``@LR_DECAY_COUNTER@``, a
    persistable variable that grows by 1 in every run of the program. The first step is 0.

    Args:
        learning_rate (float): the rate of the first step.
        decay_steps (float): the number of steps in which the rate falls.
        end_learning_rate (float): the last rate.
        power (float): the exponent; 1: a straight line.
        cycle (bool): begin again after ``decay_steps`` steps: the rate jumps up to the same polynomial over twice
            the steps, then three times, and so on.

    Returns:
        Variable: float32 ``[1]``; pass it to an optimizer as ``learning_rate``.

    Example:
        >>> rate = fluid.layers.polynomial_decay(0.1, decay_steps=4, end_learning_rate=0.02)
        >>> optimizer = fluid.optimizer.SGD(learning_rate=rate)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> print([round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(5)])
        [0.1, 0.08, 0.06, 0.04, 0.02]
    """
    return layer("polynomial_decay", locals())
