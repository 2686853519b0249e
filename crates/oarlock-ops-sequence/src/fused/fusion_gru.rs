//! `fusion_gru`: `gru` together with the layer before it, as inference programs have it.

use oarlock_ir::{Dim, Infer, Io, Kernel, OpDef, Prepare, Result, Sig, by_float, kernel, slots};
use oarlock_ops_support::checks::expect_dims;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::{GemmElem, Mat};
use oarlock_tensor::simd::Math;

use crate::fused::fully_connected;
use crate::recurrent::gru_cell::{GruCell, GruKind, Step};
use crate::recurrent::steps::{Activation, Steps, first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionGru];

/// Scratch variables of other systems.
const SCRATCH: [&str; 4] = ["ReorderedH0", "XX", "BatchedInput", "BatchedOut"];

struct FusionGru;

impl OpDef for FusionGru {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "fusion_gru",
            "`gru` of X WeightX with weight WeightH and bias Bias; for inference, without a gradient",
        )
        .input("X", "rows with LoD")
        .optional_input("H0", "the hidden state before the first step, a row per sequence; zeros without")
        .input("WeightX", "from rows to gates (update, reset, candidate)")
        .input("WeightH", "the weight of `gru`")
        .optional_input("Bias", "1 x 3D")
        .output("Hidden", "hidden states, with the LoD of `X`")
        .attr("activation", "tanh", "of the candidate: identity, sigmoid, tanh or relu")
        .attr("gate_activation", "sigmoid", "of the gates: identity, sigmoid, tanh or relu")
        .attr("is_reverse", false, "from the last row of a sequence to the first")
        .attr("origin_mode", false, "the update gate says how much of the state stays")
        .hints(&["use_seq"]);
        SCRATCH.iter().fold(sig, |sig, slot| sig.optional_output(slot, "scratch memory of other systems; not written"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, wx, wh) = (cx.float("X")?, cx.float("WeightX")?, cx.float("WeightH")?);
        let fits = match (&x.shape[..], &wx.shape[..], &wh.shape[..]) {
            ([_, columns], [rows, gates], [width, inner]) => {
                let three = oarlock_ir::product(&[*width, Dim::Is(3)]);
                columns.fits(*rows) && gates.fits(three) && inner.fits(three)
            }
            _ => false,
        };
        if !fits {
            let all = ["X", "WeightX", "WeightH"].map(|slot| cx.describe(slot));
            let note = "with an `X` of M columns, `WeightX` is M x 3D and `WeightH` D x 3D";
            return Err(cx.shape_error(format!("cannot use {} together", all.join(", "))).note(note));
        }
        cx.set("Hidden", x.clone().with_shape(vec![x.shape[0], wh.shape[0]]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let gru = Fused::new(p)?;
        by_float!(p.float("X")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| gru.run(io, &mut scratch))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Fused(p) {
        x: input "X",
        wx: input "WeightX",
        wh: input "WeightH",
        bias: maybe_input "Bias",
        h0: maybe_input "H0",
        hidden: output "Hidden",
        reverse: bool "is_reverse",
        kind: GruKind = GruKind {
                gate: Activation::read(&p.attrs(), "gate_activation")?,
                candidate: Activation::read(&p.attrs(), "activation")?,
                origin: p.attrs().bool("origin_mode")?,
            },
    }
}

/// Memory that a kernel keeps.
#[derive(Default)]
struct Scratch<T> {
    steps: Steps,
    first: Vec<T>,
    sums: Vec<T>,
    gates: Vec<T>,
    candidates: Vec<T>,
    reset: Vec<T>,
    hidden: Vec<T>,
}

impl Fused {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let (x, wx, wh) = (io.dense(self.x)?, io.dense(self.wx)?, io.dense(self.wh)?);
        let (bias, h0) = (maybe_dense(io, self.bias)?, maybe_dense(io, self.h0)?);
        let d = wh.rows().max(1);
        expect_dims(io, self.wh, &wh, &[d, 3 * d], "D x 3D")?;
        let (rows, columns) = x.dims().matrix(1);
        let weights = fully_connected::weights::<T>(io, self.wx, &wx, columns)?;
        expect_dims(io, self.wx, &wx, &[columns, 3 * d], "as many gates as `WeightH`")?;
        let bias = bias.as_ref().map(|(slot, t)| fully_connected::bias::<T>(io, *slot, t, 3 * d)).transpose()?;
        let Scratch { steps, first, sums, gates, candidates, reset, hidden } = scratch;
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        steps.arrange(offsets, self.reverse);
        let h0 = first_state::<T>(io, &h0, offsets.len() - 1, d)?.map(|h| steps.gather_first(first, h, d));
        sums.resize(rows * 3 * d, T::ZERO);
        gates.resize(rows * 2 * d, T::ZERO);
        [&mut *candidates, &mut *reset, &mut *hidden].into_iter().for_each(|v| v.resize(rows * d, T::ZERO));
        let data = Mat::new(io.data::<T>(self.x, &x)?, rows, columns);
        fully_connected::layer(io.pool(), sums, data, weights, bias, Activation::Identity);
        steps.gather_parts(gates, candidates, sums, (2 * d, d), None);
        let cell = GruCell { width: d, kind: self.kind, weight: io.data::<T>(self.wh, &wh)? };
        cell.all_steps(io.pool(), steps, h0, Step { before: None, gates, candidates, reset, hidden });
        let mut to = io.out_sized(self.hidden, T::DTYPE, Dims::from([rows, d]))?;
        to.set_lod(x.lod().clone());
        steps.scatter(io.data_mut::<T>(self.hidden, &mut to)?, hidden, d);
        Ok(())
    }
}

#[test]
fn fusion_gru() {
    use crate::testing::{check, tensor, with_lod};
    check("fusion_gru")
        .input("X", with_lod(tensor([2, 1], &[2.0, 2.0]), &[&[0, 2]]))
        .input("WeightX", tensor([1, 3], &[0.0, 0.0, 4.0]))
        .input("WeightH", tensor([1, 3], &[0.0, 0.0, 1.0]))
        .attr("activation", "identity")
        .output("Hidden", with_lod(tensor([2, 1], &[4.0, 7.0]), &[&[0, 2]]))
        .run();
}
