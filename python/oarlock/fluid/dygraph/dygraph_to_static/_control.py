"""Branches and loops whose conditions are tensors: blocks of the program.

Which variables a block hands on, and of which type, is known only after it was built; so it is built once for a trial, into a copy of the
program that is thrown away."""

import contextlib

from ... import _state, layers
from ...core import VarDesc
from ...framework import Program, default_main_program, program_guard
from ._values import (
    Undefined, as_variable, copied, filler, is_array, is_number, is_variable, number_dtype, parts, same_shape, to_array,
)

_trials = 0


def trying():
    """Whether what is built now is thrown away."""
    return _trials > 0


@contextlib.contextmanager
def _trial():
    """Builds into a copy of the program inside the block. Trials inside a trial use its copy."""
    global _trials
    if _trials:
        yield
        return
    main = default_main_program()
    scratch = Program(main.desc.clone(False))
    scratch.current_block_idx = main.current_block_idx
    names = _state.builder.push_names("trial_")
    _trials += 1
    try:
        with program_guard(scratch, Program()):
            yield
    finally:
        _trials -= 1
        _state.builder.swap_names(names)


def as_bool(test):
    """A condition of the program as one bool.

    Args:
        test (Variable): the condition.
    """
    return test if test.dtype == VarDesc.VarType.BOOL else layers.cast(test, "bool")


def predicate(test):
    """Builds a condition. No gradient flows through what is computed only for it.

    Args:
        test (callable): returns the condition.
    """
    if _state.tracer is not None:
        return test()
    block = default_main_program().current_block()
    before = block.program.desc.num_ops(block.idx)
    found = test()
    if block.program.desc.num_ops(block.idx) > before:
        for op in block.ops[before:]:
            for name in op.output_arg_names:
                if block.has_var(name):
                    block.var(name).stop_gradient = True
    return found


# Results of comparing what both ways of a branch leave behind: one value for both, a place of an output, or nested.
class _Out:
    def __init__(self, like, dtype):
        self.like, self.dtype = like, dtype

    def of(self, value):
        if isinstance(value, Undefined):
            return as_variable(0, self.dtype) if self.like is None else filler(self.like)
        return as_variable(value, self.dtype)


class _Same:
    def __init__(self, value):
        self.value = value


class _Nested:
    def __init__(self, rebuild, items):
        self.rebuild, self.items = rebuild, items


class _Grows(Exception):
    """A list is longer after one way than after the other."""

    def __init__(self, number):
        self.number = number


def _equal(a, b):
    try:
        return bool(a == b)
    except Exception:  # noqa: B902 - whatever the type's comparison raises, the values are not known to be equal.
        return False


def _outs_of(value):
    """A plan for a value that only one way has."""
    if is_variable(value) or is_number(value):
        return _Out(value if is_variable(value) else None, None if is_variable(value) else number_dtype(value))
    nested = parts(value)
    return None if nested is None else _Nested(nested[1], [_outs_of(each) for each in nested[0]])


def _compare(name, number, a, b, ours):
    """How a variable goes on after a branch with two ways."""
    if a is b:
        return _Same(a)
    if isinstance(a, Undefined) or isinstance(b, Undefined):
        other = b if isinstance(a, Undefined) else a
        if ours and not isinstance(other, Undefined):
            if other is None:
                return _Same(None)
            found = _outs_of(other)
            if found is not None:
                return found
        return _Same(Undefined(name, "it is assigned on one way of a branch only, whose condition is a tensor"))
    if same_shape(a, b):
        pairs = zip(parts(a)[0], parts(b)[0])
        return _Nested(parts(a)[1], [_compare(name, number, x, y, ours) for x, y in pairs])
    if isinstance(a, list) and isinstance(b, list):
        raise _Grows(number)
    holds = lambda value: is_variable(value) or is_number(value)
    if holds(a) and holds(b):
        if not is_variable(a) and not is_variable(b) and type(a) is type(b) and a == b:
            return _Same(a)
        like = a if is_variable(a) else b
        return _Out(None, like.dtype) if is_variable(like) else _Out(None, _wider(a, b))
    if type(a) is type(b) and _equal(a, b):
        return _Same(a)
    return _Same(Undefined(name, "a branch whose condition is a tensor leaves %s on one way and %s on the other" % (_kind(a), _kind(b))))


def _wider(a, b):
    kinds = {number_dtype(a), number_dtype(b)}
    return next(kind for kind in ("float32", "float64", "int64", "int32", "bool") if kind in kinds)


def _kind(value):
    return "a tensor" if is_variable(value) else "None" if value is None else "a %s" % type(value).__name__


def _collect(plan, value, into):
    """Appends the outputs of one way."""
    if isinstance(plan, _Out):
        into.append(plan.of(value))
    elif isinstance(plan, _Nested):
        items = parts(value)[0] if not isinstance(value, Undefined) else [value] * len(plan.items)
        for each, item in zip(plan.items, items):
            _collect(each, item, into)


def _restore(plan, outs):
    """The value of a variable after the branch."""
    if isinstance(plan, _Out):
        return next(outs)
    if isinstance(plan, _Nested):
        return plan.rebuild([_restore(each, outs) for each in plan.items])
    return plan.value


def _after(way, get, set, before):
    """What one way leaves behind."""
    set(copied(list(before)))
    way()
    return get()


def _ours(name):
    return name.startswith("_jst")


def _plans(true, false, get, set, before, names):
    """A plan for each variable, after lists that grow on one way became arrays. Returns the plans and the values to begin with."""
    before = list(before)
    while True:
        try:
            with _trial():
                a, b = _after(true, get, set, before), _after(false, get, set, before)
                plans = [
                    _compare(name, at, x, y, _ours(name)) if read or x is y else _Same(Undefined(name, "nothing reads it"))
                    for at, ((name, read), x, y) in enumerate(zip(names, a, b))
                ]
            set(before)
            return plans, before
        except _Grows as grows:
            before[grows.number] = to_array(before[grows.number])


def branch(test, true, false, get, set, names):
    """``if`` on a tensor.

    Args:
        test (Variable): the condition.
        true (callable), false (callable): the branches; they change variables.
        get (callable), set (callable): return and take the values of these variables.
        names (tuple): for each variable its name, and whether it is read elsewhere.
    """
    test = as_bool(test)
    plans, before = _plans(true, false, get, set, get(), names)

    def way(function):
        def build():
            outs = []
            for plan, value in zip(plans, _after(function, get, set, before)):
                _collect(plan, value, outs)
            return outs

        return build

    if trying():
        # New variables: the one that came in says that nothing changed.
        outs = [layers.assign(out) for out in way(true)()]
        way(false)()
    else:
        outs = layers.cond(test, way(true), way(false)) or []
    for out in outs:
        if out.dtype == VarDesc.VarType.BOOL:
            out.stop_gradient = True
    outs = iter(outs)
    set([_restore(plan, outs) for plan in plans])


class _LoopPlan:
    """Which variables a loop carries from step to step."""

    def __init__(self, names, before):
        self.names, self.begin = names, list(before)
        # By variable: None for what stays, or a tree of places.
        self.plans = [None] * len(names)

    def learn(self, after):
        """Takes over what one step left behind; returns whether something is new."""
        new = False
        for at, ((name, read), value) in enumerate(zip(self.names, after)):
            if value is self.begin[at] or (self.plans[at] is not None and isinstance(self.plans[at], _Out)):
                continue
            plan, begin = self.step(name, read, self.begin[at], value)
            if plan is not None and not _same_plan(plan, self.plans[at]):
                self.plans[at], self.begin[at], new = plan, begin, True
            elif begin is not self.begin[at]:
                self.begin[at], new = begin, True
        return new

    def step(self, name, read, before, after):
        """The plan of a variable and the value to begin with."""
        if before is after:
            return None, before
        if isinstance(before, Undefined):
            plan = _outs_of(after) if read else None
            return (None, before) if plan is None else (plan, before)
        if is_variable(before) and not is_array(before) and (is_variable(after) or is_number(after)):
            return _Out(before, before.dtype), before
        if is_number(before) and is_number(after):
            if type(before) is type(after) and before == after:
                return None, before
            return _Out(None, _wider(before, after)), before
        if is_number(before) and is_variable(after):
            return _Out(None, after.dtype), before
        if same_shape(before, after):
            made = [self.step(name, read, x, y) for x, y in zip(parts(before)[0], parts(after)[0])]
            if all(plan is None for plan, _ in made):
                return None, before
            items = [plan if plan is not None else _Same(begin) for plan, begin in made]
            return _Nested(parts(before)[1], items), before
        if isinstance(before, list) and isinstance(after, list):
            return None, to_array_later(before)
        if type(before) is type(after) and _equal(before, after):
            return None, before
        if not read:
            return None, before
        raise TypeError("%s is %s before a loop whose condition is a tensor, and %s after one step: give it a value of one type before the loop"
                        % (name, _kind(before), _kind(after)))


class to_array_later:
    """A list that must become an array of the program."""

    def __init__(self, items):
        self.items = items


def _same_plan(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, _Nested):
        return len(a.items) == len(b.items) and all(_same_plan(x, y) for x, y in zip(a.items, b.items))
    return True


def _begin(plan):
    """The values to begin with: of those carried, copies that the loop may overwrite."""
    flat = []
    for each, value in zip(plan.plans, plan.begin):
        if each is not None:
            _collect(each, value, flat)
    return [layers.assign(var) for var in flat]


def _with(plan, vars):
    vars = iter(vars)
    return [value if each is None else _restore(each, vars) for each, value in zip(plan.plans, plan.begin)]


def _learned(test, body, get, set, names):
    plan = _LoopPlan(names, get())
    for _ in range(16):
        with _trial():
            set(copied(_with(plan, _begin(plan))))
            test()
            body()
            new = plan.learn(get())
        for at, begin in enumerate(plan.begin):
            if isinstance(begin, to_array_later):
                plan.begin[at] = to_array(begin.items)
        if not new:
            break
    return plan


def loop(test, body, get, set, names):
    """``while`` on a tensor.

    Args:
        test (callable): returns the condition.
        body (callable): one step; it changes variables.
        get (callable), set (callable): return and take the values of these variables.
        names (tuple): for each variable its name, and whether it is read elsewhere.
    """
    plan = _learned(test, body, get, set, names)
    first = _begin(plan)
    if not first:
        raise ValueError("a loop whose condition is a tensor changes no tensor: it would never end")

    def condition(*vars):
        set(copied(_with(plan, vars)))
        return as_bool(as_variable(test()))

    def step(*vars):
        set(copied(_with(plan, vars)))
        body()
        outs = []
        for each, value in zip(plan.plans, get()):
            if each is not None:
                _collect(each, value, outs)
        return outs

    if trying():
        condition(*first)
        outs = step(*first)
    else:
        outs = _while(condition, step, first)
    after = _with(plan, outs)
    for at, ((name, _), each, value) in enumerate(zip(names, plan.plans, plan.begin)):
        if each is None and isinstance(value, Undefined):
            after[at] = Undefined(name, "it is assigned only inside a loop whose condition is a tensor")
    set(after)


def _while(condition, step, first):
    """Builds a loop. Values through which gradients flow are kept of every step, in arrays: the backward pass reads them again."""
    count = layers.fill_constant([1], "int64", 0)
    count.stop_gradient = True
    kept = [layers.array_write(var, layers.fill_constant([1], "int64", 0)) if _has_gradient(var) else None for var in first]
    goes_on = layers.assign(predicate(lambda: condition(*first)))
    with layers.While(goes_on).block():
        # Copies: gradients need the values of this step.
        given = [layers.assign(var) if array is None else layers.array_read(array, count) for var, array in zip(first, kept)]
        outs = step(*given)
        layers.increment(count, 1, in_place=True)
        for out, var, array in zip(outs, first, kept):
            if array is None:
                layers.assign(out, var)
            else:
                layers.array_write(out, count, array)
        layers.assign(predicate(lambda: condition(*outs)), goes_on)
    return [var if array is None else layers.array_read(array, count) for var, array in zip(first, kept)]


def _has_gradient(var):
    return var.dtype in (VarDesc.VarType.FP16, VarDesc.VarType.FP32, VarDesc.VarType.FP64)
