"""Weight decay."""

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer"]


class WeightDecayRegularizer:
    """The base of weight decays."""

    def __init__(self, regularization_coeff=0.0):
        self._regularization_coeff = regularization_coeff

    def __str__(self):
        return "%sDecay, regularization_coeff=%f" % (self._kind.upper(), self._regularization_coeff)


class L2DecayRegularizer(WeightDecayRegularizer):
    """L2 weight decay: adds ``regularization_coeff * parameter`` to the gradient.

    Example: ``fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(1e-4))``
    """

    _kind = "l2"


class L1DecayRegularizer(WeightDecayRegularizer):
    """L1 weight decay: adds ``regularization_coeff * sign(parameter)`` to the gradient."""

    _kind = "l1"


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
