//! `equal_reduce`: whether two tensors are equal everywhere.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_ops_support::number::by_number;
use oarlock_tensor::{B8, DType};

use crate::compare::predicate::{answer, one_bool};

pub(crate) const OPS: &[&dyn OpDef] = &[&EqualReduce];

struct EqualReduce;

impl OpDef for EqualReduce {
    sig! {
        "equal_reduce": "Out = X equals Y in shape and everywhere";
        in "X": "any tensor of numbers or truth values";
        in "Y": "of the same dtype";
        out "Out": "bool, of shape [1]";
        hints ["axis"];
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", one_bool());
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        macro_rules! equal {
            ($T:ty) => {
                kernel(move |io| {
                    let (a, b) = (io.dense(x)?, io.dense(y)?);
                    let same = io.data::<$T>(x, &a)? == io.data::<$T>(y, &b)? && a.dims() == b.dims();
                    answer(io, out, same)
                })
            };
        }
        by_number!(p.dtype("X")?, T => equal!(T), other => {
            if other != DType::Bool {
                fail!(Kind::DType, "`equal_reduce` compares bool, i32, i64, f32 and f64, not {other}");
            }
            equal!(B8)
        })
    }
}

#[test]
fn equal_reduce() {
    use oarlock_tensor::Tensor;

    use crate::testing::{check, tensor};
    for (y, expected) in [([1.0, 2.0], true), ([1.0, 3.0], false)] {
        check("equal_reduce")
            .input("X", tensor([2], &[1.0, 2.0]))
            .input("Y", tensor([2], &y))
            .output("Out", Tensor::scalar(B8::from(expected)))
            .run();
    }
}
