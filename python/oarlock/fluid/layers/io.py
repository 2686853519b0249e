"""What enters a program."""

from .. import core
from ._call import layer

__all__ = [
    "data",
]


def data(
    name, shape, append_batch_size=True, dtype='float32', lod_level=0, type=core.VarDesc.VarType.LOD_TENSOR,
    stop_gradient=True
):
    """`fluid.layers.data`: a variable that the user feeds."""
    return layer("data", locals())
