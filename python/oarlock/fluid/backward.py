"""Gradients."""

from .. import _core
from . import _state

__all__ = ["append_backward", "gradients"]


def _names(vars):
    return [v if isinstance(v, str) else v.name for v in vars or ()]


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None):
    """Appends the gradient of a loss; returns pairs of parameter and gradient."""
    if not isinstance(loss, _core.VarHandle):
        raise TypeError("The type of 'loss' in append_backward must be a Variable, but received %r" % type(loss))
    if callbacks:
        raise NotImplementedError("append_backward(callbacks=...) cannot call Python while the core appends gradients")
    if checkpoints:
        raise NotImplementedError("use RecomputeOptimizer for recomputation")
    program = loss.block.program
    stopped = _names(no_grad_set) + [p.name for p in program.all_parameters() if not p.trainable]
    parameters = None if parameter_list is None else _names(parameter_list)
    return _state.builder.append_backward(program._context(), loss, parameters, stopped, program._wrap)


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """The gradients of targets by inputs; None for an input without influence."""
    targets = targets if isinstance(targets, (list, tuple)) else [targets]
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if target_gradients is not None and not isinstance(target_gradients, (list, tuple)):
        target_gradients = [target_gradients]
    for what, vars in (("targets", targets), ("inputs", inputs)):
        if not all(isinstance(var, _core.VarHandle) for var in vars):
            raise TypeError("%s of gradients must be a Variable or a list of Variables" % what)
    program = targets[0].block.program
    return _state.builder.gradients(
        program._context(), list(targets), list(inputs), target_gradients, _names(no_grad_set), program._wrap
    )


calc_gradient = gradients
