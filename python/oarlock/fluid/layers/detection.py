"""Measures of detected boxes."""

from ._call import layer
from ._names import fallback

__all__ = ["detection_map"]

__getattr__ = fallback(__name__)


def detection_map(
    detect_res, label, class_num, background_label=0, overlap_threshold=0.3, evaluate_difficult=True, has_state=None,
    input_states=None, out_states=None, ap_version='integral'
):
    """The mean over classes of average precision. With states, which the operator updates, of earlier batches, too."""
    if input_states is not None and [v.name for v in input_states] != [v.name for v in out_states or []]:
        raise ValueError("out_states of detection_map must be the Variables of input_states")
    return layer("detection_map", locals())
