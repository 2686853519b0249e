"""Gradients."""

from .. import _core
from . import _state

__all__ = ["append_backward", "gradients"]


_GRAD = "@GRAD"


def _names(vars, what="names"):
    """The names of variables; raises for anything but a collection of Variables and names."""
    if vars is None:
        return []
    if not isinstance(vars, (list, tuple, set, frozenset)):
        raise TypeError("The type of '%s' must be a list, a tuple or a set, but received %r" % (what, type(vars)))
    for each in vars:
        if not isinstance(each, (str, _core.VarHandle)):
            raise TypeError("The elements of '%s' must be Variables or names, but received %r" % (what, type(each)))
    return [v if isinstance(v, str) else v.name for v in vars]


def _as_list(x):
    """A list of what is given; an empty one for None."""
    return [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]


def _append_grad_suffix_(name):
    """The name of a variable's gradient."""
    return name + _GRAD


def _strip_grad_suffix_(name):
    """The name of a variable, given that of its gradient."""
    return name[:name.find(_GRAD)] if _GRAD in name else name


def _get_stop_gradients_(program):
    """By block: the names of the gradients of its variables with ``stop_gradient``."""
    return {block.idx: {_append_grad_suffix_(name) for name, var in block.vars.items() if var.stop_gradient} for block in program.blocks}


def _find_op_path_(block, outputs, inputs, no_grad_set):
    """The operators between inputs and outputs, in order; of all operators that lead to the outputs if there are no inputs."""
    reached = {var.name for var in inputs}
    forward = []
    for op in block.ops:
        if not inputs or any(name in reached for name in op.input_arg_names):
            forward.append(op)
            reached.update(name for name in op.output_arg_names if name not in (no_grad_set or ()))
    wanted, path = {var.name for var in outputs}, []
    for op in reversed(forward):
        if any(name in wanted for name in op.output_arg_names):
            path.append(op)
            wanted.update(name for name in op.input_arg_names if name not in (no_grad_set or ()))
    return path[::-1]


def _find_no_grad_vars(block, op_path, targets, no_grad_set):
    """The names of the results on a path that lead to no target."""
    wanted, useless = {var.name for var in targets}, set()
    for op in reversed(op_path):
        useless.update(name for name in op.output_arg_names if name not in wanted and name not in (no_grad_set or ()))
        wanted.update(name for name in op.input_arg_names if name not in (no_grad_set or ()))
    return useless


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None):
    """Appends the gradient of a loss; returns pairs of parameter and gradient."""
    if not isinstance(loss, _core.VarHandle):
        raise TypeError("The type of 'loss' in append_backward must be a Variable, but received %r" % type(loss))
    if callbacks is not None and not isinstance(callbacks, (list, tuple)):
        raise TypeError("The type of 'callbacks' in append_backward must be a list or a tuple, but received %r" % type(callbacks))
    if callbacks:
        raise NotImplementedError("append_backward(callbacks=...) cannot call Python while the core appends gradients")
    if checkpoints:
        raise NotImplementedError("use RecomputeOptimizer for recomputation")
    program = loss.block.program
    stopped = _names(no_grad_set, "no_grad_set") + [p.name for p in program.all_parameters() if not p.trainable]
    parameters = None if parameter_list is None else _names(parameter_list, "parameter_list")
    return _state.builder.append_backward(program._context(), loss, parameters, stopped, program._wrap)


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """The gradients of targets by inputs; None for an input without influence."""
    targets = targets if isinstance(targets, (list, tuple)) else [targets]
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if target_gradients is not None and not isinstance(target_gradients, (list, tuple)):
        target_gradients = [target_gradients]
    for what, vars in (("targets", targets), ("inputs", inputs), ("target_gradients", target_gradients or ())):
        if not all(isinstance(var, _core.VarHandle) or (var is None and what == "target_gradients") for var in vars):
            raise TypeError("%s of gradients must be a Variable or a list of Variables" % what)
    program = targets[0].block.program
    return _state.builder.gradients(
        program._context(), list(targets), list(inputs), target_gradients, _names(no_grad_set, "no_grad_set"), program._wrap
    )


calc_gradient = gradients
