"""Oarlock: Fluid-style distributed training.

``oarlock.fluid`` is the API of Fluid 1.8; ``oarlock.static`` and ``oarlock.distributed.fleet`` are what static scripts of Paddle 2
use. :func:`install_as_paddle` puts everything under the name ``paddle``, so that
scripts run unchanged; ``python -m oarlock.paddle script.py`` does the same from outside.
"""

from ._core import __version__
from ._alias import install_as_paddle, later as _later
from .batch import batch
from . import compat, reader

__all__ = [
    "__version__", "batch", "compat", "complex", "dataset", "distributed", "explain", "fluid", "incubate", "install_as_paddle", "nn", "optimizer", "reader",
    "static", "sysconfig", "utils", "version",
]

_LAZY = ("complex", "dataset", "distributed", "fluid", "incubate", "nn", "optimizer", "static", "sysconfig", "utils", "version")


def __getattr__(name):
    import importlib

    if name in _LAZY:
        return importlib.import_module("." + name, __name__)
    if name == "explain":
        return importlib.import_module("._explain", __name__).explain
    functions = importlib.import_module("._functions", __name__)
    if name in functions.__all__:
        return getattr(functions, name)
    raise _later(name) or AttributeError("module %r has no attribute %r" % (__name__, name))
