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
) -> Variable:
    """One step of a beam search; without `ids` the candidates are the columns of `scores`.

    Args:
        pre_ids (Variable): i64, the last id of each branch.
        pre_scores (Variable): the score of each branch.
        ids (Variable): candidates of every prefix, of `topk`; ``None``: the columns of ``scores``.
        scores (Variable): [branches, candidates] with the LoD of branches.
        beam_size (int): branches that a source keeps.
        end_id (int): the id that ends a branch.
        level (int): the level of the scores' LoD that groups branches by source.
        is_accumulated (bool): scores are those of whole branches, not of the step.
        name (str): prefix of the names of its variables.
        return_parent_idx (bool): return the position of every candidate's prefix, too.

    Returns:
        Variable: the result.
    """
    return layer("beam_search", locals())


def beam_search_decode(
    ids: Variable, scores: Variable, beam_size: int, end_id: int, name: Optional[str] = None,
) -> Variable:
    """Whole sentences and their scores out of the arrays of all steps.

    Args:
        ids (Variable): the array of `selected_ids` of all steps of `beam_search`.
        scores (Variable): the array of `selected_scores` of all steps.
        beam_size (int): how many branches a source has (must be set).
        end_id (int): the id that ends a sentence (must be set).
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("beam_search_decode", locals())


def dynamic_gru(
    input: Variable, size: int, param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None,
    is_reverse: bool = False, gate_activation: str = 'sigmoid', candidate_activation: str = 'tanh',
    h_0: Optional[Variable] = None, origin_mode: bool = False,
) -> Variable:
    """A GRU over sequences; the input is already projected to three times the width. Returns the hidden states.

    Args:
        input (Variable): the input.
        size (int): width of the hidden state (of the input, three times that, for `gru_unit`).
        param_attr (ParamAttr): the weight.
        bias_attr (ParamAttr): the bias.
        is_reverse (bool): from the last step to the first.
        gate_activation (str): activation of gates.
        candidate_activation (str): activation of the candidate.
        h_0 (Variable): the hidden state before the first step.
        origin_mode (bool): the update gate keeps the candidate, not the state.

    Returns:
        Variable: the result.
    """
    return layer("dynamic_gru", locals())


def dynamic_lstm(
    input: Variable, size: int, h_0: Optional[Variable] = None, c_0: Optional[Variable] = None,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, use_peepholes: bool = True,
    is_reverse: bool = False, gate_activation: str = 'sigmoid', cell_activation: str = 'tanh',
    candidate_activation: str = 'tanh', dtype: str = 'float32', name: Optional[str] = None,
) -> Variable:
    """An LSTM over sequences; the input is already projected to the four gates. Returns the hidden states and the
    cells.

    Args:
        input (Variable): the input.
        size (int): four times the width of the hidden state: the width of the input.
        h_0 (Variable): the first hidden state, ``[sequences, size]``; ``None``: zeros.
        c_0 (Variable): the first cell state, like ``h_0``; goes with it.
        param_attr (ParamAttr): the weight.
        bias_attr (ParamAttr): the bias, which also holds the weights of peepholes.
        use_peepholes (bool): gates see the cell.
        is_reverse (bool): from the last step to the first.
        gate_activation (str): activation of gates.
        cell_activation (str): activation of the cell's output.
        candidate_activation (str): activation of what enters the cell.
        dtype (str): element type.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("dynamic_lstm", locals())


def dynamic_lstmp(
    input: Variable, size: int, proj_size: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, use_peepholes: bool = True, is_reverse: bool = False,
    gate_activation: str = 'sigmoid', cell_activation: str = 'tanh', candidate_activation: str = 'tanh',
    proj_activation: str = 'tanh', dtype: str = 'float32', name: Optional[str] = None,
    h_0: Optional[Variable] = None, c_0: Optional[Variable] = None, cell_clip: Optional[float] = None,
    proj_clip: Optional[float] = None,
) -> Variable:
    """An LSTM with a projection of its hidden state. Returns the projections and the cells.

    Args:
        input (Variable): the input.
        size (int): four times the width of the hidden state: the width of the input.
        proj_size (int): columns of the projection.
        param_attr (ParamAttr): the weight.
        bias_attr (ParamAttr): the bias, which also holds the weights of peepholes.
        use_peepholes (bool): gates see the cell.
        is_reverse (bool): from the last step to the first.
        gate_activation (str): activation of gates.
        cell_activation (str): activation of the cell's output.
        candidate_activation (str): activation of what enters the cell.
        proj_activation (str): the activation of the projection.
        dtype (str): element type.
        name (str): prefix of the names of its variables.
        h_0 (Variable): the first hidden state, ``[sequences, size]``; ``None``: zeros.
        c_0 (Variable): the first cell state, like ``h_0``; goes with it.
        cell_clip (float): limit of the cell state; ``None``: none.
        proj_clip (float): limit of the projection; ``None``: none.

    Returns:
        Variable: the result.
    """
    return layer("dynamic_lstmp", locals())


def gru_unit(
    input: Variable, hidden: Variable, size: int, param_attr: Optional[ParamLike] = None,
    bias_attr: Optional[ParamLike] = None, activation: str = 'tanh', gate_activation: str = 'sigmoid',
    origin_mode: bool = False,
) -> Variable:
    """One step of a GRU; `size` is three times the width. Returns the new hidden state, the reset state and the
    gates.

    Args:
        input (Variable): three gates per row: update, reset, candidate.
        hidden (Variable): the state before the step, ``[batch, size / 3]``.
        size (int): width of the hidden state (of the input, three times that, for `gru_unit`).
        param_attr (ParamAttr): the weight.
        bias_attr (ParamAttr): the bias.
        activation (str): of the candidate: 0 identity, 1 sigmoid, 2 tanh, 3 relu.
        gate_activation (str): activation of gates.
        origin_mode (bool): the update gate keeps the candidate, not the state.

    Returns:
        Variable: the result.
    """
    return layer("gru_unit", locals())


def lstm(
    input: Variable, init_h: Variable, init_c: Variable, max_len: int, hidden_size: int, num_layers: int,
    dropout_prob: float = 0.0, is_bidirec: bool = False, is_test: bool = False, name: Optional[str] = None,
    default_initializer: Optional[Initializer] = None, seed: int = -1,
) -> Variable:
    """An LSTM of several layers over sequences of one length: `input` is steps x batch x columns, the first states
    are layers (times directions) x batch x hidden. Returns the hidden states of the last layer, and the last
    hidden states and cells of all.

    Args:
        input (Variable): rows of four gates (candidate, input, forget, output), with LoD.
        init_h (Variable): the first hidden states, ``[layers * directions, batch, hidden_size]``.
        init_c (Variable): the first cell states, like ``init_h``.
        max_len (int): the most steps of an input.
        hidden_size (int): width of the hidden state.
        num_layers (int): layers one above the other.
        dropout_prob (float): share of what is dropped between layers.
        is_bidirec (bool): each layer runs in both directions, side by side.
        is_test (bool): nothing is dropped.
        name (str): prefix of the names of its variables.
        default_initializer (Initializer): first value of the weights.
        seed (int): chooses what is dropped.

    Returns:
        Variable: the result.
    """
    return layer("lstm", locals())


def lstm_unit(
    x_t: Variable, hidden_t_prev: Variable, cell_t_prev: Variable, forget_bias: float = 0.0,
    param_attr: Optional[ParamLike] = None, bias_attr: Optional[ParamLike] = None, name: Optional[str] = None,
) -> Variable:
    """One step of an LSTM; returns the hidden state and the cell.

    Args:
        x_t (Variable): the input of the step, ``[batch, width]``.
        hidden_t_prev (Variable): the hidden state before the step, ``[batch, size]``.
        cell_t_prev (Variable): the cell state before the step, ``[batch, size]``.
        forget_bias (float): added to the forget gate.
        param_attr (ParamAttr): name, initializer and regularizer of the weight.
        bias_attr (ParamAttr): the same of the bias; ``False``: no bias.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: the result.
    """
    return layer("lstm_unit", locals())
