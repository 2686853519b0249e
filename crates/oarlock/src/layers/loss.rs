//! Losses, per example unless they say otherwise.

use oarlock_ir::{Kind, Op, Result, VarType, fail};
use oarlock_tensor::DType;

use super::{MatMul, Reduce};
use crate::declare::{Args, Made, declare};
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

declare! {
    /// ``exp(x) / sum(exp(x))`` along a dimension: positive numbers that sum to 1.
    ///
    /// Args:
    ///     input (Variable): any float tensor.
    ///     axis (int): the dimension of the classes.
    ///
    /// Returns:
    ///     Variable: the shape of ``input``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 0]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.softmax(x)])[0].tolist()
    ///     [[0.5, 0.5]]
    "nn.softmax(input, use_cudnn=False, name=None, axis=-1)" => |net, a| net.softmax(&a.var("input")?, a.i32("axis")?);

    /// The logarithm of the softmax along ``axis`` (the last dimension where ``None``), computed in ``dtype`` if given.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     axis (int): the dimension.
    ///     dtype (str): the element type.
    "nn.log_softmax(input, axis=None, dtype=None, name=None)"
        => |net, a| {
            let mut input = a.var("input")?;
            if let Some(dtype) = a.opt_dtype("dtype")? {
                input = net.cast(&input, dtype)?;
            }
            net.log_softmax(&input, a.opt("axis", Args::i32)?.unwrap_or(-1))
        };

    /// The negative log likelihood of the label: ``-log(input[label])``.
    ///
    /// Args:
    ///     input (Variable): probabilities ``[batch, classes]``, for example of `softmax`.
    ///     label (Variable): int64 ``[batch, 1]``; with ``soft_label``, float probabilities ``[batch, classes]``.
    ///     soft_label (bool): labels are distributions.
    ///     ignore_index (int): samples with this label cost 0.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Example:
    ///     >>> x, label = fluid.data("x", [None, 13]), fluid.data("label", [None, 1], "int64")
    ///     >>> predicted = fluid.layers.fc(x, 10, act="softmax")
    ///     >>> fluid.layers.cross_entropy(predicted, label).shape
    ///     (-1, 1)
    "loss.cross_entropy(input, label, soft_label=False, ignore_index=-100)"
        => |net, a| net.cross_entropy(&a.var("input")?, &a.var("label")?,
        CrossEntropy::new().soft_label(a.bool("soft_label")?).ignore_index(a.i32("ignore_index")?));

    /// The cross entropy of the softmax of logits, computed together: faster and more accurate than the two layers.
    ///
    /// Args:
    ///     logits (Variable): ``[batch, classes]``, before the softmax.
    ///     label (Variable): int64 ``[batch, 1]``; with ``soft_label``, float probabilities ``[batch, classes]``.
    ///     soft_label (bool): labels are distributions, not class numbers.
    ///     ignore_index (int): examples with this label have no loss.
    ///     numeric_stable_mode (bool): keep exponentials in range (only with softmax).
    ///     return_softmax (bool): return the softmax, too.
    ///     axis (int): the dimension of the classes.
    ///
    /// Returns:
    ///     Variable: the loss, ``[batch, 1]``; with ``return_softmax`` a tuple of loss and softmax.
    ///
    /// Example:
    ///     >>> logits, label = fluid.data("logits", [None, 10]), fluid.data("label", [None, 1], "int64")
    ///     >>> fluid.layers.softmax_with_cross_entropy(logits, label).shape
    ///     (-1, 1)
    "loss.softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, \
     numeric_stable_mode=True, return_softmax=False, axis=-1)"
        => |net, a| match a.bool("return_softmax")? {
        true => {
            net.softmax_with_cross_entropy_and_softmax(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from)
        }
        false => net.softmax_with_cross_entropy(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from),
    };

    /// The cross entropy of each logit with its own label in [0, 1], for labels that do not exclude each other.
    ///
    /// Args:
    ///     x (Variable): scores.
    ///     label (Variable): probabilities, like `X`.
    ///     ignore_index (int): elements with this label cost nothing.
    ///     normalize (bool): divide by the number of elements not ignored.
    ///
    /// Example:
    ///     >>> x, label = fluid.data("x", [None, 5]), fluid.data("label", [None, 5])
    ///     >>> fluid.layers.sigmoid_cross_entropy_with_logits(x, label).shape
    ///     (-1, 5)
    "loss.sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False)"
        => |net, a| net.sigmoid_cross_entropy_with_logits(&a.var("x")?, &a.var("label")?,
        a.opt("ignore_index", Args::i32)?, a.bool("normalize")?);

    /// ``(input - label) ** 2``, element by element.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): the true classes.
    ///
    /// Example:
    ///     >>> x, y = fluid.data("x", [None, 1]), fluid.data("y", [None, 1])
    ///     >>> fluid.layers.mean(fluid.layers.square_error_cost(x, y)).shape
    ///     (1,)
    "loss.square_error_cost(input, label)" => |net, a| net.square_error_cost(&a.var("input")?, &a.var("label")?);

    /// The mean of squared errors, `[1]`.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): the true classes.
    "loss.mse_loss(input, label)" => |net, a| net.mse_loss(&a.var("input")?, &a.var("label")?);

    /// The Huber loss: squared where ``|input - label|`` is below ``delta``, linear beyond.
    ///
    /// Args:
    ///     input (Variable): predictions.
    ///     label (Variable): the true classes.
    ///     delta (float): where the loss becomes linear (must be set).
    "loss.huber_loss(input, label, delta)"
        => |net, a| net.huber_loss(&a.var("input")?, &a.var("label")?, a.f32("delta")?);

    /// The negative log likelihood of labels 0 or 1: ``input`` holds probabilities ``[batch, 1]``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): the true classes.
    ///     epsilon (float): added to arguments of logarithms (must be set).
    "nn.log_loss(input, label, epsilon=0.0001, name=None)"
        => |net, a| net.log_loss(&a.var("input")?, &a.var("label")?, a.f32("epsilon")?);

    /// The smooth L1 loss of each row, ``[batch, 1]``: squared where ``|x - y|`` is below ``1 / sigma**2``, linear beyond.
    ///
    /// Args:
    ///     x (Variable): the input.
    ///     y (Variable): the second operand.
    ///     inside_weight (Variable): factor of the difference, like ``x``; goes with ``outside_weight``.
    ///     outside_weight (Variable): factor of the loss, like ``x``.
    ///     sigma (float): the loss is quadratic below ``1 / sigma ** 2``; ``None``: 1.
    "nn.smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)" => |net, a| {
        let weights = (a.opt_var("inside_weight")?, a.opt_var("outside_weight")?);
        let both = weights.0.as_ref().zip(weights.1.as_ref());
        net.smooth_l1(&a.var("x")?, &a.var("y")?, both, a.opt("sigma", Args::f32)?)
    };

    /// The Bayesian personalized ranking loss, ``[batch, 1]``: the score of the label against those of all other items.
    ///
    /// Args:
    ///     input (Variable): scores [..., classes].
    ///     label (Variable): class numbers [..., 1].
    "loss.bpr_loss(input, label, name=None)" => |net, a| net.bpr_loss(&a.var("input")?, &a.var("label")?);

    /// The RankNet loss of pairs of scores: ``label`` is 1 where ``left`` should rank higher.
    ///
    /// Args:
    ///     label (Variable): 1 if left ranks higher, else 0.
    ///     left (Variable): scores.
    ///     right (Variable): scores.
    "loss.rank_loss(label, left, right, name=None)"
        => |net, a| net.rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?);

    /// ``max(0, -label * (left - right) + margin)`` of pairs of scores; ``label`` is 1 or -1.
    ///
    /// Args:
    ///     label (Variable): 1 if `X1` ranks higher, -1 if `X2` does.
    ///     left (Variable): scores of the first documents, ``[batch, 1]``.
    ///     right (Variable): scores of the second documents, ``[batch, 1]``.
    ///     margin (float): how far scores should be apart.
    "loss.margin_rank_loss(label, left, right, margin=0.1, name=None)"
        => |net, a| net.margin_rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?, a.f32("margin")?);

    /// The Kullback-Leibler divergence; ``x`` holds log probabilities. ``reduction`` is ``none``, ``batchmean``, ``mean`` or
    /// ``sum``.
    ///
    /// Args:
    ///     x (Variable): logarithms of probabilities.
    ///     target (Variable): probabilities, like `X`.
    ///     reduction (str): none; or sum; or mean over all elements, or batchmean over rows.
    "loss.kldiv_loss(x, target, reduction='mean', name=None)"
        => |net, a| net.kldiv_loss(&a.var("x")?, &a.var("target")?, &a.str("reduction")?);

    /// The Dice loss, 1 minus the overlap of prediction and label, ``[1]``.
    ///
    /// Args:
    ///     input (Variable): the input.
    ///     label (Variable): the true classes.
    ///     epsilon (float): keeps divisions finite.
    "nn.dice_loss(input, label, epsilon=1e-05, name=None)"
        => |net, a| net.dice_loss(&a.var("input")?, &a.var("label")?, a.f64("epsilon")?);

    /// The N-pair loss, ``[1]``: pulls embeddings of one class together and others apart.
    ///
    /// Args:
    ///     anchor (Variable): embeddings of the anchors, ``[batch, width]``.
    ///     positive (Variable): embeddings of the positives, ``[batch, width]``.
    ///     labels (Variable): classes, ``[batch]``.
    ///     l2_reg (float): the weight of the L2 norm of the embeddings.
    "loss.npair_loss(anchor, positive, labels, l2_reg=0.002)"
        => |net, a| net.npair_loss(&a.var("anchor")?, &a.var("positive")?, &a.var("labels")?, a.f64("l2_reg")?);

    /// The loss of a student that learns from clicks and from the scores of a teacher, ``[batch, 1]``.
    ///
    /// Args:
    ///     input (Variable): scores [n, 1].
    ///     label (Variable): [n, 1].
    ///     soft_max_up_bound (float): from this score on there is no gradient.
    ///     soft_max_lower_bound (float): up to this score there is no gradient.
    "loss.teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0)"
        => |net, a| net.teacher_student_sigmoid_loss(&a.var("input")?, &a.var("label")?,
        (a.f32("soft_max_lower_bound")?, a.f32("soft_max_up_bound")?));

    /// One-hot labels ``[batch, classes]`` mixed with ``prior_dist``, a uniform distribution where ``None``: ``(1 - epsilon)
    /// * label + epsilon * prior``.
    ///
    /// Args:
    ///     label (Variable): the true classes.
    ///     prior_dist (Variable): the distribution to mix in, ``[1, classes]``; ``None``: the uniform one.
    ///     epsilon (float): weight of the prior.
    ///     dtype (str): the element type.
    "nn.label_smooth(label, prior_dist=None, epsilon=0.1, dtype='float32', name=None)"
        => |net, a| net.label_smooth(&a.var("label")?, a.opt_var("prior_dist")?.as_ref(), a.f32("epsilon")?);
}

fn entropy(a: &Args) -> Result<CrossEntropy> {
    Ok(CrossEntropy::new()
        .soft_label(a.bool("soft_label")?)
        .ignore_index(a.i32("ignore_index")?)
        .numeric_stable_mode(a.bool("numeric_stable_mode")?)
        .axis(a.i32("axis")?))
}
