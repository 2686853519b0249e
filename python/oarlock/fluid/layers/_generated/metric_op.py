"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "accuracy", "auc",
]


def accuracy(
    input: Variable, label: Variable, k: int = 1, correct: Optional[Variable] = None, total: Optional[Variable] = None,
) -> Variable:
    """The share of samples whose label is among the ``k`` classes with the highest predictions.

    Args:
        input (Variable): predictions ``[batch, classes]``.
        label (Variable): int64 ``[batch, 1]``.
        k (int): how many classes count.
        correct (Variable): int variables that receive the counts.
        total (Variable): int variables that receive the counts.

    Returns:
        Variable: float32 ``[1]``.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0.9, 0.1], [0.8, 0.2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label)])[0].tolist()
        [0.5]
    """
    return layer("accuracy", locals())


def auc(
    input: Variable, label: Variable, curve: str = 'ROC', num_thresholds: int = 4095, topk: int = 1,
    slide_steps: int = 1,
) -> Tuple[Variable, ...]:
    """The area under the ROC or precision-recall curve of a classifier with two classes.

    Args:
        input (Variable): probabilities ``[batch, 2]``; column 1 is the positive class.
        label (Variable): int64 ``[batch, 1]``, 0 or 1.
        curve (str): ``ROC`` or ``PR``.
        num_thresholds (int): cells of the histograms.
        topk (int): accepted; only 1.
        slide_steps (int): the second result covers this number of batches; 0: all.

    Returns:
        tuple: AUC of all batches, AUC of the last ``slide_steps`` batches, and the histograms, which live in the scope.

    Example:
        >>> predicted, label = fluid.data("p", [None, 2]), fluid.data("label", [None, 1], "int64")
        >>> auc, batch_auc, histograms = fluid.layers.auc(predicted, label)
        >>> auc.shape, len(histograms)
        ((1,), 4)
    """
    return layer("auc", locals())
