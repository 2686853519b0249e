"""Saving and loading of parameters and of the state of optimizers, in the files of Fluid 1.8."""

import os
import pickle

import numpy as np

from ..._core import VarBase
from ..framework import ParamBase, Variable, dygraph_only

__all__ = ["save_dygraph", "load_dygraph"]

_NAMES = "StructuredToParameterName@@"


@dygraph_only
def save_dygraph(state_dict, model_path):
    """Saves a state dict to ``model_path + ".pdparams"``, or, if its first entry is no parameter, as the state of an optimizer to
    ``model_path + ".pdopt"``.

    Args:
        state_dict (dict): what ``state_dict()`` of a layer or an optimizer returned.
        model_path (str): the file without its ending; its directory is made.

    Example:
        >>> import tempfile
        >>> with fluid.dygraph.guard(), tempfile.TemporaryDirectory() as directory:
        ...     layer = fluid.Linear(2, 1)
        ...     fluid.save_dygraph(layer.state_dict(), directory + "/model")
        ...     params, optimizer = fluid.load_dygraph(directory + "/model")
        ...     print(sorted(params), optimizer)
        ['bias', 'weight'] None
    """
    if not os.path.basename(model_path):
        raise AssertionError("The input model_path MUST be format of dirname/filename, but received filename is empty string.")
    if not state_dict:
        raise AssertionError("state_dict is empty, no need to save")
    first = next(iter(state_dict.values()))
    saved, names = {}, {}
    for key, value in state_dict.items():
        if isinstance(value, (Variable, VarBase)):
            saved[key], names[key] = value.numpy(), value.name
        else:
            saved[key] = value
    saved[_NAMES] = names
    path = model_path + (".pdparams" if isinstance(first, ParamBase) else ".pdopt")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        pickle.dump(saved, file, protocol=2)


class _Reader(pickle.Unpickler):
    """Reads arrays, numbers, strings, lists and dicts; a file that names anything else is refused, because it could run code."""

    _ALLOWED = {
        ("numpy", "dtype"), ("numpy", "ndarray"), ("collections", "OrderedDict"), ("_codecs", "encode"),
        ("numpy.core.multiarray", "_reconstruct"), ("numpy.core.multiarray", "scalar"),
        ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"),
    }

    def find_class(self, module, name):
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError("the file contains %s.%s: only arrays, numbers, strings, lists and dicts are read" % (module, name))
        if module.startswith("numpy.") and not module.startswith("numpy._core") and hasattr(np, "_core"):
            module = module.replace("numpy.core", "numpy._core")
        return super().find_class(module, name)


def _read(path):
    with open(path, "rb") as file:
        return _Reader(file, encoding="latin1").load()


@dygraph_only
def load_dygraph(model_path, keep_name_table=False):
    """Loads what ``save_dygraph`` saved, here or in Fluid 1.8.

    Args:
        model_path (str): the file, with or without its ending.
        keep_name_table (bool): whether the dict of parameters keeps the table of their names.

    Returns:
        tuple: the dict of parameters, and that of the optimizer or None.
    """
    prefix = model_path
    for ending in (".pdparams", ".pdopt"):
        if prefix.endswith(ending):
            prefix = prefix[:-len(ending)]
            break
    if not os.path.exists(prefix + ".pdparams"):
        raise RuntimeError("Parameter file [ {} ] not exists".format(prefix + ".pdparams"))
    params = _read(prefix + ".pdparams")
    if not keep_name_table:
        params.pop(_NAMES, None)
    optimizer = _read(prefix + ".pdopt") if os.path.exists(prefix + ".pdopt") else None
    return params, optimizer
