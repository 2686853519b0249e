"""The messages of a saved program, for scripts that read one without running it:
``ProgramDesc.FromString(program.desc.serialize_to_string())``."""

import enum

from .._protobuf import BinaryMessage
from ..core import VarDesc as _Core

__all__ = ["AttrType", "BlockDesc", "OpDesc", "OpProto", "ProgramDesc", "VarDesc", "VarType", "Version"]


class AttrType(enum.IntEnum):
    """The kinds of attributes."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11

    @staticmethod
    def Name(number):
        """Returns the name of a kind."""
        return AttrType(number).name


for _kind in AttrType:
    globals()[_kind.name] = _kind


class Version(BinaryMessage):
    """The version of the format."""

    FIELDS, NUMBERS = (("version", 0),), (1,)


class _TensorDesc(BinaryMessage):
    FIELDS, NUMBERS = (("data_type", _Core.VarType.BOOL), ("dims", [0])), (1, 2)


class _LoDTensorDesc(BinaryMessage):
    FIELDS, NUMBERS = (("tensor", _TensorDesc), ("lod_level", 0)), (1, 2)


class _ReaderDesc(BinaryMessage):
    FIELDS, NUMBERS = (("lod_tensor", [_LoDTensorDesc]),), (1,)


class _Tuple(BinaryMessage):
    FIELDS, NUMBERS = (("element_type", [_Core.VarType.BOOL]),), (1,)


class VarType(BinaryMessage):
    """The kind of a variable, with the description of that kind."""

    Type = _Core.VarType
    TensorDesc, LoDTensorDesc, LoDTensorArrayDesc, ReaderDesc, Tuple = _TensorDesc, _LoDTensorDesc, _LoDTensorDesc, _ReaderDesc, _Tuple
    FIELDS = (
        ("type", _Core.VarType.BOOL), ("selected_rows", _TensorDesc), ("lod_tensor", _LoDTensorDesc), ("tensor_array", _LoDTensorDesc),
        ("reader", _ReaderDesc), ("tuple", _Tuple),
    )
    NUMBERS = (1, 2, 3, 4, 5, 7)


for _kind in _Core.VarType:
    setattr(VarType, _kind.name, _kind)


class VarDesc(BinaryMessage):
    """A variable."""

    FIELDS = (("name", ""), ("type", VarType), ("persistable", False), ("need_check_feed", False))
    NUMBERS = (1, 2, 3, 4)


class _Attr(BinaryMessage):
    FIELDS = (
        ("name", ""), ("type", AttrType.INT), ("i", 0), ("f", 0.0), ("s", ""), ("ints", [0]), ("floats", [0.0]), ("strings", [""]),
        ("b", False), ("bools", [False]), ("block_idx", 0), ("l", 0), ("blocks_idx", [0]), ("longs", [0]),
    )
    NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15)


class _Arguments(BinaryMessage):
    FIELDS, NUMBERS = (("parameter", ""), ("arguments", [""])), (1, 2)


class OpDesc(BinaryMessage):
    """An operator."""

    Attr, Var = _Attr, _Arguments
    FIELDS = (("inputs", [_Arguments]), ("outputs", [_Arguments]), ("type", ""), ("attrs", [_Attr]), ("is_target", False))
    NUMBERS = (1, 2, 3, 4, 5)


class _SlotProto(BinaryMessage):
    FIELDS = (("name", ""), ("comment", ""), ("duplicable", False), ("intermediate", False), ("dispensable", False))
    NUMBERS = (1, 2, 3, 4, 5)


class _AttrProto(BinaryMessage):
    FIELDS, NUMBERS = (("name", ""), ("type", AttrType.INT), ("comment", ""), ("generated", False)), (1, 2, 3, 4)


class OpProto(BinaryMessage):
    """The signature of an operator: slots and attributes.

    Example:
        >>> proto = fluid.framework.OpProtoHolder.instance().get_op_proto("relu")
        >>> [slot.name for slot in proto.inputs]
        ['X']
    """

    Var, Attr = _SlotProto, _AttrProto
    FIELDS = (("type", ""), ("inputs", [_SlotProto]), ("outputs", [_SlotProto]), ("attrs", [_AttrProto]), ("comment", ""))
    NUMBERS = (1, 2, 3, 4, 5)


class BlockDesc(BinaryMessage):
    """A block."""

    FIELDS = (("idx", 0), ("parent_idx", 0), ("vars", [VarDesc]), ("ops", [OpDesc]), ("forward_block_idx", -1))
    NUMBERS = (1, 2, 3, 4, 5)


class _CompatibleInfo(BinaryMessage):
    FIELDS, NUMBERS = (("version", ""), ("type", 0)), (1, 2)


class _OpCompatiblePair(BinaryMessage):
    FIELDS, NUMBERS = (("op_name", ""), ("compatible_info", _CompatibleInfo)), (1, 2)


class _OpCompatibleMap(BinaryMessage):
    FIELDS, NUMBERS = (("pair", [_OpCompatiblePair]), ("default_required_version", "")), (1, 2)


class ProgramDesc(BinaryMessage):
    """A program.

    Example:
        >>> from oarlock.fluid.proto import framework_pb2
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> found = framework_pb2.ProgramDesc.FromString(fluid.default_main_program().desc.serialize_to_string())
        >>> [op.type for op in found.blocks[0].ops]
        ['relu']
        >>> list(found.blocks[0].vars[0].type.lod_tensor.tensor.dims)
        [-1, 4]
    """

    FIELDS = (("blocks", [BlockDesc]), ("op_compatible_map", _OpCompatibleMap), ("version", Version))
    NUMBERS = (1, 3, 4)
