"""Oarlock: Fluid-style distributed training.

``oarlock.fluid`` is the API of Fluid 1.8. :func:`install_as_paddle` puts everything under the name ``paddle``, so that
scripts run unchanged; ``python -m oarlock.paddle script.py`` does the same from outside.
"""

from ._core import __version__
from ._alias import install_as_paddle
from .batch import batch
from . import compat, reader

__all__ = ["__version__", "batch", "compat", "dataset", "distributed", "fluid", "install_as_paddle", "reader"]

_LAZY = ("dataset", "fluid")

_LATER = {
    "nn": "the 2.0 eager API",
    "tensor": "the 2.0 eager API",
    "optimizer": "the 2.0 eager API",
    "imperative": "eager mode (dygraph)",
}


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module("." + name, __name__)
    if name in _LATER:
        raise NotImplementedError("oarlock.%s belongs to %s, which Oarlock does not have yet" % (name, _LATER[name]))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
