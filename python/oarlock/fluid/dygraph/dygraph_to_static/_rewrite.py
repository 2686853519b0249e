"""Rewrites functions: what may depend on the values of tensors becomes calls of helpers, which decide when they know the values' types."""

import ast

from ._exits import lower
from ._names import appended, arguments, assigned, read_outside

# Calls of these look at the frame that calls them.
_LOOK_AT_CALLER = ("super", "locals", "globals", "vars", "eval", "exec", "dir")
_JST = "_jst"


class Refused(SyntaxError):
    """A function that cannot be part of a program."""


def _load(name):
    return ast.Name(name, ast.Load())


def _helper(name, *args):
    return ast.Call(ast.Attribute(_load(_JST), name, ast.Load()), list(args), [])


def _lambda(body):
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _function(name, body, args=()):
    given = ast.arguments([], [ast.arg(arg) for arg in args], None, [], [], None, [])
    return ast.FunctionDef(name, given, body, [], None)


def _placed(nodes, at):
    for node in nodes:
        for each in ast.walk(node):
            if not hasattr(each, "lineno") and isinstance(each, (ast.stmt, ast.expr, ast.arg)):
                ast.copy_location(each, at)
    return nodes


def _plain(node):
    """Whether an expression may move into a lambda: it binds nothing."""
    return not any(isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))


class _State:
    """The variables that a branch or a loop changes."""

    def __init__(self, scope, changed, read_after):
        self.scope, self.outer = scope, {name: kind for name, kind in scope.outer.items() if name in changed.names}
        local = lambda name: name in scope.locals and name not in scope.outer
        self.names = [name for name in changed.names + [n for n in changed.changed if n not in changed.names] if local(name)]
        self.attributes = [pair for pair in changed.attributes if pair[0] not in self.names]
        self.read_after = [name in read_after or name.startswith(_JST) for name in self.names] + [True] * len(self.attributes)

    def declarations(self):
        made = [ast.Nonlocal(list(self.names))] if self.names else []
        for kind in (ast.Global, ast.Nonlocal):
            names = [name for name, given in self.outer.items() if given is kind]
            made += [kind(names)] if names else []
        return made

    def getter(self, name):
        values = [_load(n) for n in self.names] + [_helper("attribute", _load(b), ast.Constant(a)) for b, a in self.attributes]
        return _function(name, [ast.Return(ast.Tuple(values, ast.Load()))])

    def setter(self, name):
        item = lambda at: ast.Subscript(_load("_values"), ast.Constant(at), ast.Load())
        body = self.declarations() + [ast.Assign([ast.Name(n, ast.Store())], item(at)) for at, n in enumerate(self.names)]
        for at, (base, attr) in enumerate(self.attributes, len(self.names)):
            store = ast.Assign([ast.Attribute(_load(base), attr, ast.Store())], item(at))
            body.append(ast.If(_helper("is_defined", item(at)), [store], []))
        return _function(name, body or [ast.Pass()], ["_values"])

    def described(self):
        texts = self.names + ["%s.%s" % pair for pair in self.attributes]
        return ast.Tuple([ast.Tuple([ast.Constant(t), ast.Constant(r)], ast.Load()) for t, r in zip(texts, self.read_after)], ast.Load())


class Rewriter(ast.NodeTransformer):
    """Rewrites one function, and those inside it.

    Args:
        file (str): its file, for errors.
        class_name (str): the class of a method, or None: names with two underscores in front contain it.
    """

    def __init__(self, file, class_name=None):
        self.file, self.class_name = file, class_name
        self.count = 0
        self.function = self.locals = self.outer = None
        self.within_try = self.loops = 0

    def refuse(self, node, what):
        raise Refused("%s; %s, line %d" % (what, self.file, node.lineno), (self.file, node.lineno, node.col_offset + 1, None))

    # Functions.

    def visit_FunctionDef(self, node):
        saved = self.function, self.locals, self.outer, self.within_try, self.loops
        own = [child for stmt in node.body for child in _walk_own(stmt)]
        for child in own:
            if isinstance(child, (ast.Yield, ast.YieldFrom)):
                self.refuse(child, "a generator cannot be part of a program: return a list")
        lower(node)
        changed = assigned(node.body)
        self.function, self.outer, self.within_try, self.loops = node, dict(changed.outer), 0, 0
        parameters = arguments(node)
        self.locals = set(parameters) | (set(changed.names) - set(changed.outer))
        body = self.block(node.body)
        needed = sorted(self._stated(body) - set(parameters))
        first = [ast.Assign([ast.Name(name, ast.Store())], _helper("Undefined", ast.Constant(name))) for name in needed]
        declarations = [s for s in body if isinstance(s, (ast.Global, ast.Nonlocal))]
        node.body = _placed(first, node) + [s for s in body if s not in declarations]
        node.body[:0] = declarations
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self.function, self.locals, self.outer, self.within_try, self.loops = saved
        return node

    def _stated(self, body):
        """Names that generated functions of this function share with it."""
        found = set()
        for stmt in body:
            for child in _walk_own(stmt, generated=True):
                if isinstance(child, ast.Nonlocal):
                    found.update(name for name in child.names if name in self.locals)
        return found

    def visit_ClassDef(self, node):
        return node

    def visit_AsyncFunctionDef(self, node):
        self.refuse(node, "a coroutine cannot be part of a program")

    def visit_Lambda(self, node):
        node.body = self.visit(node.body)
        return node

    def block(self, stmts):
        made = []
        for stmt in stmts:
            done = self.visit(stmt)
            made += done if isinstance(done, list) else [done]
        return made

    def step(self, stmts):
        self.loops += 1
        made = self.block(stmts)
        self.loops -= 1
        return made

    def number(self):
        self.count += 1
        return self.count

    # Branches and loops.

    def visit_If(self, node):
        if self.within_try:
            node.test = self.python_only(node.test)
            return self.generic_visit_blocks(node)
        changed = assigned(node.body + node.orelse)
        # In a loop, the next step may read what this one changes.
        state = _State(self, changed, changed.names + changed.changed if self.loops else read_outside(self.function, node))
        bare, number = not _plain(node.test), self.number()
        test = self.visit(node.test)
        test = _helper("known", test) if bare else _lambda(test)
        names = ["_jst_%s_%d" % (kind, number) for kind in ("true", "false", "get", "set")]
        body, orelse = self.block(node.body), self.block(node.orelse)
        made = [
            _function(names[0], state.declarations() + (body or [ast.Pass()])),
            _function(names[1], state.declarations() + (orelse or [ast.Pass()])),
            state.getter(names[2]), state.setter(names[3]),
            ast.Expr(_helper("convert_ifelse", test, *[_load(name) for name in names], state.described())),
        ]
        return _placed(made, node)

    def visit_While(self, node):
        if self.within_try:
            node.test = self.python_only(node.test, node.stops)
            return self.generic_visit_blocks(node)
        state = _State(self, assigned(node.body + [ast.Expr(node.test)]), read_outside(self.function, node))
        test, number = self.stopping(node.stops, self.visit(node.test)), self.number()
        names = ["_jst_%s_%d" % (kind, number) for kind in ("test", "body", "get", "set")]
        made = [
            _function(names[0], state.declarations() + [ast.Return(test)]), _function(names[1], state.declarations() + self.step(node.body)),
            state.getter(names[2]), state.setter(names[3]),
            ast.Expr(_helper("convert_while", *[_load(name) for name in names], state.described())),
        ]
        return _placed(made, node)

    def visit_For(self, node):
        if self.within_try:
            node.iter = _placed([_helper("python_only", self.visit(node.iter), ast.Constant("a loop"))], node)[0]
            if node.stops:
                flags = ast.BoolOp(ast.Or(), [_load(flag) for flag in node.stops]) if len(node.stops) > 1 else _load(node.stops[0])
                node.body.insert(0, _placed([ast.If(flags, [ast.Break()], [])], node)[0])
                first, node.body = node.body[0], node.body[1:]
                node.body = [first] + self.block(node.body)
                return node
            return self.generic_visit_blocks(node)
        target = ast.copy_location(ast.Assign([node.target], _load("_item")), node.target)
        state = _State(self, assigned([target] + node.body), read_outside(self.function, node))
        number = self.number()
        names = ["_jst_%s_%d" % (kind, number) for kind in ("body", "get", "set")]
        goes_on = _lambda(self.stopping(node.stops, None)) if node.stops else ast.Constant(None)
        made = [
            _function(names[0], state.declarations() + [target] + self.step(node.body), ["_item"]),
            state.getter(names[1]), state.setter(names[2]),
            ast.Expr(_helper("convert_for", self.visit(node.iter), goes_on, *[_load(name) for name in names], state.described())),
        ]
        return _placed(made, node)

    def stopping(self, flags, test):
        """A test that fails when a flag is set."""
        for flag in reversed(flags):
            stopped = _helper("convert_logical_not", _load(flag))
            test = stopped if test is None else _helper("convert_logical_and", _lambda(stopped), _lambda(test))
        return test

    def python_only(self, test, flags=()):
        made = _helper("python_only", self.visit(test), ast.Constant("a condition"))
        if flags:
            made = ast.BoolOp(ast.And(), [ast.UnaryOp(ast.Not(), _load(flag)) for flag in flags] + [made])
        return _placed([made], test)[0]

    def generic_visit_blocks(self, node):
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_Try(self, node):
        self.within_try += 1
        self.generic_visit(node)
        self.within_try -= 1
        return node

    # Statements.

    def visit_Assert(self, node):
        message = _lambda(self.visit(node.msg)) if node.msg else ast.Constant(None)
        return _placed([ast.Expr(_helper("convert_assert", self.visit(node.test), message))], node)[0]

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call) and not node.value.keywords:
            name = appended(node.value)
            if name is not None and name in self.locals and name not in self.outer:
                item = self.visit(node.value.args[0])
                return _placed([ast.Assign([ast.Name(name, ast.Store())], _helper("convert_append", _load(name), item))], node)[0]
        return self.generic_visit(node)

    def visit_Assign(self, node):
        target = node.targets[0]
        simple = len(node.targets) == 1 and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        if simple and not any(isinstance(each, ast.Slice) for each in ast.walk(target.slice)):
            name = target.value.id
            call = _helper("convert_setitem", _load(name), self.visit(target.slice), self.visit(node.value))
            if name in self.locals and name not in self.outer:
                return _placed([ast.Assign([ast.Name(name, ast.Store())], call)], node)[0]
        return self.generic_visit(node)

    # Expressions.

    def visit_BoolOp(self, node):
        if not _plain(node):
            return self.generic_visit(node)
        helper = "convert_logical_and" if isinstance(node.op, ast.And) else "convert_logical_or"
        made = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            made = _helper(helper, _lambda(self.visit(value)), _lambda(made))
        return _placed([made], node)[0]

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _placed([_helper("convert_logical_not", node.operand)], node)[0] if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 or not _plain(node):
            return node
        operands = ast.Tuple([_lambda(each) for each in [node.left] + node.comparators], ast.Load())
        pair = ast.arguments([], [ast.arg("a"), ast.arg("b")], None, [], [], None, [])
        tests = [ast.Lambda(pair, ast.Compare(_load("a"), [op], [_load("b")])) for op in node.ops]
        return _placed([_helper("convert_compare", operands, ast.Tuple(tests, ast.Load()))], node)[0]

    def visit_IfExp(self, node):
        if not _plain(node):
            return self.generic_visit(node)
        parts = [self.visit(part) for part in (node.test, node.body, node.orelse)]
        return _placed([_helper("convert_ifexp", _lambda(parts[0]), _lambda(parts[1]), _lambda(parts[2]))], node)[0]

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and (node.func.id in _LOOK_AT_CALLER or node.func.id == _JST):
            return self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == _JST:
            return self.generic_visit(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and not node.args and not node.keywords:
            return _placed([_helper("convert_numpy", node.func.value)], node)[0]
        node.func = _placed([_helper("convert_call", node.func)], node)[0]
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        node.attr = self.mangled(node.attr)
        if node.attr == "shape" and isinstance(node.ctx, ast.Load):
            return _placed([_helper("convert_shape", node.value)], node)[0]
        return node

    def visit_Name(self, node):
        node.id = self.mangled(node.id)
        return node

    def mangled(self, name):
        if self.class_name and name.startswith("__") and not name.endswith("__"):
            return "_%s%s" % (self.class_name.lstrip("_"), name)
        return name

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not any(isinstance(each, ast.Slice) for each in ast.walk(node.slice)):
            return _placed([_helper("convert_getitem", node.value, node.slice)], node)[0]
        return node


def _walk_own(node, generated=False):
    """A statement and what is in it, without functions and classes inside it; ``generated`` functions are part of it."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        inner = isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))
        if inner and not (generated and getattr(each, "name", "").startswith("_jst_")):
            continue
        todo.extend(ast.iter_child_nodes(each))
