"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "detection_map",
]


def detection_map(
    detect_res: Variable, label: Variable, class_num: int, background_label: int = 0, overlap_threshold: float = 0.3,
    evaluate_difficult: bool = True, has_state: Optional[Variable] = None,
    input_states: Optional[Sequence[Variable]] = None, out_states: Optional[Sequence[Variable]] = None,
    ap_version: str = 'integral',
) -> Variable:
    """Computes the mean average precision of detected boxes, over the classes that have true boxes.

    Detections are taken from the highest score to the lowest. One is right if it overlaps a true box of its class,
    which no better one has taken, by more than ``overlap_threshold`` of the union. ``fluid.metrics.DetectionMAP``
    builds the states over batches. No gradient flows through it.

    Args:
        detect_res (Variable): float32, ``[detections, 6]`` with a LoD by image: class, score, xmin, ymin, xmax,
            ymax.
        label (Variable): float32, ``[boxes, 6]`` with a LoD by image: class, 1 if it is difficult, xmin, ymin,
            xmax, ymax; or ``[boxes, 5]`` without the second column.
        class_num (int): the number of classes, with the background.
        background_label (int): the class that does not count; Fluid's layer always takes 0.
        overlap_threshold (float): the overlap that a right detection exceeds.
        evaluate_difficult (bool): difficult boxes count, too.
        has_state (Variable): int32 ``[1]``: 0 begins anew, otherwise the states count; ``None``: there are no
            states.
        input_states (list of Variable): the states of earlier batches: numbers of true boxes, right detections,
            wrong detections; ``None``: this batch only.
        out_states (list of Variable): three Variables that receive the states after this batch, usually those of
            ``input_states``.
        ap_version (str): ``integral``: the area under the curve of precision over recall; ``11point``: the mean of
            the best precision at 11 recalls.

    Returns:
        Variable: float32 ``[1]``.

    Example:
        >>> boxes = [[1, 0.9, 0.1, 0.1, 0.5, 0.5], [1, 0.2, 0.6, 0.6, 0.9, 0.9]]
        >>> found = fluid.layers.assign(np.array(boxes, "float32"))
        >>> found = fluid.layers.lod_reset(found, target_lod=[0, 2])
        >>> truth = fluid.layers.assign(np.array([[1, 0, 0.1, 0.1, 0.5, 0.5]], "float32"))
        >>> truth = fluid.layers.lod_reset(truth, target_lod=[0, 1])
        >>> fluid.Executor().run(fetch_list=[fluid.layers.detection_map(found, truth, class_num=2)])[0].tolist()
        [1.0]
    """
    return layer("detection_map", locals())
