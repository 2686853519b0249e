//! `attention_lstm`: an LSTM whose input at each step is a mean of the sequence, weighted by what the cell looks for.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig, slots};
use oarlock_ops_support::{checks, lod_rows};
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::simd::Math;

use crate::recurrent::steps::{Activation, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&AttentionLstm];

struct AttentionLstm;

impl OpDef for AttentionLstm {
    sig! {
        "attention_lstm":
            "at each step of a sequence x with the cell c before it: weights = softmax(relu(relu([x, c] AttentionWeight + \
             AttentionBias) * AttentionScalar + AttentionScalarBias)), input = weights x, then the step of an LSTM with LSTMWeight \
             and LSTMBias; for inference, without a gradient";
        in "X": "[rows, M], with a LoD";
        in "C0": "the cell before the first step, a row of D per sequence";
        in? "H0": "the hidden state before the first step, a row of D per sequence; zeros without";
        in "AttentionWeight": "[M + D, 1]";
        in? "AttentionBias": "[1, 1]";
        in? "AttentionScalar": "[1, 1]; without it, it and its bias are left out of the formula";
        in? "AttentionScalarBias": "[1, 1]";
        in "LSTMWeight": "[D + M, 4 D]: first from hidden state, then from input, to gates (forget, input, output, candidate)";
        in "LSTMBias": "[1, 4 D]";
        out "Hidden": "[rows, D], with the LoD of `X`";
        out "Cell": "[rows, D], with the LoD of `X`";
        out? "AttentionedX": "scratch memory of other systems; not written";
        out? "AttentionFCOut": "scratch memory of other systems; not written";
        out? "LSTMX": "scratch memory of other systems; not written";
        out? "LSTMOUT": "scratch memory of other systems; not written";
        attr "gate_activation" = "sigmoid", "identity, sigmoid, tanh or relu";
        attr "cell_activation" = "tanh", "identity, sigmoid, tanh or relu";
        attr "candidate_activation" = "tanh", "identity, sigmoid, tanh or relu";
        traits Traits::NONE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, attention, weight) = (cx.float("X")?, cx.float("AttentionWeight")?, cx.float("LSTMWeight")?);
        let width = match (&x.shape[..], &attention.shape[..], &weight.shape[..]) {
            ([_, m], [rows, one], [sum, gates]) => {
                let d = gates.known().filter(|n| n % 4 == 0).map_or(Dim::Any, |n| Dim::Is(n / 4));
                let both = match (m.known(), d.known()) {
                    (Some(m), Some(d)) => Dim::Is(m + d),
                    _ => Dim::Any,
                };
                let whole = gates.known().is_none_or(|n| n % 4 == 0);
                (whole && sum.fits(both) && rows.fits(both) && one.fits(Dim::Is(1))).then_some(d)
            }
            _ => None,
        };
        let Some(width) = width else {
            let all = ["X", "AttentionWeight", "LSTMWeight"].map(|slot| cx.describe(slot)).join(", ");
            let note = "with an `X` of M columns, `AttentionWeight` is (M + D) x 1 and `LSTMWeight` (D + M) x 4D";
            return Err(cx.shape_error(format_args!("cannot use {all} together")).note(note));
        };
        let state = x.clone().with_shape(vec![x.shape[0], width]);
        cx.set("Hidden", state.clone());
        cx.set("Cell", state);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lstm = Attention::new(p)?;
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| lstm.run(io, &mut scratch))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Attention(p) {
        x: input "X",
        c0: input "C0",
        h0: maybe_input "H0",
        attention: input "AttentionWeight",
        bias: maybe_input "AttentionBias",
        scalar: maybe_input "AttentionScalar",
        scalar_bias: maybe_input "AttentionScalarBias",
        weight: input "LSTMWeight",
        lstm_bias: input "LSTMBias",
        hidden: output "Hidden",
        cell: output "Cell",
        gate: Activation = Activation::read(&p.attrs(), "gate_activation")?,
        cell_act: Activation = Activation::read(&p.attrs(), "cell_activation")?,
        candidate: Activation = Activation::read(&p.attrs(), "candidate_activation")?,
    }
}

/// Memory that a kernel keeps.
#[derive(Default)]
struct Scratch<T> {
    /// For each row, how much it is looked for whatever the cell is.
    wanted: Vec<T>,
    /// Weights of the rows of a sequence.
    weights: Vec<T>,
    /// The input of a step.
    input: Vec<T>,
    gates: Vec<T>,
}

/// The values of a run.
struct Values<'t, T> {
    m: usize,
    d: usize,
    /// The part of the attention's weight that the cell meets.
    for_cell: &'t [T],
    scalar: Option<(T, T)>,
    /// From hidden state and from input to gates.
    weights: [Mat<'t, T>; 2],
    bias: &'t [T],
}

impl Attention {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let (x, c0, h0) = (io.dense(self.x)?, io.dense(self.c0)?, maybe_dense(io, self.h0)?);
        let (attention, weight, bias) = (io.dense(self.attention)?, io.dense(self.weight)?, io.dense(self.lstm_bias)?);
        let (rows, m) = x.dims().matrix(1);
        let d = weight.dims().matrix(1).1 / 4;
        checks::expect_dims(io, self.weight, &weight, &[d + m, 4 * d], "(D + M) x 4D")?;
        checks::expect_dims(io, self.attention, &attention, &[m + d, 1], "(M + D) x 1")?;
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        let sequences = offsets.len() - 1;
        checks::expect_dims(io, self.c0, &c0, &[sequences, d], "a row per sequence")?;
        let (first, h0) = (io.data::<T>(self.c0, &c0)?, first_state::<T>(io, &h0, sequences, d)?);
        let attention = io.data::<T>(self.attention, &attention)?;
        let weight = io.data::<T>(self.weight, &weight)?;
        let number = |slot: Option<In>| slot.map(|s| io.scalar(s)).transpose();
        let scalar_bias = number(self.scalar_bias)?.unwrap_or(0.0);
        let values = Values {
            m,
            d,
            for_cell: &attention[m..],
            scalar: number(self.scalar)?.map(|scalar| (T::of(scalar), T::of(scalar_bias))),
            weights: [Mat::new(&weight[..d * 4 * d], d, 4 * d), Mat::new(&weight[d * 4 * d..], m, 4 * d)],
            bias: checks::sized::<T>(io, self.lstm_bias, &bias, 4 * d)?,
        };
        let data = io.data::<T>(self.x, &x)?;
        let offset = T::of(number(self.bias)?.unwrap_or(0.0));
        scratch.wanted.clear();
        scratch.wanted.extend(data.chunks_exact(m.max(1)).map(|row| dot(row, &attention[..m]) + offset));
        let mut hidden = io.out_sized(self.hidden, T::DTYPE, Dims::from([rows, d]))?;
        let mut cells = io.out_sized(self.cell, T::DTYPE, Dims::from([rows, d]))?;
        hidden.set_lod(x.lod().clone());
        cells.set_lod(x.lod().clone());
        let hidden = io.data_mut::<T>(self.hidden, &mut hidden)?;
        let cells = io.data_mut::<T>(self.cell, &mut cells)?;
        for (n, of) in offsets.windows(2).enumerate() {
            for row in of[0]..of[1] {
                let (past_cells, cell) = cells.split_at_mut(row * d);
                let (past_hidden, hidden) = hidden.split_at_mut(row * d);
                let (before, hidden_before) = if row == of[0] {
                    (&first[n * d..][..d], h0.map(|h| &h[n * d..][..d]))
                } else {
                    (&past_cells[(row - 1) * d..], Some(&past_hidden[(row - 1) * d..]))
                };
                let sequence = Mat::new(&data[of[0] * m..of[1] * m], of[1] - of[0], m);
                self.attend(io, &values, (of[0], sequence), before, scratch);
                self.step(io, &values, (before, hidden_before), (&mut cell[..d], &mut hidden[..d]), scratch);
            }
        }
        Ok(())
    }

    /// The input of a step: the mean of the sequence, by the weights that the cell gives its rows.
    fn attend<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        values: &Values<'_, T>,
        (start, sequence): (usize, Mat<'_, T>),
        cell: &[T],
        scratch: &mut Scratch<T>,
    ) {
        let Scratch { wanted, weights, input, .. } = scratch;
        let for_cell = dot(cell, values.for_cell);
        let score = |wanted: &T| {
            let score = (*wanted + for_cell).max(T::ZERO);
            values.scalar.map_or(score, |(scalar, bias)| (score * scalar + bias).max(T::ZERO))
        };
        weights.clear();
        weights.extend(wanted[start..start + sequence.rows()].iter().map(score));
        let greatest = weights.iter().fold(-T::INFINITY, |max, v| max.max(*v));
        weights.iter_mut().for_each(|v| *v = (*v - greatest).exp());
        let total: T = weights.iter().copied().sum();
        weights.iter_mut().for_each(|v| *v *= T::ONE / total);
        input.resize(values.m, T::ZERO);
        gemm(io.pool(), input, Mat::new(weights, 1, sequence.rows()), sequence, T::ONE, T::ZERO);
    }

    fn step<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        values: &Values<'_, T>,
        (before, hidden_before): (&[T], Option<&[T]>),
        (cell, hidden): (&mut [T], &mut [T]),
        scratch: &mut Scratch<T>,
    ) {
        let (d, gates) = (values.d, &mut scratch.gates);
        gates.clear();
        gates.extend_from_slice(values.bias);
        gemm(io.pool(), gates, Mat::new(&scratch.input, 1, values.m), values.weights[1], T::ONE, T::ONE);
        if let Some(hidden) = hidden_before {
            gemm(io.pool(), gates, Mat::new(hidden, 1, d), values.weights[0], T::ONE, T::ONE);
        }
        self.gate.apply(&mut gates[..3 * d]);
        self.candidate.apply(&mut gates[3 * d..]);
        for i in 0..d {
            cell[i] = gates[i] * before[i] + gates[d + i] * gates[3 * d + i];
        }
        hidden.copy_from_slice(cell);
        self.cell_act.apply(hidden);
        hidden.iter_mut().zip(&gates[2 * d..]).for_each(|(h, gate)| *h *= *gate);
    }
}

fn dot<T: Math>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).map(|(a, b)| *a * *b).sum()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        check("attention_lstm")
            .input("X", with_lod(tensor([2, 1], &[2.0, 4.0]), &[&[0, 2]]))
            .input("C0", tensor([1, 1], &[1.0]))
            .input("AttentionWeight", tensor([2, 1], &[0.0, 0.0]))
            .input("LSTMWeight", tensor([2, 4], &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]))
            .input("LSTMBias", tensor([1, 4], &[0.0; 4]))
            .attr("candidate_activation", "identity")
            .attr("cell_activation", "identity")
    }

    #[test]
    fn input_is_a_weighted_mean() {
        // Equal weights give the input 3, so the candidate is 1.5; all gates are 1/2.
        case()
            .output("Hidden", with_lod(tensor([2, 1], &[0.625, 0.6875]), &[&[0, 2]]))
            .output("Cell", with_lod(tensor([2, 1], &[1.25, 1.375]), &[&[0, 2]]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("LSTMWeight", noise([3, 4], 1)).any_output("Hidden").any_output("Cell").error();
        assert!(e.contains("`AttentionWeight` is (M + D) x 1 and `LSTMWeight` (D + M) x 4D"), "{e}");
        let e = case().input("C0", noise([2, 1], 1)).any_output("Hidden").any_output("Cell").error();
        assert!(e.contains("input `C0` = `C0.0` is [2, 1], but must be [1, 1] (a row per sequence)"), "{e}");
    }
}
