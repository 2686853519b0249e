"""Optimizers: the rules that update parameters."""

import contextlib

from .. import _core
from . import _state, backward
from ._generated_optimizers import *  # noqa: F403
from ._optimizer import Optimizer
from .framework import Program, Variable, default_main_program
from . import _generated_optimizers

__all__ = [
    *_generated_optimizers.__all__, "DGCMomentumOptimizer", "ExponentialMovingAverage", "GradientMergeOptimizer",
    "LookaheadOptimizer", "ModelAverage", "PipelineOptimizer", "RecomputeOptimizer",
]


def _not_eager(optimizer):
    if _state.tracer is not None:
        raise Exception("In dygraph, don't support %s." % type(optimizer).__name__)


class _Around(Optimizer):
    """The base of optimizers that wrap another one."""

    def __init__(self, inner):
        _not_eager(self)
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
        _not_eager(self)
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
        _not_eager(self)
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
        _not_eager(self)
        self._core = self._make("exponential", decay=decay, thres_steps=thres_steps, name=name)

    def update(self):
        """Appends what updates the means in every step."""
        self._core.update(_state.builder, default_main_program()._context())
