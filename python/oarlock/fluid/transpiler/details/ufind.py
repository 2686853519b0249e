"""Sets of elements that belong together."""

__all__ = ["UnionFind"]


class UnionFind:
    """Elements in sets that only grow together.

    Args:
        elementes (list): the elements, each in a set of its own.

    Example:
        >>> from oarlock.fluid.transpiler.details import UnionFind
        >>> sets = UnionFind(["a", "b", "c"])
        >>> sets.union("a", "b")
        >>> sets.is_connected("a", "b"), sets.is_connected("a", "c")
        (True, False)
    """

    def __init__(self, elementes=None):
        self._index = {element: i for i, element in enumerate(elementes or ())}
        self._parents = list(range(len(self._index)))

    def find(self, x):
        """Returns the number of the set of an element; -1 if it is unknown.

        Args:
            x: the element.
        """
        if x not in self._index:
            return -1
        at = self._index[x]
        while at != self._parents[at]:
            self._parents[at] = self._parents[self._parents[at]]
            at = self._parents[at]
        return at

    def union(self, x, y):
        """Joins the sets of two elements.

        Args:
            x, y: the elements.
        """
        x_root, y_root = self.find(x), self.find(y)
        if x_root != y_root:
            self._parents[x_root] = y_root

    def is_connected(self, x, y):
        """Returns whether two elements are in one set.

        Args:
            x, y: the elements.
        """
        return self.find(x) == self.find(y)
