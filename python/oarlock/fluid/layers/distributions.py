"""Distributions of random numbers, as operators of the program."""

import math
import warnings

import numpy as np

from ..data_feeder import check_type, check_variable_and_dtype
from ..framework import Variable
from . import nn, ops, tensor
from ._generated.control_flow import less_than

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]


class Distribution:
    """The base of distributions."""

    def sample(self):
        """Belongs to derived classes: returns random numbers."""
        raise NotImplementedError("%s has no sample" % type(self).__name__)

    def entropy(self):
        """Belongs to derived classes: returns the entropy."""
        raise NotImplementedError("%s has no entropy" % type(self).__name__)

    def kl_divergence(self, other):
        """Belongs to derived classes: returns the Kullback-Leibler divergence from another distribution of the same class."""
        raise NotImplementedError("%s has no kl_divergence" % type(self).__name__)

    def log_prob(self, value):
        """Belongs to derived classes: returns the logarithm of the density at a value."""
        raise NotImplementedError("%s has no log_prob" % type(self).__name__)

    def _arguments(self, kinds, **arguments):
        """Checks arguments; returns them as Variables of one shape, and whether they are Variables of the user's, whose batch varies."""
        for name, value in arguments.items():
            check_type(value, name, kinds, type(self).__name__)
        given = [isinstance(value, Variable) for value in arguments.values()]
        if all(given):
            return list(arguments.values()), True
        if any(given):
            raise ValueError("if one argument is Variable, all arguments should be Variable")
        arrays = [np.array([value] if isinstance(value, float) else value) for value in arguments.values()]
        if any(array.dtype != "float32" for array in arrays):
            warnings.warn("data type of argument only support float32, your argument will be convert to float32.", stacklevel=4)
        arrays = np.broadcast_arrays(*(array.astype("float32") for array in arrays))
        return [tensor.assign(np.ascontiguousarray(array)) for array in arrays], False


def _check_sample(shape, seed):
    check_type(shape, "shape", list, "sample")
    check_type(seed, "seed", int, "sample")


_NUMBERS = (float, np.ndarray, Variable, list)
_ARRAYS = (np.ndarray, Variable, list)


class _TwoParameters(Distribution):
    """A distribution of one number whose parameters broadcast: ``sample`` moves and scales standard random numbers."""

    def _set(self, first, second):
        """Takes parameters, by name."""
        (name_of_first, low), (name_of_second, high) = first, second
        self.all_arg_is_float = isinstance(low, float) and isinstance(high, float)
        made, self.batch_size_unknown = self._arguments(_NUMBERS, **{name_of_first: low, name_of_second: high})
        return made

    def _sample(self, shape, seed, offset, width, standard):
        _check_sample(shape, seed)
        both = offset + width
        batch = list(both.shape)
        if not self.batch_size_unknown:
            out = standard(None, shape + batch) * (tensor.zeros(shape + batch, "float32") + width) + offset
            return nn.reshape(out, shape) if self.all_arg_is_float else out
        zeros = tensor.fill_constant_batch_size_like(both, batch + shape, both.dtype, 0.0)
        return nn.reshape(standard(zeros, batch + shape) * (zeros + width) + offset, shape + batch)


class Uniform(_TwoParameters):
    """Numbers between two bounds, all equally likely.

    Args:
        low (float, list, numpy.ndarray or Variable), high: the bounds.

    Example:
        >>> u = fluid.layers.Uniform([0.0, 0.0], [2.0, 4.0])
        >>> u.sample([3]).shape
        (3, 2)
        >>> [round(float(v), 4) for v in fluid.Executor().run(fetch_list=[u.entropy()])[0]]
        [0.6931, 1.3863]
    """

    def __init__(self, low, high):
        self.low, self.high = self._set(("low", low), ("high", high))

    def sample(self, shape, seed=0):
        """Returns random numbers, ``shape`` in front of the shape of the bounds; only ``shape`` if both bounds are numbers.

        Args:
            shape (list): how many.
            seed (int): 0 takes the program's seed.
        """

        def standard(like, sizes):
            if like is None:
                return ops.uniform_random(sizes, min=0.0, max=1.0, seed=seed)
            return nn.uniform_random_batch_size_like(like, sizes, min=0.0, max=1.0, seed=seed)

        return self._sample(shape, seed, self.low, self.high - self.low, standard)

    def log_prob(self, value):
        """Returns the logarithm of the density, minus infinity outside of the bounds.

        Args:
            value (Variable): the numbers.
        """
        check_variable_and_dtype(value, "value", ["float32", "float64"], "log_prob")
        inside = [tensor.cast(less_than(small, large), value.dtype) for small, large in ((self.low, value), (value, self.high))]
        return nn.log(inside[0] * inside[1]) - nn.log(self.high - self.low)

    def entropy(self):
        """Returns the entropy."""
        return nn.log(self.high - self.low)


class Normal(_TwoParameters):
    """Normally distributed numbers.

    Args:
        loc (float, list, numpy.ndarray or Variable): the mean.
        scale: the standard deviation.

    Example:
        >>> n = fluid.layers.Normal(0.0, 1.0)
        >>> n.sample([2, 3]).shape
        (2, 3)
        >>> round(float(fluid.Executor().run(fetch_list=[n.kl_divergence(fluid.layers.Normal(1.0, 1.0))])[0][0]), 4)
        0.5
    """

    def __init__(self, loc, scale):
        self.loc, self.scale = self._set(("loc", loc), ("scale", scale))

    def sample(self, shape, seed=0):
        """Returns random numbers, ``shape`` in front of the shape of the parameters; only ``shape`` if both are numbers.

        Args:
            shape (list): how many.
            seed (int): 0 takes the program's seed.
        """

        def standard(like, sizes):
            if like is None:
                return nn.gaussian_random(sizes, mean=0.0, std=1.0, seed=seed)
            return nn.gaussian_random_batch_size_like(like, sizes, mean=0.0, std=1.0, seed=seed)

        return self._sample(shape, seed, self.loc, self.scale, standard)

    def entropy(self):
        """Returns the entropy."""
        both = self.loc + self.scale
        zeros = tensor.fill_constant_batch_size_like(both, list(both.shape), self.loc.dtype, 0.0)
        return 0.5 + 0.5 * math.log(2 * math.pi) + nn.log(self.scale + zeros)

    def log_prob(self, value):
        """Returns the logarithm of the density.

        Args:
            value (Variable): the numbers.
        """
        check_variable_and_dtype(value, "value", ["float32", "float64"], "log_prob")
        distance = value - self.loc
        return -1.0 * (distance * distance) / (2.0 * self.scale * self.scale) - nn.log(self.scale) - math.log(math.sqrt(2.0 * math.pi))

    def kl_divergence(self, other):
        """Returns the divergence from another normal distribution.

        Args:
            other (Normal): the other.
        """
        check_type(other, "other", Normal, "kl_divergence")
        ratio, distance = self.scale / other.scale, (self.loc - other.loc) / other.scale
        return 0.5 * (ratio * ratio + distance * distance - 1.0 - nn.log(ratio * ratio))


class Categorical(Distribution):
    """One of several classes.

    Args:
        logits (list, numpy.ndarray or Variable): along the last dimension, the logarithms of probabilities up to a constant.

    Example:
        >>> c = fluid.layers.Categorical(np.zeros([2, 4], "float32"))
        >>> [round(float(v[0]), 4) for v in fluid.Executor().run(fetch_list=[c.entropy()])[0]]
        [1.3863, 1.3863]
    """

    def __init__(self, logits):
        (self.logits,), _ = self._arguments(_ARRAYS, logits=logits)

    def _log_and_probability(self):
        shifted = self.logits - nn.reduce_max(self.logits, dim=-1, keep_dim=True)
        exponentials = ops.exp(shifted)
        total = nn.reduce_sum(exponentials, dim=-1, keep_dim=True)
        return shifted - nn.log(total), exponentials / total

    def kl_divergence(self, other):
        """Returns the divergence from another distribution of the same classes.

        Args:
            other (Categorical): the other.
        """
        check_type(other, "other", Categorical, "kl_divergence")
        logarithm, probability = self._log_and_probability()
        return nn.reduce_sum(probability * (logarithm - other._log_and_probability()[0]), dim=-1, keep_dim=True)

    def entropy(self):
        """Returns the entropy."""
        logarithm, probability = self._log_and_probability()
        return -1.0 * nn.reduce_sum(probability * logarithm, dim=-1, keep_dim=True)


class MultivariateNormalDiag(Distribution):
    """Vectors of independent normally distributed numbers.

    Args:
        loc (list, numpy.ndarray or Variable): the mean, ``[k]``.
        scale: the covariance, ``[k, k]``, with zeros off the diagonal.

    Example:
        >>> a = fluid.layers.MultivariateNormalDiag(np.array([0.3, 0.5], "float32"), np.diag([0.4, 0.5]).astype("float32"))
        >>> b = fluid.layers.MultivariateNormalDiag(np.array([0.2, 0.4], "float32"), np.diag([0.3, 0.4]).astype("float32"))
        >>> round(float(fluid.Executor().run(fetch_list=[a.kl_divergence(b)])[0][0, 0]), 4)
        0.0654
    """

    def __init__(self, loc, scale):
        # As in Fluid, arrays broadcast to each other: the divergence of arrays is a matrix whose elements are all the same.
        (self.loc, self.scale), _ = self._arguments(_ARRAYS, loc=loc, scale=scale)

    def _parts(self, value):
        """Ones everywhere, and ones on the diagonal."""
        size = value.shape[0]
        return tensor.ones([size, size], self.loc.dtype), tensor.diag(tensor.ones([size], self.loc.dtype))

    def _determinant(self, value):
        ones, diagonal = self._parts(value)
        return nn.reduce_prod(value + ones - diagonal)

    def _inverse(self, value):
        ones, diagonal = self._parts(value)
        return nn.elementwise_pow(value, ones - 2 * diagonal)

    def entropy(self):
        """Returns the entropy."""
        return 0.5 * (self.scale.shape[0] * (1.0 + math.log(2 * math.pi)) + nn.log(self._determinant(self.scale)))

    def kl_divergence(self, other):
        """Returns the divergence from another distribution of vectors of the same length.

        Args:
            other (MultivariateNormalDiag): the other.
        """
        check_type(other, "other", MultivariateNormalDiag, "kl_divergence")
        inverse, distance = self._inverse(other.scale), other.loc - self.loc
        spread = nn.reduce_sum(inverse * self.scale)
        shift = nn.matmul(nn.matmul(distance, inverse), distance)
        logarithm = nn.log(self._determinant(other.scale)) - nn.log(self._determinant(self.scale))
        return 0.5 * (spread + shift - self.scale.shape[0] + logarithm)
