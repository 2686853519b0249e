"""Signatures of operators as Fluid's messages, read from the core when a script asks for them."""

import functools
import logging

from .. import _core
from .proto import framework_pb2

# Attributes that every operator has.
GENERATED = {"op_role": framework_pb2.INT, "op_role_var": framework_pb2.STRINGS, "op_namescope": framework_pb2.STRING,
             "op_callstack": framework_pb2.STRINGS, "op_device": framework_pb2.STRING}


@functools.lru_cache(maxsize=None)
def proto(op_type):
    """Returns the signature of an operator.

    Args:
        op_type (str): its type.

    Raises:
        EnforceNotMet: there is no such operator.
    """
    signature = _core.op_signature(op_type)
    made = framework_pb2.OpProto()
    made.type, made.comment = op_type, signature["doc"]
    for slots, into in ((signature["inputs"], made.inputs), (signature["outputs"], made.outputs)):
        for name, doc, many, optional in slots:
            slot = into.add()
            slot.name, slot.comment, slot.duplicable, slot.dispensable = name, doc, many, optional
            # What an operator may leave unwritten is of no interest to a layer.
            slot.intermediate = optional and into is made.outputs
    for name, doc, kind, _ in signature["attrs"]:
        _add(made, name, doc, framework_pb2.AttrType(kind or 0), False)
    for name in signature["hints"]:
        _add(made, name, "changes nothing on a CPU", framework_pb2.BOOLEAN, False)
    for name, kind in GENERATED.items():
        _add(made, name, "", kind, True)
    return made


def _add(proto, name, doc, kind, generated):
    attr = proto.attrs.add()
    attr.name, attr.comment, attr.type, attr.generated = name, doc, kind, generated


# Hints of Fluid's libraries that any operator may carry.
_COMMON = ("use_mkldnn", "use_cudnn", "use_quantizer", "mkldnn_data_type", "is_test", "with_quant_attr")


@functools.lru_cache(maxsize=None)
def _known(op_type):
    if op_type not in _core.op_types():
        return None
    found = proto(op_type)
    return {
        True: {slot.name for slot in found.inputs}, False: {slot.name for slot in found.outputs},
        None: {attr.name for attr in found.attrs}.union(_COMMON),
    }


@functools.lru_cache(maxsize=None)
def takes(op_type, name, is_input):
    """Returns whether an operator has an input, an output or (``is_input=None``) an attribute. As in Fluid, what it does not have is left
    out, which is logged once. An operator that does not exist takes everything: the core says that there is none."""
    known = _known(op_type)
    if known is None or name in known[is_input]:
        return True
    what = {True: "input", False: "output", None: "attribute"}[is_input]
    logging.getLogger("oarlock").warning("operator %s has no %s %s: it is left out; known are %s", op_type, what, name,
                                         ", ".join(sorted(known[is_input] - set(GENERATED) - set(_COMMON))) or "none")
    return False


def all_protos():
    """Returns the signatures of all operators."""
    return [proto(op_type) for op_type in _core.op_types()]
