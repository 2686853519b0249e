//! The region proposals of Faster R-CNN: targets of its anchors, proposals, and targets of those.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use super::retinanet::floats;
use super::{FLOATS, VARIANCE};
use crate::declare::{Made, declare};
use crate::options::options;
use crate::{Net, VarRef};

/// What a network predicts for every anchor.
#[derive(Debug, Clone, Copy)]
pub struct AnchorPredictions<'a> {
    /// How boxes differ from their anchors, `[images, anchors, 4]`.
    pub bbox_pred: &'a VarRef,
    /// Scores before the sigmoid, `[images, anchors, classes]`.
    pub cls_logits: &'a VarRef,
}

/// The objects of images; the first two have a LoD by image.
#[derive(Debug, Clone, Copy)]
pub struct ImageObjects<'a> {
    /// Boxes in pixels of the original images, `[boxes, 4]`.
    pub gt_boxes: &'a VarRef,
    /// Not 0 for boxes that hold a crowd, i32 `[boxes, 1]`.
    pub is_crowd: &'a VarRef,
    /// Height, width and scale of each image, `[images, 3]`.
    pub im_info: &'a VarRef,
}

impl ImageObjects<'_> {
    /// Adds them to an operator.
    pub(super) fn inputs(&self, op: Op) -> Op {
        op.input("GtBoxes", [self.gt_boxes]).input("IsCrowd", [self.is_crowd]).input("ImInfo", [self.im_info])
    }
}

options! {
    /// `rpn_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, is_crowd, im_info, rpn_batch_size_per_im=256,
    /// rpn_straddle_thresh=0.0, rpn_fg_fraction=0.5, rpn_positive_overlap=0.7, rpn_negative_overlap=0.3, use_random=True)`
    RpnTargets::new() {
        /// How many anchors of an image are sampled.
        rpn_batch_size_per_im: i32 = 256,
        /// Anchors that reach out of the image by more pixels are left out; below 0 for none.
        rpn_straddle_thresh: f32 = 0.0,
        /// The largest part of objects among the samples.
        rpn_fg_fraction: f32 = 0.5,
        /// The least overlap of an anchor that shows an object.
        rpn_positive_overlap: f32 = 0.7,
        /// The overlap below which an anchor shows the background.
        rpn_negative_overlap: f32 = 0.3,
        /// Sample by chance; false takes the first.
        use_random: bool = true,
    }
}

options! {
    /// `generate_proposals(scores, bbox_deltas, im_info, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
    /// nms_thresh=0.5, min_size=0.1, eta=1.0)`
    Proposals::new() {
        /// How many anchors are looked at, best first; 0 or less for all.
        pre_nms_top_n: i32 = 6000,
        /// How many regions stay, best first; 0 or less for all.
        post_nms_top_n: i32 = 1000,
        /// Regions that overlap a better one by more are dropped.
        nms_thresh: f32 = 0.5,
        /// The least width and height, in pixels of the original image.
        min_size: f32 = 0.1,
        /// Factor of `nms_thresh` after each region that stays, while it is above 0.5.
        eta: f32 = 1.0,
    }
}

options! {
    /// `generate_proposal_labels(rpn_rois, gt_classes, is_crowd, gt_boxes, im_info, batch_size_per_im=256, fg_fraction=0.25,
    /// fg_thresh=0.25, bg_thresh_hi=0.5, bg_thresh_lo=0.0, bbox_reg_weights=[0.1, 0.1, 0.2, 0.2], class_nums,
    /// use_random=True, is_cls_agnostic=False, is_cascade_rcnn=False)`
    ProposalLabels::classes(
        /// The number of classes, with the background.
        class_nums: i32,
    ) {
        /// How many regions of an image are sampled.
        batch_size_per_im: i32 = 256,
        /// The largest part of objects among the samples.
        fg_fraction: f32 = 0.25,
        /// The least overlap of a region that shows an object.
        fg_thresh: f32 = 0.25,
        /// The overlap below which a region shows the background.
        bg_thresh_hi: f32 = 0.5,
        /// The least overlap of a region that shows the background.
        bg_thresh_lo: f32 = 0.0,
        /// Four divisors of the differences.
        bbox_reg_weights(into): Vec<f32> = VARIANCE.to_vec(),
        /// Sample by chance; false takes the first.
        use_random: bool = true,
        /// All classes learn the same differences.
        is_cls_agnostic: bool = false,
        /// Regions come from another head: all of them are taken.
        is_cascade_rcnn: bool = false,
    }
}

impl Net {
    /// The predictions that count, and what they should be: scores and boxes of sampled anchors, whether they show an object,
    /// their differences and the weights of these.
    #[track_caller]
    pub fn rpn_target_assign(
        &mut self,
        predictions: AnchorPredictions<'_>,
        anchor_box: &VarRef,
        objects: ImageObjects<'_>,
        options: RpnTargets,
    ) -> Result<[VarRef; 5]> {
        let op = objects
            .inputs(Op::new("rpn_target_assign").input("Anchor", [anchor_box]))
            .attr("rpn_batch_size_per_im", options.rpn_batch_size_per_im)
            .attr("rpn_straddle_thresh", options.rpn_straddle_thresh)
            .attr("rpn_positive_overlap", options.rpn_positive_overlap)
            .attr("rpn_negative_overlap", options.rpn_negative_overlap)
            .attr("rpn_fg_fraction", options.rpn_fg_fraction)
            .attr("use_random", options.use_random);
        let dtype = self.dtype(anchor_box)?;
        let outputs = [
            ("LocationIndex", DType::I32),
            ("ScoreIndex", DType::I32),
            ("TargetLabel", DType::I32),
            ("TargetBBox", dtype),
            ("BBoxInsideWeight", dtype),
        ];
        self.located(|net| {
            let [places, samples, labels, boxes, weights] = net.detection_op(op, outputs, false)?;
            let [scores, moves] = net.sampled(predictions, 1, &samples, &places)?;
            Ok([scores, moves, labels, boxes, weights])
        })
    }

    /// `generate_proposals(scores, bbox_deltas, im_info, anchors, variances, ...)`: the regions of each image that most likely
    /// show an object, their scores, and where the regions of each image end. `anchors` are boxes and variances.
    #[track_caller]
    pub fn generate_proposals(
        &mut self,
        scores: &VarRef,
        bbox_deltas: &VarRef,
        im_info: &VarRef,
        anchors: (&VarRef, &VarRef),
        options: Proposals,
    ) -> Result<[VarRef; 3]> {
        let op = Op::new("generate_proposals")
            .input("Scores", [scores])
            .input("BboxDeltas", [bbox_deltas])
            .input("ImInfo", [im_info])
            .input("Anchors", [anchors.0])
            .input("Variances", [anchors.1])
            .attr("pre_nms_topN", options.pre_nms_top_n)
            .attr("post_nms_topN", options.post_nms_top_n)
            .attr("nms_thresh", options.nms_thresh)
            .attr("min_size", options.min_size)
            .attr("eta", options.eta);
        let (boxes, likely) = (self.dtype(bbox_deltas)?, self.dtype(scores)?);
        self.detection_op(op, [("RpnRois", boxes), ("RpnRoiProbs", likely), ("RpnRoisLod", DType::I32)], false)
    }

    /// A sample of the regions and boxes of each image: regions, classes, differences, and their inside and outside weights.
    #[track_caller]
    pub fn generate_proposal_labels(
        &mut self,
        rpn_rois: &VarRef,
        gt_classes: &VarRef,
        objects: ImageObjects<'_>,
        options: ProposalLabels,
    ) -> Result<[VarRef; 5]> {
        let op = objects
            .inputs(Op::new("generate_proposal_labels").input("RpnRois", [rpn_rois]).input("GtClasses", [gt_classes]))
            .attr("batch_size_per_im", options.batch_size_per_im)
            .attr("fg_fraction", options.fg_fraction)
            .attr("fg_thresh", options.fg_thresh)
            .attr("bg_thresh_hi", options.bg_thresh_hi)
            .attr("bg_thresh_lo", options.bg_thresh_lo)
            .attr("bbox_reg_weights", options.bbox_reg_weights)
            .attr("class_nums", options.class_nums)
            .attr("use_random", options.use_random)
            .attr("is_cls_agnostic", options.is_cls_agnostic)
            .attr("is_cascade_rcnn", options.is_cascade_rcnn);
        let (boxes, classes) = (self.dtype(rpn_rois)?, self.dtype(gt_classes)?);
        let outputs = [
            ("Rois", boxes),
            ("LabelsInt32", classes),
            ("BboxTargets", boxes),
            ("BboxInsideWeights", boxes),
            ("BboxOutsideWeights", boxes),
        ];
        self.detection_op(op, outputs, false)
    }
}

declare! {
    /// Samples the anchors that a region proposal network learns from, with what they should predict.
    ///
    /// An anchor shows an object if it overlaps a box by ``rpn_positive_overlap``, or more than any other anchor does; it
    /// shows the background if it overlaps all boxes by less than ``rpn_negative_overlap``. Gradients flow into
    /// ``bbox_pred`` and ``cls_logits``.
    ///
    /// Args:
    ///     bbox_pred (Variable): float32 or float64, ``[images, anchors, 4]``: how boxes differ from their anchors.
    ///     cls_logits (Variable): the same element type, ``[images, anchors, 1]``: scores before the sigmoid.
    ///     anchor_box (Variable): ``[anchors, 4]``: left, top, right and bottom.
    ///     anchor_var (Variable): ``[anchors, 4]``; only its element type is checked, as in Fluid 1.8.5.
    ///     gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
    ///     is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are left out.
    ///     im_info (Variable): ``[images, 3]``: height, width and scale of each image.
    ///     rpn_batch_size_per_im (int): how many anchors of an image are sampled.
    ///     rpn_straddle_thresh (float): anchors that reach out of the image by more pixels are left out; below 0: none.
    ///     rpn_fg_fraction (float): the largest part of objects among the samples.
    ///     rpn_positive_overlap (float): the least overlap of an anchor that shows an object.
    ///     rpn_negative_overlap (float): the overlap below which an anchor shows the background.
    ///     use_random (bool): sample by chance; ``False``: take the first.
    ///
    /// Returns:
    ///     tuple: logits ``[F + B, 1]`` of the F anchors with objects and the B with background; predicted differences
    ///     ``[F, 4]``; int32 labels ``[F + B, 1]``, 1 or 0; wanted differences ``[F, 4]``; their weights ``[F, 4]``.
    ///
    /// Raises:
    ///     TypeError: the elements of a Variable are not of a type that is listed.
    ///
    /// Example:
    ///     >>> def by_image(values, dtype):
    ///     ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, 1])
    ///     >>> moves = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
    ///     >>> logits = fluid.layers.assign(np.array([[[0.5], [0.25]]], "float32"))
    ///     >>> anchors = fluid.layers.assign(np.array([[0, 0, 9, 9], [20, 20, 29, 29]], "float32"))
    ///     >>> variances = fluid.layers.assign(np.ones([2, 4], "float32"))
    ///     >>> boxes, crowd = by_image([[0, 0, 9, 9]], "float32"), by_image([[0]], "int32")
    ///     >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
    ///     >>> made = fluid.layers.rpn_target_assign(
    ///     ...     moves, logits, anchors, variances, boxes, crowd, info, rpn_batch_size_per_im=2, use_random=False)
    ///     >>> out = fluid.Executor().run(fetch_list=[made[0], made[2]], return_numpy=False)
    ///     >>> [np.array(v).tolist() for v in out]
    ///     [[[0.5], [0.25]], [[1], [0]]]
    "detection.rpn_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, is_crowd, im_info, \
     rpn_batch_size_per_im=256, rpn_straddle_thresh=0.0, rpn_fg_fraction=0.5, rpn_positive_overlap=0.7, \
     rpn_negative_overlap=0.3, use_random=True)" => |net, a| {
        let [bbox_pred, cls_logits, anchor_box, _, gt_boxes, im_info] =
            floats(net, a, ["bbox_pred", "cls_logits", "anchor_box", "anchor_var", "gt_boxes", "im_info"])?;
        let is_crowd = a.typed_var(net, "is_crowd", &[DType::I32])?;
        let options = RpnTargets::new()
            .rpn_batch_size_per_im(a.i32("rpn_batch_size_per_im")?)
            .rpn_straddle_thresh(a.f32("rpn_straddle_thresh")?)
            .rpn_fg_fraction(a.f32("rpn_fg_fraction")?)
            .rpn_positive_overlap(a.f32("rpn_positive_overlap")?)
            .rpn_negative_overlap(a.f32("rpn_negative_overlap")?)
            .use_random(a.bool("use_random")?);
        let objects = ImageObjects { gt_boxes: &gt_boxes, is_crowd: &is_crowd, im_info: &im_info };
        let predictions = AnchorPredictions { bbox_pred: &bbox_pred, cls_logits: &cls_logits };
        net.rpn_target_assign(predictions, &anchor_box, objects, options)
    };

    /// Proposes the regions of images that most likely show an object.
    ///
    /// The anchors with the highest scores are moved by their differences and brought into the image; those that are too
    /// small or overlap a better one are dropped. No gradient flows through it.
    ///
    /// Args:
    ///     scores (Variable): float32, ``[images, anchors per cell, h, w]``: how likely each anchor shows an object.
    ///     bbox_deltas (Variable): float32, ``[images, 4 * anchors per cell, h, w]``: how its box differs.
    ///     im_info (Variable): float32 or float64, ``[images, 3]``: height, width and scale of each image.
    ///     anchors (Variable): float32, ``[h, w, anchors per cell, 4]``, as ``anchor_generator`` makes them.
    ///     variances (Variable): float32, the same shape: factors of the differences.
    ///     pre_nms_top_n (int): how many anchors are looked at, best first; 0 or less: all.
    ///     post_nms_top_n (int): how many regions of an image stay, best first; 0 or less: all.
    ///     nms_thresh (float): regions that overlap a better one by more of the union are dropped.
    ///     min_size (float): the least width and height, in pixels of the original image; at least 1 counts.
    ///     eta (float): factor of ``nms_thresh`` after each region that stays, while it is above 0.5.
    ///     return_rois_num (bool): return where the regions of each image end, too.
    ///
    /// Returns:
    ///     tuple: regions ``[n, 4]`` and their scores ``[n, 1]``, both with a LoD by image; with ``return_rois_num`` also
    ///     ``[images]``: where the regions of each image end.
    ///
    /// Raises:
    ///     TypeError: the elements of a Variable are not of a type that is listed.
    ///
    /// Example:
    ///     >>> scores = fluid.layers.assign(np.array([[[[0.5, 0.75]]]], "float32"))
    ///     >>> moves = fluid.layers.assign(np.zeros([1, 4, 1, 2], "float32"))
    ///     >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
    ///     >>> feature = fluid.layers.assign(np.zeros([1, 2, 1, 2], "float32"))
    ///     >>> anchors, variances = fluid.layers.anchor_generator(
    ///     ...     feature, anchor_sizes=[16.0], aspect_ratios=[1.0], stride=[16.0, 16.0])
    ///     >>> rois, _ = fluid.layers.generate_proposals(scores, moves, info, anchors, variances)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[rois], return_numpy=False)[0]).tolist()
    ///     [[16.0, 0.0, 31.0, 15.0], [0.0, 0.0, 15.0, 15.0]]
    "detection.generate_proposals(scores, bbox_deltas, im_info, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000, \
     nms_thresh=0.5, min_size=0.1, eta=1.0, name=None, return_rois_num=False)" => |net, a| {
        let single = |name: &str| a.typed_var(net, name, &[DType::F32]);
        let (scores, moves) = (single("scores")?, single("bbox_deltas")?);
        let (anchors, variances) = (single("anchors")?, single("variances")?);
        let im_info = a.typed_var(net, "im_info", FLOATS)?;
        let options = Proposals::new()
            .pre_nms_top_n(a.i32("pre_nms_top_n")?)
            .post_nms_top_n(a.i32("post_nms_top_n")?)
            .nms_thresh(a.f32("nms_thresh")?)
            .min_size(a.f32("min_size")?)
            .eta(a.f32("eta")?);
        let [rois, likely, ends] = net.generate_proposals(&scores, &moves, &im_info, (&anchors, &variances), options)?;
        oarlock_ir::Result::Ok(match a.bool("return_rois_num")? {
            true => Made::from([rois, likely, ends]),
            false => Made::from([rois, likely]),
        })
    };

    /// Samples the regions that the second stage of Faster R-CNN learns from, with their classes and wanted differences.
    ///
    /// Regions and true boxes that overlap a true box by ``fg_thresh`` have its class; those that overlap all by
    /// ``bg_thresh_lo`` to ``bg_thresh_hi`` have class 0. No gradient flows through it.
    ///
    /// Args:
    ///     rpn_rois (Variable): float32 or float64, ``[regions, 4]`` with a LoD by image, in the network's pixels.
    ///     gt_classes (Variable): int32, ``[boxes, 1]`` with a LoD by image: classes, from 1.
    ///     is_crowd (Variable): int32, ``[boxes, 1]`` with a LoD by image: boxes with a number other than 0 are no examples.
    ///     gt_boxes (Variable): ``[boxes, 4]`` with a LoD by image, in pixels of the original images.
    ///     im_info (Variable): ``[images, 3]``: height, width and scale of each image.
    ///     batch_size_per_im (int): how many regions of an image are sampled.
    ///     fg_fraction (float): the largest part of objects among the samples.
    ///     fg_thresh (float): the least overlap of a region that shows an object.
    ///     bg_thresh_hi (float): the overlap below which a region shows the background.
    ///     bg_thresh_lo (float): the least overlap of a region that shows the background.
    ///     bbox_reg_weights (list or tuple): four divisors of the differences.
    ///     class_nums (int): the number of classes, with the background; it must be given.
    ///     use_random (bool): sample by chance; ``False``: take the first.
    ///     is_cls_agnostic (bool): all classes learn the same differences.
    ///     is_cascade_rcnn (bool): the regions come from another head and begin with the boxes: all of them are taken.
    ///
    /// Returns:
    ///     tuple: regions ``[n, 4]`` with a LoD by image; int32 classes ``[n, 1]``; wanted differences
    ///     ``[n, 4 * class_nums]``, at the place of the class; their inside and outside weights, of the same shape.
    ///
    /// Raises:
    ///     TypeError: the elements of a Variable are not of a type that is listed, or there are no ``class_nums``.
    ///
    /// Example:
    ///     >>> def by_image(values, dtype, n):
    ///     ...     return fluid.layers.lod_reset(fluid.layers.assign(np.array(values, dtype)), target_lod=[0, n])
    ///     >>> rois = by_image([[1, 0, 9, 9], [20, 20, 29, 29]], "float32", 2)
    ///     >>> classes, crowd = by_image([[2]], "int32", 1), by_image([[0]], "int32", 1)
    ///     >>> boxes = by_image([[0, 0, 9, 9]], "float32", 1)
    ///     >>> info = fluid.layers.assign(np.array([[40, 40, 1]], "float32"))
    ///     >>> made = fluid.layers.generate_proposal_labels(
    ///     ...     rois, classes, crowd, boxes, info, fg_thresh=0.5, fg_fraction=0.5, class_nums=3, use_random=False)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[made[1]], return_numpy=False)[0]).tolist()
    ///     [[2], [2], [0]]
    "detection.generate_proposal_labels(rpn_rois, gt_classes, is_crowd, gt_boxes, im_info, batch_size_per_im=256, \
     fg_fraction=0.25, fg_thresh=0.25, bg_thresh_hi=0.5, bg_thresh_lo=0.0, bbox_reg_weights=[0.1, 0.1, 0.2, 0.2], \
     class_nums=None, use_random=True, is_cls_agnostic=False, is_cascade_rcnn=False)" => |net, a| {
        let rpn_rois = a.typed_var(net, "rpn_rois", FLOATS)?;
        let gt_classes = a.typed_var(net, "gt_classes", &[DType::I32])?;
        let is_crowd = a.typed_var(net, "is_crowd", &[DType::I32])?;
        let (gt_boxes, im_info) = (a.var("gt_boxes")?, a.var("im_info")?);
        let options = ProposalLabels::classes(a.i32("class_nums")?)
            .batch_size_per_im(a.i32("batch_size_per_im")?)
            .fg_fraction(a.f32("fg_fraction")?)
            .fg_thresh(a.f32("fg_thresh")?)
            .bg_thresh_hi(a.f32("bg_thresh_hi")?)
            .bg_thresh_lo(a.f32("bg_thresh_lo")?)
            .bbox_reg_weights(a.f32s("bbox_reg_weights")?)
            .use_random(a.bool("use_random")?)
            .is_cls_agnostic(a.bool("is_cls_agnostic")?)
            .is_cascade_rcnn(a.bool("is_cascade_rcnn")?);
        let objects = ImageObjects { gt_boxes: &gt_boxes, is_crowd: &is_crowd, im_info: &im_info };
        net.generate_proposal_labels(&rpn_rois, &gt_classes, objects, options)
    };
}
