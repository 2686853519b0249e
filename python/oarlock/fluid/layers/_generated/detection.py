"""Written by `cargo xtask codegen` from the declarations in crates/oarlock/src/layers; do not edit."""

from __future__ import annotations

from ... import core
from .._call import layer
from ._types import *  # noqa: F403

__all__ = [
    "anchor_generator", "bipartite_match", "box_clip", "box_coder", "box_decoder_and_assign",
    "collect_fpn_proposals", "density_prior_box", "detection_map", "detection_output", "distribute_fpn_proposals",
    "generate_mask_labels", "generate_proposal_labels", "generate_proposals", "iou_similarity", "locality_aware_nms",
    "matrix_nms", "multi_box_head", "multiclass_nms", "polygon_box_transform", "prior_box",
    "retinanet_detection_output", "retinanet_target_assign", "roi_perspective_transform", "rpn_target_assign",
    "sigmoid_focal_loss", "ssd_loss", "target_assign", "yolo_box", "yolov3_loss",
]


def anchor_generator(
    input: Variable, anchor_sizes: Optional[Union[Sequence[Any], float]] = None,
    aspect_ratios: Optional[Union[Sequence[Any], float]] = None, variance: Sequence[Any] = [0.1, 0.1, 0.2, 0.2],
    stride: Optional[Union[Sequence[Any]]] = None, offset: float = 0.5, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Generates the anchors of Faster R-CNN: boxes of several sizes and shapes around the centre of every cell of a feature
    map, in pixels of the image.

    No gradient flows through it.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
        anchor_sizes (list, tuple or float): roots of the anchors' areas, in pixels of the image; it must be given.
        aspect_ratios (list, tuple or float): height over width; it must be given.
        variance (list): four numbers by which differences from the anchors are multiplied.
        stride (list or tuple): pixels from cell to cell, across and down; it must be given.
        offset (float): where in its cell an anchor is centred, as a fraction of the stride.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: the anchors and their variances, both ``[h, w, anchors per cell, 4]`` and of the element type of
        ``input``. The anchors of a cell are in the order of ratios, and for each ratio in the order of sizes.

    Raises:
        ValueError: ``stride`` is not two numbers.

    Example:
        >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
        >>> anchors, variances = fluid.layers.anchor_generator(
        ...     feature, anchor_sizes=[32.0], aspect_ratios=[1.0], stride=[16.0, 16.0])
        >>> fluid.Executor().run(fetch_list=[anchors])[0].tolist()
        [[[[-8.0, -8.0, 23.0, 23.0]], [[8.0, -8.0, 39.0, 23.0]]]]
    """
    return layer("anchor_generator", locals())


def bipartite_match(
    dist_matrix: Variable, match_type: Optional[str] = None, dist_threshold: Optional[float] = None,
    name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Pairs the rows and columns of a matrix that go together best.

    The largest value of the matrix pairs its row and column, then the largest of the rest does, until no row or no
    positive value is left. SSD matches true boxes (rows) with prior boxes (columns) in this way. No gradient flows
    through it.

    Args:
        dist_matrix (Variable): float32 or float64, ``[rows, columns]``, with a LoD of the rows of each image or without
            one; larger values go together better.
        match_type (str): ``bipartite``; or ``per_prediction``: columns that are left over take the row of their largest
            value, if it is at least ``dist_threshold``. ``None``: ``bipartite``.
        dist_threshold (float): the least value of such a pair; ``None``: 0.5.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: int32 ``[images, columns]``: the row of each column, counted from the first of the image, or -1; and
        ``[images, columns]``: the values of these pairs, or 0.

    Example:
        >>> values = fluid.layers.assign(np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.55]], "float32"))
        >>> columns, _ = fluid.layers.bipartite_match(values)
        >>> fluid.Executor().run(fetch_list=[columns])[0].tolist()
        [[0, 1, -1]]
    """
    return layer("bipartite_match", locals())


def box_clip(input: Variable, im_info: Variable, name: Optional[str] = None) -> Variable:
    """Cuts boxes off at the borders of their image.

    Args:
        input (Variable): float32 or float64, ``[n, ..., 4]`` with a LoD by image: left, top, right and bottom in pixels
            of the original images.
        im_info (Variable): the same element type, ``[images, 3]``: height and width as the network saw the image, and
            the scale from the original; the border is at ``round(size / scale) - 1``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: like ``input``.

    Raises:
        TypeError: elements are no floats.

    Example:
        >>> boxes = fluid.layers.assign(np.array([[-3, 2, 30, 7]], "float32"))
        >>> boxes = fluid.layers.lod_reset(boxes, target_lod=[0, 1])
        >>> info = fluid.layers.assign(np.array([[10, 20, 1]], "float32"))
        >>> out = fluid.Executor().run(fetch_list=[fluid.layers.box_clip(boxes, info)], return_numpy=False)[0]
        >>> np.array(out).tolist()
        [[0.0, 2.0, 19.0, 7.0]]
    """
    return layer("box_clip", locals())


def box_coder(
    prior_box: Variable, prior_box_var: Union[Variable, Sequence[Variable]], target_box: Variable,
    code_type: str = 'encode_center_size', box_normalized: bool = True, name: Optional[str] = None, axis: int = 0,
) -> Variable:
    """Encodes boxes as their differences from prior boxes, or decodes such differences to boxes.

    A difference is the distance of the centres over the sides of the prior box, and the logarithms of the ratios of the
    sides; encoding divides all of them by the variances, decoding multiplies. No gradient flows through it.

    Args:
        prior_box (Variable): float32 or float64, ``[m, 4]``: left, top, right and bottom.
        prior_box_var (Variable or list): ``[m, 4]``, or four numbers for all prior boxes.
        target_box (Variable): to encode: boxes ``[n, 4]``, which may have a LoD. To decode: differences ``[n, m, 4]``
            with ``axis`` 0, ``[m, n, 4]`` with ``axis`` 1.
        code_type (str): ``encode_center_size`` or ``decode_center_size``.
        box_normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their
            right and bottom pixels.
        name (str): prefix of the names of its variables.
        axis (int): to decode: the axis of ``target_box`` along which prior boxes repeat, 0 or 1.

    Returns:
        Variable: ``[n, m, 4]``, or the shape of ``target_box`` after decoding; the element type of ``prior_box``.

    Raises:
        TypeError: ``prior_box_var`` is neither a Variable nor a list.

    Example:
        >>> prior = fluid.layers.assign(np.array([[0, 0, 4, 2]], "float32"))
        >>> boxes = fluid.layers.assign(np.array([[1, 0, 5, 2]], "float32"))
        >>> codes = fluid.layers.box_coder(prior, [0.5, 0.5, 1.0, 1.0], boxes)
        >>> fluid.Executor().run(fetch_list=[codes])[0].tolist()
        [[[0.5, 0.0, 0.0, 0.0]]]
    """
    return layer("box_coder", locals())


def box_decoder_and_assign(
    prior_box: Variable, prior_box_var: Variable, target_box: Variable, box_score: Variable, box_clip: float,
    name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Decodes the boxes of every class from their differences, and picks that of the most likely class.

    Cascade R-CNN uses it between its heads. No gradient flows through it.

    Args:
        prior_box (Variable): float32 or float64, ``[n, 4]``: left, top, right and bottom of each region, in pixels.
        prior_box_var (Variable): ``[4]``: the variances of the differences.
        target_box (Variable): ``[n, 4 * classes]``: differences of each class.
        box_score (Variable): ``[n, classes]``; class 0 is the background.
        box_clip (float): the largest difference of width and height, so that exponentials stay small, such as 4.135.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: the boxes of all classes ``[n, 4 * classes]``, and for each region that of the class above 0 with the
        highest score ``[n, 4]``.

    Example:
        >>> prior = fluid.layers.assign(np.array([[0, 0, 3, 1]], "float32"))
        >>> variance = fluid.layers.assign(np.array([0.1, 0.1, 0.2, 0.2], "float32"))
        >>> target = fluid.layers.assign(np.array([[0, 0, 0, 0, 10, 0, 0, 0]], "float32"))
        >>> score = fluid.layers.assign(np.array([[0.2, 0.8]], "float32"))
        >>> boxes, best = fluid.layers.box_decoder_and_assign(prior, variance, target, score, 4.135)
        >>> fluid.Executor().run(fetch_list=[best])[0].tolist()
        [[4.0, 0.0, 7.0, 1.0]]
    """
    return layer("box_decoder_and_assign", locals())


def collect_fpn_proposals(
    multi_rois: Sequence[Variable], multi_scores: Sequence[Variable], min_level: int, max_level: int,
    post_nms_top_n: int, name: Optional[str] = None,
) -> Variable:
    """Gathers the regions of all levels of a feature pyramid that have the highest scores.

    No gradient flows through it.

    Args:
        multi_rois (list of Variable): float32 or float64, ``[regions, 4]`` for each level, with a LoD by image.
        multi_scores (list of Variable): ``[regions, 1]`` for each level, divided alike.
        min_level (int): the lowest level, usually 2.
        max_level (int): the highest level, usually 5; lists that are longer than there are levels are cut off.
        post_nms_top_n (int): the number of regions of the batch that stay.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[n, 4]`` with a LoD by image, best first in each image.

    Raises:
        ValueError: ``max_level`` is below ``min_level``.

    Example:
        >>> low = fluid.layers.assign(np.array([[0, 0, 9, 9], [0, 0, 5, 5]], "float32"))
        >>> high = fluid.layers.assign(np.array([[0, 0, 99, 99]], "float32"))
        >>> low_score = fluid.layers.assign(np.array([[0.9], [0.1]], "float32"))
        >>> high_score = fluid.layers.assign(np.array([[0.5]], "float32"))
        >>> cut = lambda x, n: fluid.layers.lod_reset(x, target_lod=[0, n])
        >>> rois = fluid.layers.collect_fpn_proposals(
        ...     [cut(low, 2), cut(high, 1)], [cut(low_score, 2), cut(high_score, 1)], 2, 3, post_nms_top_n=2)
        >>> out = fluid.Executor().run(fetch_list=[rois], return_numpy=False)[0]
        >>> np.array(out).tolist()
        [[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 99.0, 99.0]]
    """
    return layer("collect_fpn_proposals", locals())


def density_prior_box(
    input: Variable, image: Variable, densities: Optional[Union[Sequence[Any]]] = None,
    fixed_sizes: Optional[Union[Sequence[Any]]] = None, fixed_ratios: Optional[Union[Sequence[Any]]] = None,
    variance: Sequence[Any] = [0.1, 0.1, 0.2, 0.2], clip: bool = False, steps: Union[Sequence[Any]] = [0.0, 0.0],
    offset: float = 0.5, flatten_to_2d: bool = False, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Generates prior boxes of fixed sizes, several side by side in every cell of a feature map, as fractions of the image.

    For each of ``fixed_sizes`` and each of ``fixed_ratios`` a cell has a square of ``density * density`` boxes. Face
    detectors use it for small faces. As in Fluid 1.8.5, boxes stand on whole pixels. No gradient flows through it.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
        image (Variable): the images, ``[batch, channels, height, width]``, larger than the map; only their sizes are
            read.
        densities (list or tuple): how many boxes stand side by side, an integer for each of ``fixed_sizes``; it must be
            given.
        fixed_sizes (list or tuple): roots of the boxes' areas, in pixels of the image; it must be given.
        fixed_ratios (list or tuple): width over height; it must be given.
        variance (list): four numbers by which differences from the boxes are divided when they are learnt.
        clip (bool): bring all sides into 0..1.
        steps (list or tuple): pixels from cell to cell, across and down; 0: the size of the image over that of the
            map.
        offset (float): where in its cell the boxes are centred, as a fraction of the step.
        flatten_to_2d (bool): results of shape ``[h * w * boxes per cell, 4]``.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: the boxes and their variances, both ``[h, w, boxes per cell, 4]`` and of the element type of ``input``.

    Raises:
        ValueError: ``densities`` and ``fixed_sizes`` are not equally long, or ``steps`` are not two numbers.
        TypeError: an argument is no list, or the elements of ``input`` are no floats.

    Example:
        >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 1], "float32"))
        >>> image = fluid.layers.assign(np.zeros([1, 3, 8, 8], "float32"))
        >>> boxes, variances = fluid.layers.density_prior_box(
        ...     feature, image, densities=[2], fixed_sizes=[4.0], fixed_ratios=[1.0], flatten_to_2d=True)
        >>> fluid.Executor().run(fetch_list=[boxes])[0].tolist()
        [[0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 1.0, 0.5], [0.0, 0.5, 0.5, 1.0], [0.5, 0.5, 1.0, 1.0]]
    """
    return layer("density_prior_box", locals())


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


def detection_output(
    loc: Variable, scores: Variable, prior_box: Variable, prior_box_var: Union[Variable, Sequence[Variable]],
    background_label: int = 0, nms_threshold: float = 0.3, nms_top_k: int = 400, keep_top_k: int = 200,
    score_threshold: float = 0.01, nms_eta: float = 1.0, return_index: bool = False,
) -> Any:
    """Computes the detections of SSD: decodes boxes, takes the softmax of scores and drops boxes that overlap a better one.

    No gradient flows through it.

    Args:
        loc (Variable): float32 or float64, ``[batch, boxes, 4]``: predicted differences from the prior boxes.
        scores (Variable): ``[batch, boxes, classes]``: scores before the softmax.
        prior_box (Variable): ``[boxes, 4]``.
        prior_box_var (Variable or list): ``[boxes, 4]`` or four numbers: what differences are multiplied by.
        background_label (int): a class that is left out; -1: none. (Fluid's layer always takes 0.)
        nms_threshold (float): boxes that overlap a better one by more of the union are dropped.
        nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
        keep_top_k (int): how many boxes of an image stay, best first; -1: all.
        score_threshold (float): boxes with at most this score are left out.
        nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5. (Fluid's layer
            always takes 1.)
        return_index (bool): return the numbers of the boxes, too.

    Returns:
        Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, ``[[-1]]`` if no box
        of the batch stays; with ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the
        batch, and no rows if no box stays.

    Raises:
        TypeError: ``prior_box_var`` is neither a Variable nor a list.

    Example:
        >>> loc = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0, 9], [9, 0]]], "float32"))
        >>> prior = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], "float32"))
        >>> out = fluid.layers.detection_output(loc, scores, prior, [0.1, 0.1, 0.2, 0.2])
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).round(1).tolist()
        [[1.0, 1.0, 0.0, 0.0, 0.5, 0.5]]
    """
    return layer("detection_output", locals())


def distribute_fpn_proposals(
    fpn_rois: Variable, min_level: int, max_level: int, refer_level: int, refer_scale: int, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Gives regions to the levels of a feature pyramid, by their sizes.

    A region belongs to level ``refer_level + log2(root of its area / refer_scale)``, rounded down and limited to
    ``min_level`` to ``max_level``.

    Args:
        fpn_rois (Variable): float32 or float64, ``[n, 4]`` with a LoD by image: left, top, right and bottom in pixels.
        min_level (int): the level of the smallest regions, usually 2.
        max_level (int): the level of the largest regions, usually 5.
        refer_level (int): the level of regions of size ``refer_scale``, usually 4.
        refer_scale (int): the root of the area of regions of ``refer_level``, in pixels, usually 224.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: a list with the regions of every level, each ``[regions, 4]`` with a LoD by image; and int32 ``[n, 1]``:
        where each region is in all levels one after the other, with which ``gather`` restores the order.

    Raises:
        ValueError: ``max_level`` is below ``min_level``.

    Example:
        >>> rois = fluid.layers.assign(np.array([[0, 0, 447, 447], [0, 0, 99, 99]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 2])
        >>> levels, order = fluid.layers.distribute_fpn_proposals(rois, 2, 5, 4, 224)
        >>> len(levels)
        4
        >>> fluid.Executor().run(fetch_list=[order])[0].tolist()
        [[1], [0]]
    """
    return layer("distribute_fpn_proposals", locals())


def generate_mask_labels(
    im_info: Variable, gt_classes: Variable, is_crowd: Variable, gt_segms: Variable, rois: Variable,
    labels_int32: Variable, num_classes: int, resolution: int,
) -> Tuple[Variable, ...]:
    """Computes the masks that the mask head of Mask R-CNN learns, from the polygons of objects.

    Each region that shows an object gets ``resolution * resolution`` points, 1 inside the polygons of the object it
    overlaps most and 0 outside. No gradient flows through it.

    Args:
        im_info (Variable): float32, ``[images, 3]``: height, width and scale of each image.
        gt_classes (Variable): int32, ``[objects, 1]`` with a LoD by image: classes, from 1.
        is_crowd (Variable): int32, ``[objects, 1]`` with a LoD by image: objects with a number other than 0 are left
            out.
        gt_segms (Variable): float32, ``[points, 2]`` with three levels of LoD: objects of images, polygons of objects,
            points of polygons; in pixels of the original images.
        rois (Variable): float32, ``[regions, 4]`` with a LoD by image, in the network's pixels.
        labels_int32 (Variable): int32, ``[regions, 1]`` with a LoD by image: classes of regions, 0 for the background.
        num_classes (int): the number of classes, with the background.
        resolution (int): points of a mask along each axis.

    Returns:
        tuple: regions with an object ``[masks, 4]`` with a LoD by image; int32 ``[masks, 1]``: which region of the image
        each is; int32 ``[masks, num_classes * resolution * resolution]``: 1 or 0 at the place of its class, -1 at the
        others. An image without objects gives its first background region and a mask of -1.

    Example:
        >>> def by_image(values, dtype):
        ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
        >>> info = fluid.layers.assign(np.array([[8, 8, 1]], "float32"))
        >>> classes, crowd = by_image([[1]], "int32"), by_image([[0]], "int32")
        >>> points = fluid.data("points", [None, 2], "float32", lod_level=3)
        >>> rois, labels = by_image([[0, 0, 4, 4]], "float32"), by_image([[1]], "int32")
        >>> made = fluid.layers.generate_mask_labels(info, classes, crowd, points, rois, labels, 2, 2)
        >>> corners = np.array([[0, 0], [4, 0], [4, 2], [0, 2]], "float32")
        >>> fed = fluid.create_lod_tensor(corners, [[1], [1], [4]], fluid.CPUPlace())
        >>> out = fluid.Executor().run(feed={"points": fed}, fetch_list=[made[2]], return_numpy=False)[0]
        >>> np.array(out).tolist()
        [[-1, -1, -1, -1, 1, 1, 0, 0]]
    """
    return layer("generate_mask_labels", locals())


def generate_proposal_labels(
    rpn_rois: Variable, gt_classes: Variable, is_crowd: Variable, gt_boxes: Variable, im_info: Variable,
    batch_size_per_im: int = 256, fg_fraction: float = 0.25, fg_thresh: float = 0.25, bg_thresh_hi: float = 0.5,
    bg_thresh_lo: float = 0.0, bbox_reg_weights: Union[Sequence[Any]] = [0.1, 0.1, 0.2, 0.2],
    class_nums: Optional[int] = None, use_random: bool = True, is_cls_agnostic: bool = False,
    is_cascade_rcnn: bool = False,
) -> Tuple[Variable, ...]:
    """Samples the regions that the second stage of Faster R-CNN learns from, with their classes and wanted differences.

    Regions and true boxes that overlap a true box by ``fg_thresh`` have its class; those that overlap all by
    ``bg_thresh_lo`` to ``bg_thresh_hi`` have class 0. No gradient flows through it.

    Args:
        rpn_rois (Variable): float32 or float64, ``[regions, 4]`` with a LoD by image, in the network's pixels.
        gt_classes (Variable): int32, ``[boxes, 1]`` with a LoD by image: classes, from 1.
        is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are no examples.
        gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
        im_info (Variable): ``[images, 3]``: height, width and scale of each image.
        batch_size_per_im (int): how many regions of an image are sampled.
        fg_fraction (float): the largest part of objects among the samples.
        fg_thresh (float): the least overlap of a region that shows an object.
        bg_thresh_hi (float): the overlap below which a region shows the background.
        bg_thresh_lo (float): the least overlap of a region that shows the background.
        bbox_reg_weights (list or tuple): four divisors of the differences.
        class_nums (int): the number of classes, with the background; it must be given.
        use_random (bool): sample by chance; ``False``: take the first.
        is_cls_agnostic (bool): all classes learn the same differences.
        is_cascade_rcnn (bool): the regions come from another head and begin with the boxes: all of them are taken.

    Returns:
        tuple: regions ``[n, 4]`` with a LoD by image; int32 classes ``[n, 1]``; wanted differences
        ``[n, 4 * class_nums]``, at the place of the class; their inside and outside weights, of the same shape.

    Raises:
        TypeError: the elements of a Variable are not of a type that is listed, or there are no ``class_nums``.

    Example:
        >>> def by_image(values, dtype, n):
        ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, n])
        >>> rois = by_image([[1, 0, 9, 9], [20, 20, 29, 29]], "float32", 2)
        >>> classes, crowd = by_image([[2]], "int32", 1), by_image([[0]], "int32", 1)
        >>> boxes = by_image([[0, 0, 9, 9]], "float32", 1)
        >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
        >>> made = fluid.layers.generate_proposal_labels(
        ...     rois, classes, crowd, boxes, info, fg_thresh=0.5, fg_fraction=0.5, class_nums=3, use_random=False)
        >>> np.array(fluid.Executor().run(fetch_list=[made[1]], return_numpy=False)[0]).tolist()
        [[2], [2], [0]]
    """
    return layer("generate_proposal_labels", locals())


def generate_proposals(
    scores: Variable, bbox_deltas: Variable, im_info: Variable, anchors: Variable, variances: Variable,
    pre_nms_top_n: int = 6000, post_nms_top_n: int = 1000, nms_thresh: float = 0.5, min_size: float = 0.1,
    eta: float = 1.0, name: Optional[str] = None, return_rois_num: bool = False,
) -> Tuple[Variable, ...]:
    """Proposes the regions of images that most likely show an object.

    The anchors with the highest scores are moved by their differences and brought into the image; those that are too
    small or overlap a better one are dropped. No gradient flows through it.

    Args:
        scores (Variable): float32, ``[images, anchors per cell, h, w]``: how likely each anchor shows an object.
        bbox_deltas (Variable): float32, ``[images, 4 * anchors per cell, h, w]``: how its box differs.
        im_info (Variable): float32 or float64, ``[images, 3]``: height, width and scale of each image.
        anchors (Variable): float32, ``[h, w, anchors per cell, 4]``, as ``anchor_generator`` makes them.
        variances (Variable): float32, the same shape: factors of the differences.
        pre_nms_top_n (int): how many anchors are looked at, best first; 0 or less: all.
        post_nms_top_n (int): how many regions of an image stay, best first; 0 or less: all.
        nms_thresh (float): regions that overlap a better one by more of the union are dropped.
        min_size (float): the least width and height, in pixels of the original image; at least 1 counts.
        eta (float): factor of ``nms_thresh`` after each region that stays, while it is above 0.5.
        name (str): prefix of the names of its variables.
        return_rois_num (bool): return where the regions of each image end, too.

    Returns:
        tuple: regions ``[n, 4]`` and their scores ``[n, 1]``, both with a LoD by image; with ``return_rois_num`` also
        ``[images]``: where the regions of each image end.

    Raises:
        TypeError: the elements of a Variable are not of a type that is listed.

    Example:
        >>> scores = fluid.layers.assign(np.array([[[[0.5, 0.75]]]], "float32"))
        >>> moves = fluid.layers.assign(np.zeros([1, 4, 1, 2], "float32"))
        >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
        >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
        >>> anchors, variances = fluid.layers.anchor_generator(
        ...     feature, anchor_sizes=[16.0], aspect_ratios=[1.0], stride=[16.0, 16.0])
        >>> rois, _ = fluid.layers.generate_proposals(scores, moves, info, anchors, variances)
        >>> np.array(fluid.Executor().run(fetch_list=[rois], return_numpy=False)[0]).tolist()
        [[16.0, 0.0, 31.0, 15.0], [0.0, 0.0, 15.0, 15.0]]
    """
    return layer("generate_proposals", locals())


def iou_similarity(x: Variable, y: Variable, box_normalized: bool = True, name: Optional[str] = None) -> Variable:
    """Computes how much boxes overlap: the common area of each pair over the area that either covers.

    No gradient flows through it.

    Args:
        x (Variable): float32 or float64, ``[n, 4]``: left, top, right and bottom; its LoD becomes that of the result.
        y (Variable): the same element type, ``[m, 4]``.
        box_normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their
            right and bottom pixels.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[n, m]``, with the element type of ``x``.

    Example:
        >>> x = fluid.layers.assign(np.array([[0, 0, 2, 2], [4, 4, 6, 6]], "float32"))
        >>> y = fluid.layers.assign(np.array([[0, 0, 2, 1]], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.iou_similarity(x, y)])[0].tolist()
        [[0.5], [0.0]]
    """
    return layer("iou_similarity", locals())


def locality_aware_nms(
    bboxes: Variable, scores: Variable, score_threshold: float, nms_top_k: int, keep_top_k: int,
    nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0, background_label: int = -1,
    name: Optional[str] = None,
) -> Variable:
    """Merges boxes with their neighbours, then drops those that overlap a better one, for text detectors such as EAST.

    Each box that overlaps the one before it is merged into it: sides are averaged with the scores as weights, scores
    are added. Then it works as ``multiclass_nms``. No gradient flows through it.

    Args:
        bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom, or with 8, 16, 24 or 32
            numbers for polygons.
        scores (Variable): the same element type, ``[images, 1, m]``.
        score_threshold (float): boxes with at most this score are left out.
        nms_top_k (int): how many boxes are looked at, best first; -1: all.
        keep_top_k (int): how many boxes of an image stay, best first; -1: all.
        nms_threshold (float): boxes that overlap by more of the union are merged or dropped.
        normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
            and bottom pixels.
        nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5.
        background_label (int): a class that is left out; -1: none.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom. A batch in which no box
        stays gives ``[[-1]]``.

    Raises:
        ValueError: there are scores of several classes.
        TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.

    Example:
        >>> boxes = fluid.layers.assign(np.array([[[0, 0, 4, 4], [0, 0, 4, 4], [6, 6, 8, 8]]], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0.5, 0.5, 0.25]]], "float32"))
        >>> out = fluid.layers.locality_aware_nms(boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=-1)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
        [[0.0, 1.0, 0.0, 0.0, 4.0, 4.0], [0.0, 0.25, 6.0, 6.0, 8.0, 8.0]]
    """
    return layer("locality_aware_nms", locals())


def matrix_nms(
    bboxes: Variable, scores: Variable, score_threshold: float, post_threshold: float, nms_top_k: int,
    keep_top_k: int, use_gaussian: bool = False, gaussian_sigma: float = 2.0, background_label: int = 0,
    normalized: bool = True, return_index: bool = False, name: Optional[str] = None,
) -> Any:
    """Lets the scores of boxes decay by how much they overlap better ones of their class, all at once.

    A score is multiplied by the least decay among better boxes: ``(1 - overlap) / (1 - most)``, in which ``most`` is how
    much that box overlaps better ones itself; or its Gaussian form. No gradient flows through it.

    Args:
        bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom.
        scores (Variable): the same element type, ``[images, classes, m]``.
        score_threshold (float): boxes with at most this score are left out.
        post_threshold (float): boxes with at most this decayed score are left out.
        nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
        keep_top_k (int): how many boxes of an image stay, best first; -1: all.
        use_gaussian (bool): decay by ``exp(gaussian_sigma * (most ** 2 - overlap ** 2))``.
        gaussian_sigma (float): the factor of the Gaussian form.
        background_label (int): a class that is left out; -1: none.
        normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
            and bottom pixels.
        return_index (bool): return the numbers of the boxes, too.
        name (str): prefix of the names of its variables.

    Returns:
        Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, best first; with
        ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the batch.

    Raises:
        TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.

    Example:
        >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5], [2, 2, 3, 3]]], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0.5, 0.75, 0.25]]], "float32"))
        >>> out = fluid.layers.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0])[:, 1].tolist()
        [0.75, 0.25, 0.25]
    """
    return layer("matrix_nms", locals())


def multi_box_head(
    inputs: Union[Sequence[Any]], image: Variable, base_size: int, num_classes: int,
    aspect_ratios: Union[Sequence[Any]], min_ratio: Optional[int] = None, max_ratio: Optional[int] = None,
    min_sizes: Optional[Union[Sequence[Any]]] = None, max_sizes: Optional[Union[Sequence[Any]]] = None,
    steps: Optional[Union[Sequence[Any]]] = None, step_w: Optional[Union[Sequence[Any]]] = None,
    step_h: Optional[Union[Sequence[Any]]] = None, offset: float = 0.5,
    variance: Sequence[Any] = [0.1, 0.1, 0.2, 0.2], flip: bool = True, clip: bool = False, kernel_size: int = 1,
    pad: int = 0, stride: int = 1, name: Optional[str] = None, min_max_aspect_ratios_order: bool = False,
) -> Tuple[Variable, ...]:
    """Predicts places and scores from feature maps, and generates their prior boxes: the head of SSD.

    Every map has a convolution for the places and one for the scores of its prior boxes. Gradients flow into
    ``inputs`` and the parameters.

    Args:
        inputs (list or tuple): feature maps, float32 or float64 Variables ``[batch, channels, h, w]``.
        image (Variable): the images, ``[batch, channels, height, width]``; only their sizes are read.
        base_size (int): the smaller side of the images, of which ``min_ratio`` and ``max_ratio`` are percentages.
        num_classes (int): the number of classes, with the background.
        aspect_ratios (list or tuple): for every map a list of ratios of width to height, or one; ``None``: squares.
        min_ratio (int): the least size of prior boxes in percent, with three maps or more; the first map has 10.
        max_ratio (int): the largest size of prior boxes in percent, with three maps or more.
        min_sizes (list or tuple): for every map the sides of its squares, or one side; needed with one or two maps.
        max_sizes (list or tuple): for every map as many larger sides, or one; needed with one or two maps.
        steps (list or tuple): for every map the pixels from cell to cell, for both axes.
        step_w (list or tuple): for every map the pixels from cell to cell, across.
        step_h (list or tuple): for every map the pixels from cell to cell, down; read with ``step_w`` only, as in Fluid
            1.8.5.
        offset (float): where in its cell a box is centred, as a fraction of the step.
        variance (list): four numbers by which differences from the boxes are divided when they are learnt.
        flip (bool): also the inverse of every aspect ratio.
        clip (bool): bring all sides into 0..1.
        kernel_size (int): size of the filters.
        pad (int): padding around the maps.
        stride (int): steps of the filters.
        name (str): accepted; it names nothing, as in Fluid 1.8.5.
        min_max_aspect_ratios_order (bool): first the squares of ``min_sizes`` and ``max_sizes``, then the other ratios.

    Returns:
        tuple: places ``[batch, boxes, 4]``; scores ``[batch, boxes, num_classes]``; prior boxes and their variances,
        both ``[boxes, 4]``. With one map, as in Fluid 1.8.5, places and scores are ``[batch, boxes * 4]`` and
        ``[batch, boxes * num_classes]``, prior boxes and variances ``[h, w, boxes per cell, 4]``.

    Raises:
        ValueError: a list has not one entry for every map, or the sizes of the boxes are not given.

    Example:
        >>> image = fluid.data("image", [None, 3, 64, 64])
        >>> maps = [fluid.data("a", [None, 8, 4, 4]), fluid.data("b", [None, 8, 2, 2])]
        >>> places, scores, boxes, variances = fluid.layers.multi_box_head(
        ...     maps, image, base_size=64, num_classes=3, aspect_ratios=[[2.0], [2.0]], min_sizes=[16.0, 32.0],
        ...     max_sizes=[32.0, 48.0])
        >>> boxes.shape, variances.shape
        ((80, 4), (80, 4))
    """
    return layer("multi_box_head", locals())


def multiclass_nms(
    bboxes: Variable, scores: Variable, score_threshold: float, nms_top_k: int, keep_top_k: int,
    nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0, background_label: int = 0,
    name: Optional[str] = None,
) -> Variable:
    """Drops boxes that overlap a better one of their class.

    In each class the box with the highest score stays, then the best of those that do not overlap it, and so on; of all
    classes of an image the ``keep_top_k`` best stay. No gradient flows through it.

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
        name (str): prefix of the names of its variables.

    Returns:
        Variable: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, classes in order, the best
        of each first. A batch in which no box stays gives ``[[-1]]``.

    Raises:
        TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.

    Example:
        >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.875], [2, 2, 3, 3]]], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0.9, 0.9, 0.9], [0.5, 0.75, 0.25]]], "float32"))
        >>> out = fluid.layers.multiclass_nms(boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=1)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
        [[1.0, 0.75, 0.0, 0.0, 1.0, 0.875]]
    """
    return layer("multiclass_nms", locals())


def polygon_box_transform(input: Variable, name: Optional[str] = None) -> Variable:
    """Computes corners of polygons from their distances from each pixel, for text detectors such as EAST.

    Even channels hold distances across, odd ones distances down: the results are ``4 * column - input`` and
    ``4 * row - input``, in pixels of an image four times as large. No gradient flows through it.

    Args:
        input (Variable): float32 or float64, ``[batch, channels, height, width]``.
        name (str): prefix of the names of its variables.

    Returns:
        Variable: like ``input``.

    Raises:
        TypeError: the elements of ``input`` are no floats.

    Example:
        >>> x = fluid.layers.assign(np.ones([1, 2, 1, 2], "float32"))
        >>> fluid.Executor().run(fetch_list=[fluid.layers.polygon_box_transform(x)])[0].tolist()
        [[[[-1.0, 3.0]], [[-1.0, -1.0]]]]
    """
    return layer("polygon_box_transform", locals())


def prior_box(
    input: Variable, image: Variable, min_sizes: Union[Sequence[Any], float],
    max_sizes: Optional[Union[Sequence[Any]]] = None, aspect_ratios: Union[Sequence[Any], float] = [1.0],
    variance: Sequence[Any] = [0.1, 0.1, 0.2, 0.2], flip: bool = False, clip: bool = False,
    steps: Union[Sequence[Any]] = [0.0, 0.0], offset: float = 0.5, name: Optional[str] = None,
    min_max_aspect_ratios_order: bool = False,
) -> Tuple[Variable, ...]:
    """Generates the prior boxes of SSD: boxes of several sizes and shapes around the centre of every cell of a feature
    map, as fractions of the image.

    For each of ``min_sizes`` a cell has a square of this side, a box of the same area for every other aspect ratio,
    and, with ``max_sizes``, a square whose side is the root of ``min_size * max_size``. No gradient flows through it.

    Args:
        input (Variable): the feature map, float32 or float64, ``[batch, channels, h, w]``; only its sizes are read.
        image (Variable): the images, ``[batch, channels, height, width]``; only their sizes are read.
        min_sizes (list, tuple or float): sides of the squares, in pixels of the image.
        max_sizes (list or tuple): as many numbers as ``min_sizes``, each larger than its ``min_size``; ``None`` or a
            first number of at most 0: none.
        aspect_ratios (list, tuple or float): width over height; 1 is always one of them.
        variance (list): four numbers by which differences from the boxes are divided when they are learnt.
        flip (bool): also the inverse of every aspect ratio.
        clip (bool): bring all sides into 0..1.
        steps (list or tuple): pixels from cell to cell, across and down; 0: the size of the image over that of the
            map.
        offset (float): where in its cell a box is centred, as a fraction of the step.
        name (str): prefix of the names of its variables.
        min_max_aspect_ratios_order (bool): first the squares of ``min_sizes`` and ``max_sizes``, then the other ratios,
            as Caffe has them; it changes the order of the boxes, and so the meaning of trained weights.

    Returns:
        tuple: the boxes and their variances, both ``[h, w, boxes per cell, 4]`` and of the element type of ``input``.

    Raises:
        ValueError: ``steps`` are not two numbers.
        TypeError: the elements of ``input`` are not of a type that is listed.

    Example:
        >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
        >>> image = fluid.layers.assign(np.zeros([1, 3, 8, 16], "float32"))
        >>> boxes, variances = fluid.layers.prior_box(feature, image, min_sizes=[4.0])
        >>> fluid.Executor().run(fetch_list=[boxes])[0].tolist()
        [[[[0.125, 0.25, 0.375, 0.75]], [[0.625, 0.25, 0.875, 0.75]]]]
    """
    return layer("prior_box", locals())


def retinanet_detection_output(
    bboxes: Sequence[Any], scores: Sequence[Any], anchors: Sequence[Any], im_info: Variable,
    score_threshold: float = 0.05, nms_top_k: int = 1000, keep_top_k: int = 100, nms_threshold: float = 0.3,
    nms_eta: float = 1.0,
) -> Variable:
    """Computes the detections of RetinaNet from the predictions of all levels.

    Of each level the best boxes are moved by their differences to the original image; boxes of a class that overlap a
    better one are dropped; the best of the image stay. No gradient flows through it.

    Args:
        bboxes (list): float32 or float64 Variables ``[images, anchors, 4]``, one per level: how boxes differ from their
            anchors.
        scores (list): Variables ``[images, anchors, classes]``, one per level; there is no class for the background.
        anchors (list): Variables ``[anchors, 4]``, one per level: left, top, right and bottom.
        im_info (Variable): ``[images, 3]``: height, width and scale of each image.
        score_threshold (float): boxes with at most this score are left out, except on the last level.
        nms_top_k (int): how many boxes of a level are looked at, best first.
        keep_top_k (int): how many boxes of an image stay, best first.
        nms_threshold (float): boxes that overlap a better one by more are dropped.
        nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5. (Fluid's layer
            always takes 1.)

    Returns:
        Variable: ``[n, 6]`` with a LoD by image: class, from 1, score, left, top, right and bottom.

    Raises:
        TypeError: an argument is no list, or elements are no floats.

    Example:
        >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
        >>> scores = fluid.layers.assign(np.array([[[0.75], [0.5]]], "float32"))
        >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
        >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
        >>> out = fluid.layers.retinanet_detection_output([moves], [scores], [anchors], info)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
        [[1.0, 0.75, 0.0, 0.0, 9.0, 9.0], [1.0, 0.5, 20.0, 20.0, 29.0, 29.0]]
    """
    return layer("retinanet_detection_output", locals())


def retinanet_target_assign(
    bbox_pred: Variable, cls_logits: Variable, anchor_box: Variable, anchor_var: Variable, gt_boxes: Variable,
    gt_labels: Variable, is_crowd: Variable, im_info: Variable, num_classes: int = 1, positive_overlap: float = 0.5,
    negative_overlap: float = 0.4,
) -> Tuple[Variable, ...]:
    """Finds the anchors that RetinaNet learns from, with what they should predict.

    An anchor shows an object if it overlaps a box by ``positive_overlap``, or more than any other anchor does; it shows
    the background if it overlaps all boxes by less than ``negative_overlap``. Others do not count. Gradients flow into
    ``bbox_pred`` and ``cls_logits``.

    Args:
        bbox_pred (Variable): float32 or float64, ``[images, anchors, 4]``: how boxes differ from their anchors.
        cls_logits (Variable): the same element type, ``[images, anchors, num_classes]``.
        anchor_box (Variable): ``[anchors, 4]``: left, top, right and bottom.
        anchor_var (Variable): ``[anchors, 4]``; only its element type is checked, as in Fluid 1.8.5.
        gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
        gt_labels (Variable): int32, ``[boxes, 1]`` with a LoD by image: classes, from 1.
        is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are left out.
        im_info (Variable): ``[images, 3]``: height, width and scale of each image.
        num_classes (int): the number of classes, without the background.
        positive_overlap (float): the least overlap of an anchor that shows an object.
        negative_overlap (float): the overlap below which an anchor shows the background.

    Returns:
        tuple: logits ``[F + B, num_classes]`` of the F anchors with objects and the B with background; predicted
        differences ``[F, 4]``; int32 classes ``[F + B, 1]``, 0 for the background; wanted differences ``[F, 4]``; their
        weights ``[F, 4]``; int32 ``[images, 1]``: one more than the number of anchors with objects.

    Raises:
        TypeError: the elements of a Variable are not of a type that is listed.

    Example:
        >>> def by_image(values, dtype):
        ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
        >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
        >>> logits = fluid.layers.assign(np.zeros([1, 2, 1], "float32"))
        >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
        >>> variances = fluid.layers.assign(np.ones([2, 4], "float32"))
        >>> boxes, labels, crowd = by_image([[0, 0, 9, 9]], "float32"), by_image([[1]], "int32"), by_image([[0]], "int32")
        >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
        >>> made = fluid.layers.retinanet_target_assign(moves, logits, anchors, variances, boxes, labels, crowd, info)
        >>> out = fluid.Executor().run(fetch_list=[made[2], made[5]], return_numpy=False)
        >>> [np.array(v).tolist() for v in out]
        [[[1], [0]], [[2]]]
    """
    return layer("retinanet_target_assign", locals())


def roi_perspective_transform(
    input: Variable, rois: Variable, transformed_height: int, transformed_width: int, spatial_scale: float = 1.0,
    name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Turns quadrilaterals of a feature map into rectangles of one size, by perspective, for slanted text.

    Values are linear between pixels, and 0 outside of the quadrilateral and of the map. Gradients flow into ``input``.

    Args:
        input (Variable): the feature map, float32, ``[batch, channels, h, w]``.
        rois (Variable): float32, ``[regions, 8]`` with a LoD by image: x and y of four corners, from the upper left one
            clockwise, in pixels of the image.
        transformed_height (int): rows of the result.
        transformed_width (int): columns of the result.
        spatial_scale (float): the size of the feature map over that of the image.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: ``[regions, channels, transformed_height, transformed_width]``; int32
        ``[regions, 1, transformed_height, transformed_width]``: 1 where the map is read; and ``[regions, 9]``: the
        transforms, from column, row and 1 to the map.

    Raises:
        TypeError: elements are not float32, or a number has another Python type than is listed.

    Example:
        >>> x = fluid.layers.assign(np.array([[[[1, 2], [3, 4]]]], "float32"))
        >>> rois = fluid.layers.assign(np.array([[0, 0, 1, 0, 1, 1, 0, 1]], "float32"))
        >>> rois = fluid.layers.lod_reset(rois, target_lod=[0, 1])
        >>> out, mask, matrix = fluid.layers.roi_perspective_transform(x, rois, 2, 2)
        >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
        [[[[1.0, 2.0], [3.0, 4.0]]]]
    """
    return layer("roi_perspective_transform", locals())


def rpn_target_assign(
    bbox_pred: Variable, cls_logits: Variable, anchor_box: Variable, anchor_var: Variable, gt_boxes: Variable,
    is_crowd: Variable, im_info: Variable, rpn_batch_size_per_im: int = 256, rpn_straddle_thresh: float = 0.0,
    rpn_fg_fraction: float = 0.5, rpn_positive_overlap: float = 0.7, rpn_negative_overlap: float = 0.3,
    use_random: bool = True,
) -> Tuple[Variable, ...]:
    """Samples the anchors that a region proposal network learns from, with what they should predict.

    An anchor shows an object if it overlaps a box by ``rpn_positive_overlap``, or more than any other anchor does; it
    shows the background if it overlaps all boxes by less than ``rpn_negative_overlap``. Gradients flow into
    ``bbox_pred`` and ``cls_logits``.

    Args:
        bbox_pred (Variable): float32 or float64, ``[images, anchors, 4]``: how boxes differ from their anchors.
        cls_logits (Variable): the same element type, ``[images, anchors, 1]``: scores before the sigmoid.
        anchor_box (Variable): ``[anchors, 4]``: left, top, right and bottom.
        anchor_var (Variable): ``[anchors, 4]``; only its element type is checked, as in Fluid 1.8.5.
        gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
        is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are left out.
        im_info (Variable): ``[images, 3]``: height, width and scale of each image.
        rpn_batch_size_per_im (int): how many anchors of an image are sampled.
        rpn_straddle_thresh (float): anchors that reach out of the image by more pixels are left out; below 0: none.
        rpn_fg_fraction (float): the largest part of objects among the samples.
        rpn_positive_overlap (float): the least overlap of an anchor that shows an object.
        rpn_negative_overlap (float): the overlap below which an anchor shows the background.
        use_random (bool): sample by chance; ``False``: take the first.

    Returns:
        tuple: logits ``[F + B, 1]`` of the F anchors with objects and the B with background; predicted differences
        ``[F, 4]``; int32 labels ``[F + B, 1]``, 1 or 0; wanted differences ``[F, 4]``; their weights ``[F, 4]``.

    Raises:
        TypeError: the elements of a Variable are not of a type that is listed.

    Example:
        >>> def by_image(values, dtype):
        ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
        >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
        >>> logits = fluid.layers.assign(np.array([[[0.5], [0.25]]], "float32"))
        >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
        >>> variances = fluid.layers.assign(np.ones([2, 4], "float32"))
        >>> boxes, crowd = by_image([[0, 0, 9, 9]], "float32"), by_image([[0]], "int32")
        >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
        >>> made = fluid.layers.rpn_target_assign(
        ...     moves, logits, anchors, variances, boxes, crowd, info, rpn_batch_size_per_im=2, use_random=False)
        >>> out = fluid.Executor().run(fetch_list=[made[0], made[2]], return_numpy=False)
        >>> [np.array(v).tolist() for v in out]
        [[[0.5], [0.25]], [[1], [0]]]
    """
    return layer("rpn_target_assign", locals())


def sigmoid_focal_loss(
    x: Variable, label: Variable, fg_num: Variable, gamma: float = 2.0, alpha: float = 0.25,
) -> Variable:
    """Computes the focal loss of every class of every sample: a cross entropy in which right examples count less.

    With ``p`` the sigmoid of ``x``: ``-alpha * (1 - p) ** gamma * ln(p) / fg_num`` for the class of the sample,
    ``-(1 - alpha) * p ** gamma * ln(1 - p) / fg_num`` for the others. Gradients flow into ``x``.

    Args:
        x (Variable): float32 or float64, ``[samples, classes]``: logits; there is none for the background.
        label (Variable): int32, ``[samples, 1]``: classes, from 1; 0 for the background, -1 for samples that do not
            count.
        fg_num (Variable): int32, ``[1]``: the number of samples that are no background.
        gamma (float): how much less right examples count.
        alpha (float): the weight of the right class; that of the others is ``1 - alpha``.

    Returns:
        Variable: like ``x``.

    Raises:
        TypeError: the elements of a Variable are not of a type that is listed.

    Example:
        >>> x = fluid.layers.assign(np.array([[0.0, 0.0]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1]], "int32"))
        >>> count = fluid.layers.assign(np.array([1], "int32"))
        >>> loss = fluid.layers.sigmoid_focal_loss(x, label, count)
        >>> [round(float(v), 4) for v in fluid.Executor().run(fetch_list=[loss])[0][0]]
        [0.0433, 0.13]
    """
    return layer("sigmoid_focal_loss", locals())


def ssd_loss(
    location: Variable, confidence: Variable, gt_box: Variable, gt_label: Variable, prior_box: Variable,
    prior_box_var: Optional[Union[Variable, Sequence[Variable]]] = None, background_label: int = 0,
    overlap_threshold: float = 0.5, neg_pos_ratio: float = 3.0, neg_overlap: float = 0.5,
    loc_loss_weight: float = 1.0, conf_loss_weight: float = 1.0, match_type: str = 'per_prediction',
    mining_type: str = 'max_negative', normalize: bool = True, sample_size: Optional[int] = None,
) -> Variable:
    """Computes the loss of SSD for every image: the classes of matches and of the hardest negative examples, and the places
    of matches.

    Prior boxes are matched with true boxes (``bipartite_match``); of those without a match, ``neg_pos_ratio`` for each
    match, with the highest loss, are negative examples. The loss is the cross entropy of classes and the smooth L1
    distance of differences from the prior boxes. Gradients flow into ``location`` and ``confidence``.

    Args:
        location (Variable): float32 or float64, ``[batch, boxes, 4]``: predicted differences from the prior boxes.
        confidence (Variable): ``[batch, boxes, classes]``: scores before the softmax.
        gt_box (Variable): ``[true boxes, 4]`` with a LoD by image: left, top, right and bottom as fractions of the
            image.
        gt_label (Variable): int32, here int64, too, ``[true boxes, 1]`` with a LoD by image: classes.
        prior_box (Variable): ``[boxes, 4]``.
        prior_box_var (Variable or list): ``[boxes, 4]`` or four numbers: what differences are divided by; it must be
            given.
        background_label (int): the class of predictions that match nothing.
        overlap_threshold (float): a prior box that no true box chose takes the one it overlaps most, if by at least
            this.
        neg_pos_ratio (float): negative examples for each match.
        neg_overlap (float): prior boxes that overlap a true box as much as this are no negative examples.
        loc_loss_weight (float): the weight of the loss of places.
        conf_loss_weight (float): the weight of the loss of classes.
        match_type (str): ``per_prediction``, or ``bipartite``: a prior box for each true box only.
        mining_type (str): ``max_negative``; Fluid has no other.
        normalize (bool): divide by the number of matches of the batch.
        sample_size (int): written to the operator, which reads it with another ``mining_type`` only.

    Returns:
        Variable: ``[batch, 1]``.

    Raises:
        ValueError: ``mining_type`` is not ``max_negative``.
        TypeError: there is no ``prior_box_var``.

    Example:
        >>> location = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
        >>> confidence = fluid.layers.assign(np.zeros([1, 2, 2], "float32"))
        >>> box = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5]], "float32"))
        >>> label = fluid.layers.assign(np.array([[1]], "int32"))
        >>> box, label = [fluid.layers.lod_reset(v, target_lod=[0, 1]) for v in (box, label)]
        >>> prior = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], "float32"))
        >>> loss = fluid.layers.ssd_loss(location, confidence, box, label, prior, [0.1, 0.1, 0.2, 0.2])
        >>> round(float(fluid.Executor().run(fetch_list=[loss])[0][0, 0]), 4)
        1.3863
    """
    return layer("ssd_loss", locals())


def target_assign(
    input: Variable, matched_indices: Variable, negative_indices: Optional[Variable] = None,
    mismatch_value: Optional[int] = None, name: Optional[str] = None,
) -> Tuple[Variable, ...]:
    """Gives every prediction the target that it was matched to, and a weight.

    A prediction that matches nothing has the target ``mismatch_value`` and weight 0; one of ``negative_indices`` has
    weight 1. No gradient flows through it.

    Args:
        input (Variable): float32, float64, int32 or int64, ``[rows, p, k]`` with a LoD of the rows of each image: the
            targets; column ``j`` takes those of position ``j % p``.
        matched_indices (Variable): int32, ``[images, m]``: the row of each prediction, counted from the first of the
            image, or -1, as ``bipartite_match`` returns it.
        negative_indices (Variable): int32, ``[n, 1]`` with a LoD by image: predictions that count as negative examples;
            ``None``: there are none.
        mismatch_value (int): the target of predictions that match nothing; ``None``: 0.
        name (str): prefix of the names of its variables.

    Returns:
        tuple: the targets ``[images, m, k]`` with the element type of ``input``, and float32 weights
        ``[images, m, 1]``.

    Example:
        >>> rows = fluid.layers.assign(np.array([[[1, 2]], [[3, 4]]], "float32"))
        >>> rows = fluid.layers.lod_reset(rows, target_lod=[0, 2])
        >>> matched = fluid.layers.assign(np.array([[1, -1]], "int32"))
        >>> targets, weights = fluid.layers.target_assign(rows, matched, mismatch_value=0)
        >>> [v.tolist() for v in fluid.Executor().run(fetch_list=[targets, weights])]
        [[[[3.0, 4.0], [0.0, 0.0]]], [[[1.0], [0.0]]]]
    """
    return layer("target_assign", locals())


def yolo_box(
    x: Variable, img_size: Variable, anchors: Union[Sequence[Any]], class_num: int, conf_thresh: float,
    downsample_ratio: int, clip_bbox: bool = True, name: Optional[str] = None, scale_x_y: float = 1.0,
) -> Tuple[Variable, ...]:
    """Computes boxes and scores from the predictions of a YOLO network.

    For each anchor of each cell the network predicts a place, a size, an objectness and a score per class. Boxes whose
    objectness is below ``conf_thresh`` are zeros. ``multiclass_nms`` takes the results, the scores transposed.

    Args:
        x (Variable): float32 or float64, ``[batch, anchors * (5 + class_num), h, w]``: the output of the network.
        img_size (Variable): int32, ``[batch, 2]``: height and width of each image.
        anchors (list or tuple): width and height of each anchor in turn, in pixels of the network's input.
        class_num (int): the number of classes.
        conf_thresh (float): the least objectness.
        downsample_ratio (int): the size of the network's input over that of the map, such as 32, 16 or 8.
        clip_bbox (bool): bring boxes into their image.
        name (str): prefix of the names of its variables.
        scale_x_y (float): factor of the distance of a centre from the middle of its cell.

    Returns:
        tuple: boxes ``[batch, anchors * h * w, 4]``, left, top, right and bottom in pixels of the images; and scores
        ``[batch, anchors * h * w, class_num]``.

    Raises:
        TypeError: an argument has another Python type than is listed; ``conf_thresh`` must not be an int.

    Example:
        >>> x = fluid.layers.assign(np.zeros([1, 6, 1, 1], "float32"))
        >>> size = fluid.layers.assign(np.array([[64, 64]], "int32"))
        >>> boxes, scores = fluid.layers.yolo_box(x, size, [16, 8], 1, 0.01, 32)
        >>> [v.tolist() for v in fluid.Executor().run(fetch_list=[boxes, scores])]
        [[[[16.0, 24.0, 48.0, 40.0]]], [[[0.25]]]]
    """
    return layer("yolo_box", locals())


def yolov3_loss(
    x: Variable, gt_box: Variable, gt_label: Variable, anchors: Union[Sequence[Any]],
    anchor_mask: Union[Sequence[Any]], class_num: int, ignore_thresh: float, downsample_ratio: int,
    gt_score: Optional[Variable] = None, use_label_smooth: bool = True, name: Optional[str] = None,
    scale_x_y: float = 1.0,
) -> Variable:
    """Computes the loss of YOLO version 3 for every image.

    For each true box whose best anchor is in ``anchor_mask``, at the cell of its centre: the cross entropies of the
    place and the classes and the absolute differences of the sizes, smaller boxes counting more; and the cross entropy
    of all objectness values but those of predictions that overlap a box by more than ``ignore_thresh``. Gradients flow
    into ``x``.

    Args:
        x (Variable): float32 or float64, ``[batch, len(anchor_mask) * (5 + class_num), h, w]``: the output of the
            network.
        gt_box (Variable): the same element type, ``[batch, boxes, 4]``: centre x and y, width and height as fractions
            of the image; a width or height of 0 marks a place without a box.
        gt_label (Variable): int32, ``[batch, boxes]``: classes.
        anchors (list or tuple): width and height of each anchor in turn, in pixels of the network's input.
        anchor_mask (list or tuple): the anchors that this map has predictions for.
        class_num (int): the number of classes.
        ignore_thresh (float): predictions that overlap a box by more are not punished for finding an object.
        downsample_ratio (int): the size of the network's input over that of the map, such as 32, 16 or 8.
        gt_score (Variable): ``[batch, boxes]``: weights of the boxes, for mixed images; ``None``: 1.
        use_label_smooth (bool): take ``1 / class_num``, at most 1 / 40, from the right class and give it to the others.
        name (str): prefix of the names of its variables.
        scale_x_y (float): factor of the distance of a centre from the middle of its cell.

    Returns:
        Variable: ``[batch]``, with the element type of ``x``.

    Raises:
        TypeError: an argument has another Python type than is listed; ``ignore_thresh`` must not be an int.

    Example:
        >>> x = fluid.layers.assign(np.zeros([1, 6, 1, 1], "float32"))
        >>> box = fluid.layers.assign(np.array([[[0.5, 0.5, 0.5, 0.25]]], "float32"))
        >>> label = fluid.layers.assign(np.array([[0]], "int32"))
        >>> loss = fluid.layers.yolov3_loss(x, box, label, [16, 8], [0], 1, 0.7, 32, use_label_smooth=False)
        >>> round(float(fluid.Executor().run(fetch_list=[loss])[0][0]), 4)
        3.9856
    """
    return layer("yolov3_loss", locals())
