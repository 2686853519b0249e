"""How layers reach the core."""

from .. import _state, options
from ..framework import default_main_program

_HINTS = {"use_cudnn"}


def layer(name, args):
    """Calls a layer of the core with its arguments by name."""
    for hint in _HINTS.intersection(args):
        options.check("layer argument", hint, args[hint])
    main = default_main_program()
    return _state.builder.layer(name, args, main._context(), main._wrap)
