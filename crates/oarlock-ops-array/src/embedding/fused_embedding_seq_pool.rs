//! `fused_embedding_seq_pool`: looks ids up and sums the rows of each sequence.

use oarlock_ir::{AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Dims, Float, SelectedRows, Tensor, simd};

use crate::embedding::lookup::{Lookup, LookupGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusedEmbeddingSeqPool, &GRAD];

struct FusedEmbeddingSeqPool;

impl OpDef for FusedEmbeddingSeqPool {
    sig! {
        "fused_embedding_seq_pool":
            "Out[i] = sum over the rows r of the i-th innermost sequence of (W[Ids[r, 0]], W[Ids[r, 1]], ...), \
             leaving out padding_idx";
        in "W": "the table, rows by width";
        in "Ids": "i64 ids with LoD, one or more per row";
        out "Out": "a row per sequence, as wide as the table times the ids of a row";
        attr "combiner" = "sum".to_string(), "must be sum";
        attr "is_sparse" = false, "make the gradient row-sparse";
        attr "padding_idx" = -1i64, "the id that is left out; -1 for none";
        hints ["grad_inplace", "@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        check_combiner(&cx.attrs())?;
        let (w, ids) = (cx.float("W")?, cx.integer("Ids")?);
        if w.shape.rank() != 2 {
            return Err(cx.shape_error(format!("needs a table of two dimensions, but has {}", cx.describe("W"))));
        }
        let per_row = ids.shape.get(1).copied().unwrap_or(Dim::Is(1));
        cx.set("Out", VarType::tensor(w.dtype, vec![Dim::Any, oarlock_ir::product(&[w.shape[1], per_row])]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        check_combiner(&p.attrs())?;
        let (lookup, out) = (Lookup::new(p)?, p.output("Out")?);
        by_float!(p.float("W")?, T => kernel(move |io| forward::<T>(io, &lookup, out)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&GRAD)
    }
}

fn check_combiner(attrs: &AttrView<'_>) -> Result<()> {
    match attrs.str("combiner")? {
        "sum" => Ok(()),
        other => fail!(Kind::Unsupported, "`fused_embedding_seq_pool` sums rows; it has no combiner `{other}`"),
    }
}

/// Visits every id that is not padding: its position, the sequence it is in, and its column.
fn each_id(
    io: &Io<'_>,
    lookup: &Lookup,
    ids: &Tensor,
    rows: usize,
    mut visit: impl FnMut(usize, usize, usize),
) -> Result<()> {
    let offsets = lod_rows::offsets(io, lookup.ids, ids)?;
    let per_row = ids.dims().matrix(1).1;
    let data = io.data::<i64>(lookup.ids, ids)?;
    for (i, w) in offsets.windows(2).enumerate() {
        let range = w[0] * per_row..w[1] * per_row;
        for (at, &id) in range.clone().zip(&data[range]) {
            if lookup.padding == Some(id) {
                continue;
            }
            if id as u64 >= rows as u64 {
                return Err(lookup.unknown_id(io, id, at, rows));
            }
            visit(id as usize, i, at % per_row);
        }
    }
    Ok(())
}

fn forward<T: Float>(io: &Io<'_>, lookup: &Lookup, out: Out) -> Result<()> {
    let (table, ids) = (io.dense(lookup.table)?, io.dense(lookup.ids)?);
    let (rows, width) = table.dims().matrix(1);
    let sequences = lod_rows::offsets(io, lookup.ids, &ids)?.len() - 1;
    let out_width = width * ids.dims().matrix(1).1;
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([sequences, out_width]))?;
    let (table, to) = (io.data::<T>(lookup.table, &table)?, io.data_mut::<T>(out, &mut to)?);
    to.fill(T::ZERO);
    each_id(io, lookup, &ids, rows, |id, sequence, column| {
        let to = &mut to[sequence * out_width + column * width..][..width];
        simd::add_assign(to, &table[id * width..][..width]);
    })
}

const GRAD: LookupGrad = LookupGrad {
    op_type: "fused_embedding_seq_pool_grad",
    forward: || FusedEmbeddingSeqPool.sig(),
    prepare: |p| {
        let grad = PoolGrad { lookup: Lookup::new(p)?, dout: p.input("Out@GRAD")?, dw: p.output("W@GRAD")? };
        let sparse = p.attrs().bool("is_sparse")?;
        by_float!(p.float("W")?, T => match sparse {
            true => kernel(move |io| grad.sparse::<T>(io)),
            false => kernel(move |io| grad.dense::<T>(io)),
        })
    },
};

struct PoolGrad {
    lookup: Lookup,
    dout: In,
    dw: Out,
}

impl PoolGrad {
    /// The gradient must have a row per sequence; returns the sizes of the table.
    fn check(&self, io: &Io<'_>, ids: &Tensor, dout: &Tensor) -> Result<(usize, usize)> {
        let (rows, width) = io.dense(self.lookup.table)?.dims().matrix(1);
        let sequences = lod_rows::offsets(io, self.lookup.ids, ids)?.len() - 1;
        checks::expect_elements(io, self.dout, dout.numel(), sequences * width * ids.dims().matrix(1).1)?;
        Ok((rows, width))
    }

    fn dense<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (ids, dout) = (io.dense(self.lookup.ids)?, io.dense(self.dout)?);
        let (rows, width) = self.check(io, &ids, &dout)?;
        let per_row = ids.dims().matrix(1).1;
        let dout = io.data::<T>(self.dout, &dout)?;
        let mut dw = io.out_sized(self.dw, T::DTYPE, Dims::from([rows, width]))?;
        let dw = io.data_mut::<T>(self.dw, &mut dw)?;
        dw.fill(T::ZERO);
        each_id(io, &self.lookup, &ids, rows, |id, sequence, column| {
            let from = &dout[(sequence * per_row + column) * width..][..width];
            simd::add_assign(&mut dw[id * width..][..width], from);
        })
    }

    fn sparse<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (ids, dout) = (io.dense(self.lookup.ids)?, io.dense(self.dout)?);
        let (rows, width) = self.check(io, &ids, &dout)?;
        let (dout, per_row) = (io.data::<T>(self.dout, &dout)?, ids.dims().matrix(1).1);
        let mut dw = io.write(self.dw)?;
        let SelectedRows { rows: listed, height, value } = dw.rows_mut();
        *height = rows as i64;
        listed.clear();
        listed.extend_from_slice(io.data::<i64>(self.lookup.ids, &ids)?);
        value.resize(T::DTYPE, Dims::from([listed.len(), width]));
        let mut to = io.data_mut::<T>(self.dw, value)?.chunks_exact_mut((width * per_row).max(1));
        let per_sequence = dout.chunks_exact((width * per_row).max(1));
        for (w, from) in lod_rows::offsets(io, self.lookup.ids, &ids)?.windows(2).zip(per_sequence) {
            (w[0]..w[1]).zip(&mut to).for_each(|(_, to)| to.copy_from_slice(from));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case(op: &str, ids: &[i64]) -> Check {
        check(op)
            .input("W", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", with_lod(tensor_of([ids.len(), 1], ids), &[&[0, 2, 2, ids.len()]]))
    }

    #[test]
    fn rows_are_summed() {
        case("fused_embedding_seq_pool", &[0, 2, 1])
            .output("Out", tensor([3, 2], &[6.0, 8.0, 0.0, 0.0, 3.0, 4.0]))
            .grad(&["W"])
            .run();
        case("fused_embedding_seq_pool", &[0, 2, 1])
            .attr("padding_idx", 2i64)
            .output("Out", tensor([3, 2], &[1.0, 2.0, 0.0, 0.0, 3.0, 4.0]))
            .grad(&["W"])
            .run();
    }

    #[test]
    fn several_ids_in_a_row_stand_side_by_side() {
        check("fused_embedding_seq_pool")
            .input("W", tensor([3, 1], &[1.0, 2.0, 4.0]))
            .input("Ids", with_lod(tensor_of([3, 2], &[0i64, 1, 1, 2, 2, 2]), &[&[0, 2, 3]]))
            .output("Out", tensor([2, 2], &[3.0, 6.0, 4.0, 4.0]))
            .grad(&["W"])
            .run();
    }

    #[test]
    fn a_row_sparse_gradient_repeats_the_row_of_the_sequence() {
        let value = tensor([3, 2], &[1.0, 2.0, 1.0, 2.0, 5.0, 6.0]);
        case("fused_embedding_seq_pool_grad", &[0, 2, 1])
            .input("Out@GRAD", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .attr("is_sparse", true)
            .output("W@GRAD", Value::Rows(SelectedRows { rows: vec![0, 2, 1], height: 3, value }))
            .run();
    }

    #[test]
    fn an_id_outside_the_table_is_named() {
        let e = case("fused_embedding_seq_pool", &[0, 3, 1]).any_output("Out").error();
        assert!(e.contains("`Ids.0` holds id 3 at position 1, but input `W` = `W.0` has 3 rows"), "{e}");
    }
}
