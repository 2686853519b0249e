//! The cell of an LSTM: what happens between the matrix products, over all rows of a step; and the walk over all steps.
//!
//! Knows rows and gates, not operators: several operators differ in where their inputs come from and in the order of gates.

use oarlock_ir::{AttrView, Result, Sig};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Float, Pool};

use crate::recurrent::steps::{Activation, Steps};

/// The order of the four gates in a row: where the candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CandidateAt {
    /// Candidate, input, forget, output: `lstm`.
    First,
    /// Input, forget, candidate, output: `cudnn_lstm`.
    Third,
    /// Input, forget, output, candidate: `lstm_unit`.
    Last,
}

/// One thing per gate.
struct Gates<G> {
    candidate: G,
    input: G,
    forget: G,
    output: G,
}

impl CandidateAt {
    fn name<G>(self, [a, b, c, d]: [G; 4]) -> Gates<G> {
        match self {
            CandidateAt::First => Gates { candidate: a, input: b, forget: c, output: d },
            CandidateAt::Third => Gates { input: a, forget: b, candidate: c, output: d },
            CandidateAt::Last => Gates { input: a, forget: b, output: c, candidate: d },
        }
    }

    fn split<T>(self, row: &[T]) -> Gates<&[T]> {
        let (ab, cd) = row.split_at(row.len() / 2);
        let ((a, b), (c, d)) = (ab.split_at(ab.len() / 2), cd.split_at(cd.len() / 2));
        self.name([a, b, c, d])
    }

    fn split_mut<T>(self, row: &mut [T]) -> Gates<&mut [T]> {
        let (ab, cd) = row.split_at_mut(row.len() / 2);
        let (half_ab, half_cd) = (ab.len() / 2, cd.len() / 2);
        let ((a, b), (c, d)) = (ab.split_at_mut(half_ab), cd.split_at_mut(half_cd));
        self.name([a, b, c, d])
    }
}

/// The three activations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activations {
    pub(crate) gate: Activation,
    pub(crate) cell: Activation,
    pub(crate) candidate: Activation,
}

impl Activations {
    /// The usual ones.
    pub(crate) const USUAL: Activations =
        Activations { gate: Activation::Sigmoid, cell: Activation::Tanh, candidate: Activation::Tanh };

    /// Adds the attributes that all LSTMs over sequences have.
    pub(crate) fn attrs(sig: Sig) -> Sig {
        sig.attr("use_peepholes", true, "gates see the cell")
            .attr("is_reverse", false, "from the last row of a sequence to the first")
            .attr("gate_activation", "sigmoid", "identity, sigmoid, tanh or relu")
            .attr("cell_activation", "tanh", "identity, sigmoid, tanh or relu")
            .attr("candidate_activation", "tanh", "identity, sigmoid, tanh or relu")
    }

    /// Those of the attributes `gate_activation`, `cell_activation` and `candidate_activation`.
    pub(crate) fn read(attrs: &AttrView<'_>) -> Result<Activations> {
        Ok(Activations {
            gate: Activation::read(attrs, "gate_activation")?,
            cell: Activation::read(attrs, "cell_activation")?,
            candidate: Activation::read(attrs, "candidate_activation")?,
        })
    }
}

/// The cell of an LSTM.
#[derive(Clone, Copy)]
pub(crate) struct LstmCell<'a, T> {
    /// Elements of a state.
    pub(crate) width: usize,
    pub(crate) order: CandidateAt,
    pub(crate) act: Activations,
    /// How much of the cell the input, forget and output gates see, one after the other.
    pub(crate) peepholes: Option<&'a [T]>,
    /// Bound of the cell; 0 for none.
    pub(crate) clip: T,
}

/// The inputs and outputs of a step, a row per sequence.
pub(crate) struct Step<'s, T> {
    /// In: sums; out: gates.
    pub(crate) gates: &'s mut [T],
    /// The cells of the step before; `None` for zeros.
    pub(crate) before: Option<&'s [T]>,
    pub(crate) cells: &'s mut [T],
    /// The cells, activated.
    pub(crate) active: &'s mut [T],
    pub(crate) hidden: &'s mut [T],
}

/// The inputs and outputs of the gradient of a step, a row per sequence.
pub(crate) struct StepGrad<'s, T> {
    pub(crate) gates: &'s [T],
    pub(crate) before: Option<&'s [T]>,
    pub(crate) cells: &'s [T],
    pub(crate) active: &'s [T],
    pub(crate) dhidden: &'s [T],
    /// In: what the next step says; out: for the step before.
    pub(crate) dcells: &'s mut [T],
    pub(crate) dgates: &'s mut [T],
    /// Added to.
    pub(crate) dpeepholes: Option<&'s mut [T]>,
}

impl<T: Math> LstmCell<'_, T> {
    /// The n-th row of something with a row per sequence.
    fn row<'r>(&self, of: &'r [T], n: usize) -> &'r [T] {
        &of[n * self.width..][..self.width]
    }

    fn row_mut<'r>(&self, of: &'r mut [T], n: usize) -> &'r mut [T] {
        &mut of[n * self.width..][..self.width]
    }

    /// The weights with which the input, forget and output gates see the cell.
    fn peephole(&self, gate: usize) -> Option<&[T]> {
        self.peepholes.map(|p| self.row(p, gate))
    }

    /// From sums to gates, cells and hidden states.
    pub(crate) fn forward(&self, step: Step<'_, T>) {
        for (n, row) in step.gates.chunks_exact_mut(4 * self.width).enumerate() {
            let g = self.order.split_mut(row);
            let before = step.before.map(|c| self.row(c, n));
            if let (Some(before), Some(input), Some(forget)) = (before, self.peephole(0), self.peephole(1)) {
                simd::mul_add_assign(g.input, before, input);
                simd::mul_add_assign(g.forget, before, forget);
            }
            self.act.candidate.apply(g.candidate);
            self.act.gate.apply(g.input);
            self.act.gate.apply(g.forget);
            let cell = self.row_mut(step.cells, n);
            simd::mul(cell, g.candidate, g.input);
            if let Some(before) = before {
                simd::mul_add_assign(cell, before, g.forget);
            }
            if self.clip > T::ZERO {
                cell.iter_mut().for_each(|c| *c = c.max(-self.clip).min(self.clip));
            }
            if let Some(output) = self.peephole(2) {
                simd::mul_add_assign(g.output, cell, output);
            }
            self.act.gate.apply(g.output);
            let active = self.row_mut(step.active, n);
            active.copy_from_slice(cell);
            self.act.cell.apply(active);
            simd::mul(self.row_mut(step.hidden, n), g.output, active);
        }
    }

    /// From gradients of hidden states and cells to those of the sums and of the cells before.
    pub(crate) fn backward(&self, mut step: StepGrad<'_, T>) {
        let rows = step.gates.chunks_exact(4 * self.width).zip(step.dgates.chunks_exact_mut(4 * self.width));
        for (n, (gates, dgates)) in rows.enumerate() {
            let (g, d) = (self.order.split(gates), self.order.split_mut(dgates));
            let (cell, active, dhidden) =
                (self.row(step.cells, n), self.row(step.active, n), self.row(step.dhidden, n));
            let dcell = self.row_mut(step.dcells, n);
            // Through the hidden state; the row of the candidate is a place to compute in until its turn comes.
            simd::mul(d.candidate, dhidden, g.output);
            self.act.cell.grad(d.candidate, active);
            simd::add_assign(dcell, d.candidate);
            simd::mul(d.output, dhidden, active);
            self.act.gate.grad(d.output, g.output);
            if let Some(output) = self.peephole(2) {
                simd::mul_add_assign(dcell, d.output, output);
            }
            if self.clip > T::ZERO {
                let bound = |(d, c): (&mut T, &T)| {
                    if c.abs() >= self.clip {
                        *d = T::ZERO
                    }
                };
                dcell.iter_mut().zip(cell).for_each(bound);
            }
            // Through the cell.
            simd::mul(d.candidate, dcell, g.input);
            self.act.candidate.grad(d.candidate, g.candidate);
            simd::mul(d.input, dcell, g.candidate);
            self.act.gate.grad(d.input, g.input);
            match step.before {
                Some(before) => simd::mul(d.forget, dcell, self.row(before, n)),
                None => d.forget.fill(T::ZERO),
            }
            self.act.gate.grad(d.forget, g.forget);
            simd::mul_assign(dcell, g.forget);
            if let (Some(input), Some(forget)) = (self.peephole(0), self.peephole(1)) {
                simd::mul_add_assign(dcell, d.input, input);
                simd::mul_add_assign(dcell, d.forget, forget);
            }
            if let Some(dpeepholes) = step.dpeepholes.as_deref_mut() {
                if let Some(before) = step.before {
                    simd::mul_add_assign(self.row_mut(dpeepholes, 0), d.input, self.row(before, n));
                    simd::mul_add_assign(self.row_mut(dpeepholes, 1), d.forget, self.row(before, n));
                }
                simd::mul_add_assign(self.row_mut(dpeepholes, 2), d.output, cell);
            }
        }
    }
}

/// States before the first step, in the order of the first step; `None` for zeros.
#[derive(Clone, Copy)]
pub(crate) struct First<'a, T> {
    pub(crate) hidden: Option<&'a [T]>,
    pub(crate) cells: Option<&'a [T]>,
}

/// Puts first states, a row per sequence, into the order of the first step.
pub(crate) fn gather_first<'s, T: Float>(
    steps: &Steps,
    [for_hidden, for_cells]: &'s mut [Vec<T>; 2],
    (hidden, cells): (Option<&[T]>, Option<&[T]>),
    width: usize,
) -> First<'s, T> {
    First {
        hidden: hidden.map(|h| steps.gather_first(for_hidden, h, width)),
        cells: cells.map(|c| steps.gather_first(for_cells, c, width)),
    }
}

/// An LSTM over all steps. Everything is in the order of steps.
pub(crate) struct Lstm<'a, T> {
    pub(crate) cell: LstmCell<'a, T>,
    /// From hidden states to gates, `width` x 4 `width`.
    pub(crate) weight: Mat<'a, T>,
    pub(crate) steps: &'a Steps,
    pub(crate) first: First<'a, T>,
}

/// The results of an LSTM, a row per row of the input.
pub(crate) struct States<'s, T> {
    /// In: what the input and the bias give; out: gates.
    pub(crate) gates: &'s mut [T],
    pub(crate) cells: &'s mut [T],
    pub(crate) active: &'s mut [T],
    pub(crate) hidden: &'s mut [T],
}

/// The inputs and outputs of the gradient of an LSTM, a row per row of the input.
pub(crate) struct StateGrads<'s, T> {
    pub(crate) gates: &'s [T],
    pub(crate) cells: &'s [T],
    pub(crate) active: &'s [T],
    /// In: gradients of the hidden states by themselves; out: all in all.
    pub(crate) dhidden: &'s mut [T],
    pub(crate) dgates: &'s mut [T],
    /// A row per sequence. In: the gradient of each sequence's last cell; out: of the cells before the first step.
    pub(crate) dcells: &'s mut [T],
    /// A row per sequence: gradient of the hidden states before the first step.
    pub(crate) dfirst: Option<&'s mut [T]>,
    /// Added to.
    pub(crate) dpeepholes: Option<&'s mut [T]>,
}

impl<T: Math + GemmElem> Lstm<'_, T> {
    /// Runs all steps.
    pub(crate) fn forward(&self, pool: &Pool, states: States<'_, T>) {
        let d = self.cell.width;
        for t in 0..self.steps.len() {
            let now = self.steps.step(t);
            let (past_cells, cells) = states.cells.split_at_mut(now.start * d);
            let (past_hidden, hidden) = states.hidden.split_at_mut(now.start * d);
            let gates = &mut states.gates[now.start * 4 * d..now.end * 4 * d];
            if let Some(before) = self.before(t, past_hidden, self.first.hidden) {
                gemm(pool, gates, Mat::new(before, now.len(), d), self.weight, T::ONE, T::ONE);
            }
            self.cell.forward(Step {
                gates,
                before: self.before(t, past_cells, self.first.cells),
                cells: &mut cells[..now.len() * d],
                active: &mut states.active[now.start * d..now.end * d],
                hidden: &mut hidden[..now.len() * d],
            });
        }
    }

    /// The states before step `t`: rows of the step before, or those before the first.
    fn before<'s>(&self, t: usize, states: &'s [T], first: Option<&'s [T]>) -> Option<&'s [T]> {
        let d = self.cell.width;
        if t == 0 { first } else { Some(&states[self.steps.before(t).start * d..self.steps.before(t).end * d]) }
    }

    /// Runs the gradients of all steps, from the last to the first.
    pub(crate) fn backward(&self, pool: &Pool, mut grads: StateGrads<'_, T>) {
        let d = self.cell.width;
        for t in (0..self.steps.len()).rev() {
            let now = self.steps.step(t);
            let (of_state, of_gates) = (now.start * d..now.end * d, now.start * 4 * d..now.end * 4 * d);
            let (past, dhidden) = grads.dhidden.split_at_mut(of_state.start);
            self.cell.backward(StepGrad {
                gates: &grads.gates[of_gates.clone()],
                before: self.before(t, grads.cells, self.first.cells),
                cells: &grads.cells[of_state.clone()],
                active: &grads.active[of_state.clone()],
                dhidden: &dhidden[..of_state.len()],
                dcells: &mut grads.dcells[..of_state.len()],
                dgates: &mut grads.dgates[of_gates.clone()],
                dpeepholes: grads.dpeepholes.as_deref_mut(),
            });
            let dgates = Mat::new(&grads.dgates[of_gates], now.len(), 4 * d);
            if t > 0 {
                let last = self.steps.before(t);
                gemm(pool, &mut past[last.start * d..last.end * d], dgates, self.weight.t(), T::ONE, T::ONE);
            } else if let Some(dfirst) = grads.dfirst.as_deref_mut() {
                gemm(pool, dfirst, dgates, self.weight.t(), T::ONE, T::ZERO);
            }
        }
    }
}

/// The gradient of the weight that multiplies the states before each step: `before` holds those from the second step on, `first`
/// those of the first. `dsums` is the gradient of what the products were added to, in the order of steps.
pub(crate) fn weight_grad<T: GemmElem>(
    pool: &Pool,
    steps: &Steps,
    dweight: &mut [T],
    (before, first): (&[T], Option<&[T]>),
    dsums: Mat<'_, T>,
    width: usize,
) {
    let (start, later) = (steps.width(), steps.rows() - steps.width());
    let dlater = dsums.view(start, later, 0, dsums.cols());
    gemm(pool, dweight, Mat::new(before, later, width).t(), dlater, T::ONE, T::ZERO);
    if let Some(first) = first {
        let dfirst = dsums.view(0, start, 0, dsums.cols());
        gemm(pool, dweight, Mat::new(first, start, width).t(), dfirst, T::ONE, T::ONE);
    }
}
