"""Functions of eager mode as programs."""

import collections
import functools
import inspect
import logging
import threading
import types

import numpy as np

from .... import _core
from ... import _state, framework, unique_name
from ...core import CPUPlace, Scope
from ...executor import Executor, scope_guard
from ..layers import Layer
from ._capture import Capture
from ._source import converted, source
from ._values import is_variable
from .convert_call_func import convert_call
from .partial_program import flat, partial_program_from, rebuilt

__all__ = ["ProgramTranslator", "convert_function_with_cache"]

_log = logging.getLogger("fluid")


def _plain(function):
    """The function under ``declarative``."""
    while hasattr(function, "_declared"):
        function = function._declared
    return function


def convert_function_with_cache(dygraph_func):
    """Returns the rewritten form of a function; the same one for the same function.

    Args:
        dygraph_func (callable): the function, or a method.
    """
    function = _plain(dygraph_func)
    if inspect.ismethod(function):
        return types.MethodType(convert_function_with_cache(function.__func__), function.__self__)
    if isinstance(function, types.FunctionType):
        made = _converted.get(function)
        if made is None:
            if inspect.isgeneratorfunction(function):
                code = function.__code__
                raise SyntaxError("a generator cannot be part of a program: return a list; %s, line %d"
                                  % (code.co_filename, code.co_firstlineno), (code.co_filename, code.co_firstlineno, 1, None))
            made = _converted[function] = function if function.__name__ == "<lambda>" else converted(function)
        return made
    return convert_call(function)


_converted = {}


def _feedable(value):
    return isinstance(value, (np.ndarray, _core.VarBase))


def _leaf_key(value):
    if isinstance(value, np.ndarray):
        return "array", value.shape, value.dtype.str
    if isinstance(value, _core.VarBase):
        return "tensor", tuple(value.shape), int(value.dtype), value.stop_gradient, isinstance(value, framework.ParamBase)
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    return type(value), value


class FunctionSpec:
    """A function and what it is called with.

    Args:
        func (callable): the function.
        args (tuple), kwargs (dict): its arguments.
    """

    def __init__(self, func, args, kwargs):
        self.dyfunc = _plain(func)
        if inspect.ismethod(self.dyfunc):
            args, self.dyfunc = (self.dyfunc.__self__,) + tuple(args), self.dyfunc.__func__
        self.args, self.kwargs = tuple(args), dict(kwargs)

    @property
    def layer(self):
        """The layer of a method, or None."""
        return self.args[0] if self.args and isinstance(self.args[0], Layer) else None

    @property
    def training(self):
        """Whether the layer is in training; True without one."""
        return self.layer is None or self.layer.training

    def leaves(self):
        """The leaves of the arguments, in order."""
        return flat([list(self.args), self.kwargs])

    def key(self):
        """What programs depend on: sizes and types of tensors, other arguments as they are."""
        def shape(value):
            nested = flat(value) is not None and isinstance(value, (list, tuple, dict))
            if not nested:
                return None
            return (type(value), tuple(value) if isinstance(value, dict) else None,
                    tuple(shape(each) for each in (value.values() if isinstance(value, dict) else value)))

        return self.dyfunc, self.training, shape([list(self.args), self.kwargs]), tuple(_leaf_key(each) for each in self.leaves())

    def __hash__(self):
        return hash(self.key())

    def __eq__(self, other):
        return isinstance(other, FunctionSpec) and self.key() == other.key()


class ConcreteProgram:
    """The program of a function for arguments of certain types.

    Attributes:
        main_program (Program), startup_program (Program): the programs.
        inputs (list), outputs (list): leaves of arguments and results; tensors are Variables.
        tensors (dict): tensors of eager mode that it uses, by name.
    """

    def __init__(self, spec):
        self.func_spec = spec
        # Unhashable arguments are known by their identity: they must live as long as the program.
        self._kept = spec.leaves()
        self.main_program, self.startup_program = framework.Program(), framework.Program()
        self.main_program.random_seed = framework.default_main_program().random_seed
        self.startup_program.random_seed = framework.default_startup_program().random_seed
        function = convert_function_with_cache(spec.dyfunc)
        with framework._dygraph_guard(None), framework.program_guard(self.main_program, self.startup_program):
            self.inputs = self._declared(spec)
            args, kwargs = rebuilt([list(spec.args), spec.kwargs], iter(self.inputs))
            with Capture(self.main_program) as capture:
                if spec.layer is not None:
                    capture.enter(spec.layer)
                # Checked while eager tensors are no Variables.
                self.result = capture.arguments(function(*args, **kwargs))
        self.tensors = capture.tensors
        self.input_variables = [v for v, given in zip(self.inputs, self._kept) if _feedable(given)]
        self.outputs = [each for each in flat(self.result) if each is not None]
        self._check_parameters()

    @property
    def parameters(self):
        """The parameters that it uses."""
        return [tensor for tensor in self.tensors.values() if isinstance(tensor, framework.ParamBase)]

    def _declared(self, spec):
        block, made, used = self.main_program.global_block(), [], set()
        for value in spec.leaves():
            if not _feedable(value):
                made.append(value)
                continue
            eager = isinstance(value, _core.VarBase)
            name = value.name if eager and not isinstance(value, framework.ParamBase) else None
            if not name or name in used:
                name = unique_name.generate("feed")
            used.add(name)
            var = block.create_var(name=name, shape=list(value.shape), dtype=value.dtype, is_data=True,
                                   stop_gradient=value.stop_gradient if eager else True)
            made.append(var)
        return made

    def _check_parameters(self):
        with framework._dygraph_guard(None):
            for param in self.main_program.all_parameters():
                if param.name not in self.tensors:
                    raise ValueError(
                        "We don't support to define layer with parameters in the function decorated by `@declarative`: every call would "
                        "make parameter(%s) again. Make the layer in __init__ and call it here." % param.name)


class ProgramCache:
    """Programs of functions by their arguments."""

    def __init__(self):
        self._caches = collections.OrderedDict()

    def __getitem__(self, item):
        if not isinstance(item, FunctionSpec):
            raise ValueError("type(item) should be FunctionSpec, but received %s" % type(item))
        found = self._caches.get(item)
        if found is None:
            concrete = ConcreteProgram(item)
            found = self._caches[item] = concrete, partial_program_from(concrete)
        return found

    def last(self):
        """The function and the program that were built last."""
        if not self._caches:
            raise AssertionError("No valid cached program in ProgramCache.")
        key = next(reversed(self._caches))
        return key, self._caches[key]

    def concrete_programs(self):
        """All programs."""
        return [concrete for concrete, _ in self._caches.values()]


def _check_callable(function, method):
    if not callable(function):
        raise AssertionError("Input dygraph_func is not a callable in ProgramTranslator.%s" % method)


class ProgramTranslator:
    """Makes programs of functions written for eager mode. There is one for the process.

    Example:
        >>> fluid.dygraph.ProgramTranslator() is fluid.dygraph.ProgramTranslator.get_instance()
        True
    """

    _lock = threading.Lock()
    _instance = None

    def __new__(cls, *args, **kwargs):
        with cls._lock:
            if cls._instance is None:
                cls._instance = super().__new__(cls)
                cls._instance._initialized = False
        return cls._instance

    def __init__(self):
        if self._initialized:
            return
        self._initialized = True
        self._program_cache = ProgramCache()
        self.enable_declarative = True

    @classmethod
    def get_instance(cls):
        """Returns the one translator."""
        return cls()

    @classmethod
    def reset(cls):
        """Forgets all programs."""
        if cls._instance is not None:
            cls._instance._initialized = False
            cls._instance.__init__()

    def enable(self, enable_declarative):
        """Switches the translation on or off: without it, decorated functions run as they are written.

        Args:
            enable_declarative (bool): whether functions are translated.
        """
        if not isinstance(enable_declarative, bool):
            raise TypeError("The type of 'enable_declarative' in ProgramTranslator.enable must be bool, but received %s."
                            % type(enable_declarative))
        self.enable_declarative = enable_declarative

    def _off(self, method):
        if not self.enable_declarative:
            _log.info("ProgramTranslator.%s returns what the function returns, because ProgramTranslator.enable(False) was called", method)
        return not self.enable_declarative

    def get_output(self, dygraph_func, *args, **kwargs):
        """Calls a function as a program: built at the first call with tensors of these sizes and types, and run as one operator.
        Outside eager mode the function builds into the current program.

        Args:
            dygraph_func (callable): the function.
            args, kwargs: its arguments.

        Returns:
            What the function returns.

        Example:
            >>> def double_if_positive(x):
            ...     if fluid.layers.mean(x) > 0:
            ...         x = x * 2
            ...     return x
        """
        _check_callable(dygraph_func, "get_output")
        if self._off("get_output"):
            return _plain(dygraph_func)(*args, **kwargs)
        if _state.tracer is None:
            return self._build_here(dygraph_func, args, kwargs)
        spec = FunctionSpec(dygraph_func, args, kwargs)
        _, run = self._program_cache[spec]
        return run(spec.leaves(), spec.training)

    def _build_here(self, dygraph_func, args, kwargs):
        if _state.capture is not None:
            for each in args[:1]:
                if isinstance(each, Layer):
                    _state.capture.enter(each)
        return convert_function_with_cache(dygraph_func)(*args, **kwargs)

    def get_func(self, dygraph_func):
        """Returns a function that builds what ``dygraph_func`` computes into the current program.

        Args:
            dygraph_func (callable): the function.
        """
        _check_callable(dygraph_func, "get_func")
        return _plain(dygraph_func) if self._off("get_func") else convert_function_with_cache(dygraph_func)

    def get_program(self, dygraph_func, *args, **kwargs):
        """Returns the program of a function.

        Args:
            dygraph_func (callable): the function.
            args, kwargs: its arguments: they give sizes and types.

        Returns:
            tuple: the main program, the startup program, the variables to feed and the variables to fetch.
        """
        _check_callable(dygraph_func, "get_program")
        if self._off("get_program"):
            return _plain(dygraph_func)(*args, **kwargs)
        concrete, _ = self._program_cache[FunctionSpec(dygraph_func, args, kwargs)]
        outputs = [each for each in concrete.outputs if is_variable(each)]
        return concrete.main_program, concrete.startup_program, list(concrete.input_variables), outputs

    def get_code(self, dygraph_func):
        """Returns the text of the rewritten function.

        Args:
            dygraph_func (callable): the function.
        """
        _check_callable(dygraph_func, "get_code")
        function = _plain(dygraph_func)
        return source(function.__func__ if inspect.ismethod(function) else function)

    def get_program_cache(self):
        """Returns the programs that were built so far."""
        return self._program_cache

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """Saves the program that was built last, with the values that its parameters have now, for prediction.

        Args:
            dirname (str): the directory.
            feed (list of int), fetch (list of int): which inputs and outputs; all without them.
        """
        from ...io import save_inference_model

        def chosen(variables, at):
            return [variables[each] for each in at] if at else list(variables)

        _, (concrete, _) = self._program_cache.last()
        scope = Scope()
        for name, tensor in concrete.tensors.items():
            scope.var(name).get_tensor().set(tensor.numpy(), CPUPlace())
        outputs = [each for each in concrete.outputs if is_variable(each)]
        with framework._dygraph_guard(None), scope_guard(scope):
            save_inference_model(
                dirname=dirname, feeded_var_names=[var.name for var in chosen(concrete.input_variables, feed)],
                target_vars=chosen(outputs, fetch), executor=Executor(CPUPlace()), main_program=concrete.main_program.clone())


def declared(function, in_eager):
    """A function that runs as a program.

    Args:
        function (callable): the function.
        in_eager (bool): also in eager mode; otherwise it runs there as it is written.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        translator = ProgramTranslator()
        if not translator.enable_declarative or (_state.tracer is not None and not in_eager):
            _log.info("%s runs as it is written, in eager mode", function.__name__)
            return function(*args, **kwargs)
        return translator.get_output(function, *args, **kwargs)

    call._declared = function
    return call
