"""How layers reach the core."""

import functools

from .. import _state, options
from ..framework import default_main_program


@functools.lru_cache(None)
def _checked(name):
    """Arguments of a layer that the core does not read, with their names in the table of options."""
    known = options.defaults("layer argument")
    own = [key for key in known if key.startswith(name + ".")]
    of_all = [key for key in known if "." not in key and name + "." + key not in own]
    return [(key.rpartition(".")[2], key) for key in own + of_all]


def layer(name, args):
    """Calls a layer of the core with its arguments by name."""
    for argument, key in _checked(name):
        if argument in args:
            options.check("layer argument", key, args[argument])
    main = default_main_program()
    return _state.builder.layer(name, args, main._context(), main._wrap)
