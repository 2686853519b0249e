"""Running programs."""

import atexit
import contextlib
import functools
import signal
import sys
import threading
import warnings
import weakref

import numpy as np

from .. import _core
from . import flags, options
from .core import CPUPlace, LoDTensor, Scope, VarDesc
from .dataset import DatasetBase
from .framework import Operator, Program, Variable, default_main_program

__all__ = ["Executor", "FetchHandler", "as_numpy", "global_scope", "runtime", "scope_guard"]

_scope = Scope()
_live: weakref.WeakSet = weakref.WeakSet()


def live_executors():
    """The executors that are still in use."""
    return list(_live)


def global_scope():
    """The scope of programs that run without one."""
    return _scope


@contextlib.contextmanager
def scope_guard(scope):
    """Runs programs in another scope inside the block."""
    global _scope
    outer, _scope = _scope, scope
    try:
        yield
    finally:
        _scope = outer


def as_numpy(tensor):
    """A fetched value as an array, a list of them as a list of arrays."""
    if isinstance(tensor, (list, tuple)):
        return [as_numpy(t) for t in tensor]
    if isinstance(tensor, LoDTensor) and tensor.lod():
        raise RuntimeError(
            "Some of your fetched tensors hold LoD information. They can not be completely cast to Python ndarray. "
            "Please set the parameter 'return_numpy' as 'False' to return LoDTensor itself directly."
        )
    return np.array(tensor)


def _as_lodtensor(data, place, dtype=None):
    """A tensor of an array or a number, which needs an element type.

    Args:
        data (numpy.ndarray or number): the values.
        place (Place): where it is to be.
        dtype (VarType): the element type of a number.
    """
    if isinstance(data, list):
        raise RuntimeError("Some of your feed data hold LoD information. They can not be completely cast from a list of Python ndarray to "
                           "LoDTensor. Please convert data to LoDTensor directly before feeding the data.")
    if not isinstance(data, np.ndarray):
        if dtype is None:
            raise AssertionError("The dtype should be given when feed data is not np.ndarray")
        names = {kind: name for name, kind in VarDesc.VarType.by_numpy.items()}
        data = np.array([data]).astype(names[dtype] if dtype in names else dtype)
    place._refuse()
    tensor = LoDTensor()
    tensor.set(data, place)
    return tensor


def _fetch_var(name, scope=None, return_numpy=True):
    """The value of a variable of a scope.

    Args:
        name (str): its name.
        scope (Scope): ``None``: the global scope.
        return_numpy (bool): a numpy array; otherwise the tensor.
    """
    if not isinstance(name, str):
        raise TypeError("The name of a variable must be str, not %r" % type(name))
    scope = global_scope() if scope is None else scope
    if not isinstance(scope, Scope):
        raise TypeError("scope must be a fluid.core.Scope, not %r" % type(scope))
    var = scope.find_var(name)
    if var is None:
        raise AssertionError("Cannot find %s in the scope. Perhaps you need to make it persistable, and run the program" % name)
    tensor = var.get_tensor()
    return as_numpy(tensor) if return_numpy else tensor


class _Number(np.ndarray):
    """A fetched array of one element. Scripts write ``float(loss)`` of an array of shape [1], which numpy gave up in 2.4."""

    def __repr__(self):
        return repr(self.view(np.ndarray))

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())


def _as_number(value):
    return value.view(_Number) if isinstance(value, np.ndarray) and value.size == 1 else value


def _is_a_number(array):
    try:
        float(array)
    except TypeError:
        return False
    return True


with warnings.catch_warnings():
    # Before it gave it up, numpy warned.
    warnings.simplefilter("ignore")
    _ARRAYS_ARE_NUMBERS = _is_a_number(np.zeros(1))

_signals_watched = False
_runtime = None


def runtime():
    """The resources that all executors share: threads, the connection to parameter servers, the communicator. Made on first use,
    so that a script can set the environment before."""
    global _runtime
    if _runtime is None:
        flags.to_environment("FLAGS_rpc_deadline")
        _runtime = _core.Runtime()
        if not _runtime.end_with_process():
            atexit.register(_runtime.end, 0)
        atexit.register(_at_exit)
    return _runtime


def _at_exit():
    """The interpreter ends. A trainer that forgot to close its executor leaves when its process ends with status 0, which only then is
    known; one that failed is lost, and its servers decide what that means."""
    if hasattr(sys, "last_exc") or hasattr(sys, "last_type"):
        _runtime.end_in_error()


def _set_rates(program, scope):
    """Before a run: what schedulers say."""
    for scheduler, name in program._schedulers:
        found = scope.find_var(name)
        if found is not None:
            found.get_tensor().set(np.array([scheduler()], "float32"), None)


def _watch_signals():
    """Lets Ctrl-C stop a running program: Python writes a byte at every signal, which the core waits for."""
    global _signals_watched
    if _signals_watched or threading.current_thread() is not threading.main_thread():
        return
    _signals_watched = True
    import os

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    earlier = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if earlier != -1:
        # Another owner, such as an event loop, waits for signals and keeps them.
        signal.set_wakeup_fd(earlier)
        os.close(writing)
    else:
        _core.watch_signals(reading)
    os.close(reading)


class Executor:
    """Runs programs on the CPU."""

    def __init__(self, place=None):
        self.place = CPUPlace() if place is None else place
        for p in place if isinstance(place, (list, tuple)) else [self.place]:
            if not hasattr(p, "_refuse"):
                raise TypeError("Executor takes a place such as fluid.CPUPlace(), not %r" % (p,))
            p._refuse()
        _watch_signals()
        flags.check_environment()
        self._check_nan_inf = flags.value("FLAGS_check_nan_inf")
        self._core = _core.Executor(runtime(), check_nan_inf=self._check_nan_inf)
        self._closed = False
        _live.add(self)

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None,
            return_numpy=True, use_program_cache=False, return_merged=True, use_prune=False):
        """Runs a program once.

        Args:
            program (Program or CompiledProgram): ``None``: the default main program.
            feed (dict): arrays or LoDTensors by the names of variables.
            fetch_list (list): variables or names whose values are returned.
            scope (Scope): where parameters live; ``None``: the global scope.
            return_numpy (bool): numpy arrays; otherwise LoDTensors.
            use_prune (bool): run only the operators that the fetches need.

        Returns:
            list: the values, in the order of ``fetch_list``.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Executor")
        hints = (feed_var_name, fetch_var_name, use_program_cache)
        if hints not in _checked_hints:
            _check_hints(*hints)
        if program is None:
            program = default_main_program()
        if type(program) is not Program:
            if getattr(program, "_predictor", None) is not None:
                return program._predictor.run(feed)
            if getattr(program, "_is_data_parallel", False):
                scope = program._run_in(_scope if scope is None else scope)
                replicas = program._replicas(return_merged)
                if replicas is not None:
                    return self._run_replicas(program._program, replicas, feed, fetch_list, scope, return_numpy, return_merged, use_prune)
            program = self._resolve(program)
            if program is None:
                raise TypeError("Executor.run takes a Program or a CompiledProgram")
        if feed is None:
            feed = {}
        elif type(feed) is not dict:
            feed = _one_feed(feed)
        self._look_at_flags()
        fetches = _fetch_names(fetch_list)
        scope = _scope if scope is None else scope
        if program._schedulers:
            _set_rates(program, scope)
        fetched = self._core.run(program.desc, feed, fetches, scope, return_numpy, program._workers, bool(use_prune))
        if return_numpy and not _ARRAYS_ARE_NUMBERS:
            fetched = [_as_number(v) for v in fetched]
        return fetched if fetch_list is not None else []

    def _look_at_flags(self):
        if flags.is_set and flags.value("FLAGS_check_nan_inf") != self._check_nan_inf:
            self._check_nan_inf = not self._check_nan_inf
            self._core = _core.Executor(runtime(), check_nan_inf=self._check_nan_inf)

    def _run_replicas(self, program, replicas, feed, fetch_list, scope, return_numpy, return_merged, use_prune):
        """Runs a program on replicas: a feed for all, whose samples are dealt out, or a list with one for each."""
        if isinstance(feed, (list, tuple)):
            for each in feed:
                if not isinstance(each, dict):
                    raise TypeError("Each element of feed list should be a dict, not %r" % (each,))
            feed = list(feed)
        elif feed is not None and not isinstance(feed, dict):
            raise TypeError("feed takes a dict, or a list with a dict for each of %d replicas, not %s" % (replicas[0], type(feed)))
        feed = {} if feed is None else feed
        self._look_at_flags()
        _set_rates(program, scope)
        fetches = _fetch_names(fetch_list)
        fetched = self._core.run_replicas(
            program.desc, replicas, feed, fetches, scope, return_numpy, return_merged, program._workers, bool(use_prune)
        )
        if return_numpy and not _ARRAYS_ARE_NUMBERS:
            fetched = [_as_number(v) if return_merged else [_as_number(part) for part in v] for v in fetched]
        return fetched if fetch_list is not None else []

    def _resolve(self, program):
        inner = getattr(program, "_program", None)
        return inner if isinstance(inner, Program) else (program if isinstance(program, Program) else None)

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """Trains on every sample of a data set once, with ``thread`` threads or as many as the data set has. One thread gives the
        same result in every run; several update shared parameters without waiting for each other."""
        self._run_from_dataset(program, dataset, scope, thread, False, debug, fetch_list, fetch_info, print_period, fetch_handler)

    def infer_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):
        """Runs every sample of a data set through the program and learns nothing from it: gradients and updates are left out."""
        self._run_from_dataset(program, dataset, scope, thread, True, debug, fetch_list, fetch_info, print_period, fetch_handler)

    def _run_from_dataset(self, program, dataset, scope, thread, infer, debug, fetch_list, fetch_info, print_period, fetch_handler):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Executor")
        if dataset is None:
            raise RuntimeError("dataset is need and should be initialized")
        if not isinstance(dataset, DatasetBase):
            raise TypeError("train_from_dataset takes a dataset of fluid.DatasetFactory, not %r: run programs that a loader feeds with "
                            "exe.run" % (dataset,))
        program = self._resolve(default_main_program() if program is None else program)
        if program is None:
            raise TypeError("train_from_dataset takes a Program or a CompiledProgram")
        _set_rates(program, _scope if scope is None else scope)
        names = _fetch_names(fetch_list)
        labels = names if fetch_info is None else list(fetch_info)
        if len(labels) != len(names):
            raise ValueError("fetch_info names %d variables, but fetch_list has %d" % (len(labels), len(names)))
        done = self._core.train(
            program.desc, dataset._configure(), _scope if scope is None else scope, dataset._threads(thread), infer, debug,
            list(zip(names, labels)), print_period, functools.partial(print, flush=True),
            fetch_handler and fetch_handler._request(), program._workers,
        )
        if done[2]:
            warnings.warn("%d of %d lines were skipped because they are malformed; set_bad_lines('fail') names the first"
                          % (done[2], done[0] + done[2]))

    def close(self):
        """Closes it: no program can be run any more. A trainer sends its queued gradients and leaves its parameter servers; a collective
        worker makes zero-weight steps until no worker has data, and leaves."""
        self._closed = True
        runtime().close()


_checked_hints = {("feed", "fetch", False)}


def _check_hints(*hints):
    for name, value in zip(("feed_var_name", "fetch_var_name", "use_program_cache"), hints):
        options.check("Executor.run", name, value)
    _checked_hints.add(hints)


class FetchHandler:
    """Gets values of variables from time to time while ``train_from_dataset`` runs. ``var_dict`` says under which key ``handler``
    finds which variable."""

    def __init__(self, var_dict=None, period_secs=60):
        if var_dict is None:
            raise ValueError("a FetchHandler needs var_dict, variables by the keys under which it gets them")
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, res_dict):
        """To be written by the user; prints the first element of each array."""
        print(" ".join("%s[0]: %s" % (key, value[0]) for key, value in res_dict.items() if isinstance(value, np.ndarray)), flush=True)

    def _request(self):
        for key, var in self.var_dict.items():
            if not isinstance(var, Variable):
                raise TypeError("var_dict[%r] of a FetchHandler must be a Variable, not %r" % (key, var))
        keys = list(self.var_dict)

        def hand(values):
            self.handler(dict(zip(keys, values)))

        return [self.var_dict[key].name for key in keys], float(self.period_secs), hand

    @staticmethod
    def help():
        """Prints an example."""
        print("""
class FetchHandlerExample(FetchHandler):
    def handler(self, res_dict):
        print(res_dict["auc"])

auc = Variable()
handler = FetchHandlerExample(var_dict={"auc": auc})
""")


def _one_feed(feed):
    if isinstance(feed, dict):
        return dict(feed)
    if isinstance(feed, (list, tuple)):
        if len(feed) == 1:
            return dict(feed[0])
        raise TypeError("a feed for %d devices needs CompiledProgram.with_data_parallel" % len(feed))
    raise TypeError("feed requires dict as its Parameter. But you passed in %s" % type(feed))


def _fetch_names(fetch_list):
    if fetch_list is None:
        return []
    if isinstance(fetch_list, (Variable, str)):
        fetch_list = [fetch_list]
    names = []
    for item in fetch_list:
        if isinstance(item, Variable):
            names.append(item.name)
        elif isinstance(item, str):
            names.append(item)
        elif isinstance(item, (list, tuple)):
            names.extend(_fetch_names(item))
        elif isinstance(item, Operator):
            # What minimize returns: its operators run in any case.
            continue
        else:
            raise TypeError("fetch_list takes Variables and names, not %r" % (item,))
    return names
