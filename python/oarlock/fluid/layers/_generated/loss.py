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
    """Computes the Bayesian personalized ranking loss: the mean over all other items ``j`` of
    ``log(1 + exp(input[j] - input[label]))``.

    It is small when the score of the chosen item exceeds all others. Recommendation by sessions uses it.

    Args:
        input (Variable): float32 or float64, ``[batch, items]``: scores.
        label (Variable): int64, ``[batch, 1]``: the chosen item.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        IndexError: a label is no item (when the program runs).

    Example:
        >>> scores = fluid.layers.assign(np.array([[1, 5, 2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1]], "int64"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.bpr_loss(scores, label)])[0].round(4))
        [[0.0334]]
    """
    return layer("bpr_loss", locals())


def center_loss(
    input: Variable, label: Variable, num_classes: int, alpha: float, param_attr: ParamLike,
    update_center: bool = True,
) -> Variable:
    """Computes half the squared distance of each feature to the centre of its class:
    ``0.5 * sum((input - centers[label]) ** 2)``.

    The centres are a parameter ``[num_classes, width]`` that no optimizer changes: every run moves the centre of a
    class by ``alpha * sum(input - center) / (1 + number of its samples)``. Together with a softmax loss it makes
    features of one class similar.

    Args:
        input (Variable): float32 or float64, ``[batch, width]``: features.
        label (Variable): int64, ``[batch, 1]``: the class of each sample.
        num_classes (int): the number of classes.
        alpha (float): how far the centres move.
        param_attr (ParamAttr): name and initializer of the centres; ``None``: Xavier's initializer.
        update_center (bool): move the centres.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        IndexError: a label is no class (when the program runs).

    Example:
        >>> feature = fluid.layers.assign(np.array([[1, 2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0]], "int64"))
        >>> zeros = fluid.initializer.Constant(0.0)
        >>> loss = fluid.layers.center_loss(feature, label, num_classes=3, alpha=0.1, param_attr=zeros)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> exe.run(fetch_list=[loss])[0].tolist()
        [[2.5]]
        >>> print(exe.run(fetch_list=[loss])[0].round(4))
        [[2.2562]]
    """
    return layer("center_loss", locals())


def cross_entropy(input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100) -> Variable:
    """Computes the cross entropy of probabilities and labels: ``-log(input[label])``, or ``-sum(label * log(input))``
    with soft labels.

    ``input`` holds probabilities, usually those of ``softmax``. For logits use ``softmax_with_cross_entropy``. The
    result is per sample; ``mean`` makes a loss of it.

    Args:
        input (Variable): float32 or float64, ``[..., classes]``: probabilities.
        label (Variable): int64 ``[..., 1]`` (or ``[...]``): the class of each sample; with ``soft_label`` the type
            and shape of ``input``.
        soft_label (bool): each label is a distribution over the classes.
        ignore_index (int): samples with this label cost 0 and have no gradient; only without ``soft_label``.

    Returns:
        Variable: ``[..., 1]``, the element type of ``input``.

    Raises:
        TypeError: labels of classes are not int64.
        IndexError: a label is no class (when the program runs).

    Example:
        >>> predicted = fluid.layers.assign(np.array([[0.5, 0.5], [0.1, 0.9]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.cross_entropy(predicted, label)])[0].round(4))
        [[0.6931]
         [0.1054]]
        >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1], "int64")
        >>> cost = fluid.layers.cross_entropy(fluid.layers.fc(x, 10, act="softmax"), y)
        >>> loss = fluid.layers.mean(cost)
        >>> _ = fluid.optimizer.SGD(0.1).minimize(loss)
    """
    return layer("cross_entropy", locals())


def edit_distance(
    input: Variable, label: Variable, normalized: bool = True,
    ignored_tokens: Optional[Union[Sequence[Any], int]] = None, input_length: Optional[Variable] = None,
    label_length: Optional[Variable] = None,
) -> Tuple[Variable, ...]:
    """Computes the edit distance of pairs of sequences: the fewest insertions, deletions and replacements that turn
    one into the other.

    No gradient flows through it.

    Args:
        input (Variable): int64: the hypotheses, ``[rows, 1]`` with LoD, or ``[batch, steps]`` with
            ``input_length``.
        label (Variable): int64: the references, in the same form.
        normalized (bool): divide each distance by the length of the reference.
        ignored_tokens (list or int): symbols that are removed from both before they are compared; ``None``: none.
        input_length (Variable): int64, ``[batch]``: the steps of each hypothesis; ``None``: the input has LoD. Give
            both lengths or none.
        label_length (Variable): int64, ``[batch]``: the steps of each reference; ``None``: the label has LoD.

    Returns:
        tuple: (distance, sequences): float32 ``[batch, 1]``, and int64 ``[1]``, the number of pairs.

    Raises:
        fluid.core.EnforceNotMet: the input has neither LoD nor lengths (when the program runs).

    Example:
        >>> x = fluid.layers.assign(np.array([[1, 2, 3]], "int64"))
        >>> y = fluid.layers.assign(np.array([[1, 3, 0]], "int64"))
        >>> x_length = fluid.layers.assign(np.array([3], "int64"))
        >>> y_length = fluid.layers.assign(np.array([2], "int64"))
        >>> distance, number = fluid.layers.edit_distance(
        ...     x, y, normalized=False, input_length=x_length, label_length=y_length)
        >>> [a.tolist() for a in fluid.Executor().run(fetch_list=[distance, number])]
        [[[1.0]], [1]]
    """
    return layer("edit_distance", locals())


def hsigmoid(
    input: Variable, label: Variable, num_classes: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, name: Optional[str] = None, path_table: Optional[Variable] = None,
    path_code: Optional[Variable] = None, is_custom: bool = False, is_sparse: bool = False,
) -> Variable:
    """Computes the hierarchical sigmoid of a class: a cheap loss for very many classes, which are the leaves of a
    binary tree.

    A class costs the sum of ``log(1 + exp(s)) - bit * s`` over the inner nodes on its path, with
    ``s = input . W[node] + b[node]`` and ``bit`` the direction of the path: about ``log2(num_classes)`` products
    instead of ``num_classes``. Without ``is_custom`` the tree is the complete one, and the weight is a parameter
    ``[num_classes - 1, width]``.

    Args:
        input (Variable): float32 or float64, ``[batch, width]``: features.
        label (Variable): int64, ``[batch, 1]``: the class of each sample.
        num_classes (int): the number of classes, at least 2; of a custom tree the number of its inner nodes.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        name (str): prefix of the names of its variables.
        path_table (Variable): int64, ``[batch, levels]``: the inner nodes on the path of each label, then -1; for a
            custom tree.
        path_code (Variable): int64, ``[batch, levels]``: the direction at each of these nodes, 0 or 1, then -1; for
            a custom tree.
        is_custom (bool): the tree is that of ``path_table`` and ``path_code``.
        is_sparse (bool): the gradient of the weight holds only the rows of nodes that occur; only for a custom
            tree.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        ValueError: there are fewer than 2 classes.
        IndexError: a label is no class (when the program runs).

    Example:
        >>> x, label = fluid.data("x", [None, 8]), fluid.data("label", [None, 1], "int64")
        >>> fluid.layers.hsigmoid(x, label, num_classes=1000).shape
        (-1, 1)
    """
    return layer("hsigmoid", locals())


def huber_loss(input: Variable, label: Variable, delta: float) -> Variable:
    """Computes the Huber loss: ``0.5 * d * d`` where ``d = |label - input|`` is at most ``delta``, otherwise
    ``delta * (d - 0.5 * delta)``.

    Large errors count less than with ``square_error_cost``: their gradient is at most ``delta``.

    Args:
        input (Variable): float32 or float64, ``[batch, 1]``: predictions.
        label (Variable): the type and shape of ``input``: the true values.
        delta (float): the error from which the loss is linear; positive.

    Returns:
        Variable: the shape of ``input``.

    Raises:
        fluid.core.EnforceNotMet: ``input`` and ``label`` differ in shape.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[1], [5]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [0]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.huber_loss(predicted, label, delta=1.0)])[0].tolist()
        [[0.5], [4.5]]
    """
    return layer("huber_loss", locals())


def kldiv_loss(x: Variable, target: Variable, reduction: str = 'mean', name: Optional[str] = None) -> Variable:
    """Computes the Kullback-Leibler divergence ``target * (log(target) - x)``; elements whose target is not positive
    cost 0.

    Args:
        x (Variable): float32 or float64, ``[batch, ...]``: logarithms of the predicted probabilities.
        target (Variable): the type and shape of ``x``: probabilities, not logarithms.
        reduction (str): ``none``: every element; ``mean``: the mean of all; ``sum``: their sum; ``batchmean``: the
            sum divided by the number of samples, which is the divergence of its definition.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[1]``; with ``none`` the shape of ``x``.

    Raises:
        ValueError: ``reduction`` is none of the four.

    Example:
        >>> x = fluid.layers.log(fluid.layers.assign(np.array([[0.5, 0.5]], "float32")))
        >>> target = fluid.layers.assign(np.array([[0.25, 0.75]], "float32"))
        >>> out = fluid.layers.kldiv_loss(x, target, reduction="batchmean")
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [0.1308]
    """
    return layer("kldiv_loss", locals())


def margin_rank_loss(
    label: Variable, left: Variable, right: Variable, margin: float = 0.1, name: Optional[str] = None,
) -> Variable:
    """Computes the margin ranking loss of pairs of scores: ``max(0, -label * (left - right) + margin)``.

    Pairs that are in the right order by at least ``margin`` cost nothing.

    Args:
        label (Variable): float32, ``[batch, 1]``: 1 where the left document ranks higher, -1 where the right one
            does.
        left (Variable): float32, ``[batch, 1]``: scores of the left documents.
        right (Variable): float32, ``[batch, 1]``: scores of the right documents.
        margin (float): the distance that scores should have.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, 1]``.

    Example:
        >>> label = fluid.layers.assign(np.array([[1], [-1]], "float32"))
        >>> left = fluid.layers.assign(np.array([[2], [2]], "float32"))
        >>> right = fluid.layers.assign(np.array([[1], [1]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.margin_rank_loss(label, left, right)])[0].round(4))
        [[0. ]
         [1.1]]
    """
    return layer("margin_rank_loss", locals())


def mse_loss(input: Variable, label: Variable) -> Variable:
    """Computes the mean squared error ``mean((input - label) ** 2)``.

    Args:
        input (Variable): float32 or float64: predictions.
        label (Variable): the type and shape of ``input``: the true values.

    Returns:
        Variable: ``[1]``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``label`` are neither those of ``input`` nor 1.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[1.5], [3]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1], [5]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.mse_loss(predicted, label)])[0].tolist()
        [2.125]
    """
    return layer("mse_loss", locals())


def nce(
    input: Variable, label: Variable, num_total_classes: int, sample_weight: Optional[Variable] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    num_neg_samples: Optional[int] = None, name: Optional[str] = None, sampler: str = 'uniform',
    custom_dist: Optional[Sequence[Any]] = None, seed: int = 0, is_sparse: bool = False,
) -> Variable:
    """Computes the noise-contrastive estimation of a class: a cheap loss for very many classes.

    Instead of a softmax over all classes, the true class and ``num_neg_samples`` randomly drawn ones are told
    apart. With ``o = sigmoid(input . W[class] + b[class])`` and ``q = num_neg_samples * P(class)`` a true class
    costs ``-log(o / (o + q))`` and a drawn one ``-log(q / (o + q))``. The weight is a parameter
    ``[num_total_classes, width]``.

    Args:
        input (Variable): float32 or float64, ``[batch, width]``: features.
        label (Variable): int64, ``[batch, true_classes]``.
        num_total_classes (int): the number of classes.
        sample_weight (Variable): ``[batch, 1]``: a factor of the loss of each sample; ``None``: 1.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        num_neg_samples (int): the classes that are drawn per sample; ``None``: 10.
        name (str): prefix of the names of its variables.
        sampler (str): the distribution they are drawn from: ``uniform``, ``log_uniform`` (frequent classes have
            small numbers) or ``custom_dist``.
        custom_dist (list): the probability of every class, for ``custom_dist``.
        seed (int): the same seed draws the same classes in every run; 0: other ones in every run.
        is_sparse (bool): the gradient of the weight holds only the rows of classes that occur.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        ValueError: ``sampler`` is unknown.
        TypeError: ``custom_dist`` is missing for the sampler of that name.
        IndexError: a label is no class (when the program runs).

    Example:
        >>> x, label = fluid.data("x", [None, 8]), fluid.data("label", [None, 1], "int64")
        >>> cost = fluid.layers.nce(x, label, num_total_classes=1000, num_neg_samples=5, is_sparse=True)
        >>> cost.shape
        (-1, 1)
    """
    return layer("nce", locals())


def npair_loss(anchor: Variable, positive: Variable, labels: Variable, l2_reg: float = 0.002) -> Variable:
    """Computes the N-pair loss: embeddings of one class are pulled together and those of other classes are pushed
    apart.

    It is the softmax cross entropy of the products of all anchors with all positives, plus ``0.25 * l2_reg`` times
    the mean squared length of both.

    Args:
        anchor (Variable): float32, ``[batch, width]``: embeddings of the anchors.
        positive (Variable): float32, ``[batch, width]``: an embedding of the same class for each anchor.
        labels (Variable): float32, float64, int32 or int64, ``[batch]``: the classes.
        l2_reg (float): the weight of the lengths of the embeddings.

    Returns:
        Variable: ``[1]``.

    Example:
        >>> anchor = fluid.layers.assign(np.array([[1, 0], [0, 1]], "float32"))
        >>> positive = fluid.layers.assign(np.array([[1, 0], [0, 1]], "float32"))
        >>> labels = fluid.layers.assign(np.array([0, 1], "int64"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.npair_loss(anchor, positive, labels)])[0].round(4))
        [0.3143]
    """
    return layer("npair_loss", locals())


def rank_loss(label: Variable, left: Variable, right: Variable, name: Optional[str] = None) -> Variable:
    """Computes the RankNet loss of pairs of scores: ``log(1 + exp(left - right)) - label * (left - right)``.

    Args:
        label (Variable): float32, ``[batch, 1]``: 1 where the left document ranks higher, 0 where the right one
            does, 0.5 for equal ranks.
        left (Variable): float32, ``[batch, 1]``: scores of the left documents.
        right (Variable): float32, ``[batch, 1]``: scores of the right documents.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[batch, 1]``.

    Example:
        >>> label = fluid.layers.assign(np.array([[1], [0]], "float32"))
        >>> left = fluid.layers.assign(np.array([[2], [2]], "float32"))
        >>> right = fluid.layers.assign(np.array([[1], [1]], "float32"))
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.rank_loss(label, left, right)])[0].round(4))
        [[0.3133]
         [1.3133]]
    """
    return layer("rank_loss", locals())


def sampled_softmax_with_cross_entropy(
    logits: Variable, label: Variable, num_samples: int, num_true: int = 1, remove_accidental_hits: bool = True,
    use_customized_samples: bool = False, customized_samples: Optional[Variable] = None,
    customized_probabilities: Optional[Variable] = None, seed: int = 0,
) -> Variable:
    """Computes the cross entropy of a softmax over the true classes and ``num_samples`` randomly drawn ones.

    It approximates ``softmax_with_cross_entropy`` for very many classes. ``log(P(class))`` is subtracted from every
    logit, because frequent classes are drawn more often.

    Args:
        logits (Variable): float32 or float64, ``[batch, classes]``: arguments of the softmax.
        label (Variable): int64, ``[batch, num_true]``: the true classes.
        num_samples (int): the number of different classes that are drawn, the same ones for all samples; less than
            ``classes``.
        num_true (int): the true classes of a sample.
        remove_accidental_hits (bool): drawn classes that are true ones do not count.
        use_customized_samples (bool): take ``customized_samples`` and ``customized_probabilities`` instead of
            drawing.
        customized_samples (Variable): int64, ``[batch, num_true + num_samples]``: the true classes, then the
            others.
        customized_probabilities (Variable): their probabilities, the shape of ``customized_samples``.
        seed (int): the same seed draws the same classes in every run; 0: other ones in every run.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        ValueError: there are fewer classes than ``num_samples`` (when the program runs).

    Example:
        >>> logits, label = fluid.data("logits", [None, 1000]), fluid.data("label", [None, 1], "int64")
        >>> fluid.layers.sampled_softmax_with_cross_entropy(logits, label, num_samples=25).shape
        (-1, 1)
    """
    return layer("sampled_softmax_with_cross_entropy", locals())


def sigmoid_cross_entropy_with_logits(
    x: Variable, label: Variable, ignore_index: int = -100, name: Optional[str] = None, normalize: bool = False,
) -> Variable:
    """Computes the cross entropy of the sigmoid of each logit with its own label:
    ``max(x, 0) - x * label + log(1 + exp(-|x|))``.

    Use it for classes that do not exclude each other, and for two classes with one logit.

    Args:
        x (Variable): float32 or float64, ``[batch, classes]``: arguments of the sigmoid.
        label (Variable): the type and shape of ``x``: probabilities in ``[0, 1]``.
        ignore_index (int): elements with this label cost 0.
        name (str): prefix of the names of its variables.
        normalize (bool): divide by the number of elements that are not ignored.

    Returns:
        Variable: the shape and element type of ``x``.

    Raises:
        fluid.core.EnforceNotMet: ``x`` and ``label`` differ in shape.

    Example:
        >>> x = fluid.layers.assign(np.array([[2, -1]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1, 0]], "float32"))
        >>> out = fluid.layers.sigmoid_cross_entropy_with_logits(x, label)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [[0.1269 0.3133]]
    """
    return layer("sigmoid_cross_entropy_with_logits", locals())


def softmax_with_cross_entropy(
    logits: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100,
    numeric_stable_mode: bool = True, return_softmax: bool = False, axis: int = -1,
) -> Any:
    """Computes the cross entropy of the softmax of logits and labels: ``log(sum(exp(logits))) - logits[label]``.

    It is faster and more accurate than ``softmax`` followed by ``cross_entropy``, and its gradient is
    ``softmax - label``.

    Args:
        logits (Variable): float32 or float64, ``[..., classes]``: arguments of the softmax.
        label (Variable): int64, the shape of ``logits`` with size 1 along ``axis``; with ``soft_label`` the type
            and shape of ``logits``.
        soft_label (bool): each label is a distribution over the classes.
        ignore_index (int): samples with this label cost 0 and have no gradient; only without ``soft_label``.
        numeric_stable_mode (bool): accepted; exponentials are always kept in range.
        return_softmax (bool): return the softmax, too.
        axis (int): the dimension of the classes; negative ones count from the end.

    Returns:
        Variable or tuple: the loss, the shape of ``logits`` with size 1 along ``axis``; with ``return_softmax`` the
            tuple (loss, softmax).

    Raises:
        fluid.core.EnforceNotMet: the shapes of ``logits`` and ``label`` do not fit.
        TypeError: labels of classes are not int64.
        IndexError: a label is no class (when the program runs).

    Example:
        >>> logits = fluid.layers.assign(np.array([[1, 1], [0, 2]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
        >>> out = fluid.layers.softmax_with_cross_entropy(logits, label)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [[0.6931]
         [0.1269]]
        >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1], "int64")
        >>> loss, softmax = fluid.layers.softmax_with_cross_entropy(fluid.layers.fc(x, 10), y, return_softmax=True)
        >>> loss.shape, softmax.shape
        ((-1, 1), (-1, 10))
    """
    return layer("softmax_with_cross_entropy", locals())


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """Computes the squared error ``(input - label) ** 2``, element by element.

    ``mean`` of it is the usual loss of a regression; ``mse_loss`` computes both.

    Args:
        input (Variable): float32 or float64: predictions.
        label (Variable): the type and shape of ``input``: the true values.

    Returns:
        Variable: the shape and element type of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the sizes of ``label`` are neither those of ``input`` nor 1.

    Example:
        >>> predicted = fluid.layers.assign(np.array([[1.5], [3]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1], [5]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.square_error_cost(predicted, label)])[0].tolist()
        [[0.25], [4.0]]
        >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1])
        >>> loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
        >>> _ = fluid.optimizer.SGD(0.01).minimize(loss)
    """
    return layer("square_error_cost", locals())


def teacher_student_sigmoid_loss(
    input: Variable, label: Variable, soft_max_up_bound: float = 15.0, soft_max_lower_bound: float = -15.0,
) -> Variable:
    """Computes the loss of a student that learns from clicks and from the scores of a teacher.

    It is ``f(x, click) + f(x, teacher)`` with ``f(x, t) = max(x, 0) - x * t + log(1 + exp(-|x|))``. ``label``
    encodes both: -2 is no click without a teacher, -1 a click without a teacher, ``s`` in ``[0, 1)`` no click with
    the teacher's score ``s``, and ``1 + s`` a click with the score ``s``.

    Args:
        input (Variable): float32 or float64, ``[batch, 1]``: arguments of the sigmoid.
        label (Variable): the type and shape of ``input``.
        soft_max_up_bound (float): inputs from here on have no gradient.
        soft_max_lower_bound (float): inputs up to here have no gradient.

    Returns:
        Variable: ``[batch, 1]``.

    Example:
        >>> score = fluid.layers.assign(np.array([[0.5], [0.5]], "float32"))
        >>> label = fluid.layers.assign(np.array([[-1], [1.3]], "float32"))
        >>> out = fluid.layers.teacher_student_sigmoid_loss(score, label)
        >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
        [[0.4741]
         [1.2982]]
    """
    return layer("teacher_student_sigmoid_loss", locals())


def warpctc(
    input: Variable, label: Variable, blank: int = 0, norm_by_times: bool = False,
    input_length: Optional[Variable] = None, label_length: Optional[Variable] = None,
) -> Variable:
    """Computes the CTC loss: the negative logarithm of the probability of all alignments that give the label.

    An alignment has one class per step; its classes without repetitions and blanks are the label. ``softmax`` is
    applied to the input here. A label that is too long for its input has the loss 0 and no gradient.

    Args:
        input (Variable): float32: arguments of the softmax, ``[rows, classes]`` with LoD, or
            ``[steps, batch, classes]`` with ``input_length``.
        label (Variable): int32: ``[labels of all sequences, 1]`` with LoD, or ``[batch, labels]`` with
            ``label_length``.
        blank (int): the class that stands for no symbol, in ``[0, classes)``.
        norm_by_times (bool): divide the gradient by the number of steps.
        input_length (Variable): int64, ``[batch]``: the steps of each sequence; ``None``: the input has LoD. Give
            both lengths or none.
        label_length (Variable): int64, ``[batch]``: the number of labels of each sequence; ``None``: the label has
            LoD.

    Returns:
        Variable: ``[sequences, 1]``.

    Raises:
        fluid.core.EnforceNotMet: ``blank`` is no class, or the input has neither LoD nor lengths.

    Example:
        >>> logits = fluid.layers.assign(np.array([[1, 2, 0], [3, 1, 0], [0, 1, 2]], "float32"))
        >>> logits = fluid.layers.lod_reset(logits, target_lod=[0, 3])
        >>> label = fluid.layers.assign(np.array([[1], [2]], "int32"))
        >>> label = fluid.layers.lod_reset(label, target_lod=[0, 2])
        >>> print(fluid.Executor().run(fetch_list=[fluid.layers.warpctc(logits, label, blank=0)])[0].round(4))
        [[0.7686]]
    """
    return layer("warpctc", locals())
