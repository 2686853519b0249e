"""``fluid.inferencer`` under the name of later releases."""

from ..inferencer import Inferencer  # noqa: F401

__all__ = ["Inferencer"]
