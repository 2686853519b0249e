"""Graphs in the language of Graphviz: nodes, edges, and a generator with the look of Fluid's drawings of programs."""

import logging
import os
import shutil
import subprocess

__all__ = ["Edge", "Graph", "GraphPreviewGenerator", "Node", "Rank", "crepr"]

_log = logging.getLogger("oarlock")


def crepr(v):
    """Returns a value as Graphviz reads it: strings in quotation marks."""
    return '"%s"' % v if isinstance(v, str) else str(v)


def _attributes(attrs):
    return ",".join("%s=%s" % (key, crepr(value)) for key, value in attrs.items())


class Rank:
    """Nodes that are drawn on one line."""

    def __init__(self, kind, name, priority):
        self.kind, self.name, self.priority = kind, name, priority
        self.nodes = []

    def __str__(self):
        return "{rank=%s;%s}" % (self.kind, ",".join(node.name for node in self.nodes)) if self.nodes else ""


class Node:
    """A node; made by `Graph.node`."""

    counter = 1

    def __init__(self, label, prefix, description="", **attrs):
        self.label, self.description, self.attrs = label, description, attrs
        self.name = "%s_%d" % (prefix, Node.counter)
        Node.counter += 1

    def __str__(self):
        return "%s [label=%s %s ];" % (self.name, self.label, "," + _attributes(self.attrs) if self.attrs else "")


class Edge:
    """An arrow between two nodes; made by `Graph.edge`."""

    def __init__(self, source, target, **attrs):
        self.source, self.target, self.attrs = source, target, attrs

    def __str__(self):
        return "%s -> %s %s" % (self.source.name, self.target.name, "[%s]" % _attributes(self.attrs) if self.attrs else "")


class Graph:
    """A graph; ``str`` of it is its text.

    Args:
        title (str): its title.
        attrs: attributes, such as ``rankdir="TB"``.

    Example:
        >>> from oarlock.fluid.graphviz import Graph
        >>> graph = Graph("network")
        >>> edge = graph.edge(graph.node("relu", prefix="op"), graph.node("out", prefix="var"))
        >>> "op_" in graph.code()
        True
    """

    rank_counter = 0

    def __init__(self, title, **attrs):
        self.title, self.attrs = title, attrs
        self.nodes, self.edges, self.rank_groups = [], [], {}

    def code(self):
        """Returns the text."""
        return str(self)

    def rank_group(self, kind, priority):
        """Makes a rank and returns its name, the argument ``rank`` of `node`."""
        name = "rankgroup-%d" % Graph.rank_counter
        Graph.rank_counter += 1
        self.rank_groups[name] = Rank(kind, name, priority)
        return name

    def node(self, label, prefix, description="", **attrs):
        """Adds a node and returns it."""
        rank = attrs.pop("rank", None)
        node = Node(label, prefix, description, **attrs)
        if rank is not None:
            self.rank_groups[rank].nodes.append(node)
        self.nodes.append(node)
        return node

    def edge(self, source, target, **attrs):
        """Adds an arrow and returns it."""
        self.edges.append(Edge(source, target, **attrs))
        return self.edges[-1]

    def compile(self, dot_path):
        """Writes the text to ``dot_path``, and the drawing beside it as a PDF file if the command ``dot`` is installed. Returns the
        path of the drawing."""
        with open(dot_path, "w") as file:
            file.write(str(self))
        image_path = os.path.splitext(dot_path)[0] + ".pdf"
        if shutil.which("dot") is None:
            _log.warning("%s holds the graph; install graphviz for a drawing, %s", dot_path, image_path)
        else:
            subprocess.run(["dot", "-Tpdf", dot_path, "-o", image_path], check=True, stdin=subprocess.DEVNULL)
            _log.warning("write block debug graph to %s", image_path)
        return image_path

    def show(self, dot_path):
        """`compile`, and opens the drawing."""
        subprocess.Popen(["open", self.compile(dot_path)])

    def __str__(self):
        ranks = sorted(self.rank_groups.values(), key=lambda rank: rank.priority)
        lines = ["digraph G {", "title = %s" % crepr(self.title)]
        lines += ["%s=%s;" % (key, crepr(value)) for key, value in self.attrs.items()]
        lines += ["\n".join(str(rank) for rank in ranks) + "\n"]
        return "\n".join(lines + [str(one) for one in self.nodes + self.edges] + ["}"])


class GraphPreviewGenerator:
    """Draws operators, parameters and other variables.

    Args:
        title (str): the title of the graph.

    Example:
        >>> from oarlock.fluid.graphviz import GraphPreviewGenerator
        >>> preview = GraphPreviewGenerator("network")
        >>> x, relu = preview.add_arg("x"), preview.add_op("relu")
        >>> edge = preview.add_edge(x, relu, highlight=True)
    """

    def __init__(self, title):
        self.graph = Graph(title, layout="dot", concentrate="true", rankdir="TB")
        self.op_rank = self.graph.rank_group("same", 2)
        self.param_rank = self.graph.rank_group("same", 1)
        self.arg_rank = self.graph.rank_group("same", 0)

    def __call__(self, path="temp.dot", show=False):
        """Writes the graph to ``path``."""
        self.graph.show(path) if show else self.graph.compile(path)

    def add_param(self, name, data_type, highlight=False):
        """Adds a parameter with its type."""
        label = ('<<table cellpadding="5"><tr><td bgcolor="#2b787e"><b>%s</b></td></tr><tr><td>%s</td></tr></table>>' % (name, data_type))
        return self.graph.node(
            label, prefix="param", description=name, shape="none", style="rounded,filled,bold", width="1.3",
            color="orange" if highlight else "#148b97", fontcolor="#ffffff", fontname="Arial")

    def add_op(self, opType, highlight=False, **kwargs):
        """Adds an operator."""
        return self.graph.node(
            "<<B>%s</B>>" % opType, prefix="op", description=opType, shape="box", style="rounded, filled, bold",
            color="orange" if highlight else "#303A3A", fontname="Arial", fontcolor="#ffffff", width="1.3", height="0.84")

    def add_arg(self, name, highlight=False):
        """Adds a variable that is not a parameter."""
        return self.graph.node(
            crepr(name), prefix="arg", description=name, shape="box", style="rounded,filled,bold", fontname="Arial",
            fontcolor="#999999", color="orange" if highlight else "#dddddd")

    def add_edge(self, source, target, highlight=False, **kwargs):
        """Adds an arrow."""
        return self.graph.edge(source, target, color="orange" if highlight else "#000000", **kwargs)
