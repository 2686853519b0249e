//! `fluid.metrics`: measures of a model's quality that add up what a program fetches, batch by batch.
//!
//! They compute on values, not in programs; layers that measure inside a program are in [`layers`](crate::layers).

use oarlock_ir::{Error, Kind, Result, fail};
use oarlock_tensor::Tensor;

/// A measure of predictions and labels.
pub trait Metric {
    /// Its name.
    fn name(&self) -> &str;

    /// Adds a batch: predictions and labels, one row each per example.
    fn update(&mut self, preds: &Tensor, labels: &Tensor) -> Result<()>;

    /// The measure of all batches since the beginning or the last [`reset`](Metric::reset).
    fn eval(&self) -> f64;

    /// Forgets all batches.
    fn reset(&mut self);
}

/// Predictions and labels must have one row per example; calls `each` with the first prediction of a row and its label.
fn each_row(preds: &Tensor, labels: &Tensor, mut each: impl FnMut(&[f64], f64) -> Result<()>) -> Result<()> {
    let rows = labels.rows();
    if preds.rows() != rows || labels.numel() != rows || rows > 0 && preds.numel() == 0 {
        fail!(Kind::Shape, "predictions {} and labels {} need one row per example", preds.dims(), labels.dims());
    }
    let (preds, labels) = (preds.to_f64(), labels.to_f64());
    let width = preds.len() / rows.max(1);
    preds.chunks_exact(width.max(1)).zip(labels).try_for_each(|(preds, label)| each(preds, label))
}

/// A share; 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// `CompositeMetric(name=None)`: several measures of the same predictions.
pub struct CompositeMetric {
    name: String,
    metrics: Vec<Box<dyn Metric>>,
}

impl CompositeMetric {
    /// None yet.
    pub fn new() -> CompositeMetric {
        CompositeMetric { name: "CompositeMetric".into(), metrics: Vec::new() }
    }

    /// Adds a measure.
    pub fn add_metric(&mut self, metric: impl Metric + 'static) {
        self.metrics.push(Box::new(metric));
    }

    /// Adds a batch to each.
    pub fn update(&mut self, preds: &Tensor, labels: &Tensor) -> Result<()> {
        self.metrics.iter_mut().try_for_each(|m| m.update(preds, labels))
    }

    /// The results of all metrics.
    pub fn eval(&self) -> Vec<f64> {
        self.metrics.iter().map(|m| m.eval()).collect()
    }

    /// Each forgets all batches.
    pub fn reset(&mut self) {
        self.metrics.iter_mut().for_each(|m| m.reset());
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Default for CompositeMetric {
    fn default() -> CompositeMetric {
        CompositeMetric::new()
    }
}

/// `Precision(name=None)`: of the examples predicted as 1, how many are 1. Predictions are rounded, halves to the even number.
#[derive(Debug, Clone, Default)]
pub struct Precision {
    /// True positives.
    pub tp: u64,
    /// False positives.
    pub fp: u64,
}

impl Precision {
    /// Of nothing yet.
    pub fn new() -> Precision {
        Precision::default()
    }
}

impl Metric for Precision {
    fn name(&self) -> &str {
        "Precision"
    }

    fn update(&mut self, preds: &Tensor, labels: &Tensor) -> Result<()> {
        each_row(preds, labels, |pred, label| {
            if pred[0].round_ties_even() == 1.0 {
                *(if label == 1.0 { &mut self.tp } else { &mut self.fp }) += 1;
            }
            Ok(())
        })
    }

    fn eval(&self) -> f64 {
        share(self.tp as f64, (self.tp + self.fp) as f64)
    }

    fn reset(&mut self) {
        *self = Precision::new();
    }
}

/// `Recall(name=None)`: of the examples that are 1, how many are predicted so. Predictions are rounded, halves to the even number.
#[derive(Debug, Clone, Default)]
pub struct Recall {
    /// True positives.
    pub tp: u64,
    /// False negatives.
    pub r#fn: u64,
}

impl Recall {
    /// Of nothing yet.
    pub fn new() -> Recall {
        Recall::default()
    }
}

impl Metric for Recall {
    fn name(&self) -> &str {
        "Recall"
    }

    fn update(&mut self, preds: &Tensor, labels: &Tensor) -> Result<()> {
        each_row(preds, labels, |pred, label| {
            if label == 1.0 {
                *(if pred[0].round_ties_even() == 1.0 { &mut self.tp } else { &mut self.r#fn }) += 1;
            }
            Ok(())
        })
    }

    fn eval(&self) -> f64 {
        share(self.tp as f64, (self.tp + self.r#fn) as f64)
    }

    fn reset(&mut self) {
        *self = Recall::new();
    }
}

/// The area under the ROC curve, from how many positive and negative examples fell into each bucket of predictions, the smallest
/// predictions first. Counts of several processes can be added up before. 0 without positives or negatives.
pub fn area_under_curve(positive: &[f64], negative: &[f64]) -> f64 {
    let (mut pos, mut neg, mut area) = (0.0, 0.0, 0.0);
    for (p, n) in positive.iter().zip(negative).rev() {
        area += n * (pos + pos + p) / 2.0;
        pos += p;
        neg += n;
    }
    if pos > 0.0 && neg > 0.0 { area / pos / neg } else { 0.0 }
}

/// `Auc(name, curve='ROC', num_thresholds=4095)`: the area under the curve of the second column of predictions. Like Fluid's it
/// knows the ROC curve only, whatever `curve` it is given there.
#[derive(Debug, Clone)]
pub struct Auc {
    name: String,
    positive: Vec<f64>,
    negative: Vec<f64>,
}

impl Auc {
    /// With this number of thresholds; Fluid's default is 4095.
    pub fn new(name: &str, num_thresholds: usize) -> Auc {
        Auc { name: name.into(), positive: vec![0.0; num_thresholds + 1], negative: vec![0.0; num_thresholds + 1] }
    }
}

impl Metric for Auc {
    fn name(&self) -> &str {
        &self.name
    }

    fn update(&mut self, preds: &Tensor, labels: &Tensor) -> Result<()> {
        let thresholds = self.positive.len() - 1;
        each_row(preds, labels, |pred, label| {
            let &[_, value, ..] = pred else {
                fail!(Kind::Shape, "`Auc` needs the probabilities of both classes, but has {} per example", pred.len());
            };
            if !(0.0..=1.0).contains(&value) {
                fail!(Kind::Range, "`Auc` needs probabilities, but has {value}");
            }
            let bucket = (value * thresholds as f64) as usize;
            *(if label != 0.0 { &mut self.positive } else { &mut self.negative }).get_mut(bucket).ok_or_else(
                || {
                    // A probability of at most 1 is in one of the buckets.
                    Error::internal("a bucket beyond the last threshold")
                },
            )? += 1.0;
            Ok(())
        })
    }

    fn eval(&self) -> f64 {
        area_under_curve(&self.positive, &self.negative)
    }

    fn reset(&mut self) {
        self.positive.fill(0.0);
        self.negative.fill(0.0);
    }
}

/// `Accuracy(name=None)`: the mean of the batches' accuracies, by their weights.
#[derive(Debug, Clone, Default)]
pub struct Accuracy {
    /// The sum of accuracies times weights.
    pub value: f64,
    /// The sum of weights.
    pub weight: f64,
}

impl Accuracy {
    /// Of nothing yet.
    pub fn new() -> Accuracy {
        Accuracy::default()
    }

    /// Adds the accuracy of a batch; the weight is its size.
    pub fn update(&mut self, value: f64, weight: f64) -> Result<()> {
        if weight < 0.0 {
            fail!(Kind::Argument, "the weight of an accuracy must not be negative, but it is {weight}");
        }
        self.value += value * weight;
        self.weight += weight;
        Ok(())
    }

    /// The mean.
    pub fn eval(&self) -> Result<f64> {
        if self.weight == 0.0 {
            return Err(Error::new(Kind::Missing, "`Accuracy` has seen no data")
                .help("update it with fetched accuracies first"));
        }
        Ok(self.value / self.weight)
    }

    /// Forgets all batches.
    pub fn reset(&mut self) {
        *self = Accuracy::new();
    }
}

/// `ChunkEvaluator(name=None)`: precision, recall and F1 over batches, from the counts of `chunk_eval`.
#[derive(Debug, Clone, Default)]
pub struct ChunkEvaluator {
    /// Chunks found.
    pub num_infer_chunks: i64,
    /// True chunks.
    pub num_label_chunks: i64,
    /// Chunks found that are true.
    pub num_correct_chunks: i64,
}

impl ChunkEvaluator {
    /// Of nothing yet.
    pub fn new() -> ChunkEvaluator {
        ChunkEvaluator::default()
    }

    /// Adds the counts of a batch.
    pub fn update(&mut self, num_infer_chunks: i64, num_label_chunks: i64, num_correct_chunks: i64) {
        self.num_infer_chunks += num_infer_chunks;
        self.num_label_chunks += num_label_chunks;
        self.num_correct_chunks += num_correct_chunks;
    }

    /// Precision, recall and F1.
    pub fn eval(&self) -> (f64, f64, f64) {
        let correct = self.num_correct_chunks as f64;
        let precision = share(correct, self.num_infer_chunks as f64);
        let recall = share(correct, self.num_label_chunks as f64);
        (precision, recall, share(2.0 * precision * recall, precision + recall))
    }

    /// Forgets all batches.
    pub fn reset(&mut self) {
        *self = ChunkEvaluator::new();
    }
}

/// `EditDistance(name)`: the mean of edit distances, and the share of sequences that are not right.
#[derive(Debug, Clone, Default)]
pub struct EditDistance {
    /// The sum of distances.
    pub total_distance: f64,
    /// How many sequences there were.
    pub seq_num: u64,
    /// How many of them were not right.
    pub instance_error: u64,
}

impl EditDistance {
    /// Of nothing yet.
    pub fn new() -> EditDistance {
        EditDistance::default()
    }

    /// Adds what the layer `edit_distance` returned for a batch.
    pub fn update(&mut self, distances: &Tensor, seq_num: u64) -> Result<()> {
        let distances = distances.to_f64();
        let right = distances.iter().filter(|d| **d == 0.0).count() as u64;
        let Some(wrong) = seq_num.checked_sub(right) else {
            fail!(Kind::Argument, "{right} distances are 0, but there are {seq_num} sequences");
        };
        self.seq_num += seq_num;
        self.instance_error += wrong;
        self.total_distance += distances.iter().sum::<f64>();
        Ok(())
    }

    /// The mean distance, and the share of sequences that are not right.
    pub fn eval(&self) -> Result<(f64, f64)> {
        if self.seq_num == 0 {
            return Err(Error::new(Kind::Missing, "`EditDistance` has seen no data")
                .help("update it with fetched distances first"));
        }
        let n = self.seq_num as f64;
        Ok((self.total_distance / n, self.instance_error as f64 / n))
    }

    /// Forgets all batches.
    pub fn reset(&mut self) {
        *self = EditDistance::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f32]) -> Tensor {
        Tensor::from_slice([values.len(), 1], values).expect("as many as its sizes say")
    }

    /// The values that PaddlePaddle 1.8.5 gives.
    #[test]
    fn precision_and_recall() {
        let preds = column(&[0.1, 0.7, 0.8, 0.9, 0.2, 0.2, 0.3, 0.5, 0.8, 0.6]);
        let labels = column(&[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mut both = CompositeMetric::new();
        both.add_metric(Precision::new());
        both.add_metric(Recall::new());
        both.update(&preds, &labels).expect("one row per example");
        assert_eq!(both.eval(), [3.0 / 5.0, 3.0 / 4.0]);
        both.reset();
        assert_eq!(both.eval(), [0.0, 0.0]);
        let e = both.update(&preds, &column(&[1.0])).expect_err("too few labels").to_string();
        assert!(e.contains("predictions [10, 1] and labels [1, 1] need one row per example"), "{e}");
    }

    #[test]
    fn accuracy() {
        let mut m = Accuracy::new();
        assert!(m.eval().expect_err("no data").to_string().contains("`Accuracy` has seen no data"));
        m.update(0.01, 6.0).expect("a weight");
        m.update(0.04, 12.0).expect("a weight");
        assert!((m.eval().expect("data") - 0.03).abs() < 1e-15);
        assert!(m.update(0.5, -1.0).is_err());
    }

    #[test]
    fn chunks() {
        let mut m = ChunkEvaluator::new();
        m.update(10, 9, 8);
        m.update(3, 10, 3);
        let (precision, recall, f1) = m.eval();
        assert_eq!((precision, recall), (11.0 / 13.0, 11.0 / 19.0));
        assert!((f1 - 0.6875).abs() < 1e-15);
        m.reset();
        assert_eq!(m.eval(), (0.0, 0.0, 0.0));
    }

    #[test]
    fn edit_distance() {
        let mut m = EditDistance::new();
        m.update(&column(&[0.5, 0.0, 1.0]), 3).expect("three sequences");
        m.update(&column(&[0.0]), 1).expect("one sequence");
        assert_eq!(m.eval().expect("data"), (0.375, 0.5));
    }

    /// The value that PaddlePaddle 1.8.5 gives.
    #[test]
    fn auc() {
        let scores = [0.1f32, 0.4, 0.35, 0.8, 0.35];
        let preds: Vec<f32> = scores.iter().flat_map(|&p| [1.0 - p, p]).collect();
        let preds = Tensor::from_slice([5, 2], &preds).expect("as many as its sizes say");
        let labels = Tensor::from_slice([5, 1], &[0i64, 0, 1, 1, 1]).expect("as many as its sizes say");
        let mut m = Auc::new("auc", 4095);
        m.update(&preds, &labels).expect("two columns");
        assert!((m.eval() - 2.0 / 3.0).abs() < 1e-12, "{}", m.eval());
        assert!(m.update(&column(&[0.5]), &column(&[1.0])).is_err());
    }
}
