"""Metrics as operators."""

from ._call import layer
from ._names import fallback

__all__ = [
    "accuracy", "auc",
]

__getattr__ = fallback(__name__)


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of samples whose label is among the ``k`` classes with the highest predictions.

    Args:
        input (Variable): predictions ``[batch, classes]``.
        label (Variable): int64 ``[batch, 1]``.
        k (int): how many classes count.
        correct, total (Variable): int variables that receive the counts.

    Returns:
        Variable: float32 ``[1]``.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0.9, 0.1], [0.8, 0.2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label)])[0].tolist()
        [0.5]
    """
    return layer("accuracy", locals())


def auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1):
    """The area under the ROC or precision-recall curve of a classifier with two classes.

    Args:
        input (Variable): probabilities ``[batch, 2]``; column 1 is the positive class.
        label (Variable): int64 ``[batch, 1]``, 0 or 1.
        curve (str): ``ROC`` or ``PR``.
        num_thresholds (int): cells of the histograms.
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
