//! Losses over many classes that look at some of them only, and the distance to the centre of a class.

use std::collections::VecDeque;

use oarlock_ir::{Dim, Error, Kind, Op, Result, Var, VarType, fail};
use oarlock_tensor::{DType, Tensor};

use crate::declare::{Args, declare};
use crate::layer::{Part, known};
use crate::options::options;
use crate::{Initializer, Net, Param, ParamAttr, VarRef};

/// The distribution from which [`Net::nce`] draws classes.
#[derive(Debug, Clone, PartialEq)]
pub enum Sampler {
    /// All classes alike.
    Uniform,
    /// Classes by descending frequency, as `ln((k + 2) / (k + 1))`.
    LogUniform,
    /// Each class with its own probability.
    CustomDist(Vec<f64>),
}

options! {
    /// `nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None,
    /// sampler='uniform', custom_dist=None, seed=0, is_sparse=False)`
    Nce::classes(
        /// How many classes there are.
        num_total_classes: usize,
    ) {
        /// A weight per example.
        sample_weight: Option<VarRef> = None,
        /// The weight, a row per class.
        param_attr(into): Param = Param::default(),
        /// The bias, a number per class.
        bias_attr(into): Param = Param::default(),
        /// Classes drawn per example.
        num_neg_samples: i32 = 10,
        /// The distribution from which they are drawn.
        sampler: Sampler = Sampler::Uniform,
        /// Of the drawn classes; 0 for others in each step.
        seed: i32 = 0,
        /// The gradient holds only the rows of the classes that occur.
        is_sparse: bool = false,
    }
}

options! {
    /// `hsigmoid(input, label, num_classes, param_attr=None, bias_attr=None, path_table=None, path_code=None, is_custom=False,
    /// is_sparse=False)`
    Hsigmoid::classes(
        /// Leaves of the tree; of a tree of one's own the number of its inner nodes.
        num_classes: usize,
    ) {
        /// The weight, a row per inner node.
        param_attr(into): Param = Param::default(),
        /// The bias, a number per inner node.
        bias_attr(into): Param = Param::default(),
        /// A tree of one's own: the nodes on the way to each label and the bits on it, both `[batch, levels]` and -1 below the leaf.
        path: Option<(VarRef, VarRef)> = None,
        /// The gradient holds only the rows of nodes that occur; only with a tree of one's own.
        is_sparse: bool = false,
    }
}

options! {
    /// `sampled_softmax_with_cross_entropy(logits, label, num_samples, num_true=1, remove_accidental_hits=True,
    /// use_customized_samples=False, customized_samples=None, customized_probabilities=None, seed=0)`
    SampledSoftmax::samples(
        /// Classes drawn besides the true ones.
        num_samples: i32,
    ) {
        /// True classes of an example.
        num_true: i32 = 1,
        /// Drawn classes that are true ones do not count.
        remove_accidental_hits: bool = true,
        /// Samples and their probabilities, instead of drawing.
        customized: Option<(VarRef, VarRef)> = None,
        /// Of the drawn classes; 0 for others in each step.
        seed: i32 = 0,
    }
}

impl Net {
    /// Noise-contrastive estimation of the class of an input, `[batch, 1]`.
    #[track_caller]
    pub fn nce(&mut self, input: &VarRef, label: &VarRef, options: Nce) -> Result<VarRef> {
        let mut layer = self.layer("nce");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let width = known(shape.get(1..2).unwrap_or_default(), "`nce`", input)?;
        let classes = options.num_total_classes;
        let w = layer.weight(&options.param_attr, &[&[classes], &width[..]].concat(), dtype)?;
        let mut op = Op::new("nce").input("Input", [input]).input("Label", [label]).input("Weight", [&w]);
        if let Some(attr) = options.bias_attr.attr() {
            let b = layer.parameter(attr, Part::Bias, &[classes, 1], dtype, None)?;
            op = op.input("Bias", [&b]);
        }
        let (cost, logits, labels) = (layer.temp(dtype), layer.temp(dtype), layer.temp(DType::I64));
        if let Some(weight) = &options.sample_weight {
            op = op.input("SampleWeight", [weight]);
        }
        let sampler = match &options.sampler {
            Sampler::Uniform => 0,
            Sampler::LogUniform => 1,
            Sampler::CustomDist(probabilities) => {
                let table = AliasTable::new(probabilities, classes)?;
                for (slot, values) in table.slots()? {
                    let dims: Vec<usize> = values.dims().to_vec();
                    let (dtype, first) = (values.dtype(), Initializer::Value(values));
                    let var = layer.parameter(&ParamAttr::new(), Part::Weight, &dims, dtype, Some(first))?;
                    layer.stop_gradient(&var)?;
                    op = op.input(slot, [&var]);
                }
                2
            }
        };
        let op = op
            .output("Cost", [&cost])
            .output("SampleLogits", [&logits])
            .output("SampleLabels", [&labels])
            .attr("num_total_classes", classes as i32)
            .attr("num_neg_samples", options.num_neg_samples)
            .attr("seed", options.seed)
            .attr("sampler", sampler)
            .attr("is_sparse", options.is_sparse)
            .attr("remote_prefetch", options.is_sparse);
        layer.append_op(op)?;
        layer.div(&cost, f64::from(options.num_neg_samples + 1))
    }

    /// A softmax over many classes as a walk through a binary tree, `[batch, 1]`.
    #[track_caller]
    pub fn hsigmoid(&mut self, input: &VarRef, label: &VarRef, options: Hsigmoid) -> Result<VarRef> {
        let custom = options.path.is_some();
        if options.num_classes < 2 && !custom {
            fail!(Kind::Argument, "`hsigmoid` needs at least 2 classes, not {}", options.num_classes);
        }
        let mut layer = self.layer("hierarchical_sigmoid");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let width = known(shape.get(1..2).unwrap_or_default(), "`hsigmoid`", input)?;
        let (out, pre_out) = (layer.temp(dtype), layer.temp(dtype));
        let nodes = if custom { options.num_classes } else { options.num_classes - 1 };
        let w = layer.weight(&options.param_attr, &[&[nodes], &width[..]].concat(), dtype)?;
        let mut op = Op::new("hierarchical_sigmoid").input("X", [input]).input("W", [&w]).input("Label", [label]);
        if let Some((table, code)) = &options.path {
            op = op.input("PathTable", [table]).input("PathCode", [code]);
        }
        if let Some(attr) = options.bias_attr.attr() {
            let b = layer.parameter(attr, Part::Bias, &[nodes, 1], dtype, None)?;
            op = op.input("Bias", [&b]);
        }
        let sparse = options.is_sparse && custom;
        let op = op
            .output("Out", [&out])
            .output("PreOut", [&pre_out])
            .output("W_Out", [&w])
            .attr("num_classes", options.num_classes as i32)
            .attr("is_sparse", sparse)
            .attr("remote_prefetch", sparse);
        layer.append_op(op)?;
        Ok(out)
    }

    /// The cross entropy of a softmax over the true classes and some drawn ones, `[batch, 1]`.
    #[track_caller]
    pub fn sampled_softmax_with_cross_entropy(
        &mut self,
        logits: &VarRef,
        label: &VarRef,
        options: SampledSoftmax,
    ) -> Result<VarRef> {
        let mut layer = self.layer("sample_logits");
        let dtype = layer.dtype(logits)?;
        let (samples, probabilities) = match &options.customized {
            Some((samples, probabilities)) => (samples.clone(), probabilities.clone()),
            None => (layer.temp(DType::I64), layer.temp(dtype)),
        };
        let (sampled, sampled_label) = (layer.temp(dtype), layer.temp(DType::I64));
        let soft_label = layer.temp(dtype);
        let (logits_dim, labels_dim) = (layer.temp(dtype), layer.temp(DType::F32));
        let mut op = Op::new("sample_logits").input("Logits", [logits]).input("Labels", [label]);
        if let Some((samples, probabilities)) = &options.customized {
            op = op.input("CustomizedSamples", [samples]).input("CustomizedProbabilities", [probabilities]);
        }
        let op = op
            .output("Samples", [&samples])
            .output("Probabilities", [&probabilities])
            .output("SampledLabels", [&sampled_label])
            .output("SampledLogits", [&sampled])
            .output("LogitsDim", [&logits_dim])
            .output("LabelsDim", [&labels_dim])
            .attr("use_customized_samples", options.customized.is_some())
            .attr("uniq", true)
            .attr("remove_accidental_hits", options.remove_accidental_hits)
            .attr("num_samples", options.num_samples)
            .attr("seed", options.seed);
        layer.append_op(op)?;
        let (loss, softmax) = (layer.temp(dtype), layer.temp(dtype));
        let one_hot = Op::new("one_hot").input("X", [&sampled_label]).output("Out", [&soft_label]);
        layer.append_op(one_hot.attr("depth", options.num_samples + 1))?;
        let op = Op::new("softmax_with_cross_entropy")
            .input("Logits", [&sampled])
            .input("Label", [&soft_label])
            .output("Softmax", [&softmax])
            .output("Loss", [&loss])
            .attr("soft_label", true)
            .attr("ignore_index", 0)
            .attr("numeric_stable_mode", false);
        layer.append_op(op)?;
        layer.div(&loss, f64::from(options.num_true))
    }

    /// `center_loss(input, label, num_classes, alpha, param_attr, update_center=True)`: half the squared distance to the centre of
    /// the class, `[batch, 1]`; the centres move towards their examples by the share `alpha`.
    #[track_caller]
    pub fn center_loss(
        &mut self,
        input: &VarRef,
        label: &VarRef,
        (num_classes, alpha): (usize, f64),
        param_attr: impl Into<Param>,
        update_center: bool,
    ) -> Result<VarRef> {
        let mut layer = self.layer("center_loss");
        let (shape, dtype) = (layer.shape(input)?, layer.dtype(input)?);
        let width = known(shape.get(1..2).unwrap_or_default(), "`center_loss`", input)?;
        let centers = layer.weight(&param_attr.into(), &[&[num_classes], &width[..]].concat(), dtype)?;
        layer.stop_gradient(&centers)?;
        let mut rate = Var::new("centerloss_alpha", VarType::tensor(DType::F32, vec![Dim::Is(1)]));
        rate.persistable = true;
        rate.meta.stop_gradient = true;
        let first = Initializer::constant(alpha).op(&rate, 0)?;
        let rate = layer.declare(rate);
        layer.append_op(first)?;
        let (difference, loss) = (layer.temp(dtype), layer.temp(dtype));
        let op = Op::new("center_loss")
            .input("X", [input])
            .input("Label", [label])
            .input("Centers", [&centers])
            .input("CenterUpdateRate", [&rate])
            .output("SampleCenterDiff", [&difference])
            .output("Loss", [&loss])
            .output("CentersOut", [&centers])
            .attr("cluster_num", num_classes as i32)
            .attr("need_update", update_center);
        layer.append_op(op)?;
        Ok(loss)
    }
}

/// A distribution from which a class is drawn in constant time: a class drawn uniformly is kept with the probability `keep`, else
/// replaced by its `alias` (-1 for itself).
struct AliasTable {
    probabilities: Vec<f32>,
    alias: Vec<i32>,
    keep: Vec<f32>,
}

impl AliasTable {
    fn new(probabilities: &[f64], classes: usize) -> Result<AliasTable> {
        if probabilities.len() != classes {
            let n = probabilities.len();
            fail!(Kind::Argument, "custom_dist of `nce` has {n} probabilities for {classes} classes");
        }
        let mut table = AliasTable {
            probabilities: probabilities.iter().map(|&p| p as f32).collect(),
            alias: vec![-1; classes],
            keep: vec![1.0; classes],
        };
        // Classes with more and with less than the mean; first come, first served, so that programs agree with Fluid's.
        let (mut more, mut less) = (VecDeque::new(), VecDeque::new());
        let mut waiting: Vec<(usize, f64)> = probabilities.iter().map(|p| p * classes as f64).enumerate().collect();
        loop {
            more.extend(waiting.iter().filter(|c| c.1 > 1.0));
            less.extend(waiting.drain(..).filter(|c| c.1 < 1.0));
            let (Some(&(big, excess)), Some(&(little, keep))) = (more.front(), less.front()) else { break };
            more.pop_front();
            less.pop_front();
            table.keep[little] = keep as f32;
            table.alias[little] = big as i32;
            waiting.push((big, excess + keep - 1.0));
        }
        Ok(table)
    }

    /// The tensor for each slot of the operator.
    fn slots(self) -> Result<[(&'static str, Tensor); 3]> {
        let n = [self.alias.len()];
        let failed = |e: oarlock_tensor::Error| Error::new(Kind::Argument, e.to_string());
        Ok([
            ("CustomDistProbs", Tensor::from_slice(n, &self.probabilities).map_err(failed)?),
            ("CustomDistAlias", Tensor::from_slice(n, &self.alias).map_err(failed)?),
            ("CustomDistAliasProbs", Tensor::from_slice(n, &self.keep).map_err(failed)?),
        ])
    }
}

declare! {
    /// Computes the noise-contrastive estimation of a class: a cheap loss for very many classes.
    ///
    /// Instead of a softmax over all classes, the true class and ``num_neg_samples`` randomly drawn ones are told
    /// apart. With ``o = sigmoid(input . W[class] + b[class])`` and ``q = num_neg_samples * P(class)`` a true class
    /// costs ``-log(o / (o + q))`` and a drawn one ``-log(q / (o + q))``. The weight is a parameter
    /// ``[num_total_classes, width]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, width]``: features.
    ///     label (Variable): int64, ``[batch, true_classes]``.
    ///     num_total_classes (int): the number of classes.
    ///     sample_weight (Variable): ``[batch, 1]``: a factor of the loss of each sample; ``None``: 1.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///     num_neg_samples (int): the classes that are drawn per sample; ``None``: 10.
    ///     sampler (str): the distribution they are drawn from: ``uniform``, ``log_uniform`` (frequent classes have
    ///         small numbers) or ``custom_dist``.
    ///     custom_dist (list): the probability of every class, for ``custom_dist``.
    ///     seed (int): the same seed draws the same classes in every run; 0: other ones in every run.
    ///     is_sparse (bool): the gradient of the weight holds only the rows of classes that occur.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     ValueError: ``sampler`` is unknown.
    ///     TypeError: ``custom_dist`` is missing for the sampler of that name.
    ///     IndexError: a label is no class (when the program runs).
    ///
    /// Example:
    ///     >>> x, label = fluid.data("x", [None, 8]), fluid.data("label", [None, 1], "int64")
    ///     >>> cost = fluid.layers.nce(x, label, num_total_classes=1000, num_neg_samples=5, is_sparse=True)
    ///     >>> cost.shape
    ///     (-1, 1)
    "loss.nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None, \
     num_neg_samples=None, name=None, sampler='uniform', custom_dist=None, seed=0, is_sparse=False)"
        => |net, a| net.nce(&a.var("input")?, &a.var("label")?, Nce::classes(a.usize("num_total_classes")?)
        .sample_weight(a.opt_var("sample_weight")?).param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?)
        .num_neg_samples(a.opt("num_neg_samples", Args::i32)?.unwrap_or(10)).sampler(sampler(a)?).seed(a.i32("seed")?)
        .is_sparse(a.bool("is_sparse")?));

    /// Computes the hierarchical sigmoid of a class: a cheap loss for very many classes, which are the leaves of a
    /// binary tree.
    ///
    /// A class costs the sum of ``log(1 + exp(s)) - bit * s`` over the inner nodes on its path, with
    /// ``s = input . W[node] + b[node]`` and ``bit`` the direction of the path: about ``log2(num_classes)`` products
    /// instead of ``num_classes``. Without ``is_custom`` the tree is the complete one, and the weight is a parameter
    /// ``[num_classes - 1, width]``.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, width]``: features.
    ///     label (Variable): int64, ``[batch, 1]``: the class of each sample.
    ///     num_classes (int): the number of classes, at least 2; of a custom tree the number of its inner nodes.
    ///     param_attr (ParamAttr): name, initializer, regularizer and learning rate of the weight; ``None``: Xavier's
    ///         initializer.
    ///     bias_attr (ParamAttr): the same of the bias; ``None``: zeros; ``False``: no bias.
    ///     path_table (Variable): int64, ``[batch, levels]``: the inner nodes on the path of each label, then -1; for a
    ///         custom tree.
    ///     path_code (Variable): int64, ``[batch, levels]``: the direction at each of these nodes, 0 or 1, then -1; for
    ///         a custom tree.
    ///     is_custom (bool): the tree is that of ``path_table`` and ``path_code``.
    ///     is_sparse (bool): the gradient of the weight holds only the rows of nodes that occur; only for a custom
    ///         tree.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     ValueError: there are fewer than 2 classes.
    ///     IndexError: a label is no class (when the program runs).
    ///
    /// Example:
    ///     >>> x, label = fluid.data("x", [None, 8]), fluid.data("label", [None, 1], "int64")
    ///     >>> fluid.layers.hsigmoid(x, label, num_classes=1000).shape
    ///     (-1, 1)
    "loss.hsigmoid(input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None, \
     path_code=None, is_custom=False, is_sparse=False)"
        => |net, a| net.hsigmoid(&a.var("input")?, &a.var("label")?, Hsigmoid::classes(a.usize("num_classes")?)
        .param_attr(a.param("param_attr")?).bias_attr(a.param("bias_attr")?)
        .path(both(a, ["path_table", "path_code"], "is_custom")?).is_sparse(a.bool("is_sparse")?));

    /// Computes the cross entropy of a softmax over the true classes and ``num_samples`` randomly drawn ones.
    ///
    /// It approximates ``softmax_with_cross_entropy`` for very many classes. ``log(P(class))`` is subtracted from every
    /// logit, because frequent classes are drawn more often.
    ///
    /// Args:
    ///     logits (Variable): float32 or float64, ``[batch, classes]``: arguments of the softmax.
    ///     label (Variable): int64, ``[batch, num_true]``: the true classes.
    ///     num_samples (int): the number of different classes that are drawn, the same ones for all samples; less than
    ///         ``classes``.
    ///     num_true (int): the true classes of a sample.
    ///     remove_accidental_hits (bool): drawn classes that are true ones do not count.
    ///     use_customized_samples (bool): take ``customized_samples`` and ``customized_probabilities`` instead of
    ///         drawing.
    ///     customized_samples (Variable): int64, ``[batch, num_true + num_samples]``: the true classes, then the
    ///         others.
    ///     customized_probabilities (Variable): their probabilities, the shape of ``customized_samples``.
    ///     seed (int): the same seed draws the same classes in every run; 0: other ones in every run.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     ValueError: there are fewer classes than ``num_samples`` (when the program runs).
    ///
    /// Example:
    ///     >>> logits, label = fluid.data("logits", [None, 1000]), fluid.data("label", [None, 1], "int64")
    ///     >>> fluid.layers.sampled_softmax_with_cross_entropy(logits, label, num_samples=25).shape
    ///     (-1, 1)
    "loss.sampled_softmax_with_cross_entropy(logits, label, num_samples, num_true=1, \
     remove_accidental_hits=True, use_customized_samples=False, customized_samples=None, \
     customized_probabilities=None, seed=0)"
        => |net, a| net.sampled_softmax_with_cross_entropy(&a.var("logits")?,
        &a.var("label")?, SampledSoftmax::samples(a.i32("num_samples")?).num_true(a.i32("num_true")?)
        .remove_accidental_hits(a.bool("remove_accidental_hits")?)
        .customized(both(a, ["customized_samples", "customized_probabilities"], "use_customized_samples")?).seed(a.i32("seed")?));

    /// Computes half the squared distance of each feature to the centre of its class:
    /// ``0.5 * sum((input - centers[label]) ** 2)``.
    ///
    /// The centres are a parameter ``[num_classes, width]`` that no optimizer changes: every run moves the centre of a
    /// class by ``alpha * sum(input - center) / (1 + number of its samples)``. Together with a softmax loss it makes
    /// features of one class similar.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, width]``: features.
    ///     label (Variable): int64, ``[batch, 1]``: the class of each sample.
    ///     num_classes (int): the number of classes.
    ///     alpha (float): how far the centres move.
    ///     param_attr (ParamAttr): name and initializer of the centres; ``None``: Xavier's initializer.
    ///     update_center (bool): move the centres.
    ///
    /// Returns:
    ///     Variable: ``[batch, 1]``.
    ///
    /// Raises:
    ///     IndexError: a label is no class (when the program runs).
    ///
    /// Example:
    ///     >>> feature = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0]], "int64"))
    ///     >>> zeros = fluid.initializer.Constant(0.0)
    ///     >>> loss = fluid.layers.center_loss(feature, label, num_classes=3, alpha=0.1, param_attr=zeros)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[loss])[0].tolist()
    ///     [[2.5]]
    ///     >>> print(exe.run(fetch_list=[loss])[0].round(4))
    ///     [[2.2562]]
    "loss.center_loss(input, label, num_classes, alpha, param_attr, update_center=True)"
        => |net, a| net.center_loss(&a.var("input")?, &a.var("label")?, (a.usize("num_classes")?, a.f64("alpha")?),
        a.param("param_attr")?, a.bool("update_center")?);
}

/// Two variables that go together, and with a flag.
fn both(a: &Args, [first, second]: [&str; 2], flag: &str) -> Result<Option<(VarRef, VarRef)>> {
    let vars = a.opt_var(first)?.zip(a.opt_var(second)?);
    if a.bool(flag)? != vars.is_some() {
        fail!(Kind::Argument, "{first} and {second} go with {flag}=True, and only with it");
    }
    Ok(vars)
}

fn sampler(a: &Args) -> Result<Sampler> {
    match a.str("sampler")?.as_str() {
        "uniform" => Ok(Sampler::Uniform),
        "log_uniform" => Ok(Sampler::LogUniform),
        "custom_dist" => Ok(Sampler::CustomDist(a.f64s("custom_dist")?)),
        other => {
            let what = format!("`nce` samples by 'uniform', 'log_uniform' or 'custom_dist', not {other:?}");
            Err(Error::new(Kind::Argument, what))
        }
    }
}
