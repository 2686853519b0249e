"""Programs of layers that run eagerly: for inference without Python."""

from .. import _state
from ..._core import VarBase
from ..compiler import CompiledProgram
from ..executor import Executor, scope_guard
from ..core import Scope
from ..framework import Program, Variable, _current_expected_place, dygraph_only, in_dygraph_mode
from .base import switch_to_static_graph
from .dygraph_to_static.program_translator import declared
from .layers import Layer

__all__ = ["TracedLayer", "declarative", "dygraph_to_static_func"]


def declarative(function):
    """Lets a function run as a program: it is built at the first call with tensors of these sizes and types, with branches and loops over
    tensors, and then runs like one operator, also backward. Outside eager mode the function builds into the current program.

    Args:
        function (callable): a function, or a method of a Layer.

    Returns:
        callable: the decorated function.

    Example:
        >>> with fluid.dygraph.guard():
        ...     layer = fluid.dygraph.Linear(4, 2)
        ...     forward = fluid.dygraph.declarative(lambda x: layer(x))
        ...     forward(fluid.layers.ones([3, 4], "float32")).shape
        [3, 2]
    """
    return declared(function, in_eager=True)


def dygraph_to_static_func(function):
    """Lets a function build what it computes into the current program, with branches and loops over tensors. In eager mode it runs as it is
    written.

    Args:
        function (callable): the function.

    Returns:
        callable: the decorated function.
    """
    return declared(function, in_eager=False)


# The name that it had before Fluid 1.8.
dygraph_to_static_output = declarative


def extract_vars(inputs):
    """Returns the variables in nested lists and tuples.

    Args:
        inputs (Variable, list or tuple): the structure.
    """
    if isinstance(inputs, (list, tuple)):
        return [var for each in inputs for var in extract_vars(each)]
    return [inputs] if isinstance(inputs, (Variable, VarBase)) else []


class TracedLayer:
    """The program of a layer, made by ``TracedLayer.trace``. It computes with the parameters of the layer."""

    def __init__(self, program, parameters, feed_names, fetch_names):
        self._program, self._params = program, parameters
        self._feed_names, self._fetch_names = feed_names, fetch_names
        self._place, self._scope = _current_expected_place(), Scope()
        self._exe = Executor(self._place)
        self._compiled_program, self._build_strategy, self._exec_strategy = None, None, None

    @property
    def program(self):
        """The program."""
        return self._program

    @staticmethod
    @dygraph_only
    def trace(layer, inputs):
        """Calls a layer and makes a program of the operators that run. What ``forward`` decides by the values of tensors stays decided.

        Args:
            layer (Layer): the layer.
            inputs (Variable or list): its inputs.

        Returns:
            tuple: the results of the layer, and the TracedLayer.

        Example:
            >>> with fluid.dygraph.guard():
            ...     layer = fluid.Linear(2, 1)
            ...     x = fluid.dygraph.to_variable(np.ones([3, 2], "float32"))
            ...     out, traced = fluid.dygraph.TracedLayer.trace(layer, inputs=[x])
            ...     print((traced([x])[0] == out.numpy()).all())
            True
        """
        if not isinstance(layer, Layer):
            raise AssertionError("TracedLayer.trace takes a Layer, not %r" % (layer,))
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        feeds = [("feed_%d" % at, tensor) for at, tensor in enumerate(extract_vars(inputs))]
        fetched = lambda result: [("fetch_%d" % at, tensor) for at, tensor in enumerate(extract_vars([result]))]
        outputs, program, values = _state.tracer.trace(lambda: layer(*inputs), lambda result: feeds + fetched(result))
        names = [name for name, _ in feeds], [name for name, _ in fetched(outputs)]
        return outputs, TracedLayer(Program(program), dict(values), *names)

    def set_strategy(self, build_strategy=None, exec_strategy=None):
        """Sets how the program is built and run; before the first call.

        Args:
            build_strategy (BuildStrategy), exec_strategy (ExecutionStrategy): the strategies.
        """
        if self._compiled_program is not None:
            raise AssertionError("Cannot set strategy after run")
        self._build_strategy, self._exec_strategy = build_strategy, exec_strategy

    def _take_parameters(self):
        for name, tensor in self._params.items():
            self._scope.var(name).get_tensor().set(tensor.numpy(), self._place)

    def _compiled(self):
        if self._build_strategy is None and self._exec_strategy is None:
            return self._program
        return CompiledProgram(self._program).with_data_parallel(
            build_strategy=self._build_strategy, exec_strategy=self._exec_strategy, places=self._place)

    @switch_to_static_graph
    def _run(self, feed):
        with scope_guard(self._scope):
            if self._compiled_program is None:
                self._compiled_program = self._compiled()
            return self._exe.run(self._compiled_program, feed=feed, fetch_list=self._fetch_names)

    def __call__(self, inputs):
        if not isinstance(inputs, (list, tuple)):
            raise AssertionError("Inputs should be a list or tuple of variables")
        given = extract_vars(inputs) if in_dygraph_mode() else list(inputs)
        if len(given) != len(self._feed_names):
            raise AssertionError("the program takes %d inputs, not %d" % (len(self._feed_names), len(given)))
        self._take_parameters()
        return self._run({name: x.numpy() if isinstance(x, VarBase) else x for name, x in zip(self._feed_names, given)})

    @switch_to_static_graph
    def save_inference_model(self, dirname, feed=None, fetch=None):
        """Saves the program and its parameters for inference, as ``fluid.io.save_inference_model`` does.

        Args:
            dirname (str): the directory.
            feed (list), fetch (list): positions of the inputs and outputs that are kept; all by default.
        """
        from ..io import save_inference_model

        chosen = lambda names, kept: names if kept is None else [names[at] for at in kept]
        self._take_parameters()
        block = self._program.global_block()
        with scope_guard(self._scope):
            save_inference_model(
                dirname, chosen(self._feed_names, feed), [block.var(name) for name in chosen(self._fetch_names, fetch)], self._exe,
                main_program=self._program.clone())
