"""The part of optimizers that belongs to eager mode: updates by gradients that ``backward`` left, and state dicts."""

import numpy as np

from .. import _core


def is_decay(rate):
    """Whether a learning rate is a schedule of ``fluid.dygraph``.

    Args:
        rate: the learning rate.
    """
    from .dygraph.learning_rate_scheduler import LearningRateDecay

    return isinstance(rate, LearningRateDecay)


def _by_epochs(rate):
    from .dygraph.learning_rate_scheduler import _LearningRateEpochDecay

    return isinstance(rate, _LearningRateEpochDecay)


def _number(rate):
    return rate if isinstance(rate, (int, float)) else float(rate.numpy().reshape(-1)[0])


def _array(value, name):
    if isinstance(value, _core.VarBase):
        return value.numpy()
    if isinstance(value, np.ndarray):
        return value
    raise RuntimeError("State dict type {} of {} not supprt".format(type(value), name))


class EagerUpdates:
    """Updates the parameters of an optimizer.

    Args:
        rule (str): the rule of the optimizer.
        settings (dict): its arguments.
        rate (float or LearningRateDecay): its learning rate.
    """

    def __init__(self, rule, settings, rate):
        self.rate = rate
        # The rate of the last step.
        self.last_rate = None
        self._decays = settings.get("regularization") is not None
        self._core = _core.EagerOptimizer(rule, dict(settings, learning_rate=0.0))

    def step(self, pairs):
        """Updates parameters.

        Args:
            pairs (list): of parameter and gradient.
        """
        rate = self.rate() if is_decay(self.rate) else self.rate
        self.last_rate = np.float32(_number(rate))
        given = []
        for param, grad in pairs:
            if grad is not None and param.trainable:
                # Weight decay is added to the gradient: to a copy of the one that users see.
                grad = grad.detach() if self._decays or param.regularizer is not None else grad
                given.append((param, grad, float(param.optimize_attr["learning_rate"]), param.regularizer, param.gradient_clip_attr))
        self._core.step(float(self.last_rate), given)

    def current_rate(self):
        """Returns the rate of the last step, before the first one that of the first."""
        if self.last_rate is not None:
            return self.last_rate
        if not is_decay(self.rate):
            return self.rate
        rate = self.rate() if _by_epochs(self.rate) else self.rate.step()
        return rate if isinstance(rate, (int, float)) else rate.numpy()[0]

    def names(self):
        """Returns the names of the state."""
        return [name for name, _ in self._core.state()]

    def state_dict(self):
        """Returns the state by name."""
        found = {}
        for name, array in self._core.state():
            found[name] = made = _core.VarBase(array)
            made._name, made.persistable = name, True
        if is_decay(self.rate):
            found["LR_Scheduler"] = self.rate.state_dict()
            if not _by_epochs(self.rate):
                step = found["global_step"] = _core.VarBase(np.array([self.rate.step_num], "int32"))
                step._name = "global_step"
        return found

    def set_dict(self, state):
        """Takes over state.

        Args:
            state (dict): arrays or tensors by name.
        """
        if is_decay(self.rate):
            self.rate.set_dict(state["LR_Scheduler"])
            if not _by_epochs(self.rate):
                if "global_step" not in state:
                    raise AssertionError("Global step not in state dict, Dygraph use LearningRateDecay, global_step must in state_dict")
                step = _array(state["global_step"], "global_step")
                if step.shape != (1,):
                    raise AssertionError("global step shape is (1,), the shape is {}".format(step.shape))
                self.rate.step_num = int(step[0])
        for name, current in self._core.state():
            if name not in state:
                raise AssertionError("optimizer variable {} not found".format(name))
            value = _array(state[name], name)
            if current.shape != value.shape or current.dtype != value.dtype:
                raise AssertionError(
                    "Parameter shape or dtype not match, Dygraph Parameter [ {} ] need {} {} but load {} {}".format(
                        name, current.dtype, current.shape, value.dtype, value.shape))
        for name, value in state.items():
            if name not in ("LR_Scheduler", "global_step", "StructuredToParameterName@@"):
                self._core.load_state(name, np.ascontiguousarray(_array(value, name)))
