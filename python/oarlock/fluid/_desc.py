"""Descriptions of variables and operators, as scripts know them from Fluid: ``var.desc.type()``, ``op.desc.input_arg_names()``. They
are views; what they show and set is in the program."""


class VarView:
    """The description of a variable."""

    def __init__(self, var):
        self._var = var

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
        """Shapes are inferred when an operator is appended: they are right already."""

    infer_var_type = infer_shape

    def check_attrs(self):
        """Attributes are checked when an operator is appended."""

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

    def serialize_to_string(self):
        """The bytes of the saved program."""
        return self._program.serialize_to_string()
