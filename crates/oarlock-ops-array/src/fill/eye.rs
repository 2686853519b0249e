//! `eye`: ones on the diagonal.

use oarlock_ir::{AttrView, Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Element, by_element};

use crate::fill::shape_source::checked_dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&Eye];

struct Eye;

/// Rows and columns; there are as many columns as rows if no number is given.
fn sizes(attrs: AttrView<'_>) -> Result<[usize; 2]> {
    let rows = attrs.count("num_rows")?;
    Ok([rows, if attrs.int("num_columns")? == -1 { rows } else { attrs.count("num_columns")? }])
}

impl OpDef for Eye {
    sig! {
        "eye": "Out = 1 on the diagonal, 0 elsewhere";
        out "Out": "[num_rows, num_columns] of `dtype`";
        attr "num_rows": "rows";
        attr "num_columns" = -1i64, "columns; -1 for as many as rows";
        attr "dtype" = DType::F32.proto(), "element type of `Out`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let [rows, columns] = sizes(cx.attrs())?;
        let out = VarType::tensor(cx.attrs().dtype("dtype")?, &oarlock_tensor::Dims::from([rows, columns]));
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, [rows, columns]) = (p.output("Out")?, sizes(p.attrs())?);
        by_element!(p.attrs().dtype("dtype")?, T => kernel(move |io| {
            let mut to = io.out_sized(out, T::DTYPE, checked_dims(io, &[rows as i64, columns as i64])?)?;
            let to = io.data_mut::<T>(out, &mut to)?;
            to.fill(T::from_i64(0));
            to.iter_mut().step_by(columns + 1).take(rows.min(columns)).for_each(|v| *v = T::from_i64(1));
            Ok(())
        }))
    }
}

#[test]
fn eye() {
    use crate::testing::{check, tensor, tensor_of};
    let square = tensor([2, 2], &[1.0, 0.0, 0.0, 1.0]);
    check("eye").attr("num_rows", 2i64).output("Out", square).run();
    let tall = tensor_of::<i64>([3, 1], &[1, 0, 0]);
    let eye = || check("eye").attr("num_rows", 3i64).attr("dtype", DType::I64.proto());
    eye().attr("num_columns", 1i64).output("Out", tall).run();
    let wrong = eye().attr("num_columns", -2i64).any_output("Out").error();
    assert!(wrong.contains("attribute `num_columns` of `eye` must not be negative, but it is -2"), "{wrong}");
}
