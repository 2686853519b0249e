//! The cell of a GRU: one step over a row per sequence, forward and gradient.
//!
//! Knows rows and gates, not operators. The update and reset gates of a row stand side by side; candidates are a matrix of their own,
//! because each of the two is the target of a matrix product.

use oarlock_tensor::Pool;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::simd::{self, Math};

use crate::recurrent::steps::{Activation, Steps};

/// How a GRU computes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GruKind {
    /// Of the update and reset gates.
    pub(crate) gate: Activation,
    /// Of the candidate.
    pub(crate) candidate: Activation,
    /// The update gate says how much of the state stays, not how much of the candidate comes.
    pub(crate) origin: bool,
}

/// The cell of a GRU.
#[derive(Clone, Copy)]
pub(crate) struct GruCell<'a, T> {
    /// Elements of a state.
    pub(crate) width: usize,
    pub(crate) kind: GruKind,
    /// From states to update and reset gates (`width` x 2 `width`), then from reset states to candidates (`width` x `width`).
    pub(crate) weight: &'a [T],
}

/// The inputs and outputs of a step, a row per sequence.
pub(crate) struct Step<'s, T> {
    /// The states of the step before; `None` for zeros.
    pub(crate) before: Option<&'s [T]>,
    /// In: sums; out: update and reset gates.
    pub(crate) gates: &'s mut [T],
    /// In: sums; out: candidates.
    pub(crate) candidates: &'s mut [T],
    /// The states of the step before, as far as the reset gate lets them through.
    pub(crate) reset: &'s mut [T],
    pub(crate) hidden: &'s mut [T],
}

/// The inputs and outputs of the gradient of a step, a row per sequence.
pub(crate) struct StepGrad<'s, T> {
    pub(crate) before: Option<&'s [T]>,
    pub(crate) gates: &'s [T],
    pub(crate) candidates: &'s [T],
    pub(crate) dhidden: &'s [T],
    pub(crate) dgates: &'s mut [T],
    pub(crate) dcandidates: &'s mut [T],
    /// A place to compute in.
    pub(crate) dreset: &'s mut [T],
    /// Gradient of the states of the step before, added to; not touched if those were zeros.
    pub(crate) dbefore: &'s mut [T],
}

impl<T: Math + GemmElem> GruCell<'_, T> {
    /// From states to update and reset gates.
    fn gate_weights(&self) -> Mat<'_, T> {
        Mat::new(self.weight, self.width, 2 * self.width)
    }

    /// From reset states to candidates.
    fn candidate_weights(&self) -> Mat<'_, T> {
        Mat::new(&self.weight[2 * self.width * self.width..], self.width, self.width)
    }

    /// From sums to gates, candidates and states.
    pub(crate) fn forward(&self, pool: &Pool, step: Step<'_, T>) {
        let d = self.width;
        let rows = step.hidden.len() / d;
        if let Some(before) = step.before {
            gemm(pool, step.gates, Mat::new(before, rows, d), self.gate_weights(), T::ONE, T::ONE);
        }
        self.kind.gate.apply(step.gates);
        match step.before {
            Some(before) => {
                let all = step.reset.chunks_exact_mut(d).zip(step.gates.chunks_exact(2 * d));
                for ((reset, gates), before) in all.zip(before.chunks_exact(d)) {
                    simd::mul(reset, &gates[d..], before);
                }
                gemm(pool, step.candidates, Mat::new(step.reset, rows, d), self.candidate_weights(), T::ONE, T::ONE);
            }
            None => step.reset.fill(T::ZERO),
        }
        self.kind.candidate.apply(step.candidates);
        for n in 0..rows {
            let row = n * d..(n + 1) * d;
            let (update, candidate) = (&step.gates[2 * n * d..][..d], &step.candidates[row.clone()]);
            self.mix(&mut step.hidden[row.clone()], update, candidate, step.before.map(|b| &b[row]));
        }
    }

    /// Runs all steps; `all` holds all rows in the order of steps, `first` the states before the first step.
    pub(crate) fn all_steps(&self, pool: &Pool, steps: &Steps, first: Option<&[T]>, all: Step<'_, T>) {
        let d = self.width;
        for t in 0..steps.len() {
            let now = steps.step(t);
            let of_state = now.start * d..now.end * d;
            let (past, hidden) = all.hidden.split_at_mut(of_state.start);
            let before = if t == 0 { first } else { Some(&past[steps.before(t).start * d..steps.before(t).end * d]) };
            let step = Step {
                before,
                gates: &mut all.gates[2 * of_state.start..2 * of_state.end],
                candidates: &mut all.candidates[of_state.clone()],
                reset: &mut all.reset[of_state.clone()],
                hidden: &mut hidden[..of_state.len()],
            };
            self.forward(pool, step);
        }
    }

    /// The new state between the old one and the candidate.
    fn mix(&self, hidden: &mut [T], update: &[T], candidate: &[T], before: Option<&[T]>) {
        // old + u (new - old); in origin mode the two change places.
        let Some(before) = before else {
            simd::mul(hidden, update, candidate);
            if self.kind.origin {
                hidden.iter_mut().zip(candidate).for_each(|(h, c)| *h = *c - *h);
            }
            return;
        };
        let (old, new) = if self.kind.origin { (candidate, before) } else { (before, candidate) };
        simd::sub(hidden, new, old);
        simd::mul_assign(hidden, update);
        simd::add_assign(hidden, old);
    }

    /// From the gradient of states to those of the sums and of the states before.
    pub(crate) fn backward(&self, pool: &Pool, step: StepGrad<'_, T>) {
        let d = self.width;
        let rows = step.dhidden.len() / d;
        for n in 0..rows {
            let row = n * d..(n + 1) * d;
            let update = &step.gates[2 * n * d..][..d];
            let dupdate = &mut step.dgates[2 * n * d..][..d];
            let before = step.before.map(|b| &b[row.clone()]);
            let (candidate, dhidden) = (&step.candidates[row.clone()], &step.dhidden[row.clone()]);
            self.unmix(dupdate, &mut step.dcandidates[row.clone()], update, candidate, before, dhidden);
            if before.is_some() {
                let dbefore = &mut step.dbefore[row];
                if self.kind.origin {
                    simd::mul_add_assign(dbefore, dhidden, update);
                } else {
                    simd::add_assign(dbefore, dhidden);
                    simd::mul_sub_assign(dbefore, dhidden, update);
                }
            }
        }
        self.kind.candidate.grad(step.dcandidates, step.candidates);
        let Some(before) = step.before else {
            step.dgates.chunks_exact_mut(2 * d).for_each(|row| row[d..].fill(T::ZERO));
            return self.kind.gate.grad(step.dgates, step.gates);
        };
        gemm(pool, step.dreset, Mat::new(step.dcandidates, rows, d), self.candidate_weights().t(), T::ONE, T::ZERO);
        for n in 0..rows {
            let row = n * d..(n + 1) * d;
            let dreset = &step.dreset[row.clone()];
            simd::mul(&mut step.dgates[2 * n * d + d..][..d], dreset, &before[row.clone()]);
            simd::mul_add_assign(&mut step.dbefore[row], dreset, &step.gates[2 * n * d + d..][..d]);
        }
        self.kind.gate.grad(step.dgates, step.gates);
        gemm(pool, step.dbefore, Mat::new(step.dgates, rows, 2 * d), self.gate_weights().t(), T::ONE, T::ONE);
    }

    /// Gradients of the update gate and of the candidate, before their activations.
    fn unmix(
        &self,
        dupdate: &mut [T],
        dcandidate: &mut [T],
        update: &[T],
        candidate: &[T],
        before: Option<&[T]>,
        dhidden: &[T],
    ) {
        match before {
            Some(before) => simd::sub(dupdate, candidate, before),
            None => dupdate.copy_from_slice(candidate),
        }
        simd::mul_assign(dupdate, dhidden);
        if self.kind.origin {
            simd::scale(dupdate, -T::ONE);
            dcandidate.copy_from_slice(dhidden);
            simd::mul_sub_assign(dcandidate, dhidden, update);
        } else {
            simd::mul(dcandidate, dhidden, update);
        }
    }
}
