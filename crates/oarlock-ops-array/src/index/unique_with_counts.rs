//! `unique_with_counts`: each number once, and how often it occurs.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::index::distinct;

pub(crate) const OPS: &[&dyn OpDef] = &[&UniqueWithCounts];

struct UniqueWithCounts;

impl OpDef for UniqueWithCounts {
    fn sig(&self) -> Sig {
        distinct::sig(
            "unique_with_counts",
            "Out = each number of X once; X = Out[Index]; Count = how often each occurs",
        )
        .output("Count", "[m], how often each number of `Out` is in `X`")
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
fn unique_with_counts() {
    use crate::testing::{check, tensor, tensor_of};
    check("unique_with_counts")
        .attr("dtype", oarlock_tensor::DType::I32.proto())
        .input("X", tensor([3], &[1.5, 0.5, 1.5]))
        .output("Out", tensor([2], &[1.5, 0.5]))
        .output("Index", tensor_of::<i32>([3], &[0, 1, 0]))
        .output("Count", tensor_of::<i32>([2], &[2, 1]))
        .run();
}
