"""Places and versions: on what a script may run."""

import logging
import os
import re
import warnings

from .core import CPUPlace, CUDAPinnedPlace, CUDAPlace

_said_one = False


def _cpu_num():
    """How many replicas programs run on: ``CPU_NUM``, or one as in Fluid 1.8.5, which is said once."""
    global _said_one
    number = os.environ.get("CPU_NUM", "").strip()
    if number:
        if not number.isdigit() or int(number) == 0:
            raise ValueError("the environment variable CPU_NUM must be a number from 1 on, not %r" % number)
        return int(number)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores > 1 and not _said_one:
        _said_one = True
        logging.getLogger("oarlock").warning(
            "CPU_NUM is not set: data parallel programs run on one replica, whose operators use all %d cores. Set the environment "
            "variable CPU_NUM for more replicas; every one takes a part of the batch, or a batch of its own from a loader", cores)
    return 1


def cpu_places(device_count=None):
    """As many CPU places as ``CPU_NUM`` says, or one."""
    return [CPUPlace()] * (_cpu_num() if device_count is None else device_count)


def cuda_places(device_ids=None):
    """This build has no GPUs; with ``OARLOCK_GPU_AS_CPU=1`` in the environment, places that stand for the CPU."""
    CUDAPlace(0)._refuse()
    return [CUDAPlace(number) for number in (range(_cpu_num()) if device_ids is None else device_ids)]


def cuda_pinned_places(device_count=None):
    """This build has no GPUs; with ``OARLOCK_GPU_AS_CPU=1`` in the environment, places that stand for the CPU."""
    CUDAPinnedPlace()._refuse()
    return [CUDAPinnedPlace() for _ in range(1 if device_count is None else device_count)]


def load_op_library(lib_filename):
    """Operators of other libraries cannot be loaded."""
    raise NotImplementedError("operators of %s were compiled for Fluid; write them in Rust or with layers.py_func" % lib_filename)


def _parts(what, version):
    if not isinstance(version, str):
        raise TypeError("The type of '%s' in require_version must be str, but received %r." % (what, type(version)))
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise ValueError("The value of '%s' in require_version must be in format '\\d+(\\.\\d+){0,3}', like '1.5.2.0', but received %s."
                         % (what, version))
    parts = [int(part) for part in version.split(".")]
    return parts + [0] * (4 - len(parts))


def require_version(min_version, max_version=None):
    """Raises unless the API, which is that of Fluid 1.8.5, is among versions.

    Args:
        min_version (str), max_version (str): the oldest and the newest version, such as ``"1.6.0"``.

    Example:
        >>> fluid.require_version("1.6.0")
    """
    from .. import version

    here = [int(part) for part in (version.major, version.minor, version.patch, version.rc)]
    low = _parts("min_version", min_version)
    high = None if max_version is None else _parts("max_version", max_version)
    if here == [0, 0, 0, 0]:
        warnings.warn("the version of this build is not known, and is not compared")
        return
    if high is not None and not low <= here <= high:
        raise Exception("VersionError: this is the API of Fluid 1.8.5, but the script needs one in [%s, %s]" % (min_version, max_version))
    if here < low:
        raise Exception("VersionError: this is the API of Fluid 1.8.5, but the script needs at least %s" % min_version)
