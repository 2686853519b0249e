"""Tensors with sequences."""

import numpy as np

from .core import LoDTensor

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]


def create_lod_tensor(data, recursive_seq_lens, place):
    """A tensor of an array, a list of sequences, or a tensor, with the lengths of its sequences."""
    if isinstance(data, list):
        if [[len(seq) for seq in data]] != recursive_seq_lens:
            raise AssertionError("data and recursive_seq_lens do not match")
        # Whole numbers are int64, others float64; every element becomes a row.
        flat = np.array([element for seq in data for element in seq])
        data = flat.reshape(flat.shape + (1,))
    elif not isinstance(data, (np.ndarray, LoDTensor)):
        raise TypeError("data should be either a LoDTensor, a Numpy array or a list")
    tensor = LoDTensor()
    tensor.set(data, place)
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    return tensor


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high):
    """A tensor of random integers from ``low`` to ``high``, both included, with these sequences."""
    shape = [sum(recursive_seq_lens[-1])] + list(base_shape)
    return create_lod_tensor(np.random.randint(low, high + 1, shape).astype("int64"), recursive_seq_lens, place)
