"""The tracer of eager mode: runs operators and remembers whether gradients are wanted."""

from ... import _core
from .. import flags
from ..executor import runtime

__all__ = ["Tracer"]


class Tracer(_core.Eager):
    """Runs operators of eager mode. ``fluid.dygraph.guard`` makes one; scripts rarely need it."""

    def __new__(cls):
        return super().__new__(cls, runtime())

    def __init__(self):
        self._mode = True
        self._outer_mode = True
        self._count = 0
        self._expected_place = None
        # Programs that record operators belong to TracedLayer.
        self._enable_program_desc_tracing = False

    def _enter(self):
        self.check_nan_inf(bool(flags.value("FLAGS_check_nan_inf")))
        self._outer_mode, self._has_grad = self._has_grad, self._mode

    def _leave(self):
        self._mode, self._has_grad = self._has_grad, self._outer_mode

    def _generate(self, key):
        """The next name of a tensor; one counter serves all keys, as in Fluid."""
        name = "%s_%d" % (key, self._count)
        self._count += 1
        return name

    @property
    def _train_mode(self):
        return self._has_grad

    @_train_mode.setter
    def _train_mode(self, mode):
        self._has_grad = bool(mode)

    def train_mode(self):
        """Records operators for gradients from now on."""
        self._has_grad = True

    def eval_mode(self):
        """Records no operators from now on: no gradients flow."""
        self._has_grad = False

    def trace_op(self, type, inputs, outputs, attrs, stop_gradient=False):
        """Runs an operator whose outputs are tensors that exist already.

        Args:
            type (str): the operator.
            inputs (dict), outputs (dict): a tensor, or a list of tensors, by slot.
            attrs (dict): its attributes.
            stop_gradient (bool): whether it is not recorded for gradients.
        """
        given, targets, fresh = {}, {}, []
        for slot, tensors in inputs.items():
            tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
            if tensors and tensors[0] is not None:
                given[slot] = tensors if isinstance(tensors, list) else list(tensors)
        for slot, tensors in outputs.items():
            if tensors is not None:
                targets[slot] = into = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
                fresh += [tensor for tensor in into if not tensor._has_value() and not tensor.stop_gradient]
        recorded = self._has_grad
        if stop_gradient:
            self._has_grad = False
        try:
            self.call(type, given, targets, attrs)
        finally:
            self._has_grad = recorded
        for tensor in fresh:
            # No gradient flows to what was computed of inputs that need none.
            if tensor.is_leaf:
                tensor.stop_gradient = True
