"""Optimizers by the names and arguments of Paddle 2: the same rules as ``fluid.optimizer``."""

from .._arguments import suggest as _suggest
from ..fluid import optimizer as _fluid
from ..fluid.optimizer import Optimizer
from ..fluid.regularizer import L2Decay
from . import lr

__all__ = ["Adadelta", "Adagrad", "Adam", "Adamax", "Lamb", "Momentum", "Optimizer", "RMSProp", "SGD", "lr"]


def _common(parameters, weight_decay, grad_clip, name):
    """Arguments that all have, by Fluid's names."""
    decay = L2Decay(float(weight_decay)) if isinstance(weight_decay, (int, float)) else weight_decay
    return dict(parameter_list=parameters, regularization=decay, grad_clip=grad_clip, name=name)


def _refuse(**hints):
    for name, (value, default, why) in hints.items():
        if value != default:
            raise NotImplementedError("%s=%r is not supported: %s" % (name, value, why))


_F32 = "programs compute in float32"


class SGD(_fluid.SGDOptimizer):
    """Gradient descent."""

    def __init__(self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None, multi_precision=False, name=None):
        _refuse(multi_precision=(multi_precision, False, _F32))
        super().__init__(learning_rate, **_common(parameters, weight_decay, grad_clip, name))


class Momentum(_fluid.MomentumOptimizer):
    """Gradient descent with a velocity."""

    def __init__(self, learning_rate=0.001, momentum=0.9, parameters=None, use_nesterov=False, weight_decay=None,
                 grad_clip=None, multi_precision=False, rescale_grad=1.0, use_multi_tensor=False, name=None):
        _refuse(multi_precision=(multi_precision, False, _F32), rescale_grad=(rescale_grad, 1.0, "multiply the loss"),
                use_multi_tensor=(use_multi_tensor, False, "it is about eager mode"))
        super().__init__(learning_rate, momentum, use_nesterov=use_nesterov, **_common(parameters, weight_decay, grad_clip, name))


class Adam(_fluid.AdamOptimizer):
    """Steps scaled by running means of the gradient and of its square."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None, weight_decay=None,
                 grad_clip=None, lazy_mode=False, multi_precision=False, use_multi_tensor=False, name=None):
        _refuse(multi_precision=(multi_precision, False, _F32), use_multi_tensor=(use_multi_tensor, False, "it is about eager mode"))
        super().__init__(learning_rate, beta1, beta2, epsilon, lazy_mode=lazy_mode, **_common(parameters, weight_decay, grad_clip, name))


class Adagrad(_fluid.AdagradOptimizer):
    """Steps scaled by the sum of squares."""

    def __init__(self, learning_rate, epsilon=1e-06, parameters=None, weight_decay=None, grad_clip=None, name=None,
                 initial_accumulator_value=0.0):
        super().__init__(learning_rate, epsilon, initial_accumulator_value=initial_accumulator_value,
                         **_common(parameters, weight_decay, grad_clip, name))


class Adadelta(_fluid.AdadeltaOptimizer):
    """Finds its own step."""

    def __init__(self, learning_rate=0.001, epsilon=1e-06, rho=0.95, parameters=None, weight_decay=None, grad_clip=None, name=None):
        super().__init__(learning_rate, epsilon, rho, **_common(parameters, weight_decay, grad_clip, name))


class Adamax(_fluid.AdamaxOptimizer):
    """Adam with the largest gradient in place of the mean of squares."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None, weight_decay=None,
                 grad_clip=None, name=None):
        super().__init__(learning_rate, beta1, beta2, epsilon, **_common(parameters, weight_decay, grad_clip, name))


class RMSProp(_fluid.RMSPropOptimizer):
    """Steps scaled by a running mean of squares."""

    def __init__(self, learning_rate, rho=0.95, epsilon=1e-06, momentum=0.0, centered=False, parameters=None,
                 weight_decay=None, grad_clip=None, name=None):
        super().__init__(learning_rate, rho, epsilon, momentum, centered, **_common(parameters, weight_decay, grad_clip, name))


class Lamb(_fluid.LambOptimizer):
    """Adam with steps relative to the size of a parameter."""

    def __init__(self, learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-06, parameters=None,
                 grad_clip=None, exclude_from_weight_decay_fn=None, multi_precision=False, always_adapt=False, name=None):
        _refuse(multi_precision=(multi_precision, False, _F32), always_adapt=(always_adapt, False, "parameters without decay are as Fluid's"))
        super().__init__(learning_rate, lamb_weight_decay, beta1, beta2, epsilon, parameter_list=parameters, grad_clip=grad_clip,
                         exclude_from_weight_decay_fn=exclude_from_weight_decay_fn, name=name)


_ABSENT = {
    "AdamW": "use Adam with weight_decay, which adds to the gradient", "LBFGS": "it needs several runs per step",
}


def __getattr__(name):
    if name in _ABSENT:
        raise NotImplementedError("paddle.optimizer.%s is not supported: %s" % (name, _ABSENT[name]))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


_suggest(__name__)
