//! `fused_embedding_fc_lstm`: `lstm` of rows that are looked up already multiplied, as inference programs have it.

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, by_float, fail, kernel, slots};
use oarlock_ops_support::checks::{self, expect_dims};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::{GemmElem, Mat};
use oarlock_tensor::simd::Math;

use crate::fused::fusion_lstm::Scratch;
use crate::recurrent::lstm_cell::{Activations, CandidateAt, Lstm, LstmCell, States, gather_first};
use crate::recurrent::steps::{first_state, maybe_dense};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusedEmbeddingFcLstm];

/// Scratch variables of other systems.
const SCRATCH: [&str; 6] = ["XX", "BatchedInput", "BatchedHidden", "BatchedCell", "ReorderedH0", "ReorderedC0"];

struct FusedEmbeddingFcLstm;

impl OpDef for FusedEmbeddingFcLstm {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "fused_embedding_fc_lstm",
            "`lstm` of Embeddings[Ids] with weight WeightH, where the rows of Embeddings hold the product with the weight of the \
             layer before and all biases; for inference, without a gradient",
        )
        .input("Ids", "[rows, 1], i64, with a LoD")
        .input("Embeddings", "[ids, 4D], a row of gates (candidate, input, forget, output) per id")
        .input("WeightH", "D x 4D, from hidden state to gates")
        .input("Bias", "1 x 4D, not read: `Embeddings` hold it; with peepholes 1 x 7D, of which the last 3D are read")
        .optional_input("H0", "the hidden state before the first step, a row per sequence; zeros without")
        .optional_input("C0", "the cell before the first step, a row per sequence; zeros without")
        .output("Hidden", "hidden states, with the LoD of `Ids`")
        .output("Cell", "cells, with the LoD of `Ids`");
        let sig = Activations::attrs(sig).hints(&["use_seq"]);
        SCRATCH.iter().fold(sig, |sig, slot| sig.optional_output(slot, "scratch memory of other systems; not written"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Activations::read(&cx.attrs())?;
        let (ids, table, weight) = (cx.integer("Ids")?, cx.float("Embeddings")?, cx.float("WeightH")?);
        let fits = match (&ids.shape[..], &table.shape[..], &weight.shape[..]) {
            ([_, one], [_, gates], [width, inner]) => {
                let four = oarlock_ir::product(&[*width, Dim::Is(4)]);
                one.fits(Dim::Is(1)) && gates.fits(four) && inner.fits(four)
            }
            _ => false,
        };
        if !fits {
            let all = ["Ids", "Embeddings", "WeightH"].map(|slot| cx.describe(slot));
            let note = "`Ids` is rows x 1, `Embeddings` ids x 4D and `WeightH` D x 4D";
            return Err(cx.shape_error(format!("cannot use {} together", all.join(", "))).note(note));
        }
        if cx.has("H0") != cx.has("C0") {
            fail!(Kind::Argument, "`fused_embedding_fc_lstm` takes both `H0` and `C0`, or none of them");
        }
        let mut state = table.with_shape(vec![ids.shape[0], weight.shape[0]]);
        state.lod_level = ids.lod_level;
        cx.set("Hidden", state.clone());
        cx.set("Cell", state);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let lstm = Fused::new(p)?;
        by_float!(p.float("Embeddings")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| lstm.run(io, &mut scratch))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Fused(p) {
        ids: input "Ids",
        table: input "Embeddings",
        weight: input "WeightH",
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

impl Fused {
    fn run<T: Math + GemmElem>(&self, io: &Io<'_>, scratch: &mut Scratch<T>) -> Result<()> {
        let (ids, table, weight) = (io.dense(self.ids)?, io.dense(self.table)?, io.dense(self.weight)?);
        let (bias, h0, c0) = (io.dense(self.bias)?, maybe_dense(io, self.h0)?, maybe_dense(io, self.c0)?);
        let d = weight.rows().max(1);
        expect_dims(io, self.weight, &weight, &[d, 4 * d], "D x 4D")?;
        expect_dims(io, self.table, &table, &[table.rows(), 4 * d], "a row of 4D per id")?;
        let bias = checks::sized::<T>(io, self.bias, &bias, d * if self.peepholes { 7 } else { 4 })?;
        let Scratch { steps, first, sums, gates, cells, active, hidden } = scratch;
        let offsets = lod_rows::offsets(io, self.ids, &ids)?;
        steps.arrange(offsets, self.reverse);
        let (rows, sequences) = (ids.rows(), offsets.len() - 1);
        let (h0, c0) = (first_state::<T>(io, &h0, sequences, d)?, first_state::<T>(io, &c0, sequences, d)?);
        self.look_up(
            io,
            checks::sized::<i64>(io, self.ids, &ids, rows)?,
            io.data::<T>(self.table, &table)?,
            4 * d,
            sums,
        )?;
        gates.resize(rows * 4 * d, T::ZERO);
        [&mut *cells, &mut *active, &mut *hidden].into_iter().for_each(|v| v.resize(rows * d, T::ZERO));
        steps.gather(gates, sums, 4 * d, None);
        let peepholes = self.peepholes.then(|| &bias[4 * d..]);
        let lstm = Lstm {
            cell: LstmCell { width: d, order: CandidateAt::First, act: self.act, peepholes, clip: T::ZERO },
            weight: Mat::new(io.data::<T>(self.weight, &weight)?, d, 4 * d),
            steps,
            first: gather_first(steps, first, (h0, c0), d),
        };
        lstm.forward(io.pool(), States { gates, cells, active, hidden });
        for (out, from) in [(self.hidden, &*hidden), (self.cell, &*cells)] {
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, d]))?;
            to.set_lod(ids.lod().clone());
            steps.scatter(io.data_mut::<T>(out, &mut to)?, from, d);
        }
        Ok(())
    }

    fn look_up<T: Math>(&self, io: &Io<'_>, ids: &[i64], table: &[T], width: usize, to: &mut Vec<T>) -> Result<()> {
        let rows = table.len() / width;
        to.clear();
        for (at, &id) in ids.iter().enumerate() {
            let Some(row) = usize::try_from(id).ok().filter(|row| *row < rows) else {
                let what = format_args!("holds id {id} at position {at}, but there are {rows} embeddings");
                return Err(io.error(Kind::Range, self.ids, what));
            };
            to.extend_from_slice(&table[row * width..][..width]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case(id: i64) -> Check {
        check("fused_embedding_fc_lstm")
            .input("Ids", with_lod(tensor_of([1, 1], &[id]), &[&[0, 1]]))
            .input("Embeddings", tensor([2, 4], &[9.0, 9.0, 9.0, 9.0, 1.0, 0.0, 0.0, 0.0]))
            .input("WeightH", tensor([1, 4], &[9.0; 4]))
            .input("Bias", tensor([1, 4], &[7.0; 4]))
            .attr("use_peepholes", false)
    }

    #[test]
    fn rows_are_looked_up_with_their_bias() {
        let half = 0.5 * 1f32.tanh();
        case(1)
            .output("Hidden", with_lod(tensor([1, 1], &[0.5 * half.tanh()]), &[&[0, 1]]))
            .output("Cell", with_lod(tensor([1, 1], &[half]), &[&[0, 1]]))
            .run();
    }

    #[test]
    fn unknown_id_is_named() {
        let e = case(2).any_output("Hidden").any_output("Cell").error();
        assert!(e.contains("holds id 2 at position 0, but there are 2 embeddings"), "{e}");
    }
}
