"""Evaluators: metrics over many batches whose state is in variables of the program. ``fluid.metrics`` keeps state in Python and is
easier to use."""

import warnings

import numpy as np

from . import layers, metrics, unique_name
from .framework import Program, program_guard
from .initializer import Constant
from .layer_helper import LayerHelper

__all__ = ["ChunkEvaluator", "DetectionMAP", "EditDistance"]


def _clone(block, var):
    return block.create_var(name=var.name, shape=var.shape, dtype=var.dtype, type=var.type, lod_level=var.lod_level, persistable=True)


class Evaluator:
    """The base of evaluators.

    Args:
        name (str): begins the names of its variables.

    ``states`` are the variables that ``reset`` sets to zero; ``metrics`` are those of the current batch.
    """

    def __init__(self, name, **kwargs):
        kind = type(self).__name__
        warnings.warn("The %s is deprecated, because maintain a modified program inside evaluator cause bug easily, please use "
                      "fluid.metrics.%s instead." % (kind, kind), Warning, stacklevel=3)
        self.states = []
        self.metrics = []
        self.helper = LayerHelper(name, **kwargs)
        if self.helper.main_program.current_block().idx != 0:
            raise ValueError("You can only invoke Evaluator in root block")

    def reset(self, executor, reset_program=None):
        """Sets the states to zero.

        Args:
            executor (Executor): runs the reset.
            reset_program (Program): the program to build the reset in; a new one by default.
        """
        reset_program = Program() if reset_program is None else reset_program
        with program_guard(reset_program):
            for state in self.states:
                var = _clone(reset_program.current_block(), state)
                layers.fill_constant(shape=var.shape, value=0.0, dtype=var.dtype, out=var)
        executor.run(reset_program)

    def eval(self, executor, eval_program=None):
        """Belongs to derived classes: returns the metric over all batches since ``reset``."""
        raise NotImplementedError("eval belongs to classes derived from Evaluator")

    def _create_state(self, suffix, dtype, shape):
        """A state, which the startup program sets to zero, so that a pass without ``reset`` counts from there."""
        name = "_".join([unique_name.generate(self.helper.name), suffix])
        state = self.helper.create_variable(name=name, persistable=True, dtype=dtype, shape=shape)
        self.helper.set_variable_initializer(state, Constant(0))
        self.states.append(state)
        return state

    def _values(self, executor, eval_program):
        program = Program() if eval_program is None else eval_program
        block = program.current_block()
        return [value.item() for value in executor.run(program, fetch_list=[_clone(block, state) for state in self.states])]


class ChunkEvaluator(Evaluator):
    """Precision, recall and F1 of chunks over many batches.

    Args:
        input (Variable): predicted tags, with sequences.
        label (Variable): true tags.
        chunk_scheme (str): ``IOB``, ``IOE``, ``IOBES`` or ``plain``.
        num_chunk_types (int): the number of kinds of chunks.
        excluded_chunk_types (list): kinds that do not count.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> tags, label = (fluid.data(n, [None, 1], "int64", lod_level=1) for n in ("tags", "label"))
        >>> evaluator = fluid.evaluator.ChunkEvaluator(tags, label, "IOB", 2)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> evaluator.reset(exe)
        >>> batch = fluid.create_lod_tensor(np.array([[0], [1], [2]], "int64"), [[3]], fluid.CPUPlace())
        >>> _ = exe.run(feed={"tags": batch, "label": batch})
        >>> [float(v[0]) for v in evaluator.eval(exe)]
        [1.0, 1.0, 1.0]
    """

    def __init__(self, input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None):
        super().__init__("chunk_eval")
        self.num_infer_chunks, self.num_label_chunks, self.num_correct_chunks = (
            self._create_state(suffix, "int64", [1]) for suffix in ("num_infer_chunks", "num_label_chunks", "num_correct_chunks"))
        made = layers.chunk_eval(
            input=input, label=label, chunk_scheme=chunk_scheme, num_chunk_types=num_chunk_types,
            excluded_chunk_types=excluded_chunk_types)
        for state, count in zip(self.states, made[3:]):
            layers.sums(input=[state, count], out=state)
        self.metrics.extend(made[:3])

    def eval(self, executor, eval_program=None):
        """Returns precision, recall and F1 since ``reset``, each as an array of one number.

        Args:
            executor (Executor): reads the states.
            eval_program (Program): the program to read in; a new one by default.
        """
        inferred, labelled, correct = self._values(executor, eval_program)
        precision = correct / inferred if inferred else 0
        recall = correct / labelled if labelled else 0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0
        return tuple(np.array([value], "float32") for value in (precision, recall, f1))


class EditDistance(Evaluator):
    """The mean edit distance of sequences, and the share of sequences with an error, over many batches.

    Args:
        input (Variable): predicted sequences.
        label (Variable): true sequences, as many.
        ignored_tokens (list): ids that are removed before.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> words, label = (fluid.data(n, [None, 1], "int64", lod_level=1) for n in ("words", "label"))
        >>> evaluator = fluid.evaluator.EditDistance(words, label)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(fluid.default_startup_program())
        >>> batch = fluid.create_lod_tensor(np.array([[0], [1], [2]], "int64"), [[2, 1]], fluid.CPUPlace())
        >>> _ = exe.run(feed={"words": batch, "label": batch})
        >>> [v.tolist() for v in evaluator.eval(exe)]
        [[0.0], [0.0]]
    """

    def __init__(self, input, label, ignored_tokens=None, **kwargs):
        super().__init__("edit_distance", **kwargs)
        self.total_distance = self._create_state("total_distance", "float32", [1])
        self.seq_num = self._create_state("seq_num", "int64", [1])
        self.instance_error = self._create_state("instance_error", "int64", [1])
        distances, seq_num = layers.edit_distance(input=input, label=label, ignored_tokens=ignored_tokens)
        right = layers.reduce_sum(layers.cast(layers.equal(distances, layers.zeros([1], "float32")), "int64"))
        wrong = layers.elementwise_sub(x=seq_num, y=right)
        total = layers.reduce_sum(distances)
        for state, count in zip(self.states, (total, seq_num, wrong)):
            layers.sums(input=[state, count], out=state)
        self.metrics.extend([total, wrong])

    def eval(self, executor, eval_program=None):
        """Returns the mean distance and the share of sequences with an error since ``reset``, each as an array of one number.

        Args:
            executor (Executor): reads the states.
            eval_program (Program): the program to read in; a new one by default.
        """
        total, sequences, wrong = self._values(executor, eval_program)
        with np.errstate(divide="ignore", invalid="ignore"):
            return tuple(np.array([value], "float32") / np.float32(sequences) for value in (total, wrong))


class DetectionMAP(Evaluator):
    """The mean average precision of detected boxes: of the batch and of all batches since ``reset``.

    Args:
        input (Variable): detections ``[m, 6]``: label, confidence, and a box.
        gt_label (Variable), gt_box (Variable), gt_difficult (Variable): the truth.
        class_num (int): the number of classes.
        background_label (int): the class that does not count.
        overlap_threshold (float): boxes that overlap at least so much match.
        evaluate_difficult (bool): whether difficult boxes count.
        ap_version (str): ``integral`` or ``11point``.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> found, box = fluid.data("found", [None, 6], lod_level=1), fluid.data("box", [None, 4], lod_level=1)
        >>> label = fluid.data("label", [None, 1], lod_level=1)
        >>> evaluator = fluid.evaluator.DetectionMAP(found, label, box, class_num=2)
        >>> current, all_batches = evaluator.get_map_var()
    """

    def __init__(self, input, gt_label, gt_box, gt_difficult=None, class_num=None, background_label=0, overlap_threshold=0.5,
                 evaluate_difficult=True, ap_version="integral"):
        super().__init__("map_eval")
        self._metric = metrics.DetectionMAP(
            input, gt_label, gt_box, gt_difficult, class_num, background_label, overlap_threshold, evaluate_difficult, ap_version)
        self.cur_map, self.accum_map = self._metric.get_map_var()
        self.metrics.extend([self.cur_map, self.accum_map])

    def get_map_var(self):
        """Returns the variables to fetch: the precision of the batch, and of all batches."""
        return self.cur_map, self.accum_map

    def reset(self, executor, reset_program=None):
        """Forgets the batches so far.

        Args:
            executor (Executor): runs the reset.
            reset_program (Program): the program to build the reset in; a new one by default.
        """
        self._metric.reset(executor, reset_program)
