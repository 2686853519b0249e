//! `gru`: a gated recurrent unit over sequences; the products of its input with a weight are computed before it.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::gemm::{GemmElem, Mat};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Dims, Tensor};

use crate::recurrent::gru_cell::{GruCell, GruKind, Step, StepGrad};
use crate::recurrent::lstm_cell::weight_grad;
use crate::recurrent::steps::{Activation, Steps, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&Gru, &GRAD];

struct Gru;

impl OpDef for Gru {
    sig! {
        "gru":
            "for every step t of every innermost sequence, with (xu, xr, xc) = Input[t] + Bias and Weight holding Wu and Wr side \
             by side and then Wc: u = gate_activation(xu + H[t-1] Wu), r = gate_activation(xr + H[t-1] Wr), \
             c = activation(xc + (r H[t-1]) Wc), H[t] = (1 - u) H[t-1] + u c; with origin_mode H[t] = u H[t-1] + (1 - u) c";
        in "Input": "rows of three gates (update, reset, candidate), with LoD";
        in? "H0": "the hidden state before the first step, a row per sequence; zeros without";
        in "Weight": "3 D D numbers, declared D x 3D: first D x 2D from states to update and reset gates, then D x D";
        in? "Bias": "1 x 3D";
        out "BatchGate": "for the gradient: rows of update gate, reset gate and candidate, in the order of steps";
        out "BatchResetHiddenPrev": "for the gradient: reset states, in the order of steps";
        out "BatchHidden": "for the gradient: hidden states, in the order of steps";
        out "Hidden": "hidden states, with the LoD of `Input`";
        attr "activation" = "tanh", "of the candidate: identity, sigmoid, tanh or relu";
        attr "gate_activation" = "sigmoid", "of the gates: identity, sigmoid, tanh or relu";
        attr "is_reverse" = false, "from the last row of a sequence to the first";
        attr "origin_mode" = false, "the update gate says how much of the state stays";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        read_kind(&cx.attrs())?;
        let (input, weight) = (cx.float("Input")?, cx.float("Weight")?);
        let [rows, gates] = input.shape[..] else {
            return Err(cx.shape_error(format!("needs rows of gates, but has {}", cx.describe("Input"))));
        };
        let [width, weight_gates] = weight.shape[..] else {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("Weight"))));
        };
        let three = oarlock_ir::product(&[width, Dim::Is(3)]);
        if !gates.fits(three) || !weight_gates.fits(three) {
            let what = format!("cannot use {} with {}", cx.describe("Weight"), cx.describe("Input"));
            let note = format!(
                "a state of width {width} has gates of width {three}: `Weight` is D x 3D, `Input` has 3D columns"
            );
            return Err(cx.shape_error(what).note(note));
        }
        if cx.has("Bias") && !oarlock_ir::product(&cx.float("Bias")?.shape[..]).fits(three) {
            return Err(cx.shape_error(format!("needs a bias of {three} numbers, but has {}", cx.describe("Bias"))));
        }
        let state = input.clone().with_shape(vec![rows, width]);
        cx.set("Hidden", state.clone());
        cx.set("BatchGate", input.with_lod(0));
        cx.set("BatchResetHiddenPrev", state.clone().with_lod(0));
        cx.set("BatchHidden", state.with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let gru = Inputs::new(p)?;
        let outs =
            [p.output("Hidden")?, p.output("BatchGate")?, p.output("BatchResetHiddenPrev")?, p.output("BatchHidden")?];
        by_float!(p.float("Input")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| gru.forward(io, outs, &mut scratch))
        })
    }
}

fn read_kind(attrs: &oarlock_ir::AttrView<'_>) -> Result<GruKind> {
    Ok(GruKind {
        gate: Activation::read(attrs, "gate_activation")?,
        candidate: Activation::read(attrs, "activation")?,
        origin: attrs.bool("origin_mode")?,
    })
}

slots! {
    /// The inputs of both operators.
    #[derive(Clone, Copy)]
    struct Inputs(p) {
        input: input "Input",
        h0: maybe_input "H0",
        weight: input "Weight",
        bias: maybe_input "Bias",
        reverse: bool "is_reverse",
        kind: GruKind = read_kind(&p.attrs())?,
    }
}

/// Memory that a kernel keeps.
#[derive(Default)]
struct Scratch<T> {
    steps: Steps,
    h0: Vec<T>,
    /// Update and reset gates, as one matrix.
    gates: Vec<T>,
    candidates: Vec<T>,
    dhidden: Vec<T>,
    dgates: Vec<T>,
    dcandidates: Vec<T>,
    dreset: Vec<T>,
    dfirst: Vec<T>,
    before: Vec<T>,
}

impl Inputs {
    /// The width of a state, checked.
    fn width(&self, io: &Io<'_>, input: &Tensor, weight: &Tensor) -> Result<usize> {
        let width = weight.rows().max(1);
        expect_dims(io, self.weight, weight, &[width, 3 * width], "D x 3D")?;
        expect_dims(io, self.input, input, &[input.rows(), 3 * width], "three gates in every row")?;
        Ok(width)
    }

    fn forward<T: Math + GemmElem>(&self, io: &Io<'_>, outs: [Out; 4], scratch: &mut Scratch<T>) -> Result<()> {
        let (input, weight) = (io.dense(self.input)?, io.dense(self.weight)?);
        let (h0, bias) = (maybe_dense(io, self.h0)?, maybe_dense(io, self.bias)?);
        let d = self.width(io, &input, &weight)?;
        let offsets = lod_rows::offsets(io, self.input, &input)?;
        let steps = &mut scratch.steps;
        steps.arrange(offsets, self.reverse);
        let h0 = first_state::<T>(io, &h0, offsets.len() - 1, d)?;
        let h0 = h0.map(|h| steps.gather_first(&mut scratch.h0, h, d));
        let rows = input.rows();
        let [mut hidden_out, mut gate_out, mut reset_out, mut batch_out] = [
            io.out_sized(outs[0], T::DTYPE, Dims::from([rows, d]))?,
            io.out_sized(outs[1], T::DTYPE, Dims::from([rows, 3 * d]))?,
            io.out_sized(outs[2], T::DTYPE, Dims::from([rows, d]))?,
            io.out_sized(outs[3], T::DTYPE, Dims::from([rows, d]))?,
        ];
        let bias = match &bias {
            Some((slot, t)) if t.numel() == 3 * d => Some(io.data::<T>(*slot, t)?),
            Some((slot, t)) => {
                return Err(io.error(Kind::Shape, *slot, format_args!("is {}, but needs {} numbers", t.dims(), 3 * d)));
            }
            None => None,
        };
        let (gates, candidates) = (&mut scratch.gates, &mut scratch.candidates);
        gates.resize(rows * 2 * d, T::ZERO);
        candidates.resize(rows * d, T::ZERO);
        steps.gather_parts(gates, candidates, io.data::<T>(self.input, &input)?, (2 * d, d), bias);
        let cell = GruCell { width: d, kind: self.kind, weight: io.data::<T>(self.weight, &weight)? };
        let reset = io.data_mut::<T>(outs[2], &mut reset_out)?;
        let hidden = io.data_mut::<T>(outs[3], &mut batch_out)?;
        cell.all_steps(io.pool(), steps, h0, Step { before: None, gates, candidates, reset, hidden });
        for (row, (gates, candidates)) in io
            .data_mut::<T>(outs[1], &mut gate_out)?
            .chunks_exact_mut(3 * d)
            .zip(scratch.gates.chunks_exact(2 * d).zip(scratch.candidates.chunks_exact(d)))
        {
            row[..2 * d].copy_from_slice(gates);
            row[2 * d..].copy_from_slice(candidates);
        }
        steps.scatter(io.data_mut::<T>(outs[0], &mut hidden_out)?, hidden, d);
        hidden_out.set_lod(input.lod().clone());
        Ok(())
    }
}

/// Rows of `width` elements.
fn rows_of<T>(of: &[T], rows: std::ops::Range<usize>, width: usize) -> &[T] {
    &of[rows.start * width..rows.end * width]
}

const GRAD: GradOp = GradOp::of(
    &Gru,
    "gru_grad(Input, H0, Weight, Bias, BatchGate, BatchResetHiddenPrev, BatchHidden, Hidden, \
     Hidden@GRAD) -> Input@GRAD, H0@GRAD, Weight@GRAD, Bias@GRAD",
)
.doc("gradients of `gru`, from the last step to the first")
.traits(Traits::NONE.shape_only(&["Input", "Bias", "Hidden"]))
.kernel(|p| {
    let grad = Grads::new(p)?;
    by_float!(p.float("Input")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| grad.run(io, &mut scratch))
    })
});

slots! {
    #[derive(Clone, Copy)]
    struct Grads(p) {
        gru: Inputs = Inputs::new(p)?,
        gate: input "BatchGate",
        reset: input "BatchResetHiddenPrev",
        hidden: input "BatchHidden",
        dhidden: input "Hidden@GRAD",
        dinput: maybe_output "Input@GRAD",
        dh0: maybe_output "H0@GRAD",
        dweight: maybe_output "Weight@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

/// The inputs of the gradient, in the order of steps.
struct Forward<'a, T> {
    gates: &'a [T],
    candidates: &'a [T],
    reset: &'a [T],
    hidden: &'a [T],
    h0: Option<&'a [T]>,
}

impl Grads {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let of = &self.gru;
        let (input, weight, h0) = (io.dense(of.input)?, io.dense(of.weight)?, maybe_dense(io, of.h0)?);
        let d = of.width(io, &input, &weight)?;
        let rows = input.rows();
        let read = |slot: In, width: usize| -> Result<_> {
            let t = io.dense(slot)?;
            expect_dims(io, slot, &t, &[rows, width], "a row per row of `Input`")?;
            Ok(t)
        };
        let (gate, reset) = (read(self.gate, 3 * d)?, read(self.reset, d)?);
        let (hidden, dhidden) = (read(self.hidden, d)?, read(self.dhidden, d)?);
        let offsets = lod_rows::offsets(io, of.input, &input)?;
        let mut steps = std::mem::take(&mut scratch.steps);
        steps.arrange(offsets, of.reverse);
        let h0 = first_state::<T>(io, &h0, offsets.len() - 1, d)?;
        let mut first = std::mem::take(&mut scratch.h0);
        let (mut gates, mut candidates) = (std::mem::take(&mut scratch.gates), std::mem::take(&mut scratch.candidates));
        gates.clear();
        candidates.clear();
        for row in io.data::<T>(self.gate, &gate)?.chunks_exact(3 * d) {
            gates.extend_from_slice(&row[..2 * d]);
            candidates.extend_from_slice(&row[2 * d..]);
        }
        let forward = Forward {
            gates: &gates,
            candidates: &candidates,
            reset: io.data(self.reset, &reset)?,
            hidden: io.data(self.hidden, &hidden)?,
            h0: h0.map(|h| steps.gather_first(&mut first, h, d)),
        };
        scratch.dhidden.resize(rows * d, T::ZERO);
        steps.gather(&mut scratch.dhidden, io.data::<T>(self.dhidden, &dhidden)?, d, None);
        let cell = GruCell { width: d, kind: of.kind, weight: io.data::<T>(of.weight, &weight)? };
        backward(io, &steps, cell, &forward, scratch);
        self.write(io, &steps, (&input, &weight), &forward, scratch)?;
        (scratch.gates, scratch.candidates) = (gates, candidates);
        scratch.steps = steps;
        scratch.h0 = first;
        Ok(())
    }

    /// Writes the gradients that are wanted.
    fn write<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        steps: &Steps,
        (input, weight): (&Tensor, &Tensor),
        forward: &Forward<'_, T>,
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let (rows, d) = (input.rows(), weight.rows());
        let Scratch { dgates, dcandidates, before, .. } = scratch;
        if let Some(out) = self.dweight {
            before.resize((rows - steps.width()) * d, T::ZERO);
            let mut to = io.out_sized(out, T::DTYPE, *weight.dims())?;
            let (to_gates, to_candidates) = io.data_mut::<T>(out, &mut to)?.split_at_mut(2 * d * d);
            for (t, at) in (1..steps.len()).map(|t| (t, (steps.step(t).start - steps.width()) * d)) {
                let from = rows_of(forward.hidden, steps.before(t), d);
                before[at..at + from.len()].copy_from_slice(from);
            }
            let dsums = Mat::new(dgates, rows, 2 * d);
            weight_grad(io.pool(), steps, to_gates, (before, forward.h0), dsums, d);
            let reset = Mat::new(forward.reset, rows, d).t();
            oarlock_tensor::gemm::gemm(
                io.pool(),
                to_candidates,
                reset,
                Mat::new(dcandidates, rows, d),
                T::ONE,
                T::ZERO,
            );
        }
        if let (Some(out), Some(bias)) = (self.dbias, self.gru.bias) {
            let mut to = io.out_sized(out, T::DTYPE, *io.dense(bias)?.dims())?;
            let (gates, candidates) = io.data_mut::<T>(out, &mut to)?.split_at_mut(2 * d);
            simd::column_sums(gates, dgates);
            simd::column_sums(candidates, dcandidates);
        }
        if let Some(out) = self.dinput {
            let mut to = io.out_sized(out, T::DTYPE, *input.dims())?;
            steps.scatter_parts(io.data_mut::<T>(out, &mut to)?, dgates, dcandidates, (2 * d, d));
        }
        if let (Some(out), Some(h0)) = (self.dh0, self.gru.h0) {
            let mut to = io.out_sized(out, T::DTYPE, *io.dense(h0)?.dims())?;
            steps.scatter_first(io.data_mut::<T>(out, &mut to)?, &scratch.dfirst, d);
        }
        Ok(())
    }
}

/// Fills the gradients of `scratch`, whose `dhidden` holds those of the hidden states by themselves.
fn backward<T: Math + GemmElem>(
    io: &Io<'_>,
    steps: &Steps,
    cell: GruCell<'_, T>,
    forward: &Forward<'_, T>,
    scratch: &mut Scratch<T>,
) {
    let (rows, d) = (steps.rows(), cell.width);
    scratch.dgates.resize(rows * 2 * d, T::ZERO);
    scratch.dcandidates.resize(rows * d, T::ZERO);
    scratch.dreset.resize(steps.width() * d, T::ZERO);
    scratch.dfirst.clear();
    scratch.dfirst.resize(steps.width() * d, T::ZERO);
    for t in (0..steps.len()).rev() {
        let now = steps.step(t);
        let of_state = now.start * d..now.end * d;
        let (past, dhidden) = scratch.dhidden.split_at_mut(of_state.start);
        let (before, dbefore) = match t {
            0 => (forward.h0, &mut scratch.dfirst[..]),
            _ => {
                let last = steps.before(t);
                (Some(rows_of(forward.hidden, last.clone(), d)), &mut past[last.start * d..last.end * d])
            }
        };
        let step = StepGrad {
            before,
            gates: &forward.gates[2 * of_state.start..2 * of_state.end],
            candidates: &forward.candidates[of_state.clone()],
            dhidden: &dhidden[..of_state.len()],
            dgates: &mut scratch.dgates[2 * of_state.start..2 * of_state.end],
            dcandidates: &mut scratch.dcandidates[of_state.clone()],
            dreset: &mut scratch.dreset[..of_state.len()],
            dbefore,
        };
        cell.backward(io.pool(), step);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn gru() -> Check {
        check("gru")
            .input("Input", with_lod(noise([6, 6], 1), &[&[0, 2, 2, 5, 6]]))
            .input("Weight", noise([2, 6], 2))
            .any_output("Hidden")
            .any_output("BatchGate")
            .any_output("BatchResetHiddenPrev")
            .any_output("BatchHidden")
            .counting(&["Hidden"])
    }

    #[test]
    fn gradients() {
        gru().grad(&["Input", "Weight"]).run();
        let whole = || gru().input("Bias", noise([1, 6], 3)).input("H0", noise([4, 2], 4));
        whole().attr("is_reverse", true).grad(&["Input", "Weight", "Bias", "H0"]).run();
        whole().attr("origin_mode", true).attr("activation", "sigmoid").grad(&["Input", "Weight", "Bias", "H0"]).run();
        gru().attr("origin_mode", true).grad(&["Input", "Weight"]).run();
    }

    #[test]
    fn two_steps_by_hand() {
        // All gates half open: a step goes half of the way to the candidate.
        check("gru")
            .input("Input", with_lod(tensor([2, 3], &[0.0, 0.0, 8.0, 0.0, 0.0, 8.0]), &[&[0, 2]]))
            .input("Weight", tensor([1, 3], &[0.0, 0.0, 1.0]))
            .attr("activation", "identity")
            .output("Hidden", with_lod(tensor([2, 1], &[4.0, 7.0]), &[&[0, 2]]))
            .any_output("BatchGate")
            .any_output("BatchResetHiddenPrev")
            .any_output("BatchHidden")
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = gru().input("Weight", noise([3, 6], 2)).error();
        assert!(e.contains("a state of width 3 has gates of width 9"), "{e}");
        let e = gru().input("Bias", noise([1, 4], 2)).error();
        assert!(e.contains("`gru` needs a bias of 6 numbers, but has `Bias` = Bias.0 f32[1, 4]"), "{e}");
        let e = gru().input("H0", noise([2, 2], 2)).error();
        assert!(e.contains("input `H0` = `H0.0` is [2, 2], but must be [4, 2] (a row per sequence)"), "{e}");
    }
}
