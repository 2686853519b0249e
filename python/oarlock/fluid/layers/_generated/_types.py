"""Types of arguments of layers."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from ...framework import Variable
from ...initializer import Initializer
from ...param_attr import ParamAttr

__all__ = [
    "Any", "ArrayLike", "Callable", "DTypeLike", "Initializer", "List", "Mapping", "Optional", "ParamLike", "Sequence",
    "Tuple", "Union", "Variable",
]

# A name, an initializer, or False for a layer without the parameter.
ParamLike = Union[ParamAttr, Initializer, str, bool]
ArrayLike = Any
DTypeLike = Any
