"""The signatures of operators, as ``fluid.framework`` shows them."""

from .. import _core


def get_all_op_protos():
    """Returns the signatures of all operators.

    Example:
        >>> len(fluid.framework.get_all_op_protos()) > 400
        True
    """
    from . import _op_protos

    return _op_protos.all_protos()


class OpProtoHolder:
    """The signatures of operators, by type.

    Example:
        >>> proto = fluid.framework.OpProtoHolder.instance().get_op_proto("sum")
        >>> proto.inputs[0].name, proto.inputs[0].duplicable
        ('X', True)
    """

    _instance = None

    @classmethod
    def instance(cls):
        """Returns the one holder."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    @property
    def op_proto_map(self):
        """All signatures by type."""
        return {proto.type: proto for proto in get_all_op_protos()}

    def get_op_proto(self, type):
        """Returns the signature of an operator.

        Args:
            type (str): its type.

        Raises:
            ValueError: there is no such operator.
        """
        from . import _op_protos

        if not self.has_op_proto(type):
            raise ValueError('Operator "%s" has not been registered.' % type)
        return _op_protos.proto(type)

    def has_op_proto(self, type):
        """Returns whether there is an operator of a type."""
        return type in _core.op_types()

    def update_op_proto(self):
        """Returns the types of operators that were loaded since: none, operators are part of this build."""
        return []

    @staticmethod
    def generated_op_attr_names():
        """Returns the names of the attributes that every operator has."""
        from . import _op_protos

        return set(_op_protos.GENERATED)
