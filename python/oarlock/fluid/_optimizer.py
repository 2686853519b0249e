"""The base of all optimizers."""

import numpy as np

from .. import _core
from . import _state
from ._eager_optimizer import EagerUpdates, is_decay
from .framework import Variable, default_main_program, program_guard


def _building(loss, startup_program):
    from .framework import default_startup_program

    return program_guard(loss.block.program, startup_program or default_startup_program())


def _is_scheduler(rate):
    """Whether ``rate`` is a scheduler of ``optimizer.lr``, which gives the rate of the next run."""
    return callable(rate) and hasattr(rate, "step") and hasattr(rate, "get_lr")


# Inputs of an update that are no state of the optimizer.
_NO_STATE = ("Param", "Grad", "LearningRate")


_COMMON = ("learning_rate", "parameter_list", "regularization", "grad_clip", "name")


class _NoLoss(AssertionError, TypeError):
    """A loss that is no Variable: Fluid raises AssertionError."""


class Optimizer:
    """The base of all optimizers.

    Args:
        learning_rate (float, Variable or scheduler): the rate; a Variable is computed by the program, for example by
            ``fluid.layers.exponential_decay``.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization: ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip: ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.SGD(0.01).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = ""

    def __init__(self, **settings):
        settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
        rate = settings.get("learning_rate")
        if rate is None:
            raise AssertionError("an optimizer needs a learning_rate")
        # Under the names that Fluid's optimizers have, such as `_beta1`.
        for name, value in settings.items():
            if name not in _COMMON:
                setattr(self, "_" + name, value)
        if _state.tracer is not None:
            self._begin_eagerly(rate, settings)
            return
        if not isinstance(rate, (int, float, Variable)) and not _is_scheduler(rate):
            raise TypeError("learning_rate should be a number, a Variable or an LRScheduler, not %r" % (rate,))
        self._learning_rate = rate
        self._parameter_list = settings.pop("parameter_list", None)
        self.regularization = settings.get("regularization")
        self._grad_clip = settings.get("grad_clip")
        self._name = settings.get("name")
        # The parts that another optimizer may take over.
        self._settings = settings
        self._core = _core.Optimizer(self._rule, dict(settings, learning_rate=float(rate())) if _is_scheduler(rate) else settings)

    # In eager mode: what updates parameters.
    _updates = None

    def _begin_eagerly(self, rate, settings):
        if not isinstance(rate, (int, float)) and not is_decay(rate):
            raise TypeError("learning rate should be float or LearningRateDecay, got %s here" % type(rate))
        parameters = settings.pop("parameter_list", None)
        if parameters is None:
            raise AttributeError("parameter_list argument given to the Optimizer should not be None in dygraph mode.")
        self._learning_rate, self._parameter_list, self._name = rate, list(parameters), settings.get("name")
        self.regularization, self._grad_clip = settings.get("regularization"), settings.get("grad_clip")
        self._settings = settings
        self._updates = EagerUpdates(self._rule, settings, rate)

    def _eager(self, what):
        """What updates parameters in eager mode."""
        if self._updates is None:
            raise AssertionError(
                "We Only support %s in imperative mode, please use fluid.dygraph.guard() as context to run it in imperative Mode" % what)
        return self._updates

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """The first half of ``minimize``: appends the gradient; returns pairs of parameter and gradient. In eager mode: returns the
        trainable parameters that have a gradient, with it."""
        if self._updates is not None:
            pairs = [(param, param._grad_ivar()) for param in self._parameter_list if param.trainable]
            return [(param, grad) for param, grad in pairs if grad is not None]
        if callbacks:
            raise NotImplementedError("backward(callbacks=...) cannot call Python while the core appends gradients")
        with _building(loss, startup_program):
            program = loss.block.program
            lists = (parameter_list or self._parameter_list, no_grad_set)
            return self._core.backward(_state.builder, program._context(), loss, lists, program._wrap)

    def apply_gradients(self, params_grads):
        """The second half of ``minimize``: limits gradients, adds weight decay, updates parameters."""
        if self._updates is not None:
            self._updates.step(params_grads)
            return []
        program = default_main_program()
        before = len(program.global_block().ops)
        pairs = [(p, g) for p, g in params_grads if g is not None]
        self._core.apply_gradients(_state.builder, program._context(), pairs)
        if _is_scheduler(self._learning_rate):
            program._schedulers.append((self._learning_rate, self._global_learning_rate(program).name))
        made = program.global_block().ops[before:]
        self._opti_name_list = [
            name for op in made if op.input("Param") for slot in op.input_names if slot not in _NO_STATE for name in op.input(slot)]
        return made

    def apply_optimize(self, loss, startup_program, params_grads):
        """``apply_gradients`` in the programs of a loss."""
        if self._updates is not None:
            return self.apply_gradients(params_grads)
        with _building(loss, startup_program):
            return self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Appends the gradient of a loss and the updates of its parameters; returns (operators, pairs). In eager mode: updates
        ``parameter_list`` by the gradients that ``loss.backward()`` left."""
        if not isinstance(loss, Variable):
            raise _NoLoss("The loss should be a Variable, not %r" % (loss,))
        for what, given in (("parameter_list", parameter_list), ("no_grad_set", no_grad_set)):
            if isinstance(given, str):
                raise TypeError("%s of minimize must be a list or a set, not %r" % (what, given))
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def _global_learning_rate(self, program=None):
        program = program or default_main_program()
        name = self._core.learning_rate_var(_state.builder, program._context())
        return None if name is None else program.global_block().var(name)

    def current_step_lr(self):
        """The learning rate, if it is a number; in eager mode that of the last step."""
        if self._updates is not None:
            return self._updates.current_rate()
        if isinstance(self._learning_rate, Variable):
            raise NotImplementedError("the learning rate is computed by the program: fetch %s" % self._learning_rate.name)
        return self._learning_rate() if _is_scheduler(self._learning_rate) else self._learning_rate

    def get_lr(self):
        """The learning rate of the next run, if the program does not compute it."""
        return self.current_step_lr()

    def get_opti_var_name_list(self):
        """Returns the names of the variables that it keeps for parameters, such as moments; none before ``minimize``."""
        if self._updates is not None:
            return self._updates.names()
        return list(getattr(self, "_opti_name_list", []))

    def set_lr(self, value):
        """Sets the learning rate of the steps to come; belongs to eager mode.

        Args:
            value (float): the rate.
        """
        updates = self._eager("set_lr")
        if is_decay(self._learning_rate):
            raise RuntimeError("optimizer's learning rate can't be LearningRateDecay when invoke this API, because this will lead to conflict.")
        self._learning_rate = updates.rate = value.numpy()[0].item() if isinstance(value, _core.VarBase) else float(value)
        updates.last_rate = np.float32(updates.rate)

    def state_dict(self):
        """Returns the state, such as moments, by name, and that of a schedule; belongs to eager mode.

        Returns:
            dict: for ``fluid.save_dygraph`` and ``set_dict``.
        """
        return self._eager("state_dict").state_dict()

    def set_dict(self, state_dict):
        """Takes over what ``state_dict`` returned; belongs to eager mode.

        Args:
            state_dict (dict): the state.
        """
        self._eager("set_dict").set_dict(state_dict)

    def clear_gradients(self):
        """Sets the gradients of all parameters to zeros; belongs to eager mode: gradients of a program are new in every run."""
        self._eager("clear_gradients")
        for param in self._parameter_list:
            if param.trainable:
                param.clear_gradient()
