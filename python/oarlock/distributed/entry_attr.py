"""Which ids get a row of a table that lives on parameter servers."""

__all__ = ["CountFilterEntry", "ProbabilityEntry"]


class ProbabilityEntry:
    """An id gets its row with this probability each time it is looked up."""

    def __init__(self, probability):
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError("probability must be a float in (0,1), not %r" % (probability,))
        self._probability = probability

    def _to_attr(self):
        return "probability_entry:%r" % self._probability


class CountFilterEntry:
    """An id gets its row when it was looked up so many times."""

    def __init__(self, count_filter):
        if not isinstance(count_filter, int) or count_filter < 0:
            raise ValueError("count_filter must be a valid integer greater than 0, not %r" % (count_filter,))
        self._count_filter = count_filter

    def _to_attr(self):
        return "count_filter_entry:%d" % self._count_filter
