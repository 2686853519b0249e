//! `linear_chain_crf`: the negative log-likelihood of tag sequences under a conditional random field.

use std::ops::Range;

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Dims, Float, Lod, simd};

use crate::decoding::crf_scores::{self, Scores};
use crate::decoding::segments::Segments;

pub(crate) const OPS: &[&dyn OpDef] = &[&LinearChainCrf, &GRAD];

struct LinearChainCrf;

impl OpDef for LinearChainCrf {
    sig! {
        "linear_chain_crf":
            "LogLikelihood = ln(sum over all tag sequences of exp(score)) - score of the label's: the cost, in spite of its name. \
             The score of a sequence is its start's, its end's, and the sum of its transitions and emissions";
        in "Emission": "scores of tags: [rows, tags] with LoD, or [batch, steps, tags] with `Length`";
        in "Transition": "[tags + 2, tags]: scores of starts, of ends, and of each tag (column) after each (row)";
        in "Label": "i64, the tag of each row";
        in? "Length": "i64, steps of each sequence; without it the LoD tells";
        out "Alpha": "like `Emission`: shares of the tags at each step, given those up to it";
        out "EmissionExps": "like `Emission`: exp(Emission - greatest of the row)";
        out "TransitionExps": "exp(Transition)";
        out "LogLikelihood": "[sequences, 1]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let emission = crf_scores::infer_emission(cx)?;
        cx.integer("Label")?;
        let rows = if cx.has("Length") { emission.shape[0] } else { Dim::Any };
        cx.set("LogLikelihood", VarType::tensor(emission.dtype, vec![rows, Dim::Is(1)]));
        cx.same("TransitionExps", "Transition")?;
        // By-products carry no LoD, as ever.
        let like = emission.with_lod(0);
        cx.set("Alpha", like.clone());
        cx.set("EmissionExps", like);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut forward = Forward::new(p)?;
        by_float!(p.float("Emission")?, T => kernel(move |io| forward.run::<T>(io)))
    }
}

/// The inputs that the operator and its gradient have in common.
#[derive(Clone, Copy)]
struct Chain {
    emission: Segments,
    transition: In,
    label: In,
}

impl Chain {
    fn new(p: &Prepare<'_>) -> Result<Chain> {
        let emission = Segments { input: p.input("Emission")?, length: p.maybe_input("Length")? };
        Ok(Chain { emission, transition: p.input("Transition")?, label: p.input("Label")? })
    }
}

slots! {
    struct Forward(p) {
        chain: Chain = Chain::new(p)?,
        alpha: output "Alpha",
        emission_exps: output "EmissionExps",
        transition_exps: output "TransitionExps",
        cost: output "LogLikelihood",
        sequences: Vec<Range<usize>> = Vec::new(),
    }
}

impl Forward {
    fn run<T: Float>(&mut self, io: &Io<'_>) -> Result<()> {
        let Chain { emission, transition, label } = self.chain;
        let (x, w, labels) = (io.dense(emission.input)?, io.dense(transition)?, io.dense(label)?);
        let scores = Scores::<T>::new(io, (emission.input, &x), (transition, &w))?;
        emission.find(io, &x, &mut self.sequences)?;
        let labels = crf_scores::labels(io, label, &labels, scores.rows(), scores.tags)?;
        let mut alpha = io.out_sized(self.alpha, T::DTYPE, *x.dims())?;
        let mut x_exps = io.out_sized(self.emission_exps, T::DTYPE, *x.dims())?;
        let mut w_exps = io.out_sized(self.transition_exps, T::DTYPE, *w.dims())?;
        alpha.set_lod(Lod::NONE);
        x_exps.set_lod(Lod::NONE);
        let alpha = io.data_mut::<T>(self.alpha, &mut alpha)?;
        let x_exps = io.data_mut::<T>(self.emission_exps, &mut x_exps)?;
        let w_exps = io.data_mut::<T>(self.transition_exps, &mut w_exps)?;
        // Steps beyond a sequence's length belong to nothing.
        alpha.fill(T::ZERO);
        exps(&scores, x_exps, w_exps);
        let passed = Exps { x: x_exps, w: w_exps, tags: scores.tags };
        let mut failed = None;
        equal_sizes::column(io, self.cost, self.sequences.len(), |i| {
            let rows = self.sequences[i].clone();
            if rows.is_empty() {
                return T::ZERO;
            }
            let total = passed.forward(&scores, rows.clone(), alpha);
            if !total.is_finite() {
                failed.get_or_insert(i);
            }
            total - score(&scores, rows, labels)
        })?;
        match failed {
            Some(i) => Err(io.error(
                Kind::Nan,
                emission.input,
                format!("has scores in sequence {i} that are not finite or too far apart"),
            )),
            None => Ok(()),
        }
    }
}

/// Exponentials of all scores; those of a row of emissions relative to its greatest.
fn exps<T: Float>(scores: &Scores<'_, T>, x_exps: &mut [T], w_exps: &mut [T]) {
    for (row, to) in x_exps.chunks_exact_mut(scores.tags).enumerate() {
        let from = scores.row(row);
        let greatest = simd::max(from);
        to.iter_mut().zip(from).for_each(|(to, &x)| *to = (x - greatest).exp());
    }
    w_exps.iter_mut().zip(scores.transition).for_each(|(to, w)| *to = w.exp());
}

/// The score of the labels of one sequence.
fn score<T: Float>(scores: &Scores<'_, T>, rows: Range<usize>, labels: &[i64]) -> T {
    let tag = |row: usize| labels[row] as usize;
    let (first, last) = (rows.start, rows.end - 1);
    let ends = scores.transition[tag(first)] + scores.transition[scores.tags + tag(last)];
    let emitted = rows.clone().fold(ends, |sum, row| sum + scores.row(row)[tag(row)]);
    (first + 1..rows.end).fold(emitted, |sum, row| sum + scores.step(tag(row - 1), tag(row)))
}

/// Exponentials of scores.
#[derive(Clone, Copy)]
struct Exps<'a, T> {
    x: &'a [T],
    w: &'a [T],
    tags: usize,
}

impl<'a, T: Float> Exps<'a, T> {
    fn row(&self, row: usize) -> &'a [T] {
        &self.x[row * self.tags..][..self.tags]
    }

    /// Exponentials of the scores of each tag after `from`.
    fn after(&self, from: usize) -> &'a [T] {
        &self.w[(from + 2) * self.tags..][..self.tags]
    }

    fn starts(&self) -> &'a [T] {
        &self.w[..self.tags]
    }

    fn ends(&self) -> &'a [T] {
        &self.w[self.tags..2 * self.tags]
    }

    /// Fills `alpha` of one sequence, each row scaled to the sum 1; returns the logarithm of the sum over all tag sequences.
    fn forward(&self, scores: &Scores<'_, T>, rows: Range<usize>, alpha: &mut [T]) -> T {
        let tags = self.tags;
        let mut total = T::ZERO;
        for row in rows.clone() {
            let (before, here) = alpha.split_at_mut(row * tags);
            let here = &mut here[..tags];
            if row == rows.start {
                here.copy_from_slice(self.starts());
            } else {
                let before = &before[(row - 1) * tags..];
                here.fill(T::ZERO);
                (0..tags).for_each(|from| simd::axpy(here, before[from], self.after(from)));
            }
            simd::mul_assign(here, self.row(row));
            total += simd::max(scores.row(row)) + normalize(here).ln();
        }
        let last = &alpha[(rows.end - 1) * tags..rows.end * tags];
        total + simd::dot(last, self.ends()).ln()
    }

    /// Fills `beta` of one sequence, each row scaled to the sum 1: shares of the tags at each step, given those after it.
    fn backward(&self, rows: Range<usize>, beta: &mut [T], next: &mut Vec<T>) {
        let tags = self.tags;
        for row in rows.clone().rev() {
            let (here, after) = beta[row * tags..].split_at_mut(tags);
            if row + 1 == rows.end {
                here.copy_from_slice(self.ends());
            } else {
                next.clear();
                next.extend(self.row(row + 1).iter().zip(&*after).map(|(&x, &b)| x * b));
                here.iter_mut().enumerate().for_each(|(from, b)| *b = simd::dot(self.after(from), next));
            }
            normalize(here);
        }
    }
}

/// Scales to the sum 1; returns the sum.
fn normalize<T: Float>(x: &mut [T]) -> T {
    let sum = simd::sum(x);
    simd::scale(x, T::ONE / sum);
    sum
}

const GRAD: GradOp = GradOp::of(
    &LinearChainCrf,
    "linear_chain_crf_grad(Alpha, Emission, EmissionExps, Label, Length, LogLikelihood@GRAD, Transition, \
     TransitionExps) -> Emission@GRAD, Transition@GRAD",
)
.doc("what is expected under the model less what the labels say, times the gradient of the cost")
.kernel(|p| {
    let backward = Backward::new(p)?;
    let mut sequences = Vec::new();
    by_float!(p.float("Emission")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| backward.run(io, &mut sequences, &mut scratch))
    })
});

slots! {
    struct Backward(p) {
        chain: Chain = Chain::new(p)?,
        alpha: input "Alpha",
        exps: (In, In) = (p.input("EmissionExps")?, p.input("TransitionExps")?),
        dcost: input "LogLikelihood@GRAD",
        dx: maybe_output "Emission@GRAD",
        dw: maybe_output "Transition@GRAD",
    }
}

/// Memory that a step leaves to the next.
#[derive(Default)]
struct Scratch<T> {
    beta: Vec<T>,
    next: Vec<T>,
    dx: Vec<T>,
    dw: Vec<T>,
}

impl Backward {
    fn run<T: Float>(&self, io: &Io<'_>, sequences: &mut Vec<Range<usize>>, s: &mut Scratch<T>) -> Result<()> {
        let Chain { emission, transition, label } = self.chain;
        let (x, w, label_tensor) = (io.dense(emission.input)?, io.dense(transition)?, io.dense(label)?);
        let scores = Scores::<T>::new(io, (emission.input, &x), (transition, &w))?;
        emission.find(io, &x, sequences)?;
        let labels = crf_scores::labels(io, label, &label_tensor, scores.rows(), scores.tags)?;
        let (alpha, x_exps, w_exps) = (io.dense(self.alpha)?, io.dense(self.exps.0)?, io.dense(self.exps.1)?);
        let alpha = checks::sized::<T>(io, self.alpha, &alpha, x.numel())?;
        let exps = Exps {
            x: checks::sized(io, self.exps.0, &x_exps, x.numel())?,
            w: checks::sized(io, self.exps.1, &w_exps, w.numel())?,
            tags: scores.tags,
        };
        let dcost = io.dense(self.dcost)?;
        let dcost = checks::sized::<T>(io, self.dcost, &dcost, sequences.len())?;
        s.beta.resize(x.numel(), T::ZERO);
        s.dx.clear();
        s.dx.resize(x.numel(), T::ZERO);
        s.dw.clear();
        s.dw.resize(w.numel(), T::ZERO);
        for (rows, &d) in sequences.iter().zip(dcost).filter(|(rows, _)| !rows.is_empty()) {
            exps.backward(rows.clone(), &mut s.beta, &mut s.next);
            emission_grad(&exps, rows.clone(), (alpha, &s.beta), labels, d, &mut s.dx);
            transition_grad(&exps, rows.clone(), (alpha, &s.beta, &s.dx), labels, d, (&mut s.dw, &mut s.next));
        }
        self.write(io, self.dx, x.dims(), &s.dx)?;
        self.write(io, self.dw, w.dims(), &s.dw)?;
        if let Some(dx) = self.dx {
            io.out(dx)?.set_lod(x.lod().clone());
        }
        Ok(())
    }

    fn write<T: Float>(&self, io: &Io<'_>, out: Option<Out>, dims: &Dims, values: &[T]) -> Result<()> {
        let Some(out) = out else { return Ok(()) };
        let mut t = io.out_sized(out, T::DTYPE, *dims)?;
        io.data_mut::<T>(out, &mut t)?.copy_from_slice(values);
        Ok(())
    }
}

/// The share of each tag at each step of one sequence, less 1 at its label.
fn emission_grad<T: Float>(
    exps: &Exps<'_, T>,
    rows: Range<usize>,
    (alpha, beta): (&[T], &[T]),
    labels: &[i64],
    d: T,
    dx: &mut [T],
) {
    let tags = exps.tags;
    for row in rows {
        let at = row * tags..(row + 1) * tags;
        let here = &mut dx[at.clone()];
        simd::mul(here, &alpha[at.clone()], &beta[at]);
        normalize(here);
        simd::scale(here, d);
        here[labels[row] as usize] -= d;
    }
}

/// The share of each pair of tags at each step of one sequence, less 1 for its labels; starts and ends are those of the emissions.
fn transition_grad<T: Float>(
    exps: &Exps<'_, T>,
    rows: Range<usize>,
    (alpha, beta, dx): (&[T], &[T], &[T]),
    labels: &[i64],
    d: T,
    (dw, next): (&mut [T], &mut Vec<T>),
) {
    let tags = exps.tags;
    let at = |row: usize| row * tags..(row + 1) * tags;
    simd::add_assign(&mut dw[..tags], &dx[at(rows.start)]);
    simd::add_assign(&mut dw[tags..2 * tags], &dx[at(rows.end - 1)]);
    for row in rows.start + 1..rows.end {
        let before = &alpha[at(row - 1)];
        next.clear();
        next.extend(exps.row(row).iter().zip(&beta[at(row)]).map(|(&x, &b)| x * b));
        let all = (0..tags).fold(T::ZERO, |sum, from| sum + before[from] * simd::dot(exps.after(from), next));
        for (from, &a) in before.iter().enumerate() {
            let share = a * d / all;
            let to = &mut dw[(from + 2) * tags..][..tags];
            for ((to, &w), &n) in to.iter_mut().zip(exps.after(from)).zip(&*next) {
                *to += share * w * n;
            }
        }
        dw[(labels[row - 1] as usize + 2) * tags + labels[row] as usize] -= d;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn sequences() -> Check {
        check("linear_chain_crf")
            .input("Emission", with_lod(noise([5, 3], 1), &[&[0, 2, 2, 5]]))
            .input("Transition", noise([5, 3], 2))
            .any_output("Alpha")
            .any_output("EmissionExps")
            .any_output("TransitionExps")
            .any_output("LogLikelihood")
    }

    #[test]
    fn equal_scores_cost_the_logarithm_of_the_number_of_sequences() {
        check("linear_chain_crf")
            .input("Emission", with_lod(tensor([5, 2], &[0.5; 10]), &[&[0, 2, 2, 5]]))
            .input("Transition", tensor([4, 2], &[0.0; 8]))
            .input("Label", with_lod(tensor_of([5, 1], &[0i64, 1, 1, 1, 0]), &[&[0, 2, 2, 5]]))
            .any_output("Alpha")
            .any_output("EmissionExps")
            .output("TransitionExps", tensor([4, 2], &[1.0; 8]))
            .output("LogLikelihood", tensor([3, 1], &[2.0 * 2f32.ln(), 0.0, 3.0 * 2f32.ln()]))
            .run();
    }

    #[test]
    fn gradients() {
        sequences()
            .input("Label", with_lod(tensor_of([5, 1], &[0i64, 2, 1, 1, 0]), &[&[0, 2, 2, 5]]))
            .counting(&["LogLikelihood"])
            .grad(&["Emission", "Transition"])
            .run();
    }

    #[test]
    fn gradients_of_padded_sequences() {
        check("linear_chain_crf")
            .input("Emission", noise([2, 3, 2], 1))
            .input("Transition", noise([4, 2], 2))
            .input("Label", tensor_of([2, 3, 1], &[0i64, 1, 1, 1, 0, 0]))
            .input("Length", tensor_of([2, 1], &[3i64, 2]))
            .any_output("Alpha")
            .any_output("EmissionExps")
            .any_output("TransitionExps")
            .any_output("LogLikelihood")
            .counting(&["LogLikelihood"])
            .grad(&["Emission", "Transition"])
            .run();
    }

    #[test]
    fn labels_must_be_tags() {
        let e = sequences().input("Label", tensor_of([5, 1], &[0i64, 3, 1, 1, 0])).error();
        assert!(e.contains("input `Label` = `Label.0` has label 3 in row 1, but there are 3 tags"), "{e}");
    }

    #[test]
    fn transitions_must_fit_the_tags() {
        let e = sequences()
            .input("Transition", noise([3, 3], 2))
            .input("Label", tensor_of([5, 1], &[0i64, 2, 1, 1, 0]))
            .error();
        assert!(e.contains("transitions have shape [tags + 2, tags]"), "{e}");
    }
}
