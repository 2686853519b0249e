"""Variables in nested lists, tuples and dicts: what branches, loop bodies and cells take and return."""

from ..framework import Variable


def flatten(structure):
    """The variables, in order."""
    if structure is None:
        return []
    if isinstance(structure, Variable):
        return [structure]
    if isinstance(structure, dict):
        return [v for key in sorted(structure) for v in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [v for item in structure for v in flatten(item)]
    raise TypeError("branches, loop bodies and cells work on Variables in lists, tuples and dicts, not on %r" % (structure,))


def rebuild(like, vars):
    """The nesting of ``like`` with other variables; ``vars`` is an iterator."""
    if like is None:
        return None
    if isinstance(like, Variable):
        return next(vars)
    if isinstance(like, dict):
        return {key: rebuild(like[key], vars) for key in sorted(like)}
    items = [rebuild(item, vars) for item in like]
    return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)


def each(fn, first, *others):
    """Applies ``fn`` to every variable, and to those at the same places of other structures; returns the same nesting."""
    columns = [flatten(s) for s in (first,) + others]
    if any(len(column) != len(columns[0]) for column in columns):
        raise ValueError("structures of %s variables do not match" % " and ".join(str(len(c)) for c in columns))
    return rebuild(first, iter([fn(*row) for row in zip(*columns)]))
