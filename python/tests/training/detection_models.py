"""Heads of detectors, as ``test_detection.py`` trains them. Runs under Fluid 1.8.5, too: ``python detection_models.py > detection.json``
there wrote what the tests compare with."""

import json

import numpy as np

IMAGES = np.random.RandomState(7).rand(2, 3, 32, 32).astype("float32") - 0.5


def lod(fluid, array, lengths):
    return fluid.create_lod_tensor(array, [lengths], fluid.CPUPlace())


def trunk(fluid, image):
    """Two feature maps, a fourth and an eighth as large as the image."""
    low = fluid.layers.conv2d(image, 4, 3, stride=4, padding=1, act="relu")
    return low, fluid.layers.conv2d(low, 4, 3, stride=2, padding=1, act="relu")


def ssd(fluid):
    image = fluid.data("image", [None, 3, 32, 32])
    box, label = fluid.data("box", [None, 4], lod_level=1), fluid.data("label", [None, 1], "int32", lod_level=1)
    places, scores, priors, variances = fluid.layers.multi_box_head(
        trunk(fluid, image), image, 32, 3, [[2.0], [2.0]], min_sizes=[8.0, 14.0], max_sizes=[14.0, 20.0], flip=True, clip=True
    )
    found = fluid.layers.detection_output(places, scores, priors, variances, nms_top_k=20, keep_top_k=8, score_threshold=0.3)
    losses = fluid.layers.ssd_loss(places, scores, box, label, priors, variances)
    boxes = np.array([[0.1, 0.1, 0.4, 0.5], [0.5, 0.4, 0.9, 0.9], [0.2, 0.3, 0.7, 0.6]], "float32")
    feed = {"image": IMAGES, "box": lod(fluid, boxes, [2, 1]), "label": lod(fluid, np.array([[1], [2], [1]], "int32"), [2, 1])}
    return fluid.layers.mean(losses), feed, [losses, found]


def yolo(fluid):
    image, size = fluid.data("image", [None, 3, 32, 32]), fluid.data("size", [None, 2], "int32")
    box, label = fluid.data("box", [None, 3, 4]), fluid.data("label", [None, 3], "int32")
    anchors, ratios = [4, 6, 8, 8, 14, 10, 20, 16], (4, 8)
    losses, boxes, scores = [], [], []
    for feature, mask, ratio in zip(trunk(fluid, image), ([0, 1], [2, 3]), ratios):
        out = fluid.layers.conv2d(feature, 2 * (5 + 2), 1)
        losses.append(fluid.layers.yolov3_loss(out, box, label, anchors, mask, 2, 0.5, ratio))
        own = [side for i in mask for side in anchors[2 * i : 2 * i + 2]]
        found = fluid.layers.yolo_box(out, size, own, 2, 0.01, ratio)
        boxes.append(found[0])
        scores.append(fluid.layers.transpose(found[1], [0, 2, 1]))
    found = fluid.layers.multiclass_nms(
        fluid.layers.concat(boxes, 1), fluid.layers.concat(scores, 2), 0.05, 40, 8, nms_threshold=0.45, background_label=-1
    )
    first = [[0.3, 0.3, 0.2, 0.3], [0.7, 0.6, 0.5, 0.4], [0, 0, 0, 0]]
    second = [[0.5, 0.5, 0.3, 0.2], [0.2, 0.8, 0.6, 0.5], [0.9, 0.1, 0.1, 0.2]]
    feed = {
        "image": IMAGES, "size": np.array([[32, 32], [64, 48]], "int32"), "box": np.array([first, second], "float32"),
        "label": np.array([[0, 1, 0], [1, 0, 1]], "int32"),
    }
    return fluid.layers.mean(fluid.layers.sum(losses)), feed, losses + [found]


def faster_rcnn(fluid):
    image, info = fluid.data("image", [None, 3, 32, 32]), fluid.data("info", [None, 3])
    box = fluid.data("box", [None, 4], lod_level=1)
    label, crowd = (fluid.data(name, [None, 1], "int32", lod_level=1) for name in ("label", "crowd"))
    feature = trunk(fluid, image)[1]
    anchors, variances = fluid.layers.anchor_generator(
        feature, [8.0, 16.0], [0.5, 1.0, 2.0], stride=[8.0, 8.0], variance=[1.0, 1.0, 1.0, 1.0]
    )
    score, move = fluid.layers.conv2d(feature, 6, 1), fluid.layers.conv2d(feature, 24, 1)
    rows = lambda x, n: fluid.layers.reshape(fluid.layers.transpose(x, [0, 2, 3, 1]), [0, -1, n])
    flat = lambda x: fluid.layers.reshape(x, [-1, 4])
    logits, moves, labels, targets, weights = fluid.layers.rpn_target_assign(
        rows(move, 4), rows(score, 1), flat(anchors), flat(variances), box, crowd, info, rpn_batch_size_per_im=16,
        rpn_straddle_thresh=-1.0, rpn_positive_overlap=0.5, use_random=False,
    )
    class_loss = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(logits, fluid.layers.cast(labels, "float32")))
    place_loss = fluid.layers.mean(fluid.layers.smooth_l1(moves, targets, weights, weights, sigma=3.0))
    rois, _ = fluid.layers.generate_proposals(
        fluid.layers.sigmoid(score), move, info, anchors, variances, pre_nms_top_n=60, post_nms_top_n=12, nms_thresh=0.7, min_size=2.0
    )
    rois, classes, deltas, inside, outside = fluid.layers.generate_proposal_labels(
        rois, label, crowd, box, info, batch_size_per_im=8, fg_thresh=0.4, fg_fraction=0.5, class_nums=3, use_random=False
    )
    pooled = fluid.layers.roi_align(feature, rois, 2, 2, 0.125, 2)
    head_loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(fluid.layers.fc(pooled, 3), fluid.layers.cast(classes, "int64")))
    delta_loss = fluid.layers.mean(fluid.layers.smooth_l1(fluid.layers.fc(pooled, 12), deltas, inside, outside))
    by_image = lambda values, dtype: lod(fluid, np.array(values, dtype), [2, 1])
    feed = {
        "image": IMAGES, "info": np.array([[32, 32, 1], [32, 32, 1]], "float32"),
        "box": by_image([[2, 3, 14, 16], [15, 12, 30, 29], [6, 8, 22, 20]], "float32"), "label": by_image([[1], [2], [1]], "int32"),
        "crowd": by_image([[0], [0], [0]], "int32"),
    }
    loss = fluid.layers.sum([class_loss, place_loss, head_loss, delta_loss])
    return loss, feed, [class_loss, place_loss, rois, classes, pooled, head_loss, delta_loss]


MODELS = {"ssd": ssd, "yolo": yolo, "faster_rcnn": faster_rcnn}


def filled(shape, number):
    """First values of a parameter: the same on every machine."""
    return (0.3 * np.sin(1.7 * np.arange(np.prod(shape)) + number)).reshape(shape).astype("float32")


def numbers(tensor):
    return [float("%.7g" % v) for v in np.array(tensor).ravel()]


def train(fluid, model):
    """Trains two steps. Returns both losses, the gradients of the first step, and what the first step fetched."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        loss, feed, fetched = MODELS[model](fluid)
        fluid.optimizer.SGD(0.01).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        params = sorted(p.name for p in main.global_block().all_parameters())
        for number, name in enumerate(params):
            tensor = fluid.global_scope().find_var(name).get_tensor()
            tensor.set(filled(np.array(tensor).shape, number), fluid.CPUPlace())
        grads = [name + "@GRAD" for name in params]
        first = exe.run(main, feed=feed, fetch_list=[loss] + grads + fetched, return_numpy=False)
        second = exe.run(main, feed=feed, fetch_list=[loss])[0]
        shown = lambda t: {"shape": list(np.array(t).shape), "lod": t.recursive_sequence_lengths(), "values": numbers(t)}
        return {
            "losses": numbers(first[0]) + numbers(second),
            "grads": {name: numbers(t) for name, t in zip(params, first[1:])},
            "outs": [shown(t) for t in first[1 + len(grads) :]],
        }


if __name__ == "__main__":
    import paddle.fluid

    recorded = {model: train(paddle.fluid, model) for model in MODELS}
    print(json.dumps(recorded, sort_keys=True, separators=(",", ":")).replace('},"', '},\n"'))
