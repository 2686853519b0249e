"""Rules of hashed tables: admission of ids, and eviction of rows."""

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ScoreEviction", "ShowClickEntry", "UnseenEviction"]


class ProbabilityEntry:
    """Admission by chance: an id gets its row with this probability at each lookup."""

    def __init__(self, probability):
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError("probability must be a float in (0,1), not %r" % (probability,))
        self._probability = probability

    def _to_attr(self):
        return "probability_entry:%r" % self._probability


class CountFilterEntry:
    """Admission by count: an id gets its row after ``count_filter`` lookups."""

    def __init__(self, count_filter):
        if not isinstance(count_filter, int) or count_filter < 0:
            raise ValueError("count_filter must be a valid integer greater than 0, not %r" % (count_filter,))
        self._count_filter = count_filter

    def _to_attr(self):
        return "count_filter_entry:%d" % self._count_filter


class ShowClickEntry:
    """Admits every id, and counts shows and clicks of its row: the variables ``show_name`` and ``click_name`` hold one number per sample.
    ``ScoreEviction`` and ``fleet.shrink(score=...)`` use the counts."""

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError("show_name and click_name must be str, not %r and %r" % (show_name, click_name))
        self._show_name = show_name
        self._click_name = click_name

    def _to_attr(self):
        return "show_click_entry:%s:%s" % (self._show_name, self._click_name)


class UnseenEviction:
    """Evicts a row that was not updated in the last ``updates`` updates of its table."""

    def __init__(self, updates):
        self._updates = _count("updates", updates)

    def _to_attr(self):
        return "unseen=%d" % self._updates


class ScoreEviction:
    """Evicts rows by a score, once in ``period`` updates of the table. Shows and clicks of a row are multiplied with
    ``show_click_decay_rate``; then the row is evicted if ``(show - click) * nonclk_coeff + click * click_coeff`` is below
    ``delete_threshold``. Shows and clicks come from ``ShowClickEntry``; without it every update of a row is one show. ``unseen`` also evicts
    rows that were not updated in the last ``unseen`` updates."""

    def __init__(self, period, delete_threshold=0.8, nonclk_coeff=0.1, click_coeff=1.0, show_click_decay_rate=0.98, unseen=None):
        self._parts = ["period=%d" % _count("period", period)]
        numbers = {"delete_threshold": delete_threshold, "nonclk_coeff": nonclk_coeff, "click_coeff": click_coeff,
                   "show_click_decay_rate": show_click_decay_rate}
        self._parts += ["%s=%r" % (name, float(value)) for name, value in numbers.items()]
        if unseen is not None:
            self._parts.append("unseen=%d" % _count("unseen", unseen))

    def _to_attr(self):
        return "&".join(self._parts)


def _count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("%s must be an integer of at least 1, not %r" % (name, value))
    return value
