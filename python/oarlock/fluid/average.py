"""Weighted averages."""

import numpy as np

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """The average of values, by their weights."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Starts anew."""
        self.numerator = None
        self.denominator = None

    def add(self, value, weight):
        """Counts a value."""
        if not isinstance(value, (int, float, np.ndarray, np.number)):
            raise ValueError("The 'value' must be a number(int, float) or a numpy ndarray.")
        if not isinstance(weight, (int, float, np.number, np.ndarray)):
            raise ValueError("The 'weight' must be a number(int, float).")
        self.numerator = value * weight if self.numerator is None else self.numerator + value * weight
        self.denominator = weight if self.denominator is None else self.denominator + weight

    def eval(self):
        """The average so far."""
        if self.numerator is None or self.denominator == 0:
            raise ValueError("There is no data to be averaged in WeightedAverage.")
        return self.numerator / self.denominator
