"""Counts of operators, and of pairs of which one reads what the other wrote."""

import collections

from ..framework import Program

__all__ = ["op_freq_statistic"]


def op_freq_statistic(program):
    """Returns two lists of pairs of a name and a count, the largest count first: types of operators, and ``writer->reader`` for every
    variable but parameters.

    Args:
        program (Program): the program; its first block counts.

    Example:
        >>> y = fluid.layers.relu(fluid.layers.relu(fluid.data("x", [None, 4])))
        >>> fluid.contrib.op_freq_statistic(fluid.default_main_program())
        ([('relu', 2)], [('relu->relu', 1)])
    """
    if not isinstance(program, Program):
        raise TypeError("The input type should be Program. But you passed in %s" % type(program))
    block = program.global_block()
    parameters = {p.name for p in block.all_parameters()}
    alone, pairs, writer = collections.Counter(), collections.Counter(), {}
    for op in block.ops:
        if any(name not in parameters for name in op.output_arg_names):
            alone[op.type] += 1
        for name in op.input_arg_names:
            if name not in parameters and name in writer:
                pairs["%s->%s" % (writer[name], op.type)] += 1
        writer.update((name, op.type) for name in op.output_arg_names)
    return alone.most_common(), pairs.most_common()
