"""Programs of eager layers: run without Python, or saved for prediction."""

import numpy as np

from ... import _core
from .. import io
from ..executor import Executor, scope_guard
from ..framework import Program, Variable, _dygraph_tracer, in_dygraph_mode
from ..core import CPUPlace, Scope
from .layers import Layer

__all__ = ["TracedLayer"]


class TracedLayer:
    """The program of one call of a layer. Make one with :meth:`trace`.

    Loops and branches of the layer's ``forward`` are in it as that call took them.

    Example:
        >>> with fluid.dygraph.guard():
        ...     layer = fluid.dygraph.Linear(4, 2)
        ...     x = fluid.dygraph.to_variable(np.ones([3, 4], "float32"))
        ...     out, traced = fluid.dygraph.TracedLayer.trace(layer, inputs=[x])
        ...     bool(np.allclose(out.numpy(), traced([x])[0]))
        True
    """

    def __init__(self, program, parameters, feed_names, fetch_names):
        self._program, self._feed_names, self._fetch_names = program, feed_names, fetch_names
        self._place, self._scope = CPUPlace(), Scope()
        for name, tensor in parameters:
            self._scope.var(name).get_tensor().set(tensor.numpy(), self._place)
        self._exe = Executor(self._place)
        self._build_strategy = self._exec_strategy = None
        self._to_run = None

    @property
    def program(self):
        """The program."""
        return self._program

    @staticmethod
    def trace(layer, inputs):
        """Calls a layer and records the operators it runs.

        Args:
            layer (fluid.dygraph.Layer): the layer.
            inputs (list of Variable): the arguments of its ``forward``.

        Returns:
            tuple: the layer's output, and a TracedLayer.

        Raises:
            AssertionError: outside eager mode, or ``layer`` is no Layer.
        """
        if not in_dygraph_mode():
            raise AssertionError("TracedLayer.trace works in eager mode: call it inside fluid.dygraph.guard()")
        if not isinstance(layer, Layer):
            raise AssertionError("the layer of TracedLayer.trace is a fluid.dygraph.Layer, not %s" % type(layer).__name__)
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        for value in inputs:
            if not isinstance(value, Variable):
                raise AssertionError("the inputs of TracedLayer.trace are Variables, not %s" % type(value).__name__)
        feed_names = ["feed_%d" % i for i in range(len(inputs))]
        fetch_names = []

        def named(outputs):
            flat = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            fetch_names.extend("traced_out_%d" % i for i in range(len(flat)))
            return list(zip(feed_names, inputs)) + list(zip(fetch_names, flat))

        tracer = _dygraph_tracer()
        grad, tracer._has_grad = tracer._has_grad, False
        try:
            outputs, desc, values = _core.Eager.trace(tracer, lambda: layer(*inputs), named)
        finally:
            tracer._has_grad = grad
        return outputs, TracedLayer(Program(desc), values, feed_names, fetch_names)

    def set_strategy(self, build_strategy=None, exec_strategy=None):
        """Sets how the program runs; before the first run.

        Args:
            build_strategy (BuildStrategy, optional): choices of compilation.
            exec_strategy (ExecutionStrategy, optional): choices of execution.
        """
        if self._to_run is not None:
            raise AssertionError("set_strategy comes before the first run")
        self._build_strategy, self._exec_strategy = build_strategy, exec_strategy

    def __call__(self, inputs):
        """Runs the program; returns a list of arrays."""
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(inputs) != len(self._feed_names):
            raise AssertionError("%d inputs were traced, not %d" % (len(self._feed_names), len(inputs)))
        feed = {name: x.numpy() if isinstance(x, Variable) else np.asarray(x) for name, x in zip(self._feed_names, inputs)}
        if self._to_run is None:
            from ..compiler import CompiledProgram

            self._to_run = CompiledProgram(self._program, build_strategy=self._build_strategy)
        with scope_guard(self._scope):
            return self._exe.run(self._to_run, feed=feed, fetch_list=self._fetch_names, scope=self._scope)

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """Saves the program and its parameters for prediction; ``fluid.io.load_inference_model`` and predictors load it.

        Args:
            dirname (str): the directory.
            feed (list of int, optional): which inputs to feed; all without it.
            fetch (list of int, optional): which outputs to fetch; all without it.
        """

        def chosen(names, at, what):
            if at is None:
                return list(names)
            if not isinstance(at, (list, tuple)) or not all(isinstance(i, int) for i in at):
                raise TypeError("%s is a list of positions, not %r" % (what, at))
            return [names[i] for i in at]

        feeds, fetches = chosen(self._feed_names, feed, "feed"), chosen(self._fetch_names, fetch, "fetch")
        block = self._program.global_block()
        with scope_guard(self._scope):
            io.save_inference_model(
                dirname=dirname, feeded_var_names=feeds, target_vars=[block.var(name) for name in fetches],
                executor=self._exe, main_program=self._program.clone(),
            )
