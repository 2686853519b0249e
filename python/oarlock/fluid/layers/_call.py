"""How layers reach the core."""

import functools

from ..._core import VarBase
from .. import _state, options
from ..framework import Parameter, _varbase_creator, default_main_program
from ..param_attr import ParamAttr, WeightNormParamAttr
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
    unread = _checked(name)
    for argument, key in unread:
        if argument in args:
            options.check("layer argument", key, args[argument])
    args = normalized(name, args, [argument for argument, _ in unread])
    made = WITH_VARIABLES[name](args) if name in WITH_VARIABLES else None
    if made is not None:
        return made
    main = default_main_program()
    if _state.tracer is not None:
        return _at_once(name, args, main)
    if any(isinstance(value, WeightNormParamAttr) for value in args.values()):
        return _with_normed_weights(name, args, main)
    return _state.builder.layer(name, args, main._context(), main._wrap)


# Arguments that name what a layer writes into.
_TARGETS = ("out", "output", "cond")


def _at_once(name, args, main):
    """Calls a layer in eager mode."""
    if name == "create_parameter":
        return _parameter(**args)
    if name == "create_tensor":
        return _varbase_creator(name=args.get("name"), dtype=args["dtype"], persistable=args.get("persistable"))
    for key in _TARGETS:
        target = args.get(key)
        if isinstance(target, VarBase) and not target._has_value():
            # A tensor without a value cannot be declared: the layer makes another one, whose place it takes.
            made = _state.tracer.layer(_state.builder, main._context(), name, dict(args, **{key: None}))
            target._become(made)
            return target
    return _state.tracer.layer(_state.builder, main._context(), name, args)


def _parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    from ..layer_helper import LayerHelper

    attr = ParamAttr._to_attr(attr)
    if attr and attr.name is None:
        attr.name = name
    return LayerHelper("create_parameter").create_parameter(attr, shape, dtype, is_bias, default_initializer)


def _with_normed_weights(name, args, main):
    """Calls a layer and notes the weights it makes of a direction and a length: products of which one factor is a parameter."""
    block = main.current_block()
    before = main.desc.num_ops(block.idx)
    made = _state.builder.layer(name, args, main._context(), main._wrap)
    for op in block.ops[before:]:
        if op.type == "elementwise_mul" and isinstance(block._var_recursive(op.input("X")[0]), Parameter):
            WeightNormParamAttr.params_with_weight_norm.append(block.var(op.output("Out")[0]))
    return made
