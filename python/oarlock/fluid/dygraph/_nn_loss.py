"""Losses as objects."""

from ..data_feeder import check_variable_and_dtype
from ..framework import Variable, in_dygraph_mode
from ..layers import nn as F
from ..layers import ops
from ._apply import apply
from .layers import Layer

__all__ = ["BCELoss", "L1Loss", "MSELoss", "NLLLoss"]

_REDUCTIONS = ("sum", "mean", "none")


def _check_reduction(reduction, what):
    if reduction not in _REDUCTIONS:
        raise ValueError("The value of 'reduction' in %s should be 'sum', 'mean' or 'none', but received %s, which is not allowed."
                         % (what, reduction))


def _reduced(x, reduction):
    return x if reduction == "none" else (F.reduce_sum if reduction == "sum" else F.reduce_mean)(x)


class MSELoss(Layer):
    """The squared difference.

    Args:
        reduction (str): ``mean``, ``sum`` or ``none``.
    """

    def __init__(self, reduction="mean"):
        super().__init__()
        _check_reduction(reduction, "MSELoss")
        self.reduction = reduction

    def forward(self, input, label):
        """Returns the loss.

        Args:
            input (Variable), label (Variable): float32, of one shape.
        """
        if not in_dygraph_mode():
            check_variable_and_dtype(input, "input", ["float32"], "MSELoss")
            check_variable_and_dtype(label, "label", ["float32"], "MSELoss")
        return _reduced(ops.square(F.elementwise_sub(input, label)), self.reduction)


class L1Loss(Layer):
    """The absolute difference.

    Args:
        reduction (str): ``mean``, ``sum`` or ``none``.
    """

    def __init__(self, reduction="mean"):
        _check_reduction(reduction, "L1Loss")
        super().__init__()
        self.reduction = reduction

    def forward(self, input, label):
        """Returns the loss.

        Args:
            input (Variable), label (Variable): of one shape.
        """
        for what, var in (("input", input), ("label", label)):
            check_variable_and_dtype(var, what, ["float32", "float64", "int32", "int64"], "l1_loss")
        return _reduced(F.elementwise_sub(input, label, act="abs"), self.reduction)


class BCELoss(Layer):
    """The cross entropy of probabilities of two classes.

    Args:
        weight (Variable): factors of the losses.
        reduction (str): ``mean``, ``sum`` or ``none``.
    """

    def __init__(self, weight=None, reduction="mean"):
        _check_reduction(reduction, "bce_loss")
        super().__init__()
        self.weight, self.reduction = weight, reduction

    def forward(self, input, label):
        """Returns the loss.

        Args:
            input (Variable): probabilities.
            label (Variable): 0 or 1, of the same shape.
        """
        for what, var in (("input", input), ("label", label)):
            check_variable_and_dtype(var, what, ["float32", "float64"], "bce_loss")
        out = apply(self, "bce_loss", {"X": input, "Label": label}, {}, dtype=input.dtype)
        if self.weight is not None:
            if not isinstance(self.weight, Variable):
                raise ValueError("The weight is not a Variable, please convert to Variable.")
            out = F.elementwise_mul(out, self.weight, axis=-1)
        return _reduced(out, self.reduction)


class NLLLoss(Layer):
    """The negative logarithm of the probability of the true class.

    Args:
        weight (Variable): a factor for each class.
        reduction (str): ``mean``, ``sum`` or ``none``.
        ignore_index (int): rows of this class count nothing.
    """

    def __init__(self, weight=None, reduction="mean", ignore_index=-100):
        super().__init__()
        self.weight, self.reduction, self.ignore_index = weight, reduction, ignore_index

    def forward(self, input, label):
        """Returns the loss.

        Args:
            input (Variable): logarithms of probabilities, ``[rows, classes, ...]``.
            label (Variable): int64, the true classes.
        """
        check_variable_and_dtype(input, "input", ["float32", "float64"], "nll_loss")
        check_variable_and_dtype(label, "label", ["int64"], "nll_loss")
        _check_reduction(self.reduction, "nll_loss")
        shape = list(input.shape)
        if len(shape) < 2:
            raise ValueError("Expected 2 or more dimensions (got {})".format(len(shape)))
        flat = len(shape) not in (2, 4)
        if flat:
            input, label = F.reshape(input, [shape[0], shape[1], 1, -1]), F.reshape(label, [shape[0], 1, -1])
        weight = self.weight if isinstance(self.weight, Variable) else None
        attrs = {"reduction": self.reduction, "ignore_index": self.ignore_index}
        out = apply(self, "nll_loss", {"X": input, "Label": label, "Weight": weight}, attrs, others=("Total_weight",), dtype=input.dtype)
        return F.reshape(out, [shape[0]] + shape[2:]) if flat and self.reduction == "none" else out
