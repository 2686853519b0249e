//! `fusion_lstm`: `lstm` together with the layer before it, as inference programs have it.

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, by_float, fail, kernel, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::{GemmElem, Mat};
use oarlock_tensor::simd::Math;

use crate::fused::fully_connected;
use crate::recurrent::lstm_cell::{Activations, CandidateAt, Lstm, LstmCell, States, gather_first};
use crate::recurrent::steps::{Activation, Steps, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionLstm];

/// Scratch variables of other systems.
const SCRATCH: [&str; 7] =
    ["XX", "BatchedInput", "BatchedHidden", "BatchedCell", "ReorderedH0", "ReorderedC0", "CheckedCell"];

struct FusionLstm;

impl OpDef for FusionLstm {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "fusion_lstm",
            "`lstm` of X WeightX with weight WeightH and bias Bias; for inference, without a gradient",
        )
        .input("X", "rows with LoD")
        .input("WeightX", "from rows to gates (candidate, input, forget, output)")
        .input("WeightH", "D x 4D, from hidden state to gates")
        .input("Bias", "1 x 4D; with peepholes 1 x 7D")
        .optional_input("H0", "the hidden state before the first step, a row per sequence; zeros without")
        .optional_input("C0", "the cell before the first step, a row per sequence; zeros without")
        .output("Hidden", "hidden states, with the LoD of `X`")
        .output("Cell", "cells, with the LoD of `X`");
        let sig = Activations::attrs(sig).hints(&["use_seq"]);
        SCRATCH.iter().fold(sig, |sig, slot| sig.optional_output(slot, "scratch memory of other systems; not written"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activations::read(&cx.attrs())?;
        let (x, wx, wh) = (cx.float("X")?, cx.float("WeightX")?, cx.float("WeightH")?);
        let fits = match (&x.shape[..], &wx.shape[..], &wh.shape[..]) {
            ([_, columns], [rows, gates], [width, inner]) => {
                let four = oarlock_ir::product(&[*width, Dim::Is(4)]);
                columns.fits(*rows) && gates.fits(four) && inner.fits(four)
            }
            _ => false,
        };
        if !fits {
            let all = ["X", "WeightX", "WeightH"].map(|slot| cx.describe(slot));
            let note = "with an `X` of M columns, `WeightX` is M x 4D and `WeightH` D x 4D";
            return Err(cx.shape_error(format!("cannot use {} together", all.join(", "))).note(note));
        }
        if cx.has("H0") != cx.has("C0") {
            fail!(Kind::Argument, "`fusion_lstm` takes both `H0` and `C0`, or none of them");
        }
        let state = x.clone().with_shape(vec![x.shape[0], wh.shape[0]]);
        cx.set("Hidden", state.clone());
        cx.set("Cell", state);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lstm = Fused::new(p)?;
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| lstm.run(io, &mut scratch))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Fused(p) {
        x: input "X",
        wx: input "WeightX",
        wh: input "WeightH",
        bias: input "Bias",
        h0: maybe_input "H0",
        c0: maybe_input "C0",
        hidden: output "Hidden",
        cell: output "Cell",
        peepholes: bool "use_peepholes",
        reverse: bool "is_reverse",
        act: Activations = Activations::read(&p.attrs())?,
    }
}

/// Memory that the kernel of a fused LSTM keeps.
#[derive(Default)]
pub(crate) struct Scratch<T> {
    pub(crate) steps: Steps,
    pub(crate) first: [Vec<T>; 2],
    pub(crate) sums: Vec<T>,
    pub(crate) gates: Vec<T>,
    pub(crate) cells: Vec<T>,
    pub(crate) active: Vec<T>,
    pub(crate) hidden: Vec<T>,
}

impl Fused {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let (x, wx, wh) = (io.dense(self.x)?, io.dense(self.wx)?, io.dense(self.wh)?);
        let (bias, h0, c0) = (io.dense(self.bias)?, maybe_dense(io, self.h0)?, maybe_dense(io, self.c0)?);
        let d = wh.rows().max(1);
        expect_dims(io, self.wh, &wh, &[d, 4 * d], "D x 4D")?;
        let (rows, columns) = x.dims().matrix(1);
        let weights = fully_connected::weights::<T>(io, self.wx, &wx, columns)?;
        expect_dims(io, self.wx, &wx, &[columns, 4 * d], "as many gates as `WeightH`")?;
        let bias = fully_connected::bias::<T>(io, self.bias, &bias, d * if self.peepholes { 7 } else { 4 })?;
        let Scratch { steps, first, sums, gates, cells, active, hidden } = scratch;
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        steps.arrange(offsets, self.reverse);
        let sequences = offsets.len() - 1;
        let (h0, c0) = (first_state::<T>(io, &h0, sequences, d)?, first_state::<T>(io, &c0, sequences, d)?);
        [&mut *sums, &mut *gates].into_iter().for_each(|v| v.resize(rows * 4 * d, T::ZERO));
        [&mut *cells, &mut *active, &mut *hidden].into_iter().for_each(|v| v.resize(rows * d, T::ZERO));
        let data = Mat::new(io.data::<T>(self.x, &x)?, rows, columns);
        fully_connected::layer(io.pool(), sums, data, weights, Some(&bias[..4 * d]), Activation::Identity);
        steps.gather(gates, sums, 4 * d, None);
        let peepholes = self.peepholes.then(|| &bias[4 * d..]);
        let lstm = Lstm {
            cell: LstmCell { width: d, order: CandidateAt::First, act: self.act, peepholes, clip: T::ZERO },
            weight: Mat::new(io.data::<T>(self.wh, &wh)?, d, 4 * d),
            steps,
            first: gather_first(steps, first, (h0, c0), d),
        };
        lstm.forward(io.pool(), States { gates, cells, active, hidden });
        for (out, from) in [(self.hidden, &*hidden), (self.cell, &*cells)] {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, d]))?;
            to.set_lod(x.lod().clone());
            steps.scatter(io.data_mut::<T>(out, &mut to)?, from, d);
        }
        Ok(())
    }
}

#[test]
fn fusion_lstm() {
    use crate::testing::{check, noise, tensor, with_lod};
    let half = 0.5 * 1f32.tanh();
    check("fusion_lstm")
        .input("X", with_lod(tensor([1, 1], &[2.0]), &[&[0, 1]]))
        .input("WeightX", tensor([1, 4], &[0.5, 0.0, 0.0, 0.0]))
        .input("WeightH", tensor([1, 4], &[9.0; 4]))
        .input("Bias", tensor([1, 4], &[0.0; 4]))
        .attr("use_peepholes", false)
        .output("Hidden", with_lod(tensor([1, 1], &[0.5 * half.tanh()]), &[&[0, 1]]))
        .output("Cell", with_lod(tensor([1, 1], &[half]), &[&[0, 1]]))
        .run();
    let e = check("fusion_lstm")
        .input("X", with_lod(noise([2, 3], 1), &[&[0, 2]]))
        .input("WeightX", noise([2, 4], 1))
        .input("WeightH", noise([1, 4], 1))
        .input("Bias", noise([1, 7], 1))
        .any_output("Hidden")
        .any_output("Cell")
        .error();
    assert!(e.contains("with an `X` of M columns, `WeightX` is M x 4D and `WeightH` D x 4D"), "{e}");
}
