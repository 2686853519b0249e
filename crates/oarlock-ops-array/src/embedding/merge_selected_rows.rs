//! `merge_selected_rows`: sums the repeated rows of a row-sparse tensor.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::merge::RowOrder;

use crate::embedding::row_selection;

pub(crate) const OPS: &[&dyn OpDef] = &[&MergeSelectedRows];

struct MergeSelectedRows;

impl OpDef for MergeSelectedRows {
    sig! {
        "merge_selected_rows":
            "Out holds each row of X once, with the sum of its values, rows ascending; without repeated rows Out = X";
        in "X": "row-sparse";
        out "Out": "row-sparse, without repeated rows";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => {
            let mut order = RowOrder::default();
            kernel(move |io| {
                let from = io.rows(x)?;
                let mut to = io.write(out)?;
                let to = to.rows_mut();
                let (width, values) = (from.width(), io.data::<T>(x, &from.value)?);
                row_selection::check(io, x, &from)?;
                let distinct = order.sort([&from.rows[..]]);
                if distinct == from.rows.len() {
                    to.copy_from(&from);
                    return Ok(());
                }
                to.height = from.height;
                to.value.resize(from.value.dtype(), from.value.dims().with_rows(distinct));
                order.gather(width, &[values], &mut to.rows, io.data_mut::<T>(out, &mut to.value)?);
                Ok(())
            })
        })
    }
}

#[test]
fn merge_selected_rows() {
    use crate::testing::{check, tensor};
    use oarlock_tensor::{SelectedRows, Value};
    let case = |rows: &[i64], values: &[f32], merged: &[i64], sums: &[f32]| {
        let value = tensor([merged.len(), 1], sums);
        check("merge_selected_rows")
            .rows_input("X", rows, 9, tensor([rows.len(), 1], values))
            .output("Out", Value::Rows(SelectedRows { rows: merged.to_vec(), height: 9, value }))
            .run();
    };
    case(&[5, 1, 5], &[1.0, 2.0, 3.0], &[1, 5], &[2.0, 4.0]);
    case(&[5, 1], &[1.0, 2.0], &[5, 1], &[1.0, 2.0]);
    case(&[], &[], &[], &[]);
}
