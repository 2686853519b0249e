"""The base of layers that users write: names, variables and parameters in the default programs."""

import copy

import numpy as np

from .. import _core
from . import _state, unique_name
from .core import VarDesc
from .framework import ParamBase, Variable, default_main_program, default_startup_program
from .initializer import Constant, Xavier
from .layers._call import layer
from .param_attr import ParamAttr, WeightNormParamAttr

__all__ = ["LayerHelperBase"]

_FLOATS = (VarDesc.VarType.FP16, VarDesc.VarType.FP32, VarDesc.VarType.FP64)


def _is_float(dtype):
    if isinstance(dtype, VarDesc.VarType):
        return dtype in _FLOATS
    return str(dtype).startswith("float") or dtype == "double"


def _eager_parameter(attr, shape, dtype, is_bias, default_initializer):
    """A parameter of eager mode with its first value."""
    if isinstance(attr, WeightNormParamAttr):
        raise NotImplementedError("WeightNormParamAttr describes parameters of programs; in eager mode compute the weight in forward")
    made = ParamBase(shape, dtype, name=attr.name, trainable=attr.trainable, optimize_attr={"learning_rate": attr.learning_rate},
                     regularizer=attr.regularizer, do_model_average=attr.do_model_average, gradient_clip_attr=attr.gradient_clip)
    initializer = attr.initializer or default_initializer or (Constant(0.0) if is_bias else Xavier())
    initializer(made, default_main_program().global_block())
    made.stop_gradient = False
    return made


class LayerHelperBase:
    """Makes what a layer consists of; everything it makes is named after the layer."""

    def __init__(self, name, layer_type):
        self._name = name
        self._layer_type = layer_type

    @property
    def name(self):
        """The layer's name."""
        return self._name

    @property
    def layer_type(self):
        """The kind of layer."""
        return self._layer_type

    @property
    def main_program(self):
        """The program to which the layer belongs."""
        return default_main_program()

    @property
    def startup_program(self):
        """The program that gives its parameters their first values."""
        return default_startup_program()

    def to_variable(self, value, name=None):
        """A Variable as it is; in eager mode an array as a tensor."""
        if isinstance(value, Variable):
            return value
        if _state.tracer is not None and isinstance(value, np.ndarray):
            return _core.VarBase(value)
        raise TypeError("the input of %s must be a Variable, not %r; feed arrays, or use layers.assign" % (self.layer_type, type(value)))

    def create_parameter(self, attr, shape, dtype, is_bias=False, default_initializer=None, stop_gradient=False,
                         type=VarDesc.VarType.LOD_TENSOR):
        """A parameter, in both programs; None if ``attr`` is False."""
        attr = ParamAttr._to_attr(copy.deepcopy(attr))
        if not attr:
            return None
        if type != VarDesc.VarType.LOD_TENSOR:
            raise NotImplementedError("a parameter is a tensor (LOD_TENSOR), not %s" % (type,))
        if attr.initializer is None and default_initializer is None and not _is_float(dtype):
            raise TypeError("a parameter of %s needs an initializer: pass default_initializer" % (dtype,))
        if attr.name is None:
            attr.name = unique_name.generate(".".join([self.name, "b" if is_bias else "w"]))
        if _state.tracer is not None:
            return _eager_parameter(attr, shape, dtype, is_bias, default_initializer)
        made = layer("create_parameter", {
            "shape": list(shape), "dtype": dtype, "name": None, "attr": attr, "is_bias": is_bias,
            "default_initializer": default_initializer,
        })
        if stop_gradient:
            made.stop_gradient = True
        return made

    def create_variable_for_type_inference(self, dtype, stop_gradient=False):
        """A variable for what an operator computes; the operator says its shape when it is appended."""
        if _state.tracer is not None:
            return self.main_program.current_block().create_var(dtype=dtype, stop_gradient=stop_gradient)
        name = unique_name.generate_with_ignorable_key(".".join([self.name, "tmp"]))
        return self.main_program.current_block().create_var(name=name, dtype=dtype, stop_gradient=stop_gradient)

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, *args, **kwargs):
        """A variable of the block that is being built."""
        return self.main_program.current_block().create_var(*args, **kwargs)

    def create_global_variable(self, persistable=False, *args, **kwargs):
        """A variable of the program's first block; ``set_variable_initializer`` gives it a first value."""
        return self.main_program.global_block().create_var(*args, persistable=persistable, **kwargs)

    def create_or_get_global_variable(self, name, *args, **kwargs):
        """A variable of the program's first block, and whether it is new."""
        block = self.main_program.global_block()
        if _state.tracer is None and block.has_var(name):
            return block.var(name), False
        return self.create_global_variable(*args, name=name, **kwargs), True

    def set_variable_initializer(self, var, initializer):
        """Lets the startup program give a variable its first value."""
        if not isinstance(var, Variable):
            raise TypeError("set_variable_initializer takes a Variable, not %r" % (var,))
        if _state.tracer is not None:
            initializer(var, self.main_program.global_block())
            return
        self.startup_program.global_block().create_var(
            name=var.name, type=var.type, dtype=var.dtype, shape=var.shape, persistable=True, initializer=initializer
        )
