"""Which ids get a row of a table that lives on parameter servers, and which rows go."""

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ScoreEviction", "ShowClickEntry", "UnseenEviction"]


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


class ShowClickEntry:
    """Every id gets a row, and rows count how often they were shown and clicked: what the variables of these names say of each sample,
    one number each. The counts decide with ``ScoreEviction``, or with ``fleet.shrink(score=...)``."""

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError("show_name and click_name must be str, not %r and %r" % (show_name, click_name))
        self._show_name = show_name
        self._click_name = click_name

    def _to_attr(self):
        return "show_click_entry:%s:%s" % (self._show_name, self._click_name)


class UnseenEviction:
    """A row goes that was not updated in the last ``updates`` updates of its table."""

    def __init__(self, updates):
        self._updates = _count("updates", updates)

    def _to_attr(self):
        return "unseen=%d" % self._updates


class ScoreEviction:
    """At the end of every period of so many updates of the table, a row goes whose score is below ``delete_threshold``, after its shows
    and clicks were multiplied with ``show_click_decay_rate``. The score is ``(show - click) * nonclk_coeff + click * click_coeff``. Shows and
    clicks come from ``ShowClickEntry``; without it every update of a row is one show. With ``unseen`` a row goes, too, that was not updated
    in so many updates."""

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
