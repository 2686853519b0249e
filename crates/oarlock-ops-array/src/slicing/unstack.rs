//! `unstack`: the pieces of a tensor along an axis, without that axis.

use oarlock_ir::{Dim, Grad, Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, fail, kernel, sig};
use oarlock_ops_support::int_list::axis_of;

use super::stack::{inserted, without};
use crate::slicing::axis_blocks::{block, cut, put};

pub(crate) const OPS: &[&dyn OpDef] = &[&Unstack, &UnstackGrad];

struct Unstack;

impl OpDef for Unstack {
    sig! {
        "unstack": "Y = the pieces of X along an axis, without that axis";
        in "X": "any tensor";
        out* "Y": "the pieces";
        attr "axis" = 0, "the axis; negative ones count from the end";
        attr "num": "the number of pieces, which is the size of X along the axis";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, axis, num) = (cx.input("X")?, cx.attrs().int("axis")?, cx.attrs().count("num")?);
        let at = axis_of(axis, x.shape.rank()).filter(|at| x.shape[*at].fits(Dim::Is(num)));
        let Some(at) = at else {
            return Err(cx.shape_error(format!("cannot cut {} into {num} pieces along axis {axis}", cx.describe("X"))));
        };
        let mut shape = x.shape.0.clone();
        shape.remove(at);
        for i in 0..cx.op().outputs.get("Y").len() {
            cx.set_nth("Y", i, VarType::tensor(x.dtype, shape.clone()));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, ys, axis) = (p.input("X")?, p.outputs("Y")?, p.attrs().int("axis")?);
        kernel(move |io| {
            let tensor = io.dense(x)?;
            let at = axis_of(axis, tensor.dims().rank()).filter(|at| tensor.dims()[*at] == ys.len());
            let Some(at) = at else {
                let what = format_args!("is {}, it has not {} pieces along axis {axis}", tensor.dims(), ys.len());
                return Err(io.error(Kind::Shape, x, what));
            };
            cut(io, &tensor, at, &ys, |_| Ok(without(tensor.dims(), at)))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("unstack_grad", &["Y@GRAD"], &["X@GRAD"])
    }
}

struct UnstackGrad;

impl OpDef for UnstackGrad {
    sig! {
        "unstack_grad": "X@GRAD = all Y@GRAD, side by side";
        in* "Y@GRAD": "gradients of `Y`";
        out "X@GRAD": "gradient of `X`";
        attr "axis" = 0, "of the forward operator";
        hints ["num"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (all, axis) = (cx.inputs("Y@GRAD")?, cx.attrs().int("axis")?);
        let Some(first) = all.first() else { fail!(Kind::Missing, "`unstack_grad` needs input `Y@GRAD`") };
        let mut shape = first.shape.0.clone();
        let Some(at) = axis_of(axis, shape.len() + 1) else {
            return Err(cx.shape_error(format!("cannot insert axis {axis} into {first}")));
        };
        shape.insert(at, Dim::Is(all.len()));
        let dx = VarType::tensor(first.dtype, shape);
        cx.set("X@GRAD", dx);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (dys, dx, axis) = (p.inputs("Y@GRAD")?, p.output("X@GRAD")?, p.attrs().int("axis")?);
        kernel(move |io| {
            let Some(&slot) = dys.first() else { return Err(io.op_error(Kind::Missing, "needs input `Y@GRAD`")) };
            let first = io.dense(slot)?;
            let Some((at, dims)) = inserted(first.dims(), axis, dys.len()) else {
                return Err(io.error(
                    Kind::Shape,
                    slot,
                    format_args!("is {}: axis {axis} cannot be inserted", first.dims()),
                ));
            };
            let mut to = io.out_sized(dx, first.dtype(), dims)?;
            let row = block(&to, at);
            for (i, &dy) in dys.iter().enumerate() {
                let part = io.dense(dy)?;
                if part.dims() != first.dims() {
                    let what = format_args!("is {}, but others are {}", part.dims(), first.dims());
                    return Err(io.error(Kind::Shape, dy, what));
                }
                let block = block(&part, at);
                put(part.bytes(), block, to.bytes_mut(), row, i * block);
            }
            Ok(())
        })
    }
}

#[test]
fn unstack() {
    use crate::testing::{check, tensor};
    let unstack = |axis: i32| {
        check("unstack").input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0])).attr("axis", axis).attr("num", 2)
    };
    let pieces = |a: &[f32], b: &[f32]| vec![tensor([2], a).into(), tensor([2], b).into()];
    unstack(0).outputs("Y", pieces(&[1.0, 2.0], &[3.0, 4.0])).grad(&["X"]).run();
    unstack(-1).outputs("Y", pieces(&[1.0, 3.0], &[2.0, 4.0])).grad(&["X"]).run();
    assert_eq!(
        unstack(2).any_output("Y").error(),
        "error[shape]: `unstack` cannot cut `X` = X.0 f32[2, 2] into 2 pieces along axis 2\n  \
         at (`unstack`, block 0, op 0)"
    );
}
