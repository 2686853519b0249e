"""The name ``paddle`` for this package."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_PACKAGE = __name__.rpartition(".")[0]

# A directory that holds nothing but a package `paddle`, which calls `install_as_paddle`: processes that a script starts
# find it through PYTHONPATH.
_SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_as_paddle")


# Modules that Oarlock does not have yet, by the name after `paddle.`.
LATER = {
    "tensor": "the 2.0 eager API",
    "Model": "the 2.0 eager API",
    "jit": "the 2.0 eager API",
    "to_tensor": "the 2.0 eager API",
    "disable_static": "the 2.0 eager API",
    "DataParallel": "the 2.0 eager API",
}


def later(name):
    """The error of a name that belongs to what comes later, or None."""
    what = next((text for key, text in LATER.items() if name == key or name.startswith(key + ".")), None)
    return what and NotImplementedError("%s belongs to %s, which Oarlock does not have yet" % (name, what))


def _real(name):
    """The name of a module of this package that is also known by a name that starts with ``paddle``."""
    return _PACKAGE + name[len("paddle"):]


def _alias_loaded():
    """Gives every module that is loaded its second name. The import machinery would otherwise load it under that name later, and then put
    the module in the place of a function of the same name: ``fluid.data``, ``fluid.layers.rnn``."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGE + ".") and module is not None:
            sys.modules.setdefault("paddle" + name[len(_PACKAGE):], module)


class _PaddleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``paddle.x`` as ``oarlock.x``: the same module under a second name."""

    def find_spec(self, name, path=None, target=None):
        if name != "paddle" and not name.startswith("paddle."):
            return None
        error = later(name[len("paddle."):])
        if error:
            raise error
        spec = importlib.util.find_spec(_real(name))
        if spec is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=spec.submodule_search_locations is not None)

    def create_module(self, spec):
        module = importlib.import_module(_real(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The import machinery has just written the alias' spec into the real module.
        module.__spec__ = module.__spec__.loader_state
        _alias_loaded()

    def get_code(self, name):
        """The code that ``python -m paddle.x`` runs."""
        return importlib.util.find_spec(_real(name)).loader.get_code(_real(name))


def install_as_paddle():
    """Makes ``import paddle`` mean Oarlock, here and in processes started from here."""
    if any(isinstance(finder, _PaddleFinder) for finder in sys.meta_path):
        return
    other = sys.modules.get("paddle")
    if other is not None and other.__name__ != _PACKAGE and not getattr(other, "_oarlock_shim", False):
        raise RuntimeError(
            "paddle is imported already, from %s: call oarlock.install_as_paddle() before the first `import paddle`"
            % getattr(other, "__file__", "somewhere")
        )
    sys.meta_path.insert(0, _PaddleFinder())
    sys.modules["paddle"] = sys.modules[_PACKAGE]
    _alias_loaded()
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _SHIM not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_SHIM] + [p for p in paths if p])
