//! `unbind`: the pieces of a tensor along an axis, without that axis.

use oarlock_ir::{Dim, EMPTY, Grad, Infer, Kernel, Kind, Op, OpDef, Prepare, Result, VarType, grad_name, kernel, sig};
use oarlock_ops_support::int_list::axis_of;

use super::stack::without;
use crate::slicing::axis_blocks::cut;

pub(crate) const OPS: &[&dyn OpDef] = &[&Unbind];

struct Unbind;

impl OpDef for Unbind {
    sig! {
        "unbind": "Out = the pieces of X along an axis, without that axis";
        in "X": "any tensor";
        out* "Out": "the pieces, as many as the axis is long";
        attr "axis" = 0, "the axis; negative ones count from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, axis, num) = (cx.input("X")?, cx.attrs().int("axis")?, cx.op().outputs.get("Out").len());
        let at = axis_of(axis, x.shape.rank()).filter(|at| x.shape[*at].fits(Dim::Is(num)));
        let Some(at) = at else {
            return Err(cx.shape_error(format!("cannot cut {} into {num} pieces along axis {axis}", cx.describe("X"))));
        };
        let mut shape = x.shape.0.clone();
        shape.remove(at);
        for i in 0..num {
            cx.set_nth("Out", i, VarType::tensor(x.dtype, shape.clone()));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, outs, axis) = (p.input("X")?, p.outputs("Out")?, p.attrs().int("axis")?);
        kernel(move |io| {
            let tensor = io.dense(x)?;
            let at = axis_of(axis, tensor.dims().rank()).filter(|at| tensor.dims()[*at] == outs.len());
            let Some(at) = at else {
                let what = format_args!("is {}, it has not {} pieces along axis {axis}", tensor.dims(), outs.len());
                return Err(io.error(Kind::Shape, x, what));
            };
            cut(io, &tensor, at, &outs, |_| Ok(without(tensor.dims(), at)))
        })
    }

    // Saved programs put the pieces together again with `stack`.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let pieces = g.op().outputs.get("Out").iter();
        let mut op = Op::new("stack");
        op.attrs = g.op().attrs.clone();
        op.site = g.op().site.clone();
        op.inputs.set("X", pieces.map(|n| if *n == EMPTY { EMPTY.into() } else { grad_name(n) }).collect());
        op.outputs.set("Y", g.input_grads("X"));
        g.push(op)
    }
}

#[test]
fn unbind() {
    use crate::testing::{check, tensor};
    let unbind = |axis: i32| check("unbind").input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0])).attr("axis", axis);
    let pieces = |a: &[f32], b: &[f32]| vec![tensor([2], a).into(), tensor([2], b).into()];
    unbind(0).outputs("Out", pieces(&[1.0, 2.0], &[3.0, 4.0])).grad(&["X"]).run();
    unbind(-1).outputs("Out", pieces(&[1.0, 3.0], &[2.0, 4.0])).grad(&["X"]).run();
    assert_eq!(
        unbind(0).any_output("Out").error(),
        "error[shape]: `unbind` cannot cut `X` = X.0 f32[2, 2] into 1 pieces along axis 0\n  \
         at (`unbind`, block 0, op 0)"
    );
}
