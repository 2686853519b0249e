"""Eager mode: turning it on and off, tensors of arrays, gradients."""

import contextlib
import functools
import inspect
import sys

import numpy as np

from ... import _core
from .. import _state, framework, unique_name
from ..core import CPUPlace
from .backward_strategy import BackwardStrategy
from .tracer import Tracer

__all__ = [
    "no_grad", "grad", "guard", "enable_dygraph", "disable_dygraph", "enable_imperative", "disable_imperative", "enabled", "to_variable",
]

_VarBase = _core.VarBase
_entered = None


def enabled():
    """Whether eager mode is on.

    Returns:
        bool: the same as ``fluid.in_dygraph_mode()``.
    """
    return _state.tracer is not None


def enable_dygraph(place=None):
    """Turns eager mode on, until ``disable_dygraph``.

    Args:
        place (CPUPlace): where to compute.

    Example:
        >>> fluid.enable_dygraph()
        >>> print((fluid.layers.ones([2], "float32") + 1).numpy())
        [2. 2.]
        >>> fluid.disable_dygraph()
    """
    global _entered
    if _entered is None:
        _entered = guard(place)
        _entered.__enter__()


def disable_dygraph():
    """Turns eager mode off: layers build programs again."""
    global _entered
    if _entered is not None:
        leaving, _entered = _entered, None
        leaving.__exit__(*sys.exc_info())


def enable_imperative(place=None):
    """The same as ``enable_dygraph``.

    Args:
        place (CPUPlace): where to compute.
    """
    enable_dygraph(place)


def disable_imperative():
    """The same as ``disable_dygraph``."""
    disable_dygraph()


class guard(contextlib.ContextDecorator):
    """Eager mode inside the block: operators run when they are called.

    Args:
        place (CPUPlace): where to compute.

    Example:
        >>> with fluid.dygraph.guard():
        ...     x = fluid.dygraph.to_variable(np.array([3.0], "float32"))
        ...     x.stop_gradient = False
        ...     y = x * x
        ...     y.backward()
        ...     print(x.gradient())
        [6.]
    """

    def __init__(self, place=None):
        if place is None:
            place = CPUPlace()
        place._refuse()
        self._place = place

    def _recreate_cm(self):
        return guard(self._place)

    def __enter__(self):
        tracer = Tracer()
        tracer._expected_place = self._place
        with contextlib.ExitStack() as stack:
            stack.enter_context(framework.program_guard(framework.Program(), framework.Program()))
            stack.enter_context(unique_name.guard())
            stack.enter_context(framework._dygraph_guard(tracer))
            stack.enter_context(framework._dygraph_place_guard(self._place))
            self._stack = stack.pop_all()

    def __exit__(self, *exc):
        self._stack.close()
        return False


@contextlib.contextmanager
def _switch_tracer_mode_guard_(is_train=True):
    tracer = _state.tracer
    if tracer is None:
        yield
        return
    outer, tracer._has_grad = tracer._has_grad, is_train
    try:
        yield
    finally:
        tracer._has_grad = outer


def no_grad(func=None):
    """No gradients: results of operators have ``stop_gradient=True``. As a context, ``with no_grad():``, or as a decorator, ``@no_grad``.

    Args:
        func (callable): the function to decorate.

    Returns:
        The context, or the decorated function.

    Example:
        >>> with fluid.dygraph.guard():
        ...     x = fluid.layers.ones([1], "float32")
        ...     x.stop_gradient = False
        ...     with fluid.dygraph.no_grad():
        ...         y = x * 2
        ...     print(y.stop_gradient)
        True
    """
    if func is None:
        return _switch_tracer_mode_guard_(is_train=False)

    @functools.wraps(func)
    def call(*args, **kwargs):
        tracer = _state.tracer
        if tracer is None:
            return func(*args, **kwargs)
        outer, tracer._has_grad = tracer._has_grad, False
        try:
            return func(*args, **kwargs)
        finally:
            tracer._has_grad = outer

    call.__signature__ = inspect.signature(func)
    return call


def _tensors(given, what):
    """An argument of ``grad`` as a list of tensors."""
    # Scripts written for Fluid catch AssertionError here.
    if given is None:
        raise AssertionError("%s should not be None" % what)
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    if not found:
        raise AssertionError("%s cannot be empty" % what)
    if not all(isinstance(each, _VarBase) for each in found):
        raise AssertionError("%s must be a Variable or a list of Variables of eager mode" % what)
    return found


def _check_bools(**given):
    for name, value in given.items():
        if not isinstance(value, bool):
            raise AssertionError("%s must be True or False" % name)


@framework.dygraph_only
def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=False,
         no_grad_vars=None, backward_strategy=None):
    """The gradients of the sum of ``outputs`` by each of ``inputs``.

    Args:
        outputs (Variable or list), inputs (Variable or list): tensors.
        grad_outputs (list): the gradients of ``outputs``; None, and None for one of them, stands for ones.
        retain_graph (bool): whether a second gradient may follow; the value of ``create_graph`` by default.
        create_graph (bool): whether gradients of the result are wanted, too.
        only_inputs (bool): only True is possible.
        allow_unused (bool): returns None for an input without influence; otherwise that is an error.
        no_grad_vars (Variable, list or set): tensors through which no gradient flows.
        backward_strategy (BackwardStrategy): changes nothing.

    Returns:
        list: the gradients.

    Example:
        >>> with fluid.dygraph.guard():
        ...     x = fluid.layers.fill_constant([1], "float32", 3.0)
        ...     x.stop_gradient = False
        ...     dx, = fluid.dygraph.grad(x * x, x, create_graph=True)
        ...     ddx, = fluid.dygraph.grad(dx, x)
        ...     print(dx.numpy(), ddx.numpy())
        [6.] [2.]
    """
    outputs, inputs = _tensors(outputs, "outputs"), _tensors(inputs, "inputs")
    if grad_outputs is not None:
        grad_outputs = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs]
        if not all(each is None or isinstance(each, _VarBase) for each in grad_outputs):
            raise AssertionError("grad_outputs must be None, a Variable or a list containing None or Variables")
        if grad_outputs and len(grad_outputs) != len(outputs):
            raise AssertionError("The length of grad_outputs must be equal to outputs")
    if no_grad_vars is None:
        stops = []
    elif isinstance(no_grad_vars, _VarBase):
        stops = [no_grad_vars]
    elif isinstance(no_grad_vars, (list, tuple, set)) and all(isinstance(each, _VarBase) for each in no_grad_vars):
        stops = list(no_grad_vars)
    else:
        raise AssertionError("no_grad_vars must be None, Variable or list/tuple/set of Variables")
    if backward_strategy is not None and not isinstance(backward_strategy, BackwardStrategy):
        raise AssertionError("backward_strategy must be type paddle.fluid.dygraph.BackwardStrategy")
    _check_bools(create_graph=create_graph, allow_unused=allow_unused, only_inputs=only_inputs)
    if not only_inputs:
        raise AssertionError("only_inputs must be True: gradients of other tensors are not computed")
    retain_graph = create_graph if retain_graph is None else retain_graph
    _check_bools(retain_graph=retain_graph)
    found = _state.tracer.grad(outputs, inputs, grad_outputs or None, stops, create_graph, retain_graph)
    for number, each in enumerate(found):
        if each is None and not allow_unused:
            raise _core.EnforceNotMet(
                "inputs[%d] (%s) has no influence on the outputs: pass allow_unused=True to get None for it" % (number, inputs[number].name))
        if each is not None and create_graph:
            each.stop_gradient = False
    return found


@framework.dygraph_only
def to_variable(value, name=None, zero_copy=None):
    """A tensor with the values of an array. No gradient flows to it unless its ``stop_gradient`` is set to False.

    Args:
        value (ndarray, Variable or ComplexVariable): the array; a tensor is returned as it is.
        name (str): its name.
        zero_copy (bool): changes nothing: the values are copied, so that later changes of the array do not change the tensor.

    Returns:
        Variable or ComplexVariable: the tensor.

    Example:
        >>> with fluid.dygraph.guard():
        ...     print(fluid.dygraph.to_variable(np.ones([2, 2], "float32")).shape)
        [2, 2]
    """
    if isinstance(value, np.ndarray):
        if np.iscomplexobj(value):
            name = name or unique_name.generate("_generated_var")
            return framework.ComplexVariable(
                _named(np.ascontiguousarray(value.real), name + ".real"), _named(np.ascontiguousarray(value.imag), name + ".imag"))
        return _named(value, name)
    if isinstance(value, (_VarBase, framework.Variable, framework.ComplexVariable)):
        return value
    raise TypeError("The type of input value is invalid, expected type is 'ndarray', 'Variable' or 'ComplexVariable', but received %s."
                    % type(value))


def _named(array, name):
    made = _VarBase(array)
    made._name = name or _state.tracer._generate("generated_var")
    return made


def _switch_to_static_graph_(function):
    def call(*args, **kwargs):
        with framework._dygraph_guard(None):
            return function(*args, **kwargs)

    return call


# Decorates functions that build a program also while eager mode is on.
switch_to_static_graph = framework.wrap_decorator(_switch_to_static_graph_)
