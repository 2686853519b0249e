//! `flip`: the order of some axes reversed.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, sig};

use crate::shape::axis_moves::{emit_itself, infer_axes, reverse_kernel};

pub(crate) const OPS: &[&dyn OpDef] = &[&Flip];

struct Flip;

impl OpDef for Flip {
    sig! {
        "flip": "Out = X with the order along `dims` reversed";
        in "X": "any tensor";
        out "Out": "like `X`";
        attr "dims": "the axes; negative ones count from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let axes = cx.attrs().ints("dims")?;
        infer_axes(cx, &axes)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        reverse_kernel(p, "dims")
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        emit_itself(g)
    }
}

#[test]
fn flip() {
    use crate::testing::{check, tensor, tensor_of};
    let flip = |dims: Vec<i32>| {
        check("flip").input("X", tensor([2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).attr("dims", dims)
    };
    flip(vec![0]).output("Out", tensor([2, 1, 3], &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0])).grad(&["X"]).run();
    flip(vec![-1, 0]).output("Out", tensor([2, 1, 3], &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0])).grad(&["X"]).run();
    check("flip")
        .input("X", tensor_of::<i64>([0, 2], &[]))
        .attr("dims", vec![0, 1])
        .output("Out", tensor_of::<i64>([0, 2], &[]))
        .run();
    assert_eq!(
        flip(vec![3]).any_output("Out").error(),
        "error[shape]: `flip` has no axis 3 in `X` = X.0 f32[2, 1, 3]\n  at (`flip`, block 0, op 0)"
    );
}
