"""Layers as objects: they own parameters and other layers. In eager mode a call runs them; in a program it builds the same network."""

import collections
import copy
import re
import warnings

import numpy as np

from ..._core import VarBase
from .. import _state, unique_name
from ..core import CPUPlace, VarDesc
from ..core import Layer as _CoreLayer
from ..framework import Parameter
from .layer_object_helper import LayerObjectHelper

__all__ = ["Layer"]


class _Hook:
    """A hook that can be removed."""

    def __init__(self, hooks, hook):
        self._hooks = hooks
        hooks[self] = hook

    def remove(self):
        """Removes the hook; once is enough."""
        self._hooks.pop(self, None)


def _snake(name):
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def _set_value(param, value):
    if _state.tracer is not None:
        param.set_value(value)
        return
    from ..executor import global_scope

    global_scope().var(param.name).get_tensor().set(np.asarray(value), CPUPlace())


class Layer(_CoreLayer):
    """The base of layers that are objects. Derived classes write ``forward``, and make parameters in ``__init__``, or in ``_build_once`` if
    they depend on the first input. Parameters and layers that are assigned to attributes belong to the layer.

    Args:
        name_scope (str): begins the name of the layer; its class by default.
        dtype (str): the element type of its parameters.
    """

    def __init__(self, name_scope=None, dtype=VarDesc.VarType.FP32):
        self.training = True
        self._full_name = unique_name.generate(_snake(type(self).__name__) if name_scope is None else name_scope)
        self._helper = LayerObjectHelper(self._full_name)
        self._built = False
        self._dtype = dtype
        self._parameters = collections.OrderedDict()
        self._sub_layers = collections.OrderedDict()
        self._buffers = collections.OrderedDict()
        self._unsaved_buffers = set()
        self._forward_pre_hooks = collections.OrderedDict()
        self._forward_post_hooks = collections.OrderedDict()

    def _set_training(self, training):
        for layer in [self] + self.sublayers():
            layer.training = training

    def train(self):
        """Sets ``training`` of the layer and of all inside it. In eager mode operators are recorded for gradients from now on."""
        if _state.tracer is not None:
            _state.tracer.train_mode()
        self._set_training(True)

    def eval(self):
        """Clears ``training`` of the layer and of all inside it. In eager mode no operators are recorded for gradients from now on, those
        of other layers neither, until ``train``. Operators of a program that are built already stay: clone the program for a test."""
        if _state.tracer is not None:
            _state.tracer.eval_mode()
        self._set_training(False)

    def full_name(self):
        """Returns the name of the layer."""
        return self._full_name

    def register_forward_pre_hook(self, hook):
        """Calls ``hook(layer, inputs)`` before ``forward``; it may return other inputs. Returns an object with ``remove``.

        Args:
            hook (callable): the hook.
        """
        return _Hook(self._forward_pre_hooks, hook)

    def register_forward_post_hook(self, hook):
        """Calls ``hook(layer, inputs, outputs)`` after ``forward``; it may return other outputs. Returns an object with ``remove``.

        Args:
            hook (callable): the hook.
        """
        return _Hook(self._forward_post_hooks, hook)

    def create_parameter(self, shape, attr=None, dtype="float32", is_bias=False, default_initializer=None):
        """Returns a new parameter; assign it to an attribute so that it belongs to the layer.

        Args:
            shape (list), dtype (str): of the parameter.
            attr (ParamAttr): name, initializer, regularizer, learning rate.
            is_bias (bool): the default initializer is 0 instead of Xavier's.
            default_initializer: used if ``attr`` has none.
        """
        attr = None if isinstance(attr, str) and not attr else attr
        return self._helper.create_parameter(copy.deepcopy(attr), shape, dtype, is_bias, default_initializer)

    def create_variable(self, name=None, persistable=None, dtype=None, type=VarDesc.VarType.LOD_TENSOR):
        """Returns a new variable, named after the layer.

        Args:
            name (str): the end of its name.
            persistable (bool), dtype (str), type: of the variable.
        """
        end = unique_name.generate("%s._generated_var" % self._full_name) if name is None else "%s.%s" % (self._full_name, name)
        return self._helper.create_variable(name=end, persistable=persistable, dtype=dtype, type=type)

    def parameters(self, include_sublayers=True):
        """Returns the parameters of the layer, and of those inside it.

        Args:
            include_sublayers (bool): with those inside it.
        """
        return [param for _, param in self.named_parameters(include_sublayers=include_sublayers)]

    def sublayers(self, include_sublayers=True):
        """Returns the layers inside it, and those inside them.

        Args:
            include_sublayers (bool): False for none at all, as in Fluid.
        """
        return [layer for _, layer in self.named_sublayers(include_sublayers=include_sublayers)]

    def named_parameters(self, prefix="", include_sublayers=True):
        """Returns an iterator over parameters with the path of attributes to them; a parameter that is shared once.

        Args:
            prefix (str): begins every path.
            include_sublayers (bool): with those of layers inside it.
        """
        return self._named_members("_parameters", prefix, include_sublayers)

    def _named_members(self, kind, prefix, include_sublayers):
        """Yields what layers hold under an attribute, with the paths to it; what is shared once."""
        seen = set()
        for path, layer in self.named_sublayers(prefix, include_sublayers, include_self=True):
            for name, member in getattr(layer, kind).items():
                if member is not None and member not in seen:
                    seen.add(member)
                    yield path + ("." if path else "") + name, member

    def named_sublayers(self, prefix="", include_sublayers=True, include_self=False, layers_set=None):
        """Yields layers with the path of attributes to them; a layer that is shared once.

        Args:
            prefix (str): begins every path.
            include_sublayers (bool): with layers inside it.
            include_self (bool): with the layer itself.
            layers_set (set): layers to leave out.
        """
        layers_set = set() if layers_set is None else layers_set
        if include_self and self not in layers_set:
            layers_set.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items() if include_sublayers else ():
            if layer is not None:
                yield from layer.named_sublayers(prefix + ("." if prefix else "") + name, True, True, layers_set)

    def register_buffer(self, name, tensor, persistable=True):
        """Makes a tensor that is not trained part of the layer.

        Args:
            name (str): the attribute under which it is found.
            tensor (Variable): the tensor, or None.
            persistable (bool): whether ``state_dict`` contains it.
        """
        if not isinstance(name, str) or "." in name or not name:
            raise KeyError("the name of a buffer is a string without dots, not %r" % (name,))
        if tensor is not None and not isinstance(tensor, VarBase):
            raise TypeError("The registered buffer should be a core.VarBase, but received %s." % type(tensor).__name__)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError("attribute '%s' already exists." % name)
        self._buffers[name] = tensor
        (self._unsaved_buffers.discard if persistable else self._unsaved_buffers.add)(name)

    def named_buffers(self, prefix="", include_sublayers=True):
        """Returns an iterator over buffers with the path of attributes to them.

        Args:
            prefix (str): begins every path.
            include_sublayers (bool): with those of layers inside it.
        """
        return self._named_members("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers=True):
        """Returns the buffers of the layer, and of those inside it.

        Args:
            include_sublayers (bool): with those inside it.
        """
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def clear_gradients(self):
        """Sets the gradients of all trainable parameters to zeros. Belongs to eager mode: gradients of a program are new in every run."""
        for param in self.parameters():
            if param.trainable:
                param.clear_gradient()

    def _build_once(self, *args, **kwargs):
        """Makes parameters that depend on the first input."""

    def __call__(self, *inputs, **kwargs):
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                found = hook(self, inputs)
                if found is not None:
                    inputs = found if isinstance(found, tuple) else (found,)
        if not self._built:
            self._build_once(*inputs, **kwargs)
            self._built = True
        outputs = self.forward(*inputs, **kwargs)
        if self._forward_post_hooks:
            for hook in list(self._forward_post_hooks.values()):
                found = hook(self, inputs, outputs)
                outputs = outputs if found is None else found
        return outputs

    def forward(self, *inputs, **kwargs):
        """Belongs to derived classes: computes the layer."""
        raise NotImplementedError("forward belongs to classes derived from Layer")

    def backward(self, *inputs):
        """Belongs to no layer: optimizers append gradients."""
        raise ValueError("Layer shouldn't implement backward")

    def add_sublayer(self, name, sublayer):
        """Puts a layer inside this one and returns it.

        Args:
            name (str): the attribute under which it is found.
            sublayer (Layer): the layer.
        """
        if not isinstance(sublayer, Layer):
            raise AssertionError("add_sublayer takes a Layer, not %r" % (sublayer,))
        self._sub_layers[name] = sublayer
        return sublayer

    def add_parameter(self, name, parameter):
        """Makes a parameter one of this layer and returns it.

        Args:
            name (str): the attribute under which it is found.
            parameter (Parameter): the parameter, or None.
        """
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError("parameter assignment requires Parameter or None, but got '%s'" % type(parameter).__name__)
        self._parameters[name] = parameter
        return parameter

    def __getattr__(self, name):
        own = self.__dict__
        for owned in ("_parameters", "_sub_layers", "_buffers"):
            if name in own.get(owned, ()):
                return own[owned][name]
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    def __setattr__(self, name, value):
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        own = self.__dict__
        for owned, kind in (("_parameters", Parameter), ("_sub_layers", Layer)):
            known = own.get(owned)
            if isinstance(value, kind):
                if known is None:
                    raise ValueError("super(YourLayer, self).__init__() should be called first")
                for other in (own, self._parameters, self._sub_layers, self._buffers):
                    if other is not known:
                        other.pop(name, None)
                known[name] = value
                return
            if known is not None and name in known:
                if value is not None:
                    what = "parameter" if kind is Parameter else "sublayer"
                    raise TypeError("assignment to %s '%s' should be of type %s or None, but got '%s'"
                                    % (what, name, kind.__name__, type(value).__name__))
                known[name] = None
                return
        if name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, VarBase):
                raise TypeError("assignment to buffers '%s' should be of type core.VarBase or None, but got '%s'" % (name, type(value).__name__))
            self._buffers[name] = value
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        for owned in (self._parameters, self._sub_layers, self._buffers):
            if name in owned:
                del owned[name]
                return
        object.__delattr__(self, name)

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """Returns the parameters, and the buffers to save, by the path of attributes to them.

        Args:
            destination (dict): gets them, if it is given.
            include_sublayers (bool): with those of layers inside it.
            structured_name_prefix (str): begins every path.
        """
        destination = collections.OrderedDict() if destination is None else destination
        for name, param in self._parameters.items():
            if param is not None:
                destination[structured_name_prefix + name] = param
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._unsaved_buffers:
                destination[structured_name_prefix + name] = buffer
        for name, layer in self._sub_layers.items() if include_sublayers else ():
            if layer is not None:
                layer.state_dict(destination, True, "%s%s." % (structured_name_prefix, name))
        return destination

    def load_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        """Sets the values of parameters; those of a program in the current scope.

        Args:
            stat_dict (dict): arrays or tensors by path, or by name of the parameter.
            include_sublayers (bool): with those of layers inside it.
            use_structured_name (bool): keys are paths; otherwise names.
        """
        paths = self.state_dict(None, include_sublayers)
        known = {path if use_structured_name else param.name: param for path, param in paths.items()}
        for key, param in known.items():
            if key not in stat_dict:
                raise RuntimeError("Parameter not found, Can't not find [ %s ] in stat_dict use_structured_name is set to [%s]"
                                   % (key, use_structured_name))
            _set_value(param, stat_dict[key])
        unused = [key for key in stat_dict if key not in known]
        if unused:
            warnings.warn("Varibale [ %s ] are not used, because not included in layers state_dict" % " ".join(unused), stacklevel=2)

    def set_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        """The same as ``load_dict``.

        Args:
            stat_dict (dict), include_sublayers (bool), use_structured_name (bool): as there.
        """
        self.load_dict(stat_dict, include_sublayers, use_structured_name)
