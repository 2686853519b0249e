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
    input_states: Optional[Union[Variable, Sequence[Variable]]] = None, out_states: Optional[Sequence[Any]] = None,
    ap_version: str = 'integral',
) -> Variable:
    """The mean over classes of average precision. With states, which the operator updates, of earlier batches, too.

    Args:
        detect_res (Variable): [detections, 6] with LoD by image: class, score, xmin, ymin, xmax, ymax.
        label (Variable): [boxes, 6] with LoD by image: class, is it difficult, xmin, ymin, xmax, ymax; or [boxes, 5] without the second.
        class_num (int): how many classes there are.
        background_label (int): a class that does not count. (Fluid's layer always took 0.).
        overlap_threshold (float): the least overlap over union.
        evaluate_difficult (bool): difficult boxes count.
        has_state (Variable): an int32 Variable ``[1]``: 0 begins anew.
        input_states (Variable or list): counts, true positives and false positives so far, three Variables; ``None``: of this batch only.
        out_states (list): the Variables of ``input_states``, which the operator updates.
        ap_version (str): `integral` or `11point`.

    Returns:
        Variable: the result.
    """
    return layer("detection_map", locals())
