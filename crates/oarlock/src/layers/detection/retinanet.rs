//! RetinaNet: targets of its anchors, its loss and its detections.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::FLOATS;
use super::rpn::{AnchorPredictions, ImageObjects};
use crate::declare::{Args, declare};
use crate::layers::Reshape;
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `retinanet_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, gt_labels, is_crowd, im_info,
    /// num_classes=1, positive_overlap=0.5, negative_overlap=0.4)`
    RetinanetTargets::new() {
        /// The number of classes, without the background.
        num_classes: i64 = 1,
        /// The least overlap of an anchor that shows an object.
        positive_overlap: f32 = 0.5,
        /// The overlap below which an anchor shows the background.
        negative_overlap: f32 = 0.4,
    }
}

options! {
    /// `retinanet_detection_output(bboxes, scores, anchors, im_info, score_threshold=0.05, nms_top_k=1000, keep_top_k=100,
    /// nms_threshold=0.3, nms_eta=1.0)`
    RetinanetOutput::new() {
        /// Boxes with at most this score are left out, except on the last level.
        score_threshold: f32 = 0.05,
        /// How many boxes of a level are looked at, best first.
        nms_top_k: i32 = 1000,
        /// How many boxes of an image stay, best first.
        keep_top_k: i32 = 100,
        /// Boxes that overlap a better one by more are dropped.
        nms_threshold: f32 = 0.3,
        /// Factor of the threshold after each box that stays, while it is above 0.5.
        nms_eta: f32 = 1.0,
    }
}

impl Net {
    /// The predictions that count, and what they should be: scores and boxes of the anchors that do, their classes and
    /// differences, weights of the differences, and one more than there are anchors of objects.
    #[track_caller]
    pub fn retinanet_target_assign(
        &mut self,
        predictions: AnchorPredictions<'_>,
        anchor_box: &VarRef,
        objects: ImageObjects<'_>,
        gt_labels: &VarRef,
        options: RetinanetTargets,
    ) -> Result<[VarRef; 6]> {
        let op = objects
            .inputs(Op::new("retinanet_target_assign").input("Anchor", [anchor_box]))
            .input("GtLabels", [gt_labels])
            .attr("positive_overlap", options.positive_overlap)
            .attr("negative_overlap", options.negative_overlap);
        let dtype = self.dtype(anchor_box)?;
        let outputs = [
            ("LocationIndex", DType::I32),
            ("ScoreIndex", DType::I32),
            ("TargetLabel", DType::I32),
            ("TargetBBox", dtype),
            ("BBoxInsideWeight", dtype),
            ("ForegroundNumber", DType::I32),
        ];
        self.located(|net| {
            let [places, samples, labels, boxes, weights, objects] = net.detection_op(op, outputs, false)?;
            let [scores, moves] = net.sampled(predictions, options.num_classes, &samples, &places)?;
            Ok([scores, moves, labels, boxes, weights, objects])
        })
    }

    /// The rows of predictions that count: scores of each class, and boxes.
    #[track_caller]
    pub(super) fn sampled(
        &mut self,
        predictions: AnchorPredictions<'_>,
        classes: i64,
        samples: &VarRef,
        places: &VarRef,
    ) -> Result<[VarRef; 2]> {
        let scores = self.reshape(predictions.cls_logits, Reshape::shape([-1, classes]))?;
        let boxes = self.reshape(predictions.bbox_pred, Reshape::shape([-1, 4]))?;
        Ok([self.gather(&scores, samples, true)?, self.gather(&boxes, places, true)?])
    }

    /// `sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25)`: the loss of every class of every sample.
    #[track_caller]
    pub fn sigmoid_focal_loss(
        &mut self,
        x: &VarRef,
        label: &VarRef,
        fg_num: &VarRef,
        gamma: f32,
        alpha: f32,
    ) -> Result<VarRef> {
        let op = Op::new("sigmoid_focal_loss").input("Label", [label]).input("FgNum", [fg_num]);
        self.unary(x, op.attr("gamma", gamma).attr("alpha", alpha))
    }

    /// The detections of RetinaNet: class, score and box.
    #[track_caller]
    pub fn retinanet_detection_output(
        &mut self,
        bboxes: &[VarRef],
        scores: &[VarRef],
        anchors: &[VarRef],
        im_info: &VarRef,
        options: RetinanetOutput,
    ) -> Result<VarRef> {
        let Some(first) = scores.first() else {
            fail!(Kind::Argument, "`retinanet_detection_output` needs the scores of at least one level");
        };
        let dtype = self.dtype(first)?;
        let op = Op::new("retinanet_detection_output")
            .input("BBoxes", bboxes)
            .input("Scores", scores)
            .input("Anchors", anchors)
            .input("ImInfo", [im_info])
            .attr("score_threshold", options.score_threshold)
            .attr("nms_top_k", options.nms_top_k)
            .attr("nms_threshold", options.nms_threshold)
            .attr("keep_top_k", options.keep_top_k)
            .attr("nms_eta", options.nms_eta);
        let [out] = self.detection_op(op, [("Out", dtype)], false)?;
        Ok(out)
    }
}

declare! {
    /// Finds the anchors that RetinaNet learns from, with what they should predict.
    ///
    /// An anchor shows an object if it overlaps a box by ``positive_overlap``, or more than any other anchor does; it shows
    /// the background if it overlaps all boxes by less than ``negative_overlap``. Others do not count. Gradients flow into
    /// ``bbox_pred`` and ``cls_logits``.
    ///
    /// Args:
    ///     bbox_pred (Variable): float32 or float64, ``[images, anchors, 4]``: how boxes differ from their anchors.
    ///     cls_logits (Variable): the same element type, ``[images, anchors, num_classes]``.
    ///     anchor_box (Variable): ``[anchors, 4]``: left, top, right and bottom.
    ///     anchor_var (Variable): ``[anchors, 4]``; only its element type is checked, as in Fluid 1.8.5.
    ///     gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
    ///     gt_labels (Variable): int32, ``[boxes, 1]`` with a LoD by image: classes, from 1.
    ///     is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are left out.
    ///     im_info (Variable): ``[images, 3]``: height, width and scale of each image.
    ///     num_classes (int): the number of classes, without the background.
    ///     positive_overlap (float): the least overlap of an anchor that shows an object.
    ///     negative_overlap (float): the overlap below which an anchor shows the background.
    ///
    /// Returns:
    ///     tuple: logits ``[F + B, num_classes]`` of the F anchors with objects and the B with background; predicted
    ///     differences ``[F, 4]``; int32 classes ``[F + B, 1]``, 0 for the background; wanted differences ``[F, 4]``; their
    ///     weights ``[F, 4]``; int32 ``[images, 1]``: one more than the number of anchors with objects.
    ///
    /// Raises:
    ///     TypeError: the elements of a Variable are not of a type that is listed.
    ///
    /// Example:
    ///     >>> def by_image(values, dtype):
    ///     ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
    ///     >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
    ///     >>> logits = fluid.layers.assign(np.zeros([1, 2, 1], "float32"))
    ///     >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
    ///     >>> variances = fluid.layers.assign(np.ones([2, 4], "float32"))
    ///     >>> boxes, labels, crowd = by_image([[0, 0, 9, 9]], "float32"), by_image([[1]], "int32"), by_image([[0]], "int32")
    ///     >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
    ///     >>> made = fluid.layers.retinanet_target_assign(moves, logits, anchors, variances, boxes, labels, crowd, info)
    ///     >>> out = fluid.Executor().run(fetch_list=[made[2], made[5]], return_numpy=False)
    ///     >>> [np.array(v).tolist() for v in out]
    ///     [[[1], [0]], [[2]]]
    "detection.retinanet_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, gt_labels, is_crowd, im_info, \
     num_classes=1, positive_overlap=0.5, negative_overlap=0.4)" => |net, a| {
        let [bbox_pred, cls_logits, anchor_box, _, gt_boxes, im_info] =
            floats(net, a, ["bbox_pred", "cls_logits", "anchor_box", "anchor_var", "gt_boxes", "im_info"])?;
        let gt_labels = a.typed_var(net, "gt_labels", &[DType::I32])?;
        let is_crowd = a.typed_var(net, "is_crowd", &[DType::I32])?;
        let options = RetinanetTargets::new()
            .num_classes(a.i64("num_classes")?)
            .positive_overlap(a.f32("positive_overlap")?)
            .negative_overlap(a.f32("negative_overlap")?);
        let objects = ImageObjects { gt_boxes: &gt_boxes, is_crowd: &is_crowd, im_info: &im_info };
        let predictions = AnchorPredictions { bbox_pred: &bbox_pred, cls_logits: &cls_logits };
        net.retinanet_target_assign(predictions, &anchor_box, objects, &gt_labels, options)
    };

    /// Computes the focal loss of every class of every sample: a cross entropy in which right examples count less.
    ///
    /// With ``p`` the sigmoid of ``x``: ``-alpha * (1 - p) ** gamma * ln(p) / fg_num`` for the class of the sample,
    /// ``-(1 - alpha) * p ** gamma * ln(1 - p) / fg_num`` for the others. Gradients flow into ``x``.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[samples, classes]``: logits; there is none for the background.
    ///     label (Variable): int32, ``[samples, 1]``: classes, from 1; 0 for the background, -1 for samples that do not
    ///         count.
    ///     fg_num (Variable): int32, ``[1]``: the number of samples that are no background.
    ///     gamma (float): how much less right examples count.
    ///     alpha (float): the weight of the right class; that of the others is ``1 - alpha``.
    ///
    /// Returns:
    ///     Variable: like ``x``.
    ///
    /// Raises:
    ///     TypeError: the elements of a Variable are not of a type that is listed.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0.0, 0.0]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1]], "int32"))
    ///     >>> count = fluid.layers.assign(np.array([1], "int32"))
    ///     >>> loss = fluid.layers.sigmoid_focal_loss(x, label, count)
    ///     >>> [round(float(v), 4) for v in fluid.Executor().run(fetch_list=[loss])[0][0]]
    ///     [0.0433, 0.13]
    "detection.sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25)" => |net, a| {
        let (x, label) = (a.typed_var(net, "x", FLOATS)?, a.typed_var(net, "label", &[DType::I32])?);
        let fg_num = a.typed_var(net, "fg_num", &[DType::I32])?;
        net.sigmoid_focal_loss(&x, &label, &fg_num, a.f32("gamma")?, a.f32("alpha")?)
    };

    /// Computes the detections of RetinaNet from the predictions of all levels.
    ///
    /// Of each level the best boxes are moved by their differences to the original image; boxes of a class that overlap a
    /// better one are dropped; the best of the image stay. No gradient flows through it.
    ///
    /// Args:
    ///     bboxes (list): float32 or float64 Variables ``[images, anchors, 4]``, one per level: how boxes differ from their
    ///         anchors.
    ///     scores (list): Variables ``[images, anchors, classes]``, one per level; there is no class for the background.
    ///     anchors (list): Variables ``[anchors, 4]``, one per level: left, top, right and bottom.
    ///     im_info (Variable): ``[images, 3]``: height, width and scale of each image.
    ///     score_threshold (float): boxes with at most this score are left out, except on the last level.
    ///     nms_top_k (int): how many boxes of a level are looked at, best first.
    ///     keep_top_k (int): how many boxes of an image stay, best first.
    ///     nms_threshold (float): boxes that overlap a better one by more are dropped.
    ///     nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5. (Fluid's layer
    ///         always takes 1.)
    ///
    /// Returns:
    ///     Variable: ``[n, 6]`` with a LoD by image: class, from 1, score, left, top, right and bottom.
    ///
    /// Raises:
    ///     TypeError: an argument is no list, or elements are no floats.
    ///
    /// Example:
    ///     >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0.75], [0.5]]], "float32"))
    ///     >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
    ///     >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
    ///     >>> out = fluid.layers.retinanet_detection_output([moves], [scores], [anchors], info)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
    ///     [[1.0, 0.75, 0.0, 0.0, 9.0, 9.0], [1.0, 0.5, 20.0, 20.0, 29.0, 29.0]]
    "detection.retinanet_detection_output(bboxes, scores, anchors, im_info, score_threshold=0.05, nms_top_k=1000, \
     keep_top_k=100, nms_threshold=0.3, nms_eta=1.0)" => |net, a| {
        let level = |name: &str| a.typed_vars(net, name, FLOATS);
        let (bboxes, scores, anchors) = (level("bboxes")?, level("scores")?, level("anchors")?);
        let options = RetinanetOutput::new()
            .score_threshold(a.f32("score_threshold")?)
            .nms_top_k(a.i32("nms_top_k")?)
            .keep_top_k(a.i32("keep_top_k")?)
            .nms_threshold(a.f32("nms_threshold")?)
            .nms_eta(a.f32("nms_eta")?);
        let im_info = a.typed_var(net, "im_info", FLOATS)?;
        net.retinanet_detection_output(&bboxes, &scores, &anchors, &im_info, options)
    };
}

/// Variables whose elements must be floats.
pub(super) fn floats<const N: usize>(net: &Net, a: &Args, names: [&str; N]) -> Result<[VarRef; N]> {
    let vars: Vec<VarRef> = names.iter().map(|name| a.typed_var(net, name, FLOATS)).collect::<Result<_>>()?;
    vars.try_into().map_err(|_| oarlock_ir::Error::internal("there is a variable for each name"))
}
