"""Operators outside of programs: ``Operator("relu", X="x", Out="y").run(scope, place)`` reads and writes variables of a scope."""

import numpy as np

from . import _op_protos, core
from .proto import framework_pb2

__all__ = ["OpDescCreationMethod", "OpInfo", "Operator", "OperatorFactory", "create_op_creation_method", "get_all_op_protos", "is_str"]

_VALUE_FIELDS = {
    framework_pb2.INT: "i", framework_pb2.FLOAT: "f", framework_pb2.STRING: "s", framework_pb2.BOOLEAN: "b", framework_pb2.LONG: "l",
    framework_pb2.INTS: "ints", framework_pb2.FLOATS: "floats", framework_pb2.STRINGS: "strings", framework_pb2.BOOLEANS: "bools",
    framework_pb2.LONGS: "longs",
}


def get_all_op_protos():
    """Returns the signatures of all operators.

    Example:
        >>> from oarlock.fluid import op
        >>> "relu" in [proto.type for proto in op.get_all_op_protos()]
        True
    """
    return _op_protos.all_protos()


def is_str(s):
    """Returns whether a value is text."""
    return isinstance(s, str)


class OpDescCreationMethod:
    """Makes descriptions of an operator from keyword arguments.

    Args:
        op_proto (framework_pb2.OpProto): its signature.
    """

    def __init__(self, op_proto):
        if not isinstance(op_proto, framework_pb2.OpProto):
            raise TypeError("op_proto should be OpProto in Python, not %r" % type(op_proto))
        self.__op_proto__ = op_proto
        self.__extra_attrs__ = _op_protos.GENERATED

    def __call__(self, *args, **kwargs):
        """Returns the description: slots take names or lists of names, attributes their values.

        Raises:
            ValueError: a slot of one variable got several, or an argument stands without a keyword.
        """
        if args:
            raise ValueError("Only keyword arguments are supported.")
        made = framework_pb2.OpDesc()
        made.type = self.__op_proto__.type
        for slots, into in ((self.__op_proto__.inputs, made.inputs), (self.__op_proto__.outputs, made.outputs)):
            for slot in slots:
                names = kwargs.get(slot.name, [])
                names = [names] if is_str(names) else list(names)
                if not slot.duplicable and len(names) > 1:
                    raise ValueError("Input %s expects only one input, but %d are given." % (slot.name, len(names)))
                argument = into.add()
                argument.parameter = slot.name
                argument.arguments.extend(names)
        for attr in self.__op_proto__.attrs:
            if attr.name in kwargs and not (attr.generated and kwargs[attr.name] is None):
                _set_value(made.attrs.add(), attr.name, attr.type, kwargs[attr.name])
        return made

    @staticmethod
    def any_is_true(generator):
        """Returns whether anything of what it iterates is true."""
        return any(generator)


def _set_value(attr, name, kind, value):
    if kind not in _VALUE_FIELDS:
        raise NotImplementedError("A not supported attribute type: %s." % kind)
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    attr.name, attr.type = name, kind
    field = _VALUE_FIELDS[kind]
    if isinstance(getattr(attr, field), list):
        getattr(attr, field).extend(value)
    else:
        setattr(attr, field, value)


class OpInfo:
    """An operator's name, signature and how it is made."""

    def __init__(self, name, method, inputs, outputs, attrs):
        self.name, self.method, self.inputs, self.outputs, self.attrs = name, method, inputs, outputs, attrs


def create_op_creation_method(op_proto):
    """Returns what makes operators of a signature.

    Args:
        op_proto (framework_pb2.OpProto): the signature.
    """
    slots = lambda found: [(slot.name, slot.duplicable) for slot in found]
    return OpInfo(op_proto.type, lambda *args, **kwargs: _Operator(op_proto, *args, **kwargs), slots(op_proto.inputs),
                  slots(op_proto.outputs), [attr.name for attr in op_proto.attrs])


class _Operator:
    """An operator with the names of its variables."""

    def __init__(self, proto, *args, **kwargs):
        if args:
            raise ValueError("Only keyword arguments are supported.")
        known = {slot.name for slot in list(proto.inputs) + list(proto.outputs)}
        self._type = proto.type
        names = lambda value: [value] if is_str(value) else list(value)
        self._inputs = {slot.name: names(kwargs[slot.name]) for slot in proto.inputs if slot.name in kwargs}
        self._outputs = {slot.name: names(kwargs[slot.name]) for slot in proto.outputs if slot.name in kwargs}
        self._attrs = {name: value for name, value in kwargs.items() if name not in known}
        self._built = {}

    def type(self):
        """Returns its type."""
        return self._type

    def inputs(self):
        """Returns the names of its inputs by slot."""
        return dict(self._inputs)

    def outputs(self):
        """Returns the names of its outputs by slot."""
        return dict(self._outputs)

    def input_vars(self):
        """Returns the names of all inputs."""
        return [name for names in self._inputs.values() for name in names]

    def output_vars(self):
        """Returns the names of all outputs."""
        return [name for names in self._outputs.values() for name in names]

    def no_intermediate_outputs(self):
        """Returns the names of the outputs that are not by-products."""
        slots = {slot.name for slot in _op_protos.proto(self._type).outputs if slot.intermediate}
        return [name for slot, names in self._outputs.items() if slot not in slots for name in names]

    def support_gpu(self):
        """Returns False: this build computes on CPUs."""
        return False

    def run(self, scope, place):
        """Computes the outputs from the inputs; both are variables of the scope."""
        from .executor import Executor

        place._refuse()
        held = tuple((name, *_kind(scope, name)) for name in sorted(set(self.input_vars()) | set(self.output_vars())))
        if held not in self._built:
            self._built = {held: (self._program(held), Executor(core.CPUPlace()))}
        program, executor = self._built[held]
        executor.run(program, scope=scope)

    def _program(self, held):
        from .framework import Program

        program = Program()
        block = program.global_block()
        read = set(self.input_vars())
        for name, kind, dtype, shape, levels in held:
            known = {"dtype": dtype, "shape": shape, "lod_level": levels} if name in read and dtype is not None else {}
            block.create_var(name=name, type=kind, persistable=True, **known)
        block.append_op(type=self._type, inputs=self._inputs, outputs=self._outputs, attrs=self._attrs)
        return program

    def __str__(self):
        slots = lambda found: ", ".join("%s[%s]" % (slot, ", ".join(names)) for slot, names in found.items())
        return "Op(%s), inputs:{%s}, outputs:{%s}." % (self._type, slots(self._inputs), slots(self._outputs))

    __repr__ = __str__


def _kind(scope, name):
    """The kind of variable, element type, shape and LoD levels that a variable of a scope has."""
    kinds = core.VarDesc.VarType
    var = scope.find_var(name)
    if var is None:
        scope.var(name)
        return kinds.LOD_TENSOR, None, (), 0
    holds = var.kind()
    if holds == "selected rows":
        rows = var.get_selected_rows()
        tensor = rows.get_tensor()
        return kinds.SELECTED_ROWS, tensor._dtype(), (rows.height(),) + tuple(tensor.shape()[1:]), 0
    if holds == "a tensor array":
        return kinds.LOD_TENSOR_ARRAY, None, (), 0
    if holds != "a tensor":
        return kinds.LOD_TENSOR, None, (), 0
    tensor = var.get_tensor()
    return kinds.LOD_TENSOR, tensor._dtype(), tuple(tensor.shape()), len(tensor.lod())


class OperatorFactory:
    """Makes operators by type, and tells their signatures."""

    def __init__(self):
        self.op_methods = {}

    def get_op_info(self, t):
        """Returns what makes operators of a type.

        Raises:
            ValueError: there is no such operator.
        """
        if t not in self.op_methods:
            from .._core import op_types

            if t not in op_types():
                raise ValueError("The operator: %s is not registered." % t)
            self.op_methods[t] = create_op_creation_method(_op_protos.proto(t))
        return self.op_methods[t]

    def __call__(self, *args, **kwargs):
        """Makes an operator.

        Args:
            type (str): its type; slots take the names of variables, attributes their values.
        """
        if "type" in kwargs:
            if args:
                raise ValueError("Except the argument \"type\", all of the other arguments should be keyword arguments.")
            t = kwargs.pop("type")
        elif len(args) == 1:
            t = args[0]
        else:
            raise ValueError("Except the argument \"type\", all of the other arguments should be keyword arguments.")
        return self.get_op_info(t).method(**kwargs)

    def types(self):
        """Returns the types of all operators."""
        from .._core import op_types

        return op_types()

    def get_op_input_names(self, type):
        """Returns the names of the input slots."""
        return [name for name, _ in self.get_op_info(type).inputs]

    def get_op_inputs(self, type):
        """Returns the input slots, and whether each takes several variables."""
        return self.get_op_info(type).inputs

    def get_op_output_names(self, type):
        """Returns the names of the output slots."""
        return [name for name, _ in self.get_op_info(type).outputs]

    def get_op_outputs(self, type):
        """Returns the output slots, and whether each takes several variables."""
        return self.get_op_info(type).outputs

    def get_op_attr_names(self, type):
        """Returns the names of the attributes."""
        return self.get_op_info(type).attrs

    def get_op_extra_attr_names(self, type):
        """Returns the names of the attributes that every operator has."""
        return list(_op_protos.GENERATED)


Operator = OperatorFactory()


class _Unsupported:
    """An operator that holds a network of others, from before programs had blocks."""

    def __init__(self, name, instead):
        self._name, self._instead = name, instead

    def __call__(self, *args, **kwargs):
        """Raises NotImplementedError."""
        raise NotImplementedError("fluid.op.%s is not supported: use fluid.layers.%s" % (self._name, self._instead))


RecurrentOp = _Unsupported("RecurrentOp", "StaticRNN")
DynamicRecurrentOp = _Unsupported("DynamicRecurrentOp", "DynamicRNN")
CondOp = _Unsupported("CondOp", "cond")
