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
    /// Computes ``exp(x) / sum(exp(x))`` along a dimension: positive numbers that sum to 1.
    ///
    /// The largest element is subtracted first, so that nothing overflows. For a loss use
    /// ``softmax_with_cross_entropy`` on the argument instead, which is faster and more accurate.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, any shape.
    ///     axis (int): the dimension of the classes; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable: the shape, element type and LoD of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` has no dimension ``axis``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 0], [0, 1]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.softmax(x)])[0].round(4))
    ///     [[0.5    0.5   ]
    ///      [0.2689 0.7311]]
    "nn.softmax(input, use_cudnn=False, name=None, axis=-1)" => |net, a| net.softmax(&a.var("input")?, a.i32("axis")?);

    /// Computes the logarithm of the softmax along a dimension: ``x - log(sum(exp(x)))``.
    ///
    /// It is finite also where ``softmax`` gives 0.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, any shape.
    ///     axis (int): the dimension of the classes; negative ones count from the end; ``None``: the last one.
    ///     dtype (dtype): the element type to which ``input`` is cast first: float32 or float64; ``None``: that of
    ///         ``input``.
    ///
    /// Returns:
    ///     Variable: the shape of ``input``.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0, 0], [0, 1]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.log_softmax(x)])[0].round(4))
    ///     [[-0.6931 -0.6931]
    ///      [-1.3133 -0.3133]]
    "nn.log_softmax(input, axis=None, dtype=None, name=None)"
        => |net, a| {
            let mut input = a.var("input")?;
            if let Some(dtype) = a.opt_dtype("dtype")? {
                input = net.cast(&input, dtype)?;
            }
            net.log_softmax(&input, a.opt("axis", Args::i32)?.unwrap_or(-1))
        };

    /// Computes the cross entropy of probabilities and labels: ``-log(input[label])``, or ``-sum(label * log(input))``
    /// with soft labels.
    ///
    /// ``input`` holds probabilities, usually those of ``softmax``. For logits use ``softmax_with_cross_entropy``. The
    /// result is per sample; ``mean`` makes a loss of it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[..., classes]``: probabilities.
    ///     label (Variable): int64 ``[..., 1]`` (or ``[...]``): the class of each sample; with ``soft_label`` the type
    ///         and shape of ``input``.
    ///     soft_label (bool): each label is a distribution over the classes.
    ///     ignore_index (int): samples with this label cost 0 and have no gradient; only without ``soft_label``.
    ///
    /// Returns:
    ///     Variable: ``[..., 1]``, the element type of ``input``.
    ///
    /// Raises:
    ///     TypeError: labels of classes are not int64.
    ///     IndexError: a label is no class (when the program runs).
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[0.5, 0.5], [0.1, 0.9]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.cross_entropy(predicted, label)])[0].round(4))
    ///     [[0.6931]
    ///      [0.1054]]
    ///     >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1], "int64")
    ///     >>> cost = fluid.layers.cross_entropy(fluid.layers.fc(x, 10, act="softmax"), y)
    ///     >>> loss = fluid.layers.mean(cost)
    ///     >>> _ = fluid.optimizer.SGD(0.1).minimize(loss)
    "loss.cross_entropy(input, label, soft_label=False, ignore_index=-100)"
        => |net, a| net.cross_entropy(&a.var("input")?, &a.var("label")?,
        CrossEntropy::new().soft_label(a.bool("soft_label")?).ignore_index(a.i32("ignore_index")?));

    /// Computes the cross entropy of the softmax of logits and labels: ``log(sum(exp(logits))) - logits[label]``.
    ///
    /// It is faster and more accurate than ``softmax`` followed by ``cross_entropy``, and its gradient is
    /// ``softmax - label``.
    ///
    /// Args:
    ///     logits (Variable): float32 or float64, ``[..., classes]``: arguments of the softmax.
    ///     label (Variable): int64, the shape of ``logits`` with size 1 along ``axis``; with ``soft_label`` the type
    ///         and shape of ``logits``.
    ///     soft_label (bool): each label is a distribution over the classes.
    ///     ignore_index (int): samples with this label cost 0 and have no gradient; only without ``soft_label``.
    ///     numeric_stable_mode (bool): accepted; exponentials are always kept in range.
    ///     return_softmax (bool): return the softmax, too.
    ///     axis (int): the dimension of the classes; negative ones count from the end.
    ///
    /// Returns:
    ///     Variable or tuple: the loss, the shape of ``logits`` with size 1 along ``axis``; with ``return_softmax`` the
    ///         tuple (loss, softmax).
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the shapes of ``logits`` and ``label`` do not fit.
    ///     TypeError: labels of classes are not int64.
    ///     IndexError: a label is no class (when the program runs).
    ///
    /// Example:
    ///     >>> logits = fluid.layers.assign(np.array([[1, 1], [0, 2]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
    ///     >>> out = fluid.layers.softmax_with_cross_entropy(logits, label)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [[0.6931]
    ///      [0.1269]]
    ///     >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1], "int64")
    ///     >>> loss, softmax = fluid.layers.softmax_with_cross_entropy(fluid.layers.fc(x, 10), y, return_softmax=True)
    ///     >>> loss.shape, softmax.shape
    ///     ((-1, 1), (-1, 10))
    "loss.softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, \
     numeric_stable_mode=True, return_softmax=False, axis=-1)"
        => |net, a| match a.bool("return_softmax")? {
        true => {
            net.softmax_with_cross_entropy_and_softmax(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from)
        }
        false => net.softmax_with_cross_entropy(&a.var("logits")?, &a.var("label")?, entropy(a)?).map(Made::from),
    };

    /// Computes the cross entropy of the sigmoid of each logit with its own label:
    /// ``max(x, 0) - x * label + log(1 + exp(-|x|))``.
    ///
    /// Use it for classes that do not exclude each other, and for two classes with one logit.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, classes]``: arguments of the sigmoid.
    ///     label (Variable): the type and shape of ``x``: probabilities in ``[0, 1]``.
    ///     ignore_index (int): elements with this label cost 0.
    ///     normalize (bool): divide by the number of elements that are not ignored.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``x``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` and ``label`` differ in shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[2, -1]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1, 0]], "float32"))
    ///     >>> out = fluid.layers.sigmoid_cross_entropy_with_logits(x, label)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [[0.1269 0.3133]]
    "loss.sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False)"
        => |net, a| net.sigmoid_cross_entropy_with_logits(&a.var("x")?, &a.var("label")?,
        a.opt("ignore_index", Args::i32)?, a.bool("normalize")?);

    /// Computes the squared error ``(input - label) ** 2``, element by element.
    ///
    /// ``mean`` of it is the usual loss of a regression; ``mse_loss`` computes both.
    ///
    /// Args:
    ///     input (Variable): float32 or float64: predictions.
    ///     label (Variable): the type and shape of ``input``: the true values.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``label`` are neither those of ``input`` nor 1.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[1.5], [3]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1], [5]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.square_error_cost(predicted, label)])[0].tolist()
    ///     [[0.25], [4.0]]
    ///     >>> x, y = fluid.data("x", [None, 13]), fluid.data("y", [None, 1])
    ///     >>> loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    ///     >>> _ = fluid.optimizer.SGD(0.01).minimize(loss)
    "loss.square_error_cost(input, label)" => |net, a| net.square_error_cost(&a.var("input")?, &a.var("label")?);

    /// Computes the mean squared error ``mean((input - label) ** 2)``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64: predictions.
    ///     label (Variable): the type and shape of ``input``: the true values.
    ///
    /// Returns:
    ///     Variable: ``[1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the sizes of ``label`` are neither those of ``input`` nor 1.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[1.5], [3]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1], [5]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.mse_loss(predicted, label)])[0].tolist()
    ///     [2.125]
    "loss.mse_loss(input, label)" => |net, a| net.mse_loss(&a.var("input")?, &a.var("label")?);

    /// Computes the Huber loss: ``0.5 * d * d`` where ``d = |label - input|`` is at most ``delta``, otherwise
    /// ``delta * (d - 0.5 * delta)``.
    ///
    /// Large errors count less than with ``square_error_cost``: their gradient is at most ``delta``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, 1]``: predictions.
    ///     label (Variable): the type and shape of ``input``: the true values.
    ///     delta (float): the error from which the loss is linear; positive.
    ///
    /// Returns:
    ///     Variable: the shape of ``input``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` and ``label`` differ in shape.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[1], [5]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0], [0]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.huber_loss(predicted, label, delta=1.0)])[0].tolist()
    ///     [[0.5], [4.5]]
    "loss.huber_loss(input, label, delta)"
        => |net, a| net.huber_loss(&a.var("input")?, &a.var("label")?, a.f32("delta")?);

    /// Computes the negative log likelihood of two classes:
    /// ``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``.
    ///
    /// Args:
    ///     input (Variable): float32, ``[batch, 1]``: probabilities of class 1, usually those of ``sigmoid``.
    ///     label (Variable): float32, ``[batch, 1]``: 0 or 1, or a probability.
    ///     epsilon (float): added to the arguments of the logarithms, so that they are finite.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``input`` and ``label`` differ in shape.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[0.9], [0.2]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1], [0]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.log_loss(predicted, label)])[0].round(4))
    ///     [[0.1052]
    ///      [0.223 ]]
    "nn.log_loss(input, label, epsilon=0.0001, name=None)"
        => |net, a| net.log_loss(&a.var("input")?, &a.var("label")?, a.f32("epsilon")?);

    /// Computes the smooth L1 loss of each sample, the sum of its elements.
    ///
    /// An element with ``d = inside_weight * (x - y)`` costs ``0.5 * (sigma * d) ** 2`` where ``|d| < 1 / sigma ** 2``,
    /// otherwise ``|d| - 0.5 / sigma ** 2``; times ``outside_weight``. Regression of boxes uses it.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, ...]``: predictions.
    ///     y (Variable): the type and shape of ``x``: the true values.
    ///     inside_weight (Variable): factors of the differences, the shape of ``x``; ``None``: 1. Give both weights or
    ///         none.
    ///     outside_weight (Variable): factors of the losses, the shape of ``x``; ``None``: 1.
    ///     sigma (float): differences below ``1 / sigma ** 2`` count quadratically; ``None``: 1.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``x`` and ``y`` differ in shape.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[0.5, 3]], "float32"))
    ///     >>> y = fluid.layers.assign(np.array([[0, 0]], "float32"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.smooth_l1(x, y)])[0].tolist()
    ///     [[2.625]]
    "nn.smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None)" => |net, a| {
        let weights = (a.opt_var("inside_weight")?, a.opt_var("outside_weight")?);
        let both = weights.0.as_ref().zip(weights.1.as_ref());
        net.smooth_l1(&a.var("x")?, &a.var("y")?, both, a.opt("sigma", Args::f32)?)
    };

    /// Computes the Bayesian personalized ranking loss: the mean over all other items ``j`` of
    /// ``log(1 + exp(input[j] - input[label]))``.
    ///
    /// It is small when the score of the chosen item exceeds all others. Recommendation by sessions uses it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, items]``: scores.
    ///     label (Variable): int64, ``[batch, 1]``: the chosen item.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     IndexError: a label is no item (when the program runs).
    ///
    /// Example:
    ///     >>> scores = fluid.layers.assign(np.array([[1, 5, 2]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[1]], "int64"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.bpr_loss(scores, label)])[0].round(4))
    ///     [[0.0334]]
    "loss.bpr_loss(input, label, name=None)" => |net, a| net.bpr_loss(&a.var("input")?, &a.var("label")?);

    /// Computes the RankNet loss of pairs of scores: ``log(1 + exp(left - right)) - label * (left - right)``.
    ///
    /// Args:
    ///     label (Variable): float32, ``[batch, 1]``: 1 where the left document ranks higher, 0 where the right one
    ///         does, 0.5 for equal ranks.
    ///     left (Variable): float32, ``[batch, 1]``: scores of the left documents.
    ///     right (Variable): float32, ``[batch, 1]``: scores of the right documents.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Example:
    ///     >>> label = fluid.layers.assign(np.array([[1], [0]], "float32"))
    ///     >>> left = fluid.layers.assign(np.array([[2], [2]], "float32"))
    ///     >>> right = fluid.layers.assign(np.array([[1], [1]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.rank_loss(label, left, right)])[0].round(4))
    ///     [[0.3133]
    ///      [1.3133]]
    "loss.rank_loss(label, left, right, name=None)"
        => |net, a| net.rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?);

    /// Computes the margin ranking loss of pairs of scores: ``max(0, -label * (left - right) + margin)``.
    ///
    /// Pairs that are in the right order by at least ``margin`` cost nothing.
    ///
    /// Args:
    ///     label (Variable): float32, ``[batch, 1]``: 1 where the left document ranks higher, -1 where the right one
    ///         does.
    ///     left (Variable): float32, ``[batch, 1]``: scores of the left documents.
    ///     right (Variable): float32, ``[batch, 1]``: scores of the right documents.
    ///     margin (float): the distance that scores should have.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Example:
    ///     >>> label = fluid.layers.assign(np.array([[1], [-1]], "float32"))
    ///     >>> left = fluid.layers.assign(np.array([[2], [2]], "float32"))
    ///     >>> right = fluid.layers.assign(np.array([[1], [1]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.margin_rank_loss(label, left, right)])[0].round(4))
    ///     [[0. ]
    ///      [1.1]]
    "loss.margin_rank_loss(label, left, right, margin=0.1, name=None)"
        => |net, a| net.margin_rank_loss(&a.var("label")?, &a.var("left")?, &a.var("right")?, a.f32("margin")?);

    /// Computes the Kullback-Leibler divergence ``target * (log(target) - x)``; elements whose target is not positive
    /// cost 0.
    ///
    /// Args:
    ///     x (Variable): float32 or float64, ``[batch, ...]``: logarithms of the predicted probabilities.
    ///     target (Variable): the type and shape of ``x``: probabilities, not logarithms.
    ///     reduction (str): ``none``: every element; ``mean``: the mean of all; ``sum``: their sum; ``batchmean``: the
    ///         sum divided by the number of samples, which is the divergence of its definition.
    ///
    /// Returns:
    ///     Variable: ``[1]``; with ``none`` the shape of ``x``.
    ///
    /// Raises:
    ///     ValueError: ``reduction`` is none of the four.
    ///
    /// Example:
    ///     >>> x = fluid.layers.log(fluid.layers.assign(np.array([[0.5, 0.5]], "float32")))
    ///     >>> target = fluid.layers.assign(np.array([[0.25, 0.75]], "float32"))
    ///     >>> out = fluid.layers.kldiv_loss(x, target, reduction="batchmean")
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [0.1308]
    "loss.kldiv_loss(x, target, reduction='mean', name=None)"
        => |net, a| net.kldiv_loss(&a.var("x")?, &a.var("target")?, &a.str("reduction")?);

    /// Computes the Dice loss of a segmentation: ``1 - 2 * overlap / (predicted + labelled + epsilon)``, the mean over
    /// the batch.
    ///
    /// The overlap is the sum of the probabilities of the labelled classes. It suits classes of very different
    /// frequency.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, ..., classes]``: probabilities.
    ///     label (Variable): int32 or int64, ``[batch, ..., 1]``: the class of each pixel.
    ///     epsilon (float): added to the divisor, so that it is not 0.
    ///
    /// Returns:
    ///     Variable: ``[1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: the last size of ``label`` is not 1.
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[[0.9, 0.1], [0.2, 0.8]]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[[0], [1]]], "int64"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.dice_loss(predicted, label)])[0].round(4))
    ///     [0.15]
    "nn.dice_loss(input, label, epsilon=1e-05, name=None)"
        => |net, a| net.dice_loss(&a.var("input")?, &a.var("label")?, a.f64("epsilon")?);

    /// Computes the N-pair loss: embeddings of one class are pulled together and those of other classes are pushed
    /// apart.
    ///
    /// It is the softmax cross entropy of the products of all anchors with all positives, plus ``0.25 * l2_reg`` times
    /// the mean squared length of both.
    ///
    /// Args:
    ///     anchor (Variable): float32, ``[batch, width]``: embeddings of the anchors.
    ///     positive (Variable): float32, ``[batch, width]``: an embedding of the same class for each anchor.
    ///     labels (Variable): float32, float64, int32 or int64, ``[batch]``: the classes.
    ///     l2_reg (float): the weight of the lengths of the embeddings.
    ///
    /// Returns:
    ///     Variable: ``[1]``.
    ///
    /// Example:
    ///     >>> anchor = fluid.layers.assign(np.array([[1, 0], [0, 1]], "float32"))
    ///     >>> positive = fluid.layers.assign(np.array([[1, 0], [0, 1]], "float32"))
    ///     >>> labels = fluid.layers.assign(np.array([0, 1], "int64"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.npair_loss(anchor, positive, labels)])[0].round(4))
    ///     [0.3143]
    "loss.npair_loss(anchor, positive, labels, l2_reg=0.002)"
        => |net, a| net.npair_loss(&a.var("anchor")?, &a.var("positive")?, &a.var("labels")?, a.f64("l2_reg")?);

    /// Computes the loss of a student that learns from clicks and from the scores of a teacher.
    ///
    /// It is ``f(x, click) + f(x, teacher)`` with ``f(x, t) = max(x, 0) - x * t + log(1 + exp(-|x|))``. ``label``
    /// encodes both: -2 is no click without a teacher, -1 a click without a teacher, ``s`` in ``[0, 1)`` no click with
    /// the teacher's score ``s``, and ``1 + s`` a click with the score ``s``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, 1]``: arguments of the sigmoid.
    ///     label (Variable): the type and shape of ``input``.
    ///     soft_max_up_bound (float): inputs from here on have no gradient.
    ///     soft_max_lower_bound (float): inputs up to here have no gradient.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Example:
    ///     >>> score = fluid.layers.assign(np.array([[0.5], [0.5]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[-1], [1.3]], "float32"))
    ///     >>> out = fluid.layers.teacher_student_sigmoid_loss(score, label)
    ///     >>> print(fluid.Executor().run(fetch_list=[out])[0].round(4))
    ///     [[0.4741]
    ///      [1.2982]]
    "loss.teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0)"
        => |net, a| net.teacher_student_sigmoid_loss(&a.var("input")?, &a.var("label")?,
        (a.f32("soft_max_lower_bound")?, a.f32("soft_max_up_bound")?));

    /// Mixes labels with a distribution: ``(1 - epsilon) * label + epsilon * prior``.
    ///
    /// Training with smoothed labels keeps a classifier from being overconfident. Use the result with
    /// ``soft_label=True``.
    ///
    /// Args:
    ///     label (Variable): float32 or float64, ``[..., classes]``: distributions, usually of ``one_hot``.
    ///     prior_dist (Variable): the distribution to mix in, ``[1, classes]``; ``None``: the uniform one,
    ///         ``1 / classes``.
    ///     epsilon (float): the weight of the prior, in ``[0, 1]``.
    ///     dtype (dtype): accepted; the result has the element type of ``label``, as in Fluid.
    ///
    /// Returns:
    ///     Variable: the shape and element type of ``label``.
    ///
    /// Example:
    ///     >>> label = fluid.layers.assign(np.array([[1, 0, 0, 0]], "float32"))
    ///     >>> print(fluid.Executor().run(fetch_list=[fluid.layers.label_smooth(label, epsilon=0.2)])[0].round(4))
    ///     [[0.85 0.05 0.05 0.05]]
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
