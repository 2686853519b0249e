"""The tool with which users write layers of their own: variables, parameters and operators, named after the layer."""

import copy

from . import unique_name
from .framework import Parameter
from .initializer import Constant, Xavier
from .layer_helper_base import LayerHelperBase, _is_float
from .param_attr import ParamAttr

__all__ = ["LayerHelper"]


class LayerHelper(LayerHelperBase):
    """Made of a layer's arguments: ``LayerHelper("my_layer", **locals())``."""

    def __init__(self, layer_type, **kwargs):
        self.kwargs = kwargs
        if kwargs.get("name") is None:
            kwargs["name"] = unique_name.generate(layer_type)
        super().__init__(kwargs["name"], layer_type)

    def append_op(self, *args, **kwargs):
        """Appends an operator to the block that is being built."""
        return self.main_program.current_block().append_op(*args, **kwargs)

    def multiple_input(self, input_param_name="input"):
        """An argument as a list of variables."""
        given = self.kwargs.get(input_param_name, [])
        given = given if isinstance(given, (list, tuple)) else [given]
        return [self.to_variable(one) for one in given]

    def input(self, input_param_name="input"):
        """An argument that is one variable."""
        given = self.multiple_input(input_param_name)
        if len(given) != 1:
            raise ValueError("%s takes one %s, not %d" % (self.layer_type, input_param_name, len(given)))
        return given[0]

    @property
    def param_attr(self):
        """The argument ``param_attr`` as a ParamAttr."""
        return ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self):
        """The argument ``bias_attr`` as a ParamAttr; False for no bias."""
        return ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def multiple_param_attr(self, length):
        """The argument ``param_attr`` for each of ``length`` inputs."""
        attrs = self.param_attr
        attrs = attrs if isinstance(attrs, list) else [attrs]
        if len(attrs) == 1:
            return [copy.deepcopy(attrs[0]) for _ in range(length)] if length != 1 else attrs
        if len(attrs) != length:
            raise ValueError("%s has %d inputs, but %d param_attr" % (self.layer_type, length, len(attrs)))
        return attrs

    def iter_inputs_and_params(self, input_param_name="input"):
        """Each input with its ``param_attr``."""
        given = self.multiple_input(input_param_name)
        yield from zip(given, self.multiple_param_attr(len(given)))

    def input_dtype(self, input_param_name="input"):
        """The element type that all inputs have."""
        found = None
        for each in self.multiple_input(input_param_name):
            if found is not None and found != each.dtype:
                raise ValueError("%s takes inputs of one type, not of %s and %s" % (self.layer_type, found, each.dtype))
            found = each.dtype
        return found

    def get_parameter(self, name):
        """A parameter of the program by its name."""
        found = self.main_program.global_block().var(name)
        if not isinstance(found, Parameter):
            raise ValueError("no Parameter name %s found" % name)
        return found

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """Adds a bias over the dimensions from ``dim_start`` to ``dim_end``; nothing if ``bias_attr`` is False."""
        attr = self.bias_attr
        if not attr:
            return input_var
        size = list(input_var.shape[dim_start:dim_end])
        bias = self.create_parameter(attr=attr, shape=size, dtype=input_var.dtype, is_bias=True)
        out = self.create_variable_for_type_inference(dtype=input_var.dtype)
        self.append_op(type="elementwise_add", inputs={"X": [input_var], "Y": [bias]}, outputs={"Out": [out]}, attrs={"axis": dim_start})
        return out

    def append_activation(self, input_var):
        """Applies the activation that the argument ``act`` names."""
        act = self.kwargs.get("act")
        if act is None:
            return input_var
        if not isinstance(act, str):
            raise TypeError("act is the name of an activation, not %r" % (act,))
        out = self.create_variable_for_type_inference(dtype=input_var.dtype)
        self.append_op(type=act, inputs={"X": [input_var]}, outputs={"Out": [out]})
        return out

    def _get_default_initializer(self, dtype):
        return Xavier() if dtype is None or _is_float(dtype) else Constant()

    def is_instance(self, param_name, cls):
        """Refuses an argument of another type."""
        found = self.kwargs.get(param_name)
        if not isinstance(found, cls):
            raise TypeError("the argument %s of %s must be %s, not %r" % (param_name, self.layer_type, cls.__name__, type(found)))
