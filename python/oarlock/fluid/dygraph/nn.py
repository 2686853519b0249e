"""Layers as objects: they own their parameters."""

from ._nn_common import (  # noqa: F401
    NCE, BilinearTensorProduct, Dropout, Embedding, GRUUnit, Linear, PRelu, RowConv, SequenceConv, TreeConv,
)
from ._nn_conv import Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, Pool2D
from ._nn_loss import BCELoss, L1Loss, MSELoss, NLLLoss
from ._nn_norm import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, SpectralNorm

__all__ = [
    "Conv2D", "Conv3D", "Pool2D", "Linear", "BatchNorm", "Dropout", "Embedding", "GRUUnit", "InstanceNorm", "LayerNorm", "NCE", "PRelu",
    "BilinearTensorProduct", "Conv2DTranspose", "Conv3DTranspose", "GroupNorm", "SpectralNorm", "TreeConv", "MSELoss", "L1Loss",
    "NLLLoss", "BCELoss",
]
