"""Draws the first blocks of a startup and a main program in the language of Graphviz: operators, with an arrow for each variable."""

from .graphviz import Graph, crepr

__all__ = ["draw_graph", "parse_graph"]

OP_STYLE = {"shape": "oval", "color": "#0F9D58", "style": "filled", "fontcolor": "#FFFFFF"}
VAR_STYLE: dict = {}
GRAPH_STYLE = {"rankdir": "TB"}


def parse_graph(program, graph, var_dict, node_attr=None, edge_attr=None):
    """Adds the operators of a program's first block to a graph, and an arrow from the operator that writes a variable to each one
    that reads it.

    Args:
        program (Program): the program.
        graph (Graph): of ``fluid.graphviz``.
        var_dict (dict): by variable, the node that wrote it last; begun by an earlier program.
        node_attr (dict), edge_attr (dict): the look of operators and arrows.

    Example:
        >>> from oarlock.fluid import graphviz, net_drawer
        >>> y = fluid.layers.relu(fluid.data("x", [None, 4]))
        >>> graph = graphviz.Graph("net")
        >>> net_drawer.parse_graph(fluid.default_main_program(), graph, {})
        >>> len(graph.nodes), len(graph.edges)
        (2, 1)
    """
    for op in program.global_block().ops:
        node = graph.node(crepr(op.type), prefix=op.type, description=op.type, **(OP_STYLE if node_attr is None else node_attr))
        for slot in op.input_names:
            for name in op.input(slot):
                if name not in var_dict:
                    var_dict[name] = graph.node(crepr("Feed"), prefix="Feed", description=name)
                graph.edge(var_dict[name], node, label="%s(%s)" % (slot, name), **(VAR_STYLE if edge_attr is None else edge_attr))
        for name in op.output_arg_names:
            var_dict[name] = node


def draw_graph(startup_program, main_program, filename=None, graph_attr=None, node_attr=None, edge_attr=None):
    """Returns a graph of two programs; writes it to a file if there is a name.

    Args:
        startup_program (Program), main_program (Program): the programs.
        filename (str): the file; nothing is written if it is None.
        graph_attr (dict), node_attr (dict), edge_attr (dict): the look of the graph, of operators and of arrows, in addition.

    Example:
        >>> from oarlock.fluid import net_drawer
        >>> y = fluid.layers.fc(fluid.data("x", [None, 4]), 2)
        >>> graph = net_drawer.draw_graph(fluid.default_startup_program(), fluid.default_main_program())
        >>> "mul" in graph.code()
        True
    """
    graph = Graph("program", **dict(GRAPH_STYLE, **(graph_attr or {})))
    written: dict = {}
    for program in (startup_program, main_program):
        parse_graph(program, graph, written, dict(OP_STYLE, **(node_attr or {})), dict(VAR_STYLE, **(edge_attr or {})))
    if filename is not None:
        with open(filename, "w") as file:
            file.write(graph.code())
    return graph
