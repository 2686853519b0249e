"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "beam_search", "beam_search_decode", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit", "lstm",
    "lstm_unit",
]


def beam_search(
    pre_ids: Variable, pre_scores: Variable, ids: Variable, scores: Variable, beam_size: int, end_id: int,
    level: int = 0, is_accumulated: bool = True, name: Optional[str] = None, return_parent_idx: bool = False,
) -> Tuple[Variable, ...]:
    """Computes one step of a beam search: the ``beam_size`` best continuations of the branches of each source.

    A branch that has ended goes on with ``end_id`` and its old score. A source whose branches have all ended gets
    no continuation. The LoD of the results has two levels: the branches of each source, and the continuations of
    each branch; the next step and ``beam_search_decode`` need it. Append the results to tensor arrays in a
    ``While`` loop. No gradient flows through it.

    Args:
        pre_ids (Variable): int64, ``[branches, 1]``: the last id of each branch.
        pre_scores (Variable): float32, ``[branches, 1]``: the score of each branch.
        ids (Variable): int64, ``[branches, candidates]``: the next ids to choose from, usually of ``topk``;
            ``None``: the columns of ``scores``.
        scores (Variable): float32, ``[branches, candidates]`` with LoD: the scores of the continuations.
        beam_size (int): the branches that a source keeps.
        end_id (int): the id that ends a branch.
        level (int): the LoD level of ``scores`` that groups branches by source.
        is_accumulated (bool): ``scores`` are those of whole branches; otherwise they are probabilities of the step,
            whose logarithms are added to ``pre_scores``.
        name (str): prefix of the names of its variables.
        return_parent_idx (bool): also return the branch that each continuation comes from.

    Returns:
        tuple: (ids, scores): int64 and float32, ``[selected, 1]`` with LoD; with ``return_parent_idx`` also int32
            ``[selected]``.

    Example:
        >>> def sequences(values, dtype):
        ...     x = fluid.layers.assign(np.array(values, dtype))
        ...     return fluid.layers.lod_append(fluid.layers.lod_reset(x, target_lod=[0, 2]), [0, 1, 2])
        >>> pre_ids, pre_scores = sequences([[4], [5]], "int64"), sequences([[-1], [-2]], "float32")
        >>> ids, scores = sequences([[7, 8], [9, 6]], "int64"), sequences([[-1.5, -3], [-2.25, -4]], "float32")
        >>> found = fluid.layers.beam_search(
        ...     pre_ids, pre_scores, ids, scores, beam_size=2, end_id=0, return_parent_idx=True)
        >>> out = fluid.Executor().run(fetch_list=list(found), return_numpy=False)
        >>> [np.array(tensor).ravel().tolist() for tensor in out]
        [[7, 9], [-1.5, -2.25], [0, 1]]
        >>> out[0].lod()
        [[0, 2], [0, 1, 2]]
    """
    return layer("beam_search", locals())


def beam_search_decode(
    ids: Variable, scores: Variable, beam_size: int, end_id: int, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Puts the steps of a beam search together to whole sentences.

    It follows the branches from the last step back to the first. Repeated ``end_id`` at the end of a sentence are
    one. No gradient flows through it.

    Args:
        ids (Variable): the tensor array of the ids that ``beam_search`` has returned in all steps.
        scores (Variable): the tensor array of their scores.
        beam_size (int): the branches of a source.
        end_id (int): the id that ends a sentence.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (sentence_ids, sentence_scores): int64 and float32, a row per id, with a LoD of two levels: the
            sentences of each source, best first, and the ids of each sentence.

    Example:
        >>> def step(name, dtype):
        ...     return fluid.data(name, [None, 1], dtype, lod_level=2)
        >>> i = fluid.layers.fill_constant([1], "int64", 0)
        >>> ids = fluid.layers.array_write(step("ids_0", "int64"), i)
        >>> scores = fluid.layers.array_write(step("scores_0", "float32"), i)
        >>> i = fluid.layers.increment(i)
        >>> _ = fluid.layers.array_write(step("ids_1", "int64"), i, array=ids)
        >>> _ = fluid.layers.array_write(step("scores_1", "float32"), i, array=scores)
        >>> sentences, totals = fluid.layers.beam_search_decode(ids, scores, beam_size=2, end_id=0)
        >>> def fed(values, dtype, lengths):
        ...     return fluid.create_lod_tensor(np.array(values, dtype), lengths, fluid.CPUPlace())
        >>> feed = {"ids_0": fed([[4], [5]], "int64", [[1], [2]])}
        >>> feed["scores_0"] = fed([[-1], [-2]], "float32", [[1], [2]])
        >>> feed["ids_1"] = fed([[7], [0]], "int64", [[2], [1, 1]])
        >>> feed["scores_1"] = fed([[-3], [-4]], "float32", [[2], [1, 1]])
        >>> out = fluid.Executor().run(feed=feed, fetch_list=[sentences], return_numpy=False)[0]
        >>> np.array(out).ravel().tolist(), out.lod()
        ([4, 7, 5, 0], [[0, 2], [0, 2, 4]])
    """
    return layer("beam_search_decode", locals())


def dynamic_gru(
    input: Variable, size: int, param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    is_reverse: bool = False, gate_activation: str = 'sigmoid', candidate_activation: str = 'tanh',
    h_0: Optional[Variable] = None, origin_mode: bool = False,
) -> Variable:
    """Runs a GRU over sequences whose input is already projected to update gate, reset gate and candidate.

    With ``(xu, xr, xc) = input[t] + b`` it computes ``u = sigmoid(xu + h[t-1] @ Wu)``,
    ``r = sigmoid(xr + h[t-1] @ Wr)``, ``c = tanh(xc + (r * h[t-1]) @ Wc)`` and ``h[t] = (1 - u) * h[t-1] + u * c``.
    Put an ``fc`` of ``3 * size`` columns without an activation in front of it. The weight is a parameter
    ``[size, 3 * size]``.

    Args:
        input (Variable): float32 or float64, ``[rows, 3 * size]`` with LoD.
        size (int): the columns of the hidden state.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        is_reverse (bool): go from the last step of a sequence to the first.
        gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
        candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
        h_0 (Variable): the hidden state before the first step, ``[sequences, size]``; ``None``: zeros.
        origin_mode (bool): compute ``h[t] = u * h[t-1] + (1 - u) * c``, as the paper that introduced the GRU does.

    Returns:
        Variable: the hidden states, ``[rows, size]`` with the LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the input does not have ``3 * size`` columns.
        ValueError: an activation is unknown.

    Example:
        >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
        >>> embedded = fluid.layers.embedding(words, [1000, 16])
        >>> hidden = fluid.layers.dynamic_gru(fluid.layers.fc(embedded, 3 * 32), size=32)
        >>> hidden.shape
        (-1, 32)
        >>> last = fluid.layers.sequence_last_step(hidden)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> sentences = fluid.create_lod_tensor(np.array([[1], [2], [3], [4]]), [[3, 1]], fluid.CPUPlace())
        >>> exe.run(feed={"words": sentences}, fetch_list=[last])[0].shape
        (2, 32)
    """
    return layer("dynamic_gru", locals())


def dynamic_lstm(
    input: Variable, size: int, h_0: Optional[Variable] = None, c_0: Optional[Variable] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_peepholes: bool = True,
    is_reverse: bool = False, gate_activation: str = 'sigmoid', cell_activation: str = 'tanh',
    candidate_activation: str = 'tanh', dtype: DTypeLike = 'float32', name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Runs an LSTM over sequences whose input is already projected to the four gates.

    With ``(g, i, f, o) = input[t] + h[t-1] @ W + b`` the cell is
    ``c[t] = sigmoid(i) * tanh(g) + sigmoid(f) * c[t-1]`` and the hidden state ``h[t] = sigmoid(o) * tanh(c[t])``.
    With peepholes ``i`` and ``f`` also see ``c[t-1]``, and ``o`` sees ``c[t]``. Put an ``fc`` of ``4 * width``
    columns without an activation in front of it. The weight is a parameter ``[width, 4 * width]``.

    Args:
        input (Variable): float32 or float64, ``[rows, 4 * width]`` with LoD: the parts of candidate, input gate,
            forget gate and output gate.
        size (int): ``4 * width``, the columns of the input.
        h_0 (Variable): the hidden state before the first step, ``[sequences, width]``; ``None``: zeros. Give both
            states or none.
        c_0 (Variable): the cell before the first step, ``[sequences, width]``; ``None``: zeros.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias, which also holds the weights of the peepholes; ``None``: zeros.
        use_peepholes (bool): the gates see the cell, too; the bias then is ``[1, 7 * width]`` instead of
            ``[1, 4 * width]``.
        is_reverse (bool): go from the last step of a sequence to the first.
        gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
        cell_activation (str): the activation of the cell in the hidden state; a name as for ``gate_activation``.
        candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
        dtype (dtype): the element type: float32 or float64.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (hidden, cell): both ``[rows, width]`` with the LoD of ``input``. No gradient flows through the cell.

    Raises:
        fluid.core.EnforceNotMet: the input does not have ``size`` columns.
        ValueError: an activation is unknown.

    Example:
        >>> words = fluid.data("words", [None, 1], "int64", lod_level=1)
        >>> embedded = fluid.layers.embedding(words, [1000, 16])
        >>> hidden, cell = fluid.layers.dynamic_lstm(fluid.layers.fc(embedded, 4 * 32), size=4 * 32)
        >>> hidden.shape, cell.shape
        ((-1, 32), (-1, 32))
        >>> sentiment = fluid.layers.fc(fluid.layers.sequence_last_step(hidden), 2, act="softmax")
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> sentences = fluid.create_lod_tensor(np.array([[1], [2], [3], [4]]), [[3, 1]], fluid.CPUPlace())
        >>> exe.run(feed={"words": sentences}, fetch_list=[sentiment])[0].shape
        (2, 2)
    """
    return layer("dynamic_lstm", locals())


def dynamic_lstmp(
    input: Variable, size: int, proj_size: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, use_peepholes: bool = True, is_reverse: bool = False,
    gate_activation: str = 'sigmoid', cell_activation: str = 'tanh', candidate_activation: str = 'tanh',
    proj_activation: str = 'tanh', dtype: DTypeLike = 'float32', name: Optional[str] = None,
    h_0: Optional[Variable] = None, c_0: Optional[Variable] = None, cell_clip: Optional[float] = None,
    proj_clip: Optional[float] = None,
) -> Tuple[Variable, ...]:
    """Runs an LSTM over sequences whose hidden state is projected to fewer columns.

    It is ``dynamic_lstm`` in which the gates see the projection ``p[t] = proj_activation(h[t] @ P)`` of the hidden
    state instead of the state: the weight is ``[proj_size, 4 * width]`` and ``P`` is ``[width, proj_size]``.

    Args:
        input (Variable): float32 or float64, ``[rows, 4 * width]`` with LoD: the parts of candidate, input gate,
            forget gate and output gate.
        size (int): ``4 * width``, the columns of the input.
        proj_size (int): the columns of the projection.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias, which also holds the weights of the peepholes; ``None``: zeros.
        use_peepholes (bool): the gates see the cell, too; the bias then is ``[1, 7 * width]`` instead of
            ``[1, 4 * width]``.
        is_reverse (bool): go from the last step of a sequence to the first.
        gate_activation (str): the activation of the gates: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
        cell_activation (str): the activation of the cell in the hidden state; a name as for ``gate_activation``.
        candidate_activation (str): the activation of the candidate; a name as for ``gate_activation``.
        proj_activation (str): the activation of the projection; a name as for ``gate_activation``.
        dtype (dtype): the element type: float32 or float64.
        name (str): prefix of the names of its variables.
        h_0 (Variable): the projection before the first step, ``[sequences, proj_size]``; ``None``: zeros. Give both
            states or none.
        c_0 (Variable): the cell before the first step, ``[sequences, width]``; ``None``: zeros.
        cell_clip (float): cells are limited to ``[-cell_clip, cell_clip]``; ``None``: no limit.
        proj_clip (float): projections are limited likewise; ``None``: no limit.

    Returns:
        tuple: (projection, cell): ``[rows, proj_size]`` and ``[rows, width]`` with the LoD of ``input``.

    Raises:
        fluid.core.EnforceNotMet: the input does not have ``size`` columns.

    Example:
        >>> x = fluid.data("x", [None, 16], lod_level=1)
        >>> gates = fluid.layers.fc(x, 4 * 32, bias_attr=False)
        >>> projection, cell = fluid.layers.dynamic_lstmp(gates, size=4 * 32, proj_size=8)
        >>> projection.shape, cell.shape
        ((-1, 8), (-1, 32))
    """
    return layer("dynamic_lstmp", locals())


def gru_unit(
    input: Variable, hidden: Variable, size: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, activation: str = 'tanh', gate_activation: str = 'sigmoid',
    origin_mode: bool = False,
) -> Tuple[Variable, ...]:
    """Computes one step of a GRU, for loops that are written out, such as ``DynamicRNN`` and ``StaticRNN``.

    The formulas are those of ``dynamic_gru``. Note that ``size`` is three times the width here.

    Args:
        input (Variable): float32 or float64, ``[batch, size]``: the parts of update gate, reset gate and candidate.
        hidden (Variable): the hidden state before the step, ``[batch, size / 3]``.
        size (int): ``3 * width``, the columns of the input.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        activation (str): the activation of the candidate: ``sigmoid``, ``tanh``, ``relu`` or ``identity``.
        gate_activation (str): the activation of the gates; a name as for ``activation``.
        origin_mode (bool): compute the new state as ``u * hidden + (1 - u) * c``.

    Returns:
        tuple: (hidden, reset_hidden, gate): the new state ``[batch, size / 3]``, the old state times the reset
            gate, and the gates ``[batch, size]``.

    Example:
        >>> x, h = fluid.data("x", [None, 3 * 8]), fluid.data("h", [None, 8])
        >>> hidden, reset, gate = fluid.layers.gru_unit(x, h, size=3 * 8)
        >>> hidden.shape, reset.shape, gate.shape
        ((-1, 8), (-1, 8), (-1, 24))
    """
    return layer("gru_unit", locals())


def lstm(
    input: Variable, init_h: Variable, init_c: Variable, max_len: int, hidden_size: int, num_layers: int,
    dropout_prob: float = 0.0, is_bidirec: bool = False, is_test: bool = False, name: Optional[str] = None,
    default_initializer: Optional[Initializer] = None, seed: int = -1,
) -> Tuple[Variable, ...]:
    """Runs an LSTM of several layers over sequences of one length.

    Input and states are projected by the layer itself. Each layer computes
    ``c[t] = sigmoid(f) * c[t-1] + sigmoid(i) * tanh(g)`` and ``h[t] = sigmoid(o) * tanh(c[t])``, and ``h`` is the
    input of the next layer. All weights and biases are one flat parameter, in the order of cuDNN, as in Fluid.

    Args:
        input (Variable): float32 or float64, ``[steps, batch, width]``.
        init_h (Variable): the first hidden states, ``[num_layers * directions, batch, hidden_size]``; there are 2
            directions with ``is_bidirec``, otherwise 1.
        init_c (Variable): the first cells, the shape of ``init_h``.
        max_len (int): the largest number of steps.
        hidden_size (int): the columns of the hidden state.
        num_layers (int): the number of layers.
        dropout_prob (float): the share of elements that is dropped between layers in training.
        is_bidirec (bool): each layer runs in both directions; their results stand side by side.
        is_test (bool): drop nothing; ``clone(for_test=True)`` sets it.
        name (str): prefix of the names of its variables.
        default_initializer (Initializer): the first value of the weights; ``None``: Xavier's initializer.
        seed (int): the same seed drops the same elements in every run; -1: other ones in every run.

    Returns:
        tuple: (out, last_h, last_c): the hidden states of the last layer
            ``[steps, batch, hidden_size * directions]``, and the last hidden states and cells of all layers, each
            with the shape of ``init_h``.

    Example:
        >>> x = fluid.data("x", [20, None, 16])
        >>> h, c = fluid.data("h", [2, None, 32]), fluid.data("c", [2, None, 32])
        >>> out, last_h, last_c = fluid.layers.lstm(x, h, c, max_len=20, hidden_size=32, num_layers=2)
        >>> out.shape, last_h.shape
        ((20, -1, 32), (2, -1, 32))
    """
    return layer("lstm", locals())


def lstm_unit(
    x_t: Variable, hidden_t_prev: Variable, cell_t_prev: Variable, forget_bias: float = 0.0,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Computes one step of an LSTM from the input and the state before it.

    ``fc`` projects the input and the hidden state together to the four gates; then
    ``c = sigmoid(f + forget_bias) * cell_t_prev + sigmoid(i) * tanh(g)`` and ``h = sigmoid(o) * tanh(c)``.

    Args:
        x_t (Variable): float32 or float64, ``[batch, width]``: the input of the step.
        hidden_t_prev (Variable): the hidden state before the step, ``[batch, size]``.
        cell_t_prev (Variable): the cell before the step, ``[batch, size]``.
        forget_bias (float): added to the forget gate.
        param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
            initializer.
        bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: (hidden, cell): both ``[batch, size]``.

    Example:
        >>> x, h, c = fluid.data("x", [None, 24]), fluid.data("h", [None, 8]), fluid.data("c", [None, 8])
        >>> hidden, cell = fluid.layers.lstm_unit(x, h, c, forget_bias=1.0)
        >>> hidden.shape, cell.shape
        ((-1, 8), (-1, 8))
    """
    return layer("lstm_unit", locals())
