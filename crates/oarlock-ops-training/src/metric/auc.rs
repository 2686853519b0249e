//! `auc`: the area under the ROC curve, over all batches so far or a window of the last ones, of the samples of all replicas.

use oarlock_ir::{Dim, Error, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{fail, kernel, sig, slots};
use oarlock_tensor::{DType, Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Auc];

struct Auc;

impl OpDef for Auc {
    sig! {
        "auc": "AUC = area under the curve of true positives over false positives, by histograms of Predict";
        in "Predict": "probabilities [n, 2] or [n, 1]; the last column counts";
        in "Label": "[n, 1] i64; positive if above 0";
        in "StatPos": "histogram of positive samples, i64";
        in "StatNeg": "histogram of negative samples, i64";
        out "AUC": "[1] f64";
        out "StatPosOut": "`StatPos` with this batch";
        out "StatNegOut": "`StatNeg` with this batch";
        attr "curve" = "ROC", "ROC; the area is that of ROC for PR, too";
        attr "num_thresholds" = 8191, "buckets of a histogram, less one";
        attr "slide_steps" = 1, "batches in the window; 0 for all batches so far";
        traits Traits::GRADIENT_FREE.in_place(&[("StatPos", "StatPosOut"), ("StatNeg", "StatNegOut")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.float("Predict")?;
        cx.integer("Label")?;
        let buckets = cx.attrs().count("num_thresholds")? + 1;
        let steps = cx.attrs().count("slide_steps")?;
        let shape = match steps {
            0 => vec![Dim::Is(1), Dim::Is(buckets)],
            _ => vec![Dim::Is((1 + steps) * buckets + 1)],
        };
        cx.set("AUC", VarType::tensor(DType::F64, vec![Dim::Is(1)]));
        cx.set("StatPosOut", VarType::tensor(DType::I64, shape.clone()));
        cx.set("StatNegOut", VarType::tensor(DType::I64, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = Inputs::new(p)?;
        let window = Window { buckets: p.attrs().count("num_thresholds")? + 1, steps: p.attrs().count("slide_steps")? };
        let (auc, dtype) = (p.output("AUC")?, p.float("Predict")?);
        if !matches!(p.attrs().str("curve")?, "ROC" | "PR") {
            fail!(Kind::Argument, "`curve` of `auc` must be `ROC` or `PR`");
        }
        oarlock_ir::by_float!(dtype, T => kernel(move |io| {
            let area = run::<T>(io, &inputs, window)?;
            let mut t = io.out_sized(auc, DType::F64, Dims::from([1]))?;
            io.data_mut::<f64>(auc, &mut t)?[0] = area;
            Ok(())
        }))
    }
}

slots! {
    struct Inputs(p) {
        predict: input "Predict",
        label: input "Label",
        /// Positive and negative.
        stats: [(In, Out); 2] = [(p.input("StatPos")?, p.output("StatPosOut")?), (p.input("StatNeg")?, p.output("StatNegOut")?)],
    }
}

/// How a histogram tensor is laid out: one histogram; or one per step of the window, their sum, and a count of steps.
#[derive(Clone, Copy)]
struct Window {
    buckets: usize,
    steps: usize,
}

impl Window {
    fn len(self) -> usize {
        if self.steps == 0 { self.buckets } else { (1 + self.steps) * self.buckets + 1 }
    }

    /// The sizes of a histogram.
    fn dims(self) -> Dims {
        if self.steps == 0 { Dims::from([1, self.buckets]) } else { Dims::from([self.len()]) }
    }

    /// Brings a histogram to its type and sizes. Without a window it may be longer, as a startup program of Fluid makes it; and scripts
    /// clear it with zeros of any type.
    fn bring(self, io: &Io<'_>, input: In, stat: &mut Tensor) -> Result<()> {
        let (len, found) = (self.len(), stat.numel());
        if found != len && (self.steps > 0 || found < len) {
            let what = format_args!("has {found} elements, but `num_thresholds` and `slide_steps` ask for {len}");
            return Err(io.error(Kind::Shape, input, what));
        }
        if stat.dtype() != DType::I64 || found != len {
            let mut counts = match stat.dtype() {
                DType::F32 => io.data::<f32>(input, stat)?.iter().map(|&c| c as i64).collect(),
                DType::F64 => io.data::<f64>(input, stat)?.iter().map(|&c| c as i64).collect(),
                DType::I32 => io.data::<i32>(input, stat)?.iter().map(|&c| c.into()).collect(),
                _ => io.data::<i64>(input, stat)?.to_vec(),
            };
            counts.truncate(len);
            *stat = Tensor::from_slice(self.dims(), &counts).map_err(|e| Error::internal(e.to_string()))?;
        }
        Ok(())
    }

    /// Opens the place of this batch in the window, whose oldest batch leaves, and returns where it starts.
    fn open(self, stat: &mut [i64]) -> usize {
        if self.steps == 0 {
            return 0;
        }
        let (windows, count) = stat.split_at_mut(self.len() - 1);
        let (steps, sum) = windows.split_at_mut(self.steps * self.buckets);
        let start = count[0].rem_euclid(self.steps as i64) as usize * self.buckets;
        for (old, sum) in steps[start..][..self.buckets].iter_mut().zip(sum) {
            *sum -= std::mem::take(old);
        }
        start
    }

    /// Adds the batch that was opened at `start` to the sum, and returns the sum.
    fn close(self, stat: &mut [i64], start: usize) -> &[i64] {
        if self.steps == 0 {
            return stat;
        }
        let (windows, count) = stat.split_at_mut(self.len() - 1);
        let (steps, sum) = windows.split_at_mut(self.steps * self.buckets);
        for (sum, new) in sum.iter_mut().zip(&steps[start..][..self.buckets]) {
            *sum += new;
        }
        count[0] += 1;
        sum
    }
}

fn run<T: oarlock_tensor::Float>(io: &Io<'_>, inputs: &Inputs, window: Window) -> Result<f64> {
    let (predict_tensor, label_tensor) = (io.dense(inputs.predict)?, io.dense(inputs.label)?);
    let (predict, labels) =
        (io.data::<T>(inputs.predict, &predict_tensor)?, io.data::<i64>(inputs.label, &label_tensor)?);
    let (rows, width) = predict_tensor.dims().matrix(1);
    if labels.len() != rows || width == 0 {
        let what = format_args!("has {} labels for {rows} rows of {width} probabilities", labels.len());
        return Err(io.error(Kind::Shape, inputs.label, what));
    }
    let last = || predict.chunks_exact(width).map(|row| row[width - 1].f64());
    if let Some(row) = last().position(|p| !(0.0..=1.0).contains(&p)) {
        let what = format_args!("has {} in row {row}, which is no probability", predict[(row + 1) * width - 1].f64());
        return Err(io.error(Kind::Argument, inputs.predict, what));
    }
    let [pos, neg] = inputs.stats;
    let (mut pos_tensor, mut neg_tensor) = (io.update(pos.0, pos.1)?, io.update(neg.0, neg.1)?);
    for ((input, _), t) in inputs.stats.iter().zip([&mut pos_tensor, &mut neg_tensor]) {
        window.bring(io, *input, t)?;
    }
    let (pos, neg) = (io.data_mut::<i64>(pos.1, &mut pos_tensor)?, io.data_mut::<i64>(neg.1, &mut neg_tensor)?);
    let (pos_start, neg_start) = (window.open(pos), window.open(neg));
    // In the element type of `Predict`, where it decides the bucket.
    let bucket = |p: f64| (T::of(p) * T::of((window.buckets - 1) as f64)).f64() as usize;
    let samples = last().zip(labels).map(|(p, &label)| (bucket(p), label > 0));
    match io.runtime().replica() {
        Some(replica) => {
            let mut counts = vec![0.0; 2 * window.buckets];
            samples
                .for_each(|(bucket, positive)| counts[if positive { bucket } else { window.buckets + bucket }] += 1.0);
            // Every replica counts the samples of all, so that what is kept of one is true of all.
            replica.sum(&mut counts)?;
            let (of_pos, of_neg) = counts.split_at(window.buckets);
            for (stat, counts) in [(&mut pos[pos_start..], of_pos), (&mut neg[neg_start..], of_neg)] {
                stat.iter_mut().zip(counts).for_each(|(stat, count)| *stat += *count as i64);
            }
        }
        None => samples.for_each(|(bucket, positive)| {
            let stat = if positive { &mut pos[pos_start + bucket] } else { &mut neg[neg_start + bucket] };
            *stat += 1;
        }),
    }
    Ok(area(window.close(pos, pos_start), window.close(neg, neg_start)))
}

/// The area under the curve, by trapezoids from the highest threshold down.
fn area(pos: &[i64], neg: &[i64]) -> f64 {
    let (mut total_pos, mut total_neg, mut area) = (0.0, 0.0, 0.0);
    for (&pos, &neg) in pos.iter().zip(neg).rev() {
        area += neg as f64 * (2.0 * total_pos + pos as f64) / 2.0;
        total_pos += pos as f64;
        total_neg += neg as f64;
    }
    if total_pos > 0.0 && total_neg > 0.0 { area / total_pos / total_neg } else { area }
}

#[test]
fn all_batches() {
    use crate::testing::{check, tensor, tensor_of};
    let case = |p: [f32; 4]| {
        check("auc")
            .attr("num_thresholds", 3)
            .attr("slide_steps", 0)
            .input("Predict", tensor([4, 1], &p))
            .input("Label", tensor_of([4, 1], &[0i64, 1, 0, 1]))
            .input("StatPos", tensor_of([1, 4], &[0i64, 0, 0, 1]))
            .input("StatNeg", tensor_of([1, 4], &[0i64; 4]))
    };
    case([0.1, 0.4, 0.7, 1.0])
        .output("AUC", tensor_of([1], &[5.0f64 / 6.0]))
        .output("StatPosOut", tensor_of([1, 4], &[0i64, 1, 0, 2]))
        .output("StatNegOut", tensor_of([1, 4], &[1i64, 0, 1, 0]))
        .run();
    let e = case([0.1, 0.4, 1.5, 1.0]).any_output("AUC").any_output("StatPosOut").any_output("StatNegOut").error();
    assert!(e.contains("`auc`: input `Predict` = `Predict.0` has 1.5 in row 2, which is no probability"), "{e}");
}

#[test]
fn without_a_window_a_histogram_may_be_longer() {
    use crate::testing::{check, tensor, tensor_of};
    let case = |len: usize| {
        check("auc")
            .attr("num_thresholds", 1)
            .attr("slide_steps", 0)
            .input("Predict", tensor([2, 1], &[0.0, 1.0]))
            .input("Label", tensor_of([2, 1], &[0i64, 1]))
            .input("StatPos", tensor_of([len], &vec![0i64; len]))
            .input("StatNeg", tensor_of([len], &vec![0i64; len]))
    };
    case(3)
        .output("AUC", tensor_of([1], &[1.0f64]))
        .output("StatPosOut", tensor_of([1, 2], &[0i64, 1]))
        .output("StatNegOut", tensor_of([1, 2], &[1i64, 0]))
        .run();
    let e = case(1).any_output("AUC").any_output("StatPosOut").any_output("StatNegOut").error();
    assert!(e.contains("has 1 elements, but `num_thresholds` and `slide_steps` ask for 2"), "{e}");
}

#[test]
fn a_histogram_may_be_cleared_with_floats() {
    use crate::testing::{check, tensor, tensor_of};
    check("auc")
        .attr("num_thresholds", 1)
        .attr("slide_steps", 0)
        .input("Predict", tensor([2, 1], &[0.0, 1.0]))
        .input("Label", tensor_of([2, 1], &[0i64, 1]))
        .input("StatPos", tensor([1, 2], &[0.0; 2]))
        .input("StatNeg", tensor([1, 2], &[0.0; 2]))
        .output("AUC", tensor_of([1], &[1.0f64]))
        .output("StatPosOut", tensor_of([1, 2], &[0i64, 1]))
        .output("StatNegOut", tensor_of([1, 2], &[1i64, 0]))
        .run();
}

#[test]
fn a_window_forgets() {
    use crate::testing::{check, tensor, tensor_of};
    // A window of one batch: the old batch leaves the sum.
    check("auc")
        .attr("num_thresholds", 1)
        .input("Predict", tensor([2, 1], &[0.0, 1.0]))
        .input("Label", tensor_of([2, 1], &[0i64, 1]))
        .input("StatPos", tensor_of([5], &[3i64, 0, 3, 0, 1]))
        .input("StatNeg", tensor_of([5], &[0i64, 2, 0, 2, 1]))
        .output("AUC", tensor_of([1], &[1.0f64]))
        .output("StatPosOut", tensor_of([5], &[0i64, 1, 0, 1, 2]))
        .output("StatNegOut", tensor_of([5], &[1i64, 0, 1, 0, 2]))
        .run();
}
