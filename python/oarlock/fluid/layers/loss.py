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
    """`cross_entropy`: minus the logarithm of the probability of the label."""
    return layer("cross_entropy", locals())


def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, return_softmax=False, axis=-1
):
    """`softmax_with_cross_entropy`: the cross entropy of logits."""
    return layer("softmax_with_cross_entropy", locals())


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """Of each element alone."""
    return layer("sigmoid_cross_entropy_with_logits", locals())


def square_error_cost(input, label):
    """`(input - label)^2`."""
    return layer("square_error_cost", locals())


def mse_loss(input, label):
    """The mean of squared errors, `[1]`."""
    return layer("mse_loss", locals())


def huber_loss(input, label, delta):
    """Squared near zero, linear beyond `delta`."""
    return layer("huber_loss", locals())


def bpr_loss(input, label, name=None):
    """Bayesian personalised ranking."""
    return layer("bpr_loss", locals())


def rank_loss(label, left, right, name=None):
    """Of pairs of scores."""
    return layer("rank_loss", locals())


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """Of pairs of scores that should differ by a margin."""
    return layer("margin_rank_loss", locals())


def kldiv_loss(x, target, reduction='mean', name=None):
    """The divergence of distributions; `reduction` is `none`, `batchmean`, `mean` or `sum`."""
    return layer("kldiv_loss", locals())


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """Pulls pairs of a class together, `[1]`."""
    return layer("npair_loss", locals())


def center_loss(input, label, num_classes, alpha, param_attr, update_center=True):
    """Half the squared distance to the centre of the class, `[batch, 1]`; the centres move towards their examples by
    the share `alpha`."""
    return layer("center_loss", locals())


def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """See the operator's documentation."""
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
    """A softmax over many classes as a walk through a binary tree, `[batch, 1]`."""
    if is_custom != (path_table is not None and path_code is not None):
        raise ValueError("hsigmoid: path_table and path_code go with is_custom=True, and only with it")
    return layer("hsigmoid", locals())


def sampled_softmax_with_cross_entropy(
    logits, label, num_samples, num_true=1, remove_accidental_hits=True, use_customized_samples=False,
    customized_samples=None, customized_probabilities=None, seed=0
):
    """The cross entropy of a softmax over the true classes and some drawn ones, `[batch, 1]`."""
    if use_customized_samples != (customized_samples is not None and customized_probabilities is not None):
        raise ValueError(
            "sampled_softmax_with_cross_entropy: customized_samples and customized_probabilities go with "
            "use_customized_samples=True, and only with it")
    return layer("sampled_softmax_with_cross_entropy", locals())


def warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None):
    """The cost of labels without an alignment; `lengths` are those of a padded input and its labels."""
    return layer("warpctc", locals())


def edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None):
    """The distance of each pair of sequences, and how many pairs there are."""
    return layer("edit_distance", locals())
