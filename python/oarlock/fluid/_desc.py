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

    def _set_attr(self, name, value):
        self._op._set_attr(name, value)

    def _rename_input(self, old_name, new_name):
        self._op._rename_input(old_name, new_name)

    def _rename_output(self, old_name, new_name):
        self._op._rename_output(old_name, new_name)
