"""Curves of training."""

import os

__all__ = ["Ploter"]


class Ploter:
    """Draws curves, such as costs by step, with ``matplotlib``. With the environment variable ``DISABLE_PLOT=True`` nothing is drawn.

    Args:
        args (str): the titles of the curves.

    Example:
        >>> import os
        >>> os.environ["DISABLE_PLOT"] = "True"
        >>> from oarlock.utils import Ploter
        >>> curves = Ploter("train", "test")
        >>> curves.append("train", 0, 1.5)
        >>> curves.plot()
        >>> curves.reset()
    """

    def __init__(self, *args):
        self._curves = {title: ([], []) for title in args}
        self._disabled = os.environ.get("DISABLE_PLOT") == "True"

    def append(self, title, step, value):
        """Adds a point to a curve.

        Args:
            title (str): the curve.
            step (number), value (number): the point.
        """
        if title not in self._curves:
            raise AssertionError("there is no curve %r: there are %s" % (title, ", ".join(self._curves)))
        steps, values = self._curves[title]
        steps.append(step), values.append(value)

    def plot(self, path=None):
        """Draws all curves that have points.

        Args:
            path (str): the file to draw into; otherwise the drawing is shown in the notebook.
        """
        if self._disabled:
            return
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Ploter draws with matplotlib: pip install matplotlib, or set DISABLE_PLOT=True") from None
        shown = [title for title, (steps, _) in self._curves.items() if steps]
        for title in shown:
            plt.plot(*self._curves[title])
        plt.legend(shown, loc="upper left")
        if path is not None:
            plt.savefig(path)
        else:
            from IPython import display

            display.clear_output(wait=True)
            display.display(plt.gcf())
        plt.gcf().clear()

    def reset(self):
        """Forgets all points."""
        for steps, values in self._curves.values():
            steps.clear(), values.clear()
