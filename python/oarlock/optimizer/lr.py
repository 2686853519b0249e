"""Learning rates that a script changes between runs: ``scheduler.step()`` goes on by one, and the next run uses what
``scheduler.get_lr()`` says.

An optimizer that got a scheduler keeps its rate in a variable, which every run of its program sets first. Schedules of
``fluid.layers`` are another thing: they count runs inside the program."""

import math

from .._arguments import suggest as _suggest

__all__ = [
    "CosineAnnealingDecay", "ExponentialDecay", "InverseTimeDecay", "LRScheduler", "LambdaDecay", "LinearWarmup", "MultiStepDecay",
    "MultiplicativeDecay", "NaturalExpDecay", "NoamDecay", "PiecewiseDecay", "PolynomialDecay", "ReduceOnPlateau", "StepDecay",
]


class LRScheduler:
    """The base of all: subclasses define ``get_lr`` from ``self.last_epoch`` and ``self.base_lr``."""

    # The fields of a saved state.
    _kept = ("last_epoch", "last_lr")

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)):
            raise TypeError("learning_rate should be a number, not %r" % (learning_rate,))
        if learning_rate < 0:
            raise ValueError("Invalid learning rate: %r" % (learning_rate,))
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = last_epoch, verbose
        self.step()

    def __call__(self):
        return self.last_lr

    def step(self, epoch=None):
        """Goes on to the next epoch, or to a certain one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        if self.verbose:
            print("Epoch %s: %s set learning rate to %s." % (self.last_epoch, type(self).__name__, self.last_lr))

    def get_lr(self):
        """The rate of ``self.last_epoch``."""
        raise NotImplementedError("%s should define get_lr()" % type(self).__name__)

    def state_dict(self):
        """The state that ``set_state_dict`` restores."""
        return {name: getattr(self, name) for name in self._kept}

    def set_state_dict(self, state_dict):
        """Goes on from a saved state."""
        for name in self._kept:
            if name not in state_dict:
                raise RuntimeError("the state has no %r: save it with state_dict()" % name)
            setattr(self, name, state_dict[name])

    set_dict = set_state_dict


class _Of(LRScheduler):
    """A base rate times, or at least from, a function of the epoch."""

    def __init__(self, learning_rate, last_epoch, verbose, **settings):
        for name, value in settings.items():
            setattr(self, name, value)
        super().__init__(learning_rate, last_epoch, verbose)


class NoamDecay(_Of):
    """Grows for ``warmup_steps``, then falls with the root of the epoch."""

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        super().__init__(learning_rate, last_epoch, verbose, d_model=d_model, warmup_steps=warmup_steps)

    def get_lr(self):
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch ** -0.5
        return self.base_lr * self.d_model ** -0.5 * min(falling, self.warmup_steps ** -1.5 * self.last_epoch)


class PiecewiseDecay(_Of):
    """``values[i]`` before epoch ``boundaries[i]``, the last value afterwards."""

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        if len(values) != len(boundaries) + 1:
            raise ValueError("%d boundaries need %d values, not %d" % (len(boundaries), len(boundaries) + 1, len(values)))
        super().__init__(values[0], last_epoch, verbose, boundaries=list(boundaries), values=list(values))

    def get_lr(self):
        return self.values[sum(self.last_epoch >= boundary for boundary in self.boundaries)]


class NaturalExpDecay(_Of):
    """``rate * e^(-gamma * epoch)``."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        super().__init__(learning_rate, last_epoch, verbose, gamma=gamma)

    def get_lr(self):
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(_Of):
    """``rate / (1 + gamma * epoch)``."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        super().__init__(learning_rate, last_epoch, verbose, gamma=gamma)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(_Of):
    """From the rate to ``end_lr`` within ``decay_steps``, and there it stays, or ``cycle``s."""

    def __init__(self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False):
        if not isinstance(decay_steps, int) or decay_steps <= 0:
            raise ValueError("decay_steps should be a positive integer, not %r" % (decay_steps,))
        super().__init__(learning_rate, last_epoch, verbose, decay_steps=decay_steps, end_lr=end_lr, power=power, cycle=cycle)

    def get_lr(self):
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            steps *= max(1, math.ceil(epoch / steps))
        return (self.base_lr - self.end_lr) * (1 - min(epoch, steps) / steps) ** self.power + self.end_lr


class LinearWarmup(_Of):
    """From ``start_lr`` to ``end_lr`` within ``warmup_steps``, then a rate, or another scheduler that begins there."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, (int, float, LRScheduler)):
            raise TypeError("learning_rate should be a number or an LRScheduler, not %r" % (learning_rate,))
        if start_lr > end_lr:
            raise ValueError("start_lr %r is more than end_lr %r" % (start_lr, end_lr))
        self.learning_rate = learning_rate
        super().__init__(start_lr, last_epoch, verbose, warmup_steps=warmup_steps, start_lr=start_lr, end_lr=end_lr)

    def get_lr(self):
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if not isinstance(self.learning_rate, LRScheduler):
            return float(self.learning_rate)
        self.learning_rate.step(self.last_epoch - self.warmup_steps)
        return self.learning_rate()

    def state_dict(self):
        inner = {"LinearWarmup_LR": self.learning_rate.state_dict()} if isinstance(self.learning_rate, LRScheduler) else {}
        return dict(super().state_dict(), **inner)

    def set_state_dict(self, state_dict):
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict


class ExponentialDecay(_Of):
    """``rate * gamma^epoch``."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        super().__init__(learning_rate, last_epoch, verbose, gamma=gamma)

    def get_lr(self):
        return self.base_lr * self.gamma ** self.last_epoch


class MultiStepDecay(_Of):
    """Times ``gamma`` at every milestone."""

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if list(milestones) != sorted(set(milestones)):
            raise ValueError("milestones should grow, unlike %r" % (milestones,))
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        super().__init__(learning_rate, last_epoch, verbose, milestones=list(milestones), gamma=gamma)

    def get_lr(self):
        return self.base_lr * self.gamma ** sum(self.last_epoch >= milestone for milestone in self.milestones)


class StepDecay(_Of):
    """Times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(step_size, int) or step_size <= 0:
            raise ValueError("step_size should be a positive integer, not %r" % (step_size,))
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        super().__init__(learning_rate, last_epoch, verbose, step_size=step_size, gamma=gamma)

    def get_lr(self):
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(_Of):
    """The rate times what a function says of the epoch."""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise TypeError("lr_lambda should be a function of the epoch, not %r" % (lr_lambda,))
        super().__init__(learning_rate, last_epoch, verbose, lr_lambda=lr_lambda)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LambdaDecay):
    """The rate times what a function says of every epoch so far."""

    def get_lr(self):
        return self.base_lr * math.prod(self.lr_lambda(epoch) for epoch in range(1, self.last_epoch + 1))


class CosineAnnealingDecay(_Of):
    """Half a cosine from the rate to ``eta_min`` within ``T_max``, and back."""

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        super().__init__(learning_rate, last_epoch, verbose, T_max=T_max, eta_min=float(eta_min))

    def get_lr(self):
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class ReduceOnPlateau(LRScheduler):
    """Times ``factor`` when what ``step`` is given has not become better for ``patience`` epochs."""

    _kept = ("last_epoch", "last_lr", "best", "cooldown_counter", "num_bad_epochs")

    def __init__(self, learning_rate, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0,
                 epsilon=1e-8, verbose=False):
        if mode.lower() not in ("min", "max"):
            raise ValueError("mode: %r is unknown: min or max" % (mode,))
        if threshold_mode.lower() not in ("rel", "abs"):
            raise ValueError("threshold_mode: %r is unknown: rel or abs" % (threshold_mode,))
        if factor >= 1.0:
            raise ValueError("new_lr = origin_lr * gamma and gamma should be < 1.0.")
        if not isinstance(learning_rate, (int, float)):
            raise TypeError("learning_rate should be a number, not %r" % (learning_rate,))
        self.mode, self.threshold, self.threshold_mode = mode.lower(), threshold, threshold_mode.lower()
        self.factor, self.patience, self.cooldown, self.min_lr, self.epsilon = factor, patience, cooldown, min_lr, epsilon
        self.best, self.cooldown_counter, self.num_bad_epochs = None, 0, 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose = 0, verbose

    def step(self, metrics, epoch=None):
        """Records a loss, or another metric that should improve."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        metrics = float(metrics.item() if hasattr(metrics, "item") else metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metrics):
            self.best, self.num_bad_epochs = metrics, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lower = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - lower > self.epsilon:
                self.last_lr = lower
                if self.verbose:
                    print("Epoch %d: ReduceOnPlateau set learning rate to %s." % (self.last_epoch, lower))

    def get_lr(self):
        return self.last_lr

    def _is_better(self, value):
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1)
        return value < self.best - margin if self.mode == "min" else value > self.best + margin


_ABSENT = {"OneCycleLR", "CyclicLR", "LinearLR", "CosineAnnealingWarmRestarts"}


def __getattr__(name):
    if name in _ABSENT:
        raise NotImplementedError("paddle.optimizer.lr.%s is not supported: use LambdaDecay with its formula" % name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


_suggest(__name__)
