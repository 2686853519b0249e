"""Weight decay that does not pass through the gradient."""

from ... import layers
from ...framework import Variable, name_scope, program_guard
from ...optimizer import Optimizer

__all__ = ["extend_with_decoupled_weight_decay"]


class DecoupledWeightDecay:
    """The part of an optimizer class that decays parameters before it updates them."""

    def __init__(self, coeff=0.0, apply_decay_param_fun=None, **kwargs):
        if not isinstance(coeff, (float, Variable)):
            raise TypeError("coeff should be float or Variable.")
        self._params_name = set()
        self._apply_decay_param_fun = apply_decay_param_fun
        self._coeff = coeff
        super().__init__(**kwargs)

    def _decays(self, param, grad):
        if grad is None or (isinstance(self._coeff, float) and self._coeff == 0.0):
            return False
        return self._apply_decay_param_fun is None or self._apply_decay_param_fun(param.name)

    def _decay(self, param, grad):
        if isinstance(self._coeff, Variable) and self._coeff.dtype != param.dtype:
            raise TypeError("the type of coeff(%s) and parameter(%s) is not consistent." % (self._coeff.dtype, param.dtype))
        if param.name in self._params_name:
            raise ValueError("parameter %s decays already: call minimize once" % param.name)
        self._params_name.add(param.name)
        with param.block.program._optimized_guard([param, grad]), name_scope("weight decay"):
            layers.assign(input=layers.elementwise_sub(x=param, y=param * self._coeff), output=param)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Appends gradients, the decay ``p -= coeff * p`` and the updates; returns (operators, pairs)."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        with program_guard(loss.block.program):
            for param, grad in pairs:
                if self._decays(param, grad):
                    self._decay(param, grad)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def __str__(self):
        return " ".join(["Weight Decay, params:", ",".join(sorted(self._params_name))])


def extend_with_decoupled_weight_decay(base_optimizer):
    """Returns a class like an optimizer's, whose optimizers decay parameters apart from the gradient: before each update,
    ``p -= weight_decay * p``, as in AdamW.

    Args:
        base_optimizer (class): derived from ``fluid.optimizer.Optimizer``.

    The class takes ``weight_decay`` (float or Variable), ``apply_decay_param_fun`` (a function of a parameter's name that returns
    whether it decays; None: all do), and the arguments of ``base_optimizer`` by name.

    Example:
        >>> AdamW = fluid.contrib.extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
        >>> loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 4]), 1))
        >>> operators, gradients = AdamW(weight_decay=0.01, learning_rate=0.1).minimize(loss)
    """
    if not (isinstance(base_optimizer, type) and issubclass(base_optimizer, Optimizer)):
        raise TypeError("The input(base_optimizer) should be a derived class of Optimizer.")

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecay, base_optimizer):
        """An optimizer with weight decay of its own."""

        def __init__(self, weight_decay, apply_decay_param_fun=None, **kwargs):
            super().__init__(weight_decay, apply_decay_param_fun, **kwargs)

    return OptimizerWithDecoupledWeightDecay
