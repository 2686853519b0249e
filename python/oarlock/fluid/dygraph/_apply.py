"""How layers that are objects call operators: at once in eager mode, otherwise into the program."""

from .. import _state


def apply(layer, op_type, inputs, attrs, out="Out", others=(), dtype=None):
    """Calls an operator of which one output is wanted.

    Args:
        layer (Layer): the layer that calls it.
        op_type (str), inputs (dict), attrs (dict): the operator; an input that is None is left out.
        out (str): the slot of the wanted output.
        others (tuple): slots of outputs that the operator must have beside it.
        dtype: the element type of the output in a program.

    Returns:
        Variable: the output.
    """
    inputs = {slot: given for slot, given in inputs.items() if given is not None}
    if _state.tracer is not None:
        outputs = {out: [None]}
        for slot in others:
            outputs[slot] = [None]
        return _state.tracer.call(op_type, inputs, outputs, attrs)[out][0]
    helper = layer._helper
    made = helper.create_variable_for_type_inference(dtype or layer._dtype)
    outputs = {out: [made]}
    for slot in others:
        outputs[slot] = [helper.create_variable_for_type_inference(dtype or layer._dtype, stop_gradient=True)]
    helper.append_op(type=op_type, inputs=inputs, outputs=outputs, attrs=attrs)
    return made


def biased(layer, x, bias, axis=1):
    """Adds a bias; nothing without one.

    Args:
        layer (Layer): the layer.
        x (Variable), bias (Parameter): the summands.
        axis (int): the dimension of ``x`` at which the sizes of the bias begin.
    """
    return x if bias is None else apply(layer, "elementwise_add", {"X": x, "Y": bias}, {"axis": axis})


def activated(layer, x, act):
    """Applies an activation by name; nothing if it is None.

    Args:
        layer (Layer): the layer.
        x (Variable): the input.
        act (str): the activation.
    """
    if act is None:
        return x
    if not isinstance(act, str):
        raise TypeError("%s should be unicode or str in %s" % (act, layer.full_name()))
    return apply(layer, act, {"X": x}, {})


def sizes(value, count, what):
    """A size for each of ``count`` dimensions; one number stands for all.

    Args:
        value (int or list): the sizes.
        count (int): how many dimensions there are.
        what (str): the argument, for errors.
    """
    if isinstance(value, int):
        return [value] * count
    try:
        found = list(value)
    except TypeError:
        raise ValueError("The %s's type must be list or tuple. Received: %s" % (what, value)) from None
    if len(found) != count or not all(isinstance(each, int) for each in found):
        raise ValueError("The %s must be %d integers. Received: %s" % (what, count, value))
    return found
