"""Tensors of eager mode that a program uses: they become persistable variables of the same name."""

from .... import _core
from ... import _state
from ...framework import ParamBase, default_main_program
from ..layers import Layer


class Capture:
    """Tensors that become variables while a program is built. ``with Capture(program):`` notes them; layers have variables instead of
    their parameters inside the block.

    Args:
        program (Program): the program.
    """

    def __init__(self, program):
        self.program = program
        # By name: the tensor and its variable.
        self.tensors, self.variables = {}, {}
        self._entered, self._replaced = set(), []

    def __enter__(self):
        self._outer, _state.capture = _state.capture, self
        return self

    def __exit__(self, *exc):
        _state.capture = self._outer
        for owned, name, tensor in reversed(self._replaced):
            owned[name] = tensor
        self._replaced.clear()
        self._entered.clear()

    def enter(self, layer):
        """Gives a layer, and those inside it, variables instead of parameters.

        Args:
            layer (Layer): the layer.
        """
        if layer in self._entered or not isinstance(layer, Layer):
            return
        for each in [layer] + layer.sublayers():
            self._entered.add(each)
            for owned in (each._parameters, each._buffers):
                for name, tensor in owned.items():
                    if isinstance(tensor, _core.VarBase):
                        self._replaced.append((owned, name, tensor))
                        owned[name] = self.variable(tensor)

    def variable(self, tensor):
        """The variable of a tensor.

        Args:
            tensor (VarBase): the tensor.
        """
        name = tensor.name
        known = self.tensors.get(name)
        if known is not None and known is not tensor:
            raise ValueError("two tensors that the program uses have the name %s: give one of them another name" % name)
        self.tensors[name] = tensor
        current = default_main_program()
        for program in [self.program] if current is self.program else [self.program, current]:
            block = program.global_block()
            if not block.has_var(name):
                self._declare(block, tensor)
        if name not in self.variables:
            self.variables[name] = self.program.global_block().var(name)
        return self.variables[name]

    def _declare(self, block, tensor):
        if isinstance(tensor, ParamBase):
            made = block.create_parameter(name=tensor.name, shape=tensor.shape, dtype=tensor.dtype, trainable=tensor.trainable,
                                          optimize_attr=tensor.optimize_attr, regularizer=tensor.regularizer)
        else:
            made = block.create_var(name=tensor.name, shape=tensor.shape, dtype=tensor.dtype, persistable=True)
        made.stop_gradient = tensor.stop_gradient

    def arguments(self, value):
        """Arguments of a layer, with variables instead of tensors.

        Args:
            value: an argument, or arguments in lists, tuples and dicts.
        """
        if isinstance(value, _core.VarBase):
            return self.variable(value)
        if type(value) is dict:
            return {key: self.arguments(each) for key, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.arguments(each) for each in value)
        return value
