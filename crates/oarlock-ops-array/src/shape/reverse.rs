//! `reverse`: the order of some axes reversed.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, sig};

use crate::shape::axis_moves::{emit_itself, infer_axes, reverse_kernel};

pub(crate) const OPS: &[&dyn OpDef] = &[&Reverse];

struct Reverse;

impl OpDef for Reverse {
    sig! {
        "reverse": "Out = X with the order along `axis` reversed";
        in "X": "any tensor";
        out "Out": "like `X`";
        attr "axis": "the axes; negative ones count from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let axes = cx.attrs().ints("axis")?;
        infer_axes(cx, &axes)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        reverse_kernel(p, "axis")
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        emit_itself(g)
    }
}

#[test]
fn reverse() {
    use crate::testing::{check, tensor};
    let reverse = |axis: Vec<i32>| {
        check("reverse").input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).attr("axis", axis)
    };
    reverse(vec![0]).output("Out", tensor([2, 3], &[4.0, 5.0, 6.0, 1.0, 2.0, 3.0])).grad(&["X"]).run();
    reverse(vec![0, 1]).output("Out", tensor([2, 3], &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0])).grad(&["X"]).run();
}
