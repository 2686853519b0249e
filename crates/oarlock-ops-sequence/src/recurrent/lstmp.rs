//! `lstmp`: a long short-term memory whose hidden state is projected to fewer numbers before the next step sees it.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig};
use oarlock_ir::{by_float, fail, kernel, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Dims, Float, Tensor};

use crate::recurrent::lstm_cell::{Activations, CandidateAt, LstmCell, Step, StepGrad, weight_grad};
use crate::recurrent::steps::{Activation, Steps, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&Lstmp, &GRAD];

struct Lstmp;

impl OpDef for Lstmp {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "lstmp",
            "`lstm` with (g, i, f, o) = Input[t] + P[t-1] Weight + Bias[:4D] and P[t] = proj_activation(H[t] ProjWeight); \
             cells are kept within cell_clip, projections within proj_clip",
        )
        .input("Input", "rows of four gates (candidate, input, forget, output), with LoD")
        .optional_input("H0", "the projection before the first step, a row per sequence; zeros without")
        .optional_input("C0", "the cell before the first step, a row per sequence; zeros without")
        .input("Weight", "P x 4D, from projection to gates")
        .input("ProjWeight", "D x P, from hidden state to projection")
        .input("Bias", "1 x 4D; with peepholes 1 x 7D: behind it those of the input, forget and output gates")
        .output("Projection", "projections, with the LoD of `Input`")
        .output("Cell", "cells, with the LoD of `Input`; no gradient flows through them")
        .output("BatchGate", "for the gradient: the gates, in the order of steps")
        .output("BatchCellPreAct", "for the gradient: the activated cells, in the order of steps")
        .output("BatchHidden", "for the gradient: the hidden states, in the order of steps");
        Activations::attrs(sig)
            .attr("cell_clip", 0.0f32, "bound of the cell; 0 for none")
            .attr("proj_clip", 0.0f32, "bound of the projection; 0 for none")
            .attr("proj_activation", "tanh", "identity, sigmoid, tanh or relu")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activations::read(&cx.attrs())?;
        let (input, weight, proj) = (cx.float("Input")?, cx.float("Weight")?, cx.float("ProjWeight")?);
        let ([rows, gates], [inner, columns], [width, projected]) =
            (&input.shape[..], &weight.shape[..], &proj.shape[..])
        else {
            let all = ["Input", "Weight", "ProjWeight"].map(|slot| cx.describe(slot));
            return Err(cx.shape_error(format!("needs matrices, but has {}", all.join(", "))));
        };
        let four = oarlock_ir::product(&[*width, Dim::Is(4)]);
        if !gates.fits(four) || !columns.fits(four) || !inner.fits(*projected) {
            let all = ["Input", "Weight", "ProjWeight"].map(|slot| cx.describe(slot));
            let note = "with a `ProjWeight` of D x P, `Input` has 4D columns and `Weight` is P x 4D";
            return Err(cx.shape_error(format!("cannot use {} together", all.join(", "))).note(note));
        }
        let parts = if cx.attrs().bool("use_peepholes")? { 7 } else { 4 };
        let expected = oarlock_ir::product(&[*width, Dim::Is(parts)]);
        if !oarlock_ir::product(&cx.float("Bias")?.shape[..]).fits(expected) {
            let what = format!("needs a bias of {expected} numbers, but has {}", cx.describe("Bias"));
            return Err(cx.shape_error(what).help("with use_peepholes the bias is 1 x 7D, without 1 x 4D"));
        }
        if cx.has("H0") != cx.has("C0") {
            fail!(Kind::Argument, "`lstmp` takes both `H0` and `C0`, or none of them");
        }
        let state = input.clone().with_shape(vec![*rows, *width]);
        cx.set("Projection", input.clone().with_shape(vec![*rows, *projected]));
        cx.set("Cell", state.clone());
        cx.set("BatchCellPreAct", state.clone().with_lod(0));
        cx.set("BatchHidden", state.with_lod(0));
        cx.set("BatchGate", input.with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lstm = Inputs::new(p)?;
        let input = p.input("Input")?;
        let slots = ["Projection", "Cell", "BatchGate", "BatchCellPreAct", "BatchHidden"];
        let mut outs = [Out(0); 5];
        for (out, slot) in outs.iter_mut().zip(slots) {
            *out = p.output(slot)?;
        }
        by_float!(p.float("Input")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| lstm.forward(io, input, outs, &mut scratch))
        })
    }
}

slots! {
    /// The inputs of both operators.
    #[derive(Clone, Copy)]
    struct Inputs(p) {
        h0: maybe_input "H0",
        c0: maybe_input "C0",
        weight: input "Weight",
        proj: input "ProjWeight",
        bias: input "Bias",
        peepholes: bool "use_peepholes",
        reverse: bool "is_reverse",
        act: Activations = Activations::read(&p.attrs())?,
        proj_act: Activation = Activation::read(&p.attrs(), "proj_activation")?,
        cell_clip: f32 "cell_clip",
        proj_clip: f32 "proj_clip",
    }
}

/// Memory that a kernel keeps, in the order of steps.
#[derive(Default)]
struct Scratch<T> {
    steps: Steps,
    first: [Vec<T>; 2],
    projections: Vec<T>,
    cells: Vec<T>,
    before: Vec<T>,
    dprojections: Vec<T>,
    dhidden: Vec<T>,
    dgates: Vec<T>,
    dcells: Vec<T>,
    dfirst: Vec<T>,
    dbias: Vec<T>,
}

impl Inputs {
    /// The widths of hidden state and projection, checked.
    fn widths(&self, io: &Io<'_>, weight: &Tensor, proj: &Tensor, bias: &Tensor) -> Result<(usize, usize)> {
        let (d, p) = (proj.rows().max(1), weight.rows().max(1));
        expect_dims(io, self.proj, proj, &[d, p], "D x P")?;
        expect_dims(io, self.weight, weight, &[p, 4 * d], "P x 4D")?;
        let numbers = d * if self.peepholes { 7 } else { 4 };
        if bias.numel() != numbers {
            return Err(io.error(
                Kind::Shape,
                self.bias,
                format_args!("is {}, but needs {numbers} numbers", bias.dims()),
            ));
        }
        Ok((d, p))
    }

    fn cell<'a, T: Math>(&self, width: usize, bias: &'a [T]) -> LstmCell<'a, T> {
        let peepholes = self.peepholes.then(|| &bias[4 * width..]);
        let clip = T::of(self.cell_clip.into());
        LstmCell { width, order: CandidateAt::First, act: self.act, peepholes, clip }
    }

    /// Keeps projections within their bound.
    fn clip<T: Float>(&self, projections: &mut [T]) {
        let bound = T::of(self.proj_clip.into());
        if bound > T::ZERO {
            projections.iter_mut().for_each(|p| *p = p.max(-bound).min(bound));
        }
    }

    /// From gradients of projections to those of the products they came from.
    fn unclip<T: Float>(&self, dprojections: &mut [T], projections: &[T]) {
        let bound = T::of(self.proj_clip.into());
        if bound > T::ZERO {
            let zero = |(d, p): (&mut T, &T)| {
                if p.abs() >= bound {
                    *d = T::ZERO
                }
            };
            dprojections.iter_mut().zip(projections).for_each(zero);
        }
        self.proj_act.grad(dprojections, projections);
    }

    fn forward<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        input_slot: In,
        outs: [Out; 5],
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let (input, weight) = (io.dense(input_slot)?, io.dense(self.weight)?);
        let (proj, bias) = (io.dense(self.proj)?, io.dense(self.bias)?);
        let (h0, c0) = (maybe_dense(io, self.h0)?, maybe_dense(io, self.c0)?);
        let (d, p) = self.widths(io, &weight, &proj, &bias)?;
        let rows = input.rows();
        expect_dims(io, input_slot, &input, &[rows, 4 * d], "four gates in every row")?;
        let offsets = lod_rows::offsets(io, input_slot, &input)?;
        let Scratch { steps, first: [first, first_cells], projections, cells, .. } = scratch;
        steps.arrange(offsets, self.reverse);
        let sequences = offsets.len() - 1;
        let first = first_state::<T>(io, &h0, sequences, p)?.map(|h| steps.gather_first(first, h, p));
        let first_cells = first_state::<T>(io, &c0, sequences, d)?.map(|c| steps.gather_first(first_cells, c, d));
        let sized = |i: usize, width: usize| io.out_sized(outs[i], T::DTYPE, Dims::from([rows, width]));
        let (mut projection_out, mut cell_out) = (sized(0, p)?, sized(1, d)?);
        let (mut gate_out, mut active_out, mut hidden_out) = (sized(2, 4 * d)?, sized(3, d)?, sized(4, d)?);
        let bias = io.data::<T>(self.bias, &bias)?;
        let gates = io.data_mut::<T>(outs[2], &mut gate_out)?;
        steps.gather(gates, io.data::<T>(input_slot, &input)?, 4 * d, Some(&bias[..4 * d]));
        projections.resize(rows * p, T::ZERO);
        cells.resize(rows * d, T::ZERO);
        let weight = Mat::new(io.data::<T>(self.weight, &weight)?, p, 4 * d);
        let proj = Mat::new(io.data::<T>(self.proj, &proj)?, d, p);
        let active = io.data_mut::<T>(outs[3], &mut active_out)?;
        let hidden = io.data_mut::<T>(outs[4], &mut hidden_out)?;
        let cell = self.cell(d, bias);
        for t in 0..steps.len() {
            let (now, n) = (steps.step(t), steps.step(t).len());
            let (past, projections) = projections.split_at_mut(now.start * p);
            let (past_cells, cells) = cells.split_at_mut(now.start * d);
            let last = if t == 0 { 0..0 } else { steps.before(t) };
            let before = if t == 0 { first } else { Some(&past[last.start * p..last.end * p]) };
            let cells_before = if t == 0 { first_cells } else { Some(&past_cells[last.start * d..last.end * d]) };
            let gates = &mut gates[now.start * 4 * d..now.end * 4 * d];
            if let Some(before) = before {
                gemm(io.pool(), gates, Mat::new(before, n, p), weight, T::ONE, T::ONE);
            }
            let hidden = &mut hidden[now.start * d..now.end * d];
            let active = &mut active[now.start * d..now.end * d];
            cell.forward(Step { gates, before: cells_before, cells: &mut cells[..n * d], active, hidden });
            let projections = &mut projections[..n * p];
            gemm(io.pool(), projections, Mat::new(hidden, n, d), proj, T::ONE, T::ZERO);
            self.proj_act.apply(projections);
            self.clip(projections);
        }
        steps.scatter(io.data_mut::<T>(outs[0], &mut projection_out)?, projections, p);
        steps.scatter(io.data_mut::<T>(outs[1], &mut cell_out)?, cells, d);
        projection_out.set_lod(input.lod().clone());
        cell_out.set_lod(input.lod().clone());
        Ok(())
    }
}

const GRAD: GradOp = GradOp::of(
    &Lstmp,
    "lstmp_grad(H0, C0, Weight, ProjWeight, Bias, Projection, Cell, BatchGate, BatchCellPreAct, BatchHidden, \
     Projection@GRAD) -> Input@GRAD, H0@GRAD, C0@GRAD, Weight@GRAD, ProjWeight@GRAD, Bias@GRAD",
)
.doc("gradients of `lstmp`, from the last step to the first")
.infer(|cx| {
    cx.grads_of(&["H0", "C0", "Weight", "ProjWeight", "Bias"])?;
    cx.same("Input@GRAD", "BatchGate")
})
.kernel(|p| {
    let grad = Grads::new(p)?;
    by_float!(p.float("BatchGate")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| grad.run(io, &mut scratch))
    })
});

slots! {
    #[derive(Clone, Copy)]
    struct Grads(p) {
        lstm: Inputs = Inputs::new(p)?,
        projection: input "Projection",
        cell: input "Cell",
        gate: input "BatchGate",
        active: input "BatchCellPreAct",
        hidden: input "BatchHidden",
        dprojection: input "Projection@GRAD",
        dinput: maybe_output "Input@GRAD",
        dh0: maybe_output "H0@GRAD",
        dc0: maybe_output "C0@GRAD",
        dweight: maybe_output "Weight@GRAD",
        dproj: maybe_output "ProjWeight@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

/// The inputs of the gradient; gates, activated and hidden states in the order of steps.
struct Forward<'a, T> {
    weight: Mat<'a, T>,
    proj: Mat<'a, T>,
    bias: &'a [T],
    gates: &'a [T],
    active: &'a [T],
    hidden: &'a [T],
    projections: &'a [T],
    first: Option<&'a [T]>,
    first_cells: Option<&'a [T]>,
}

impl Grads {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let of = &self.lstm;
        let (weight, proj, bias) = (io.dense(of.weight)?, io.dense(of.proj)?, io.dense(of.bias)?);
        let (h0, c0) = (maybe_dense(io, of.h0)?, maybe_dense(io, of.c0)?);
        let (d, p) = of.widths(io, &weight, &proj, &bias)?;
        let projection = io.dense(self.projection)?;
        let rows = projection.rows();
        let read = |slot: In, width: usize| -> Result<_> {
            let t = io.dense(slot)?;
            expect_dims(io, slot, &t, &[rows, width], "a row per row of `Projection`")?;
            Ok(t)
        };
        let (cell, gate, active) = (read(self.cell, d)?, read(self.gate, 4 * d)?, read(self.active, d)?);
        let (hidden, dprojection) = (read(self.hidden, d)?, read(self.dprojection, p)?);
        expect_dims(io, self.projection, &projection, &[rows, p], "rows of projections")?;
        let offsets = lod_rows::offsets(io, self.projection, &projection)?;
        let sequences = offsets.len() - 1;
        // Taken out, because they are read while the rest of the scratch memory is written.
        let mut steps = std::mem::take(&mut scratch.steps);
        let [mut first, mut first_cells] = std::mem::take(&mut scratch.first);
        steps.arrange(offsets, of.reverse);
        let projections = io.data::<T>(self.projection, &projection)?;
        for (to, from, width) in [
            (&mut scratch.cells, io.data::<T>(self.cell, &cell)?, d),
            (&mut scratch.projections, projections, p),
            (&mut scratch.dprojections, io.data::<T>(self.dprojection, &dprojection)?, p),
        ] {
            to.resize(rows * width, T::ZERO);
            steps.gather(to, from, width, None);
        }
        let (h0, c0) = (first_state::<T>(io, &h0, sequences, p)?, first_state::<T>(io, &c0, sequences, d)?);
        let forward = Forward {
            weight: Mat::new(io.data::<T>(of.weight, &weight)?, p, 4 * d),
            proj: Mat::new(io.data::<T>(of.proj, &proj)?, d, p),
            bias: io.data(of.bias, &bias)?,
            gates: io.data(self.gate, &gate)?,
            active: io.data(self.active, &active)?,
            hidden: io.data(self.hidden, &hidden)?,
            projections,
            first: h0.map(|h| steps.gather_first(&mut first, h, p)),
            first_cells: c0.map(|c| steps.gather_first(&mut first_cells, c, d)),
        };
        self.backward(io, &steps, &forward, scratch);
        self.write(io, &steps, sequences, &forward, scratch)?;
        (scratch.steps, scratch.first) = (steps, [first, first_cells]);
        Ok(())
    }

    /// Fills the gradients of `scratch`, whose `dprojections` holds those of the projections by themselves.
    fn backward<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        steps: &Steps,
        forward: &Forward<'_, T>,
        scratch: &mut Scratch<T>,
    ) {
        let (d, p) = (forward.proj.rows(), forward.proj.cols());
        let Scratch { projections, cells, dprojections, dhidden, dgates, dcells, dfirst, dbias, .. } = scratch;
        dgates.resize(steps.rows() * 4 * d, T::ZERO);
        dhidden.resize(steps.width() * d, T::ZERO);
        dfirst.resize(steps.width() * p, T::ZERO);
        dcells.clear();
        dcells.resize(steps.width() * d, T::ZERO);
        dbias.clear();
        dbias.resize(forward.bias.len(), T::ZERO);
        let (dgate_bias, dpeepholes) = dbias.split_at_mut(4 * d);
        let cell = self.lstm.cell(d, forward.bias);
        for t in (0..steps.len()).rev() {
            let (now, n) = (steps.step(t), steps.step(t).len());
            let last = if t == 0 { 0..0 } else { steps.before(t) };
            let (past, dprojections) = dprojections.split_at_mut(now.start * p);
            let dprojections = &mut dprojections[..n * p];
            self.lstm.unclip(dprojections, &projections[now.start * p..now.end * p]);
            let dhidden = &mut dhidden[..n * d];
            gemm(io.pool(), dhidden, Mat::new(dprojections, n, p), forward.proj.t(), T::ONE, T::ZERO);
            let (of_state, of_gates) = (now.start * d..now.end * d, now.start * 4 * d..now.end * 4 * d);
            let before = if t == 0 { forward.first_cells } else { Some(&cells[last.start * d..last.end * d]) };
            cell.backward(StepGrad {
                gates: &forward.gates[of_gates.clone()],
                before,
                cells: &cells[of_state.clone()],
                active: &forward.active[of_state],
                dhidden,
                dcells: &mut dcells[..n * d],
                dgates: &mut dgates[of_gates.clone()],
                dpeepholes: self.lstm.peepholes.then_some(&mut *dpeepholes),
            });
            let dgates = Mat::new(&dgates[of_gates], n, 4 * d);
            if t > 0 {
                let past = &mut past[last.start * p..last.end * p];
                gemm(io.pool(), past, dgates, forward.weight.t(), T::ONE, T::ONE);
            } else {
                gemm(io.pool(), dfirst, dgates, forward.weight.t(), T::ONE, T::ZERO);
            }
        }
        simd::column_sums(dgate_bias, dgates);
    }

    /// Writes the gradients that are wanted.
    fn write<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        steps: &Steps,
        sequences: usize,
        forward: &Forward<'_, T>,
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let (rows, d, p) = (steps.rows(), forward.proj.rows(), forward.proj.cols());
        if let Some(out) = self.dweight {
            scratch.before.resize((rows - steps.width()) * p, T::ZERO);
            steps.gather_before(&mut scratch.before, forward.projections, p);
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([p, 4 * d]))?;
            let dgates = Mat::new(&scratch.dgates, rows, 4 * d);
            let states = (&scratch.before[..], forward.first);
            weight_grad(io.pool(), steps, io.data_mut::<T>(out, &mut to)?, states, dgates, p);
        }
        if let Some(out) = self.dproj {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([d, p]))?;
            let hidden = Mat::new(forward.hidden, rows, d).t();
            let dprojections = Mat::new(&scratch.dprojections, rows, p);
            gemm(io.pool(), io.data_mut::<T>(out, &mut to)?, hidden, dprojections, T::ONE, T::ZERO);
        }
        if let Some(out) = self.dbias {
            let mut to = io.out_sized(out, T::DTYPE, *io.dense(self.lstm.bias)?.dims())?;
            io.data_mut::<T>(out, &mut to)?.copy_from_slice(&scratch.dbias);
        }
        if let Some(out) = self.dinput {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, 4 * d]))?;
            steps.scatter(io.data_mut::<T>(out, &mut to)?, &scratch.dgates, 4 * d);
        }
        for (out, from, width) in [(self.dh0, &scratch.dfirst, p), (self.dc0, &scratch.dcells, d)] {
            let Some(out) = out else { continue };
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([sequences, width]))?;
            steps.scatter_first(io.data_mut::<T>(out, &mut to)?, from, width);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, with_lod};

    fn lstmp(peepholes: bool) -> Check {
        check("lstmp")
            .input("Input", with_lod(noise([6, 8], 1), &[&[0, 2, 2, 5, 6]]))
            .input("Weight", noise([3, 8], 2))
            .input("ProjWeight", noise([2, 3], 6))
            .input("Bias", noise([1, if peepholes { 14 } else { 8 }], 3))
            .attr("use_peepholes", peepholes)
            .any_output("Projection")
            .any_output("Cell")
            .any_output("BatchGate")
            .any_output("BatchCellPreAct")
            .any_output("BatchHidden")
            .counting(&["Projection"])
    }

    #[test]
    fn gradients() {
        lstmp(false).grad(&["Input", "Weight", "ProjWeight", "Bias"]).run();
        lstmp(true)
            .input("H0", noise([4, 3], 4))
            .input("C0", noise([4, 2], 5))
            .attr("is_reverse", true)
            .grad(&["Input", "Weight", "ProjWeight", "Bias", "H0", "C0"])
            .run();
    }

    #[test]
    fn bounds_stop_gradients() {
        let bounded = lstmp(false).attr("cell_clip", 0.2f32).attr("proj_clip", 0.1f32);
        bounded.attr("proj_activation", "identity").grad(&["Input"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = lstmp(false).input("ProjWeight", noise([2, 4], 6)).error();
        assert!(e.contains("with a `ProjWeight` of D x P, `Input` has 4D columns and `Weight` is P x 4D"), "{e}");
    }
}
