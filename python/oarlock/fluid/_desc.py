"""Descriptions of variables and operators, as scripts know them from Fluid: ``var.desc.type()``, ``op.desc.input_arg_names()``. They
are views; what they show and set is in the program."""


class VarView:
    """The description of a variable."""

    def __init__(self, var):
        self._var = var

    def _key(self):
        return id(self._var.block.program.desc), self._var._block_idx, self._var.name

    def __eq__(self, other):
        return isinstance(other, VarView) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def name(self):
        """Its name."""
        return self._var.name

    def type(self):
        """The kind of variable."""
        return self._var.type

    def dtype(self):
        """The element type."""
        return self._var.dtype

    def shape(self):
        """Its sizes."""
        return list(self._var.shape)

    get_shape = shape

    def lod_level(self):
        """Levels of sequences."""
        return self._var.lod_level

    def persistable(self):
        """Does it live in the scope?"""
        return self._var.persistable

    def need_check_feed(self):
        """Must what is fed be as declared?"""
        return self._var.need_check_feed

    def set_type(self, type):
        """Declares another kind of variable."""
        self._var._set("type", int(type))

    def _reads(self, number):
        return [read[number] for read in self._var._get("reads")]

    def _set_reads(self, number, values):
        """Declares what a reader reads: ``number`` is 0 for element types, 1 for shapes, 2 for LoD levels."""
        reads = [list(read) for read in self._var._get("reads")][:len(values)]
        reads += [[5, [], 0] for _ in values[len(reads):]]
        for read, value in zip(reads, values):
            read[number] = value
        program = self._var.block.program
        program.desc.declare_reader(self._var._block_idx, self._var.name, [tuple(read) for read in reads])

    def shapes(self):
        """The sizes of what a reader reads."""
        return [list(shape) for shape in self._reads(1)]

    def dtypes(self):
        """The element types of what a reader reads."""
        from .core import VarDesc

        return [VarDesc.VarType(dtype) for dtype in self._reads(0)]

    def lod_levels(self):
        """The levels of sequences of what a reader reads."""
        return self._reads(2)

    def set_shapes(self, shapes):
        """Declares the sizes of what a reader reads."""
        self._set_reads(1, [list(shape) for shape in shapes])

    def set_dtypes(self, dtypes):
        """Declares the element types of what a reader reads."""
        self._set_reads(0, [int(dtype) for dtype in dtypes])

    def set_lod_levels(self, levels):
        """Declares the levels of sequences of what a reader reads."""
        self._set_reads(2, list(levels))

    def set_shape(self, shape):
        """Declares other sizes."""
        self._var._set("shape", list(shape))

    def set_dtype(self, dtype):
        """Declares another element type."""
        self._var._set("dtype", dtype)

    def set_lod_level(self, level):
        """Declares other levels of sequences."""
        self._var.lod_level = level

    def set_persistable(self, persistable):
        """Lets it live in the scope, or not."""
        self._var.persistable = persistable

    def set_need_check_feed(self, check):
        """Must what is fed be as declared?"""
        self._var.need_check_feed = check


class OpView:
    """The description of an operator."""

    def __init__(self, op):
        self._op = op

    def __eq__(self, other):
        return isinstance(other, OpView) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return id(self._op.block.program.desc), self._op.block.idx, self._op._mark

    def set_type(self, type):
        """Gives it another type."""
        self._op._desc.set_op_type(self._op.block.idx, self._op.idx, type)

    def copy_from(self, other):
        """Takes over type, variables and attributes of another operator."""
        self.set_type(other.type())
        for is_input, slots in ((True, other.input_names()), (False, other.output_names())):
            for slot in slots:
                self._set_slot(is_input, slot, other.input(slot) if is_input else other.output(slot))
        for name, value in other._attrs().items():
            self._set_attr(name, value)

    def _attrs(self):
        return self._op.all_attrs()

    def set_block_attr(self, name, block):
        """Sets an attribute to a block, by its description."""
        self._op._set_attr(name, block._block)

    def _block_attr_id(self, name):
        return self._op._block_attr_id(name)

    def remove_attr(self, name):
        """Refused: an attribute can be set, but not taken away."""
        raise NotImplementedError("an attribute cannot be removed: set it to its default")

    def type(self):
        """The operator's type."""
        return self._op.type

    def input(self, name):
        """The names in an input slot."""
        return self._op.input(name)

    def output(self, name):
        """The names in an output slot."""
        return self._op.output(name)

    def input_names(self):
        """The input slots."""
        return self._op.input_names

    def output_names(self):
        """The output slots."""
        return self._op.output_names

    def input_arg_names(self):
        """The names of all inputs."""
        return self._op.input_arg_names

    def output_arg_names(self):
        """The names of all outputs."""
        return self._op.output_arg_names

    def attr(self, name):
        """An attribute."""
        return self._op.attr(name)

    def attr_names(self):
        """The names of the attributes."""
        return self._op.attr_names

    def has_attr(self, name):
        """Is the attribute set?"""
        return self._op.has_attr(name)

    def attr_type(self, name):
        """The kind of an attribute."""
        return self._op.attr_type(name)

    def block(self):
        """The description of its block."""
        return BlockView(self._op.block)

    def infer_shape(self, block):
        """Infers the types of its outputs."""
        self._op._desc.infer_op(self._op.block.idx, self._op.idx)

    def infer_var_type(self, block):
        """Infers the types of its outputs, which is done when an operator is appended, too."""
        self.infer_shape(block)

    def check_attrs(self):
        """Gives attributes that are not set their defaults."""
        self._op._desc.set_default_attrs(self._op.block.idx, self._op.idx)

    def set_input(self, name, args):
        """Sets the names in an input slot."""
        self._set_slot(True, name, args)

    def set_output(self, name, args):
        """Sets the names in an output slot."""
        self._set_slot(False, name, args)

    def _set_slot(self, inputs, name, args):
        self._op._desc.set_slot(self._op.block.idx, self._op.idx, inputs, name, list(args))

    def _set_attr(self, name, value):
        self._op._set_attr(name, value)

    def _rename_input(self, old_name, new_name):
        self._op._rename_input(old_name, new_name)

    def _rename_output(self, old_name, new_name):
        self._op._rename_output(old_name, new_name)


def _text(name):
    """Names are bytes in scripts that were written for Python 2 and 3."""
    return name.decode() if isinstance(name, bytes) else name


class BlockView:
    """The description of a block."""

    def __init__(self, block):
        self._block = block

    id = property(lambda self: self._block.idx, doc="Its number.")
    parent = property(lambda self: self._block.parent_idx, doc="The number of the block around it, or -1.")

    def __eq__(self, other):
        same = lambda view: (id(view._block.program.desc), view._block.idx)
        return isinstance(other, BlockView) and same(self) == same(other)

    def __hash__(self):
        return hash((id(self._block.program.desc), self._block.idx))

    def append_op(self):
        """Appends an operator without type and variables, and returns its description."""
        return self._insert_op(self.op_size())

    def _prepend_op(self):
        return self._insert_op(0)

    def _insert_op(self, index):
        self._block.program.desc.insert_blank_op(self._block.idx, index, "")
        return self.op(index)

    def _remove_op(self, start, end):
        self._block.program.desc.remove_ops(self._block.idx, start, end)

    def _remove_var(self, name):
        self._block._remove_var(_text(name))

    def _rename_var(self, name, new_name):
        self._block._rename_var(name, new_name)

    def get_forward_block_idx(self):
        """The number of the block of which it holds the gradients, or -1."""
        return self._block.forward_block_idx

    def op_size(self):
        """How many operators it has."""
        return len(self._block.ops)

    def op(self, index):
        """The description of an operator."""
        return OpView(self._block.ops[index])

    def all_vars(self):
        """The descriptions of its variables."""
        return [VarView(var) for var in self._block.vars.values()]

    def has_var(self, name):
        """Is there a variable of this name in this very block?"""
        return self._block.has_var(_text(name))

    def has_var_recursive(self, name):
        """Is there a variable of this name in this block or one around it?"""
        return self._block._find_var_recursive(_text(name)) is not None

    def find_var(self, name):
        """The description of a variable of this block, or None."""
        name = _text(name)
        return VarView(self._block.var(name)) if self._block.has_var(name) else None

    def find_var_recursive(self, name):
        """The description of a variable of this block or one around it, or None."""
        found = self._block._find_var_recursive(_text(name))
        return None if found is None else VarView(found)

    def var(self, name):
        """The description of a variable; declares it if there is none."""
        return VarView(self._block.create_var(name=_text(name)))

    def serialize_to_string(self):
        """The bytes of the block in a saved program."""
        from .proto import framework_pb2

        saved = framework_pb2.ProgramDesc.FromString(self._block.program.serialize_to_string())
        return saved.blocks[self._block.idx].SerializeToString()


def block_of(program, index):
    """Returns the description of a block of the core's program."""
    from .framework import Program

    return BlockView(Program(program).block(index))


class ProgramDesc:
    """The description of a program, made of the bytes of a saved one, or empty. ``fluid.Program.parse_from_string`` makes a program that
    can run.

    Args:
        data (bytes): a saved program.
    """

    def __init__(self, data=None):
        from .framework import Program

        self._program = Program() if data is None else Program.parse_from_string(data)

    def num_blocks(self):
        """How many blocks it has."""
        return self._program.num_blocks

    def block(self, index):
        """The description of a block."""
        return BlockView(self._program.block(index))

    def append_block(self, parent):
        """A new block inside one; returns its description."""
        return self._program.desc.append_block(parent)

    def serialize_to_string(self):
        """The bytes of the saved program."""
        return self._program.serialize_to_string()

    def parse_from_string(self, data):
        """Takes over a saved program."""
        self._program = type(self._program).parse_from_string(data)

    def _version(self):
        return self._program._version()


class GradOpView:
    """The description of an operator of a gradient, before it is part of a program."""

    def __init__(self, op_type, inputs, outputs, attrs):
        self._type, self._inputs, self._outputs, self._values = op_type, dict(inputs), dict(outputs), attrs

    def type(self):
        """The operator's type."""
        return self._type

    def input(self, name):
        """The names in an input slot."""
        return self._inputs.get(name, [])

    def output(self, name):
        """The names in an output slot."""
        return self._outputs.get(name, [])

    def input_names(self):
        """The input slots."""
        return list(self._inputs)

    def output_names(self):
        """The output slots."""
        return list(self._outputs)

    def input_arg_names(self):
        """The names of all inputs."""
        return [name for names in self._inputs.values() for name in names]

    def output_arg_names(self):
        """The names of all outputs."""
        return [name for names in self._outputs.values() for name in names]

    def attr_names(self):
        """The names of the attributes."""
        return list(self._values)

    def has_attr(self, name):
        """Is the attribute set?"""
        return name in self._values

    def attr(self, name):
        """An attribute."""
        return self._values[name]

    def _attrs(self):
        return self._values

    def infer_shape(self, block):
        """Infers the types of its outputs in a block that has a copy of it."""
        for index in reversed(range(block.op_size())):
            copy = block.op(index)
            if copy.type() == self._type and copy.output_arg_names() == self.output_arg_names():
                copy.infer_shape(block)
                return

    infer_var_type = infer_shape


def gradient_of(op, no_grad, grad_blocks):
    """Returns the descriptions of the operators that compute the gradient of an operator, and the variables of its gradients.

    Args:
        op (OpView): the operator.
        no_grad (set): names of gradients that are not needed.
        grad_blocks (list): the descriptions of blocks of gradients, if the operator has a block.
    """
    from .. import _core

    block = grad_blocks[0].id if grad_blocks else None
    found = _core.gradient_ops(op._op._desc, op._op.block.idx, op._op.idx, set(no_grad), block)
    made = [GradOpView(*parts) for parts in found]
    suffix = "@GRAD"
    names = {name for each in made for name in each.input_arg_names() + each.output_arg_names() if name.endswith(suffix)}
    return made, {name: name[:-len(suffix)] for name in names}
