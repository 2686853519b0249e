//! `logical_not`: the opposite, element by element.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::B8;

use crate::compare::predicate::infer_bool;

pub(crate) const OPS: &[&dyn OpDef] = &[&LogicalNot];

struct LogicalNot;

impl OpDef for LogicalNot {
    sig! {
        "logical_not": "Out = not X";
        in "X": "a bool tensor";
        out "Out": "like `X`";
        traits Traits::GRADIENT_FREE.in_place(&[("X", "Out")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = infer_bool(cx, "X")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        kernel(move |io| {
            let mut t = io.update(x, out)?;
            io.data_mut::<B8>(out, &mut t)?.iter_mut().for_each(|b| *b = (!b.get()).into());
            Ok(())
        })
    }
}

#[test]
fn logical_not() {
    use crate::testing::{check, tensor, tensor_of};
    let bools = |v: [bool; 2]| tensor_of([2], &v.map(B8::from));
    check("logical_not").input("X", bools([false, true])).output("Out", bools([true, false])).run();
    assert_eq!(
        check("logical_not").input("X", tensor([1], &[1.0])).any_output("Out").error(),
        "error[dtype]: `logical_not` needs bool in `X` = X.0 f32[1]\n  at (`logical_not`, block 0, op 0)\n  \
         help: compare or cast it first"
    );
}
