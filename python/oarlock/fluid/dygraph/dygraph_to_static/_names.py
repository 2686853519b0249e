"""Names that statements assign and read."""

import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Assigned(ast.NodeVisitor):
    def __init__(self):
        self.names, self.attributes, self.changed, self.outer = [], [], [], {}

    def add(self, into, name):
        if name not in into:
            into.append(name)

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.add(self.names, node.id)

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            self.add(self.attributes, (node.value.id, node.attr))
        self.generic_visit(node)

    def visit_Subscript(self, node):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            self.add(self.changed, node.value.id)
        self.generic_visit(node)

    def visit_Call(self, node):
        if appended(node) is not None:
            self.add(self.changed, appended(node))
        self.generic_visit(node)

    def visit_Global(self, node):
        self.outer.update(dict.fromkeys(node.names, type(node)))

    visit_Nonlocal = visit_Global

    def visit_alias(self, node):
        self.add(self.names, (node.asname or node.name).split(".")[0])

    def visit_ExceptHandler(self, node):
        if node.name:
            self.add(self.names, node.name)
        self.generic_visit(node)

    def scope(self, node):
        if getattr(node, "name", None):
            self.add(self.names, node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = scope

    def comprehension(self, node):
        # Its variables are its own; the first iterable is evaluated outside.
        self.visit(node.generators[0].iter)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension


def appended(call):
    """The name of the list to which a call appends, or None.

    Args:
        call (ast.Call): the call.
    """
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "append" and isinstance(function.value, ast.Name) and len(call.args) == 1:
        return function.value.id
    return None


def assigned(stmts):
    """What statements change.

    Args:
        stmts (list): statements.

    Returns:
        _Assigned: ``names``; ``attributes`` as pairs; ``changed``, lists and dicts whose items change; ``outer``, names of other scopes.
    """
    found = _Assigned()
    for stmt in stmts:
        found.visit(stmt)
    return found


def arguments(function):
    """The names of a function's arguments.

    Args:
        function (ast.FunctionDef or ast.Lambda): the function.
    """
    args = function.args
    every = args.posonlyargs + args.args + args.kwonlyargs + [arg for arg in (args.vararg, args.kwarg) if arg]
    return [arg.arg for arg in every]


def read_outside(function, node):
    """Names that a function reads outside one of its statements.

    Args:
        function (ast.FunctionDef): the function.
        node (ast.stmt): the statement.
    """
    found, todo = set(), [function]
    while todo:
        each = todo.pop()
        if each is node:
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            found.add(each.id)
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            found.add(each.target.id)
        todo.extend(ast.iter_child_nodes(each))
    return found
