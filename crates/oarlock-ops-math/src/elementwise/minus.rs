//! `minus`: x - y for tensors of one shape.

use oarlock_ir::{Grad, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, Traits, fail, grad_name, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};

pub(crate) const OPS: &[&dyn OpDef] = &[&Minus];

struct Minus;

impl OpDef for Minus {
    sig! {
        "minus": "Out = X - Y";
        in "X": "any tensor of numbers";
        in "Y": "like `X`";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.input("X")?, cx.input("Y")?);
        if x.shape.rank() != y.shape.rank() || !x.shape.iter().zip(y.shape.iter()).all(|(a, b)| a.fits(*b)) {
            let what = format!("needs {} and {} of one shape", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what).help("`elementwise_sub` broadcasts"));
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        by_number!(p.dtype("X")?, T => kernel(move |io| {
            let mut to = io.update(x, out)?;
            let other = io.dense(y)?;
            if other.numel() != to.numel() {
                let what = format_args!("is {}, but `X` is {}", other.dims(), to.dims());
                return Err(io.error(Kind::Shape, y, what));
            }
            T::sub_from(io.data_mut::<T>(out, &mut to)?, io.data::<T>(y, &other)?);
            Ok(())
        }), other => fail!(Kind::DType, "`minus` works on f32, f64, i32 and i64, not on {other}"))
    }

    // Saved programs have two scales here.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        for (slot, scale) in [("X", 1.0f32), ("Y", -1.0)] {
            let mut op = Op::new("scale").attr("scale", scale);
            op.site = g.op().site.clone();
            op.inputs.set("X", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
            op.outputs.set("Out", g.input_grads(slot));
            g.push(op)?;
        }
        Ok(())
    }
}

#[test]
fn minus() {
    use crate::testing::{check, tensor};
    let minus = || check("minus").input("X", tensor([2], &[3.0, 1.0]));
    minus().input("Y", tensor([2], &[1.0, 4.0])).output("Out", tensor([2], &[2.0, -3.0])).grad(&["X", "Y"]).run();
    assert_eq!(
        minus().input("Y", tensor([1], &[1.0])).any_output("Out").error(),
        "error[shape]: `minus` needs `X` = X.0 f32[2] and `Y` = Y.0 f32[1] of one shape\n  \
         at (`minus`, block 0, op 0)\n  help: `elementwise_sub` broadcasts"
    );
}
