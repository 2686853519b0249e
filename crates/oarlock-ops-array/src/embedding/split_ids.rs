//! `split_ids`: distributes ids, or the rows of a row-sparse tensor, over as many parts as there are outputs.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarKind, VarType, kernel, sig};
use oarlock_tensor::{DType, Dims};

use crate::embedding::row_selection;

pub(crate) const OPS: &[&dyn OpDef] = &[&SplitIds];

struct SplitIds;

impl OpDef for SplitIds {
    sig! {
        "split_ids": "Out[k] holds what belongs to part k = id % parts: of dense Ids each id once, ascending; \
             of row-sparse Ids the rows as they came, with their values";
        in* "Ids": "i64 ids, or one row-sparse tensor";
        out* "Out": "one per part";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let parts = cx.op().outputs.get("Out").len();
        let ids = cx.input("Ids")?;
        let out = match ids.kind {
            VarKind::SelectedRows => ids,
            _ => VarType::tensor(DType::I64, oarlock_ir::Shape::from_i64(&[-1, 1])),
        };
        (0..parts).for_each(|k| cx.set_nth("Out", k, out.clone()));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ids, outs) = (p.inputs("Ids")?, p.outputs("Out")?);
        if p.var("Ids").is_some_and(|v| v.kind == VarKind::SelectedRows) {
            let x = p.input("Ids")?;
            return kernel(move |io| split_rows(io, x, &outs));
        }
        let mut all = Vec::new();
        kernel(move |io| {
            all.clear();
            for &input in &ids {
                let tensor = io.dense(input)?;
                let data = io.data::<i64>(input, &tensor)?;
                check(io, input, data)?;
                all.extend_from_slice(data);
            }
            all.sort_unstable();
            all.dedup();
            split_ids(io, &all, &outs)
        })
    }
}

/// Which part an id belongs to is the rest of a division, which negative ids do not have.
fn check(io: &Io<'_>, input: In, ids: &[i64]) -> Result<()> {
    match ids.iter().position(|&id| id < 0) {
        None => Ok(()),
        Some(at) => Err(io.error(Kind::Range, input, format!("holds the negative id {} at position {at}", ids[at]))),
    }
}

fn split_ids(io: &Io<'_>, all: &[i64], outs: &[Option<Out>]) -> Result<()> {
    for (k, &out) in outs.iter().enumerate() {
        let Some(out) = out else { continue };
        let ours = || all.iter().filter(|&&id| id as usize % outs.len() == k);
        let mut to = io.out_sized(out, DType::I64, Dims::from([ours().count(), 1]))?;
        for (to, &id) in io.data_mut::<i64>(out, &mut to)?.iter_mut().zip(ours()) {
            *to = id;
        }
    }
    Ok(())
}

fn split_rows(io: &Io<'_>, x: In, outs: &[Option<Out>]) -> Result<()> {
    let from = io.rows(x)?;
    row_selection::check(io, x, &from)?;
    check(io, x, &from.rows)?;
    for (k, &out) in outs.iter().enumerate() {
        let Some(out) = out else { continue };
        let mut to = io.write(out)?;
        row_selection::select(&from, to.rows_mut(), |&row| row as usize % outs.len() == k, |row| row);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor, tensor_of};

    #[test]
    fn ids_by_remainder() {
        check("split_ids")
            .inputs("Ids", vec![tensor_of([3, 1], &[8i64, 3, 4]), tensor_of([1, 1], &[8i64])])
            .outputs("Out", vec![tensor_of([2, 1], &[4i64, 8]).into(), tensor_of([1, 1], &[3i64]).into()])
            .run();
        let e = check("split_ids")
            .input("Ids", tensor_of([2, 1], &[0i64, -3]))
            .outputs("Out", vec![Value::Empty, Value::Empty])
            .error();
        assert!(e.contains("holds the negative id -3 at position 1"), "{e}");
    }

    #[test]
    fn rows_by_remainder() {
        let part = |rows: &[i64], values: &[f32]| {
            Value::Rows(SelectedRows { rows: rows.to_vec(), height: 9, value: tensor([rows.len(), 1], values) })
        };
        check("split_ids")
            .rows_input("Ids", &[4, 1, 0], 9, tensor([3, 1], &[1.0, 2.0, 3.0]))
            .outputs("Out", vec![part(&[4, 0], &[1.0, 3.0]), part(&[1], &[2.0])])
            .run();
    }
}
