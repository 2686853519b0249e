"""Metrics over many batches, computed outside programs."""

import copy

import numpy as np

from . import framework, layers
from .layers._call import layer

__all__ = [
    "Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "DetectionMAP", "EditDistance", "MetricBase", "Precision",
    "Recall",
]


def _numbers(value, what):
    if not isinstance(value, (int, float, np.ndarray, np.number)):
        raise ValueError("The '%s' must be a number or a numpy ndarray, not %r" % (what, type(value)))
    return value


class MetricBase:
    """The base of metrics. Attributes without a leading underscore are state, which ``reset`` clears."""

    def __init__(self, name):
        self._name = str(name) if name is not None else self.__class__.__name__

    def __str__(self):
        return self._name

    def reset(self):
        """Starts anew."""
        for name, value in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
                setattr(self, name, 0)
            elif isinstance(value, float):
                setattr(self, name, 0.0)
            elif isinstance(value, (np.ndarray, np.generic)):
                setattr(self, name, np.zeros_like(value))
            else:
                setattr(self, name, None)

    def get_config(self):
        """Name and state."""
        return {"name": self._name, "states": copy.deepcopy({k: v for k, v in self.__dict__.items() if not k.startswith("_")})}

    def update(self, preds, labels):
        """Counts a batch."""
        raise NotImplementedError("Should not use it directly, please extend it.")

    def eval(self):
        """The value over all batches since the last reset."""
        raise NotImplementedError("Should not use it directly, please extend it.")


class CompositeMetric(MetricBase):
    """Several metrics of the same predictions."""

    def __init__(self, name=None):
        super().__init__(name)
        self._metrics = []

    def add_metric(self, metric):
        """Adds one."""
        if not isinstance(metric, MetricBase):
            raise ValueError("SubMetric should be inherit from MetricBase.")
        self._metrics.append(metric)

    def update(self, preds, labels):
        """Counts a batch in all."""
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self):
        """The values of all."""
        return [metric.eval() for metric in self._metrics]


class Precision(MetricBase):
    """The share of true labels among positive predictions, of two classes."""

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = self.fp = 0

    def update(self, preds, labels):
        """Counts a batch of probabilities and labels."""
        predicted, actual = _binary(preds, labels)
        self.tp += int(np.sum(predicted & actual))
        self.fp += int(np.sum(predicted & ~actual))

    def eval(self):
        """The value so far."""
        return _share(self.tp, self.fp)


class Recall(MetricBase):
    """The share of positive predictions among true labels, of two classes."""

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = self.fn = 0

    def update(self, preds, labels):
        """Counts a batch of probabilities and labels."""
        predicted, actual = _binary(preds, labels)
        self.tp += int(np.sum(predicted & actual))
        self.fn += int(np.sum(~predicted & actual))

    def eval(self):
        """The value so far."""
        return _share(self.tp, self.fn)


def _share(part, rest):
    return float(part) / (part + rest) if part + rest else 0.0


def _binary(preds, labels):
    if not isinstance(preds, np.ndarray) or not isinstance(labels, np.ndarray):
        raise ValueError("The 'preds' and 'labels' must be numpy ndarrays.")
    predicted = np.rint(preds).astype("int32").reshape(-1)[: labels.shape[0]]
    return predicted == 1, labels.reshape(-1)[: labels.shape[0]] == 1


class Accuracy(MetricBase):
    """The mean of batch accuracies, by their weights."""

    def __init__(self, name=None):
        super().__init__(name)
        self.value = 0.0
        self.weight = 0.0

    def update(self, value, weight):
        """Counts the accuracy of a batch."""
        _numbers(value, "value")
        if not np.all(np.asarray(_numbers(weight, "weight")) >= 0):
            raise ValueError("The 'weight' can not be negative")
        self.value += value * weight
        self.weight += weight

    def eval(self):
        """The value so far."""
        if self.weight == 0:
            raise ValueError("There is no data in Accuracy Metrics. Please check layers.accuracy output has added to Accuracy.")
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from the counts of ``layers.chunk_eval``."""

    def __init__(self, name=None):
        super().__init__(name)
        self.num_infer_chunks = 0
        self.num_label_chunks = 0
        self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks):
        """Counts a batch."""
        first = lambda v, what: int(np.asarray(_numbers(v, what)).reshape(-1)[0])
        self.num_infer_chunks += first(num_infer_chunks, "num_infer_chunks")
        self.num_label_chunks += first(num_label_chunks, "num_label_chunks")
        self.num_correct_chunks += first(num_correct_chunks, "num_correct_chunks")

    def eval(self):
        """Precision, recall and F1 so far."""
        correct = float(self.num_correct_chunks)
        precision = correct / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = correct / self.num_label_chunks if self.num_label_chunks else 0.0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        return precision, recall, f1


class EditDistance(MetricBase):
    """The mean edit distance, and the share of sequences with mistakes."""

    def __init__(self, name):
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = 0
        self.instance_error = 0

    def update(self, distances, seq_num):
        """Counts the distances of a batch."""
        if not isinstance(distances, np.ndarray):
            raise ValueError("The 'distances' must be a numpy ndarray.")
        seq_num = int(np.asarray(_numbers(seq_num, "seq_num")).reshape(-1)[0])
        self.instance_error += seq_num - int(np.sum(distances == 0))
        self.total_distance += float(np.sum(distances))
        self.seq_num += seq_num

    def eval(self):
        """Mean distance, and share of sequences with mistakes."""
        if self.seq_num == 0:
            raise ValueError("There is no data in EditDistance Metric. Please check layers.edit_distance output has been added to EditDistance.")
        return self.total_distance / self.seq_num, self.instance_error / float(self.seq_num)


class Auc(MetricBase):
    """The area under the ROC curve, from counts of predictions in equal steps."""

    def __init__(self, name, curve="ROC", num_thresholds=4095):
        super().__init__(name)
        if curve != "ROC":
            raise ValueError("curve must be 'ROC', not %r" % (curve,))
        self._curve = curve
        self._num_thresholds = num_thresholds
        self.reset()

    def reset(self):
        """Starts anew."""
        # Lists, as in Fluid: scripts append to them.
        self._stat_pos = [0] * (self._num_thresholds + 1)
        self._stat_neg = [0] * (self._num_thresholds + 1)

    def update(self, preds, labels):
        """Counts a batch: probabilities ``[n, 2]`` of both classes, and labels."""
        if not isinstance(preds, np.ndarray) or not isinstance(labels, np.ndarray):
            raise ValueError("The 'preds' and 'labels' must be numpy ndarrays.")
        labels = labels.reshape(-1).astype(bool)
        steps = (preds[:, 1] * self._num_thresholds).astype("int64")
        if len(steps) and (steps.min() < 0 or steps.max() > self._num_thresholds):
            raise ValueError("probabilities must be between 0 and 1")
        count = lambda before, steps: (np.array(before) + np.bincount(steps, minlength=len(before))).tolist()
        self._stat_pos, self._stat_neg = count(self._stat_pos, steps[labels]), count(self._stat_neg, steps[~labels])

    def eval(self):
        """The area so far; 0 without positives or negatives."""
        pos = np.cumsum(self._stat_pos[::-1]).astype("float64")
        neg = np.cumsum(self._stat_neg[::-1]).astype("float64")
        if pos[-1] == 0 or neg[-1] == 0:
            return 0.0
        area = np.sum((neg - np.concatenate([[0.0], neg[:-1]])) * (pos + np.concatenate([[0.0], pos[:-1]])) / 2.0)
        return float(area / (pos[-1] * neg[-1]))


    @staticmethod
    def trapezoid_area(x1, x2, y1, y2):
        """Returns the area under a line from ``(x1, y1)`` to ``(x2, y2)``, independent of its direction."""
        return abs(x1 - x2) * (y1 + y2) / 2.0


class DetectionMAP:
    """The mean over classes of average precision, of the batch and of all batches, as operators of the program."""

    def __init__(
        self, input, gt_label, gt_box, gt_difficult=None, class_num=None, background_label=0, overlap_threshold=0.5,
        evaluate_difficult=True, ap_version='integral'
    ):
        if class_num is None:
            raise ValueError("DetectionMAP needs class_num, the number of classes")
        args = {k: v for k, v in locals().items() if k != "self"}
        self.cur_map, self.accum_map, self.has_state = layer("_detection_map_metric", args)

    def get_map_var(self):
        """The variables of the batch and of all batches."""
        return self.cur_map, self.accum_map

    def reset(self, executor, reset_program=None):
        """Forgets earlier batches."""
        program = framework.Program() if reset_program is None else reset_program
        with framework.program_guard(program):
            state = program.global_block().create_var(
                name=self.has_state.name, shape=self.has_state.shape, dtype=self.has_state.dtype, persistable=True
            )
            layers.fill_constant([1], "int32", 0, out=state)
        executor.run(program)
