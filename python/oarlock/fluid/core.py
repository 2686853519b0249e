"""``fluid.core``: tensors, scopes, places, element types, exceptions."""

import enum
import os
import warnings

from .. import _core
from .._core import (
    EOFException, EnforceNotMet, InvalidArgument, InvalidType, LoDTensor, LoDTensorArray, OutOfRange, Scope, SelectedRows, Unsupported, VarBase,
)
from ._operators import ops
from .inference import (
    AnalysisConfig, AnalysisPredictor, NativeConfig, PaddleBuf, PaddleDType, PaddlePredictor, PaddleTensor, ZeroCopyTensor,
    create_paddle_predictor,
)

__all__ = [
    "AnalysisConfig", "AnalysisPredictor", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddlePredictor", "PaddleTensor",
    "ZeroCopyTensor", "create_paddle_predictor", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "EOFException", "EnforceNotMet", "InvalidArgument",
    "InvalidType", "LoDTensor", "LoDTensorArray", "OutOfRange", "Scope", "SelectedRows", "Unsupported", "VarBase", "VarDesc", "ops", "get_cuda_device_count", "globals", "is_compiled_with_cuda",
]

Tensor = LoDTensor


class CPUPlace:
    """The CPU."""

    def __repr__(self):
        return "CPUPlace"

    def __eq__(self, other):
        return isinstance(other, CPUPlace)

    def __hash__(self):
        return hash("CPUPlace")

    def _equals(self, other):
        return self == other

    def _type(self):
        return _CPU

    def _refuse(self):
        pass


_said_as_cpu = False


def gpu_as_cpu(what):
    """Returns whether a GPU stands for the CPU, because the environment says ``OARLOCK_GPU_AS_CPU=1``; warns the first time.

    Args:
        what (str): what the script asked for.
    """
    global _said_as_cpu
    if os.environ.get("OARLOCK_GPU_AS_CPU", "0") not in ("1", "true"):
        return False
    if not _said_as_cpu:
        _said_as_cpu = True
        warnings.warn("%s runs on the CPU, because OARLOCK_GPU_AS_CPU is set" % what, stacklevel=3)
    return True


class CUDAPlace:
    """A GPU: can be named, but not used by this build."""

    def __init__(self, id=0):
        self._id = id

    def get_device_id(self):
        """The number of the device."""
        return self._id

    def __repr__(self):
        return "CUDAPlace(%d)" % self._id

    def __eq__(self, other):
        return isinstance(other, CUDAPlace) and other._id == self._id

    def __hash__(self):
        return hash(("CUDAPlace", self._id))

    def _refuse(self):
        if gpu_as_cpu(repr(self)):
            return
        raise RuntimeError(
            "%r cannot be used: this build computes on CPUs. Use fluid.CPUPlace(), "
            "or choose by fluid.core.is_compiled_with_cuda(), which is False here; "
            "with OARLOCK_GPU_AS_CPU=1 in the environment it stands for the CPU" % self
        )


class CUDAPinnedPlace(CUDAPlace):
    """Memory for transfers to a GPU: can be named, but not used by this build."""

    def __init__(self):
        super().__init__(0)

    def __repr__(self):
        return "CUDAPinnedPlace"


_CPU, _GPU, _PINNED = 0, 1, 2


class Place:
    """A place of any kind.

    Example:
        >>> place = fluid.core.Place()
        >>> place.set_place(fluid.CPUPlace())
        >>> place.is_cpu_place(), place.is_gpu_place()
        (True, False)
    """

    def __init__(self):
        self._place = None

    def set_place(self, place):
        """Takes a place of a kind.

        Args:
            place (CPUPlace, CUDAPlace, CUDAPinnedPlace or Place): the place.
        """
        self._place = place._place if isinstance(place, Place) else place

    def is_cpu_place(self):
        """Returns whether it is the CPU."""
        return isinstance(self._place, CPUPlace)

    def is_gpu_place(self):
        """Returns whether it is a GPU."""
        return isinstance(self._place, CUDAPlace) and not isinstance(self._place, CUDAPinnedPlace)

    def is_cuda_pinned_place(self):
        """Returns whether it is memory for transfers to a GPU."""
        return isinstance(self._place, CUDAPinnedPlace)

    def _type(self):
        return _PINNED if self.is_cuda_pinned_place() else _GPU if self.is_gpu_place() else _CPU

    def gpu_device_id(self):
        """Returns the number of the GPU."""
        return self._place.get_device_id()

    def _refuse(self):
        if self._place is not None:
            self._place._refuse()

    def _equals(self, other):
        return self._place == (other._place if isinstance(other, Place) else other)

    def __repr__(self):
        return repr(self._place)


class VarDesc:
    """Holds the kinds of variables and element types."""

    class VarType(enum.IntEnum):
        """The numbers of saved programs."""

        BOOL = 0
        INT16 = 1
        INT32 = 2
        INT64 = 3
        FP16 = 4
        FP32 = 5
        FP64 = 6
        LOD_TENSOR = 7
        SELECTED_ROWS = 8
        FEED_MINIBATCH = 9
        FETCH_LIST = 10
        STEP_SCOPES = 11
        LOD_RANK_TABLE = 12
        LOD_TENSOR_ARRAY = 13
        PLACE_LIST = 14
        READER = 15
        RAW = 17
        TUPLE = 18
        SIZE_T = 19
        UINT8 = 20
        INT8 = 21
        BF16 = 22

        def __str__(self):
            return "VarType.%s" % self.name

        __repr__ = __str__


VarDesc.VarType.by_numpy = {
    "bool": VarDesc.VarType.BOOL,
    "int16": VarDesc.VarType.INT16,
    "int32": VarDesc.VarType.INT32,
    "int64": VarDesc.VarType.INT64,
    "float16": VarDesc.VarType.FP16,
    "float32": VarDesc.VarType.FP32,
    "float64": VarDesc.VarType.FP64,
    "uint8": VarDesc.VarType.UINT8,
    "int8": VarDesc.VarType.INT8,
}


def is_compiled_with_cuda():
    """Always False: this build computes on CPUs."""
    return False


def get_cuda_device_count():
    """Always 0: this build computes on CPUs."""
    return 0


def op_support_gpu(op_type):
    """Always False: this build computes on CPUs."""
    return False


def globals():
    """The flags, as a mapping that can be set."""
    from . import flags

    return flags.Flags()


class AttrType(enum.IntEnum):
    """The kinds of attributes of operators."""

    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOL = 6
    BOOLS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11

    def __str__(self):
        return "AttrType.%s" % self.name


class op_proto_and_checker_maker:
    """Names of the attributes that say what an operator is for."""

    class OpRole(enum.IntEnum):
        """What an operator is for."""

        Forward = 0
        Backward = 1
        Optimize = 2
        RPC = 4
        Dist = 8
        LRSched = 16
        Loss = 256
        NotSpecified = 4096

        def __str__(self):
            return "OpRole.%s" % self.name

    @staticmethod
    def kOpRoleAttrName():
        """Returns the name of the attribute that holds the role."""
        return "op_role"

    @staticmethod
    def kOpRoleVarAttrName():
        """Returns the name of the attribute that holds the parameter and the gradient."""
        return "op_role_var"

    @staticmethod
    def kOpNameScopeAttrName():
        """Returns the name of the attribute that holds the name scope."""
        return "op_namescope"

    @staticmethod
    def kOpDeviceAttrName():
        """Returns the name of the attribute that holds the device."""
        return "op_device"


def kEmptyVarName():
    """Returns the name that stands for no variable."""
    return "@EMPTY@"


def kTempVarName():
    """Returns the name that stands for a temporary."""
    return "@TEMP@"


def kGradVarSuffix():
    """Returns the end of the names of gradients."""
    return "@GRAD"


grad_var_suffix = kGradVarSuffix


def _is_program_version_supported(version):
    """Returns whether a saved program of this version can be read: 0, of the first releases, up to 1.8.x."""
    return 0 <= version <= 1008999


def _set_eager_deletion_mode(threshold, fraction, use_multi_lib):
    """Changes nothing: every temporary is freed, or used again, as soon as nothing needs it."""


def get_all_op_protos():
    """Returns the signatures of all operators, as bytes.

    Example:
        >>> proto = fluid.proto.framework_pb2.OpProto.FromString(fluid.core.get_all_op_protos()[0])
        >>> proto.type
        'abs'
    """
    from . import _op_protos

    return [proto.SerializeToString() for proto in _op_protos.all_protos()]


def get_grad_op_desc(op_desc, no_grad_set, grad_sub_block_list):
    """Returns the descriptions of the operators that compute a gradient, and the variables of its gradients by their names.

    Args:
        op_desc (description): the operator, ``op.desc``.
        no_grad_set (set): names of gradients that are not needed.
        grad_sub_block_list (list): descriptions of the blocks of gradients, for operators with a block.

    Example:
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> found, names = fluid.core.get_grad_op_desc(y.op.desc, set(), [])
        >>> found[0].type(), names["x@GRAD"]
        ('relu_grad', 'x')
    """
    from ._desc import gradient_of

    return gradient_of(op_desc, no_grad_set, grad_sub_block_list)


def has_grad_op_maker(op_type):
    """Returns whether a gradient flows through an operator of a type."""
    return _core.has_gradient(op_type)


def has_infer_inplace(op_type):
    """Returns whether an output of an operator may overwrite an input."""
    return _core.op_signature(op_type)["in_place"]


def get_op_attrs_default_value(op_type):
    """Returns the defaults of the attributes of an operator, by name.

    Example:
        >>> fluid.core.get_op_attrs_default_value("scale")["bias"]
        0.0
    """
    op_type = op_type.decode() if isinstance(op_type, bytes) else op_type
    return {name: default for name, _, _, default in _core.op_signature(op_type)["attrs"] if default is not None}


def _get_all_register_op_kernels():
    """Returns all types of operators, with the places on which they run."""
    return {op_type: ["CPUPlace"] for op_type in _core.op_types()}


def infer_no_need_buffer_slots(op_type, inputs, outputs, attrs):
    """Returns the input slots of an operator of which only sizes are read."""
    return set(_core.op_signature(op_type)["shape_only"])


def __unittest_throw_exception__():
    """Raises EnforceNotMet, for tests."""
    raise EnforceNotMet("This is a test exception")


def loaded_var_suffix():
    """Returns the end of the names of parameters that eager mode loads."""
    return "@LOADED"


def is_float16_supported(place):
    """Returns False: kernels compute in float32 and float64; ``fluid.contrib.mixed_precision`` has the casts."""
    return False


def is_compiled_with_mkldnn():
    """Returns False: kernels are this build's own."""
    return False


def is_compiled_with_brpc():
    """Returns False: processes of a job talk by this build's own protocol."""
    return False


def is_compiled_with_dist():
    """Returns True: this build trains with several processes."""
    return True


def init_glog(name):
    """Changes nothing: messages go to the logger ``oarlock``."""


def init_devices(*args):
    """Changes nothing: the CPU is ready."""


class Layer:
    """The base of ``fluid.dygraph.Layer``, which computes nothing."""

    def forward(self, *inputs):
        """Returns no outputs.

        Args:
            inputs: not looked at.
        """
        return []


# Names of eager mode, and the modules that have them.
_EAGER = {"BackwardStrategy": "backward_strategy", "ParallelStrategy": "parallel", "Tracer": "tracer"}


def _is_dygraph_debug_enabled():
    """Always False: eager mode has no debug mode of its own."""
    return False


def size_of_dtype(dtype):
    """Returns how many bytes an element has.

    Args:
        dtype (VarDesc.VarType): the element type.
    """
    import numpy as np

    return next(np.dtype(name).itemsize for name, kind in VarDesc.VarType.by_numpy.items() if kind == dtype)


def __getattr__(name):
    if name in _EAGER:
        import importlib

        return getattr(importlib.import_module(".dygraph." + _EAGER[name], __package__), name)
    if name == "ProgramDesc":
        from ._desc import ProgramDesc

        return ProgramDesc
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
