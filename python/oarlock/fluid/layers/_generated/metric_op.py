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
    """Computes the share of samples whose label is among the ``k`` classes with the highest predictions.

    It is the accuracy of one batch; ``fluid.metrics.Accuracy`` averages batches. No gradient flows through it.

    Args:
        input (Variable): float32 or float64, ``[batch, classes]``: probabilities or logits.
        label (Variable): int64, ``[batch, 1]``: the class of each sample.
        k (int): how many of the highest classes count.
        correct (Variable): an int Variable that receives the number of correct samples; ``None``: a new one.
        total (Variable): an int Variable that receives the number of samples; ``None``: a new one.

    Returns:
        Variable: float32 ``[1]``.

    Raises:
        fluid.core.EnforceNotMet: ``k`` is larger than the number of classes.
        TypeError: the labels are not int64 (when the program runs).

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0.9, 0.1], [0.8, 0.2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label)])[0].tolist()
        [0.5]
        >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label, k=2)])[0].tolist()
        [1.0]
    """
    return layer("accuracy", locals())


def auc(
    input: Variable, label: Variable, curve: str = 'ROC', num_thresholds: int = 4095, topk: int = 1,
    slide_steps: int = 1,
) -> Tuple[Variable, ...]:
    """Computes the area under the ROC or precision-recall curve of a classifier with two classes.

    Predictions are counted in histograms, which stay in the scope between runs, so that the first result covers all
    batches since the startup program. No gradient flows through it.

    Args:
        input (Variable): float32 or float64, ``[batch, 2]``: probabilities; column 1 is the positive class.
        label (Variable): int64, ``[batch, 1]``: 0 or 1.
        curve (str): ``ROC`` or ``PR``.
        num_thresholds (int): the cells of the histograms; more of them are more exact.
        topk (int): accepted; Fluid does not use it either.
        slide_steps (int): the number of last batches that the second result covers; 0: all.

    Returns:
        tuple: (auc, batch_auc, histograms): float64 ``[1]`` of all batches, float64 ``[1]`` of the last
            ``slide_steps`` batches, and a list of four int64 Variables: positives and negatives for ``batch_auc``,
            then those for ``auc``.

    Raises:
        ValueError: ``curve`` is neither ``ROC`` nor ``PR`` (when the program runs).

    Example:
        >>> predicted, label = fluid.data("p", [None, 2]), fluid.data("label", [None, 1], "int64")
        >>> auc, batch_auc, histograms = fluid.layers.auc(predicted, label)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> p = np.array([[0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [0.9, 0.1]], "float32")
        >>> feed = {"p": p, "label": np.array([[1], [0], [1], [0]])}
        >>> exe.run(feed=feed, fetch_list=[auc])[0].tolist()
        [1.0]
    """
    return layer("auc", locals())
