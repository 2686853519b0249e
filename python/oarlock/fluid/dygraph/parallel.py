"""Data parallel training in eager mode: each process trains on its part of the batch, and gradients are summed."""

import os

import numpy as np

from ... import _core
from .. import framework
from . import parallel_helper
from .base import no_grad, to_variable
from .layers import Layer

__all__ = ["prepare_context", "ParallelEnv", "DataParallel"]


class ParallelStrategy:
    """Which processes train together: ``nranks``, ``local_rank``, ``trainer_endpoints`` and ``current_endpoint``."""

    def __init__(self):
        self.nranks, self.local_rank, self.trainer_endpoints, self.current_endpoint = 1, 0, [], ""


class ParallelEnv:
    """What the launcher told this process.

    Example:
        >>> env = fluid.dygraph.ParallelEnv()
        >>> env.nranks, env.local_rank
        (1, 0)
    """

    def __init__(self):
        self._nranks = int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
        self._local_rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
        self._dev_id = int(os.environ.get("FLAGS_selected_gpus", "0"))
        self._trainer_endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
        self._current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")

    nranks = property(lambda self: self._nranks, doc="How many processes train.")
    local_rank = property(lambda self: self._local_rank, doc="The number of this process.")
    dev_id = property(lambda self: self._dev_id, doc="The number of the GPU, which this build does not use.")
    current_endpoint = property(lambda self: self._current_endpoint, doc="The address of this process.")
    trainer_endpoints = property(lambda self: self._trainer_endpoints, doc="The addresses of all processes.")


Env = ParallelEnv


def prepare_context(strategy=None):
    """Joins the other processes that train.

    Args:
        strategy (ParallelStrategy): which processes; by default those that the launcher says.

    Returns:
        ParallelStrategy: for ``DataParallel``.
    """
    if strategy is None:
        env, strategy = ParallelEnv(), ParallelStrategy()
        strategy.nranks, strategy.local_rank = env.nranks, env.local_rank
        strategy.trainer_endpoints, strategy.current_endpoint = env.trainer_endpoints, env.current_endpoint
    if strategy.nranks < 2:
        return strategy
    if not framework.in_dygraph_mode():
        raise AssertionError("dygraph.prepare_context should be used with dygraph mode.")
    from ..executor import runtime

    parallel_helper._set_parallel_ctx(_core.RankGroup(runtime(), strategy.local_rank, list(strategy.trainer_endpoints)))
    return strategy


class DataParallel(Layer):
    """A layer that trains in several processes. Divide the loss by ``scale_loss``, and sum gradients by ``apply_collective_grads`` after
    ``backward``. With one process it behaves as the layer itself.

    Args:
        layers (Layer): the layer.
        strategy (ParallelStrategy): what ``prepare_context`` returned.
    """

    def __init__(self, layers, strategy):
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self._strategy = strategy if strategy is not None else prepare_context()
        self._same_parameters = self._strategy.nranks < 2

    def forward(self, *inputs, **kwargs):
        """Returns what the layer returns; before the first call all processes take the parameters of the first one.

        Args:
            inputs, kwargs: arguments of the layer.
        """
        if not self._same_parameters:
            self._same_parameters = True
            self._take_parameters_of_first()
        return self._layers(*inputs, **kwargs)

    def _is_data_parallel_mode(self):
        return self._strategy.nranks > 1

    def _take_parameters_of_first(self):
        parallel_helper._context.broadcast_tensors(self._layers.parameters(), 0)

    def scale_loss(self, loss):
        """Returns the loss divided by the number of processes.

        Args:
            loss (Variable): the mean loss of this process.
        """
        if not self._is_data_parallel_mode():
            return loss
        return loss / to_variable(np.array([self._strategy.nranks], "float32"))

    @no_grad
    def apply_collective_grads(self):
        """Replaces the gradients of parameters by the sums over all processes. A parameter without a gradient counts as zeros."""
        if not self._is_data_parallel_mode():
            return
        grads = []
        for param in self._layers.parameters():
            if param.trainable:
                if param._grad_ivar() is None:
                    param._set_grad_ivar(_core.VarBase(np.zeros_like(param.numpy())))
                grads.append(param._grad_ivar())
        # All processes have the same parameters in the same order; values travel in buckets, rows of sparse gradients as rows.
        parallel_helper._context.sum_tensors(grads)

    def _coalesce_tensors(self, var_groups):
        """Each group of tensors as one flat tensor, with the tensors and their shapes."""
        from ..layers import nn, tensor

        found = []
        for grads in var_groups.values():
            flat = [nn.reshape(grad, [int(np.prod(grad.shape))]) for grad in grads]
            found.append([tensor.concat(flat), grads, [list(grad.shape) for grad in grads]])
        return found

    def _reshape_inplace(self, x, shape):
        x._set(x.numpy().reshape(shape))

    def _split_tensors(self, coalesced_grads_and_grad_vars):
        """Gives tensors their parts of flat ones."""
        for joined, grads, shapes in coalesced_grads_and_grad_vars:
            array, start = joined.numpy(), 0
            for grad, shape in zip(grads, shapes):
                count = int(np.prod(shape))
                grad._set(array[start : start + count].reshape(shape))
                start += count

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """Returns the state dict of the layer inside.

        Args:
            destination (dict), include_sublayers (bool), structured_name_prefix (str): as those of ``Layer.state_dict``.
        """
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        """Sets the parameters of the layer inside.

        Args:
            stat_dict (dict), include_sublayers (bool), use_structured_name (bool): as those of ``Layer.set_dict``.
        """
        self._layers.set_dict(stat_dict, include_sublayers, use_structured_name)

    def load_dict(self, stat_dict, include_sublayers=True, use_structured_name=True):
        """The same as ``set_dict``.

        Args:
            stat_dict (dict), include_sublayers (bool), use_structured_name (bool): as there.
        """
        self._layers.load_dict(stat_dict, include_sublayers, use_structured_name)
