"""Learning-rate schedules of eager mode: objects that an optimizer asks for the rate in every step."""

import math
import warnings

import numpy as np

from ..._core import VarBase
from .. import unique_name
from ..data_feeder import check_type
from ..framework import Variable

__all__ = [
    "NoamDecay", "PiecewiseDecay", "NaturalExpDecay", "ExponentialDecay", "InverseTimeDecay", "PolynomialDecay", "CosineDecay",
    "LinearLrWarmup", "ReduceLROnPlateau", "StepDecay", "MultiStepDecay", "LambdaDecay",
]


class LearningRateDecay:
    """The base of schedules: ``step`` gives the rate of the current step, and a call of the object also goes on to the next one.

    Args:
        begin (int), step (int): the first step, and how far each call goes.
        dtype (str): of the rate.
    """

    def __init__(self, begin=0, step=1, dtype="float32"):
        self.step_num, self.step_size, self.dtype = begin, step, dtype

    def __call__(self):
        rate = self.step()
        if isinstance(rate, float):
            rate = self.create_lr_var(rate)
        self.step_num += self.step_size
        return rate

    def create_lr_var(self, lr):
        """Returns a rate as a tensor.

        Args:
            lr (float): the rate.
        """
        made = VarBase(np.array([lr], self.dtype))
        made._name = unique_name.generate("learning_rate")
        return made

    def state_dict(self):
        """Returns what ``set_dict`` needs to go on from here: a dict of numbers."""
        self._state_keys()
        found = {}
        for key in self.keys:
            if key in self.__dict__:
                value = self.__dict__[key]
                if isinstance(value, Variable):
                    if list(value.shape) != [1]:
                        raise AssertionError("shape of Variable in state_dict must be [1] {}".format(value.shape))
                    value = value.numpy()[0]
                found[key] = value
        return found

    def _state_keys(self):
        self.keys = ["step_num"]

    def set_dict(self, state_dict):
        """Goes on from where ``state_dict`` was called.

        Args:
            state_dict (dict): what it returned.
        """
        self._state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError("Please check whether state_dict is correct for optimizer. Can't find [ {} ] in state_dict".format(key))
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            warnings.warn("There are some unused values in state_dict. Maybe the optimizer have different 'LearningRateDecay' when "
                          "invoking state_dict and set_dict", stacklevel=2)

    def step(self):
        """Belongs to derived classes: returns the rate of the current step."""
        raise NotImplementedError("step belongs to classes derived from LearningRateDecay")


class PiecewiseDecay(LearningRateDecay):
    """Constant between boundaries.

    Args:
        boundaries (list): the steps at which the next value begins.
        values (list): one more than boundaries.
        begin (int), step (int), dtype (str): as those of the base.

    Example:
        >>> with fluid.dygraph.guard():
        ...     rate = fluid.dygraph.PiecewiseDecay([2], [1.0, 0.5], 0)
        ...     print([float(rate()) for _ in range(4)])
        [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, boundaries, values, begin, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.boundaries, self.values = boundaries, values
        self.vars = list(values)

    def step(self):
        """Returns the rate of the current step."""
        for at, boundary in enumerate(self.boundaries):
            if self.step_num < boundary:
                return self.vars[at]
        return self.create_lr_var(self.vars[len(self.values) - 1])


class _ByQuotient(LearningRateDecay):
    """The base of schedules by the number of steps over ``decay_steps``.

    Args:
        learning_rate (float): the first rate.
        decay_steps (int), decay_rate (float): how fast the rate falls.
        staircase (bool): in steps of ``decay_steps``.
        begin (int), step (int), dtype (str): as those of the base.
    """

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.decay_rate, self.staircase = learning_rate, decay_steps, decay_rate, staircase

    def step(self):
        """Returns the rate of the current step."""
        number = np.dtype(self.dtype).type
        quotient = number(self.step_num / self.decay_steps)
        return self.create_lr_var(self._rate(np.floor(quotient) if self.staircase else quotient, number))


class NaturalExpDecay(_ByQuotient):
    """``learning_rate * exp(-decay_rate * step / decay_steps)``.

    Args:
        learning_rate (float), decay_steps (int), decay_rate (float), staircase (bool): with ``staircase`` the quotient is rounded down.
        begin (int), step (int), dtype (str): the first step, how far each call goes, the element type.
    """

    def _rate(self, quotient, number):
        return number(self.learning_rate) * np.exp(number(-self.decay_rate) * quotient)


class ExponentialDecay(_ByQuotient):
    """``learning_rate * decay_rate ** (step / decay_steps)``.

    Args:
        learning_rate (float), decay_steps (int), decay_rate (float), staircase (bool): with ``staircase`` the quotient is rounded down.
        begin (int), step (int), dtype (str): the first step, how far each call goes, the element type.
    """

    def _rate(self, quotient, number):
        return number(self.learning_rate) * number(self.decay_rate) ** quotient


class InverseTimeDecay(_ByQuotient):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``.

    Args:
        learning_rate (float), decay_steps (int), decay_rate (float), staircase (bool): with ``staircase`` the quotient is rounded down.
        begin (int), step (int), dtype (str): the first step, how far each call goes, the element type.
    """

    def _rate(self, quotient, number):
        return number(self.learning_rate) / (number(1) + number(self.decay_rate) * quotient)


class PolynomialDecay(LearningRateDecay):
    """``(learning_rate - end) * (1 - step / decay_steps) ** power + end``.

    Args:
        learning_rate (float), decay_steps (int): the first rate, and how many steps it falls.
        end_learning_rate (float), power (float): the last rate, and the exponent.
        cycle (bool): begins anew, each time over more steps.
        begin (int), step (int), dtype (str): as those of the base.
    """

    def __init__(self, learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.end_learning_rate = learning_rate, decay_steps, end_learning_rate
        self.power, self.cycle = power, cycle

    def step(self):
        """Returns the rate of the current step."""
        number = np.dtype(self.dtype).type
        steps = number(self.decay_steps)
        if self.cycle:
            steps *= np.ceil(number(self.step_num / float(self.decay_steps))) if self.step_num else number(1)
        at = number(self.step_num if self.cycle else min(self.step_num, self.decay_steps))
        share = (number(1) - at / steps) ** number(self.power)
        return self.create_lr_var(number(self.learning_rate - self.end_learning_rate) * share + number(self.end_learning_rate))


class CosineDecay(LearningRateDecay):
    """``learning_rate * (cos(epoch * pi / epochs) + 1) / 2``.

    Args:
        learning_rate (float), step_each_epoch (int), epochs (int): the first rate, steps of an epoch, and how many epochs.
        begin (int), step (int), dtype (str): as those of the base.
    """

    def __init__(self, learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.step_each_epoch, self.epochs = learning_rate, step_each_epoch, epochs

    def step(self):
        """Returns the rate of the current step."""
        number = np.dtype(self.dtype).type
        epoch = np.floor(number(self.step_num / self.step_each_epoch))
        return self.create_lr_var(number(self.learning_rate * 0.5) * (np.cos(epoch * number(math.pi) / number(self.epochs)) + number(1)))


class NoamDecay(LearningRateDecay):
    """Rises over ``warmup_steps``, then falls with the root of the step.

    Args:
        d_model (int): the width of the model.
        warmup_steps (int): how many steps it rises.
        begin (int), step (int), dtype (str): as those of the base.
        learning_rate (float): a factor.
    """

    def __init__(self, d_model, warmup_steps, begin=1, step=1, dtype="float32", learning_rate=1.0):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.d_model, self.warmup_steps = learning_rate, d_model, warmup_steps

    def step(self):
        """Returns the rate of the current step."""
        number = np.dtype(self.dtype).type
        low = min(number(self.step_num ** -0.5), number(self.warmup_steps ** -1.5 * self.step_num))
        return self.create_lr_var(number(self.learning_rate * self.d_model ** -0.5) * low)


class LinearLrWarmup(LearningRateDecay):
    """Rises to a rate or a schedule.

    Args:
        learning_rate (float or LearningRateDecay): the rate after ``warmup_steps``.
        warmup_steps (int): how many steps it rises.
        start_lr (float), end_lr (float): their difference is the rise; it begins at 0, as in Fluid 1.8.
        begin (int), step (int), dtype (str): as those of the base.
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        if not isinstance(learning_rate, (float, int, LearningRateDecay)):
            raise TypeError("the type of learning_rate should be [int, float or LearningRateDecay], the current type is {}".format(
                learning_rate))
        if not end_lr > start_lr:
            raise AssertionError("end_lr {} must be greater than start_lr {}".format(end_lr, start_lr))
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.lr_ratio_before_warmup = (float(end_lr) - float(start_lr)) / float(warmup_steps)

    def step(self):
        """Returns the rate of the current step."""
        rate = self.learning_rate
        if isinstance(rate, LearningRateDecay):
            rate = rate()
        return self.lr_ratio_before_warmup * self.step_num if self.step_num < self.warmup_steps else rate


class ReduceLROnPlateau(LearningRateDecay):
    """Falls when a loss stops getting better; call ``step(loss)`` after each epoch.

    Args:
        learning_rate (float or Variable): the first rate.
        mode (str): ``min`` for a loss, ``max`` for a score.
        decay_rate (float): the factor.
        patience (int): how many epochs without a better loss are endured.
        verbose (bool): prints changes.
        threshold (float), threshold_mode (str): by how much a loss must be better, ``rel`` or ``abs``.
        cooldown (int): epochs after a change that are not looked at.
        min_lr (float): the smallest rate.
        eps (float): smaller changes are not made.
        dtype (str): of the rate.
    """

    def __init__(self, learning_rate, mode="min", decay_rate=0.1, patience=10, verbose=False, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0, eps=1e-8, dtype="float32"):
        super().__init__(dtype=dtype)
        mode, threshold_mode = mode.lower(), threshold_mode.lower()
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if decay_rate >= 1.0:
            raise ValueError("new_lr = origin_lr * decay_rate and decay_rate should be < 1.0.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        check_type(learning_rate, "learning_rate", (float, int, Variable), "ReduceLROnPlateau")
        self.mode, self.threshold_mode, self.learning_rate = mode, threshold_mode, learning_rate
        self.decay_rate, self.min_lr = self.create_lr_var(decay_rate), self.create_lr_var(min_lr)
        self.verbose, self.patience, self.threshold, self.cooldown, self.eps = verbose, patience, threshold, cooldown, eps
        self.cooldown_counter, self.best_loss, self.num_bad_epochs, self.epoch_num = 0, None, 0, 0

    def _state_keys(self):
        self.keys = ["cooldown_counter", "best_loss", "num_bad_epochs", "epoch_num", "learning_rate"]

    def __call__(self):
        if not isinstance(self.learning_rate, Variable):
            self.learning_rate = self.create_lr_var(self.learning_rate)
        return self.learning_rate

    def step(self, loss):
        """Notes the loss of an epoch, and lowers the rate if it is time.

        Args:
            loss (Variable): one number.
        """
        check_type(loss, "loss", Variable, "ReduceLROnPlateau.step")
        if list(loss.shape) != [1]:
            raise AssertionError("the loss.shape should be (1L,), but the current loss.shape is {}. Maybe that you should call "
                                 "fluid.layers.mean to process it first.".format(loss.shape))
        self.epoch_num += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best_loss is None or self._is_better(float(loss), float(self.best_loss)):
            self.best_loss, self.num_bad_epochs = loss, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            self._lower()

    def _lower(self):
        number = np.dtype(self.dtype).type
        old = number(float(self()))
        new = max(old * number(float(self.decay_rate)), number(float(self.min_lr)))
        if old - new > self.eps:
            if self.verbose:
                print("Epoch {}: reducing learning rate from {} to {}.".format(self.epoch_num, old, new))
            self.learning_rate = self.create_lr_var(new)

    def _is_better(self, current, best):
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return current < best - margin if self.mode == "min" else current > best + margin


class _LearningRateEpochDecay(LearningRateDecay):
    """The base of schedules by epochs: ``epoch()`` goes on to the next one.

    Args:
        learning_rate (float): the first rate.
        dtype (str): of the rate.
    """

    def __init__(self, learning_rate, dtype=None):
        if not isinstance(learning_rate, (float, int)):
            raise TypeError("The type of 'learning_rate' must be 'float, int', but received %s." % type(learning_rate))
        if learning_rate < 0:
            raise ValueError("Invalid learning rate: {}".format(learning_rate))
        self.base_lr, self.epoch_num = float(learning_rate), -1
        self.dtype = "float32" if dtype is None else dtype
        self.learning_rate = self.create_lr_var(self.base_lr)
        self.epoch()

    def _state_keys(self):
        self.keys = ["epoch_num", "learning_rate"]

    def __call__(self):
        if not isinstance(self.learning_rate, Variable):
            self.learning_rate = self.create_lr_var(self.learning_rate)
        return self.learning_rate

    def epoch(self, epoch=None):
        """Goes on to an epoch.

        Args:
            epoch (int): its number; the next one by default.
        """
        self.epoch_num = self.epoch_num + 1 if epoch is None else epoch
        self.learning_rate = self.get_lr()

    def get_lr(self):
        """Belongs to derived classes: returns the rate of the epoch."""
        raise NotImplementedError("get_lr belongs to derived classes")

    def _decayed(self, decay_rate, times):
        number = np.dtype(self.dtype).type
        return self.create_lr_var(number(self.base_lr) * number(decay_rate) ** number(times))


class StepDecay(_LearningRateEpochDecay):
    """Falls every ``step_size`` epochs.

    Args:
        learning_rate (float), step_size (int), decay_rate (float): the first rate, the epochs, the factor.
    """

    def __init__(self, learning_rate, step_size, decay_rate=0.1):
        if not isinstance(step_size, int):
            raise TypeError("The type of 'step_size' must be 'int', but received %s." % type(step_size))
        if decay_rate >= 1.0:
            raise ValueError("decay_rate should be < 1.0.")
        self.step_size, self.decay_rate = step_size, decay_rate
        super().__init__(learning_rate)

    def get_lr(self):
        """Returns the rate of the epoch."""
        return self._decayed(self.decay_rate, self.epoch_num // self.step_size)


class MultiStepDecay(_LearningRateEpochDecay):
    """Falls at milestones.

    Args:
        learning_rate (float), milestones (list), decay_rate (float): the first rate, the epochs at which it falls, the factor.
    """

    def __init__(self, learning_rate, milestones, decay_rate=0.1):
        if not isinstance(milestones, (tuple, list)):
            raise TypeError("The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list', but received %s." % type(milestones))
        if any(late <= early for early, late in zip(milestones, milestones[1:])):
            raise ValueError("The elements of milestones must be incremented")
        if decay_rate >= 1.0:
            raise ValueError("decay_rate should be < 1.0.")
        self.milestones, self.decay_rate = milestones, decay_rate
        super().__init__(learning_rate)

    def get_lr(self):
        """Returns the rate of the epoch."""
        passed = next((at for at, epoch in enumerate(self.milestones) if self.epoch_num < epoch), len(self.milestones))
        return self._decayed(self.decay_rate, passed)


class LambdaDecay(_LearningRateEpochDecay):
    """``learning_rate * lr_lambda(epoch)``.

    Args:
        learning_rate (float): the first rate.
        lr_lambda (callable): from the number of an epoch to a factor.
    """

    def __init__(self, learning_rate, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError("The type of 'lr_lambda' in 'LambdaDecay' must be 'function', but received %s." % type(lr_lambda))
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate)

    def get_lr(self):
        """Returns the rate of the epoch."""
        return self.base_lr * self.lr_lambda(self.epoch_num)
