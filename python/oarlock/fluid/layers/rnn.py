"""Recurrent layers."""

from ._call import layer

__all__ = [
    "beam_search", "beam_search_decode", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit", "lstm",
    "lstm_unit",
]


def dynamic_lstm(
    input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
    gate_activation='sigmoid', cell_activation='tanh', candidate_activation='tanh', dtype='float32', name=None
):
    """An LSTM over sequences; the input is already projected to the four gates. Returns the hidden states and the
    cells."""
    return layer("dynamic_lstm", locals())


def dynamic_lstmp(
    input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
    gate_activation='sigmoid', cell_activation='tanh', candidate_activation='tanh', proj_activation='tanh',
    dtype='float32', name=None, h_0=None, c_0=None, cell_clip=None, proj_clip=None
):
    """An LSTM with a projection of its hidden state. Returns the projections and the cells."""
    return layer("dynamic_lstmp", locals())


def dynamic_gru(
    input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation='sigmoid',
    candidate_activation='tanh', h_0=None, origin_mode=False
):
    """A GRU over sequences; the input is already projected to three times the width. Returns the hidden states."""
    return layer("dynamic_gru", locals())


def gru_unit(
    input, hidden, size, param_attr=None, bias_attr=None, activation='tanh', gate_activation='sigmoid',
    origin_mode=False
):
    """One step of a GRU; `size` is three times the width. Returns the new hidden state, the reset state and the
    gates."""
    return layer("gru_unit", locals())


def lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None):
    """One step of an LSTM; returns the hidden state and the cell."""
    return layer("lstm_unit", locals())


def lstm(
    input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False, is_test=False,
    name=None, default_initializer=None, seed=-1
):
    """An LSTM of several layers over sequences of one length: `input` is steps x batch x columns, the first states
    are layers (times directions) x batch x hidden. Returns the hidden states of the last layer, and the last
    hidden states and cells of all."""
    return layer("lstm", locals())


def beam_search(
    pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, name=None,
    return_parent_idx=False
):
    """One step of a beam search; without `ids` the candidates are the columns of `scores`."""
    return layer("beam_search", locals())


def beam_search_decode(ids, scores, beam_size, end_id, name=None):
    """Whole sentences and their scores out of the arrays of all steps."""
    return layer("beam_search_decode", locals())
