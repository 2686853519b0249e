"""Metrics over the data of all workers, of Fleet 2.0 or 1.x. Each takes what its worker counted: an array, or a variable of the
program by name."""

import builtins
import math

import numpy as np

from .... import _core
from ....fluid.executor import global_scope
from ....fluid.framework import Variable
from ....fluid.incubate.fleet.base.fleet_base import current
from ..base.util_factory import UtilBase

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]


def _counted(input, scope):
    """The counts of this worker."""
    if isinstance(input, Variable):
        input = input.name
    if isinstance(input, str):
        found = (scope or global_scope()).find_var(input)
        if found is None:
            raise ValueError("there is no variable %s: a metric needs one that outlives a run (persistable=True)" % input)
        return np.array(found.get_tensor())
    return np.asarray(input)


def _joined(input, mode, scope, util):
    if util is None:
        util = UtilBase(current())
    return util.all_reduce(_counted(input, scope), mode)


def sum(input, scope=None, util=None):
    """The sum over all workers, element by element."""
    return _joined(input, "sum", scope, util)


def max(input, scope=None, util=None):
    """The largest of all workers, element by element."""
    return _joined(input, "max", scope, util)


def min(input, scope=None, util=None):
    """The smallest of all workers, element by element."""
    return _joined(input, "min", scope, util)


def auc(stat_pos, stat_neg, scope=None, util=None):
    """The area under the ROC curve, from the counts of ``layers.auc`` of each worker."""
    pos, neg = (_joined(counts, "sum", scope, util) for counts in (stat_pos, stat_neg))
    return _core.area_under_curve([float(v) for v in pos.ravel()], [float(v) for v in neg.ravel()])


def _mean(total, count, scope, util):
    total, count = (_joined(value, "sum", scope, util) for value in (total, count))
    count = builtins.float(np.sum(count))
    if count == 0:
        raise ValueError("no worker saw a sample: there is no mean of nothing")
    return builtins.float(np.sum(total)) / count


def acc(correct, total, scope=None, util=None):
    """The part of all samples that was right."""
    return _mean(correct, total, scope, util)


def mae(abserr, total_ins_num, scope=None, util=None):
    """The mean of absolute errors."""
    return _mean(abserr, total_ins_num, scope, util)


def mse(sqrerr, total_ins_num, scope=None, util=None):
    """The mean of squared errors."""
    return _mean(sqrerr, total_ins_num, scope, util)


def rmse(sqrerr, total_ins_num, scope=None, util=None):
    """The root of the mean of squared errors."""
    return math.sqrt(_mean(sqrerr, total_ins_num, scope, util))
