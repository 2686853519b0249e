//! `is_empty`: whether a tensor has no elements.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};

use crate::compare::predicate::{answer, one_bool};

pub(crate) const OPS: &[&dyn OpDef] = &[&IsEmpty];

struct IsEmpty;

impl OpDef for IsEmpty {
    sig! {
        "is_empty": "Out = X has no elements";
        in "X": "any tensor";
        out "Out": "bool, of shape [1]";
        traits Traits::GRADIENT_FREE.shape_only(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", one_bool());
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| {
            let empty = io.dense(x)?.numel() == 0;
            answer(io, out, empty)
        })
    }
}

#[test]
fn is_empty() {
    use oarlock_tensor::{B8, Tensor};

    use crate::testing::{check, tensor};
    check("is_empty").input("X", tensor([1], &[0.0])).output("Out", Tensor::scalar(B8::from(false))).run();
    check("is_empty").input("X", tensor([0, 2], &[])).output("Out", Tensor::scalar(B8::from(true))).run();
}
