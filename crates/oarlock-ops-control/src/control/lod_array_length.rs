//! `lod_array_length`: how many entries an array has.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Shape, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&LodArrayLength];

struct LodArrayLength;

impl OpDef for LodArrayLength {
    sig! {
        "lod_array_length": "Out = the number of entries of X";
        in "X": "an array";
        out "Out": "one i64";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", VarType::tensor(DType::I64, Shape::from(&[1].into())));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| {
            let len = if io.value(x)?.is_empty() { 0 } else { io.array(x)?.items().len() };
            io.out(out)?.copy_from(&Tensor::scalar(len as i64));
            Ok(())
        })
    }
}

#[test]
fn lod_array_length() {
    use crate::testing::{check, noise, tensor_of};
    use oarlock_tensor::{TensorArray, Value};
    let array = Value::Array(TensorArray::of(vec![noise([2], 1), noise([3], 2)]));
    check("lod_array_length").input("X", array).output("Out", tensor_of([1], &[2i64])).run();
}
