"""Programs, blocks, variables and operators, as thin views of the core's."""

import contextlib
import warnings

import numpy as np

from .. import _core
from . import _state
from ._complex_variable import ComplexVariable
from ._desc import BlockView, OpView, VarView
from ._op_proto_holder import OpProtoHolder, get_all_op_protos  # noqa: F401
from ._places import _cpu_num, cpu_places, cuda_pinned_places, cuda_places, load_op_library, require_version  # noqa: F401
from .core import CPUPlace, CUDAPinnedPlace, CUDAPlace, VarDesc  # noqa: F401
from .flags import get_flags, set_flags
from .wrapped_decorator import wrap_decorator

__all__ = [
    "Program", "Block", "Variable", "Parameter", "Operator", "default_main_program", "default_startup_program",
    "program_guard", "name_scope", "cpu_places", "cuda_places", "cuda_pinned_places", "in_dygraph_mode",
    "is_compiled_with_cuda", "device_guard", "get_flags", "set_flags", "load_op_library", "require_version", "ComplexVariable",
    "convert_np_dtype_to_dtype_", "grad_var_name", "GRAD_VAR_SUFFIX", "EMPTY_VAR_NAME", "TEMP_VAR_NAME",
]

GRAD_VAR_SUFFIX = "@GRAD"
EMPTY_VAR_NAME = "@EMPTY@"
TEMP_VAR_NAME = "@TEMP@"
ZERO_VAR_SUFFIX = "@ZERO"
CONTROL_DEP_VAR_PREFIX = "@DEPENDENCY@"


def grad_var_name(var_name):
    """The name of a variable's gradient."""
    return var_name + GRAD_VAR_SUFFIX


def convert_np_dtype_to_dtype_(np_dtype):
    """The number of ``VarDesc.VarType`` of a numpy type."""
    name = np.dtype(np_dtype).name
    try:
        return VarDesc.VarType.by_numpy[name]
    except KeyError:
        raise ValueError("numpy type %s has no counterpart" % name) from None


def dtype_is_floating(dtype):
    """Returns whether an element type holds numbers with a fraction.

    Args:
        dtype (VarDesc.VarType, numpy type or str): the type.

    Example:
        >>> fluid.framework.dtype_is_floating("float32"), fluid.framework.dtype_is_floating(np.int64)
        (True, False)
    """
    kind = dtype if isinstance(dtype, VarDesc.VarType) else convert_np_dtype_to_dtype_(dtype)
    return kind in (VarDesc.VarType.FP16, VarDesc.VarType.FP32, VarDesc.VarType.FP64)


def _dygraph_tracer():
    """The tracer of eager mode, or None."""
    return _state.tracer


def _current_expected_place():
    """The place of eager mode, or None."""
    return _state.place


def in_dygraph_mode():
    """Whether operators run when they are called (eager mode); otherwise they build a program.

    Returns:
        bool: True inside ``fluid.dygraph.guard()`` and after ``fluid.enable_dygraph()``.

    Example:
        >>> fluid.in_dygraph_mode()
        False
        >>> with fluid.dygraph.guard():
        ...     fluid.in_dygraph_mode()
        True
    """
    return _state.tracer is not None


def _dygraph_only_(function):
    def call(*args, **kwargs):
        if _state.tracer is None:
            raise AssertionError(
                "We Only support %s in imperative mode, please use fluid.dygraph.guard() as context to run it in imperative Mode"
                % function.__name__)
        return function(*args, **kwargs)

    return call


def _dygraph_not_support_(function):
    def call(*args, **kwargs):
        if _state.tracer is not None:
            raise AssertionError("We don't support %s in imperative mode" % function.__name__)
        return function(*args, **kwargs)

    return call


def _fake_interface_only_(function):
    def call(*args, **kwargs):
        raise AssertionError(
            "'%s' should be called by imperative Varible in imperative mode, please use fluid.dygraph.guard() as context to run it "
            "in imperative mode" % function.__name__)

    return call


# Decorators of functions that work in one of both modes, and of methods that a Variable of a program does not have.
dygraph_only = wrap_decorator(_dygraph_only_)
dygraph_not_support = wrap_decorator(_dygraph_not_support_)
fake_interface_only = wrap_decorator(_fake_interface_only_)


@contextlib.contextmanager
def _dygraph_guard(tracer):
    """Eager mode with this tracer inside the block; None builds programs there."""
    outer, _state.tracer = _state.tracer, tracer
    if outer is not None:
        outer._leave()
    if tracer is not None:
        tracer._enter()
    try:
        yield
    finally:
        if tracer is not None:
            tracer._leave()
        if outer is not None:
            outer._enter()
        _state.tracer = outer


@contextlib.contextmanager
def _dygraph_place_guard(place):
    """Eager tensors are on this place inside the block."""
    outer, _state.place = _state.place, place
    try:
        yield
    finally:
        _state.place = outer


def is_compiled_with_cuda():
    """Always False: this build computes on CPUs."""
    return False


def _operator(layer, reverse=None):
    def method(self, other):
        return _call(layer, {"x": self, "y": other})

    return method


def _call(layer, args):
    """Calls a layer of the core in the default programs, or at once in eager mode."""
    main = default_main_program()
    if _state.tracer is not None:
        return _state.tracer.layer(_state.builder, main._context(), layer, args)
    if _state.capture is not None:
        args = _state.capture.arguments(args)
    return _state.builder.layer(layer, args, main._context(), main._wrap)


_NUMPY_NAMES = {"double": "float64", "float": "float64", "half": "float16", "int": "int64"}


def _check_flags(throw_on_error, with_details):
    # Scripts written for Fluid catch AssertionError here.
    if not isinstance(throw_on_error, bool) or not isinstance(with_details, bool):
        raise AssertionError("throw_on_error and with_details are True or False, not %r and %r" % (throw_on_error, with_details))


class _EagerOnly(AssertionError, NotImplementedError):
    """A method of eager mode was called on a variable of a program: Fluid raises AssertionError."""


class VariableMetaClass(type):
    """Makes eager tensors instances of ``Variable`` while eager mode is on, and of ``Parameter`` if they are parameters."""

    def __instancecheck__(cls, instance):
        kind = type(instance)
        if _state.tracer is not None and cls is Variable:
            return issubclass(kind, _core.VarBase)
        if _state.tracer is not None and cls is Parameter:
            return issubclass(kind, ParamBase)
        return issubclass(kind, cls)


ParameterMetaClass = VariableMetaClass


class Variable(_core.VarHandle, metaclass=VariableMetaClass):
    """A variable of a program: a name and a description. Its values are in a scope while a program runs."""

    # Lets numpy's numbers on the left of an operator leave it to the methods below.
    __array_ufunc__ = None

    def __new__(cls, block, name):
        return super().__new__(cls, block.idx, name)

    def __init__(self, block, name):
        self.block = block

    def _get(self, field):
        return self.block.program.desc.var_get(self._block_idx, self.name, field)

    def _set(self, field, value):
        self.block.program.desc.var_set(self._block_idx, self.name, field, value)

    shape = property(lambda self: self._get("shape"), doc="Sizes; -1 where they are known only when a program runs.")
    lod_level = property(lambda self: self._get("lod_level"), lambda self, v: self._set("lod_level", v))
    type = property(lambda self: VarDesc.VarType(self._get("type")), doc="What kind of variable it is.")
    stop_gradient = property(lambda self: self._get("stop_gradient"), lambda self, v: self._set("stop_gradient", v))
    persistable = property(lambda self: self._get("persistable"), lambda self, v: self._set("persistable", v))
    is_data = property(lambda self: self._get("is_data"), lambda self, v: self._set("is_data", v))
    need_check_feed = property(
        lambda self: self._get("need_check_feed"), lambda self, v: self._set("need_check_feed", v)
    )

    @property
    def dtype(self):
        """The element type."""
        return VarDesc.VarType(self._get("dtype"))

    @property
    def grad_name(self):
        """The name of its gradient."""
        return self.name + GRAD_VAR_SUFFIX

    @property
    def desc(self):
        """Its description."""
        return VarView(self)

    @property
    def error_clip(self):
        """A limit on its gradient."""
        return getattr(self, "_error_clip", None)

    @error_clip.setter
    def error_clip(self, clip):
        self._error_clip = clip
        _state.builder.set_error_clip(self, clip.min, clip.max)

    def set_error_clip(self, error_clip):
        """Limits its gradient while it flows back."""
        self.error_clip = error_clip

    _set_error_clip = set_error_clip

    def _set_info(self, key, value):
        """Notes a value of the user's under a key."""
        self.__dict__.setdefault("_info", {})[key] = value

    def _get_info(self, key):
        """The value under a key, or None."""
        return self.__dict__.get("_info", {}).get(key)

    @property
    def op(self):
        """The last operator of its block that writes it, or None."""
        writers = [op for op in self.block.ops if self.name in op.output_arg_names]
        return writers[-1] if writers else None

    def _cloneVar(self, copy=False):
        """A new variable of its type; with ``copy`` an operator copies the value."""
        made = self.block.create_var(name=_state.builder.generate(self.name), dtype=self.dtype)
        if copy:
            self.block.append_op(type="assign", inputs={"X": [self]}, outputs={"Out": [made]})
        return made

    def set_desc(self, input):
        """Takes over the description of another variable."""
        for field in ("shape", "dtype", "lod_level"):
            self._set(field, input._get(field))

    def astype(self, dtype):
        """The variable with another element type."""
        return _call("_astype", {"x": self, "dtype": _NUMPY_NAMES.get(dtype, dtype) if isinstance(dtype, str) else dtype})

    def to_string(self, throw_on_error, with_details=False):
        """A readable description."""
        _check_flags(throw_on_error, with_details)
        text = self._get("text")
        if with_details:
            text += " error_clip: %s stop_gradient: %s" % (self.error_clip, self.stop_gradient)
        return text

    def __repr__(self):
        return "var %s" % self._get("text")

    __str__ = __repr__

    def __hash__(self):
        return hash((self._block_idx, self.name))

    def numpy(self):
        """Belongs to eager mode."""
        raise _EagerOnly("a Variable has values only while a program runs: fetch it with exe.run(fetch_list=[...])")

    def backward(self, *args, **kwargs):
        """Belongs to eager mode."""
        raise _EagerOnly("use optimizer.minimize(loss) or fluid.backward.append_backward(loss)")

    def detach(self):
        """Belongs to eager mode."""
        raise _EagerOnly("'detach' belongs to eager mode: set stop_gradient, or use layers.assign of a variable with stop_gradient")

    def set_value(self, value):
        """Belongs to eager mode."""
        raise _EagerOnly("'set_value' belongs to eager mode: use global_scope().find_var(name).get_tensor().set(array, place)")

    def gradient(self):
        """Belongs to eager mode."""
        raise _EagerOnly("'gradient' belongs to eager mode: fetch %s" % self.grad_name)

    def clear_gradient(self):
        """Belongs to eager mode."""
        raise _EagerOnly("'clear_gradient' belongs to eager mode: gradients of a program are new in every run")

    __add__ = _operator("_add")
    __radd__ = _operator("_add")
    __sub__ = _operator("_sub")
    __rsub__ = _operator("_rsub")
    __mul__ = _operator("_mul")
    __rmul__ = _operator("_mul")
    __div__ = _operator("_div")
    __truediv__ = _operator("_div")
    __rdiv__ = _operator("_rdiv")
    __rtruediv__ = _operator("_rdiv")
    __pow__ = _operator("_pow")
    __rpow__ = _operator("_rpow")
    __floordiv__ = _operator("_floordiv")
    __mod__ = _operator("_mod")
    __eq__ = _operator("_eq")
    __ne__ = _operator("_ne")
    __lt__ = _operator("_lt")
    __le__ = _operator("_le")
    __gt__ = _operator("_gt")
    __ge__ = _operator("_ge")

    def __neg__(self):
        return _call("_neg", {"x": self})

    def __bool__(self):
        # As any object that does not say otherwise, as in Fluid: scripts write `if mask:` to ask whether there is one.
        if self.dtype == VarDesc.VarType.BOOL:
            warnings.warn(
                "`if`, `while`, `and` and `in` take a Variable as true, independent of its values when the program runs: use "
                "layers.cond, layers.While or layers.logical_and for values, and `is None` to ask whether there is one", stacklevel=2,
            )
        return True

    def __len__(self):
        size = self.shape[0] if self.shape else 0
        if size < 0:
            raise TypeError("the length of %s is known only when the program runs: use layers.shape" % self.name)
        return size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, item):
        return _getitem(self, item)


def _getitem(var, item):
    """``x[1]``, ``x[:, 1:3]``, ``x[..., -1]``, ``x[::2]``: slices, then dimensions that an index removes."""
    items = list(item) if isinstance(item, tuple) else [item]
    rank = len(var.shape)
    if Ellipsis in [i for i in items if not isinstance(i, Variable)]:
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - len(items) + 1)
    if len(items) > rank:
        raise IndexError("%s has %d dimensions, not %d" % (var.name, rank, len(items)))
    axes, starts, ends, steps, gone, reverse = [], [], [], [], [], []
    for axis, i in enumerate(items):
        if isinstance(i, slice):
            # Not by ==: a bound may be a Variable.
            if i.start is None and i.stop is None and i.step is None:
                continue
            step = 1 if i.step is None else i.step
            if isinstance(step, Variable):
                raise TypeError("the step of a slice of %s must be a number, not a Variable" % var.name)
            if i.start is None and i.stop is None and step == -1:
                reverse.append(axis)
                continue
            size = var.shape[axis]
            start, stop = i.start, i.stop
            if start is None:
                start = 0 if step > 0 else (size if size >= 0 else _FAR) - 1
            if stop is None:
                stop = _FAR if step > 0 else -_FAR
            axes.append(axis), starts.append(start), ends.append(stop), steps.append(step)
        elif isinstance(i, Variable):
            axes.append(axis), starts.append(i), ends.append(i + 1), steps.append(1), gone.append(axis)
        else:
            i = int(i)
            size = var.shape[axis]
            if size >= 0 and not -size <= i < size:
                raise IndexError("index %d is out of range for dimension %d of %s, which has size %d" % (i, axis, var.name, size))
            axes.append(axis), starts.append(i), ends.append(i + 1 if i != -1 else _FAR), steps.append(1), gone.append(axis)
    out = var
    if axes and all(s == 1 for s in steps):
        out = _call("_item", {"x": out, "axes": axes, "starts": starts, "ends": ends, "gone": gone})
    elif axes:
        out = _call("strided_slice", {"input": out, "axes": axes, "starts": starts, "ends": ends, "strides": steps})
        if gone:
            # Of a result without dimensions one remains.
            gone = gone if len(gone) < len(out.shape) else gone[1:]
            out = _call("squeeze", {"input": out, "axes": gone, "name": None}) if gone else out
    if reverse:
        out = _call("reverse", {"x": out, "axis": reverse})
    return out


_FAR = 10000000


class Parameter(Variable):
    """A variable that is trained."""

    trainable = property(lambda self: self._get("trainable"), lambda self, v: self._set("trainable", v))
    do_model_average = property(
        lambda self: self._get("do_model_average"), lambda self, v: self._set("do_model_average", v)
    )
    is_distributed = property(
        lambda self: self._get("is_distributed"), lambda self, v: self._set("is_distributed", v)
    )

    @property
    def optimize_attr(self):
        """``{"learning_rate": factor}``"""
        return _OptimizeAttr(self)

    @optimize_attr.setter
    def optimize_attr(self, attr):
        self._set("learning_rate", float(attr["learning_rate"]))

    @property
    def regularizer(self):
        """Weight decay of its own."""
        return getattr(self, "_regularizer", None)

    @regularizer.setter
    def regularizer(self, value):
        self._regularizer = value
        self._set("regularizer", value)


class _OptimizeAttr(dict):
    def __init__(self, param):
        super().__init__(learning_rate=param._get("learning_rate"))
        self._param = param

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if key == "learning_rate":
            self._param._set("learning_rate", float(value))


class Operator:
    """An operator of a block; it stays the same one when others are inserted in front of it."""

    def __init__(self, block, mark, index):
        self.block = block
        self._mark = mark
        # Where it was when last looked for.
        self._seen_at = index

    @property
    def _desc(self):
        return self.block.program.desc

    @property
    def idx(self):
        """Its position in the block."""
        found = self._desc.op_position(self.block.idx, self._mark, self._seen_at)
        if found is None:
            raise ValueError("this operator was removed from block %d" % self.block.idx)
        self._seen_at = found
        return found

    def __eq__(self, other):
        same = lambda op: (id(op.block.program), op.block.idx, op._mark)
        return isinstance(other, Operator) and same(self) == same(other)

    def __hash__(self):
        return hash((id(self.block.program), self.block.idx, self._mark))

    @property
    def type(self):
        """The operator's type."""
        return self._desc.op_type(self.block.idx, self.idx)

    @property
    def desc(self):
        """Its description."""
        return OpView(self)

    def _slots(self, inputs):
        return self._desc.op_slots(self.block.idx, self.idx, inputs)

    def _slot(self, inputs, name):
        for slot, args in self._slots(inputs):
            if slot == name:
                return args
        return []

    def input(self, name):
        """The names in an input slot."""
        return self._slot(True, name)

    def output(self, name):
        """The names in an output slot."""
        return self._slot(False, name)

    @property
    def input_names(self):
        """The input slots."""
        return [slot for slot, _ in self._slots(True)]

    @property
    def output_names(self):
        """The output slots."""
        return [slot for slot, _ in self._slots(False)]

    @property
    def input_arg_names(self):
        """The names of all inputs."""
        return [name for _, args in self._slots(True) for name in args]

    @property
    def output_arg_names(self):
        """The names of all outputs."""
        return [name for _, args in self._slots(False) for name in args]

    def all_attrs(self):
        """All attributes, blocks as Block."""
        attrs = self._desc.op_attrs(self.block.idx, self.idx)
        return {name: self._attr(value) for name, value in attrs.items()}

    def _attr(self, value):
        if isinstance(value, tuple):
            return self.block.program.block(value[0])
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            return [self.block.program.block(v[0]) for v in value]
        return value

    @property
    def attr_names(self):
        """The names of the attributes."""
        return list(self._desc.op_attrs(self.block.idx, self.idx))

    def has_attr(self, name):
        """Is the attribute set?"""
        return name in self._desc.op_attrs(self.block.idx, self.idx)

    def attr(self, name):
        """An attribute."""
        attrs = self.all_attrs()
        if name not in attrs:
            raise ValueError("operator %s has no attribute %s; it has %s" % (self.type, name, ", ".join(attrs)))
        return attrs[name]

    def _set_attr(self, name, val):
        self._desc.set_attr(self.block.idx, self.idx, name, val)

    set_attr = _set_attr

    def _rename_input(self, old_name, new_name):
        self._desc.rename_arg(self.block.idx, self.idx, True, old_name, new_name)

    def _rename_output(self, old_name, new_name):
        self._desc.rename_arg(self.block.idx, self.idx, False, old_name, new_name)

    rename_input, rename_output = _rename_input, _rename_output

    def attr_type(self, name):
        """The kind of an attribute, one of ``fluid.core.AttrType``."""
        from .core import AttrType
        from .proto import framework_pb2

        # The core shows values only; in the saved form each has its kind.
        saved = framework_pb2.ProgramDesc.FromString(self.block.program.serialize_to_string())
        for attr in saved.blocks[self.block.idx].ops[self.idx].attrs:
            if attr.name == name:
                return AttrType(int(attr.type))
        raise ValueError("operator %s has no attribute %s" % (self.type, name))

    def _block_attr_id(self, name):
        return self.attr(name).idx

    def _block_attr(self, name):
        return self.attr(name)

    def _blocks_attr(self, name):
        return self.attr(name)

    _update_desc_attr = _set_attr

    def _is_optimize_op(self):
        """Does it belong to the updates of parameters?"""
        return self.has_attr("op_role") and bool(int(self.attr("op_role")) & _OPTIMIZE)

    def _is_backward_op(self):
        """Does it belong to the backward pass?"""
        return self.has_attr("op_role") and bool(int(self.attr("op_role")) & _BACKWARD)

    def _blocks_attr_ids(self, name):
        return [block.idx for block in self.attr(name)]

    def to_string(self, throw_on_error):
        """A readable description."""
        slots = lambda inputs: ", ".join("%s=%s" % (s, a) for s, a in self._slots(inputs))
        return "{%s} = %s(inputs={%s})" % (slots(False), self.type, slots(True))

    def __repr__(self):
        return self.to_string(True)

    __str__ = __repr__


def _check_same(var, **given):
    """Raises if a variable is declared again as something else."""
    for field, new in given.items():
        if new is None:
            continue
        if field == "shape":
            new = tuple(-1 if d is None else int(d) for d in new)
        elif field == "dtype" and not isinstance(new, VarDesc.VarType):
            new = convert_np_dtype_to_dtype_(new)
        old = tuple(var.shape) if field == "shape" else getattr(var, field)
        if old != new:
            raise ValueError("variable %s has been created before: its %s is %s there and %s here" % (var.name, field, old, new))


class Block:
    """A block of a program: variables and operators."""

    def __init__(self, program, idx):
        self.program = program
        self.idx = idx

    @property
    def desc(self):
        """Its description."""
        return BlockView(self)

    @property
    def parent_idx(self):
        """The block around it, or -1."""
        return self.program.desc.parent(self.idx)

    @property
    def forward_block_idx(self):
        """The block whose gradients it holds, or -1."""
        return self.program.desc.forward(self.idx)

    @property
    def vars(self):
        """The variables by name."""
        return {name: self._var(name) for name in self.program.desc.var_names(self.idx)}

    @property
    def ops(self):
        """The operators in order."""
        return [Operator(self, mark, i) for i, mark in enumerate(self.program.desc.op_marks(self.idx))]

    def _var(self, name):
        return self.program._wrap(self.idx, name)

    def has_var(self, name):
        """Is there a variable of this name in this very block?"""
        return self.program.desc.has_var(self.idx, name)

    def var(self, name):
        """The variable of this name in this block."""
        if not isinstance(name, str):
            raise TypeError("a variable's name is a string, not %r" % (name,))
        if not self.has_var(name):
            raise ValueError("var %s not in this block" % name)
        return self._var(name)

    def _find_var_recursive(self, name):
        home = self.program.desc.resolve(self.idx, name)
        return None if home is None else self.program._wrap(home, name)

    def _var_recursive(self, name):
        found = self._find_var_recursive(name)
        if found is None:
            raise ValueError("Var {0} is not found recursively".format(name))
        return found

    def all_parameters(self):
        """The parameters of this block."""
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def iter_parameters(self):
        """The parameters of this block."""
        return iter(self.all_parameters())

    def create_var(self, *args, name=None, shape=(), dtype=None, type=None, lod_level=None, persistable=None,
                   stop_gradient=False, is_data=False, need_check_feed=False, initializer=None, capacity=None,
                   error_clip=None, belong_to_optimizer=False):
        """Declares a variable; one of this name that exists already is returned. In eager mode: a new tensor."""
        if _state.tracer is not None:
            made = _varbase_creator(type, name, shape, dtype, persistable, stop_gradient)
            if initializer is not None:
                initializer(made, self)
            return made
        name = name or _state.builder.generate("_generated_var")
        if not self.has_var(name):
            kind = int(VarDesc.VarType.LOD_TENSOR if type is None else type)
            if isinstance(dtype, str):
                dtype = _NUMPY_NAMES.get(dtype, dtype)
            self.program.desc.declare(
                self.idx, name, kind, dtype, [-1 if d is None else int(d) for d in shape or ()], lod_level or 0, bool(persistable)
            )
            for field, value in (("stop_gradient", stop_gradient), ("is_data", is_data), ("need_check_feed", need_check_feed)):
                if value:
                    self.program.desc.var_set(self.idx, name, field, True)
            var = self._var(name)
        else:
            var = self._var(name)
            _check_same(var, type=type, shape=shape or None, dtype=dtype, lod_level=lod_level, persistable=persistable)
        if initializer is not None:
            initializer(var, self)
        return var

    def create_parameter(self, *args, name=None, shape=None, dtype="float32", trainable=True, optimize_attr=None,
                         regularizer=None, initializer=None, do_model_average=True, stop_gradient=False,
                         gradient_clip_attr=None, is_distributed=False, **kwargs):
        """Declares a parameter in the program's first block. In eager mode: a new parameter."""
        if _state.tracer is not None:
            param = ParamBase(shape, dtype, name=name, trainable=trainable, optimize_attr=optimize_attr, regularizer=regularizer,
                              do_model_average=do_model_average, gradient_clip_attr=gradient_clip_attr)
            if initializer is not None:
                initializer(param, self)
            param.stop_gradient = False
            return param
        if not shape or any(int(d) <= 0 for d in shape):
            raise ValueError("a parameter needs positive sizes, not %s" % (shape,))
        if dtype is None:
            raise ValueError("The dtype of a parameter must not be None")
        home = self.program.global_block()
        name = name or _state.builder.generate("_generated_var")
        self.program.desc.declare(0, name, int(VarDesc.VarType.LOD_TENSOR), dtype, [int(d) for d in shape], 0, True)
        self.program.desc.var_set(0, name, "is_parameter", True)
        param = home._var(name)
        param.trainable, param.do_model_average = trainable, do_model_average
        param.optimize_attr = optimize_attr or {"learning_rate": 1.0}
        if regularizer is not None:
            param.regularizer = regularizer
        if gradient_clip_attr is not None:
            param._set("gradient_clip", gradient_clip_attr)
        # A parameter that is declared again keeps its first value.
        if initializer is not None and not any(name in op.output_arg_names for op in self.ops):
            initializer(param, self)
        return param

    def _insert(self, position, type, inputs, outputs, attrs):
        from . import _op_protos

        if type is None:
            raise ValueError("`type` to initialized an Operator can not be None.")
        context = self.program._context()
        if _state.capture is not None:
            inputs, outputs = _state.capture.arguments(inputs), _state.capture.arguments(outputs)
        names = lambda slots, is_input: [(slot, _names(args)) for slot, args in (slots or {}).items()
                                         if args is not None and _op_protos.takes(type, slot, is_input)]
        attrs = {name: _plain_attr(value) for name, value in (attrs or {}).items() if _op_protos.takes(type, name, None)}
        _state.builder.append_op(context, self.idx, position, type, names(inputs, True), names(outputs, False), attrs)

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, **kwargs):
        """Appends an operator. In eager mode it runs at once."""
        if _state.tracer is not None:
            return _state.tracer.trace_op(type, inputs or {}, outputs or {}, attrs or {}, bool(kwargs.get("stop_gradient")))
        _nothing_else("append_op", kwargs)
        self._insert(None, type, inputs, outputs, attrs)
        return self.ops[-1]

    def _insert_op(self, index, type=None, inputs=None, outputs=None, attrs=None, **kwargs):
        _nothing_else("_insert_op", kwargs)
        self._insert(index, type, inputs, outputs, attrs)
        return self.ops[index]

    def _prepend_op(self, type=None, inputs=None, outputs=None, attrs=None, **kwargs):
        if _state.tracer is not None:
            return self.append_op(type, inputs, outputs, attrs, **kwargs)
        return self._insert_op(0, type, inputs, outputs, attrs, **kwargs)

    insert_op, prepend_op = _insert_op, _prepend_op

    def _remove_op(self, index):
        self.program.desc.remove_ops(self.idx, index, index + 1)

    def _remove_var(self, name):
        self.program.desc.remove_var(self.idx, name)

    def _slice_ops(self, start, end):
        return self.ops[start:end]

    def _sync_with_cpp(self):
        """There is one description only: nothing to do."""

    def _clone_variable(self, var, force_persistable=True):
        """A variable like one of another program; it outlives runs unless ``force_persistable`` is False."""
        made = self.create_var(
            name=var.name, shape=var.shape, dtype=var.dtype, type=var.type, lod_level=var.lod_level,
            persistable=True if force_persistable else var.persistable)
        made.is_data, made.need_check_feed = var.is_data, var.need_check_feed
        return made

    def _rename_var(self, name, new_name):
        """Gives a variable another name, in all operators of the block."""
        name, new_name = (n.decode() if isinstance(n, bytes) else n for n in (name, new_name))
        if not self.has_var(name):
            raise ValueError("var %s is not in current block" % name)
        old = self.var(name)
        if isinstance(old, Parameter):
            made = self.create_parameter(name=new_name, shape=old.shape, dtype=old.dtype, trainable=old.trainable,
                                         optimize_attr=dict(old.optimize_attr), regularizer=old.regularizer)
        else:
            made = self.create_var(name=new_name, shape=old.shape, dtype=old.dtype, type=old.type, lod_level=old.lod_level,
                                   persistable=old.persistable)
        made.stop_gradient = old.stop_gradient
        for op in self.ops:
            if name in op.input_arg_names:
                op._rename_input(name, new_name)
            if name in op.output_arg_names:
                op._rename_output(name, new_name)
        self._remove_var(name)
        self.program._vars.pop((self.idx, name), None)
        return made

    def to_string(self, throw_on_error, with_details=False):
        """A readable description."""
        _check_flags(throw_on_error, with_details)
        if throw_on_error and any(not op.type for op in self.ops):
            raise ValueError("an operator of block %d has no type yet" % self.idx)
        lines = ["{ // block %d" % self.idx]
        lines += ["    %r" % v for v in self.vars.values()]
        lines += ["    %r" % op for op in self.ops]
        return "\n".join(lines + ["}"])

    def __repr__(self):
        return self.to_string(True)

    __str__ = __repr__


def _plain_attr(value):
    """An attribute without types of numpy."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _names(args):
    args = args if isinstance(args, (list, tuple)) else [args]
    return [a if isinstance(a, str) else a.name for a in args]


def _nothing_else(what, kwargs):
    unknown = set(kwargs) - {"stop_gradient", "proto"}
    if unknown:
        raise TypeError("%s has no argument %s" % (what, ", ".join(sorted(unknown))))


# Roles of operators, as saved programs say them.
_BACKWARD, _OPTIMIZE, _LR_SCHEDULE = 1, 2, 16
# The seed of programs that are made from now on.
_global_seed = 0


class Program:
    """A program: blocks of operators over variables. The first block is the network; others belong to control flow."""

    def __init__(self, _desc=None):
        self.desc = _desc or _core.Program()
        if _desc is None and _global_seed:
            self.desc.random_seed = _global_seed
        self._vars = {}
        # The scheduler that gives the learning rate of the next run, and the variable that holds it.
        self._schedulers = []
        # If it is part of a job: the core's transpiler, and the endpoint of a server or None for a trainer.
        self._transpiled = None
        # The number of workers, if its runs exchange values with others and the executor adds the exchange.
        self._exchanges = False
        self._workers = 0
        self._seeds = None

    def _wrap(self, block, name):
        """The Python object of a variable; one per variable, so that attributes which users set stay."""
        key = (block, name)
        var = self._vars.get(key)
        if var is None:
            home = self.desc.resolve(block, name)
            home = block if home is None else home
            is_parameter = self.desc.has_var(home, name) and self.desc.var_get(home, name, "is_parameter")
            var = (Parameter if is_parameter else Variable)(Block(self, home), name)
            self._vars[key] = var
        return var

    def _context(self):
        if _state.tracer is not None:
            return self.desc, self._eager_startup(), _state.call_site()
        startup = default_startup_program()
        if startup is self:
            startup = Program()
        return self.desc, startup.desc, _state.call_site()

    def _eager_startup(self):
        """A startup program for layers of eager mode: their parameters get their first values by the seed of this program."""
        made = self._seeds
        if made is None:
            made = self._seeds = _core.Program()
        if made.random_seed != self.desc.random_seed:
            made.random_seed = self.desc.random_seed
        return made

    @property
    def random_seed(self):
        """The seed of random operators; 0 for another one in every run."""
        return self.desc.random_seed

    @random_seed.setter
    def random_seed(self, seed):
        if not isinstance(seed, int):
            raise ValueError("Program.random_seed's input seed must be an integer, but received %r" % type(seed))
        self.desc.random_seed = seed

    def global_seed(self, seed=0):
        """Sets the seed of this program and of all that are made after it.

        Args:
            seed (int): the seed; 0 for another one in every run.

        Example:
            >>> fluid.default_main_program().global_seed(102)
            >>> fluid.Program().random_seed
            102
            >>> fluid.default_main_program().global_seed(0)
        """
        global _global_seed
        self.random_seed = seed
        _global_seed = seed

    @property
    def num_blocks(self):
        """How many blocks."""
        return self.desc.num_blocks()

    @property
    def blocks(self):
        """All blocks."""
        return [Block(self, i) for i in range(self.num_blocks)]

    @property
    def current_block_idx(self):
        """The block to which layers are appended."""
        return self.desc.current_block

    @current_block_idx.setter
    def current_block_idx(self, idx):
        self.desc.current_block = idx

    def global_block(self):
        """The first block."""
        return Block(self, 0)

    def block(self, index):
        """A block."""
        if not 0 <= index < self.num_blocks:
            raise IndexError("there is no block %d among %d" % (index, self.num_blocks))
        return Block(self, index)

    def current_block(self):
        """The block to which layers are appended."""
        return Block(self, self.current_block_idx)

    def _create_block(self, parent_idx=None):
        parent = self.current_block_idx if parent_idx is None else parent_idx
        self.current_block_idx = self.desc.add_block(parent)
        return self.current_block()

    def _rollback(self):
        self.current_block_idx = self.current_block().parent_idx

    @contextlib.contextmanager
    def _with_role(self, role, role_var=None):
        """Marks the operators that are appended inside the block: passes treat them by their role."""
        seen = {block.idx: set(self.desc.op_marks(block.idx)) for block in self.blocks}
        yield
        for block in self.blocks:
            for op in block.ops:
                if op._mark not in seen.get(block.idx, ()):
                    op._set_attr("op_role", role)
                    if role_var is not None:
                        op._set_attr("op_role_var", role_var)

    def _optimized_guard(self, param_and_grads):
        """Operators inside the block update a parameter: test programs leave them out."""
        return self._with_role(_OPTIMIZE, [getattr(v, "name", v) for v in param_and_grads if v is not None])

    def _backward_role_guard(self):
        """Operators inside the block belong to the backward pass: test programs leave them out."""
        return self._with_role(_BACKWARD)

    def _lr_schedule_guard(self, is_with_opt=False):
        """Operators inside the block compute a learning rate."""
        return self._with_role(_LR_SCHEDULE | (_OPTIMIZE if is_with_opt else 0))

    def clone(self, for_test=False):
        """A copy; ``for_test`` without gradients and optimizers, and with operators that behave as in a test."""
        copy = Program(self.desc.clone(for_test))
        if not for_test:
            copy._exchanges, copy._workers, copy._schedulers = self._exchanges, self._workers, self._schedulers
        return copy

    def _prune(self, targets):
        return self._prune_with_input([], targets)

    def _prune_with_input(self, feeded_var_names, targets):
        feeded_var_names = feeded_var_names if isinstance(feeded_var_names, (list, tuple)) else [feeded_var_names]
        for name in feeded_var_names:
            if not isinstance(name, str):
                raise ValueError("All feeded_var_names of Program._prune_with_input() can only be str, but received %r" % type(name))
        targets = targets if isinstance(targets, (list, tuple)) else [targets]
        return Program(self.desc.prune(list(feeded_var_names), _names(targets)))

    def _inference_optimize(self, prune_read_op=True):
        """A copy in which operators behave as in a test; without what reads data, unless ``prune_read_op`` is False."""
        copy = self.clone()
        block = copy.global_block()
        reads = [number for number, op in enumerate(block.ops) if op.type == "read"] if prune_read_op else []
        if reads:
            copy.desc.remove_ops(0, 0, reads[0] + 1)
            for name, var in block.vars.items():
                if var.type == VarDesc.VarType.READER:
                    block._remove_var(name)
        for each in copy.blocks:
            for op in each.ops:
                if op.has_attr("is_test"):
                    op._set_attr("is_test", True)
        return copy

    def _copy_param_info_from(self, other):
        """Takes over what a program knows of its parameters."""
        if not isinstance(other, Program):
            raise TypeError("_copy_param_info_from takes a Program, not %r" % type(other))
        for param in other.all_parameters():
            if self.global_block().has_var(param.name):
                for field in ("is_parameter", "trainable", "do_model_average", "is_distributed", "learning_rate", "stop_gradient"):
                    self.desc.var_set(0, param.name, field, param._get(field))
                self._vars.pop((0, param.name), None)

    def _copy_dist_param_info_from(self, other):
        """Takes over how a program is distributed."""
        if not isinstance(other, Program):
            raise TypeError("_copy_dist_param_info_from takes a Program, not %r" % type(other))
        self._exchanges, self._workers, self._transpiled = other._exchanges, other._workers, other._transpiled

    def _copy_data_info_from(self, other):
        """Takes over which variables of a program are fed."""
        if not isinstance(other, Program):
            raise TypeError("_copy_data_info_from takes a Program, not %r" % type(other))
        for var in other.list_vars():
            if var.is_data and self.global_block().has_var(var.name):
                self.global_block().var(var.name).is_data = True

    def _sync_with_cpp(self):
        """There is one description only: nothing to do."""

    @property
    def _seed(self):
        return self.random_seed

    @property
    def _is_distributed(self):
        return bool(self._transpiled or self._exchanges or self._workers)

    @staticmethod
    def parse_from_string(binary_str):
        """Reads the bytes of a saved program."""
        return Program(_core.Program.from_bytes(binary_str))

    def serialize_to_string(self):
        """The bytes of a saved program."""
        return self.desc.to_bytes()

    def list_vars(self):
        """All variables of all blocks."""
        for block in self.blocks:
            yield from block.vars.values()

    def all_parameters(self):
        """All parameters."""
        return [v for v in self.list_vars() if isinstance(v, Parameter)]

    def to_string(self, throw_on_error, with_details=False):
        """The readable form."""
        _check_flags(throw_on_error, with_details)
        if throw_on_error and any(not op.type for block in self.blocks for op in block.ops):
            raise ValueError("an operator of the program has no type yet")
        if not with_details:
            return self.desc.to_text()
        return self.desc.to_text() + "".join("// %s\n" % var.to_string(throw_on_error, True) for var in self.list_vars())

    def _version(self):
        """The version of the format in which it is saved."""
        from .proto import framework_pb2

        return framework_pb2.ProgramDesc.FromString(self.serialize_to_string()).version.version

    def __repr__(self):
        return self.desc.to_text()

    __str__ = __repr__


_main_program = Program()
_startup_program = Program()


def default_main_program():
    """The program that layers build."""
    return _main_program


def default_startup_program():
    """The program that gives parameters their first values."""
    return _startup_program


def switch_main_program(program):
    """Builds elsewhere from now on; returns the program so far."""
    global _main_program
    outer, _main_program = _main_program, program
    return outer


def switch_startup_program(program):
    """Initialises elsewhere from now on; returns the program so far."""
    global _startup_program
    outer, _startup_program = _startup_program, program
    return outer


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Builds in other programs inside the block."""
    for what, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and (program is not None or what == "main_program"):
            raise TypeError("program_guard takes a Program as %s, not %r" % (what, program))
    main = switch_main_program(main_program)
    startup = switch_startup_program(startup_program) if startup_program is not None else None
    try:
        yield
    finally:
        switch_main_program(main)
        if startup is not None:
            switch_startup_program(startup)


@contextlib.contextmanager
def name_scope(prefix=None):
    """Marks the operators of the block; names of variables do not change."""
    if _state.tracer is not None:
        yield
        return
    if not prefix:
        raise ValueError("name_scope needs a name")
    outer = _state.builder.enter_scope(prefix)
    try:
        yield
    finally:
        _state.builder.leave_scope(outer)


# The device of operators that are appended now; None outside of device_guard.
_device = None
# Operators that start others, and have no device of their own.
_WITHOUT_DEVICE = ("while", "conditional_block", "recurrent", "py_func", "read", "feed", "fetch")


@contextlib.contextmanager
def device_guard(device=None):
    """Operators of the block are marked for a device; here every device is the CPU.

    Args:
        device (str): ``"cpu"``, ``"gpu"`` or ``None``.

    Example:
        >>> with fluid.device_guard("cpu"):
        ...     x = fluid.layers.fill_constant([1], "float32", 0.5)
        >>> x.op.attr("op_device")
        'cpu'
    """
    global _device
    if device not in (None, "cpu", "gpu", ""):
        raise ValueError("The Attr(device) should be 'cpu' or 'gpu', and it can also be empty string or None when there is no need to "
                         "specify device, but received %r" % (device,))
    program = default_main_program()
    seen = {block.idx: set(program.desc.op_marks(block.idx)) for block in program.blocks}
    outer, _device = _device, device
    try:
        yield
    finally:
        _device = outer
    for op in (op for block in program.blocks for op in block.ops if op._mark not in seen.get(block.idx, ())):
        if device and not op.attr("op_device"):
            _set_device(op, device)


def _set_device(op, device):
    """Marks an operator for a device, and warns where that has no effect."""
    if op.type in _WITHOUT_DEVICE:
        warnings.warn("The Op(%s) is not support to set device." % op.type)
        return
    if op.has_attr("force_cpu") and (op.type == "less_than" or op.attr("force_cpu")):
        warnings.warn("The Attr(force_cpu) of Op(%s) will be deprecated in the future, please use 'device_guard' instead. 'device_guard' "
                      "has higher priority when they are used at the same time." % op.type)
    op._set_attr("op_device", device)


# At the end: these need what stands above.
from ._eager_parameters import ParamBase, _as_var_type, _DeclaredTensor, _first_value, _varbase_creator  # noqa: E402, F401
