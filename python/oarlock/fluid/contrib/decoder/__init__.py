"""Decoders of sequences: one cell, trained on known sequences and searched for the best new ones."""

from . import beam_search_decoder
from .beam_search_decoder import BeamSearchDecoder, InitState, StateCell, TrainingDecoder

__all__ = beam_search_decoder.__all__
