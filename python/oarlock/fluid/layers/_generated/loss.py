"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "bpr_loss", "center_loss", "cross_entropy", "edit_distance", "hsigmoid", "huber_loss", "kldiv_loss",
    "margin_rank_loss", "mse_loss", "nce", "npair_loss", "rank_loss", "sampled_softmax_with_cross_entropy",
    "sigmoid_cross_entropy_with_logits", "softmax_with_cross_entropy", "square_error_cost",
    "teacher_student_sigmoid_loss", "warpctc",
]


def bpr_loss(input: Variable, label: Variable, name: Optional[str] = None) -> Variable:
    """The Bayesian personalized ranking loss, ``[batch, 1]``: the score of the label against those of all other items.

    Args:
        input (Variable): scores [..., classes].
        label (Variable): class numbers [..., 1].
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("bpr_loss", locals())


def center_loss(
    input: Variable, label: Variable, num_classes: int, alpha: float, param_attr: ParamLike,
    update_center: bool = True,
) -> Variable:
    """Half the squared distance to the centre of the class, `[batch, 1]`; the centres move towards their examples by
    the share `alpha`.

    Args:
        input (Variable): [batch, width].
        label (Variable): i64 [batch, 1].
        num_classes (int): the number of classes.
        alpha (float): the learning rate of the centers.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        update_center (bool): move the centers.

    Returns:
        Variable: the result.
    """
    return layer("center_loss", locals())


def cross_entropy(input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100) -> Variable:
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


def edit_distance(
    input: Variable, label: Variable, normalized: bool = True,
    ignored_tokens: Optional[Union[int, Sequence[Any]]] = None, input_length: Optional[Variable] = None,
    label_length: Optional[Variable] = None,
) -> Variable:
    """The edit distance of each pair of sequences, and the number of pairs.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.
        normalized (bool): divide by the length of the reference.
        ignored_tokens (int or list): symbols that are removed first.
        input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
        label_length (Variable): the same for ``label``.

    Returns:
        Variable: the result.
    """
    return layer("edit_distance", locals())


def hsigmoid(
    input: Variable, label: Variable, num_classes: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, name: Optional[str] = None, path_table: Optional[Variable] = None,
    path_code: Optional[Variable] = None, is_custom: bool = False, is_sparse: bool = False,
) -> Variable:
    """Hierarchical softmax, ``[batch, 1]``: the class is a path in a binary tree.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.
        num_classes (int): leaves of the tree; of a tree of one's own the number of its inner nodes.
        param_attr (ParamAttr): the weight, a row per inner node.
        bias_attr (ParamAttr): the bias, a number per inner node.
        name (str): prefix of the names of its variables.
        path_table (Variable): the inner nodes on the way to each label, ``[batch, levels]``, -1 below the leaf.
        path_code (Variable): the bits on that way, like ``path_table``.
        is_custom (bool): the tree is that of ``path_table`` and ``path_code``.
        is_sparse (bool): the gradient holds only the rows of nodes that occur; only with a tree of one's own.

    Returns:
        Variable: the result.
    """
    return layer("hsigmoid", locals())


def huber_loss(input: Variable, label: Variable, delta: float) -> Variable:
    """The Huber loss: squared where ``|input - label|`` is below ``delta``, linear beyond.

    Args:
        input (Variable): predictions.
        label (Variable): the true classes.
        delta (float): where the loss becomes linear (must be set).

    Returns:
        Variable: the result.
    """
    return layer("huber_loss", locals())


def kldiv_loss(x: Variable, target: Variable, reduction: str = 'mean', name: Optional[str] = None) -> Variable:
    """The Kullback-Leibler divergence; ``x`` holds log probabilities. ``reduction`` is ``none``, ``batchmean``, ``mean`` or
    ``sum``.

    Args:
        x (Variable): logarithms of probabilities.
        target (Variable): probabilities, like `X`.
        reduction (str): none; or sum; or mean over all elements, or batchmean over rows.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("kldiv_loss", locals())


def margin_rank_loss(
    label: Variable, left: Variable, right: Variable, margin: float = 0.1, name: Optional[str] = None,
) -> Variable:
    """``max(0, -label * (left - right) + margin)`` of pairs of scores; ``label`` is 1 or -1.

    Args:
        label (Variable): 1 if `X1` ranks higher, -1 if `X2` does.
        left (Variable): scores of the first documents, ``[batch, 1]``.
        right (Variable): scores of the second documents, ``[batch, 1]``.
        margin (float): how far scores should be apart.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("margin_rank_loss", locals())


def mse_loss(input: Variable, label: Variable) -> Variable:
    """The mean of squared errors, `[1]`.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.

    Returns:
        Variable: the result.
    """
    return layer("mse_loss", locals())


def nce(
    input: Variable, label: Variable, num_total_classes: int, sample_weight: Optional[Variable] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    num_neg_samples: Optional[int] = None, name: Optional[str] = None, sampler: str = 'uniform',
    custom_dist: Optional[Sequence[Any]] = None, seed: int = 0, is_sparse: bool = False,
) -> Variable:
    """Noise-contrastive estimation of the class of an input, `[batch, 1]`.

    Args:
        input (Variable): [batch, width].
        label (Variable): i64 [batch, true classes].
        num_total_classes (int): how many classes there are.
        sample_weight (Variable): a weight per example.
        param_attr (ParamAttr): the weight, a row per class.
        bias_attr (ParamAttr): the bias, a number per class.
        num_neg_samples (int): classes drawn per example.
        name (str): prefix of the names of its variables.
        sampler (str): what they are drawn from.
        custom_dist (list): the probability of every class, for the sampler ``custom_dist``.
        seed (int): of the drawn classes; 0 for others in each step.
        is_sparse (bool): the gradient holds only the rows of the classes that occur.

    Returns:
        Variable: the result.
    """
    return layer("nce", locals())


def npair_loss(anchor: Variable, positive: Variable, labels: Variable, l2_reg: float = 0.002) -> Variable:
    """The N-pair loss, ``[1]``: pulls embeddings of one class together and others apart.

    Args:
        anchor (Variable): embeddings of the anchors, ``[batch, width]``.
        positive (Variable): embeddings of the positives, ``[batch, width]``.
        labels (Variable): classes, ``[batch]``.
        l2_reg (float): the weight of the L2 norm of the embeddings.

    Returns:
        Variable: the result.
    """
    return layer("npair_loss", locals())


def rank_loss(label: Variable, left: Variable, right: Variable, name: Optional[str] = None) -> Variable:
    """The RankNet loss of pairs of scores: ``label`` is 1 where ``left`` should rank higher.

    Args:
        label (Variable): 1 if left ranks higher, else 0.
        left (Variable): scores.
        right (Variable): scores.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("rank_loss", locals())


def sampled_softmax_with_cross_entropy(
    logits: Variable, label: Variable, num_samples: int, num_true: int = 1, remove_accidental_hits: bool = True,
    use_customized_samples: bool = False, customized_samples: Optional[Variable] = None,
    customized_probabilities: Optional[Variable] = None, seed: int = 0,
) -> Variable:
    """The cross entropy of a softmax over the true classes and ``num_samples`` random ones, ``[batch, 1]``.

    Args:
        logits (Variable): ``[batch, classes]``.
        label (Variable): the true classes.
        num_samples (int): classes drawn besides the true ones.
        num_true (int): true classes of an example.
        remove_accidental_hits (bool): drawn classes that are true ones do not count.
        use_customized_samples (bool): take ``customized_samples`` instead of drawing.
        customized_samples (Variable): classes, ``[batch, num_true + num_samples]``.
        customized_probabilities (Variable): their probabilities, like ``customized_samples``.
        seed (int): of the drawn classes; 0 for others in each step.

    Returns:
        Variable: the result.
    """
    return layer("sampled_softmax_with_cross_entropy", locals())


def sigmoid_cross_entropy_with_logits(
    x: Variable, label: Variable, ignore_index: int = -100, name: Optional[str] = None, normalize: bool = False,
) -> Variable:
    """The cross entropy of each logit with its own label in [0, 1], for labels that do not exclude each other.

    Args:
        x (Variable): scores.
        label (Variable): probabilities, like `X`.
        ignore_index (int): elements with this label cost nothing.
        name (str): prefix of the names of its variables.
        normalize (bool): divide by the number of elements not ignored.

    Returns:
        Variable: the result.

    Example:
        >>> x, label = fluid.data("x", [None, 5]), fluid.data("label", [None, 5])
        >>> fluid.layers.sigmoid_cross_entropy_with_logits(x, label).shape
        (-1, 5)
    """
    return layer("sigmoid_cross_entropy_with_logits", locals())


def softmax_with_cross_entropy(
    logits: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100,
    numeric_stable_mode: bool = True, return_softmax: bool = False, axis: int = -1,
) -> Variable:
    """The cross entropy of the softmax of logits, computed together: faster and more accurate than the two layers.

    Args:
        logits (Variable): ``[batch, classes]``, before the softmax.
        label (Variable): int64 ``[batch, 1]``; with ``soft_label``, float probabilities ``[batch, classes]``.
        soft_label (bool): labels are distributions, not class numbers.
        ignore_index (int): examples with this label have no loss.
        numeric_stable_mode (bool): keep exponentials in range (only with softmax).
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


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """``(input - label) ** 2``, element by element.

    Args:
        input (Variable): the input.
        label (Variable): the true classes.

    Returns:
        Variable: the result.

    Example:
        >>> x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
        >>> fluid.layers.mean(fluid.layers.square_error_cost(x, y)).shape
        (1,)
    """
    return layer("square_error_cost", locals())


def teacher_student_sigmoid_loss(
    input: Variable, label: Variable, soft_max_up_bound: float = 15.0, soft_max_lower_bound: float = -15.0,
) -> Variable:
    """The loss of a student that learns from clicks and from the scores of a teacher, ``[batch, 1]``.

    Args:
        input (Variable): scores [n, 1].
        label (Variable): [n, 1].
        soft_max_up_bound (float): from this score on there is no gradient.
        soft_max_lower_bound (float): up to this score there is no gradient.

    Returns:
        Variable: the result.
    """
    return layer("teacher_student_sigmoid_loss", locals())


def warpctc(
    input: Variable, label: Variable, blank: int = 0, norm_by_times: bool = False,
    input_length: Optional[Variable] = None, label_length: Optional[Variable] = None,
) -> Variable:
    """The CTC loss, ``[sequences, 1]``. ``input_length`` and ``label_length`` are needed for padded inputs.

    Args:
        input (Variable): the input.
        label (Variable): i32 or i64: [rows, 1] with LoD, or [batch, labels] with `LabelLength`.
        blank (int): the class that says nothing.
        norm_by_times (bool): divide the gradient by the number of steps.
        input_length (Variable): ``[batch]`` or ``[batch, 1]``, int64: for padded input without LoD.
        label_length (Variable): the same for ``label``.

    Returns:
        Variable: the result.
    """
    return layer("warpctc", locals())
