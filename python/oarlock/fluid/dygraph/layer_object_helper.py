"""The tool of layers that are objects: makes parameters and appends operators, which eager mode runs at once."""

import copy

from ..framework import Parameter
from ..layer_helper_base import LayerHelperBase
from ..param_attr import ParamAttr

__all__ = ["LayerObjectHelper"]


class LayerObjectHelper(LayerHelperBase):
    """Makes what a layer consists of, named after it.

    Args:
        name (str): the name of the layer.
    """

    def __init__(self, name):
        super().__init__(name, name)

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, stop_gradient=None):
        """Appends an operator to the program; runs it in eager mode.

        Args:
            type (str), inputs (dict), outputs (dict), attrs (dict): the operator.
            stop_gradient (bool): whether it is not recorded for gradients.
        """
        return self.main_program.current_block().append_op(
            type=type, inputs=inputs, outputs=outputs, attrs=attrs, stop_gradient=stop_gradient)

    def _multiple_input(self, inputs_in):
        given = inputs_in if isinstance(inputs_in, (list, tuple)) else [inputs_in]
        return [self.to_variable(each) for each in given]

    def _input(self, inputs_in):
        given = self._multiple_input(inputs_in)
        if len(given) != 1:
            raise ValueError("%s layer only takes one input in" % self.layer_type)
        return given[0]

    def _multiple_param_attr(self, length, param_attr_in=None):
        attrs = [param_attr_in] if isinstance(param_attr_in, ParamAttr) else param_attr_in
        if len(attrs) == 1:
            return attrs if length == 1 else [copy.deepcopy(attrs[0]) for _ in range(length)]
        if len(attrs) != length:
            raise ValueError("parameter number mismatch in %s" % self.name)
        return attrs

    def iter_inputs_and_params(self, inputs_in, param_attr_in=None):
        """Yields each input with its ``param_attr``.

        Args:
            inputs_in (Variable or list): inputs.
            param_attr_in (ParamAttr or list): one for all, or one for each.
        """
        attrs = ParamAttr._to_attr(param_attr_in)
        if isinstance(attrs, bool):
            raise ValueError("Param_attr should not be False in %s" % self.name)
        given = self._multiple_input([] if inputs_in is None else inputs_in)
        yield from zip(given, self._multiple_param_attr(len(given), attrs))

    def input_dtype(self, inputs_in):
        """Returns the element type that all inputs have.

        Args:
            inputs_in (Variable or list): inputs.
        """
        found = None
        for each in self._multiple_input([] if inputs_in is None else inputs_in):
            if found is not None and found != each.dtype:
                raise ValueError("Data Type mismatch: %d to %d in %s" % (found, each.dtype, self.name))
            found = each.dtype
        return found

    def get_parameter(self, name):
        """Returns a parameter of the program by its name.

        Args:
            name (str): the name.
        """
        found = self.main_program.global_block().var(name)
        if not isinstance(found, Parameter):
            raise ValueError("no Parameter name %s found in %s" % (name, self.name))
        return found

    def append_activation(self, input_var, act=None, use_cudnn=None, use_mkl_dnn=None):
        """Applies an activation.

        Args:
            input_var (Variable): its input.
            act (str): its name; None for no activation.
            use_cudnn (bool), use_mkl_dnn (bool): change nothing.

        Returns:
            Variable: the result.
        """
        if act is None:
            return input_var
        if not isinstance(act, str):
            raise TypeError("%s should be unicode or str in %s" % (act, self.name))
        out = self.create_variable_for_type_inference(dtype=input_var.dtype)
        self.append_op(type=act, inputs={"X": [input_var]}, outputs={"Out": [out]})
        return out

    def is_instance(self, param, cls):
        """Refuses an argument of another type.

        Args:
            param: the argument.
            cls (type): its type.
        """
        if not isinstance(param, cls):
            raise TypeError("The input %s parameter of method %s must be %s, in layer %s" % (param, self.layer_type, cls.__name__, self.name))
