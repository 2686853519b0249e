"""Nested lists, tuples and dicts of anything: what recurrent cells take and return."""

__all__ = ["assert_same_structure", "flatten", "is_sequence", "map_structure", "pack_sequence_as"]


def is_sequence(seq):
    """Returns whether a value is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, dict))


def _items(nest):
    return [nest[key] for key in sorted(nest)] if isinstance(nest, dict) else list(nest)


def flatten(nest):
    """Returns what a nest holds, in order; dicts in the order of their keys.

    Example:
        >>> from oarlock.fluid.layers import utils
        >>> utils.flatten([1, (2, {"b": 4, "a": 3})])
        [1, 2, 3, 4]
    """
    return [value for item in _items(nest) for value in flatten(item)] if is_sequence(nest) else [nest]


def pack_sequence_as(structure, flat_sequence):
    """Returns the nesting of a structure with other values.

    Args:
        structure (nest): gives the nesting.
        flat_sequence (list): the values, in order.

    Raises:
        ValueError: their numbers differ.
    """
    values = list(flat_sequence)
    if len(values) != len(flatten(structure)):
        raise ValueError("Could not pack sequence. Structure had %d elements, but flat_sequence had %d elements."
                         % (len(flatten(structure)), len(values)))
    return _packed(structure, iter(values))


def _packed(structure, values):
    if not is_sequence(structure):
        return next(values)
    if isinstance(structure, dict):
        made = {key: _packed(structure[key], values) for key in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)
    items = [_packed(item, values) for item in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)


def map_structure(func, *structure):
    """Returns the nesting of the first structure, with the results of a function of the values at each place.

    Args:
        func (function): takes as many values as there are structures.
        structure (nest): the structures.

    Example:
        >>> from oarlock.fluid.layers import utils
        >>> utils.map_structure(lambda x: x + 1, [1, (2, 3)])
        [2, (3, 4)]
    """
    return pack_sequence_as(structure[0], [func(*row) for row in zip(*map(flatten, structure))])


def assert_same_structure(nest1, nest2, check_types=True):
    """Raises unless two values are nested in the same way.

    Args:
        nest1 (nest), nest2 (nest): the values.
        check_types (bool): whether lists and tuples differ.

    Raises:
        ValueError: the numbers of values, or the nesting, differ.
        TypeError: the types differ.
    """
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError("The two structures don't have the same nested structure.\n\nFirst structure: %s\n\nSecond structure: %s."
                         % (nest1, nest2))
    if not is_sequence(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError("The two structures don't have the same sequence type. First structure has type %s, while second structure has "
                        "type %s." % (type(nest1), type(nest2)))
    if isinstance(nest1, dict) and isinstance(nest2, dict) and set(nest1) != set(nest2):
        raise ValueError("The two dictionaries don't have the same set of keys.")
    if len(nest1) != len(nest2):
        raise ValueError("The two structures don't have the same number of elements. First structure: %s. Second structure: %s"
                         % (nest1, nest2))
    for item1, item2 in zip(_items(nest1), _items(nest2)):
        assert_same_structure(item1, item2, check_types)
