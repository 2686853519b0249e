//! `get_tensor_from_selected_rows`: the values of a row-sparse tensor, without saying which rows they are.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, VarKind, kernel, sig};

use crate::embedding::row_selection;

pub(crate) const OPS: &[&dyn OpDef] = &[&GetTensorFromSelectedRows];

struct GetTensorFromSelectedRows;

impl OpDef for GetTensorFromSelectedRows {
    sig! {
        "get_tensor_from_selected_rows": "Out is the values of X, a row for each listed row";
        in "X": "row-sparse";
        out "Out": "dense";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut x = cx.input("X")?.with_kind(VarKind::Tensor);
        if let Some(rows) = x.shape.0.first_mut() {
            *rows = Dim::Any;
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| {
            let from = io.rows(x)?;
            row_selection::check(io, x, &from)?;
            io.out(out)?.copy_from(&from.value);
            Ok(())
        })
    }
}

#[test]
fn get_tensor_from_selected_rows() {
    use crate::testing::{check, tensor};
    check("get_tensor_from_selected_rows")
        .rows_input("X", &[4, 2], 9, tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .output("Out", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .run();
}
