//! `size`: the number of elements.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, Shape, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Dims};

pub(crate) const OPS: &[&dyn OpDef] = &[&Size];

struct Size;

impl OpDef for Size {
    sig! {
        "size": "Out = the number of elements of Input";
        in "Input": "any tensor";
        out "Out": "i64, of shape [1]";
        traits Traits::GRADIENT_FREE.shape_only(&["Input"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", VarType::tensor(DType::I64, Shape(vec![Dim::Is(1)])));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out) = (p.input("Input")?, p.output("Out")?);
        kernel(move |io| {
            let count = io.dense(input)?.numel();
            let mut to = io.out_sized(out, DType::I64, Dims::from([1]))?;
            io.data_mut::<i64>(out, &mut to)?[0] = count as i64;
            Ok(())
        })
    }
}

#[test]
fn size() {
    use crate::testing::{check, noise, tensor_of};
    check("size").input("Input", noise([2, 3], 1)).output("Out", tensor_of::<i64>([1], &[6])).run();
}
