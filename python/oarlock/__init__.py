"""Oarlock: Fluid-style distributed training.

``oarlock.fluid`` is the API of Fluid 1.8. :func:`install_as_paddle` puts everything under the name ``paddle``, so that
scripts run unchanged; ``python -m oarlock.paddle script.py`` does the same from outside.
"""

from ._core import __version__
from ._alias import install_as_paddle, later as _later
from .batch import batch
from . import compat, reader

__all__ = ["__version__", "batch", "compat", "dataset", "distributed", "fluid", "install_as_paddle", "reader"]

_LAZY = ("dataset", "distributed", "fluid")

def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module("." + name, __name__)
    raise _later(name) or AttributeError("module %r has no attribute %r" % (__name__, name))
