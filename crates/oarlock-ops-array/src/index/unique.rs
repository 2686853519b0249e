//! `unique`: each number once.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::index::distinct;

pub(crate) const OPS: &[&dyn OpDef] = &[&Unique];

struct Unique;

impl OpDef for Unique {
    fn sig(&self) -> Sig {
        distinct::sig("unique", "Out = each number of X once; X = Out[Index]")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        distinct::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        distinct::prepare(p)
    }

    fn traits(&self) -> Traits {
        Traits::GRADIENT_FREE
    }
}

#[test]
fn unique() {
    use crate::testing::{check, tensor, tensor_of};
    use oarlock_tensor::DType;
    let unique = || check("unique").attr("dtype", DType::I64.proto());
    unique()
        .input("X", tensor_of::<i32>([4], &[3, 1, 3, 2]))
        .output("Out", tensor_of::<i32>([3], &[3, 1, 2]))
        .output("Index", tensor_of::<i64>([4], &[0, 1, 0, 2]))
        .run();
    unique()
        .input("X", tensor([4], &[0.0, f32::NAN, -0.0, f32::NAN]))
        .any_output("Out")
        .output("Index", tensor_of::<i64>([4], &[0, 1, 0, 2]))
        .run();
    let wrong = unique().input("X", tensor([1, 1], &[0.0])).any_output("Out").any_output("Index").error();
    assert!(wrong.contains("`unique` needs a list, not `X` = X.0 f32[1, 1]"), "{wrong}");
}
