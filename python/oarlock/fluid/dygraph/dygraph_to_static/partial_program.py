"""Programs of functions, called with tensors of eager mode."""

import numpy as np

from .... import _core
from ... import _state
from ._values import is_variable, parts

__all__ = ["PartialProgramLayer", "partial_program_from"]


def flat(value):
    """The leaves of nested lists, tuples and dicts, in order.

    Args:
        value: any value.
    """
    nested = parts(value)
    return [value] if nested is None else [leaf for each in nested[0] for leaf in flat(each)]


def rebuilt(like, leaves):
    """A value like another one, with other leaves.

    Args:
        like: gives the nesting.
        leaves (iterator): the leaves.
    """
    nested = parts(like)
    return next(leaves) if nested is None else nested[1]([rebuilt(each, leaves) for each in nested[0]])


class PartialProgramLayer:
    """A program that is called like one operator: it runs forward, and its gradient runs in the backward pass.

    Args:
        concrete (ConcreteProgram): the program with its inputs, outputs and parameters.
    """

    def __init__(self, concrete):
        self._concrete = concrete
        inputs = [var.name for var in concrete.input_variables]
        self._inputs, self._tensors = inputs, list(concrete.tensors.values())
        self._names = list(dict.fromkeys(v.name for v in flat(concrete.result) if is_variable(v) and v.name not in self._given()))
        self._functions = {}

    def _given(self):
        return set(self._inputs) | set(self._concrete.tensors)

    def _function(self, training):
        if training not in self._functions:
            program = self._concrete.main_program
            program = program if training else program.clone(for_test=True)
            self._functions[training] = _state.tracer.program_function(
                program.desc, self._inputs, list(self._concrete.tensors), self._names)
        return self._functions[training]

    def __call__(self, leaves, training=True):
        """Runs the program.

        Args:
            leaves (list): the leaves of the arguments; arrays and tensors among them are fed.
            training (bool): whether operators behave as in training.

        Returns:
            What the function returned, with tensors.
        """
        fed = [each if isinstance(each, _core.VarBase) else _core.VarBase(each) for each in leaves
               if isinstance(each, (_core.VarBase, np.ndarray))]
        values = dict(zip(self._inputs, fed))
        values.update(self._concrete.tensors)
        if self._names:
            made = self._function(training)(fed + self._tensors)
            values.update(zip(self._names, made))
        result = self._concrete.result
        return rebuilt(result, iter([values[each.name] if is_variable(each) else each for each in flat(result)]))


def partial_program_from(concrete_program):
    """A callable form of a program.

    Args:
        concrete_program (ConcreteProgram): the program.
    """
    return PartialProgramLayer(concrete_program)
