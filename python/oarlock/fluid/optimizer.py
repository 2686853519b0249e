"""Optimizers: the rules that update parameters."""

import contextlib

import numpy as np

from .. import _core
from . import _state, backward
from .framework import Program, Variable, default_main_program, program_guard

__all__ = [
    "DGCMomentumOptimizer", "ExponentialMovingAverage", "GradientMergeOptimizer", "LookaheadOptimizer", "ModelAverage",
    "PipelineOptimizer", "RecomputeOptimizer",
    "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "Adam", "AdamOptimizer", "Adamax",
    "AdamaxOptimizer", "DecayedAdagrad", "DecayedAdagradOptimizer", "Dpsgd", "DpsgdOptimizer", "Ftrl",
    "FtrlOptimizer", "Lamb", "LambOptimizer", "LarsMomentum", "LarsMomentumOptimizer", "Momentum",
    "MomentumOptimizer", "RMSProp", "RMSPropOptimizer", "SGD", "SGDOptimizer"
]


def _is_scheduler(rate):
    """Whether ``rate`` is a scheduler of ``optimizer.lr``, which gives the rate of the next run."""
    return callable(rate) and hasattr(rate, "step") and hasattr(rate, "get_lr")


# Inputs of an update that are no state of the optimizer.
_NO_STATE = ("Param", "Grad", "LearningRate")


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

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """The first half of ``minimize``: appends the gradient; returns pairs of parameter and gradient."""
        if callbacks:
            raise NotImplementedError("backward(callbacks=...) cannot call Python while the core appends gradients")
        with _building(loss, startup_program):
            program = loss.block.program
            lists = (parameter_list or self._parameter_list, no_grad_set)
            return self._core.backward(_state.builder, program._context(), loss, lists, program._wrap)

    def apply_gradients(self, params_grads):
        """The second half of ``minimize``: limits gradients, adds weight decay, updates parameters."""
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
        with _building(loss, startup_program):
            return self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Appends the gradient of a loss and the updates of its parameters; returns (operators, pairs)."""
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
        """The learning rate, if it is a number."""
        if isinstance(self._learning_rate, Variable):
            raise NotImplementedError("the learning rate is computed by the program: fetch %s" % self._learning_rate.name)
        return self._learning_rate() if _is_scheduler(self._learning_rate) else self._learning_rate

    def get_lr(self):
        """The learning rate of the next run, if the program does not compute it."""
        return self.current_step_lr()

    def get_opti_var_name_list(self):
        """Returns the names of the variables that it keeps for parameters, such as moments; none before ``minimize``."""
        return list(getattr(self, "_opti_name_list", []))

    def state_dict(self):
        """Belongs to eager mode."""
        raise NotImplementedError("state_dict belongs to eager mode: save with fluid.io.save_persistables or fluid.save")

    def set_dict(self, state_dict):
        """Belongs to eager mode."""
        raise NotImplementedError("set_dict belongs to eager mode: load with fluid.io.load_persistables or fluid.load")


    def clear_gradients(self):
        """Belongs to eager mode: gradients of a program are new in every run."""
        raise AssertionError("We Only support clear_gradients() in imperative mode: gradients of a program are new in every run")


class _Around(Optimizer):
    """The base of optimizers that wrap another one."""

    def __init__(self, inner):
        if not isinstance(inner, Optimizer):
            raise TypeError("%s takes an optimizer, not %r" % (type(self).__name__, inner))
        self._inner = inner
        self._learning_rate = inner._learning_rate
        self._parameter_list = None

    def _around(self, name, **args):
        self._core = _core.Optimizer.around(name, self._inner._core, args)


class LookaheadOptimizer(_Around):
    """Fast weights take ``k`` steps, then slow weights go ``alpha`` of the way."""

    def __init__(self, inner_optimizer, alpha=0.5, k=5):
        super().__init__(inner_optimizer)
        if not 0.0 <= alpha <= 1.0:
            raise ValueError("alpha should be in [0.0, 1.0], not %r" % (alpha,))
        if not isinstance(k, int) or k <= 0:
            raise ValueError("k should be a positive integer, not %r" % (k,))
        self._around("lookahead", alpha=alpha, k=k)


class RecomputeOptimizer(_Around):
    """Recomputation: the forward pass keeps only checkpoints; the backward pass computes the rest again. Less memory, more time."""

    def __init__(self, optimizer):
        super().__init__(optimizer)
        self._checkpoints = None

    def _set_checkpoints(self, checkpoints):
        self._checkpoints = list(checkpoints)

    def load(self, stat_dict):
        """Not supported, in Fluid neither: load with ``fluid.io.load_persistables``."""
        raise NotImplementedError("load function is not supported by Recompute Optimizer for now: use fluid.io.load_persistables")

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Appends the backward pass, with the recomputed operators."""
        self._ready(loss)
        return super().backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def _ready(self, loss):
        """Checkpoints may be names, which only the program of the loss can tell."""
        if not self._checkpoints:
            raise ValueError("You should set checkpoints first: optimizer._set_checkpoints([...])")
        if not hasattr(self, "_core"):
            block = loss.block
            named = [c if isinstance(c, Variable) else block.var(c) for c in self._checkpoints]
            self._around("recompute", checkpoints=named)


class GradientMergeOptimizer(_Around):
    """Sums (or averages) the gradients of ``k_steps`` batches before each update."""

    def __init__(self, inner_optimizer, k_steps=1, avg=True):
        super().__init__(inner_optimizer)
        self._around("gradient_merge", k_steps=k_steps, avg=avg)


class PipelineOptimizer(_Around):
    """Training in sections. They run one after the other here, so no section ever sees parameters that lag behind."""

    def __init__(self, optimizer, cut_list=None, place_list=None, concurrency_list=None, queue_size=30, sync_steps=1,
                 start_cpu_core_id=0):
        super().__init__(optimizer)
        self._around(
            "pipeline", cut_list=cut_list, place_list=place_list, concurrency_list=concurrency_list, queue_size=queue_size,
            sync_steps=sync_steps, start_cpu_core_id=start_cpu_core_id,
        )


class DGCMomentumOptimizer(Optimizer):
    """Deep gradient compression: momentum that sends only the largest gradients and accumulates the others."""

    def __init__(self, learning_rate, momentum, rampup_begin_step, rampup_step=1, sparsity=[0.999], parameter_list=None,
                 use_nesterov=False, num_trainers=None, regularization=None, grad_clip=None, name=None):
        self._learning_rate = learning_rate
        self._parameter_list = parameter_list
        settings = dict(locals())
        for unused in ("self", "__class__"):
            settings.pop(unused, None)
        self._core = _core.Optimizer.dgc(settings)


class _Average:
    """Averages that replace parameters during an evaluation."""

    @contextlib.contextmanager
    def apply(self, executor, need_restore=True):
        """Replaces parameters by their averages inside the block."""
        executor.run(self._apply_program)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor):
        """Puts the parameters back."""
        executor.run(self._restore_program)

    def _make(self, kind, **args):
        main = default_main_program()
        made = _core.moving_average(_state.builder, main._context(), kind, args)
        self._apply_program, self._restore_program = Program(made[0]), Program(made[1])
        return made[2]


class ModelAverage(_Average, Optimizer):
    """The mean of each parameter over a window of steps; make it after ``minimize`` of the optimizer that trains.

    Args:
        average_window_rate (float): the window, as a share of the steps so far.
        min_average_window (int), max_average_window (int): bounds of the window.
        regularization: changes nothing: nothing is trained here.
        name (str): prefix of the names of its variables.

    Example:
        >>> loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 4]), 1))
        >>> made = fluid.optimizer.SGD(0.1).minimize(loss)
        >>> average = fluid.optimizer.ModelAverage(0.15, min_average_window=1, max_average_window=10)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> _ = exe.run(feed={"x": np.ones([2, 4], "float32")})
        >>> with average.apply(exe):
        ...     _ = exe.run(fluid.default_main_program().clone(for_test=True), feed={"x": np.ones([2, 4], "float32")})
    """

    def __init__(self, average_window_rate, min_average_window=10000, max_average_window=10000, regularization=None, name=None):
        self._learning_rate, self._parameter_list, self.regularization, self._name = 0.0, None, regularization, name
        self._make(
            "model", average_window_rate=average_window_rate, min_average_window=min_average_window,
            max_average_window=max_average_window,
        )


    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Appends the gradient of a loss; returns pairs of parameter and gradient."""
        return backward.append_backward(loss, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        """An average trains nothing: call ``minimize`` of another optimizer."""
        raise NotImplementedError("ModelAverage trains nothing: call minimize of the optimizer that trains, and make the average after it")


class ExponentialMovingAverage(_Average):
    """Means in which older values count less and less; call ``update`` after ``minimize``."""

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        self._core = self._make("exponential", decay=decay, thres_steps=thres_steps, name=name)

    def update(self):
        """Appends what updates the means in every step."""
        self._core.update(_state.builder, default_main_program()._context())


def _building(loss, startup_program):
    from .framework import default_startup_program

    return program_guard(loss.block.program, startup_program or default_startup_program())


class SGDOptimizer(Optimizer):
    """Stochastic gradient descent: ``p -= rate * g``. `Optimizer` describes the arguments."""

    _rule = "sgd"

    def __init__(self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class MomentumOptimizer(Optimizer):
    """Momentum: ``v = momentum * v + g``, ``p -= rate * v``; with ``use_nesterov``, ``p -= rate * (g + momentum * v)``."""

    _rule = "momentum"

    def __init__(self, learning_rate, momentum, parameter_list=None, use_nesterov=False, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, momentum=momentum, parameter_list=parameter_list, use_nesterov=use_nesterov, regularization=regularization, grad_clip=grad_clip, name=name)


class AdamOptimizer(Optimizer):
    """Adam: ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g``, and
    ``p -= rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * m / (sqrt(v) + epsilon)``.

    ``lazy_mode`` updates, of an embedding with ``is_sparse=True``, only the rows of the gradient; otherwise all rows decay.

    Example: ``fluid.optimizer.Adam(1e-3, lazy_mode=True).minimize(loss)``
    """

    _rule = "adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, regularization=None, grad_clip=None, name=None, lazy_mode=False):
        super().__init__(learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name, lazy_mode=lazy_mode)


class AdamaxOptimizer(Optimizer):
    """Adamax: Adam with the infinity norm of gradients in place of the mean of squares."""

    _rule = "adamax"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class AdagradOptimizer(Optimizer):
    """Adagrad: ``s += g * g``, ``p -= rate * g / (sqrt(s) + epsilon)``."""

    _rule = "adagrad"

    def __init__(self, learning_rate, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, name=None, initial_accumulator_value=0.0):
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name, initial_accumulator_value=initial_accumulator_value)


class AdadeltaOptimizer(Optimizer):
    """Adadelta: steps scaled by running means of squared gradients and of squared updates."""

    _rule = "adadelta"

    def __init__(self, learning_rate, epsilon=1e-06, rho=0.95, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, rho=rho, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class RMSPropOptimizer(Optimizer):
    """RMSProp: ``s = rho * s + (1 - rho) * g * g``, step ``rate * g / sqrt(s + epsilon)`` with ``momentum``; ``centered`` subtracts the squared mean of gradients."""

    _rule = "rmsprop"

    def __init__(self, learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, rho=rho, epsilon=epsilon, momentum=momentum, centered=centered, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class FtrlOptimizer(Optimizer):
    """FTRL (follow the regularized leader) with penalties ``l1`` and ``l2``: sparse weights for click models."""

    _rule = "ftrl"

    def __init__(self, learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, l1=l1, l2=l2, lr_power=lr_power, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class LambOptimizer(Optimizer):
    """LAMB: Adam whose step is relative to the norm of the parameter."""

    _rule = "lamb"

    def __init__(self, learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, exclude_from_weight_decay_fn=None, name=None):
        super().__init__(learning_rate=learning_rate, lamb_weight_decay=lamb_weight_decay, beta1=beta1, beta2=beta2, epsilon=epsilon, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, exclude_from_weight_decay_fn=exclude_from_weight_decay_fn, name=name)


class LarsMomentumOptimizer(Optimizer):
    """LARS: momentum with a rate for each parameter, by the norms of its weights and gradients."""

    _rule = "lars_momentum"

    def __init__(self, learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, momentum=momentum, lars_coeff=lars_coeff, lars_weight_decay=lars_weight_decay, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class DecayedAdagradOptimizer(Optimizer):
    """Adagrad with a decaying sum: ``s = decay * s + (1 - decay) * g * g``."""

    _rule = "decayed_adagrad"

    def __init__(self, learning_rate, decay=0.95, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(learning_rate=learning_rate, decay=decay, epsilon=epsilon, parameter_list=parameter_list, regularization=regularization, grad_clip=grad_clip, name=name)


class DpsgdOptimizer(Optimizer):
    """Differentially private gradient descent: gradients are clipped to ``clip``, and noise ``sigma`` is added."""

    _rule = "dpsgd"

    def __init__(self, learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-08, parameter_list=None):
        super().__init__(learning_rate=learning_rate, clip=clip, batch_size=batch_size, sigma=sigma, parameter_list=parameter_list, seed=0)


SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
Adagrad = AdagradOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Ftrl = FtrlOptimizer
Lamb = LambOptimizer
LarsMomentum = LarsMomentumOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Dpsgd = DpsgdOptimizer
