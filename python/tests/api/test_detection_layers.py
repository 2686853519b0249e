"""Arguments of the layers of object detection are checked as in Fluid 1.8.5."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers


def data(name, shape, dtype="float32", lod_level=0):
    return fluid.data(name, [None] + shape, dtype, lod_level=lod_level)


def inputs():
    made = {
        "image": data("image", [3, 32, 32]), "map1": data("map1", [8, 4, 4]), "map2": data("map2", [8, 2, 2]),
        "imap": data("imap", [8, 4, 4], "int64"), "boxes": data("boxes", [4], lod_level=1),
        "iboxes": data("iboxes", [4], "int64", 1),
        "cls": data("cls", [1], "int32", 1), "cls64": data("cls64", [1], "int64", 1), "codes": data("codes", [20, 4]),
        "confs": data("confs", [20, 3]), "score3": data("score3", [3, 20]), "priors": data("priors", [4]), "info": data("info", [3]),
        "size": data("size", [2], "int32"), "ymap": data("ymap", [21, 4, 4]), "ybox": data("ybox", [5, 4]),
        "ylabel": data("ylabel", [5], "int32"),
        "fg": fluid.data("fg", [1], "int32"), "score2": data("score2", [3]), "logits": data("logits", [20, 1]),
        "offset": data("offset", [18, 2, 2]), "ioffset": data("ioffset", [18, 2, 2], "int32"),
    }
    return dict(made, layers=layers, fluid=fluid)


# A call, and what Fluid 1.8.5 raises.
REFUSED = [
    ("prior_box(imap, image, [4.0])", TypeError),
    ("prior_box(map1, image, [4.0], steps=[1.0])", ValueError),
    ("prior_box(map1, image, [4.0], steps=1.0)", ValueError),
    ("density_prior_box(map1, image, 2, [4.0], [1.0])", TypeError),
    ("density_prior_box(map1, image, [2, 1], [4.0], [1.0])", ValueError),
    ("density_prior_box(map1, image, [2], [4.0], None)", TypeError),
    ("anchor_generator(map1, [32.0], [1.0])", ValueError),
    ("anchor_generator(map1, None, [1.0], stride=[16.0, 16.0])", TypeError),
    ("box_coder(priors, None, boxes)", TypeError),
    ("box_coder(priors, 0.1, boxes)", TypeError),
    ("box_clip(iboxes, info)", TypeError),
    ("polygon_box_transform(imap)", TypeError),
    ("multi_box_head(map1, image, 32, 3, [[2.0]], min_sizes=[4.0], max_sizes=[8.0])", ValueError),
    ("multi_box_head([map1, map2], image, 32, 3, [[2.0]], min_sizes=[4.0, 8.0], max_sizes=[8.0, 9.0])", ValueError),
    ("multi_box_head([map1, map2], image, 32, 3, [[2.0], [2.0]], min_sizes=[4.0, 8.0], max_sizes=[8.0, 9.0], steps=[8.0])", ValueError),
    ("multi_box_head([map1, map2], image, 32, 3, [[2.0], [2.0]], min_sizes=[4.0, 8.0], max_sizes=[8.0, 9.0], step_w=[8.0, 8.0])", TypeError),
    ("ssd_loss(codes, confs, boxes, cls, priors)", TypeError),
    ("ssd_loss(codes, confs, boxes, cls, priors, priors, mining_type='hard_example')", ValueError),
    ("multiclass_nms(codes, score3, 0, 10, 5)", TypeError),
    ("multiclass_nms(codes, score3, 0.1, 10.0, 5)", TypeError),
    ("multiclass_nms(codes, score3, 0.1, 10, 5, normalized=1)", TypeError),
    ("matrix_nms(codes, score3, 0.1, 0, 10, 5)", TypeError),
    ("yolo_box(ymap, size, 10, 2, 0.01, 32)", TypeError),
    ("yolo_box(ymap, size, [10, 13, 16, 30, 33, 23], 2, 1, 32)", TypeError),
    ("yolov3_loss(ymap, ybox, ylabel, [10, 13, 16, 30, 33, 23], [0, 1, 2], 2.5, 0.7, 32)", TypeError),
    ("yolov3_loss(ymap, ybox, ylabel, [10, 13, 16, 30, 33, 23], [0, 1, 2], 2, 0.7, 32, use_label_smooth=1)", TypeError),
    ("sigmoid_focal_loss(score2, cls64, fg)", TypeError),
    ("rpn_target_assign(codes, logits, priors, priors, boxes, cls64, info)", TypeError),
    ("retinanet_target_assign(codes, confs, priors, priors, boxes, cls64, cls, info)", TypeError),
    ("retinanet_detection_output(codes, [confs], [priors], info)", TypeError),
    ("generate_proposal_labels(boxes, cls64, cls, boxes, info, class_nums=3)", TypeError),
    ("generate_proposals(imap, map1, info, map1, map1)", TypeError),
    ("roi_align(imap, boxes)", TypeError),
    ("psroi_pool(map1, boxes, 2, 1, 2, 2)", TypeError),
    ("psroi_pool(map1, boxes, 2.0, 1.0, 2, 2)", TypeError),
    ("prroi_pool(map1, boxes, 1)", TypeError),
    ("roi_perspective_transform(map1, boxes, 4, 4, 1)", TypeError),
    ("deformable_conv(map1, ioffset, None, 4, 3, modulated=False)", TypeError),
    ("deformable_conv(map1, offset, None, 4, 3, groups=3, modulated=False)", ValueError),
    ("deformable_roi_pooling(map1, boxes, map1, group_size=1)", TypeError),
]


@pytest.mark.parametrize("call,error", REFUSED, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_a_wrong_argument_is_refused(call, error):
    with pytest.raises(error):
        eval("layers." + call, inputs())


def test_a_wrong_element_type_is_named():
    with pytest.raises(TypeError, match="`prior_box` takes uint8 or int8 or float32 or float64 as `input`, but `imap` is int64"):
        eval("layers.prior_box(imap, image, [4.0])", inputs())


def test_one_name_for_a_head_names_nothing():
    made = inputs()
    head = layers.multi_box_head([made["map1"]], made["image"], 32, 3, [[2.0]], min_sizes=[4.0], max_sizes=[8.0], name="head")
    assert [v.name for v in head[2:]] == ["prior_box_0.tmp_0", "prior_box_0.tmp_1"]


def test_background_label_of_detection_output_counts():
    loc = layers.assign(np.zeros([1, 2, 4], "float32"))
    scores = layers.assign(np.array([[[0, 9], [9, 0]]], "float32"))
    prior = layers.assign(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], "float32"))
    out = layers.detection_output(loc, scores, prior, [0.1, 0.1, 0.2, 0.2], background_label=1)
    found = np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0])
    np.testing.assert_allclose(found, [[0, 1, 0.5, 0.5, 1, 1]], atol=1e-3)


def test_channels_of_deformable_regions_are_divided_by_position():
    x, trans = data("x", [8, 4, 4]), data("trans", [2, 2, 2])
    rois = data("rois", [4], lod_level=1)
    out = layers.deformable_roi_pooling(x, rois, trans, group_size=[2, 2], pooled_height=2, pooled_width=2, position_sensitive=True)
    assert out.shape == (-1, 2, 2, 2)
    with pytest.raises(ValueError, match="8 channels cannot be divided into 3 \\* 3 parts"):
        layers.deformable_roi_pooling(x, rois, trans, pooled_height=3, pooled_width=3, position_sensitive=True)


def test_deformable_convolution_does_not_depend_on_the_images_of_a_step():
    """Fluid 1.8.5 lays out ``im2col_step`` images at a time and mixes up images and filters if these are several."""
    rng = np.random.RandomState(3)
    feed = {"x": rng.rand(4, 2, 5, 5).astype("float32"), "offset": rng.rand(4, 18, 3, 3).astype("float32") - 0.5}
    results = []
    for step in (1, 4):
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
            x, offset = data("x", [2, 5, 5]), data("offset", [18, 3, 3])
            attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
            out = layers.deformable_conv(x, offset, None, 2, 3, im2col_step=step, param_attr=attr, modulated=False)
            fluid.backward.append_backward(layers.mean(layers.square(out)))
            exe = fluid.Executor()
            exe.run(fluid.default_startup_program())
            results.append(exe.run(feed=feed, fetch_list=[out, "w@GRAD"]))
    for one, four in zip(*results):
        np.testing.assert_array_equal(one, four)
