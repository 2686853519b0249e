//! `lstm`: a long short-term memory over sequences; the products of its input with a weight are computed before it.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits};
use oarlock_ir::{by_float, fail, kernel, sig, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::gemm::{GemmElem, Mat};
use oarlock_tensor::simd::{self, Math};
use oarlock_tensor::{Dims, Tensor};

use crate::recurrent::lstm_cell::{
    Activations, CandidateAt, First, Lstm, LstmCell, StateGrads, States, gather_first, weight_grad,
};
use crate::recurrent::steps::{Steps, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&LstmOp, &LstmGrad];

struct LstmOp;

impl OpDef for LstmOp {
    sig! {
        "lstm":
            "for every step t of every innermost sequence, with (g, i, f, o) = Input[t] + H[t-1] Weight + Bias[:4D]: \
             C[t] = i g + f C[t-1] and H[t] = o cell_activation(C[t]), where g goes through the candidate activation and i, f, o \
             through the gate activation first; with peepholes p = Bias[4D:], i and f also see p C[t-1], and o sees p C[t]";
        in "Input": "rows of four gates (candidate, input, forget, output), with LoD";
        in? "H0": "the hidden state before the first step, a row per sequence; zeros without";
        in? "C0": "the cell before the first step, a row per sequence; zeros without";
        in "Weight": "D x 4D, from hidden state to gates";
        in "Bias": "1 x 4D; with peepholes 1 x 7D: behind it those of the input, forget and output gates";
        out "Hidden": "hidden states, with the LoD of `Input`";
        out "Cell": "cells, with the LoD of `Input`; no gradient flows through them";
        out "BatchGate": "for the gradient: the gates, in the order of steps";
        out "BatchCellPreAct": "for the gradient: the activated cells, in the order of steps";
        with Activations::attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activations::read(&cx.attrs())?;
        let (input, weight, bias) = (cx.float("Input")?, cx.float("Weight")?, cx.float("Bias")?);
        let [rows, gates] = input.shape[..] else {
            return Err(cx.shape_error(format!("needs rows of gates, but has {}", cx.describe("Input"))));
        };
        let [width, weight_gates] = weight.shape[..] else {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("Weight"))));
        };
        let four = oarlock_ir::product(&[width, Dim::Is(4)]);
        if !gates.fits(four) || !weight_gates.fits(four) {
            let what = format!("cannot use {} with {}", cx.describe("Weight"), cx.describe("Input"));
            let note = format!(
                "a state of width {width} has gates of width {four}: `Weight` is D x 4D, `Input` has 4D columns"
            );
            return Err(cx.shape_error(what).note(note));
        }
        let parts = if cx.attrs().bool("use_peepholes")? { 7 } else { 4 };
        let expected = oarlock_ir::product(&[width, Dim::Is(parts)]);
        if !oarlock_ir::product(&bias.shape[..]).fits(expected) {
            let what = format!("needs a bias of {expected} numbers, but has {}", cx.describe("Bias"));
            return Err(cx.shape_error(what).help("with use_peepholes the bias is 1 x 7D, without 1 x 4D"));
        }
        if cx.has("H0") != cx.has("C0") {
            fail!(Kind::Argument, "`lstm` takes both `H0` and `C0`, or none of them");
        }
        let state = input.clone().with_shape(vec![rows, width]);
        cx.set("Hidden", state.clone());
        cx.set("Cell", state.clone());
        cx.set("BatchGate", input.with_lod(0));
        cx.set("BatchCellPreAct", state.with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lstm = Inputs::new(p)?;
        let outs = [p.output("Hidden")?, p.output("Cell")?, p.output("BatchGate")?, p.output("BatchCellPreAct")?];
        by_float!(p.float("Input")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| lstm.forward(io, outs, &mut scratch))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&LstmGrad)
    }
}

slots! {
    /// The inputs of both operators.
    #[derive(Clone, Copy)]
    struct Inputs(p) {
        input: input "Input",
        h0: maybe_input "H0",
        c0: maybe_input "C0",
        weight: input "Weight",
        bias: input "Bias",
        peepholes: bool "use_peepholes",
        reverse: bool "is_reverse",
        act: Activations = Activations::read(&p.attrs())?,
    }
}

/// Memory that a kernel keeps.
#[derive(Default)]
struct Scratch<T> {
    steps: Steps,
    hidden: Vec<T>,
    cells: Vec<T>,
    first: [Vec<T>; 2],
    dgates: Vec<T>,
    dcells: Vec<T>,
    dfirst: Vec<T>,
    dbias: Vec<T>,
}

impl Inputs {
    /// The width of a state, checked.
    fn width(&self, io: &Io<'_>, input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<usize> {
        let width = weight.rows().max(1);
        expect_dims(io, self.weight, weight, &[width, 4 * width], "D x 4D")?;
        expect_dims(io, self.input, input, &[input.rows(), 4 * width], "four gates in every row")?;
        let numbers = width * if self.peepholes { 7 } else { 4 };
        if bias.numel() != numbers {
            return Err(io.error(
                Kind::Shape,
                self.bias,
                format_args!("is {}, but needs {numbers} numbers", bias.dims()),
            ));
        }
        Ok(width)
    }

    fn cell<'a, T: Math>(&self, width: usize, bias: &'a [T]) -> LstmCell<'a, T> {
        let peepholes = self.peepholes.then(|| &bias[4 * width..]);
        LstmCell { width, order: CandidateAt::First, act: self.act, peepholes, clip: T::ZERO }
    }

    fn forward<T: Math + GemmElem>(&self, io: &Io<'_>, outs: [Out; 4], scratch: &mut Scratch<T>) -> Result<()> {
        let (input, weight, bias) = (io.dense(self.input)?, io.dense(self.weight)?, io.dense(self.bias)?);
        let (h0, c0) = (maybe_dense(io, self.h0)?, maybe_dense(io, self.c0)?);
        let d = self.width(io, &input, &weight, &bias)?;
        let offsets = lod_rows::offsets(io, self.input, &input)?;
        let Scratch { steps, hidden, cells, first, .. } = scratch;
        steps.arrange(offsets, self.reverse);
        let sequences = offsets.len() - 1;
        let (h0, c0) = (first_state::<T>(io, &h0, sequences, d)?, first_state::<T>(io, &c0, sequences, d)?);
        let first = gather_first(steps, first, (h0, c0), d);
        let (rows, dtype) = (input.rows(), T::DTYPE);
        let [mut hidden_out, mut cell_out, mut gate_out, mut active_out] = [
            io.out_sized(outs[0], dtype, Dims::from([rows, d]))?,
            io.out_sized(outs[1], dtype, Dims::from([rows, d]))?,
            io.out_sized(outs[2], dtype, Dims::from([rows, 4 * d]))?,
            io.out_sized(outs[3], dtype, Dims::from([rows, d]))?,
        ];
        let bias = io.data::<T>(self.bias, &bias)?;
        let gates = io.data_mut::<T>(outs[2], &mut gate_out)?;
        steps.gather(gates, io.data::<T>(self.input, &input)?, 4 * d, Some(&bias[..4 * d]));
        hidden.resize(rows * d, T::ZERO);
        cells.resize(rows * d, T::ZERO);
        let weight = Mat::new(io.data::<T>(self.weight, &weight)?, d, 4 * d);
        let active = io.data_mut::<T>(outs[3], &mut active_out)?;
        let lstm = Lstm { cell: self.cell(d, bias), weight, steps, first };
        lstm.forward(io.pool(), States { gates, cells, active, hidden });
        steps.scatter(io.data_mut::<T>(outs[0], &mut hidden_out)?, hidden, d);
        steps.scatter(io.data_mut::<T>(outs[1], &mut cell_out)?, cells, d);
        hidden_out.set_lod(input.lod().clone());
        cell_out.set_lod(input.lod().clone());
        Ok(())
    }
}

struct LstmGrad;

impl OpDef for LstmGrad {
    fn sig(&self) -> Sig {
        let reads =
            ["Input", "H0", "C0", "Weight", "Bias", "Hidden", "Cell", "BatchGate", "BatchCellPreAct", "Hidden@GRAD"];
        Sig::new("lstm_grad", "gradients of `lstm`, from the last step to the first")
            .grad_of(&LstmOp.sig(), &reads, &["Input@GRAD", "H0@GRAD", "C0@GRAD", "Weight@GRAD", "Bias@GRAD"])
            .traits(Traits::NONE.shape_only(&["Input"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["Input", "H0", "C0", "Weight", "Bias"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let grad = Grads::new(p)?;
        by_float!(p.float("Input")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| grad.run(io, &mut scratch))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Grads(p) {
        lstm: Inputs = Inputs::new(p)?,
        hidden: input "Hidden",
        cell: input "Cell",
        gate: input "BatchGate",
        active: input "BatchCellPreAct",
        dhidden: input "Hidden@GRAD",
        dinput: maybe_output "Input@GRAD",
        dh0: maybe_output "H0@GRAD",
        dc0: maybe_output "C0@GRAD",
        dweight: maybe_output "Weight@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

/// The inputs of the gradient, in the order of steps but for `hidden`.
struct Forward<'a, T> {
    hidden: &'a [T],
    gates: &'a [T],
    active: &'a [T],
    bias: &'a [T],
    first: First<'a, T>,
}

impl Grads {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let of = &self.lstm;
        let (input, weight, bias) = (io.dense(of.input)?, io.dense(of.weight)?, io.dense(of.bias)?);
        let (h0, c0) = (maybe_dense(io, of.h0)?, maybe_dense(io, of.c0)?);
        let d = of.width(io, &input, &weight, &bias)?;
        let rows = input.rows();
        let read = |slot: In, width: usize| -> Result<_> {
            let t = io.dense(slot)?;
            expect_dims(io, slot, &t, &[rows, width], "a row per row of `Input`")?;
            Ok(t)
        };
        let (hidden, cell, active) = (read(self.hidden, d)?, read(self.cell, d)?, read(self.active, d)?);
        let (gate, dhidden) = (read(self.gate, 4 * d)?, read(self.dhidden, d)?);
        let offsets = lod_rows::offsets(io, of.input, &input)?;
        // Taken out, because they are read while the rest of the scratch memory is written.
        let (mut steps, mut first) = (std::mem::take(&mut scratch.steps), std::mem::take(&mut scratch.first));
        steps.arrange(offsets, of.reverse);
        scratch.cells.resize(rows * d, T::ZERO);
        steps.gather(&mut scratch.cells, io.data::<T>(self.cell, &cell)?, d, None);
        scratch.hidden.resize(rows * d, T::ZERO);
        steps.gather(&mut scratch.hidden, io.data::<T>(self.dhidden, &dhidden)?, d, None);
        let sequences = offsets.len() - 1;
        let (h0, c0) = (first_state::<T>(io, &h0, sequences, d)?, first_state::<T>(io, &c0, sequences, d)?);
        let forward = Forward {
            hidden: io.data(self.hidden, &hidden)?,
            gates: io.data(self.gate, &gate)?,
            active: io.data(self.active, &active)?,
            bias: io.data(of.bias, &bias)?,
            first: gather_first(&steps, &mut first, (h0, c0), d),
        };
        self.backward(io, &steps, &weight, &bias, &forward, scratch)?;
        self.write(io, &steps, (&input, &weight, sequences), &forward, scratch)?;
        (scratch.steps, scratch.first) = (steps, first);
        Ok(())
    }

    /// Fills the gradients of `scratch`, whose `hidden` holds those of the hidden states by themselves; writes that of the bias.
    fn backward<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        steps: &Steps,
        weight: &Tensor,
        bias: &Tensor,
        forward: &Forward<'_, T>,
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let d = weight.rows();
        scratch.dgates.resize(steps.rows() * 4 * d, T::ZERO);
        scratch.dcells.clear();
        scratch.dcells.resize(steps.width() * d, T::ZERO);
        scratch.dfirst.resize(steps.width() * d, T::ZERO);
        scratch.dbias.clear();
        scratch.dbias.resize(bias.numel(), T::ZERO);
        let (dgate_bias, dpeepholes) = scratch.dbias.split_at_mut(4 * d);
        let weight = Mat::new(io.data::<T>(self.lstm.weight, weight)?, d, 4 * d);
        let lstm = Lstm { cell: self.lstm.cell(d, forward.bias), weight, steps, first: forward.first };
        let grads = StateGrads {
            gates: forward.gates,
            cells: &scratch.cells,
            active: forward.active,
            dhidden: &mut scratch.hidden,
            dgates: &mut scratch.dgates,
            dcells: &mut scratch.dcells,
            dfirst: self.dh0.is_some().then_some(&mut scratch.dfirst[..]),
            dpeepholes: (self.lstm.peepholes && self.dbias.is_some()).then_some(dpeepholes),
        };
        lstm.backward(io.pool(), grads);
        if let Some(out) = self.dbias {
            simd::column_sums(dgate_bias, &scratch.dgates);
            let mut to = io.out_sized(out, T::DTYPE, *bias.dims())?;
            io.data_mut::<T>(out, &mut to)?.copy_from_slice(&scratch.dbias);
        }
        Ok(())
    }

    /// Writes the other gradients that are wanted.
    fn write<T: Math + GemmElem>(
        &self,
        io: &Io<'_>,
        steps: &Steps,
        (input, weight, sequences): (&Tensor, &Tensor, usize),
        forward: &Forward<'_, T>,
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        let (rows, d) = (steps.rows(), weight.rows());
        if let Some(out) = self.dweight {
            // The cells are not needed any more; their place takes the hidden states before each step.
            let before = &mut scratch.cells[..(rows - steps.width()) * d];
            steps.gather_before(before, forward.hidden, d);
            let mut to = io.out_sized(out, T::DTYPE, *weight.dims())?;
            let dgates = Mat::new(&scratch.dgates, rows, 4 * d);
            let states = (&*before, forward.first.hidden);
            weight_grad(io.pool(), steps, io.data_mut::<T>(out, &mut to)?, states, dgates, d);
        }
        if let Some(out) = self.dinput {
            let mut to = io.out_sized(out, T::DTYPE, *input.dims())?;
            steps.scatter(io.data_mut::<T>(out, &mut to)?, &scratch.dgates, 4 * d);
        }
        for (out, from) in [(self.dh0, &scratch.dfirst), (self.dc0, &scratch.dcells)] {
            let Some(out) = out else { continue };
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([sequences, d]))?;
            steps.scatter_first(io.data_mut::<T>(out, &mut to)?, from, d);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn lstm(peepholes: bool) -> Check {
        check("lstm")
            .input("Input", with_lod(noise([6, 8], 1), &[&[0, 2, 2, 5, 6]]))
            .input("Weight", noise([2, 8], 2))
            .input("Bias", noise([1, if peepholes { 14 } else { 8 }], 3))
            .attr("use_peepholes", peepholes)
            .any_output("Hidden")
            .any_output("Cell")
            .any_output("BatchGate")
            .any_output("BatchCellPreAct")
            .counting(&["Hidden"])
    }

    #[test]
    fn gradients() {
        lstm(false).grad(&["Input", "Weight", "Bias"]).run();
        lstm(true).grad(&["Input", "Weight", "Bias"]).attr("is_reverse", true).run();
        lstm(true)
            .input("H0", noise([4, 2], 4))
            .input("C0", noise([4, 2], 5))
            .grad(&["Input", "Weight", "Bias", "H0", "C0"])
            .run();
    }

    #[test]
    fn other_activations() {
        let odd = lstm(false).attr("gate_activation", "tanh").attr("cell_activation", "identity");
        odd.attr("candidate_activation", "sigmoid").grad(&["Input", "Weight"]).run();
        let e = lstm(false).attr("gate_activation", "swish").error();
        assert!(e.contains("attribute `gate_activation` is `swish`; it can be identity, sigmoid, tanh or relu"), "{e}");
    }

    #[test]
    fn one_step_by_hand() {
        // Gates of 0 are half open; the candidate is tanh 1.
        let half = 0.5 * 1f32.tanh();
        check("lstm")
            .input("Input", with_lod(tensor([1, 4], &[1.0, 0.0, 0.0, 0.0]), &[&[0, 1]]))
            .input("Weight", tensor([1, 4], &[9.0; 4]))
            .input("Bias", tensor([1, 4], &[0.0; 4]))
            .attr("use_peepholes", false)
            .output("Hidden", with_lod(tensor([1, 1], &[0.5 * half.tanh()]), &[&[0, 1]]))
            .output("Cell", with_lod(tensor([1, 1], &[half]), &[&[0, 1]]))
            .any_output("BatchGate")
            .any_output("BatchCellPreAct")
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = lstm(false).input("Bias", noise([1, 14], 3)).error();
        assert!(e.contains("`lstm` needs a bias of 8 numbers, but has `Bias` = Bias.0 f32[1, 14]"), "{e}");
        let e = lstm(false).input("Weight", noise([3, 8], 3)).error();
        assert!(e.contains("a state of width 3 has gates of width 12"), "{e}");
        let e = lstm(false).input("H0", noise([4, 2], 3)).error();
        assert!(e.contains("takes both `H0` and `C0`, or none of them"), "{e}");
        let e = lstm(false).input("H0", noise([3, 2], 3)).input("C0", noise([3, 2], 3)).error();
        assert!(e.contains("input `H0` = `H0.0` is [3, 2], but must be [4, 2] (a row per sequence)"), "{e}");
        let e = lstm(false).input("Input", noise([6, 8], 1)).error();
        assert!(e.contains("has no LoD"), "{e}");
    }
}
