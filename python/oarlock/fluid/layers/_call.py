"""How layers reach the core."""

from .. import _state
from ..framework import default_main_program


def layer(name, args):
    """Calls a layer of the core with its arguments by name."""
    main = default_main_program()
    return _state.builder.layer(name, args, main._context(), main._wrap)
