//! `gru_unit`: one step of a gated recurrent unit.

use oarlock_ir::{AttrView, Dim, GradOp, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, sig, slots};
use oarlock_ir::{by_float, kernel};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Dims, Float, Tensor};

use crate::recurrent::gru_cell::{GruCell, GruKind, Step, StepGrad};
use crate::recurrent::steps::{Activation, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&GruUnit, &GRAD];

struct GruUnit;

impl OpDef for GruUnit {
    sig! {
        "gru_unit": "with (xu, xr, xc) = Input + Bias and Weight holding Wu and Wr side by side and then Wc: \
             u = gate_activation(xu + HiddenPrev Wu), r = gate_activation(xr + HiddenPrev Wr), \
             c = activation(xc + (r HiddenPrev) Wc), Hidden = (1 - u) HiddenPrev + u c; \
             with origin_mode Hidden = u HiddenPrev + (1 - u) c";
        in "Input": "three gates per row: update, reset, candidate";
        in "HiddenPrev": "the hidden states of the step before";
        in "Weight": "3 D D numbers, declared D x 3D: first D x 2D from states to update and reset gates, then D x D";
        in? "Bias": "1 x 3D";
        out "Gate": "update and reset gates and candidate, like `Input`";
        out "ResetHiddenPrev": "r HiddenPrev";
        out "Hidden": "the hidden states, like `HiddenPrev`";
        attr "activation" = 2, "of the candidate: 0 identity, 1 sigmoid, 2 tanh, 3 relu";
        attr "gate_activation" = 1, "of the gates: 0 identity, 1 sigmoid, 2 tanh, 3 relu";
        attr "origin_mode" = false, "the update gate says how much of the state stays";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        read_kind(&cx.attrs())?;
        let (input, hidden, weight) = (cx.float("Input")?, cx.float("HiddenPrev")?, cx.float("Weight")?);
        let fits = match (&input.shape[..], &hidden.shape[..], &weight.shape[..]) {
            ([_, gates], [_, width], [rows, columns]) => {
                let three = oarlock_ir::product(&[*width, Dim::Is(3)]);
                gates.fits(three) && columns.fits(three) && rows.fits(*width)
            }
            _ => false,
        };
        if !fits {
            let inputs = ["Input", "HiddenPrev", "Weight"].map(|slot| cx.describe(slot));
            let note = "`HiddenPrev` of width D needs an `Input` of width 3D and a `Weight` of D x 3D";
            return Err(cx.shape_error(format!("cannot use {} together", inputs.join(", "))).note(note));
        }
        cx.set("Gate", input);
        cx.set("ResetHiddenPrev", hidden.clone());
        cx.set("Hidden", hidden);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let unit = Unit::new(p)?;
        let outs = [p.output("Gate")?, p.output("ResetHiddenPrev")?, p.output("Hidden")?];
        by_float!(p.float("Input")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| unit.forward(io, outs, &mut scratch))
        })
    }
}

fn read_kind(attrs: &AttrView<'_>) -> Result<GruKind> {
    Ok(GruKind {
        gate: Activation::read_number(attrs, "gate_activation")?,
        candidate: Activation::read_number(attrs, "activation")?,
        origin: attrs.bool("origin_mode")?,
    })
}

slots! {
    /// The inputs of both operators.
    #[derive(Clone, Copy)]
    struct Unit(p) {
        input: input "Input",
        before: input "HiddenPrev",
        weight: input "Weight",
        bias: maybe_input "Bias",
        kind: GruKind = read_kind(&p.attrs())?,
    }
}

/// Memory that a kernel keeps: gates and candidates apart, and their gradients.
#[derive(Default)]
struct Scratch<T> {
    gates: Vec<T>,
    candidates: Vec<T>,
    dgates: Vec<T>,
    dcandidates: Vec<T>,
    dreset: Vec<T>,
    dbefore: Vec<T>,
}

/// Cuts rows of three gates into two and one.
fn part<T: Float>(rows: &[T], width: usize, gates: &mut Vec<T>, candidates: &mut Vec<T>) {
    gates.clear();
    candidates.clear();
    for row in rows.chunks_exact(3 * width) {
        gates.extend_from_slice(&row[..2 * width]);
        candidates.extend_from_slice(&row[2 * width..]);
    }
}

/// Joins them again.
fn join<T: Float>(rows: &mut [T], width: usize, gates: &[T], candidates: &[T]) {
    let from = gates.chunks_exact(2 * width).zip(candidates.chunks_exact(width));
    for (row, (gates, candidates)) in rows.chunks_exact_mut(3 * width).zip(from) {
        row[..2 * width].copy_from_slice(gates);
        row[2 * width..].copy_from_slice(candidates);
    }
}

impl Unit {
    /// Rows and width, checked.
    fn sizes(&self, io: &Io<'_>, input: &Tensor, before: &Tensor, weight: &Tensor) -> Result<(usize, usize)> {
        let (rows, width) = (before.rows(), weight.rows().max(1));
        expect_dims(io, self.weight, weight, &[width, 3 * width], "D x 3D")?;
        expect_dims(io, self.before, before, &[rows, width], "as wide as `Weight` has rows")?;
        expect_dims(io, self.input, input, &[rows, 3 * width], "three gates per row of `HiddenPrev`")?;
        Ok((rows, width))
    }

    fn forward<T: Math + GemmElem>(&self, io: &Io<'_>, outs: [Out; 3], scratch: &mut Scratch<T>) -> Result<()> {
        let (input, before, weight) = (io.dense(self.input)?, io.dense(self.before)?, io.dense(self.weight)?);
        let (rows, d) = self.sizes(io, &input, &before, &weight)?;
        let Scratch { gates, candidates, .. } = scratch;
        part(io.data::<T>(self.input, &input)?, d, gates, candidates);
        if let Some((slot, bias)) = maybe_dense(io, self.bias)? {
            if bias.numel() != 3 * d {
                let what = format_args!("is {}, but needs {} numbers", bias.dims(), 3 * d);
                return Err(io.error(Kind::Shape, slot, what));
            }
            let bias = io.data::<T>(slot, &bias)?;
            simd::add_bias(gates, &bias[..2 * d]);
            simd::add_bias(candidates, &bias[2 * d..]);
        }
        let [mut gate, mut reset, mut hidden] = [
            io.out_sized(outs[0], T::DTYPE, *input.dims())?,
            io.out_sized(outs[1], T::DTYPE, Dims::from([rows, d]))?,
            io.out_sized(outs[2], T::DTYPE, Dims::from([rows, d]))?,
        ];
        let cell = GruCell { width: d, kind: self.kind, weight: io.data::<T>(self.weight, &weight)? };
        let step = Step {
            before: Some(io.data::<T>(self.before, &before)?),
            gates,
            candidates,
            reset: io.data_mut::<T>(outs[1], &mut reset)?,
            hidden: io.data_mut::<T>(outs[2], &mut hidden)?,
        };
        cell.forward(io.pool(), step);
        join(io.data_mut::<T>(outs[0], &mut gate)?, d, gates, candidates);
        Ok(())
    }
}

const GRAD: GradOp = GradOp::of(
    &GruUnit,
    "gru_unit_grad(Input, HiddenPrev, Weight, Bias, Gate, ResetHiddenPrev, Hidden@GRAD) -> Input@GRAD, \
     HiddenPrev@GRAD, Weight@GRAD, Bias@GRAD",
)
.doc("gradients of `gru_unit`")
.traits(Traits::NONE.shape_only(&["Input", "Bias"]))
.kernel(|p| {
    let grad = UnitGrad::new(p)?;
    by_float!(p.float("Input")?, T => {
        let mut scratch = Scratch::<T>::default();
        kernel(move |io| grad.run(io, &mut scratch))
    })
});

slots! {
    #[derive(Clone, Copy)]
    struct UnitGrad(p) {
        unit: Unit = Unit::new(p)?,
        gate: input "Gate",
        reset: input "ResetHiddenPrev",
        dhidden: input "Hidden@GRAD",
        dinput: maybe_output "Input@GRAD",
        dbefore: maybe_output "HiddenPrev@GRAD",
        dweight: maybe_output "Weight@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

impl UnitGrad {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let of = &self.unit;
        let (input, before, weight) = (io.dense(of.input)?, io.dense(of.before)?, io.dense(of.weight)?);
        let (rows, d) = of.sizes(io, &input, &before, &weight)?;
        let (gate, dhidden) = (io.dense(self.gate)?, io.dense(self.dhidden)?);
        expect_dims(io, self.gate, &gate, &[rows, 3 * d], "like `Input`")?;
        expect_dims(io, self.dhidden, &dhidden, &[rows, d], "like `HiddenPrev`")?;
        part(io.data::<T>(self.gate, &gate)?, d, &mut scratch.gates, &mut scratch.candidates);
        scratch.dgates.resize(rows * 2 * d, T::ZERO);
        scratch.dcandidates.resize(rows * d, T::ZERO);
        scratch.dreset.resize(rows * d, T::ZERO);
        scratch.dbefore.clear();
        scratch.dbefore.resize(rows * d, T::ZERO);
        let before = io.data::<T>(of.before, &before)?;
        let cell = GruCell { width: d, kind: of.kind, weight: io.data::<T>(of.weight, &weight)? };
        let step = StepGrad {
            before: Some(before),
            gates: &scratch.gates,
            candidates: &scratch.candidates,
            dhidden: io.data::<T>(self.dhidden, &dhidden)?,
            dgates: &mut scratch.dgates,
            dcandidates: &mut scratch.dcandidates,
            dreset: &mut scratch.dreset,
            dbefore: &mut scratch.dbefore,
        };
        cell.backward(io.pool(), step);
        self.write(io, (rows, d), before, scratch)
    }

    /// Writes the gradients that are wanted.
    fn write<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        (rows, d): (usize, usize),
        before: &[T],
        scratch: &Scratch<T>,
    ) -> Result<()> {
        let Scratch { dgates, dcandidates, .. } = scratch;
        if let Some(out) = self.dinput {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, 3 * d]))?;
            join(io.data_mut::<T>(out, &mut to)?, d, dgates, dcandidates);
        }
        if let Some(out) = self.dbefore {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, d]))?;
            io.data_mut::<T>(out, &mut to)?.copy_from_slice(&scratch.dbefore);
        }
        if let Some(out) = self.dweight {
            let reset = io.dense(self.reset)?;
            expect_dims(io, self.reset, &reset, &[rows, d], "like `HiddenPrev`")?;
            let reset = Mat::new(io.data::<T>(self.reset, &reset)?, rows, d);
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([d, 3 * d]))?;
            let (to_gates, to_candidates) = io.data_mut::<T>(out, &mut to)?.split_at_mut(2 * d * d);
            let before = Mat::new(before, rows, d);
            gemm(io.pool(), to_gates, before.t(), Mat::new(dgates, rows, 2 * d), T::ONE, T::ZERO);
            gemm(io.pool(), to_candidates, reset.t(), Mat::new(dcandidates, rows, d), T::ONE, T::ZERO);
        }
        if let (Some(out), Some(bias)) = (self.dbias, self.unit.bias) {
            let mut to = io.out_sized(out, T::DTYPE, *io.dense(bias)?.dims())?;
            let (gates, candidates) = io.data_mut::<T>(out, &mut to)?.split_at_mut(2 * d);
            simd::column_sums(gates, dgates);
            simd::column_sums(candidates, dcandidates);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn unit() -> Check {
        check("gru_unit")
            .input("Input", noise([3, 6], 1))
            .input("HiddenPrev", noise([3, 2], 2))
            .input("Weight", noise([2, 6], 3))
            .any_output("Gate")
            .any_output("ResetHiddenPrev")
            .any_output("Hidden")
            .counting(&["Hidden"])
    }

    #[test]
    fn gradients() {
        unit().grad(&["Input", "HiddenPrev", "Weight"]).run();
        let biased = unit().input("Bias", noise([1, 6], 4)).attr("origin_mode", true).attr("activation", 1);
        biased.grad(&["Input", "HiddenPrev", "Weight", "Bias"]).run();
    }

    #[test]
    fn a_step_by_hand() {
        check("gru_unit")
            .input("Input", tensor([1, 3], &[0.0, 0.0, 1.0]))
            .input("HiddenPrev", tensor([1, 1], &[2.0]))
            .input("Weight", tensor([1, 3], &[0.0, 0.0, 3.0]))
            .attr("activation", 0)
            .output("Gate", tensor([1, 3], &[0.5, 0.5, 4.0]))
            .output("ResetHiddenPrev", tensor([1, 1], &[1.0]))
            .output("Hidden", tensor([1, 1], &[3.0]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = unit().attr("activation", 4).error();
        assert!(
            e.contains("attribute `activation` is 4; it can be 0 (identity), 1 (sigmoid), 2 (tanh) or 3 (relu)"),
            "{e}"
        );
        let e = unit().input("HiddenPrev", noise([3, 3], 2)).error();
        assert!(e.contains("`HiddenPrev` of width D needs an `Input` of width 3D"), "{e}");
    }
}
