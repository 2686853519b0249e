"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/optimizer/rules; do not edit."""

from __future__ import annotations

from ._optimizer import Optimizer
from .layers._generated._types import *  # noqa: F403

__all__ = [
    "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "Adam", "AdamOptimizer", "Adamax",
    "AdamaxOptimizer", "DecayedAdagrad", "DecayedAdagradOptimizer", "Dpsgd", "DpsgdOptimizer", "Ftrl",
    "FtrlOptimizer", "Lamb", "LambOptimizer", "LarsMomentum", "LarsMomentumOptimizer", "Momentum",
    "MomentumOptimizer", "RMSProp", "RMSPropOptimizer", "SGD", "SGDOptimizer",
]


class AdadeltaOptimizer(Optimizer):
    """Adadelta: steps scaled by running means of squared gradients and of squared updates.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        epsilon (float): keeps the division finite.
        rho (float): how much of both means stays from step to step.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Adadelta(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "adadelta"

    def __init__(
        self,
        learning_rate: Union[float, Variable], epsilon: float = 1e-06, rho: float = 0.95,
        parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class AdagradOptimizer(Optimizer):
    """Adagrad: ``s += g * g``, ``p -= rate * g / (sqrt(s) + epsilon)``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        epsilon (float): keeps the division finite.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.
        initial_accumulator_value (float): the first value of ``s``.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Adagrad(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "adagrad"

    def __init__(
        self,
        learning_rate: Union[float, Variable], epsilon: float = 1e-06, parameter_list: Optional[Sequence[Any]] = None,
        regularization: Optional[Any] = None, grad_clip: Optional[Any] = None, name: Optional[str] = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class AdamOptimizer(Optimizer):
    """Adam: ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g``, and
    ``p -= rate * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * m / (sqrt(v) + epsilon)``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        beta1 (float): how much of the mean of gradients stays from step to step.
        beta2 (float): how much of the mean of squared gradients stays.
        epsilon (float): keeps the division finite.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.
        lazy_mode (bool): of an embedding with ``is_sparse=True``, update only the rows of the gradient; otherwise the means of all rows
            decay, and all rows move.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Adam(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "adam"

    def __init__(
        self,
        learning_rate: Union[float, Variable] = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08,
        parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None, lazy_mode: bool = False,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class AdamaxOptimizer(Optimizer):
    """Adamax: Adam with the infinity norm of gradients in place of the mean of squares. ``m = beta1 * m + (1 - beta1) * g``,
    ``n = max(abs(g), beta2 * n + epsilon)``, ``p -= rate / (1 - beta1 ** t) * m / n``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        beta1 (float): how much of the mean of gradients stays from step to step.
        beta2 (float): how much of the norm stays.
        epsilon (float): keeps the division finite.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Adamax(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "adamax"

    def __init__(
        self,
        learning_rate: Union[float, Variable] = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08,
        parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class DecayedAdagradOptimizer(Optimizer):
    """Adagrad with a decaying sum: ``s = decay * s + (1 - decay) * g * g``, ``p -= rate * g / (sqrt(s) + epsilon)``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        decay (float): how much of the sum stays from step to step.
        epsilon (float): keeps the division finite.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.DecayedAdagrad(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "decayed_adagrad"

    def __init__(
        self,
        learning_rate: Union[float, Variable], decay: float = 0.95, epsilon: float = 1e-06,
        parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class DpsgdOptimizer(Optimizer):
    """Differentially private gradient descent: gradients are clipped, and noise is added.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        clip (float): the largest norm of a gradient.
        batch_size (float): divides the noise.
        sigma (float): the standard deviation of the noise.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Dpsgd(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "dpsgd"

    def __init__(
        self,
        learning_rate: Union[float, Variable] = 0.001, clip: float = 0.9, batch_size: float = 0.999,
        sigma: float = 1e-08, parameter_list: Optional[Sequence[Any]] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class FtrlOptimizer(Optimizer):
    """FTRL (follow the regularized leader): exact zeros for weights that hardly matter, as click models want them.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        l1 (float): the L1 penalty; larger: more zeros.
        l2 (float): the L2 penalty.
        lr_power (float): the exponent of the accumulated squares in the rate.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Ftrl(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "ftrl"

    def __init__(
        self,
        learning_rate: Union[float, Variable], l1: float = 0.0, l2: float = 0.0, lr_power: float = -0.5,
        parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LambOptimizer(Optimizer):
    """LAMB: Adam whose step is relative to the norm of the parameter, for large batches.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        lamb_weight_decay (float): weight decay, part of the step.
        beta1 (float): how much of the mean of gradients stays from step to step.
        beta2 (float): how much of the mean of squared gradients stays.
        epsilon (float): keeps the division finite.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        exclude_from_weight_decay_fn (callable): takes a parameter and returns whether it does not decay.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Lamb(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "lamb"

    def __init__(
        self,
        learning_rate: Union[float, Variable] = 0.001, lamb_weight_decay: float = 0.01, beta1: float = 0.9,
        beta2: float = 0.999, epsilon: float = 1e-06, parameter_list: Optional[Sequence[Any]] = None,
        regularization: Optional[Any] = None, grad_clip: Optional[Any] = None,
        exclude_from_weight_decay_fn: Optional[Callable[..., Any]] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class LarsMomentumOptimizer(Optimizer):
    """LARS: momentum with a rate for each parameter, by the norms of its weights and gradients.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        momentum (float): how much of the velocity stays from step to step.
        lars_coeff (float): the trust in the ratio of norms.
        lars_weight_decay (float): weight decay, part of the ratio.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.LarsMomentum(0.001, 0.9).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "lars_momentum"

    def __init__(
        self,
        learning_rate: Union[float, Variable], momentum: float, lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005, parameter_list: Optional[Sequence[Any]] = None,
        regularization: Optional[Any] = None, grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum: ``v = momentum * v + g``, ``p -= rate * v``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        momentum (float): how much of the velocity ``v`` stays from step to step.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        use_nesterov (bool): look ahead: ``p -= rate * (g + momentum * v)``.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.Momentum(0.001, 0.9).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "momentum"

    def __init__(
        self,
        learning_rate: Union[float, Variable], momentum: float, parameter_list: Optional[Sequence[Any]] = None,
        use_nesterov: bool = False, regularization: Optional[Any] = None, grad_clip: Optional[Any] = None,
        name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class RMSPropOptimizer(Optimizer):
    """RMSProp: ``s = rho * s + (1 - rho) * g * g``, ``v = momentum * v + rate * g / sqrt(s + epsilon)``, ``p -= v``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        rho (float): how much of the mean of squares stays from step to step.
        epsilon (float): keeps the division finite.
        momentum (float): how much of the velocity ``v`` stays.
        centered (bool): subtract the squared mean of gradients from ``s``: divide by their standard deviation.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.RMSProp(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "rmsprop"

    def __init__(
        self,
        learning_rate: Union[float, Variable], rho: float = 0.95, epsilon: float = 1e-06, momentum: float = 0.0,
        centered: bool = False, parameter_list: Optional[Sequence[Any]] = None, regularization: Optional[Any] = None,
        grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


class SGDOptimizer(Optimizer):
    """Stochastic gradient descent: ``p -= rate * g``.

    Args:
        learning_rate (float or Variable): the rate: a number, a Variable that the program computes, or a scheduler of ``paddle.optimizer.lr``.
        parameter_list (list): the parameters to train; ``None``: all trainable ones.
        regularization (object): ``fluid.regularizer.L1Decay`` or ``L2Decay`` of all parameters that have none of their own.
        grad_clip (object): ``fluid.clip.GradientClipByValue``, ``GradientClipByNorm`` or ``GradientClipByGlobalNorm``.
        name (str): prefix of the names of its variables.

    Example:
        >>> x = fluid.data("x", [None, 13])
        >>> loss = fluid.layers.mean(fluid.layers.fc(x, 1))
        >>> operators, gradients = fluid.optimizer.SGD(0.001).minimize(loss)
        >>> sorted(parameter.name for parameter, gradient in gradients)
        ['fc_0.b_0', 'fc_0.w_0']
    """

    _rule = "sgd"

    def __init__(
        self,
        learning_rate: Union[float, Variable], parameter_list: Optional[Sequence[Any]] = None,
        regularization: Optional[Any] = None, grad_clip: Optional[Any] = None, name: Optional[str] = None,
    ) -> None:
        super().__init__(**{k: v for k, v in locals().items() if k not in ("self", "__class__")})


Adadelta = AdadeltaOptimizer
Adagrad = AdagradOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Dpsgd = DpsgdOptimizer
Ftrl = FtrlOptimizer
Lamb = LambOptimizer
LarsMomentum = LarsMomentumOptimizer
Momentum = MomentumOptimizer
RMSProp = RMSPropOptimizer
SGD = SGDOptimizer
