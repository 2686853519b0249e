//! `flatten`: a matrix of what is before an axis and what is from it on.

use oarlock_ir::{Dim, In, Infer, Io, OpDef, Prepare, Result, Sig, VarType, product};
use oarlock_tensor::Dims;

use crate::shape::reshaping::{First, FirstGrad, Reform};

pub(crate) const OPS: &[&dyn OpDef] = &[&First::<Flatten>::OP, &FirstGrad::<Flatten>::OP];

pub(super) struct Flatten {
    axis: usize,
}

impl Reform for Flatten {
    const TYPES: [&'static str; 4] = ["flatten", "flatten_grad", "flatten2", "flatten2_grad"];
    const DOC: &'static str = "Out = X as a matrix";

    fn describe(sig: Sig) -> Sig {
        sig.attr("axis", 1, "axes before this one make rows, the others columns")
    }

    fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Vec<Dim>> {
        let axis = cx.attrs().count("axis")?;
        if axis > x.shape.rank() {
            return Err(cx.shape_error(format!("has no axis {axis} to cut {} at", cx.describe("X"))));
        }
        Ok(vec![product(&x.shape[..axis]), product(&x.shape[axis..])])
    }

    fn prepare(p: &Prepare<'_>) -> Result<Flatten> {
        Ok(Flatten { axis: p.attrs().count("axis")? })
    }

    fn dims(&mut self, _: &Io<'_>, _: In, from: &Dims) -> Result<Dims> {
        let (rows, cols) = from.matrix(self.axis);
        Ok(Dims::from([rows, cols]))
    }
}

#[test]
fn flatten() {
    use crate::testing::{check, tensor};
    let flatten = |axis: i32| check("flatten").input("X", tensor([2, 1, 2], &[1.0, 2.0, 3.0, 4.0])).attr("axis", axis);
    let out = |dims: [usize; 2]| tensor(dims, &[1.0, 2.0, 3.0, 4.0]);
    flatten(0).output("Out", out([1, 4])).grad(&["X"]).run();
    flatten(1).output("Out", out([2, 2])).grad(&["X"]).run();
    flatten(3).output("Out", out([4, 1])).grad(&["X"]).run();
    assert_eq!(
        flatten(4).any_output("Out").error(),
        "error[shape]: `flatten` has no axis 4 to cut `X` = X.0 f32[2, 1, 2] at\n  at (`flatten`, block 0, op 0)"
    );
}
