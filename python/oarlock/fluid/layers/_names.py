"""Names that Fluid's modules of layers have from elsewhere, and that scripts import from there:
``from paddle.fluid.layers.tensor import Variable``."""

import importlib
import importlib.util
import sys

_HOMES = {
    "framework": (
        "Block", "Operator", "Parameter", "Program", "Variable", "convert_np_dtype_to_dtype_", "default_main_program",
        "default_startup_program", "device_guard", "in_dygraph_mode", "name_scope", "program_guard",
    ),
    "layer_helper": ("LayerHelper",),
    "param_attr": ("ParamAttr",),
    "initializer": ("Constant", "Initializer", "Normal", "NumpyArrayInitializer", "Xavier"),
    "data_feeder": ("check_dtype", "check_type", "check_variable_and_dtype", "convert_dtype"),
    "core": ("VarDesc",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("core", "framework", "unique_name")
_SIBLINGS = ("control_flow", "loss", "nn", "ops", "tensor")


def fallback(module):
    """The ``__getattr__`` of a module of layers."""

    def lookup(name):
        fluid = __package__.rpartition(".")[0]
        if name in _HOME_OF:
            return getattr(importlib.import_module("%s.%s" % (fluid, _HOME_OF[name])), name)
        if name in _MODULES:
            return importlib.import_module("%s.%s" % (fluid, name))
        if name in _SIBLINGS and importlib.util.find_spec("%s.%s" % (__package__, name)):
            return importlib.import_module("%s.%s" % (__package__, name))
        layers = sys.modules[__package__]
        # Fluid's modules have some layers that are elsewhere here; while modules are still being loaded there is no list.
        if name in vars(layers).get("__all__", ()):
            return vars(layers)[name]
        raise AttributeError("module %r has no attribute %r" % (module, name))

    return lookup
