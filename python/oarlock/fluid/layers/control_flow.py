"""Control flow: blocks that run while, if, or once per step."""

import contextlib

from ... import _core
from .. import _state
from ..core import VarDesc
from ..framework import Variable, default_main_program
from ._structure import flatten, rebuild
from ._names import fallback
from ._generated import control_flow as _generated
from ._generated.control_flow import *  # noqa: F403

__all__ = [
    *_generated.__all__,
    "DynamicRNN", "IfElse", "StaticRNN", "Switch", "While", "case", "cond", "switch_case", "while_loop",
]

__getattr__ = fallback(__name__)


class _Construct:
    """A construct of the core that is entered and left."""

    def __init__(self, kind, **args):
        main = default_main_program()
        self._core = _core.Construct(_state.builder, main._context(), kind, args)

    def _step(self, step, **args):
        main = default_main_program()
        return self._core.call(_state.builder, main._context(), step, args, main._wrap)

    @contextlib.contextmanager
    def _inside(self, enter, status=None, **args):
        """Builds a block; ``status`` is what the construct is in and after it."""
        main = default_main_program()
        outer = main.current_block_idx
        self._step(enter, **args)
        if status:
            self.status = status[0]
        try:
            yield
        except BaseException:
            # The block stays as far as it was built; building goes on outside.
            main.current_block_idx = outer
            raise
        self._left = self._step("leave")
        if status:
            self.status = status[1]


def _check_bool(cond, what):
    if not isinstance(cond, Variable):
        raise TypeError("the condition of %s must be a Variable, not %r" % (what, cond))
    if cond.dtype != VarDesc.VarType.BOOL:
        raise TypeError("the condition of %s must be one bool, but %s is %s" % (what, cond.name, cond.dtype))
    if any(size > 1 for size in cond.shape):
        raise TypeError("the condition of %s must be one bool, but %s has shape %s" % (what, cond.name, tuple(cond.shape)))


class While(_Construct):
    """Runs its block as long as a condition holds, which the block must update: ``with While(cond).block():``."""

    BEFORE_WHILE_BLOCK = 0
    IN_WHILE_BLOCK = 1
    AFTER_WHILE_BLOCK = 2

    def __init__(self, cond, is_test=False, name=None):
        _check_bool(cond, "While")
        super().__init__("while", cond=cond, is_test=is_test, name=name)
        self.status = While.BEFORE_WHILE_BLOCK

    def block(self):
        """The body."""
        return self._inside("enter", (While.IN_WHILE_BLOCK, While.AFTER_WHILE_BLOCK))


class Switch(_Construct):
    """Cases are tried in order; at most one runs."""

    def __init__(self, name=None):
        super().__init__("switch", name=name)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    def case(self, condition):
        """Runs if the condition holds and no earlier one did."""
        return self._inside("case", condition=condition)

    def default(self):
        """Runs if no case did."""
        return self._inside("default")


class ConditionalBlock(_Construct):
    """Runs its block if a condition holds."""

    def __init__(self, inputs, is_scalar_condition=False, name=None):
        super().__init__("cond", cond=inputs[0], is_scalar_condition=is_scalar_condition, name=name)

    def block(self):
        """The body."""
        return self._inside("enter")


class IfElse(_Construct):
    """Rows for which a condition holds go through one block, the others through another; outputs are merged in order."""

    OUT_IF_ELSE_BLOCKS = 0
    IN_IF_ELSE_TRUE_BLOCKS = 1
    IN_IF_ELSE_FALSE_BLOCKS = 2

    def __init__(self, cond, name=None):
        super().__init__("if_else", cond=cond, name=name)
        self.status = IfElse.OUT_IF_ELSE_BLOCKS

    def true_block(self):
        """The block of rows for which the condition holds."""
        return self._inside("true_block", (IfElse.IN_IF_ELSE_TRUE_BLOCKS, IfElse.OUT_IF_ELSE_BLOCKS))

    def false_block(self):
        """The block of the other rows."""
        return self._inside("false_block", (IfElse.IN_IF_ELSE_FALSE_BLOCKS, IfElse.OUT_IF_ELSE_BLOCKS))

    def input(self, x):
        """The rows of ``x`` that go through the current block."""
        return self._step("input", x=x)

    def output(self, *outs):
        """Adds outputs of the current block."""
        self._step("output", outs=list(outs))

    def __call__(self):
        return self._step("merge")


class StaticRNN(_Construct):
    """A step over sequences that are all as long as the inputs' first dimension."""

    BEFORE_RNN_BLOCK = 0
    IN_RNN_BLOCK = 1
    AFTER_RNN_BLOCK = 2

    def __init__(self, name=None):
        super().__init__("static_rnn", name=name)
        self.status = StaticRNN.BEFORE_RNN_BLOCK

    def step(self):
        """The step."""
        return self._inside("enter", (StaticRNN.IN_RNN_BLOCK, StaticRNN.AFTER_RNN_BLOCK))

    def step_input(self, x):
        """The current step's slice of an input ``[length, batch, ...]``."""
        return self._step("step_input", x=x)

    def memory(self, init=None, shape=None, batch_ref=None, init_value=0.0, init_batch_dim_idx=0, ref_batch_dim_idx=1):
        """A memory: a variable that is carried from step to step."""
        return self._step(
            "memory", init=init, shape=shape, batch_ref=batch_ref, init_value=init_value,
            init_batch_dim_idx=init_batch_dim_idx, ref_batch_dim_idx=ref_batch_dim_idx,
        )

    def update_memory(self, mem, var):
        """Sets the value of a memory after the step."""
        self._step("update_memory", mem=mem, var=var)

    def step_output(self, o):
        """An output of every step."""
        self._step("step_output", o=o)

    def output(self, *outputs):
        """Outputs of every step."""
        for each in outputs:
            self.step_output(each)

    def __call__(self, *args, **kwargs):
        return self._left[0] if len(self._left) == 1 else self._left


class DynamicRNN(_Construct):
    """A step over sequences of different lengths: longest first; one that ended takes no part any more."""

    BEFORE_RNN = 0
    IN_RNN = 1
    AFTER_RNN = 2

    def __init__(self, name=None):
        super().__init__("dynamic_rnn", name=name)
        self.status = DynamicRNN.BEFORE_RNN

    def block(self):
        """The step."""
        return self._inside("enter", (DynamicRNN.IN_RNN, DynamicRNN.AFTER_RNN))

    def step_input(self, x, level=0):
        """The current step's rows of sequences."""
        return self._step("step_input", x=x, level=level)

    def static_input(self, x):
        """The rows of a variable that belong to the sequences that still run."""
        return self._step("static_input", x=x)

    def memory(self, init=None, shape=None, value=0.0, need_reorder=False, dtype="float32"):
        """A memory: a variable that is carried from step to step."""
        return self._step("memory", init=init, shape=shape, value=value, need_reorder=need_reorder, dtype=dtype)

    def update_memory(self, ex_mem, new_mem):
        """Sets the value of a memory after the step."""
        self._step("update_memory", ex_mem=ex_mem, new_mem=new_mem)

    def output(self, *outputs):
        """Outputs of every step."""
        self._step("output", outputs=list(outputs))

    def __call__(self, *args, **kwargs):
        return self._left[0] if len(self._left) == 1 else self._left


class _Flat:
    """A function whose nested result is remembered and returned flat."""

    def __init__(self, fn):
        if fn is not None and not callable(fn):
            raise TypeError("a branch must be callable, not %r" % (fn,))
        self.fn, self.result = fn, None

    def __call__(self):
        self.result = None if self.fn is None else self.fn()
        return flatten(self.result)


def _finish(branches, outs):
    like = next((b.result for b in branches if b.result is not None), None)
    return rebuild(like, iter(outs))


def _check_callable(layer, **functions):
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TypeError("The %s in %s must be callable, but received %r" % (name, layer, type(function)))


def _holds(pred, what):
    """Whether a condition of eager mode holds."""
    # Scripts written for Fluid catch AssertionError here.
    if not isinstance(pred, Variable):
        raise AssertionError("The pred in %s must be Variable" % what)
    value = pred.numpy()
    if value.size != 1:
        raise AssertionError("condition input's numel should be 1")
    return bool(value.reshape(-1)[0])


def _cond_at_once(pred, true_fn, false_fn):
    chosen = ("true_fn", true_fn) if _holds(pred, "cond") else ("false_fn", false_fn)
    _check_callable("cond", **{chosen[0]: chosen[1]})
    return None if chosen[1] is None else chosen[1]()


def _case_at_once(pairs, default):
    for pred, fn in pairs:
        if _holds(pred, "case"):
            _check_callable("case", fn=fn)
            return fn()
    # Without a default, the last one is it.
    fn = pairs[-1][1] if default is None else default
    _check_callable("case", default=fn)
    return fn()


def _loop_at_once(cond, body, loop_vars):
    while _holds(cond(*loop_vars), "while_loop"):
        made = body(*loop_vars)
        made = made if isinstance(made, (list, tuple)) else [made]
        if len(made) != len(loop_vars):
            raise ValueError("body in while_loop should return the same arity (length and structure) and types as loop_vars")
        loop_vars = made
    return loop_vars


def cond(pred, true_fn=None, false_fn=None, name=None):
    """The results of ``true_fn`` if ``pred`` holds, else those of ``false_fn``; both must return as many."""
    if _state.tracer is not None:
        return _cond_at_once(pred, true_fn, false_fn)
    if not isinstance(pred, Variable):
        raise TypeError("pred of cond must be a Variable, not %r" % (pred,))
    if name is not None and not isinstance(name, str):
        raise TypeError("name of cond must be str, not %r" % (name,))
    _check_callable("cond", true_fn=true_fn, false_fn=false_fn)
    main = default_main_program()
    branches = [_Flat(true_fn), _Flat(false_fn)]
    outs = _core.cond(_state.builder, main._context(), pred, branches[0], branches[1], main._wrap)
    return _finish(branches, outs)


def case(pred_fn_pairs, default=None, name=None):
    """The results of the first function whose condition holds; without ``default``, the last one needs none."""
    if _state.tracer is not None:
        return _case_at_once(pred_fn_pairs, default)
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise TypeError("pred_fn_pairs of case must be a list or a tuple, not %r" % type(pred_fn_pairs))
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Variable):
            raise TypeError("pred_fn_pairs of case holds pairs of a boolean Variable and a function, not %r" % (pair,))
        _check_callable("case", fn=pair[1])
    _check_callable("case", default=default)
    main = default_main_program()
    pairs = [(pred, _Flat(fn)) for pred, fn in pred_fn_pairs]
    other = None if default is None else _Flat(default)
    outs = _core.case(_state.builder, main._context(), pairs, other, main._wrap)
    return _finish([b for _, b in pairs] + ([other] if other else []), outs)


def switch_case(branch_index, branch_fns, default=None, name=None):
    """The results of the function with this number; without ``default``, the largest number stands for all others."""
    main = default_main_program()
    if not isinstance(branch_index, Variable):
        raise TypeError("branch_index of switch_case must be a Variable, not %r" % (branch_index,))
    if branch_index.dtype not in (VarDesc.VarType.UINT8, VarDesc.VarType.INT32, VarDesc.VarType.INT64):
        raise TypeError("branch_index of switch_case must be uint8, int32 or int64, but %s is %s" % (branch_index.name, branch_index.dtype))
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    if not isinstance(branch_fns, (list, tuple)):
        raise TypeError("branch_fns of switch_case must be a list, a tuple or a dict, not %r" % (branch_fns,))
    numbered = [f if isinstance(f, (list, tuple)) else (i, f) for i, f in enumerate(branch_fns)]
    for pair in numbered:
        if len(pair) != 2 or not isinstance(pair[0], int):
            raise TypeError("a branch of switch_case is a function, or an int and a function, not %r" % (pair,))
        _check_callable("switch_case", fn=pair[1])
    _check_callable("switch_case", default=default)
    if len({number for number, _ in numbered}) != len(numbered):
        raise ValueError("two branches of switch_case have the same number")
    if _state.tracer is not None:
        other = max(numbered, key=lambda pair: pair[0])[1] if default is None else default
        return dict(numbered).get(int(branch_index), other)()
    branches = [(number, _Flat(fn)) for number, fn in numbered]
    other = None if default is None else _Flat(default)
    outs = _core.switch_case(_state.builder, main._context(), branch_index, branches, other, main._wrap)
    return _finish([b for _, b in branches] + ([other] if other else []), outs)


def _helper(name):
    # Later: helpers need the layers.
    from ..layer_helper import LayerHelper

    return LayerHelper(name)


def split_lod_tensor(input, mask, level=0):
    """Splits sequences in two by a mask.

    Args:
        input (Variable): sequences, or rows.
        mask (Variable): bool ``[sequences, 1]``.
        level (int): the LoD level whose sequences the mask tells apart.

    Returns:
        tuple: those where the mask is true, and the others.

    Example:
        >>> x = fluid.layers.assign(np.array([[1.0], [2.0], [3.0]], "float32"))
        >>> mask = fluid.layers.assign(np.array([[True], [False], [True]]))
        >>> both = fluid.layers.control_flow.split_lod_tensor(x, mask)
        >>> [v.ravel().tolist() for v in fluid.Executor().run(fetch_list=list(both))]
        [[1.0, 3.0], [2.0]]
    """
    for what, given in (("input", input), ("mask", mask)):
        if not isinstance(given, (Variable, list, tuple)):
            raise TypeError("%s of split_lod_tensor must be a Variable, not %r" % (what, type(given)))
    if not isinstance(level, int):
        raise TypeError("level of split_lod_tensor must be int, not %r" % type(level))
    helper = _helper("split_lod_tensor")
    out_true = helper.create_variable_for_type_inference(dtype=input.dtype)
    out_false = helper.create_variable_for_type_inference(dtype=input.dtype)
    helper.append_op(type="split_lod_tensor", inputs={"X": [input], "Mask": [mask]},
                     outputs={"OutTrue": [out_true], "OutFalse": [out_false]}, attrs={"level": level})
    return out_true, out_false


def merge_lod_tensor(in_true, in_false, x, mask, level=0):
    """Puts together what `split_lod_tensor` made.

    Args:
        in_true (Variable): the sequences where the mask is true.
        in_false (Variable): the others.
        x (Variable): has the LoD levels above ``level``.
        mask (Variable): bool ``[sequences, 1]``.
        level (int): the LoD level whose sequences the mask tells apart.

    Returns:
        Variable: all sequences.
    """
    for what, given in (("in_true", in_true), ("in_false", in_false), ("x", x), ("mask", mask)):
        if not isinstance(given, (Variable, list, tuple)):
            raise TypeError("%s of merge_lod_tensor must be a Variable, not %r" % (what, type(given)))
    helper = _helper("merge_lod_tensor")
    out = helper.create_variable_for_type_inference(dtype=in_true.dtype)
    helper.append_op(type="merge_lod_tensor", inputs={"X": [x], "Mask": [mask], "InTrue": [in_true], "InFalse": [in_false]},
                     outputs={"Out": [out]}, attrs={"level": level})
    return out


def _check_mask(layer, mask):
    if not isinstance(mask, Variable) or mask.dtype != VarDesc.VarType.INT32:
        raise TypeError("mask of %s must be an int32 Variable, not %r" % (layer, mask))


def select_output(input, outputs, mask):
    """Copies a variable to one of several.

    Args:
        input (Variable): what to copy.
        outputs (list): the variables.
        mask (Variable): one int32: which.

    Returns:
        list: ``outputs``.
    """
    _check_mask("select_output", mask)
    if not isinstance(input, Variable) or not isinstance(outputs, (list, tuple)) or not all(isinstance(v, Variable) for v in outputs):
        raise TypeError("select_output takes a Variable and a list of Variables, not %r and %r" % (input, outputs))
    _helper("select_output").append_op(type="select_output", inputs={"X": [input], "Mask": [mask]}, outputs={"Out": list(outputs)})
    return outputs


def select_input(inputs, mask):
    """Copies one of several variables.

    Args:
        inputs (list): the variables.
        mask (Variable): one int32: which.

    Returns:
        Variable: the copy.
    """
    _check_mask("select_input", mask)
    if not isinstance(inputs, (list, tuple)) or not all(isinstance(v, Variable) for v in inputs):
        raise TypeError("select_input takes a list of Variables, not %r" % (inputs,))
    helper = _helper("select_input")
    out = helper.create_variable(dtype=inputs[0].dtype, shape=inputs[0].shape, type=inputs[0].type)
    helper.append_op(type="select_input", inputs={"X": list(inputs), "Mask": [mask]}, outputs={"Out": [out]})
    return out


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """As long as ``cond`` of the variables holds, ``body`` makes new values of them."""
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body of while_loop must be callable")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError("loop_vars of while_loop must be a list or a tuple, not %r" % (loop_vars,))
    if not loop_vars:
        raise ValueError("loop_vars of while_loop must not be empty")
    if _state.tracer is not None:
        return _loop_at_once(cond, body, loop_vars)
    main = default_main_program()
    flat = flatten(loop_vars)

    def nested(fn):
        def call(*vars):
            result = fn(*rebuild(list(loop_vars), iter(vars)))
            return result if isinstance(result, Variable) else flatten(result)

        return call

    def condition(*vars):
        found = nested(cond)(*vars)
        _check_bool(found, "while_loop")
        return found

    outs = _core.while_loop(_state.builder, main._context(), condition, nested(body), flat, main._wrap)
    return rebuild(list(loop_vars), iter(outs))
