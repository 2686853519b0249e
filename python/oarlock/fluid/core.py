"""``fluid.core``: tensors, scopes, places, element types, exceptions."""

import enum

from .._core import EOFException, EnforceNotMet, LoDTensor, LoDTensorArray, Scope, SelectedRows
from .inference import (
    AnalysisConfig, AnalysisPredictor, NativeConfig, PaddleBuf, PaddleDType, PaddlePredictor, PaddleTensor, ZeroCopyTensor,
    create_paddle_predictor,
)

__all__ = [
    "AnalysisConfig", "AnalysisPredictor", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddlePredictor", "PaddleTensor",
    "ZeroCopyTensor", "create_paddle_predictor", "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "EOFException", "EnforceNotMet", "LoDTensor", "LoDTensorArray", "Scope",
    "SelectedRows", "VarDesc", "get_cuda_device_count", "globals", "is_compiled_with_cuda",
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

    def _refuse(self):
        pass


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
        raise RuntimeError(
            "%r cannot be used: this build computes on CPUs. Use fluid.CPUPlace(), "
            "or choose by fluid.core.is_compiled_with_cuda(), which is False here" % self
        )


class CUDAPinnedPlace(CUDAPlace):
    """Memory for transfers to a GPU: can be named, but not used by this build."""

    def __init__(self):
        super().__init__(0)

    def __repr__(self):
        return "CUDAPinnedPlace"


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
