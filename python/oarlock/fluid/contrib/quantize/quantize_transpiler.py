"""Training with the errors of integer inference: inputs of convolutions and products are rounded to a few levels."""

import numpy as np

from ... import core, unique_name
from ...executor import global_scope
from ...framework import default_main_program, default_startup_program, program_guard
from ...initializer import Constant
from ...layer_helper import LayerHelper
from ...layers import autoincreased_step_counter
from ...param_attr import ParamAttr

__all__ = ["QuantizeTranspiler"]

_OPERATORS = ("conv2d", "depthwise_conv2d", "mul")
_GRADIENTS = tuple(op + "_grad" for op in _OPERATORS)
_KINDS = ("abs_max", "range_abs_max", "moving_average_abs_max")
_SUFFIXES = (".quantized.dequantized", ".quantized", ".dequantized", ".scale")


def _original(name):
    """The variable that a quantized one was made of."""
    return next((name[: -len(suffix)] for suffix in _SUFFIXES if name.endswith(suffix)), name)


def _greatest(bits):
    """The greatest level of this number of bits, one of them the sign."""
    return (1 << (bits - 1)) - 1


def _inputs(op):
    """The names of all inputs, in the order of slots that Fluid keeps."""
    return [name for slot in sorted(op.input_names) for name in op.input(slot)]


class QuantizeTranspiler:
    """Rewrites programs so that training feels the errors of integer inference.

    ``training_transpile`` rounds the inputs of ``conv2d``, ``depthwise_conv2d`` and ``mul`` to levels, as floats, and turns
    them back; the gradients pass as if nothing had been rounded. ``freeze_program`` then puts the levels of the weights into
    the scope, for inference; ``convert_to_int8`` stores them in one byte each.

    Args:
        weight_bits (int): the bits of weights.
        activation_bits (int): the bits of all other inputs.
        activation_quantize_type (str): the scale of activations: ``abs_max``: the greatest absolute value of the batch;
            ``range_abs_max``: the greatest of the last ``window_size`` steps; ``moving_average_abs_max``: a moving average.
        weight_quantize_type (str): the same of weights.
        window_size (int): the steps that ``range_abs_max`` looks back.
        moving_rate (float): how much of the earlier steps ``moving_average_abs_max`` keeps.

    Raises:
        ValueError: a type is unknown.

    Example:
        >>> x, label = fluid.data("x", [None, 4]), fluid.data("label", [None, 1], "int64")
        >>> predict = fluid.layers.fc(x, 3, act="softmax")
        >>> loss = fluid.layers.mean(fluid.layers.cross_entropy(predict, label))
        >>> test_program = fluid.default_main_program().clone(for_test=True)
        >>> fluid.optimizer.SGD(0.1).minimize(loss)  # doctest: +ELLIPSIS
        (...)
        >>> transpiler = fluid.contrib.quantize.QuantizeTranspiler()
        >>> transpiler.training_transpile()
        >>> [op.type for op in fluid.default_main_program().block(0).ops][:5]
        ['fake_quantize_abs_max', 'fake_dequantize_max_abs', 'fake_quantize_abs_max', 'fake_dequantize_max_abs', 'mul']
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> feed = {"x": np.ones([2, 4], "float32"), "label": np.zeros([2, 1], "int64")}
        >>> _ = exe.run(feed=feed, fetch_list=[loss])
        >>> transpiler.training_transpile(test_program, fluid.Program())
        >>> transpiler.freeze_program(test_program, fluid.CPUPlace())
        >>> [op.type for op in test_program.block(0).ops][:3]
        ['fake_quantize_abs_max', 'mul', 'fake_dequantize_max_abs']
        >>> exe.run(test_program, feed=feed, fetch_list=[predict.name])[0].shape
        (2, 3)
    """

    def __init__(self, weight_bits=8, activation_bits=8, activation_quantize_type="abs_max", weight_quantize_type="abs_max",
                 window_size=10000, moving_rate=0.9):
        for name, kind in (("weight", weight_quantize_type), ("activation", activation_quantize_type)):
            if kind not in _KINDS:
                raise ValueError("%s_quantize_type must be one of %s, not %r" % (name, ", ".join(_KINDS), kind))
        self.weight_bits, self.activation_bits = weight_bits, activation_bits
        self.weight_quantize_type, self.activation_quantize_type = weight_quantize_type, activation_quantize_type
        self.window_size, self.moving_rate = window_size, moving_rate
        self.helper = LayerHelper(type(self).__name__)
        self.is_test = None
        self.global_step = None

    def training_transpile(self, program=None, startup_program=None):
        """Rounds the inputs of convolutions and products, in place.

        Args:
            program (Program): the program, before or after ``minimize``; ``None``: the default main program.
            startup_program (Program): gets the first values of scales; ``None``: the default startup program.

        Raises:
            ValueError: a gradient operator has no forward operator in its block.
        """
        self.is_test = False
        program = default_main_program() if program is None else program
        startup_program = default_startup_program() if startup_program is None else startup_program
        params = {param.name for param in program.global_block().iter_parameters()}
        with program_guard(program, startup_program):
            if "range_abs_max" in (self.weight_quantize_type, self.activation_quantize_type):
                self.global_step = autoincreased_step_counter()
            for block in program.blocks:
                rounded = {}
                for op in list(block.ops):
                    if op.type in _OPERATORS:
                        self._round_inputs(block, op, params, rounded)
                    elif op.type in _GRADIENTS:
                        names = [name for name in _inputs(op) if name in rounded]
                        if not names:
                            raise ValueError("no input of %s was quantized: its forward operator is not in block %d" % (op.type, block.idx))
                        for name in names:
                            op._rename_input(name, rounded[name])

    def _round_inputs(self, block, op, params, rounded):
        # Fluid puts the operators of each input where the operator stood, so those of the last input come first.
        index = op.idx
        for name in _inputs(op):
            if name not in rounded:
                var = block._find_var_recursive(name)
                weight = name in params
                bits = self.weight_bits if weight else self.activation_bits
                kind = self.weight_quantize_type if weight else self.activation_quantize_type
                quantized, scale = getattr(self, "_insert_" + kind)(block, index, var, bits)
                back = self._like(block, quantized, ".dequantized")
                block._insert_op(
                    index + 1, type="fake_dequantize_max_abs", attrs={"max_range": float(_greatest(bits))},
                    inputs={"X": quantized, "Scale": scale}, outputs={"Out": back},
                )
                rounded[name] = back.name
            op._rename_input(name, rounded[name])

    @staticmethod
    def _like(block, var, suffix):
        return block.create_var(name=var.name + suffix, type=var.type, shape=var.shape, dtype=var.dtype)

    def _insert_abs_max(self, block, index, var, bits):
        quantized, scale = self._like(block, var, ".quantized"), self._like(block, var, ".scale")
        block._insert_op(
            index, type="fake_quantize_abs_max", attrs={"bit_length": bits}, inputs={"X": var},
            outputs={"Out": quantized, "OutScale": scale},
        )
        return quantized, scale

    def _scale(self, var):
        attr = ParamAttr(name=var.name + ".scale", initializer=Constant(0.001), trainable=False)
        scale = self.helper.create_parameter(attr=attr, shape=[1], dtype=var.dtype)
        scale.stop_gradient = True
        return scale

    def _state(self, key, var, size, first):
        state = self.helper.create_global_variable(
            name=unique_name.generate(key), persistable=True, dtype=var.dtype, shape=[size]
        )
        self.helper.set_variable_initializer(state, initializer=Constant(value=first))
        return state

    def _insert_range_abs_max(self, block, index, var, bits):
        quantized, scale = self._like(block, var, ".quantized"), self._scale(var)
        scales = self._state("scales", var, self.window_size, 0)
        block._insert_op(
            index, type="fake_quantize_range_abs_max", inputs={"X": var, "InScale": scale, "Iter": self.global_step},
            outputs={"Out": quantized, "OutScale": scale, "OutScales": scales},
            attrs={"window_size": self.window_size, "bit_length": bits, "is_test": self.is_test},
        )
        return quantized, scale

    def _insert_moving_average_abs_max(self, block, index, var, bits):
        quantized = self._like(block, var, ".quantized")
        state, accum = self._state("state", var, 1, 1), self._state("accum", var, 1, 1)
        scale = self._scale(var)
        block._insert_op(
            index, type="fake_quantize_moving_average_abs_max",
            inputs={"X": var, "InScale": scale, "InState": state, "InAccum": accum},
            outputs={"Out": quantized, "OutScale": scale, "OutState": state, "OutAccum": accum},
            attrs={"bit_length": bits, "moving_rate": self.moving_rate, "is_test": self.is_test},
        )
        return quantized, scale

    def freeze_program(self, program, place, scope=None):
        """Makes a program of inference, in place: weights in the scope become levels, and results are scaled once.

        Args:
            program (Program): a program that ``training_transpile`` rewrote and ``clone(for_test=True)`` copied.
            place (CPUPlace): where the weights are.
            scope (Scope): holds the weights, which are overwritten; ``None``: the global scope.

        Raises:
            ValueError: an operator has more than one result, or an input that was not quantized.
        """
        self.is_test = True
        scope = global_scope() if scope is None else scope
        program = default_main_program() if program is None else program
        stored = {var.name for var in program.list_vars() if var.persistable}
        for block in program.blocks:
            # Names that operators read instead of those of removed operators, and of results before they are scaled.
            inputs, results, scales = {}, {}, {}
            for op in list(block.ops):
                for name in _inputs(op):
                    if name in results:
                        op._rename_input(name, results[name])
                if op.type in ["fake_quantize_" + kind for kind in _KINDS]:
                    name = op.input("X")[0]
                    if name in stored:
                        scales[name] = self._store_levels(op, name, scope, place)
                        self._drop(block, op, inputs)
                    else:
                        scales[name] = block._find_var_recursive(op.output("OutScale")[0])
                elif op.type == "fake_dequantize_max_abs":
                    self._drop(block, op, inputs)
                elif op.type in _OPERATORS:
                    self._scale_result(block, op, inputs, results, scales)
        self._remove_unused_vars(program)

    @staticmethod
    def _drop(block, op, inputs):
        out, x = op.output("Out")[0], op.input("X")[0]
        inputs[out] = inputs.get(x, x)
        block._remove_op(op.idx)

    def _store_levels(self, op, name, scope, place):
        """Replaces a weight by its levels; returns its scale."""
        tensor = scope.find_var(name).get_tensor()
        weight = np.array(tensor)
        if self.weight_quantize_type == "abs_max":
            scale = np.max(np.abs(weight))
        else:
            scale = np.array(scope.find_var(op.output("OutScale")[0]).get_tensor()).reshape(-1)[0]
        tensor.set(np.round(weight / scale * _greatest(self.weight_bits)), place)
        return float(scale)

    def _scale_result(self, block, op, inputs, results, scales):
        if len(op.output_arg_names) != 1:
            raise ValueError("%s has %d results, but one can be scaled" % (op.type, len(op.output_arg_names)))
        max_range = scale = None
        for name in _inputs(op):
            if _original(name) not in scales:
                raise ValueError("input %s of %s was not quantized: call training_transpile first" % (name, op.type))
            found = scales[_original(name)]
            op._rename_input(name, inputs.get(name, name))
            if isinstance(found, float):
                max_range = _greatest(self.weight_bits) * _greatest(self.activation_bits) / found
            else:
                scale = found
        if max_range is None or scale is None:
            raise ValueError("%s needs a weight and an activation, but has %s" % (op.type, ", ".join(_inputs(op))))
        out = block._find_var_recursive(op.output_arg_names[0])
        scaled = self._like(block, out, ".dequantized")
        block._insert_op(
            op.idx + 1, type="fake_dequantize_max_abs", attrs={"max_range": float(max_range)},
            inputs={"X": out, "Scale": scale}, outputs={"Out": scaled},
        )
        results[out.name] = scaled.name

    def convert_to_int8(self, program, place, scope=None):
        """Stores the weights of a frozen program in one byte each, as parameters ``NAME.int8``, in place.

        Such a program is for other engines of inference: as in Fluid, the operators of this one compute with floats.

        Args:
            program (Program): a program that ``freeze_program`` made.
            place (CPUPlace): where the weights are.
            scope (Scope): holds the weights; ``None``: the global scope.
        """
        scope = global_scope() if scope is None else scope
        program = default_main_program() if program is None else program
        made = {}
        for block in program.blocks:
            for op in block.ops:
                for name in _inputs(op) if op.type in _OPERATORS else ():
                    var = block._find_var_recursive(name)
                    if not var.persistable:
                        continue
                    if name not in made:
                        made[name] = name + ".int8"
                        program.global_block().create_parameter(
                            name=made[name], type=var.type, dtype=core.VarDesc.VarType.INT8, shape=var.shape
                        )
                        weight = np.array(scope.find_var(name).get_tensor()).astype(np.int8)
                        scope.var(made[name]).get_tensor().set(weight, place)
                    op._rename_input(name, made[name])
        self._remove_unused_vars(program)

    @staticmethod
    def _remove_unused_vars(program):
        for block in program.blocks:
            used = {name for op in block.ops for name in op.input_arg_names + op.output_arg_names}
            for name in [name for name in block.vars if name not in used]:
                block._remove_var(name)
