//! Losses, per example unless they say otherwise.

use oarlock_ir::{Kind, Op, Result, VarType, fail};
use oarlock_tensor::DType;

use super::{MatMul, Reduce};
use crate::layers::shape::Reshape;
use crate::options::options;
use crate::{Net, VarRef};

/// The label that is left out, by default.
const IGNORE_INDEX: i32 = -100;

options! {
    /// `cross_entropy(input, label, soft_label=False, ignore_index=-100)` and
    /// `softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
    /// return_softmax=False, axis=-1)`
    CrossEntropy::new() {
        /// Labels are distributions, not class numbers.
        soft_label: bool = false,
        /// Examples with this label have no loss.
        ignore_index: i32 = IGNORE_INDEX,
        /// Keep exponentials in range (only with softmax).
        numeric_stable_mode: bool = true,
        /// The dimension of the classes (only with softmax).
        axis: i32 = -1,
    }
}

impl Net {
    /// `softmax(input, axis=-1)`: exponentials that sum to one.
    #[track_caller]
    pub fn softmax(&mut self, input: &VarRef, axis: i32) -> Result<VarRef> {
        self.unary(input, Op::new("softmax").attr("axis", axis))
    }

    /// `log_softmax(input, axis=None)`: the logarithm of the softmax.
    #[track_caller]
    pub fn log_softmax(&mut self, input: &VarRef, axis: i32) -> Result<VarRef> {
        let mut layer = self.layer("log_softmax");
        let dtype = layer.dtype(input)?;
        let softmax = layer.out(dtype, Op::new("softmax").input("X", [input]).attr("axis", axis))?;
        layer.out(dtype, Op::new("log").input("X", [&softmax]))
    }

    /// `cross_entropy`: minus the logarithm of the probability of the label.
    #[track_caller]
    pub fn cross_entropy(&mut self, input: &VarRef, label: &VarRef, options: CrossEntropy) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        if options.soft_label {
            let op = Op::new("cross_entropy").input("X", [input]).input("Label", [label]);
            let op = op.attr("soft_label", true).attr("ignore_index", options.ignore_index);
            return self.layer("cross_entropy").out_slot("Y", dtype, op);
        }
        let mut layer = self.layer("cross_entropy2");
        let (out, x_shape, match_x) = (layer.temp(dtype), layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("cross_entropy2")
            .input("X", [input])
            .input("Label", [label])
            .output("Y", [&out])
            .output("XShape", [&x_shape])
            .output("MatchX", [&match_x])
            .attr("ignore_index", options.ignore_index);
        layer.append_op(op)?;
        Ok(out)
    }

    /// `softmax_with_cross_entropy`: the cross entropy of logits.
    #[track_caller]
    pub fn softmax_with_cross_entropy(
        &mut self,
        logits: &VarRef,
        label: &VarRef,
        options: CrossEntropy,
    ) -> Result<VarRef> {
        Ok(self.softmax_with_cross_entropy_and_softmax(logits, label, options)?.0)
    }

    /// `softmax_with_cross_entropy(..., return_softmax=True)`: the loss and the softmax.
    #[track_caller]
    pub fn softmax_with_cross_entropy_and_softmax(
        &mut self,
        logits: &VarRef,
        label: &VarRef,
        options: CrossEntropy,
    ) -> Result<(VarRef, VarRef)> {
        let mut layer = self.layer("softmax_with_cross_entropy");
        let dtype = layer.dtype(logits)?;
        let (softmax, loss) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("softmax_with_cross_entropy")
            .input("Logits", [logits])
            .input("Label", [label])
            .output("Softmax", [&softmax])
            .output("Loss", [&loss])
            .attr("soft_label", options.soft_label)
            .attr("ignore_index", options.ignore_index)
            .attr("numeric_stable_mode", options.numeric_stable_mode)
            .attr("axis", options.axis);
        layer.append_op(op)?;
        Ok((loss, softmax))
    }

    /// `sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, normalize=False)`: of each element alone.
    #[track_caller]
    pub fn sigmoid_cross_entropy_with_logits(
        &mut self,
        x: &VarRef,
        label: &VarRef,
        ignore_index: Option<i32>,
        normalize: bool,
    ) -> Result<VarRef> {
        let op = Op::new("sigmoid_cross_entropy_with_logits").input("Label", [label]);
        let op = op.attr("ignore_index", ignore_index.unwrap_or(IGNORE_INDEX));
        self.unary(x, op.attr("normalize", normalize))
    }

    /// `square_error_cost(input, label)`: `(input - label)^2`.
    #[track_caller]
    pub fn square_error_cost(&mut self, input: &VarRef, label: &VarRef) -> Result<VarRef> {
        let mut layer = self.layer("square_error_cost");
        let dtype = layer.dtype(input)?;
        let difference = layer.out(dtype, Op::new("elementwise_sub").input("X", [input]).input("Y", [label]))?;
        layer.out(dtype, Op::new("square").input("X", [&difference]))
    }

    /// `mse_loss(input, label)`: the mean of squared errors, `[1]`.
    #[track_caller]
    pub fn mse_loss(&mut self, input: &VarRef, label: &VarRef) -> Result<VarRef> {
        let cost = self.square_error_cost(input, label)?;
        self.reduce_mean(&cost, Reduce::all())
    }

    /// `huber_loss(input, label, delta)`: squared near zero, linear beyond `delta`.
    #[track_caller]
    pub fn huber_loss(&mut self, input: &VarRef, label: &VarRef, delta: f32) -> Result<VarRef> {
        let mut layer = self.layer("huber_loss");
        let dtype = layer.dtype(input)?;
        let residual = layer.temp(dtype);
        let op = Op::new("huber_loss").input("X", [input]).input("Y", [label]);
        layer.out(dtype, op.output("Residual", [&residual]).attr("delta", delta))
    }

    /// `log_loss(input, label, epsilon=0.0001)`: of probabilities of one class.
    #[track_caller]
    pub fn log_loss(&mut self, input: &VarRef, label: &VarRef, epsilon: f32) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        let op = Op::new("log_loss").input("Predicted", [input]).input("Labels", [label]).attr("epsilon", epsilon);
        self.layer("log_loss").out_slot("Loss", dtype, op)
    }

    /// `smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)`: squared near zero, absolute beyond; `weights` are the
    /// inside and the outside one.
    #[track_caller]
    pub fn smooth_l1(
        &mut self,
        x: &VarRef,
        y: &VarRef,
        weights: Option<(&VarRef, &VarRef)>,
        sigma: Option<f32>,
    ) -> Result<VarRef> {
        let mut layer = self.layer("smooth_l1_loss");
        let dtype = layer.dtype(x)?;
        let difference = layer.temp(dtype);
        let mut op = Op::new("smooth_l1_loss").input("X", [x]).input("Y", [y]).output("Diff", [&difference]);
        if let Some((inside, outside)) = weights {
            op = op.input("InsideWeight", [inside]).input("OutsideWeight", [outside]);
        }
        layer.out(dtype, op.attr("sigma", sigma.unwrap_or(1.0)))
    }

    /// `bpr_loss(input, label)`: Bayesian personalised ranking.
    #[track_caller]
    pub fn bpr_loss(&mut self, input: &VarRef, label: &VarRef) -> Result<VarRef> {
        let dtype = self.dtype(input)?;
        self.layer("bpr_loss").out_slot("Y", dtype, Op::new("bpr_loss").input("X", [input]).input("Label", [label]))
    }

    /// `rank_loss(label, left, right)`: of pairs of scores.
    #[track_caller]
    pub fn rank_loss(&mut self, label: &VarRef, left: &VarRef, right: &VarRef) -> Result<VarRef> {
        let op = Op::new("rank_loss").input("Label", [label]).input("Left", [left]).input("Right", [right]);
        self.layer("rank_loss").out(DType::F32, op)
    }

    /// `margin_rank_loss(label, left, right, margin=0.1)`: of pairs of scores that should differ by a margin.
    #[track_caller]
    pub fn margin_rank_loss(&mut self, label: &VarRef, left: &VarRef, right: &VarRef, margin: f32) -> Result<VarRef> {
        let mut layer = self.layer("margin_rank_loss");
        let dtype = layer.dtype(left)?;
        let (out, activated) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("margin_rank_loss").input("Label", [label]).input("X1", [left]).input("X2", [right]);
        layer.append_op(op.output("Out", [&out]).output("Activated", [&activated]).attr("margin", margin))?;
        Ok(out)
    }

    /// `kldiv_loss(x, target, reduction='mean')`: the divergence of distributions; `reduction` is `none`, `batchmean`, `mean` or
    /// `sum`.
    #[track_caller]
    pub fn kldiv_loss(&mut self, x: &VarRef, target: &VarRef, reduction: &str) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let op = Op::new("kldiv_loss").input("X", [x]).input("Target", [target]).attr("reduction", reduction);
        self.layer("kldiv_loss").out_slot("Loss", dtype, op)
    }

    /// `dice_loss(input, label, epsilon=1e-05)`: one minus the overlap of prediction and label, `[1]`.
    #[track_caller]
    pub fn dice_loss(&mut self, input: &VarRef, label: &VarRef, epsilon: f64) -> Result<VarRef> {
        let shape = self.shape(input)?;
        let Some(classes) = shape.last().and_then(|d| d.known()) else {
            fail!(Kind::Shape, "`dice_loss` needs a known number of classes, but `{input}` has shape {shape}");
        };
        let label = self.one_hot(label, classes as i32, false)?;
        let rest = Reduce::dims((1..shape.rank() as i32).collect::<Vec<_>>());
        let product = self.times(input, &label)?;
        let overlap = self.reduce_sum(&product, rest.clone())?;
        let predicted = self.reduce_sum(input, rest.clone())?;
        let expected = self.reduce_sum(&label, rest)?;
        let total = self.add(&predicted, &expected)?;
        let twice = self.times(&overlap, 2.0)?;
        let total = self.add(&total, epsilon)?;
        let score = self.div(&twice, &total)?;
        let loss = self.rsub(1.0, &score)?;
        self.reduce_mean(&loss, Reduce::all())
    }

    /// `npair_loss(anchor, positive, labels, l2_reg=0.002)`: pulls pairs of a class together, `[1]`.
    #[track_caller]
    pub fn npair_loss(&mut self, anchor: &VarRef, positive: &VarRef, labels: &VarRef, l2_reg: f64) -> Result<VarRef> {
        let shape = self.shape(labels)?;
        let Some(batch) = shape.first().and_then(|d| d.known()) else {
            fail!(Kind::Shape, "`npair_loss` needs a known batch size, but `{labels}` has shape {shape}");
        };
        let labels = self.reshape(labels, Reshape::shape([batch as i64, 1]).inplace(true))?;
        let labels = self.expand(&labels, [1, batch as i64])?;
        let across = self.transpose(&labels, &[1, 0])?;
        let same = self.equal(&labels, &across, super::Compare::new())?;
        let same = self.astype(&same, DType::F32)?;
        let per_row = self.reduce_sum(&same, Reduce::dims([1]).keep_dim(true))?;
        let targets = self.div(&same, &per_row)?;
        let size = |net: &mut Net, v: &VarRef| -> Result<VarRef> {
            let square = net.square(v)?;
            let sum = net.reduce_sum(&square, Reduce::dims([1]))?;
            net.reduce_mean(&sum, Reduce::all())
        };
        let (anchor_size, positive_size) = (size(self, anchor)?, size(self, positive)?);
        let sizes = self.add(&anchor_size, &positive_size)?;
        let sizes = self.times(&sizes, 0.25)?;
        let decay = self.times(&sizes, l2_reg)?;
        let similarity = self.matmul(anchor, positive, MatMul::new().transpose_y(true))?;
        let cost = self.softmax_with_cross_entropy(&similarity, &targets, CrossEntropy::new().soft_label(true))?;
        let weighted = self.times(&targets, &cost)?;
        let cost = self.reduce_sum(&weighted, Reduce::dims([0]))?;
        let cost = self.reduce_mean(&cost, Reduce::all())?;
        self.add(&decay, &cost)
    }

    /// `teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0)`
    #[track_caller]
    pub fn teacher_student_sigmoid_loss(
        &mut self,
        input: &VarRef,
        label: &VarRef,
        (lower, upper): (f32, f32),
    ) -> Result<VarRef> {
        let ty: VarType = self.tensor_type(input)?;
        let mut layer = self.layer("teacher_student_sigmoid_loss");
        let out = layer.generated(ty);
        let op = Op::new("teacher_student_sigmoid_loss").input("X", [input]).input("Label", [label]);
        let op = op.attr("soft_max_lower_bound", lower).attr("soft_max_up_bound", upper);
        layer.append_op(op.output("Y", [&out]))?;
        Ok(out)
    }

    /// `label_smooth(label, prior_dist=None, epsilon=0.1, dtype='float32')`: labels `[batch, classes]` mixed with a distribution, a
    /// uniform one where `None`.
    #[track_caller]
    pub fn label_smooth(&mut self, label: &VarRef, prior_dist: Option<&VarRef>, epsilon: f32) -> Result<VarRef> {
        if !(0.0..=1.0).contains(&epsilon) {
            fail!(Kind::Argument, "epsilon of `label_smooth` must be between 0 and 1, but it is {epsilon}");
        }
        let mut layer = self.layer("label_smooth");
        layer.stop_gradient(label)?;
        let mut op = Op::new("label_smooth").input("X", [label]).attr("epsilon", epsilon);
        if let Some(prior) = prior_dist {
            op = op.input("PriorDist", [prior]);
        }
        layer.out(DType::F32, op)
    }
}
