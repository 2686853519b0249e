"""Functions without ``break``, ``continue`` and early ``return``: flags say what is to be left out, so that branches and loops have one way
out and can become blocks of a program."""

import ast

_FLAG = "_jst_%s_%d"
_RETURNED, _VALUE = "_jst_returned", "_jst_value"


def _name(text, at, store=False):
    return ast.copy_location(ast.Name(text, ast.Store() if store else ast.Load()), at)


def _assign(text, value, at):
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([_name(text, at, True)], value), at))


def _set(text, value, at):
    return _assign(text, ast.copy_location(ast.Constant(value), at), at)


def _none_of(flags, at):
    tests = [ast.copy_location(ast.UnaryOp(ast.Not(), _name(flag, at)), at) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.And(), tests), at)


def _always_leaves(block):
    """Whether no statement after a block runs."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return not isinstance(last, ast.Raise)
    return isinstance(last, ast.If) and _always_leaves(last.body) and _always_leaves(last.orelse)


class _Lowering:
    def __init__(self):
        self.count = 0
        # For each loop around: the names of its flags for break and continue.
        self.loops = []

    def block(self, stmts):
        """Returns the statements without exits, and the flags that may be set after them."""
        made, flags = [], []
        for at, stmt in enumerate(stmts):
            rest = stmts[at + 1 :]
            if isinstance(stmt, ast.If) and rest:
                # What follows belongs to the branch that does not leave: then both ways have a value.
                if _always_leaves(stmt.body):
                    stmt.orelse, rest = stmt.orelse + rest, []
                elif _always_leaves(stmt.orelse):
                    stmt.body, rest = stmt.body + rest, []
            replaced, own = self.statement(stmt)
            made += replaced
            flags += [flag for flag in own if flag not in flags]
            if isinstance(stmt, (ast.Return, ast.Break, ast.Continue)):
                return made, flags
            if own and rest:
                guarded, more = self.block(rest)
                made.append(ast.fix_missing_locations(ast.copy_location(ast.If(_none_of(own, rest[0]), guarded, []), rest[0])))
                return made, flags + [flag for flag in more if flag not in flags]
            if not rest:
                return made, flags
        return made, flags

    def statement(self, stmt):
        if isinstance(stmt, ast.Return):
            value = stmt.value or ast.copy_location(ast.Constant(None), stmt)
            return [_assign(_VALUE, value, stmt), _set(_RETURNED, True, stmt)], [_RETURNED]
        if isinstance(stmt, (ast.Break, ast.Continue)):
            flag = self.loops[-1][isinstance(stmt, ast.Continue)]
            return [_set(flag, True, stmt)], [flag]
        if isinstance(stmt, (ast.While, ast.For)):
            return self.loop(stmt)
        flags = []
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(stmt, field, None)
            if isinstance(inner, list) and isinstance(stmt, (ast.If, ast.With, ast.Try)):
                lowered, more = self.block(inner)
                setattr(stmt, field, lowered or inner)
                flags += more
        for handler in getattr(stmt, "handlers", []):
            handler.body, more = self.block(handler.body)
            flags += more
        return [stmt], sorted(set(flags))

    def loop(self, stmt):
        self.count += 1
        stop, skip = (_FLAG % (kind, self.count) for kind in ("break", "continue"))
        self.loops.append((stop, skip))
        body, flags = self.block(stmt.body)
        self.loops.pop()
        before, after = [], []
        if skip in flags:
            body.insert(0, _set(skip, False, stmt))
            before.append(_set(skip, False, stmt))
        if stop in flags:
            before.append(_set(stop, False, stmt))
        stmt.body = body
        stmt.stops = [flag for flag in (stop, _RETURNED) if flag in flags]
        outer = [flag for flag in flags if flag not in (stop, skip)]
        if stmt.orelse:
            after, more = self.block(stmt.orelse)
            if stmt.stops:
                after = [ast.fix_missing_locations(ast.copy_location(ast.If(_none_of(stmt.stops, stmt), after, []), stmt))]
            stmt.orelse = []
            outer += [flag for flag in more if flag not in outer]
        return before + [stmt] + after, outer


def _own_statements(function):
    """Statements of a function that are not in functions or classes inside it."""
    todo = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.excepthandler)))


def lower(function):
    """Rewrites a function so that it has no exits but one ``return`` at its end.

    Args:
        function (ast.FunctionDef): is changed.
    """
    exits = [node for node in _own_statements(function) if isinstance(node, ast.Return)]
    last = function.body[-1]
    if all(node is last for node in exits):
        rest = [last] if exits else []
        body = function.body[:-1] if exits else function.body
        lowered, _ = _Lowering().block(body)
        function.body = (lowered + rest) or [ast.copy_location(ast.Pass(), last)]
        return
    lowered, _ = _Lowering().block(function.body)
    first = function.body[0]
    unset = ast.Call(ast.Attribute(ast.Name("_jst", ast.Load()), "Undefined", ast.Load()), [ast.Constant("the return value")], [])
    result = ast.Call(ast.Attribute(ast.Name("_jst", ast.Load()), "returned", ast.Load()), [ast.Name(_VALUE, ast.Load())], [])
    end = ast.copy_location(ast.Return(result), last)
    function.body = [_assign(_VALUE, unset, first), _set(_RETURNED, False, first)] + lowered + [ast.fix_missing_locations(end)]
