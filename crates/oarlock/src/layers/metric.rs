//! Measures of a model's quality, computed by the program.

use oarlock_ir::{Op, Result};
use oarlock_tensor::DType;

use super::GlobalVar;
use crate::declare::{Made, declare};
use crate::options::options;
use crate::{Net, VarRef};

options! {
    /// `auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1)`
    Auc::new() {
        /// `ROC` or `PR`.
        curve(into): String = "ROC".to_string(),
        /// Predictions are counted in this number of intervals.
        num_thresholds: i32 = 4095,
        /// Steps of which the batch value is made; 0 for all.
        slide_steps: i32 = 1,
    }
}

/// The results of [`Net::auc`].
#[derive(Debug, Clone)]
pub struct AucVars {
    /// Over all steps so far.
    pub auc: VarRef,
    /// Over the last steps.
    pub batch_auc: VarRef,
    /// The counters: positive and negative of the last steps, positive and negative of all steps.
    pub stats: [VarRef; 4],
}

/// Where [`Net::accuracy_with`] leaves its counts; new variables where nothing is said.
#[derive(Debug, Default, Clone)]
pub struct Hits {
    /// How many rows are correct.
    pub correct: Option<VarRef>,
    /// How many rows there are.
    pub total: Option<VarRef>,
}

impl Net {
    /// `accuracy(input, label, k=1)`: how often the label is among the `k` largest.
    #[track_caller]
    pub fn accuracy(&mut self, input: &VarRef, label: &VarRef, k: i32) -> Result<VarRef> {
        self.accuracy_with(input, label, k, Hits::default())
    }

    /// `accuracy` whose counts go into variables that exist already.
    #[track_caller]
    pub fn accuracy_with(&mut self, input: &VarRef, label: &VarRef, k: i32, hits: Hits) -> Result<VarRef> {
        let mut layer = self.layer("accuracy");
        let (values, indices) = layer.topk(input, k)?;
        let out = layer.temp(DType::F32);
        let correct = hits.correct.unwrap_or_else(|| layer.temp(DType::I32));
        let total = hits.total.unwrap_or_else(|| layer.temp(DType::I32));
        let op = Op::new("accuracy")
            .input("Out", [&values])
            .input("Indices", [&indices])
            .input("Label", [label])
            .output("Accuracy", [&out])
            .output("Correct", [&correct])
            .output("Total", [&total]);
        layer.append_op(op)?;
        Ok(out)
    }

    /// The area under the curve of predictions `[batch, 2]`; counters live in the scope.
    #[track_caller]
    pub fn auc(&mut self, input: &VarRef, label: &VarRef, options: Auc) -> Result<AucVars> {
        let mut layer = self.layer("auc");
        let (auc, batch_auc) = (layer.temp(DType::F64), layer.temp(DType::F64));
        let buckets = i64::from(options.num_thresholds) + 1;
        let steps = i64::from(options.slide_steps);
        // The counts of each of the last steps, their sum, and how many steps there were.
        let recent = if steps == 0 { vec![1, buckets] } else { vec![(1 + steps) * buckets + 1] };
        let mut stats = Vec::new();
        for shape in [recent.clone(), recent, vec![1, buckets], vec![1, buckets]] {
            stats.push(layer.create_global_var(GlobalVar::new(shape, 0.0, DType::I64).persistable(true))?);
        }
        let [recent_pos, recent_neg, pos, neg] = [0, 1, 2, 3].map(|i: usize| stats[i].clone());
        layer.auc_op(&batch_auc, input, label, [&recent_pos, &recent_neg], &options, options.slide_steps)?;
        layer.auc_op(&auc, input, label, [&pos, &neg], &options, 0)?;
        Ok(AucVars { auc, batch_auc, stats: [recent_pos, recent_neg, pos, neg] })
    }

    #[track_caller]
    fn auc_op(
        &mut self,
        out: &VarRef,
        input: &VarRef,
        label: &VarRef,
        [pos, neg]: [&VarRef; 2],
        options: &Auc,
        steps: i32,
    ) -> Result<()> {
        let op = Op::new("auc")
            .input("Predict", [input])
            .input("Label", [label])
            .input("StatPos", [pos])
            .input("StatNeg", [neg])
            .output("AUC", [out])
            .output("StatPosOut", [pos])
            .output("StatNegOut", [neg])
            .attr("curve", options.curve.as_str())
            .attr("num_thresholds", options.num_thresholds)
            .attr("slide_steps", steps);
        self.append_op(op)
    }

    /// `mean_iou(input, label, num_classes)`: mean over classes of intersection over union; also the wrong and the correct
    /// predictions of each class.
    #[track_caller]
    pub fn mean_iou(&mut self, input: &VarRef, label: &VarRef, num_classes: i32) -> Result<(VarRef, VarRef, VarRef)> {
        let mut layer = self.layer("mean_iou");
        let mean = layer.temp(DType::F32);
        let (wrong, correct) = (layer.temp(DType::I32), layer.temp(DType::I32));
        let op = Op::new("mean_iou").input("Predictions", [input]).input("Labels", [label]);
        let op = op.output("OutMeanIou", [&mean]).output("OutWrong", [&wrong]).output("OutCorrect", [&correct]);
        layer.append_op(op.attr("num_classes", num_classes))?;
        Ok((mean, wrong, correct))
    }
}

declare! {
    /// Computes the share of samples whose label is among the ``k`` classes with the highest predictions.
    ///
    /// It is the accuracy of one batch; ``fluid.metrics.Accuracy`` averages batches. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, classes]``: probabilities or logits.
    ///     label (Variable): int64, ``[batch, 1]``: the class of each sample.
    ///     k (int): how many of the highest classes count.
    ///     correct (Variable): an int Variable that receives the number of correct samples; ``None``: a new one.
    ///     total (Variable): an int Variable that receives the number of samples; ``None``: a new one.
    ///
    /// Returns:
    ///     Variable: float32 ``[1]``.
    ///
    /// Raises:
    ///     fluid.core.EnforceNotMet: ``k`` is larger than the number of classes.
    ///     TypeError: the labels are not int64 (when the program runs).
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([[0.9, 0.1], [0.8, 0.2]], "float32"))
    ///     >>> label = fluid.layers.assign(np.array([[0], [1]], "int64"))
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label)])[0].tolist()
    ///     [0.5]
    ///     >>> fluid.Executor().run(fetch_list=[fluid.layers.accuracy(predicted, label, k=2)])[0].tolist()
    ///     [1.0]
    "metric_op.accuracy(input, label, k=1, correct=None, total=None)"
        => |net, a| net.accuracy_with(&a.var("input")?, &a.var("label")?, a.i32("k")?,
        Hits { correct: a.opt_var("correct")?, total: a.opt_var("total")? });

    /// Computes the area under the ROC or precision-recall curve of a classifier with two classes.
    ///
    /// Predictions are counted in histograms, which stay in the scope between runs, so that the first result covers all
    /// batches since the startup program. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): float32 or float64, ``[batch, 2]``: probabilities; column 1 is the positive class.
    ///     label (Variable): int64, ``[batch, 1]``: 0 or 1.
    ///     curve (str): ``ROC`` or ``PR``.
    ///     num_thresholds (int): the cells of the histograms; more of them are more exact.
    ///     topk (int): accepted; Fluid does not use it either.
    ///     slide_steps (int): the number of last batches that the second result covers; 0: all.
    ///
    /// Returns:
    ///     tuple: (auc, batch_auc, histograms): float64 ``[1]`` of all batches, float64 ``[1]`` of the last
    ///         ``slide_steps`` batches, and a list of four int64 Variables: positives and negatives for ``batch_auc``,
    ///         then those for ``auc``.
    ///
    /// Raises:
    ///     ValueError: ``curve`` is neither ``ROC`` nor ``PR`` (when the program runs).
    ///
    /// Example:
    ///     >>> predicted, label = fluid.data("p", [None, 2]), fluid.data("label", [None, 1], "int64")
    ///     >>> auc, batch_auc, histograms = fluid.layers.auc(predicted, label)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> p = np.array([[0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [0.9, 0.1]], "float32")
    ///     >>> feed = {"p": p, "label": np.array([[1], [0], [1], [0]])}
    ///     >>> exe.run(feed=feed, fetch_list=[auc])[0].tolist()
    ///     [1.0]
    "metric_op.auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1)"
        => |net, a| net.auc(&a.var("input")?, &a.var("label")?, Auc::new().curve(a.str("curve")?)
        .num_thresholds(a.i32("num_thresholds")?).slide_steps(a.i32("slide_steps")?)).map(|made| {
        Made::Tuple(vec![made.auc.into(), made.batch_auc.into(), made.stats.to_vec().into()])
    });

    /// Computes the mean over classes of intersection over union, a measure of segmentation.
    ///
    /// The intersection of a class are the pixels where it is predicted and true, the union those where it is one of
    /// them. Classes that do not occur are left out. No gradient flows through it.
    ///
    /// Args:
    ///     input (Variable): int32 or int64, any shape: predicted classes.
    ///     label (Variable): the type and shape of ``input``: the true classes.
    ///     num_classes (int): the number of classes.
    ///
    /// Returns:
    ///     tuple: (mean_iou, wrong, correct): float32 ``[1]``, and two int32 ``[num_classes]``: the pixels of each
    ///         class that are predicted or true but not both, and those that are both.
    ///
    /// Raises:
    ///     IndexError: a class is not below ``num_classes`` (when the program runs).
    ///
    /// Example:
    ///     >>> predicted = fluid.layers.assign(np.array([0, 1, 1, 2], "int64"))
    ///     >>> label = fluid.layers.assign(np.array([0, 1, 2, 2], "int64"))
    ///     >>> found = fluid.layers.mean_iou(predicted, label, num_classes=3)
    ///     >>> print([a.round(4).tolist() for a in fluid.Executor().run(fetch_list=list(found))[1:]])
    ///     [[0, 1, 1], [1, 1, 1]]
    "nn.mean_iou(input, label, num_classes)"
        => |net, a| net.mean_iou(&a.var("input")?, &a.var("label")?, a.i32("num_classes")?);
}
