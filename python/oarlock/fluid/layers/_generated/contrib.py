"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "multiclass_nms2",
]


def multiclass_nms2(
    bboxes: Variable, scores: Variable, score_threshold: float, nms_top_k: int, keep_top_k: int,
    nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0, background_label: int = 0,
    return_index: bool = False, name: Optional[str] = None,
) -> Any:
    """Drops boxes that overlap a better one of their class, and can return which boxes stay.

    It is ``fluid.layers.multiclass_nms`` with ``return_index``. No gradient flows through it.

    Args:
        bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom, or with 8, 16, 24 or 32
            numbers for polygons; or ``[m, classes, 4]`` with a LoD by image, if each class has its own boxes.
        scores (Variable): the same element type, ``[images, classes, m]``; or ``[m, classes]`` with a LoD.
        score_threshold (float): boxes with at most this score are left out.
        nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
        keep_top_k (int): how many boxes of an image stay, best first; -1: all.
        nms_threshold (float): boxes that overlap a better one by more of the union are dropped.
        normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
            and bottom pixels.
        nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5.
        background_label (int): a class that is left out; -1: none.
        return_index (bool): return the numbers of the boxes, too.
        name (str): prefix of the names of its variables.

    Returns:
        Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, no rows if no box
        stays; with ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the batch.

    Example:
        >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0.9, 0.9, 0.9], [0.5, 0.75, 0.25]]], "float32"))
        >>> out, index = fluid.contrib.layers.multiclass_nms2(
        ...     boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=-1, return_index=True)
        >>> np.array(fluid.Executor().run(fetch_list=[index], return_numpy=False)[0]).tolist()
        [[1], [2]]
    """
    return layer("multiclass_nms2", locals())
