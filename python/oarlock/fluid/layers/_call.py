"""How layers reach the core."""

import functools

from ..._core import VarBase
from .. import _state, options
from ..framework import Parameter, default_main_program
from ..param_attr import WeightNormParamAttr
from . import _accepted
from ._at_once import at_once
from ._tensor_arguments import WITH_VARIABLES, normalized


@functools.lru_cache(None)
def _checked(name):
    """Arguments of a layer that the core does not read, with their names in the table of options."""
    known = options.defaults("layer argument")
    own = [key for key in known if key.startswith(name + ".")]
    of_all = [key for key in known if "." not in key and name + "." + key not in own]
    return [(key.rpartition(".")[2], key) for key in own + of_all]


def layer(name, args):
    """Calls a layer of the core with its arguments by name."""
    if _state.capture is not None:
        args = _state.capture.arguments(args)
    # The core says it better when a tensor of eager mode is among them.
    if _state.tracer is None and not any(isinstance(value, VarBase) for value in args.values()):
        _accepted.check(name, args)
    unread = _checked(name)
    for argument, key in unread:
        if argument in args:
            options.check("layer argument", key, args[argument])
    args = normalized(name, args, [argument for argument, _ in unread])
    made = WITH_VARIABLES[name](args) if name in WITH_VARIABLES else None
    if made is not None:
        return made
    if _state.tracer is not None:
        return at_once(name, args)
    main = default_main_program()
    if any(isinstance(value, WeightNormParamAttr) for value in args.values()):
        return _with_normed_weights(name, args, main)
    return _state.builder.layer(name, args, main._context(), main._wrap)


def _with_normed_weights(name, args, main):
    """Calls a layer and notes the weights it makes of a direction and a length: products of which one factor is a parameter."""
    block = main.current_block()
    before = main.desc.num_ops(block.idx)
    made = _state.builder.layer(name, args, main._context(), main._wrap)
    for op in block.ops[before:]:
        if op.type == "elementwise_mul" and isinstance(block._var_recursive(op.input("X")[0]), Parameter):
            WeightNormParamAttr.params_with_weight_norm.append(block.var(op.output("Out")[0]))
    return made
