//! `merge_ids`: puts rows that were fetched part by part back into the order of the ids that were asked for.

use std::collections::HashMap;

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType, by_float, kernel, sig};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&MergeIds];

struct MergeIds;

impl OpDef for MergeIds {
    sig! {
        "merge_ids": "Out[i][j, :] = X[k][l, :] where Rows[k][l] = Ids[i][j]; the inverse of `split_ids` and a lookup";
        in* "Ids": "i64 ids that were asked for";
        in* "Rows": "i64 ids that each part answered";
        in* "X": "the rows of each part, in the order of its `Rows`";
        out* "Out": "one per `Ids`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        for (i, ids) in cx.inputs("Ids")?.into_iter().enumerate() {
            let rows = oarlock_ir::product(&ids.shape);
            let width = x.shape.last().copied().unwrap_or(Dim::Any);
            cx.set_nth("Out", i, VarType::tensor(x.dtype, vec![rows, width]));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let parts = p.inputs("Rows")?.into_iter().zip(p.inputs("X")?).collect();
        let asked = p.inputs("Ids")?.into_iter().zip(p.outputs("Out")?).collect();
        let merge = Merge { parts, asked };
        let mut found = HashMap::new();
        by_float!(p.float("X")?, T => kernel(move |io| merge.run::<T>(io, &mut found)))
    }
}

struct Merge {
    parts: Vec<(In, In)>,
    asked: Vec<(In, Option<Out>)>,
}

impl Merge {
    fn run<T: Float>(&self, io: &Io<'_>, found: &mut HashMap<i64, (usize, usize)>) -> Result<()> {
        let width = self.index(io, found)?;
        let answers = self.parts.iter().map(|(_, x)| io.dense(*x)).collect::<Result<Vec<_>>>()?;
        for &(input, out) in &self.asked {
            let Some(out) = out else { continue };
            let ids = io.dense(input)?;
            let ids = io.data::<i64>(input, &ids)?;
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([ids.len(), width]))?;
            let to = io.data_mut::<T>(out, &mut to)?.chunks_exact_mut(width.max(1));
            for (at, (id, to)) in ids.iter().zip(to).enumerate() {
                let Some(&(part, row)) = found.get(id) else {
                    let what = format!("holds id {id} at position {at}, which no part answered");
                    return Err(io.error(Kind::Range, input, what));
                };
                let values = io.data::<T>(self.parts[part].1, &answers[part])?;
                to.copy_from_slice(&values[row * width..][..width]);
            }
        }
        Ok(())
    }

    /// Where each id is: part and row. Returns the width of a row.
    fn index(&self, io: &Io<'_>, found: &mut HashMap<i64, (usize, usize)>) -> Result<usize> {
        found.clear();
        let mut width = None;
        for (part, &(rows, x)) in self.parts.iter().enumerate() {
            let (ids, values) = (io.dense(rows)?, io.dense(x)?);
            let ids = io.data::<i64>(rows, &ids)?;
            let own = values.dims().last().copied().unwrap_or(1);
            if values.numel() != ids.len() * own || *width.get_or_insert(own) != own {
                let what = format!("is {}, but {} holds {} ids", values.dims(), io.describe(rows), ids.len());
                return Err(io.error(Kind::Shape, x, what));
            }
            found.extend(ids.iter().enumerate().map(|(row, &id)| (id, (part, row))));
        }
        Ok(width.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn merge(ids: &[i64]) -> Check {
        check("merge_ids")
            .input("Ids", tensor_of([ids.len(), 1], ids))
            .inputs("Rows", vec![tensor_of([2, 1], &[0i64, 2]), tensor_of([1, 1], &[3i64])])
            .inputs("X", vec![tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor([1, 2], &[5.0, 6.0])])
    }

    #[test]
    fn rows_come_back_in_order() {
        merge(&[0, 3, 2, 3]).output("Out", tensor([4, 2], &[1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 5.0, 6.0])).run();
    }

    #[test]
    fn an_id_without_an_answer_is_named() {
        let e = merge(&[0, 1]).any_output("Out").error();
        assert!(e.contains("holds id 1 at position 1, which no part answered"), "{e}");
    }
}
