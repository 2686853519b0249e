"""Losses."""

from ._call import layer
from ._names import fallback

__all__ = [
    "bpr_loss", "center_loss", "cross_entropy", "edit_distance", "hsigmoid", "huber_loss", "kldiv_loss",
    "margin_rank_loss", "mse_loss", "nce", "npair_loss", "rank_loss", "sampled_softmax_with_cross_entropy",
    "sigmoid_cross_entropy_with_logits", "softmax_with_cross_entropy", "square_error_cost",
    "teacher_student_sigmoid_loss", "warpctc",
]

__getattr__ = fallback(__name__)


def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """The negative log likelihood of the label: ``-log(input[label])``.

    Args:
        input (Variable): probabilities ``[batch, classes]``, for example of `softmax`.
        label (Variable): int64 ``[batch, 1]``; with ``soft_label``, float probabilities ``[batch, classes]``.
        soft_label (bool): labels are distributions.
        ignore_index (int): samples with this label cost 0.

    Returns:
        Variable: ``[batch, 1]``.

    Example:
        >>> x, label = fluid.data("x", [None, 13]), fluid.data("label", [None, 1], "int64")
        >>> predicted = fluid.layers.fc(x, 10, act="softmax")
        >>> fluid.layers.cross_entropy(predicted, label).shape
        (-1, 1)
    """
    return layer("cross_entropy", locals())


def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, return_softmax=False, axis=-1
):
    """The cross entropy of the softmax of logits, computed together: faster and more accurate than the two layers.

    Args:
        logits (Variable): ``[batch, classes]``, before the softmax.
        label (Variable): int64 ``[batch, 1]``; with ``soft_label``, float probabilities ``[batch, classes]``.
        return_softmax (bool): return the softmax, too.
        axis (int): the dimension of the classes.

    Returns:
        Variable: the loss, ``[batch, 1]``; with ``return_softmax`` a tuple of loss and softmax.

    Example:
        >>> logits, label = fluid.data("logits", [None, 10]), fluid.data("label", [None, 1], "int64")
        >>> fluid.layers.softmax_with_cross_entropy(logits, label).shape
        (-1, 1)
    """
    return layer("softmax_with_cross_entropy", locals())


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """The cross entropy of each logit with its own label in [0, 1], for labels that do not exclude each other.

    Example:
        >>> x, label = fluid.data("x", [None, 5]), fluid.data("label", [None, 5])
        >>> fluid.layers.sigmoid_cross_entropy_with_logits(x, label).shape
        (-1, 5)
    """
    return layer("sigmoid_cross_entropy_with_logits", locals())


def square_error_cost(input, label):
    """``(input - label) ** 2``, element by element.

    Example:
        >>> x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
        >>> fluid.layers.mean(fluid.layers.square_error_cost(x, y)).shape
        (1,)
    """
    return layer("square_error_cost", locals())


def mse_loss(input, label):
    """The mean of squared errors, `[1]`."""
    return layer("mse_loss", locals())


def huber_loss(input, label, delta):
    """The Huber loss: squared where ``|input - label|`` is below ``delta``, linear beyond."""
    return layer("huber_loss", locals())


def bpr_loss(input, label, name=None):
    """The Bayesian personalized ranking loss, ``[batch, 1]``: the score of the label against those of all other items."""
    return layer("bpr_loss", locals())


def rank_loss(label, left, right, name=None):
    """The RankNet loss of pairs of scores: ``label`` is 1 where ``left`` should rank higher."""
    return layer("rank_loss", locals())


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """``max(0, -label * (left - right) + margin)`` of pairs of scores; ``label`` is 1 or -1."""
    return layer("margin_rank_loss", locals())


def kldiv_loss(x, target, reduction='mean', name=None):
    """The Kullback-Leibler divergence; ``x`` holds log probabilities. ``reduction`` is ``none``, ``batchmean``, ``mean`` or
    ``sum``."""
    return layer("kldiv_loss", locals())


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The N-pair loss, ``[1]``: pulls embeddings of one class together and others apart."""
    return layer("npair_loss", locals())


def center_loss(input, label, num_classes, alpha, param_attr, update_center=True):
    """Half the squared distance to the centre of the class, `[batch, 1]`; the centres move towards their examples by
    the share `alpha`."""
    return layer("center_loss", locals())


def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """The loss of a student that learns from clicks and from the scores of a teacher, ``[batch, 1]``."""
    return layer("teacher_student_sigmoid_loss", locals())


def nce(
    input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None,
    name=None, sampler='uniform', custom_dist=None, seed=0, is_sparse=False
):
    """Noise-contrastive estimation of the class of an input, `[batch, 1]`."""
    return layer("nce", locals())


def hsigmoid(
    input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None, path_code=None,
    is_custom=False, is_sparse=False
):
    """Hierarchical softmax, ``[batch, 1]``: the class is a path in a binary tree."""
    if is_custom != (path_table is not None and path_code is not None):
        raise ValueError("hsigmoid: path_table and path_code go with is_custom=True, and only with it")
    return layer("hsigmoid", locals())


def sampled_softmax_with_cross_entropy(
    logits, label, num_samples, num_true=1, remove_accidental_hits=True, use_customized_samples=False,
    customized_samples=None, customized_probabilities=None, seed=0
):
    """The cross entropy of a softmax over the true classes and ``num_samples`` random ones, ``[batch, 1]``."""
    if use_customized_samples != (customized_samples is not None and customized_probabilities is not None):
        raise ValueError(
            "sampled_softmax_with_cross_entropy: customized_samples and customized_probabilities go with "
            "use_customized_samples=True, and only with it")
    return layer("sampled_softmax_with_cross_entropy", locals())


def warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None):
    """The CTC loss, ``[sequences, 1]``. ``input_length`` and ``label_length`` are needed for padded inputs."""
    return layer("warpctc", locals())


def edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None):
    """The edit distance of each pair of sequences, and the number of pairs."""
    return layer("edit_distance", locals())
