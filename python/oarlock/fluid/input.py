"""Data, embeddings and one-hot vectors without the habit of a last dimension of 1."""


from .layers._generated import fluid as _generated
from .layers._generated.fluid import *  # noqa: F403

__all__ = [*_generated.__all__]
