"""Layers and parameters in containers."""

import collections

from ..framework import Parameter
from .layers import Layer

__all__ = ["Sequential", "ParameterList", "LayerList"]


def _check(value, kind):
    # Scripts written for Fluid catch AssertionError here.
    if not isinstance(value, kind):
        raise AssertionError("expected a %s, not %r" % (kind.__name__, type(value)))


class Sequential(Layer):
    """Layers one after the other.

    Args:
        layers: the layers, or pairs of name and layer.

    Example:
        >>> with fluid.dygraph.guard():
        ...     model = fluid.dygraph.Sequential(fluid.Linear(10, 1), fluid.Linear(1, 2))
        ...     print(model(fluid.layers.ones([4, 10], "float32")).shape, model[0].full_name())
        [4, 2] linear_0
    """

    def __init__(self, *layers):
        super().__init__()
        pairs = layers if layers and isinstance(layers[0], tuple) else ((str(at), layer) for at, layer in enumerate(layers))
        for name, layer in pairs:
            self.add_sublayer(name, layer)

    def __getitem__(self, name):
        return self._sub_layers[str(name)]

    def __setitem__(self, name, layer):
        _check(layer, Layer)
        setattr(self, str(name), layer)

    def __delitem__(self, name):
        if str(name) not in self._sub_layers:
            raise AssertionError("there is no layer %s" % name)
        del self._sub_layers[str(name)]

    def __len__(self):
        return len(self._sub_layers)

    def forward(self, input):
        """Returns what the last layer makes of what the others make of the input.

        Args:
            input (Variable): the input of the first layer.
        """
        for layer in self._sub_layers.values():
            input = layer(input)
        return input


class ParameterList(Layer):
    """Parameters that are found by number.

    Args:
        parameters: the parameters.
    """

    def __init__(self, parameters=None):
        super().__init__()
        for at, param in enumerate(parameters if parameters is not None else ()):
            _check(param, Parameter)
            self.add_parameter(str(at), param)

    def __getitem__(self, idx):
        return self._parameters[str(idx)]

    def __setitem__(self, idx, param):
        _check(param, Parameter)
        setattr(self, str(idx), param)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def append(self, parameter):
        """Adds a parameter at the end and returns the list.

        Args:
            parameter (Parameter): the parameter.
        """
        self.add_parameter(str(len(self._parameters)), parameter)
        return self


class LayerList(Layer):
    """Layers that are found by number; calling them is up to the layer that owns the list.

    Args:
        sublayers: the layers.

    Example:
        >>> with fluid.dygraph.guard():
        ...     layers = fluid.dygraph.LayerList([fluid.Linear(10, 10) for _ in range(3)])
        ...     print(len(layers), len(layers[1:]), len(layers.parameters()))
        3 2 6
    """

    def __init__(self, sublayers=None):
        super().__init__()
        for at, layer in enumerate(sublayers if sublayers is not None else ()):
            self.add_sublayer(str(at), layer)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._sub_layers.values())[idx])
        return self._sub_layers[str(idx)]

    def __setitem__(self, idx, sublayer):
        setattr(self, str(idx), sublayer)

    def __delitem__(self, idx):
        for at in range(len(self._sub_layers))[idx] if isinstance(idx, slice) else (idx,):
            delattr(self, str(at))
        self._sub_layers = collections.OrderedDict((str(at), layer) for at, layer in enumerate(self._sub_layers.values()))

    def __len__(self):
        return len(self._sub_layers)

    def __iter__(self):
        return iter(self._sub_layers.values())

    def append(self, sublayer):
        """Adds a layer at the end and returns the list.

        Args:
            sublayer (Layer): the layer.
        """
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index, sublayer):
        """Puts a layer in front of another one.

        Args:
            index (int): the number of the other one.
            sublayer (Layer): the layer.
        """
        if not isinstance(index, int) or not 0 <= index < len(self._sub_layers):
            raise AssertionError("index should be an integer in range [0, len(self))")
        layers = list(self._sub_layers.values())
        layers.insert(index, sublayer)
        self._sub_layers = collections.OrderedDict((str(at), layer) for at, layer in enumerate(layers))

    def extend(self, sublayers):
        """Adds layers at the end and returns the list.

        Args:
            sublayers: the layers.
        """
        for layer in sublayers:
            self.append(layer)
        return self
