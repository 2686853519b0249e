"""Records golden cases of the operators of object detection by running PaddlePaddle 1.8.

Usage: python golden_detection.py DIRECTORY

Writes `cases.json` and `cases.npz` in the form that `crates/oarlock-ops/tests/golden_cases.rs` reads: inputs, attributes,
outputs with their LoD, and gradients. It needs a Python in which `import paddle.fluid` works; a second run writes the same bytes.
"""

import json
import os
import sys
import zipfile

import numpy as np
import paddle.fluid as fluid


class Recorder:
    def __init__(self):
        self.cases = {}
        self.arrays = {}
        self.doubles = set()

    def tensor(self, key, array, lod):
        self.arrays[key] = array
        for level, offsets in enumerate(lod):
            self.arrays["%s.lod%d" % (key, level)] = np.array(offsets, "int64")
        return {"dtype": str(array.dtype), "shape": list(array.shape)}

    def record(self, op, inputs, attrs, outputs, grads=()):
        """Runs one operator. Values of `inputs` are arrays, pairs of array and sequence lengths, or lists of these;
        `outputs` names slots (`Out`), with their element type if it is not that of floats (`Index:int32`) and with how
        many variables they take (`Out*2`); a minus marks one that is made and not read. The first output is differentiated by the inputs of `grads`."""
        cases = self.cases.setdefault(op, {})
        # Of f64, which runs the same code, one case is enough.
        if self.float_of(inputs) == "float64" and op in self.doubles:
            return
        self.doubles.update([op] if self.float_of(inputs) == "float64" else [])
        name = "case%d" % len(cases)
        base = "%s/%s" % (op, name)
        program, feed, slots = fluid.Program(), {}, {}
        block = program.global_block()
        case = {"attrs": attrs, "in": {}, "out": {}}
        for slot, values in sorted(inputs.items()):
            slots[slot], case["in"][slot] = [], []
            for i, value in enumerate(values if isinstance(values, list) else [values]):
                array, lengths = value if isinstance(value, tuple) else (value, [])
                tensor = fluid.LoDTensor()
                tensor.set(array, fluid.CPUPlace())
                if lengths:
                    tensor.set_recursive_sequence_lengths(lengths)
                var = block.create_var(name="%s.%d" % (slot, i), shape=array.shape, dtype=str(array.dtype),
                                       lod_level=len(lengths), is_data=True, stop_gradient=slot not in grads)
                feed[var.name] = tensor
                slots[slot].append(var)
                case["in"][slot].append(self.tensor("%s/in/%s/%d" % (base, slot, i), array, tensor.lod()))
        outs, fetches = {}, []
        for text in outputs:
            slot, _, dtype = text.partition(":")
            slot, _, count = slot.lstrip("-").partition("*")
            outs[slot] = []
            for i in range(int(count or 1)):
                var = block.create_var(name="%s.out%d" % (slot, i), dtype=dtype or "float32")
                outs[slot].append(var)
                fetches += [("out", slot, i, var)] * (text[0] != "-")
        block.append_op(type=op, inputs=slots, outputs=outs, attrs=dict(attrs))
        if grads:
            target = outs[outputs[0].partition(":")[0]][0]
            shape = self.run(program, feed, [target])[0].shape()
            gradient = np.random.RandomState(7).uniform(-1, 1, shape).astype(str(self.float_of(inputs)))
            var = block.create_var(name="target", shape=target.shape, dtype=str(gradient.dtype), is_data=True)
            feed["target"] = gradient
            case["grad"] = {}
            case["outgrad"] = {target.name.split(".")[0]: [self.tensor(
                "%s/outgrad/%s/0" % (base, target.name.split(".")[0]), gradient, [])]}
            wanted = [(slot, i, of) for slot in grads for i, of in enumerate(slots[slot])]
            # All at once: some gradient operators want all their outputs.
            found = fluid.gradients([target], [of for _, _, of in wanted], target_gradients=[var])
            fetches += [("grad", slot, i, grad) for (slot, i, _), grad in zip(wanted, found)]
        for (section, slot, i, var), value in zip(fetches, self.run(program, feed, [f[3] for f in fetches])):
            spec = self.tensor("%s/%s/%s/%d" % (base, section, slot, i), self.array(value, var, inputs), value.lod())
            case[section].setdefault(slot, []).append(spec)
        cases[name] = case

    def array(self, value, var, inputs):
        if 0 not in value.shape():
            return np.array(value)
        # Fetching a tensor without elements loses its type and all sizes but the first.
        declared = fluid.data_feeder.convert_dtype(var.dtype)
        return np.zeros((0,) + tuple(var.shape[1:]), self.float_of(inputs) if declared == "float32" else declared)

    @staticmethod
    def float_of(inputs):
        values = [v for value in inputs.values() for v in (value if isinstance(value, list) else [value])]
        arrays = [v[0] if isinstance(v, tuple) else v for v in values]
        return next((a.dtype for a in arrays if a.dtype.kind == "f"), None)

    @staticmethod
    def run(program, feed, fetches):
        with fluid.scope_guard(fluid.Scope()):
            return fluid.Executor(fluid.CPUPlace()).run(program, feed=feed, fetch_list=fetches, return_numpy=False)

    def write(self, directory):
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "cases.json"), "w") as file:
            json.dump(self.cases, file, sort_keys=True, separators=(",", ":"))
        with zipfile.ZipFile(os.path.join(directory, "cases.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
            for key in sorted(self.arrays):
                # A fixed date, so that the same arrays are the same bytes.
                info = zipfile.ZipInfo(key + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(info, "w") as file:
                    np.lib.format.write_array(file, np.ascontiguousarray(self.arrays[key]))


RECORDER = Recorder()
record = RECORDER.record
random = np.random.RandomState(11)


def uniform(*shape, low=0.0, high=1.0, dtype="float32"):
    # Few digits, so that the file stays small.
    return (np.round(random.uniform(low, high, shape) * 64) / 64).astype(dtype)


def scores(*shape, dtype="float32"):
    """Distinct values in (0, 1), so that no order depends on how equal ones are sorted."""
    count = int(np.prod(shape))
    return ((random.permutation(count) + 0.5) / max(count, 1)).reshape(shape).astype(dtype)


def boxes(*shape, size=1.0, dtype="float32"):
    corner = random.uniform(0, 0.7, shape + (2,))
    sides = np.concatenate([corner, corner + random.uniform(0.05, 0.5, shape + (2,))], -1)
    return (np.round(sides * 256) / 256 * size).astype(dtype)


def ints(values, *shape):
    return np.array(values, "int32").reshape(shape or (-1,))


def record_boxes():
    for dtype in ["float32", "float64"]:
        for normalized in [True, False]:
            attrs = {"box_normalized": normalized}
            size = 1 if normalized else 20
            record("iou_similarity", {"X": (boxes(5, size=size, dtype=dtype), [[2, 0, 3]]), "Y": boxes(4, size=size, dtype=dtype)},
                   attrs, ["Out"])
            priors, target = boxes(4, size=size, dtype=dtype), boxes(3, size=size, dtype=dtype)
            encode = dict(attrs, code_type="encode_center_size")
            record("box_coder", {"PriorBox": priors, "TargetBox": (target, [[1, 2]])}, encode, ["OutputBox"])
            record("box_coder", {"PriorBox": priors, "PriorBoxVar": uniform(4, 4, low=0.1, dtype=dtype), "TargetBox": target},
                   encode, ["OutputBox"])
            for axis in [0, 1]:
                decode = dict(attrs, code_type="decode_center_size", axis=axis)
                deltas = uniform(*((3, 4, 4) if axis == 0 else (4, 3, 4)), low=-1, dtype=dtype)
                record("box_coder", {"PriorBox": priors, "TargetBox": deltas}, decode, ["OutputBox"])
                record("box_coder", {"PriorBox": (priors, [[3, 1]]), "PriorBoxVar": uniform(4, 4, low=0.1, dtype=dtype),
                                     "TargetBox": deltas}, decode, ["OutputBox"])
                if dtype == "float32":
                    # With f64 Fluid reads these four as doubles.
                    variance = dict(decode, variance=[0.1, 0.15, 0.2, 0.25])
                    record("box_coder", {"PriorBox": priors, "TargetBox": deltas}, variance, ["OutputBox"])
        record("iou_similarity", {"X": (np.zeros([1, 4], dtype), [[1, 0]]), "Y": np.zeros([1, 4], dtype)}, {}, ["Out"])
        clip = {"Input": (uniform(5, 4, low=-20, high=120, dtype=dtype), [[2, 1, 2]]),
                "ImInfo": np.array([[60, 80, 1], [50, 50, 1], [90, 60, 1.5]], dtype)}
        record("box_clip", clip, {}, ["Output"])
        record("box_clip", dict(clip, Input=(uniform(3, 2, 4, low=-20, high=120, dtype=dtype), [[1, 1, 1]])), {}, ["Output"])
        record("polygon_box_transform", {"Input": uniform(2, 8, 3, 4, low=-1, dtype=dtype)}, {}, ["Output"])
    for clip in [4.135, 0.3]:
        record("box_decoder_and_assign",
               {"PriorBox": (boxes(4, size=50), [[1, 3]]), "PriorBoxVar": np.array([0.1, 0.1, 0.2, 0.2], "float32"),
                "TargetBox": (uniform(4, 12, low=-3, high=3), [[1, 3]]), "BoxScore": (scores(4, 3), [[1, 3]])},
               {"box_clip": clip}, ["DecodeBox", "OutputAssignBox"])
    record("box_decoder_and_assign",
           {"PriorBox": boxes(2, size=50), "PriorBoxVar": np.ones(4, "float32"), "TargetBox": uniform(2, 4),
            "BoxScore": scores(2, 1)}, {"box_clip": 4.135}, ["DecodeBox", "OutputAssignBox"])


def record_anchors():
    variances = [0.1, 0.1, 0.2, 0.2]
    for dtype in ["float32", "float64"]:
        maps = {"Input": np.zeros([2, 3, 3, 4], dtype), "Image": np.zeros([2, 3, 30, 45], dtype)}
        attrs = {"min_sizes": [4.0, 9.0], "aspect_ratios": [2.0, 3.0, 0.5], "variances": variances}
        record("prior_box", maps, attrs, ["Boxes", "Variances"])
        record("prior_box", maps, dict(attrs, max_sizes=[8.0, 14.0], flip=False, clip=False), ["Boxes", "Variances"])
        record("prior_box", maps, dict(attrs, max_sizes=[8.0, 14.0], min_max_aspect_ratios_order=True, step_w=9.0, step_h=11.0,
                                       offset=0.3), ["Boxes", "Variances"])
        dense = {"variances": variances, "fixed_sizes": [4.0, 9.0], "fixed_ratios": [1.0, 2.5], "densities": [1, 3]}
        record("density_prior_box", maps, dense, ["Boxes", "Variances"])
        record("density_prior_box", maps, dict(dense, clip=False, flatten_to_2d=True, offset=0.1), ["Boxes", "Variances"])
        record("density_prior_box", maps, dict(dense, step_w=7.0, step_h=6.5), ["Boxes", "Variances"])
        anchors = {"anchor_sizes": [32.0, 50.0], "aspect_ratios": [0.5, 1.0, 2.2], "variances": variances}
        record("anchor_generator", {"Input": maps["Input"]}, anchors, ["Anchors", "Variances"])
        record("anchor_generator", {"Input": maps["Input"]}, dict(anchors, stride=[8.0, 12.0], offset=0.2),
               ["Anchors", "Variances"])


def record_ssd():
    for dtype in ["float32", "float64"]:
        dist = scores(6, 5, dtype=dtype)
        outs = ["ColToRowMatchDist", "ColToRowMatchIndices:int32"]
        for kind in ["bipartite", "per_prediction"]:
            attrs = {"match_type": kind, "dist_threshold": 0.4}
            record("bipartite_match", {"DistMat": (dist, [[2, 4]])}, attrs, outs)
            record("bipartite_match", {"DistMat": dist}, attrs, outs)
            record("bipartite_match", {"DistMat": np.where(dist > 0.5, dist, 0).astype(dtype)}, attrs, outs)
            record("bipartite_match", {"DistMat": (scores(140, 6, dtype=dtype), [[140]])}, attrs, outs)
        mining = {"ClsLoss": scores(2, 6, dtype=dtype), "MatchIndices": ints([0, -1, -1, -1, 1, -1, -1, -1, -1, 2, -1, -1], 2, 6),
                  "MatchDist": uniform(2, 6, high=0.6, dtype=dtype)}
        outs = ["NegIndices:int32", "UpdatedMatchIndices:int32"]
        record("mine_hard_examples", mining, {"neg_pos_ratio": 1.5, "neg_dist_threshold": 0.5}, outs)
        record("mine_hard_examples", mining, {"neg_pos_ratio": 3.0, "neg_dist_threshold": 0.2}, outs)
        hard = {"mining_type": "hard_example", "sample_size": 3}
        record("mine_hard_examples", mining, hard, outs)
        record("mine_hard_examples", dict(mining, LocLoss=scores(2, 6, dtype=dtype)), hard, outs)
    matches = ints([0, 2, -1, 1, -1, 0, 0, -1, 1, -1, -1, 0], 2, 6)
    record("target_assign", {"X": (uniform(5, 6, 4), [[3, 2]]), "MatchIndices": matches}, {"mismatch_value": 0}, ["Out", "OutWeight"])
    labels = (ints([7, 8, 9, 4, 5], 5, 1, 1), [[3, 2]])
    record("target_assign", {"X": labels, "MatchIndices": matches}, {"mismatch_value": -3}, ["Out:int32", "OutWeight"])
    negative = (ints([2, 4, 1], 3, 1), [[2, 1]])
    record("target_assign", {"X": labels, "MatchIndices": matches, "NegIndices": negative}, {"mismatch_value": 0},
           ["Out:int32", "OutWeight"])


def record_nms():
    nms = {"background_label": 0, "score_threshold": 0.1, "nms_top_k": 20, "nms_threshold": 0.3, "nms_eta": 1.0, "keep_top_k": 10,
           "normalized": True}
    variants = [{}, {"background_label": -1, "keep_top_k": -1, "nms_top_k": -1}, {"nms_eta": 0.8, "nms_threshold": 0.7},
                {"score_threshold": 2.0}, {"keep_top_k": 3, "nms_top_k": 5}]
    for dtype in ["float32", "float64"]:
        for change in variants:
            attrs = dict(nms, **change)
            batch = {"BBoxes": boxes(2, 12, dtype=dtype), "Scores": scores(2, 3, 12, dtype=dtype)}
            each = {"BBoxes": (boxes(9, 3, dtype=dtype), [[4, 5]]), "Scores": (scores(9, 3, dtype=dtype), [[4, 5]])}
            record("multiclass_nms", batch, attrs, ["Out"])
            record("multiclass_nms", each, attrs, ["Out"])
            record("multiclass_nms2", batch, attrs, ["Out", "Index:int32"])
            record("multiclass_nms2", each, attrs, ["Out", "Index:int32"])
            record("locality_aware_nms", dict(batch, Scores=scores(2, 1, 12, dtype=dtype)), dict(attrs, background_label=-1), ["Out"])
            record("matrix_nms", batch, dict({k: v for k, v in attrs.items() if k not in ("nms_eta", "nms_threshold")},
                                             post_threshold=0.05), ["Out", "Index:int32"])
        gaussian = {"score_threshold": 0.1, "nms_top_k": 8, "keep_top_k": 5, "use_gaussian": True, "gaussian_sigma": 1.5,
                    "normalized": False, "background_label": -1}
        record("matrix_nms", {"BBoxes": boxes(1, 12, size=30, dtype=dtype), "Scores": scores(1, 2, 12, dtype=dtype)}, gaussian,
               ["Out", "Index:int32"])
        pixels = {"BBoxes": boxes(1, 12, size=30, dtype=dtype), "Scores": scores(1, 2, 12, dtype=dtype)}
        record("multiclass_nms", pixels, dict(nms, normalized=False), ["Out"])
        record("locality_aware_nms", pixels, dict(nms, normalized=False, nms_threshold=0.2), ["Out"])
        for corners in [4, 8]:
            angles = np.sort(random.uniform(0, 2 * np.pi, (1, 10, corners)), -1)
            points = np.stack([np.cos(angles), np.sin(angles)], -1) * 4 + random.uniform(0, 5, (1, 10, 1, 2))
            polygons = {"BBoxes": points.reshape(1, 10, 2 * corners).astype(dtype), "Scores": scores(1, 2, 10, dtype=dtype)}
            record("multiclass_nms", polygons, nms, ["Out"])
            record("locality_aware_nms", polygons, dict(nms, nms_threshold=0.2), ["Out"])
        levels = [5, 3]
        detection = {
            "BBoxes": [uniform(2, m, 4, low=-0.5, high=0.5, dtype=dtype) for m in levels],
            "Scores": [scores(2, m, 3, dtype=dtype) for m in levels],
            "Anchors": [boxes(m, size=60, dtype=dtype) for m in levels],
            "ImInfo": np.array([[60, 80, 1], [70, 50, 1.5]], dtype),
        }
        attrs = {"score_threshold": 0.3, "nms_top_k": 10, "nms_threshold": 0.4, "nms_eta": 1.0, "keep_top_k": 6}
        record("retinanet_detection_output", detection, attrs, ["Out"])
        record("retinanet_detection_output", detection, dict(attrs, nms_eta=0.7, nms_threshold=0.6, keep_top_k=100), ["Out"])


def record_yolo():
    anchors = [10, 13, 16, 30, 33, 23]
    for dtype in ["float32", "float64"]:
        x = {"X": uniform(2, 21, 3, 3, low=-2, high=2, dtype=dtype), "ImgSize": ints([40, 60, 33, 50], 2, 2)}
        attrs = {"anchors": anchors, "class_num": 2, "conf_thresh": 0.4, "downsample_ratio": 8}
        record("yolo_box", x, attrs, ["Boxes", "Scores"])
        record("yolo_box", x, dict(attrs, clip_bbox=False, scale_x_y=1.2, conf_thresh=0.0), ["Boxes", "Scores"])
        record("yolo_box", {"X": uniform(1, 6, 2, 2, dtype=dtype), "ImgSize": ints([40, 60], 1, 2)},
               {"anchors": [20, 30], "class_num": 1, "conf_thresh": 0.01, "downsample_ratio": 32}, ["Boxes", "Scores"])
        gt = uniform(2, 4, 4, low=0.05, high=0.95, dtype=dtype)
        gt[0, 2:] = 0
        gt[1, 3, 2] = 0
        loss = {"X": uniform(2, 14, 4, 4, low=-1, dtype=dtype), "GTBox": gt, "GTLabel": ints(random.randint(0, 2, 8), 2, 4)}
        attrs = {"anchors": anchors, "anchor_mask": [0, 2], "class_num": 2, "downsample_ratio": 16, "ignore_thresh": 0.3}
        outs = ["Loss", "ObjectnessMask", "GTMatchMask:int32"]
        record("yolov3_loss", loss, attrs, outs, ["X"])
        record("yolov3_loss", dict(loss, GTScore=uniform(2, 4, dtype=dtype)),
               dict(attrs, use_label_smooth=False, ignore_thresh=0.7, scale_x_y=1.1), outs, ["X"])


def record_roi():
    for dtype in ["float32", "float64"]:
        x = uniform(3, 2, 6, 7, low=-1, dtype=dtype)
        rois = np.array([[0, 0, 5, 5], [2.3, 1.2, 9.1, 6.8], [-3, -2, 4, 20], [1, 1, 1, 1], [12, 3, 14, 4]], dtype)
        regions = (rois, [[2, 0, 3]])
        pooled = {"spatial_scale": 0.6, "pooled_height": 2, "pooled_width": 3}
        record("roi_align", {"X": x, "ROIs": regions}, dict(pooled, sampling_ratio=-1), ["Out"], ["X"])
        record("roi_align", {"X": x, "ROIs": regions}, dict(pooled, sampling_ratio=2), ["Out"], ["X"])
        record("roi_align", {"X": x, "ROIs": rois, "RoisLod": np.array([0, 2, 2, 5], "int64")},
               dict(pooled, spatial_scale=1.0, sampling_ratio=0), ["Out"], ["X"])
        record("roi_pool", {"X": x, "ROIs": regions}, pooled, ["Out", "Argmax:int64"], ["X"])
        record("roi_pool", {"X": x, "ROIs": rois, "RoisLod": np.array([0, 2, 2, 5], "int64")}, dict(pooled, spatial_scale=1.0),
               ["Out", "Argmax:int64"], ["X"])
        parts = uniform(3, 12, 6, 7, low=-1, dtype=dtype)
        record("psroi_pool", {"X": parts, "ROIs": regions}, dict(pooled, output_channels=2), ["Out"], ["X"])
        record("psroi_pool", {"X": parts, "ROIs": regions}, dict(pooled, output_channels=12, pooled_height=1, pooled_width=1), ["Out"],
               ["X"])
        whole = np.array([[0, 0, 5, 5], [2.3, 1.2, 9.1, 6.8], [-3, -2, 4, 20], [1.1, 1.4, 2.7, 3.3]], dtype)
        record("prroi_pool", {"X": x, "ROIs": (whole, [[1, 1, 2]])}, pooled, ["Out"], ["X", "ROIs"])
        record("prroi_pool", {"X": x, "ROIs": whole, "BatchRoINums": np.array([2, 0, 2], "int64")}, dict(pooled, spatial_scale=1.0),
               ["Out"], ["X", "ROIs"])
        shifted = {"Input": uniform(2, 8, 5, 6, low=-1, dtype=dtype), "ROIs": (rois[:3] * 0.9, [[1, 2]])}
        psroi = {"spatial_scale": 0.8, "output_dim": 2, "group_size": [2, 2], "pooled_height": 2, "pooled_width": 2,
                 "part_size": [2, 2], "sample_per_part": 3, "trans_std": 0.1, "no_trans": False}
        outs = ["Output", "TopCount"]
        trans = uniform(3, 4, 2, 2, low=-1, dtype=dtype)
        record("deformable_psroi_pooling", dict(shifted, Trans=trans), psroi, outs, ["Input", "Trans"])
        record("deformable_psroi_pooling", dict(shifted, Trans=trans[:, :2]), psroi, outs, ["Input", "Trans"])
        record("deformable_psroi_pooling", dict(shifted, Trans=trans), dict(psroi, no_trans=True), outs, ["Input"])
        record("sigmoid_focal_loss", {"X": uniform(5, 3, low=-4, high=4, dtype=dtype), "Label": ints([0, 1, 3, -1, 2], 5, 1),
                                      "FgNum": ints([3])}, {"gamma": 2.0, "alpha": 0.25}, ["Out"], ["X"])
        record("sigmoid_focal_loss", {"X": uniform(4, 1, low=-90, high=90, dtype=dtype), "Label": ints([0, 1, 1, 0], 4, 1),
                                      "FgNum": ints([0])}, {"gamma": 1.5, "alpha": 0.4}, ["Out"], ["X"])
    quads = np.array([[1, 1, 9, 2, 8, 7, 0, 6], [0, 0, 5, 0, 5, 5, 0, 5], [3, -2, 12, 4, 6, 9, -1, 3]], "float32")
    for scale in [1.0, 0.5]:
        record("roi_perspective_transform", {"X": uniform(2, 2, 6, 7, low=-1), "ROIs": (quads, [[1, 2]])},
               {"spatial_scale": scale, "transformed_height": 4, "transformed_width": 5},
               ["Out", "Mask:int32", "TransformMatrix", "-Out2InIdx:int32", "-Out2InWeights"], ["X"])


def record_deformable():
    for dtype in ["float32", "float64"]:
        for groups, deformable, stride, padding, dilation in [(1, 1, [1, 1], [1, 1], [1, 1]), (2, 2, [2, 1], [0, 1], [1, 2])]:
            attrs = {"strides": stride, "paddings": padding, "dilations": dilation, "groups": groups,
                     "deformable_groups": deformable, "im2col_step": 1}
            h, w = ((n + 2 * p - (d * (k - 1) + 1)) // s + 1
                    for n, p, d, k, s in zip((5, 6), padding, dilation, (3, 2), stride))
            inputs = {"Input": uniform(2, 4, 5, 6, low=-1, dtype=dtype), "Filter": uniform(4, 4 // groups, 3, 2, low=-1, dtype=dtype),
                      "Offset": uniform(2, deformable * 12, h, w, low=-2, high=2, dtype=dtype)}
            if dtype == "float32":
                record("deformable_conv_v1", inputs, attrs, ["Output"], ["Input", "Offset", "Filter"])
            inputs["Mask"] = uniform(2, deformable * 6, h, w, dtype=dtype)
            record("deformable_conv", inputs, attrs, ["Output"], ["Input", "Offset", "Mask", "Filter"])


def record_proposals():
    for dtype in ["float32", "float64"]:
        anchors = boxes(4, 5, 3, size=60, dtype=dtype)
        rpn = {"Scores": scores(2, 3, 4, 5, dtype=dtype), "BboxDeltas": uniform(2, 12, 4, 5, low=-0.5, high=0.5, dtype=dtype),
               "ImInfo": np.array([[60, 70, 1], [50, 60, 1.5]], dtype), "Anchors": anchors,
               "Variances": uniform(4, 5, 3, 4, low=0.5, dtype=dtype)}
        attrs = {"pre_nms_topN": 100, "post_nms_topN": 10, "nms_thresh": 0.5, "min_size": 3.0, "eta": 1.0}
        outs = ["RpnRois", "RpnRoiProbs"]
        record("generate_proposals", rpn, attrs, outs)
        record("generate_proposals", rpn, dict(attrs, post_nms_topN=0, eta=0.8, nms_thresh=0.7), outs + ["RpnRoisLod:int64"])
        record("generate_proposals", rpn, dict(attrs, pre_nms_topN=20, min_size=12.0), outs)
        rois = [(boxes(n, size=s, dtype=dtype), [[n - 2, 2]]) for n, s in [(5, 20), (4, 200)]]
        probabilities = [(scores(n, 1, dtype=dtype), [[n - 2, 2]]) for n in [5, 4]]
        for top in [5, 100]:
            record("collect_fpn_proposals", {"MultiLevelRois": rois, "MultiLevelScores": probabilities}, {"post_nms_topN": top},
                   ["FpnRois"])
        mixed = np.concatenate([boxes(4, size=s, dtype=dtype) for s in [30, 120, 700]])[random.permutation(12)]
        record("distribute_fpn_proposals", {"FpnRois": (mixed, [[5, 7]])},
               {"min_level": 2, "max_level": 5, "refer_level": 4, "refer_scale": 224}, ["MultiFpnRois*4", "RestoreIndex:int32"])
        ground = boxes(4, size=60, dtype=dtype)
        truth = {"GtBoxes": (ground, [[3, 1]]), "IsCrowd": (ints([0, 1, 0, 0], 4, 1), [[3, 1]]),
                 "ImInfo": np.array([[70, 80, 1], [60, 90, 1.2]], dtype)}
        near = np.concatenate([ground[[0, 2]] + 1, boxes(12, size=60, dtype=dtype)]).astype(dtype)
        outs = ["LocationIndex:int32", "ScoreIndex:int32", "TargetBBox", "TargetLabel:int32", "BBoxInsideWeight"]
        attrs = {"rpn_batch_size_per_im": 6, "rpn_straddle_thresh": 0.0, "rpn_positive_overlap": 0.6, "rpn_negative_overlap": 0.3,
                 "rpn_fg_fraction": 0.5, "use_random": False}
        record("rpn_target_assign", dict(truth, Anchor=near), attrs, outs)
        record("rpn_target_assign", dict(truth, Anchor=near), dict(attrs, rpn_straddle_thresh=-1.0, rpn_batch_size_per_im=20), outs)
        record("rpn_target_assign", dict(truth, Anchor=near), dict(attrs, rpn_negative_overlap=0.9, rpn_batch_size_per_im=12), outs)
        labels = (ints([2, 1, 3, 1], 4, 1), [[3, 1]])
        record("retinanet_target_assign", dict(truth, Anchor=near, GtLabels=labels),
               {"positive_overlap": 0.5, "negative_overlap": 0.4}, outs + ["ForegroundNumber:int32"])
        rois = np.concatenate([ground[[0, 2]] + 1, boxes(6, size=60, dtype=dtype), ground[3:] * 1.2 + 1, boxes(4, size=70, dtype=dtype)])
        sample = dict(truth, RpnRois=(rois.astype(dtype), [[8, 5]]), GtClasses=labels)
        attrs = {"batch_size_per_im": 6, "fg_fraction": 0.5, "fg_thresh": 0.5, "bg_thresh_hi": 0.5, "bg_thresh_lo": 0.0,
                 "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2], "class_nums": 4, "use_random": False}
        outs = ["Rois", "LabelsInt32:int32", "BboxTargets", "BboxInsideWeights", "BboxOutsideWeights"]
        record("generate_proposal_labels", sample, attrs, outs)
        record("generate_proposal_labels", sample, dict(attrs, batch_size_per_im=30, bg_thresh_lo=0.1), outs)
        record("generate_proposal_labels", sample, dict(attrs, is_cls_agnostic=True, class_nums=2), outs)
        record("generate_proposal_labels", sample, dict(attrs, is_cascade_rcnn=True, batch_size_per_im=16), outs)
        record("generate_proposal_labels", dict(sample, RpnRois=(rois.astype(dtype), [[13, 0]])), attrs, outs)
    polygons = np.array([[2, 2], [20, 3], [18, 22], [4, 19], [30, 30], [50, 31], [40, 48], [28, 25], [33, 24], [31, 29], [5, 30],
                         [25, 32], [22, 55], [6, 50]], "float32")
    masks = {
        "ImInfo": np.array([[60, 60, 1], [60, 60, 1.5]], "float32"),
        "GtClasses": (ints([1, 2, 3], 3, 1), [[2, 1]]), "IsCrowd": (ints([0, 0, 0], 3, 1), [[2, 1]]),
        "GtSegms": (polygons, [[2, 1], [1, 2, 1], [4, 3, 3, 4]]),
        "Rois": (np.array([[1, 1, 22, 24], [27, 23, 52, 50], [0, 0, 9, 9], [6, 40, 40, 80], [0, 0, 5, 5]], "float32"), [[3, 2]]),
        "LabelsInt32": (ints([1, 2, 0, 3, 0], 5, 1), [[3, 2]]),
    }
    outs = ["MaskRois", "RoiHasMaskInt32:int32", "MaskInt32:int32"]
    record("generate_mask_labels", masks, {"num_classes": 4, "resolution": 8}, outs)
    record("generate_mask_labels", dict(masks, LabelsInt32=(ints([1, 2, 2, 0, 0], 5, 1), [[3, 2]])),
           {"num_classes": 4, "resolution": 5}, outs)


if __name__ == "__main__":
    record_boxes()
    record_anchors()
    record_ssd()
    record_nms()
    record_yolo()
    record_roi()
    record_deformable()
    record_proposals()
    RECORDER.write(sys.argv[1])
    print("%d cases of %d operators" % (sum(map(len, RECORDER.cases.values())), len(RECORDER.cases)))
