//! `lookup_table_dequant`: rows of a table whose numbers are stored in a byte each.

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, fail, kernel, sig};
use oarlock_tensor::DType;

use crate::embedding::lookup::Lookup;

pub(crate) const OPS: &[&dyn OpDef] = &[&LookupTableDequant];

struct LookupTableDequant;

/// Levels of a byte.
const LEVELS: f32 = 256.0;

impl OpDef for LookupTableDequant {
    sig! {
        "lookup_table_dequant":
            "a row of W holds a least and a greatest number as f32, then a byte per number: \
             Out[i] = least + byte * (greatest - least) / 256, of row Ids[i]; zeros for `padding_idx`";
        in "W": "f32 [rows, 2 + width / 4]: four bytes are stored as one f32";
        in "Ids": "i64; the last size is 1";
        out "Out": "f32: the sizes of `Ids` with `width` for the last one; with its LoD";
        attr "padding_idx" = -1i64, "the id whose row is zeros; -1 for none";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (w, ids) = (cx.input("W")?, cx.integer("Ids")?);
        if w.dtype != DType::F32 {
            fail!(Kind::DType, "`lookup_table_dequant` needs f32 in {}", cx.describe("W"));
        }
        let whole = w.shape.rank() == 2 && w.shape[1].known().is_none_or(|n| n >= 2);
        let Some((_, dims)) = ids.shape.split_last().filter(|(last, _)| whole && last.fits(Dim::Is(1))) else {
            let what = format_args!("cannot use {} and {} together", cx.describe("W"), cx.describe("Ids"));
            return Err(cx.shape_error(what).help("W is [rows, 2 + width / 4]; the last size of Ids is 1"));
        };
        let mut dims = dims.to_vec();
        dims.push(w.shape[1].known().map_or(Dim::Any, |n| Dim::Is((n - 2) * 4)));
        cx.set("Out", VarType::tensor(DType::F32, dims).with_lod(ids.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (lookup, out) = (Lookup::new(p)?, p.output("Out")?);
        kernel(move |io: &Io<'_>| {
            let (table, ids) = (io.dense(lookup.table)?, io.dense(lookup.ids)?);
            let (rows, columns) = match table.dims()[..] {
                [rows, columns] if columns >= 2 => (rows, columns),
                _ => {
                    let what = format_args!("is {}, but must be [rows, 2 + width / 4]", table.dims());
                    return Err(io.error(Kind::Shape, lookup.table, what));
                }
            };
            let width = (columns - 2) * 4;
            let mut dims = *ids.dims();
            let last = dims.rank().saturating_sub(1);
            if dims.get(last) != Some(&1) {
                let what = format_args!("is {}, but its last size must be 1", ids.dims());
                return Err(io.error(Kind::Shape, lookup.ids, what));
            }
            dims[last] = width;
            let mut to = io.out_sized(out, DType::F32, dims)?;
            to.set_lod(ids.lod().clone());
            let table = io.data::<f32>(lookup.table, &table)?;
            let to = io.data_mut::<f32>(out, &mut to)?.chunks_exact_mut(width.max(1));
            for (at, (&id, to)) in io.data::<i64>(lookup.ids, &ids)?.iter().zip(to).enumerate() {
                if lookup.padding == Some(id) {
                    to.fill(0.0);
                    continue;
                }
                let row = usize::try_from(id).ok().filter(|row| *row < rows);
                let row = row.ok_or_else(|| lookup.unknown_id(io, id, at, rows))?;
                let row = &table[row * columns..][..columns];
                let (least, step) = (row[0], (row[1] - row[0]) / LEVELS);
                let bytes = row[2..].iter().flat_map(|four| four.to_le_bytes());
                to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = step * f32::from(byte) + least);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn case(id: i64) -> Check {
        let bytes = f32::from_le_bytes([0, 128, 64, 1]);
        check("lookup_table_dequant")
            .input("W", tensor([2, 3], &[0.0, 0.0, 0.0, -1.0, 1.0, bytes]))
            .input("Ids", tensor_of([2, 1], &[id, 0]))
            .attr("padding_idx", 0i64)
    }

    #[test]
    fn bytes_stand_between_least_and_greatest() {
        let row = [-1.0, 0.0, -0.5, -1.0 + 2.0 / 256.0, 0.0, 0.0, 0.0, 0.0];
        case(1).output("Out", tensor([2, 4], &row)).run();
    }

    #[test]
    fn unknown_id_is_named() {
        let e = case(2).any_output("Out").error();
        assert!(e.contains("holds id 2 at position 0, but input `W` = `W.0` has 2 rows"), "{e}");
    }
}
