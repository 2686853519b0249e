"""Programs of layers that run eagerly: for inference without Python."""

import contextlib

from .. import _state, unique_name
from ..._core import VarBase
from ..compiler import CompiledProgram
from ..executor import Executor, scope_guard
from ..core import Scope
from ..framework import (
    Program, Variable, _current_expected_place, _dygraph_guard, dygraph_only, in_dygraph_mode, program_guard,
)
from .base import switch_to_static_graph
from .layers import Layer

__all__ = ["TracedLayer"]


def extract_vars(inputs):
    """Returns the variables in nested lists and tuples.

    Args:
        inputs (Variable, list or tuple): the structure.
    """
    if isinstance(inputs, (list, tuple)):
        return [var for each in inputs for var in extract_vars(each)]
    return [inputs] if isinstance(inputs, (Variable, VarBase)) else []


class _Tensors:
    """Makes variables of a program of eager tensors; remembers the tensors by the names of the variables."""

    def __init__(self, block):
        self.block, self.found = block, {}

    def __call__(self, tensor):
        name, block = tensor.name, self.block
        if name not in self.found:
            self.found[name] = tensor
            if getattr(tensor, "trainable", None) is None:
                block.create_var(name=name, shape=tensor.shape, dtype=tensor.dtype, persistable=True, stop_gradient=True)
            else:
                made = block.create_parameter(name=name, shape=tensor.shape, dtype=tensor.dtype, trainable=tensor.trainable)
                made.stop_gradient = tensor.stop_gradient
        return block.var(name)


@contextlib.contextmanager
def _parameters_of(layer, tensors):
    """Inside the block, parameters and buffers of a layer are variables of a program."""
    replaced = []
    for each in [layer] + layer.sublayers():
        for owned in (each._parameters, each._buffers):
            for name, tensor in list(owned.items()):
                if isinstance(tensor, VarBase):
                    replaced.append((owned, name, tensor))
                    owned[name] = tensors(tensor)
    outer, _state.tracing = _state.tracing, tensors
    try:
        yield
    finally:
        _state.tracing = outer
        for owned, name, tensor in replaced:
            owned[name] = tensor


def _as_static(structure, feeds):
    """The structure with a variable of the program in the place of every tensor; ``feeds`` gets them."""
    if isinstance(structure, (list, tuple)):
        return type(structure)(_as_static(each, feeds) for each in structure)
    if not isinstance(structure, VarBase):
        return structure
    from ..layers.io import data

    made = data("feed_%d" % len(feeds), list(structure.shape), dtype=structure.dtype, append_batch_size=False)
    made.stop_gradient = structure.stop_gradient
    feeds.append(made)
    return made


def _build(layer, inputs):
    """The program of a layer: its main and startup program, feeds, fetches, and tensors by name."""
    main, startup, feeds = Program(), Program(), []
    tensors = _Tensors(main.global_block())
    with _dygraph_guard(None), program_guard(main, startup), unique_name.guard():
        with _parameters_of(layer, tensors):
            outputs = layer(*_as_static(list(inputs), feeds))
        fetches = [v.name for v in extract_vars(outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    return main, startup, [v.name for v in feeds], fetches, tensors.found


class TracedLayer:
    """The program of a layer, made by ``TracedLayer.trace``. It computes with the parameters of the layer."""

    def __init__(self, program, startup, parameters, feed_names, fetch_names):
        self._program, self._params = program, parameters
        self._feed_names, self._fetch_names = feed_names, fetch_names
        self._place, self._scope = _current_expected_place(), Scope()
        self._exe = Executor(self._place)
        self._compiled_program, self._build_strategy, self._exec_strategy = None, None, None
        with _dygraph_guard(None), scope_guard(self._scope):
            # First values of parameters that the layer made while it was called.
            self._exe.run(startup)

    @property
    def program(self):
        """The program."""
        return self._program

    @staticmethod
    @dygraph_only
    def trace(layer, inputs):
        """Calls a layer, and makes its program by calling it a second time with variables of a program. A ``forward`` that looks at the
        values of tensors (``numpy()``, ``if x > 0``) cannot be made one.

        Args:
            layer (Layer): the layer.
            inputs (Variable or list): its inputs; the program takes inputs of their sizes.

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
        outputs = layer(*inputs)
        main, startup, feeds, fetches, tensors = _build(layer, inputs)
        return outputs, TracedLayer(main, startup, tensors, feeds, fetches)

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
