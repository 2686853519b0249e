"""From a function to the rewritten one, with the file and the lines of the original."""

import ast
import functools
import inspect
import textwrap
import types

from ._rewrite import Rewriter

_made = set()


def is_converted(function):
    """Whether a function is the result of a conversion, or was defined inside one.

    Args:
        function (callable): the function.
    """
    return getattr(function, "__code__", None) in _made


def _remember(code):
    _made.add(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _remember(constant)


def _definition(code):
    """The syntax tree of a function, with the lines of its file."""
    lines, first = inspect.getsourcelines(code)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise OSError("%s, line %d: not the definition of one function" % (code.co_filename, first))
    ast.increment_lineno(tree, first - 1)
    # Decorators are around the function, not in it.
    node.decorator_list = []
    return node


def _class_name(function):
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


@functools.lru_cache(None)
def _rewritten(code, class_name):
    return Rewriter(code.co_filename, class_name).visit(_definition(code))


@functools.lru_cache(None)
def _code(code, class_name):
    """The code of the rewritten function; its free variables are those of the original, and the helpers."""
    node = _rewritten(code, class_name)
    made = ast.arguments([], [ast.arg(name) for name in ("_jst",) + code.co_freevars], None, [], [], None, [])
    # Defaults are those of the original: their values, not their expressions.
    # Its own name stays what it is outside: a global, or a free variable.
    plain = ast.FunctionDef("_jst_function", _without_defaults(node.args), node.body, [], None)
    factory = ast.FunctionDef("_jst_factory", made, [plain, ast.Return(ast.Name("_jst_function", ast.Load()))], [], None)
    for each in (plain, factory):
        ast.copy_location(each, node)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    compiled = compile(module, code.co_filename, "exec")
    outer = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    inner = next(c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == "_jst_function").replace(co_name=node.name)
    _remember(inner)
    return inner


def _without_defaults(args):
    strip = lambda each: ast.copy_location(ast.arg(each.arg), each)
    one = lambda each: each and strip(each)
    placeholder = [ast.Constant(None)] * len(args.defaults)
    return ast.arguments(
        [strip(a) for a in args.posonlyargs], [strip(a) for a in args.args], one(args.vararg), [strip(a) for a in args.kwonlyargs],
        [default and ast.Constant(None) for default in args.kw_defaults], one(args.kwarg), placeholder)


def converted(function):
    """The rewritten form of a Python function.

    Args:
        function (FunctionType): the function.

    Returns:
        FunctionType: works on tensors of eager mode, and builds a program while one is built.

    Raises:
        OSError: its source is not known.
        SyntaxError: it contains what cannot be part of a program; the error names the line.
    """
    from . import convert_operators

    if is_converted(function):
        return function
    code = _code(function.__code__, _class_name(function))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells["_jst"] = types.CellType(convert_operators)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__, made.__dict__ = function.__kwdefaults__, dict(function.__dict__)
    made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
    return made


def source(function):
    """The rewritten form of a function as text.

    Args:
        function (FunctionType): the function.
    """
    return ast.unparse(ast.fix_missing_locations(_rewritten(function.__code__, _class_name(function))))
