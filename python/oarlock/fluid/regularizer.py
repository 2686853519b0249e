"""Weight decay."""

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer"]


class WeightDecayRegularizer:
    """The base of weight decays."""


class L2DecayRegularizer(WeightDecayRegularizer):
    """``g += coeff * p``"""

    _kind = "l2"

    def __init__(self, regularization_coeff=0.0):
        self._regularization_coeff = regularization_coeff

    def __str__(self):
        return "L2Decay, regularization_coeff=%f" % self._regularization_coeff


class L1DecayRegularizer(WeightDecayRegularizer):
    """``g += coeff * sign(p)``"""

    _kind = "l1"

    def __init__(self, regularization_coeff=0.0):
        self._regularization_coeff = regularization_coeff

    def __str__(self):
        return "L1Decay, regularization_coeff=%f" % self._regularization_coeff


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
