//! `sign`: -1, 0 or 1, element by element.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, Traits, grad_name, sig};
use oarlock_ops_support::pointwise::{self, sign};

pub(crate) const OPS: &[&dyn OpDef] = &[&Sign];

struct Sign;

impl OpDef for Sign {
    sig! {
        "sign": "Out = -1 where X < 0, 1 where X > 0, 0 at 0";
        in "X": "f32 or f64";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        pointwise::map_kernel(p, sign, sign)
    }

    // Saved programs have `scale` by 0 here, not an operator of its own.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = oarlock_ir::Op::new("scale");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
        op.outputs.set("Out", g.input_grads("X"));
        op.attrs.set("scale", 0.0f32);
        g.push(op)
    }
}

#[test]
fn sign_of_numbers() {
    use crate::testing::{check, tensor};
    check("sign")
        .input("X", tensor([4], &[-1.5, 0.0, 2.0, -0.25]))
        .output("Out", tensor([4], &[-1.0, 0.0, 1.0, -1.0]))
        .run();
    check("sign").input("X", tensor([2], &[-1.5, 2.0])).any_output("Out").grad(&["X"]).run();
}
