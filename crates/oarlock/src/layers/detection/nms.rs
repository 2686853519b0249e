//! Of boxes that overlap, those that stay.

use oarlock_ir::{Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::FLOATS;
use crate::declare::{Args, Made, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `multiclass_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, nms_eta=1.0,
    /// background_label=0)`; `multiclass_nms2` and `locality_aware_nms` alike.
    Nms::new(
        /// Boxes with at most this score are left out.
        score_threshold: f32,
        /// How many boxes of a class are looked at, best first; -1 for all.
        nms_top_k: i32,
        /// How many boxes of an image stay, best first; -1 for all.
        keep_top_k: i32,
    ) {
        /// Boxes that overlap a better one by more are dropped.
        nms_threshold: f32 = 0.3,
        /// False for boxes of pixels, which include their right and bottom pixels.
        normalized: bool = true,
        /// Factor of the threshold after each box that stays, while it is above 0.5.
        nms_eta: f32 = 1.0,
        /// A class that is left out; -1 for none.
        background_label: i32 = 0,
    }
}

impl Nms {
    pub(super) fn attrs(&self, op: Op) -> Op {
        op.attr("background_label", self.background_label)
            .attr("score_threshold", self.score_threshold)
            .attr("nms_top_k", self.nms_top_k)
            .attr("nms_threshold", self.nms_threshold)
            .attr("nms_eta", self.nms_eta)
            .attr("keep_top_k", self.keep_top_k)
            .attr("normalized", self.normalized)
    }

    /// Of arguments whose Python types must be right, as Fluid checks them.
    fn exact(a: &Args) -> Result<Nms> {
        let nms = Nms::new(a.exact_f32("score_threshold")?, a.i32("nms_top_k")?, a.i32("keep_top_k")?);
        Ok(nms
            .nms_threshold(a.exact_f32("nms_threshold")?)
            .normalized(a.exact_bool("normalized")?)
            .nms_eta(a.exact_f32("nms_eta")?)
            .background_label(a.i32("background_label")?))
    }
}

options! {
    /// `matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
    /// gaussian_sigma=2.0, background_label=0, normalized=True)`
    MatrixNms::new(
        /// Boxes with at most this score are left out.
        score_threshold: f32,
        /// Boxes with at most this decayed score are left out.
        post_threshold: f32,
        /// How many boxes of a class are looked at, best first; -1 for all.
        nms_top_k: i32,
        /// How many boxes of an image stay, best first; -1 for all.
        keep_top_k: i32,
    ) {
        /// Decay by a Gaussian of the overlap.
        use_gaussian: bool = false,
        /// Its factor.
        gaussian_sigma: f32 = 2.0,
        /// A class that is left out; -1 for none.
        background_label: i32 = 0,
        /// False for boxes of pixels, which include their right and bottom pixels.
        normalized: bool = true,
    }
}

impl Net {
    /// In each class the best box, the best of those that do not overlap it, and so on: class, score and box.
    #[track_caller]
    pub fn multiclass_nms(&mut self, bboxes: &VarRef, scores: &VarRef, options: Nms) -> Result<VarRef> {
        self.suppressed("multiclass_nms", bboxes, scores, &options)
    }

    /// [`Net::multiclass_nms`] that also returns which boxes stay: their numbers in the batch.
    #[track_caller]
    pub fn multiclass_nms2(&mut self, bboxes: &VarRef, scores: &VarRef, options: Nms) -> Result<(VarRef, VarRef)> {
        let op = Op::new("multiclass_nms2").input("BBoxes", [bboxes]).input("Scores", [scores]);
        let dtype = self.dtype(bboxes)?;
        let [out, index] = self.detection_op(options.attrs(op), [("Out", dtype), ("Index", DType::I32)], false)?;
        Ok((out, index))
    }

    /// [`Net::multiclass_nms`] of one class whose boxes are merged with their neighbours first, as text detectors need it.
    #[track_caller]
    pub fn locality_aware_nms(&mut self, bboxes: &VarRef, scores: &VarRef, options: Nms) -> Result<VarRef> {
        let shape = self.shape(scores)?;
        if shape.rank() != 3 || shape[1].known().is_some_and(|n| n != 1) {
            fail!(
                Kind::Argument,
                "`locality_aware_nms` takes scores of one class, [images, 1, boxes], but `{scores}` has shape {shape}"
            );
        }
        self.suppressed("locality_aware_nms", bboxes, scores, &options)
    }

    #[track_caller]
    fn suppressed(&mut self, op_type: &str, bboxes: &VarRef, scores: &VarRef, options: &Nms) -> Result<VarRef> {
        let op = Op::new(op_type).input("BBoxes", [bboxes]).input("Scores", [scores]);
        let dtype = self.dtype(bboxes)?;
        let [out] = self.detection_op(options.attrs(op), [("Out", dtype)], false)?;
        Ok(out)
    }

    /// Boxes whose scores decay by how much they overlap better ones: class, score and box, and which boxes stay.
    #[track_caller]
    pub fn matrix_nms(&mut self, bboxes: &VarRef, scores: &VarRef, options: MatrixNms) -> Result<(VarRef, VarRef)> {
        let op = Op::new("matrix_nms")
            .input("BBoxes", [bboxes])
            .input("Scores", [scores])
            .attr("background_label", options.background_label)
            .attr("score_threshold", options.score_threshold)
            .attr("post_threshold", options.post_threshold)
            .attr("nms_top_k", options.nms_top_k)
            .attr("gaussian_sigma", options.gaussian_sigma)
            .attr("use_gaussian", options.use_gaussian)
            .attr("keep_top_k", options.keep_top_k)
            .attr("normalized", options.normalized);
        let dtype = self.dtype(bboxes)?;
        let [out, index] = self.detection_op(op, [("Out", dtype), ("Index", DType::I32)], false)?;
        Ok((out, index))
    }
}

declare! {
    /// Drops boxes that overlap a better one of their class.
    ///
    /// In each class the box with the highest score stays, then the best of those that do not overlap it, and so on; of all
    /// classes of an image the ``keep_top_k`` best stay. No gradient flows through it.
    ///
    /// Args:
    ///     bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom, or with 8, 16, 24 or 32
    ///         numbers for polygons; or ``[m, classes, 4]`` with a LoD by image, if each class has its own boxes.
    ///     scores (Variable): the same element type, ``[images, classes, m]``; or ``[m, classes]`` with a LoD.
    ///     score_threshold (float): boxes with at most this score are left out.
    ///     nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
    ///     keep_top_k (int): how many boxes of an image stay, best first; -1: all.
    ///     nms_threshold (float): boxes that overlap a better one by more of the union are dropped.
    ///     normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
    ///         and bottom pixels.
    ///     nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5.
    ///     background_label (int): a class that is left out; -1: none.
    ///
    /// Returns:
    ///     Variable: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, classes in order, the best
    ///     of each first. A batch in which no box stays gives ``[[-1]]``.
    ///
    /// Raises:
    ///     TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.
    ///
    /// Example:
    ///     >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.875], [2, 2, 3, 3]]], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0.9, 0.9, 0.9], [0.5, 0.75, 0.25]]], "float32"))
    ///     >>> out = fluid.layers.multiclass_nms(boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=1)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
    ///     [[1.0, 0.75, 0.0, 0.0, 1.0, 0.875]]
    "detection.multiclass_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, \
     nms_eta=1.0, background_label=0, name=None)" => |net, a| {
        let (bboxes, scores) = (a.typed_var(net, "bboxes", FLOATS)?, a.typed_var(net, "scores", FLOATS)?);
        net.multiclass_nms(&bboxes, &scores, Nms::exact(a)?)
    };

    /// Drops boxes that overlap a better one of their class, and can return which boxes stay.
    ///
    /// It is ``fluid.layers.multiclass_nms`` with ``return_index``. No gradient flows through it.
    ///
    /// Args:
    ///     bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom, or with 8, 16, 24 or 32
    ///         numbers for polygons; or ``[m, classes, 4]`` with a LoD by image, if each class has its own boxes.
    ///     scores (Variable): the same element type, ``[images, classes, m]``; or ``[m, classes]`` with a LoD.
    ///     score_threshold (float): boxes with at most this score are left out.
    ///     nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
    ///     keep_top_k (int): how many boxes of an image stay, best first; -1: all.
    ///     nms_threshold (float): boxes that overlap a better one by more of the union are dropped.
    ///     normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
    ///         and bottom pixels.
    ///     nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5.
    ///     background_label (int): a class that is left out; -1: none.
    ///     return_index (bool): return the numbers of the boxes, too.
    ///
    /// Returns:
    ///     Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, no rows if no box
    ///     stays; with ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the batch.
    ///
    /// Example:
    ///     >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0.9, 0.9, 0.9], [0.5, 0.75, 0.25]]], "float32"))
    ///     >>> out, index = fluid.contrib.layers.multiclass_nms2(
    ///     ...     boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=-1, return_index=True)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[index], return_numpy=False)[0]).tolist()
    ///     [[1], [2]]
    "contrib.multiclass_nms2(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, \
     nms_eta=1.0, background_label=0, return_index=False, name=None)" => |net, a| {
        let options = Nms::new(a.f32("score_threshold")?, a.i32("nms_top_k")?, a.i32("keep_top_k")?)
            .nms_threshold(a.f32("nms_threshold")?)
            .normalized(a.bool("normalized")?)
            .nms_eta(a.f32("nms_eta")?)
            .background_label(a.i32("background_label")?);
        let made = net.multiclass_nms2(&a.var("bboxes")?, &a.var("scores")?, options);
        made.and_then(|made| with_index(a, made))
    };

    /// Merges boxes with their neighbours, then drops those that overlap a better one, for text detectors such as EAST.
    ///
    /// Each box that overlaps the one before it is merged into it: sides are averaged with the scores as weights, scores
    /// are added. Then it works as ``multiclass_nms``. No gradient flows through it.
    ///
    /// Args:
    ///     bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom, or with 8, 16, 24 or 32
    ///         numbers for polygons.
    ///     scores (Variable): the same element type, ``[images, 1, m]``.
    ///     score_threshold (float): boxes with at most this score are left out.
    ///     nms_top_k (int): how many boxes are looked at, best first; -1: all.
    ///     keep_top_k (int): how many boxes of an image stay, best first; -1: all.
    ///     nms_threshold (float): boxes that overlap by more of the union are merged or dropped.
    ///     normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
    ///         and bottom pixels.
    ///     nms_eta (float): factor of ``nms_threshold`` after each box that stays, while it is above 0.5.
    ///     background_label (int): a class that is left out; -1: none.
    ///
    /// Returns:
    ///     Variable: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom. A batch in which no box
    ///     stays gives ``[[-1]]``.
    ///
    /// Raises:
    ///     ValueError: there are scores of several classes.
    ///     TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.
    ///
    /// Example:
    ///     >>> boxes = fluid.layers.assign(np.array([[[0, 0, 4, 4], [0, 0, 4, 4], [6, 6, 8, 8]]], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0.5, 0.5, 0.25]]], "float32"))
    ///     >>> out = fluid.layers.locality_aware_nms(boxes, scores, score_threshold=0.1, nms_top_k=-1, keep_top_k=-1)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0]).tolist()
    ///     [[0.0, 1.0, 0.0, 0.0, 4.0, 4.0], [0.0, 0.25, 6.0, 6.0, 8.0, 8.0]]
    "detection.locality_aware_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, \
     nms_eta=1.0, background_label=-1, name=None)" => |net, a| {
        let (bboxes, scores) = (a.typed_var(net, "bboxes", FLOATS)?, a.typed_var(net, "scores", FLOATS)?);
        net.locality_aware_nms(&bboxes, &scores, Nms::exact(a)?)
    };

    /// Lets the scores of boxes decay by how much they overlap better ones of their class, all at once.
    ///
    /// A score is multiplied by the least decay among better boxes: ``(1 - overlap) / (1 - most)``, in which ``most`` is how
    /// much that box overlaps better ones itself; or its Gaussian form. No gradient flows through it.
    ///
    /// Args:
    ///     bboxes (Variable): float32 or float64, ``[images, m, 4]``: left, top, right and bottom.
    ///     scores (Variable): the same element type, ``[images, classes, m]``.
    ///     score_threshold (float): boxes with at most this score are left out.
    ///     post_threshold (float): boxes with at most this decayed score are left out.
    ///     nms_top_k (int): how many boxes of a class are looked at, best first; -1: all.
    ///     keep_top_k (int): how many boxes of an image stay, best first; -1: all.
    ///     use_gaussian (bool): decay by ``exp(gaussian_sigma * (most ** 2 - overlap ** 2))``.
    ///     gaussian_sigma (float): the factor of the Gaussian form.
    ///     background_label (int): a class that is left out; -1: none.
    ///     normalized (bool): sides are fractions of the image; ``False``: they are pixels, and boxes include their right
    ///         and bottom pixels.
    ///     return_index (bool): return the numbers of the boxes, too.
    ///
    /// Returns:
    ///     Variable or tuple: ``[n, 6]`` with a LoD by image: class, score, left, top, right and bottom, best first; with
    ///     ``return_index`` also int32 ``[n, 1]``: the number of each box among all boxes of the batch.
    ///
    /// Raises:
    ///     TypeError: elements are no floats, or a number has another Python type: thresholds must not be ints.
    ///
    /// Example:
    ///     >>> boxes = fluid.layers.assign(np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5], [2, 2, 3, 3]]], "float32"))
    ///     >>> scores = fluid.layers.assign(np.array([[[0.5, 0.75, 0.25]]], "float32"))
    ///     >>> out = fluid.layers.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
    ///     >>> np.array(fluid.Executor().run(fetch_list=[out], return_numpy=False)[0])[:, 1].tolist()
    ///     [0.75, 0.25, 0.25]
    "detection.matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False, \
     gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False, name=None)" => |net, a| {
        let (bboxes, scores) = (a.typed_var(net, "bboxes", FLOATS)?, a.typed_var(net, "scores", FLOATS)?);
        let options = MatrixNms::new(a.exact_f32("score_threshold")?, a.exact_f32("post_threshold")?, a.i32("nms_top_k")?,
            a.i32("keep_top_k")?)
            .use_gaussian(a.exact_bool("use_gaussian")?)
            .gaussian_sigma(a.exact_f32("gaussian_sigma")?)
            .background_label(a.i32("background_label")?)
            .normalized(a.exact_bool("normalized")?);
        net.matrix_nms(&bboxes, &scores, options).and_then(|made| with_index(a, made))
    };
}

/// Both results, if `return_index` asks for them.
fn with_index(a: &Args, (out, index): (VarRef, VarRef)) -> Result<Made> {
    Ok(if a.bool("return_index")? { (out, index).into() } else { out.into() })
}
