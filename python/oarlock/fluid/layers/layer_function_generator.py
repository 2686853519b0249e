"""Layers made of the signature of an operator, for operators that have no layer of their own."""

import functools
import warnings

from ..framework import OpProtoHolder, Variable
from ..layer_helper import LayerHelper

__all__ = ["autodoc", "deprecated", "generate_activation_fn", "generate_layer_fn", "templatedoc"]


def _inputs(proto, args, kwargs):
    """The Variables of each input slot. A slot is a keyword argument by its name or by its name in small letters; the others come from
    positional arguments, in the order of the slots."""
    found, rest = {}, list(args)
    for slot in proto.inputs:
        given = next((kwargs.pop(key) for key in (slot.name, slot.name.lower()) if key in kwargs), None)
        if given is None and rest:
            given = rest.pop(0)
        given = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
        for var in given:
            if not isinstance(var, Variable):
                raise TypeError("input of %s must be a Variable, not %r" % (proto.type, type(var)))
        if given:
            found[slot.name] = given
    return found


def generate_layer_fn(op_type):
    """Returns a layer that appends one operator.

    Args:
        op_type (str): the type of an operator with one output that is not a by-product.

    Returns:
        function: takes the inputs by the names of slots, attributes by their names, and ``out`` for a Variable to write.

    Raises:
        ValueError: the operator does not exist, or has several outputs.

    Example:
        >>> from oarlock.fluid.layers.layer_function_generator import generate_layer_fn
        >>> scale = generate_layer_fn("scale")
        >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
        >>> fluid.Executor().run(fetch_list=[scale(x=x, scale=2.0, bias=1.0)])[0].tolist()
        [7.0, 7.0]
    """
    proto = OpProtoHolder.instance().get_op_proto(op_type)
    main = [slot for slot in proto.outputs if not slot.intermediate]
    if len(main) != 1 or main[0].duplicable:
        raise ValueError("Only an operator with one output can be a generated layer; %s has %d" % (op_type, len(main)))

    def layer(*args, **kwargs):
        helper = LayerHelper(op_type, **kwargs)
        attrs = {attr.name: kwargs[attr.name] for attr in proto.attrs if attr.name in kwargs}
        given = {key: value for key, value in kwargs.items() if key not in attrs}
        inputs = _inputs(proto, args, given)
        if not inputs:
            raise ValueError("%s needs at least one input" % op_type)
        dtypes = {var.dtype for found in inputs.values() for var in found}
        if len(dtypes) > 1:
            raise ValueError("operator %s must input same dtype: %s" % (op_type, ", ".join(sorted(dtype.name for dtype in dtypes))))
        outputs = {slot.name: [helper.create_variable_for_type_inference(dtypes.copy().pop())] for slot in proto.outputs}
        out = next((given[key] for key in (main[0].name, main[0].name.lower(), "out") if given.get(key) is not None), None)
        if out is not None:
            outputs[main[0].name] = [out] if isinstance(out, Variable) else list(out)
        helper.append_op(type=op_type, inputs=inputs, outputs=outputs, attrs=attrs)
        return helper.append_activation(outputs[main[0].name][0])

    layer.__name__, layer.__doc__ = op_type, proto.comment
    return layer


def generate_activation_fn(op_type):
    """Returns a layer of one input, ``x``.

    Args:
        op_type (str): the type of an operator from ``X`` to ``Out``.

    Example:
        >>> from oarlock.fluid.layers.layer_function_generator import generate_activation_fn
        >>> square = generate_activation_fn("square")
        >>> fluid.Executor().run(fetch_list=[square(fluid.layers.fill_constant([1], "float32", 3.0))])[0].tolist()
        [9.0]
    """
    proto = OpProtoHolder.instance().get_op_proto(op_type)

    def activation(x, name=None):
        if not isinstance(x, Variable):
            raise TypeError("The argument 'x' of %s must be a Variable, but received %r" % (op_type, type(x)))
        helper = LayerHelper(op_type, x=x, name=name)
        out = helper.create_variable_for_type_inference(dtype=x.dtype)
        helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
        return out

    activation.__name__, activation.__doc__ = op_type, proto.comment
    return activation


def deprecated(func_or_class):
    """Marks a function: its calls warn.

    Args:
        func_or_class (function): the function.
    """

    @functools.wraps(func_or_class)
    def call(*args, **kwargs):
        warnings.warn("API %s is deprecated since 1.8" % func_or_class.__name__, DeprecationWarning, stacklevel=2)
        return func_or_class(*args, **kwargs)

    return call


def autodoc(comment=""):
    """Returns a decorator that puts a text in front of the documentation of a function."""

    def document(function):
        function.__doc__ = "%s\n\n%s" % (comment, function.__doc__ or "")
        return function

    return document


def templatedoc(op_type=None):
    """Returns a decorator that fills ``${comment}``, ``${x_comment}`` and ``${x_type}`` of a documentation from the signature of an
    operator; that of the function's name without ``op_type``."""

    def document(function):
        proto = OpProtoHolder.instance().get_op_proto(op_type or function.__name__)
        text = (function.__doc__ or "").replace("${comment}", proto.comment)
        for slot in list(proto.inputs) + list(proto.outputs):
            text = text.replace("${%s_comment}" % slot.name.lower(), slot.comment).replace("${%s_type}" % slot.name.lower(), "Variable")
        for attr in proto.attrs:
            text = text.replace("${%s_comment}" % attr.name, attr.comment).replace("${%s_type}" % attr.name, attr.type.name)
        function.__doc__ = text
        return function

    return document
