"""Runs one file of Fluid's unit tests and writes the outcome of every method: ``run_one.py DIR FILE OUTCOME [--own-op-test] [--only=METHOD,...]``."""

import collections
import collections.abc
import importlib
import inspect
import json
import os
import sys
import time
import traceback
import unittest
import warnings

warnings.simplefilter("ignore")
directory, path, out = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
own = "--own-op-test" in sys.argv
only = next((set(arg[len("--only="):].split(",")) for arg in sys.argv if arg.startswith("--only=")), None)
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
sys.path[:0] = ([] if own else [os.path.join(here, "standin")]) + [os.path.join(directory, os.path.dirname(path)), directory]
if not own:
    import oarlock

    oarlock.install_as_paddle()
sys.argv[1:] = []

# The tests were written for Python 3.7, which had these names.
for name in ("Callable", "Iterable", "Mapping", "OrderedDict", "Sequence"):
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = lambda function: inspect.getfullargspec(function)[:4]
if not hasattr(time, "clock"):
    time.clock = time.perf_counter


class Recorder(unittest.TestResult):
    """Notes how each method ended, and writes it at once, so that a crash loses one method."""

    def __init__(self):
        super().__init__()
        self.outcome = {"methods": {}, "seconds": {}, "finished": False}

    def note(self, test, how):
        self.outcome["methods"].setdefault(name_of(test), how)
        self.write()

    def write(self):
        with open(out, "w") as f:
            json.dump(self.outcome, f)

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.outcome["seconds"][name_of(test)] = round(time.monotonic() - self.began, 2)

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "passed")

    def addFailure(self, test, err):
        self.note(test, said(err))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, said(err))


def name_of(test):
    """Class and method; files make classes in loops, which differ in the name that the module has for them."""
    method = getattr(test, "_testMethodName", None)
    return str(test) if method is None else "%s.%s" % (class_names.get(type(test), type(test).__name__), method)


def said(err):
    """The traceback, shortened, and as its last line the error on one line."""
    lines = traceback.format_exception(*err)
    text = " ".join("%s: %s".__mod__((err[0].__name__, err[1])).split())
    return "".join(lines)[-3000:] + "\n" + text[:400]


class_names = {}
recorder = Recorder()
module = importlib.import_module(os.path.basename(path)[:-3])
# A file may derive its tests from those of another, which are not its own.
class_names.update({
    kind: name for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, unittest.TestCase) and kind.__module__ == module.__name__})
suite = unittest.TestSuite(
    test for kind in class_names for test in unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    if only is None or name_of(test) in only)
suite.run(recorder)
recorder.outcome["finished"] = True
recorder.write()
# Threads that a test left behind must not keep the process.
sys.stdout.flush()
os._exit(0)
