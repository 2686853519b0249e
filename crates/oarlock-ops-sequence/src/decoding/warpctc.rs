//! `warpctc`: connectionist temporal classification, the cost of label sequences without an alignment.

use std::ops::Range;

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Dims, Float, Tensor};

use crate::decoding::segments::{Segments, each_length};

pub(crate) const OPS: &[&dyn OpDef] = &[&WarpCtc, &WARP_CTC_GRAD];

struct WarpCtc;

impl OpDef for WarpCtc {
    sig! {
        "warpctc":
            "Loss = -ln(sum of the probabilities of all alignments that give the labels), where an alignment has one class per step, \
             gives its classes without repetitions and blanks, and softmax(Logits) are the probabilities of classes. \
             Where no alignment is long enough, Loss and its gradient are 0";
        in "Logits": "[rows, classes] with LoD, or [steps, batch, classes] with `LogitsLength`";
        in "Label": "i32 or i64: [rows, 1] with LoD, or [batch, labels] with `LabelLength`";
        in? "LogitsLength": "i64, steps of each sequence";
        in? "LabelLength": "i64, labels of each sequence";
        out "WarpCTCGrad": "[steps, batch, classes]: the derivative of each loss by the logits";
        out "Loss": "[batch, 1]";
        attr "blank" = 0, "the class that says nothing";
        attr "norm_by_times" = false, "divide the gradient by the number of steps";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let logits = cx.float("Logits")?;
        cx.integer("Label")?;
        let padded = cx.has("LogitsLength");
        if padded != cx.has("LabelLength") {
            return Err(cx.shape_error("needs both LogitsLength and LabelLength, or neither"));
        }
        let rank = if padded { 3 } else { 2 };
        if logits.shape.rank() != rank {
            let form = if padded { "[steps, batch, classes]" } else { "[rows, classes] with LoD" };
            return Err(cx.shape_error(format_args!("needs logits {form}, but has {}", cx.describe("Logits"))));
        }
        let classes = logits.shape[rank - 1];
        let (blank, known) = (cx.attrs().int("blank")?, classes.known());
        if blank < 0 || known.is_some_and(|n| blank >= n as i64) {
            return Err(
                cx.shape_error(format_args!("has blank {blank}, which is no class of {}", cx.describe("Logits")))
            );
        }
        let (steps, batch) = if padded { (logits.shape[0], logits.shape[1]) } else { (Dim::Any, Dim::Any) };
        cx.set("WarpCTCGrad", VarType::tensor(logits.dtype, vec![steps, batch, classes]));
        cx.set("Loss", VarType::tensor(logits.dtype, vec![batch, Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut forward = Forward::new(p)?;
        by_float!(p.float("Logits")?, T => kernel(move |io| forward.run::<T>(io)))
    }
}

/// The rows of one sequence: `first`, `first + stride`, ...
#[derive(Clone, Copy)]
struct Steps {
    first: usize,
    stride: usize,
    len: usize,
}

impl Steps {
    fn rows(self) -> impl Iterator<Item = usize> {
        (self.first..).step_by(self.stride).take(self.len)
    }
}

/// The input of scores, by sequence.
#[derive(Clone, Copy)]
struct Logits {
    input: In,
    length: Option<In>,
}

impl Logits {
    fn new(p: &Prepare<'_>) -> Result<Logits> {
        Ok(Logits { input: p.input("Logits")?, length: p.maybe_input("LogitsLength")? })
    }

    /// Where each sequence is, and the steps there is room for.
    fn find(&self, io: &Io<'_>, t: &Tensor, sequences: &mut Vec<Steps>) -> Result<usize> {
        sequences.clear();
        let Some(length) = self.length else {
            let offsets = lod_rows::offsets(io, self.input, t)?;
            sequences.extend(offsets.windows(2).map(|w| Steps { first: w[0], stride: 1, len: w[1] - w[0] }));
            return Ok(sequences.iter().map(|s| s.len).max().unwrap_or(0));
        };
        let &[room, batch, _] = &t.dims()[..] else {
            let what = format!("is {}, but with lengths it is [steps, batch, classes]", t.dims());
            return Err(io.error(Kind::Shape, self.input, what));
        };
        each_length(io, length, batch, room, |first, len| sequences.push(Steps { first, stride: batch, len }))?;
        Ok(room)
    }
}

slots! {
    struct Forward(p) {
        logits: Logits = Logits::new(p)?,
        labels: Segments = Segments { input: p.input("Label")?, length: p.maybe_input("LabelLength")? },
        loss: output "Loss",
        grad: output "WarpCTCGrad",
        blank: count "blank",
        sequences: Vec<Steps> = Vec::new(),
        label_rows: Vec<Range<usize>> = Vec::new(),
        ctc: Ctc = Ctc::default(),
    }
}

impl Forward {
    fn run<T: Float>(&mut self, io: &Io<'_>) -> Result<()> {
        let (logits, labels) = (io.dense(self.logits.input)?, io.dense(self.labels.input)?);
        let classes = logits.dims().last().copied().unwrap_or(0);
        if self.blank >= classes {
            let what = format!("has {classes} classes, but blank is {}", self.blank);
            return Err(io.error(Kind::Shape, self.logits.input, what));
        }
        let room = self.logits.find(io, &logits, &mut self.sequences)?;
        self.labels.find(io, &labels, &mut self.label_rows)?;
        let batch = self.sequences.len();
        if self.label_rows.len() != batch {
            let what = format!("has {} sequences, but the logits have {batch}", self.label_rows.len());
            return Err(io.error(Kind::Lod, self.labels.input, what));
        }
        let x = io.data::<T>(self.logits.input, &logits)?;
        let labels = Ints::of(io, self.labels.input, &labels)?;
        let mut grad = io.out_sized(self.grad, T::DTYPE, Dims::from([room, batch, classes]))?;
        let grad = io.data_mut::<T>(self.grad, &mut grad)?;
        grad.fill(T::ZERO);
        let mut loss = io.out_sized(self.loss, T::DTYPE, Dims::from([batch, 1]))?;
        let loss = io.data_mut::<T>(self.loss, &mut loss)?;
        for (i, (steps, rows)) in self.sequences.iter().zip(&self.label_rows).enumerate() {
            self.ctc.begin(classes, self.blank, rows.clone().map(|row| labels.at(row)));
            if let Some(l) = self.ctc.unknown() {
                let what = format!("has label {l} in sequence {i}, but there are {classes} classes");
                return Err(io.error(Kind::Range, self.labels.input, what));
            }
            steps.rows().for_each(|row| self.ctc.step(&x[row * classes..][..classes]));
            loss[i] = T::of(self.ctc.loss());
            let to = grad.chunks_exact_mut(classes).skip(i).step_by(batch);
            self.ctc.write_grad(to);
        }
        Ok(())
    }
}

/// All alignments of one sequence, in logarithms of probabilities. f64, as sums of many small numbers are differences here.
#[derive(Default)]
struct Ctc {
    classes: usize,
    /// The labels with blanks before, between and after: the positions an alignment walks through.
    path: Vec<usize>,
    bad_label: Option<i64>,
    /// Logarithms of the softmax, a row per step.
    log_p: Vec<f64>,
    /// Of reaching a position at a step; a row per step.
    reach: Vec<f64>,
    /// Of what comes after a position at a step; a row per step.
    rest: Vec<f64>,
    total: f64,
}

impl Ctc {
    fn begin(&mut self, classes: usize, blank: usize, labels: impl Iterator<Item = i64>) {
        self.classes = classes;
        self.log_p.clear();
        self.path.clear();
        self.path.push(blank);
        self.bad_label = None;
        for l in labels {
            match usize::try_from(l).ok().filter(|&l| l < classes) {
                Some(l) => self.path.extend([l, blank]),
                None => self.bad_label = Some(l),
            }
        }
    }

    /// A label that is no class.
    fn unknown(&self) -> Option<i64> {
        self.bad_label
    }

    /// Takes the scores of one more step.
    fn step<T: Float>(&mut self, x: &[T]) {
        let greatest = x.iter().fold(f64::NEG_INFINITY, |m, v| m.max(v.f64()));
        let sum: f64 = x.iter().map(|v| (v.f64() - greatest).exp()).sum();
        let log_sum = greatest + sum.ln();
        self.log_p.extend(x.iter().map(|v| v.f64() - log_sum));
    }

    fn steps(&self) -> usize {
        self.log_p.len() / self.classes
    }

    /// May an alignment jump to this position over the one before? Over a blank between different labels.
    fn jumps(&self, at: usize) -> bool {
        at >= 2 && at % 2 == 1 && self.path[at] != self.path[at - 2]
    }

    fn log_p(&self, step: usize, at: usize) -> f64 {
        self.log_p[step * self.classes + self.path[at]]
    }

    /// Fewest steps of an alignment: one per label, and a blank between equal ones.
    fn shortest(&self) -> usize {
        let labels = self.path.len() / 2;
        labels + (3..self.path.len()).step_by(2).filter(|&at| !self.jumps(at)).count()
    }

    /// The cost; 0 where there is no alignment.
    fn loss(&mut self) -> f64 {
        self.total = f64::NEG_INFINITY;
        if self.steps() == 0 || self.steps() < self.shortest() {
            return 0.0;
        }
        self.walk_forward();
        let last = &self.reach[self.reach.len() - self.path.len()..];
        self.total = last.iter().rev().take(2).fold(f64::NEG_INFINITY, |a, &b| log_add(a, b));
        -self.total
    }

    fn walk_forward(&mut self) {
        let (steps, len) = (self.steps(), self.path.len());
        self.reach.clear();
        self.reach.resize(steps * len, f64::NEG_INFINITY);
        for at in 0..len.min(2) {
            self.reach[at] = self.log_p(0, at);
        }
        for step in 1..steps {
            for at in 0..len {
                let before = |back: usize| self.reach[(step - 1) * len + at - back];
                let mut sum = before(0);
                if at > 0 {
                    sum = log_add(sum, before(1));
                }
                if self.jumps(at) {
                    sum = log_add(sum, before(2));
                }
                self.reach[step * len + at] = sum + self.log_p(step, at);
            }
        }
    }

    fn walk_backward(&mut self) {
        let (steps, len) = (self.steps(), self.path.len());
        self.rest.clear();
        self.rest.resize(steps * len, f64::NEG_INFINITY);
        for at in len.saturating_sub(2)..len {
            self.rest[(steps - 1) * len + at] = 0.0;
        }
        for step in (0..steps - 1).rev() {
            for at in 0..len {
                let after = |on: usize| self.rest[(step + 1) * len + at + on] + self.log_p(step + 1, at + on);
                let mut sum = after(0);
                if at + 1 < len {
                    sum = log_add(sum, after(1));
                }
                if at + 2 < len && self.jumps(at + 2) {
                    sum = log_add(sum, after(2));
                }
                self.rest[step * len + at] = sum;
            }
        }
    }

    /// Writes, for each step, the softmax less the share of alignments that have each class there.
    fn write_grad<'t, T: Float>(&mut self, rows: impl Iterator<Item = &'t mut [T]>) {
        if self.total == f64::NEG_INFINITY {
            return;
        }
        self.walk_backward();
        let len = self.path.len();
        for (step, row) in (0..self.steps()).zip(rows) {
            let log_p = &self.log_p[step * self.classes..][..self.classes];
            row.iter_mut().zip(log_p).for_each(|(to, p)| *to = T::of(p.exp()));
            for at in 0..len {
                let share = self.reach[step * len + at] + self.rest[step * len + at] - self.total;
                row[self.path[at]] -= T::of(share.exp());
            }
        }
    }
}

/// ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

const WARP_CTC_GRAD: GradOp =
    GradOp::of(&WarpCtc, "warpctc_grad(Logits, LogitsLength, Loss@GRAD, WarpCTCGrad) -> Logits@GRAD")
        .doc("Logits@GRAD = WarpCTCGrad * Loss@GRAD; divided by the number of steps, if so asked")
        .traits(oarlock_ir::Traits::NONE.shape_only(&["Logits"]))
        .kernel(|p| {
            let mut backward = Backward::new(p)?;
            by_float!(p.float("Logits")?, T => kernel(move |io| backward.run::<T>(io)))
        });

slots! {
    struct Backward(p) {
        logits: Logits = Logits::new(p)?,
        dloss: input "Loss@GRAD",
        grad: input "WarpCTCGrad",
        dx: output "Logits@GRAD",
        by_times: bool "norm_by_times",
        sequences: Vec<Steps> = Vec::new(),
    }
}

impl Backward {
    fn run<T: Float>(&mut self, io: &Io<'_>) -> Result<()> {
        let (logits, dloss, grad) = (io.dense(self.logits.input)?, io.dense(self.dloss)?, io.dense(self.grad)?);
        let classes = logits.dims().last().copied().unwrap_or(0).max(1);
        let room = self.logits.find(io, &logits, &mut self.sequences)?;
        let batch = self.sequences.len();
        let dloss = checks::sized::<T>(io, self.dloss, &dloss, batch)?;
        let grad = checks::sized::<T>(io, self.grad, &grad, room * batch * classes)?;
        let mut dx = io.out_sized(self.dx, T::DTYPE, *logits.dims())?;
        dx.set_lod(logits.lod().clone());
        let dx = io.data_mut::<T>(self.dx, &mut dx)?;
        dx.fill(T::ZERO);
        for (i, steps) in self.sequences.iter().enumerate() {
            let factor = if self.by_times { dloss[i] / T::of(steps.len as f64) } else { dloss[i] };
            let from = grad.chunks_exact(classes).skip(i).step_by(batch);
            for (row, from) in steps.rows().zip(from) {
                let to = &mut dx[row * classes..][..classes];
                to.iter_mut().zip(from).for_each(|(to, &g)| *to = g * factor);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn ctc() -> Check {
        check("warpctc").any_output("WarpCTCGrad").counting(&["Loss"])
    }

    #[test]
    fn two_steps_and_one_label_have_three_alignments() {
        let third = 3f32.ln();
        ctc()
            .input("Logits", with_lod(tensor([3, 2], &[0.0; 6]), &[&[0, 2, 3]]))
            .input("Label", with_lod(tensor_of([2, 1], &[1i32, 1]), &[&[0, 1, 2]]))
            .output("Loss", tensor([2, 1], &[4f32.ln() - third, 2f32.ln()]))
            .grad(&["Logits"])
            .run();
    }

    #[test]
    fn gradients() {
        ctc()
            .input("Logits", with_lod(noise([7, 4], 3), &[&[0, 4, 7]]))
            .input("Label", with_lod(tensor_of([3, 1], &[2i32, 2, 1]), &[&[0, 2, 3]]))
            .attr("blank", 3)
            .any_output("Loss")
            .grad(&["Logits"])
            .run();
    }

    #[test]
    fn gradients_of_padded_sequences() {
        ctc()
            .input("Logits", noise([3, 2, 3], 3))
            .input("Label", tensor_of([2, 2], &[1i32, 2, 2, 0]))
            .input("LogitsLength", tensor_of([2], &[3i64, 2]))
            .input("LabelLength", tensor_of([2], &[2i64, 1]))
            .any_output("Loss")
            .grad(&["Logits"])
            .run();
    }

    #[test]
    fn too_few_steps_cost_nothing() {
        ctc()
            .input("Logits", with_lod(noise([2, 3], 3), &[&[0, 2]]))
            .input("Label", with_lod(tensor_of([2, 1], &[1i32, 1]), &[&[0, 2]]))
            .output("Loss", tensor([1, 1], &[0.0]))
            .grad(&["Logits"])
            .run();
    }

    #[test]
    fn labels_must_be_classes() {
        let e = ctc()
            .input("Logits", with_lod(noise([2, 3], 3), &[&[0, 2]]))
            .input("Label", with_lod(tensor_of([1, 1], &[3i32]), &[&[0, 1]]))
            .any_output("Loss")
            .error();
        assert!(e.contains("has label 3 in sequence 0, but there are 3 classes"), "{e}");
    }
}
