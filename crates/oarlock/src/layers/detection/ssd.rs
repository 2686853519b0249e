//! SSD: its loss and its detections.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::boxes::{BoxCoder, BoxVariance};
use super::nms::Nms;
use crate::declare::{Args, Made, declare};
use crate::layer::Layer;
use crate::layers::{CrossEntropy, Reduce, Reshape};
use crate::options::options;
use crate::{Net, VarRef};

/// Prior boxes, with what differences from them are divided by.
#[derive(Debug, Clone)]
pub struct Priors<'a> {
    /// The boxes, `[boxes, 4]`.
    pub prior_box: &'a VarRef,
    /// Their variances.
    pub variance: BoxVariance,
}

/// What SSD predicts for every prior box.
#[derive(Debug, Clone, Copy)]
pub struct SsdPredictions<'a> {
    /// How boxes differ, `[batch, boxes, 4]`.
    pub location: &'a VarRef,
    /// Scores of classes before the softmax, `[batch, boxes, classes]`.
    pub confidence: &'a VarRef,
}

/// The true boxes of images, each with a LoD by image.
#[derive(Debug, Clone, Copy)]
pub struct SsdTruth<'a> {
    /// Boxes, `[boxes, 4]`.
    pub gt_box: &'a VarRef,
    /// Classes, `[boxes, 1]`.
    pub gt_label: &'a VarRef,
}

options! {
    /// `ssd_loss(location, confidence, gt_box, gt_label, prior_box, prior_box_var, background_label=0, overlap_threshold=0.5,
    /// neg_pos_ratio=3.0, neg_overlap=0.5, loc_loss_weight=1.0, conf_loss_weight=1.0, match_type='per_prediction',
    /// normalize=True, sample_size=None)`
    SsdLoss::new() {
        /// The class of predictions that match nothing.
        background_label: i32 = 0,
        /// The least overlap of a prediction that takes a box which has a better one.
        overlap_threshold: f32 = 0.5,
        /// Negative examples for each match.
        neg_pos_ratio: f32 = 3.0,
        /// Predictions that overlap a box as much as this are no negative examples.
        neg_overlap: f32 = 0.5,
        /// Weight of the loss of places.
        loc_loss_weight: f64 = 1.0,
        /// Weight of the loss of classes.
        conf_loss_weight: f64 = 1.0,
        /// `per_prediction` or `bipartite`.
        match_type(into): String = "per_prediction".to_string(),
        /// Divide by the number of matches.
        normalize: bool = true,
        /// How many predictions count; read by hard_example only.
        sample_size: Option<i32> = None,
    }
}

options! {
    /// `detection_output(loc, scores, prior_box, prior_box_var, background_label=0, nms_threshold=0.3, nms_top_k=400,
    /// keep_top_k=200, score_threshold=0.01, nms_eta=1.0)`
    DetectionOutput::new() {
        /// A class that is left out; -1 for none. (Fluid's layer always takes 0.)
        background_label: i32 = 0,
        /// Boxes that overlap a better one by more are dropped.
        nms_threshold: f32 = 0.3,
        /// How many boxes of a class are looked at, best first.
        nms_top_k: i32 = 400,
        /// How many boxes of an image stay, best first.
        keep_top_k: i32 = 200,
        /// Boxes with at most this score are left out.
        score_threshold: f32 = 0.01,
        /// Factor of the threshold after each box that stays, while it is above 0.5. (Fluid's layer always takes 1.)
        nms_eta: f32 = 1.0,
    }
}

impl Net {
    /// The loss of SSD for every image, `[batch, 1]`: the classes of matches and of the hardest negative examples, and the places of
    /// matches.
    #[track_caller]
    pub fn ssd_loss(
        &mut self,
        predictions: SsdPredictions<'_>,
        truth: SsdTruth<'_>,
        priors: Priors<'_>,
        options: SsdLoss,
    ) -> Result<VarRef> {
        let mut layer = self.layer("ssd_loss");
        let confidence_shape = layer.shape_of(predictions.confidence)?;
        let found = layer.hard_examples(predictions.confidence, &confidence_shape, truth, &priors, &options)?;
        let background = Some(options.background_label);
        let codes = layer.box_coder(priors.prior_box, priors.variance, truth.gt_box, BoxCoder::encode())?;
        let (target, target_weight) = layer.target_assign(&codes, &found.matched, None, background)?;
        let (label, label_weight) =
            layer.target_assign(&found.gt_label, &found.matched, Some(&found.negative), background)?;
        let label = layer.flatten(&label, 2)?;
        let label = layer.cast(&label, DType::I64)?;
        let class_loss = layer.softmax_with_cross_entropy(&found.confidence, &label, CrossEntropy::new())?;
        let label_weight = layer.flatten(&label_weight, 2)?;
        let class_loss = layer.times(&class_loss, &label_weight)?;
        let location = layer.flatten(predictions.location, 2)?;
        let target = layer.flatten(&target, 2)?;
        let place_loss = layer.smooth_l1(&location, &target, None, None)?;
        let target_weight = layer.flatten(&target_weight, 2)?;
        let place_loss = layer.times(&place_loss, &target_weight)?;
        for var in [&label, &label_weight, &target, &target_weight] {
            layer.stop_gradient(var)?;
        }
        let class_loss = layer.times(&class_loss, options.conf_loss_weight)?;
        let place_loss = layer.times(&place_loss, options.loc_loss_weight)?;
        let loss = layer.add(&class_loss, &place_loss)?;
        let loss = layer.reshape(&loss, by_image(&found.batch_and_boxes))?;
        let loss = layer.reduce_sum(&loss, Reduce::dims([1]).keep_dim(true))?;
        if !options.normalize {
            return Ok(loss);
        }
        let matches = layer.reduce_sum(&target_weight, Reduce::all())?;
        layer.div(&loss, &matches)
    }

    /// The detections of SSD, class, score and box; and the number of each among all boxes of the batch, if `index` asks for it.
    #[track_caller]
    pub fn detection_output(
        &mut self,
        loc: &VarRef,
        scores: &VarRef,
        priors: Priors<'_>,
        options: DetectionOutput,
        index: bool,
    ) -> Result<(VarRef, Option<VarRef>)> {
        let mut layer = self.layer("detection_output");
        let boxes = layer.box_coder(priors.prior_box, priors.variance, loc, BoxCoder::decode())?;
        let scores = layer.softmax(scores, -1)?;
        let scores = layer.transpose(&scores, &[0, 2, 1])?;
        layer.stop_gradient(&scores)?;
        let dtype = layer.dtype(&boxes)?;
        let nms = Nms::new(options.score_threshold, options.nms_top_k, options.keep_top_k)
            .background_label(options.background_label)
            .nms_threshold(options.nms_threshold)
            .nms_eta(options.nms_eta);
        let op = Op::new(if index { "multiclass_nms2" } else { "multiclass_nms" });
        let out = layer.temp_without_gradient(dtype);
        let mut op = nms.attrs(op.input("Scores", [&scores]).input("BBoxes", [&boxes])).output("Out", [&out]);
        let index = index.then(|| layer.temp_without_gradient(DType::I32));
        if let Some(index) = &index {
            op = op.output("Index", [index]);
        }
        layer.append_op(op)?;
        Ok((out, index))
    }
}

/// Scores and labels in the forms that the loss takes, and the examples that count.
struct HardExamples {
    /// Scores, `[batch * boxes, classes]`.
    confidence: VarRef,
    /// Labels, `[boxes, 1, 1]`.
    gt_label: VarRef,
    /// The true box of each prediction, -1 for none.
    matched: VarRef,
    /// Predictions that are negative examples.
    negative: VarRef,
    /// The sizes of the batch and of the prior boxes.
    batch_and_boxes: VarRef,
}

/// A row per image. The sizes in the variable count; those before it only say that there are two.
fn by_image(batch_and_boxes: &VarRef) -> Reshape {
    Reshape::shape([-1, 0]).actual_shape(Some(batch_and_boxes.clone()))
}

impl Layer<'_> {
    /// Matches prior boxes with true ones, and finds the negative examples that cost most.
    fn hard_examples(
        &mut self,
        confidence: &VarRef,
        confidence_shape: &VarRef,
        truth: SsdTruth<'_>,
        priors: &Priors<'_>,
        options: &SsdLoss,
    ) -> Result<HardExamples> {
        let overlap = self.iou_similarity(truth.gt_box, priors.prior_box, true)?;
        let (matched, distance) =
            self.bipartite_match(&overlap, Some(&options.match_type), Some(options.overlap_threshold))?;
        let rank = self.shape(truth.gt_label)?.rank();
        let mut sizes = vec![0; rank.saturating_sub(1)];
        sizes.extend([-1, 1]);
        let gt_label = self.reshape(truth.gt_label, Reshape::shape(sizes))?;
        self.stop_gradient(&gt_label)?;
        let (label, _) = self.target_assign(&gt_label, &matched, None, Some(options.background_label))?;
        let confidence = self.flatten(confidence, 2)?;
        let label = self.cast(&label, DType::I64)?;
        let label = self.flatten(&label, 2)?;
        self.stop_gradient(&label)?;
        let loss = self.softmax_with_cross_entropy(&confidence, &label, CrossEntropy::new())?;
        let batch_and_boxes = self.slice(confidence_shape, &[0], [0], [2])?;
        self.stop_gradient(&batch_and_boxes)?;
        let loss = self.reshape(&loss, by_image(&batch_and_boxes))?;
        self.stop_gradient(&loss)?;
        let (negative, updated) = (self.temp(DType::I32), self.temp(DType::I32));
        let mut op = Op::new("mine_hard_examples")
            .input("ClsLoss", [&loss])
            .input("MatchIndices", [&matched])
            .input("MatchDist", [&distance])
            .output("NegIndices", [&negative])
            .output("UpdatedMatchIndices", [&updated])
            .attr("neg_pos_ratio", options.neg_pos_ratio)
            .attr("neg_dist_threshold", options.neg_overlap)
            .attr("mining_type", "max_negative");
        if let Some(size) = options.sample_size {
            op = op.attr("sample_size", size);
        }
        self.append_op(op)?;
        Ok(HardExamples { confidence, gt_label, matched: updated, negative, batch_and_boxes })
    }
}

declare! {
    /// Computes the loss of SSD for every image: the classes of matches and of the hardest negative examples, and the places
    /// of matches.
    ///
    /// Prior boxes are matched with true boxes (``bipartite_match``); of those without a match, ``neg_pos_ratio`` for each
    /// match, with the highest loss, are negative examples. The loss is the cross entropy of classes and the smooth L1
    /// distance of differences from the prior boxes. Gradients flow into ``location`` and ``confidence``.
    ///
    /// Args:
    ///     location (Variable): float32 or float64, ``[batch, boxes, 4]``: predicted differences from the prior boxes.
    ///     confidence (Variable): ``[batch, boxes, classes]``: scores before the softmax.
    ///     gt_box (Variable): ``[true boxes, 4]`` with a LoD by image: left, top, right and bottom as fractions of the
    ///         image.
    ///     gt_label (Variable): int32, here int64, too, ``[true boxes, 1]`` with a LoD by image: classes.
    ///     prior_box (Variable): ``[boxes, 4]``.
    ///     prior_box_var (Variable or list): ``[boxes, 4]`` or four numbers: what differences are divided by; it must be
    ///         given.
    ///     background_label (int): the class of predictions that match nothing.
    ///     overlap_threshold (float): a prior box that no true box chose takes the one it overlaps most, if by at least
    ///         this.
    ///     neg_pos_ratio (float): negative examples for each match.
    ///     neg_overlap (float): prior boxes that overlap a true box as much as this are no negative examples.
    ///     loc_loss_weight (float): the weight of the loss of places.
    ///     conf_loss_weight (float): the weight of the loss of classes.
    ///     match_type (str): ``per_prediction``, or ``bipartite``: a prior box for each true box only.
    ///     mining_type (str): ``max_negative``; Fluid has no other.
    ///     normalize (bool): divide by the number of matches of the batch.
    ///     sample_size (int): written to the operator, which reads it with another ``mining_type`` only.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     ValueError: ``mining_type`` is not ``max_negative``.
    ///     TypeError: there is no ``prior_box_var``.
    ///
    /// Example:
    ///     >>> location = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
    ///     >>> confidence = fluid.layers.assign(np.zeros([1, 2, 2], "float32"))
    ///     >>> box = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1]], "int32"))
    ///     >>> box, label = [fluid.layers.lod_reset(v, target_lod=[0, 1]) for v in (box, label)]
    ///     >>> prior = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], "float32"))
    ///     >>> loss = fluid.layers.ssd_loss(location, confidence, box, label, prior, [0.1, 0.1, 0.2, 0.2])
    ///     >>> round(float(fluid.Executor().run(fetch_list=[loss])[0][0, 0]), 4)
    ///     1.3863
    "detection.ssd_loss(location, confidence, gt_box, gt_label, prior_box, prior_box_var=None, background_label=0, \
     overlap_threshold=0.5, neg_pos_ratio=3.0, neg_overlap=0.5, loc_loss_weight=1.0, conf_loss_weight=1.0, \
     match_type='per_prediction', mining_type='max_negative', normalize=True, sample_size=None)" => |net, a| {
        let mining = a.str("mining_type")?;
        if mining != "max_negative" {
            fail!(Kind::Argument, "`mining_type` of `ssd_loss` must be max_negative, not {mining:?}");
        }
        let options = SsdLoss::new()
            .background_label(a.i32("background_label")?)
            .overlap_threshold(a.f32("overlap_threshold")?)
            .neg_pos_ratio(a.f32("neg_pos_ratio")?)
            .neg_overlap(a.f32("neg_overlap")?)
            .loc_loss_weight(a.f64("loc_loss_weight")?)
            .conf_loss_weight(a.f64("conf_loss_weight")?)
            .match_type(a.str("match_type")?)
            .normalize(a.bool("normalize")?)
            .sample_size(a.opt("sample_size", Args::i32)?);
        let (location, confidence) = (a.var("location")?, a.var("confidence")?);
        let (gt_box, gt_label, prior_box) = (a.var("gt_box")?, a.var("gt_label")?, a.var("prior_box")?);
        let priors = Priors { prior_box: &prior_box, variance: BoxVariance::read(a, "prior_box_var")? };
        let predictions = SsdPredictions { location: &location, confidence: &confidence };
        net.ssd_loss(predictions, SsdTruth { gt_box: &gt_box, gt_label: &gt_label }, priors, options)
    };

    /// Computes the detections of SSD: decodes boxes, takes the softmax of scores and drops boxes that overlap a better one.
    ///
    /// No gradient flows through it.
    ///
    /// Args:
    ///     loc (Variable): float32 or float64, ``[batch, boxes, 4]``: predicted differences from the prior boxes.
    ///     scores (Variable): ``[batch, boxes, classes]``: scores before the softmax.
    ///     prior_box (Variable): ``[boxes, 4]``.
    ///     prior_box_var (Variable or list): ``[boxes, 4]`` or four numbers: what differences are multiplied by.
    ///     background_label (int): a class that is left out; -1: none. (Fluid's layer always takes 0.)
    ///     nms_threshold (float): boxes that overlap a better one by more of the union are dropped.
    ///     nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
    ///     keep_top_k (int): how many boxes of an image stay, best first; -1: all.
    ///     score_threshold (float): boxes with at most this score are left out.
    ///     nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5. (Fluid's layer
    ///         always takes 1.)
    ///     return_index (bool): return the numbers of the boxes, too.
    ///
    /// Returns:
    ///     Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, ``[[-1]]`` if no box
    ///     of the batch stays; with ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the
    ///     batch, and no rows if no box stays.
    ///
    /// Raises:
    ///     TypeError: ``prior_box_var`` is neither a Variable nor a list.
    ///
    /// Example:
    ///     >>> loc = fluid.layers.assign(np.zeros([1, 2, 4], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0, 9], [9, 0]]], "float32"))
    ///     >>> prior = fluid.layers.assign(np.array([[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]], "float32"))
    ///     >>> out = fluid.layers.detection_output(loc, scores, prior, [0.1, 0.1, 0.2, 0.2])
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).round(1).tolist()
    ///     [[1.0, 1.0, 0.0, 0.0, 0.5, 0.5]]
    "detection.detection_output(loc, scores, prior_box, prior_box_var, background_label=0, nms_threshold=0.3, nms_top_k=400, \
     keep_top_k=200, score_threshold=0.01, nms_eta=1.0, return_index=False)" => |net, a| {
        let options = DetectionOutput::new()
            .background_label(a.i32("background_label")?)
            .nms_threshold(a.f32("nms_threshold")?)
            .nms_top_k(a.i32("nms_top_k")?)
            .keep_top_k(a.i32("keep_top_k")?)
            .score_threshold(a.f32("score_threshold")?)
            .nms_eta(a.f32("nms_eta")?);
        let prior_box = a.var("prior_box")?;
        let priors = Priors { prior_box: &prior_box, variance: BoxVariance::read(a, "prior_box_var")? };
        let index = a.bool("return_index")?;
        net.detection_output(&a.var("loc")?, &a.var("scores")?, priors, options, index).map(|made| match made {
            (out, Some(index)) => Made::from((out, index)),
            (out, None) => Made::from(out),
        })
    };
}
