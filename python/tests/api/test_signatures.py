"""Names, positional order, keywords and defaults are those of Fluid 1.8.5, as recorded in signatures.txt."""

import ast
import functools
import inspect
import os

import pytest

import oarlock
from oarlock import fluid

HERE = os.path.dirname(os.path.abspath(__file__))

# What Fluid has and Oarlock does not have yet.
MISSING = set()

# Where the recorded text is not what a signature says: `*` arguments, and a default that is an object.
LOOSE = {"fluid.io.DataLoader", "fluid.layers.data", "fluid.Program", "fluid.initializer.Bilinear", "fluid.ParamAttr"}


def recorded():
    with open(os.path.join(HERE, "signatures.txt")) as f:
        for line in f.read().splitlines():
            name, _, args = line.partition("(")
            yield name, args[:-1]


def find(name):
    root, *path = name.split(".")
    start = {"fluid": fluid, "reader": oarlock.reader, "batch": oarlock.batch}[root]
    return functools.reduce(getattr, path, start)


def parameters(args):
    """Names and defaults of a signature's text."""
    node = ast.parse("def f(%s): pass" % args).body[0].args
    defaults = [None] * (len(node.args) - len(node.defaults)) + [ast.literal_eval(d) for d in node.defaults]
    required = len(node.args) - len(node.defaults)
    return [(a.arg, i >= required, d) for i, (a, d) in enumerate(zip(node.args, defaults))]


def ours(callable_):
    found = []
    for p in inspect.signature(callable_).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            has = p.default is not p.empty
            found.append((p.name, has, p.default if has else None))
    return found


@pytest.mark.parametrize("name,args", list(recorded()), ids=lambda v: v.split("(")[0][:60])
def test_signature(name, args):
    if name in MISSING:
        try:
            assert not callable(find(name))
        except AttributeError:
            pass
        pytest.skip("not there yet: %s" % name)
    made = find(name)
    if name in LOOSE:
        return
    want, have = parameters(args), ours(made)
    if want and want[0][0] == "self" and (not have or have[0][0] != "self"):
        want = want[1:]
    assert have[: len(want)] == want
    # More arguments than Fluid's must have defaults.
    assert all(has for _, has, _ in have[len(want) :])
