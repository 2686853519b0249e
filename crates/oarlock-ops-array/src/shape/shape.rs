//! `shape`: the sizes of a tensor, as a tensor.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, Shape as Sizes, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Dims, Value};

pub(crate) const OPS: &[&dyn OpDef] = &[&Shape];

struct Shape;

impl OpDef for Shape {
    sig! {
        "shape": "Out = the sizes of Input";
        in "Input": "any tensor, or selected rows";
        out "Out": "i32, as long as `Input` has axes";
        traits Traits::GRADIENT_FREE.shape_only(&["Input"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let rank = cx.input("Input")?.shape.rank();
        cx.set("Out", VarType::tensor(DType::I32, Sizes(vec![Dim::Is(rank)])));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out) = (p.input("Input")?, p.output("Out")?);
        kernel(move |io| {
            let dims = match &*io.value(input)? {
                Value::Rows(rows) => *rows.value.dims(),
                _ => *io.dense(input)?.dims(),
            };
            let mut to = io.out_sized(out, DType::I32, Dims::from([dims.rank()]))?;
            io.data_mut::<i32>(out, &mut to)?.iter_mut().zip(dims.iter()).for_each(|(t, n)| *t = *n as i32);
            Ok(())
        })
    }
}

#[test]
fn shape() {
    use crate::testing::{check, noise, tensor_of};
    check("shape").input("Input", noise([2, 3], 1)).output("Out", tensor_of::<i32>([2], &[2, 3])).run();
}
