//! `stack`: tensors side by side along a new axis.

use oarlock_ir::{Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, VarType, fail, kernel, sig};
use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::Dims;

use crate::slicing::axis_blocks::{block, cut, put};

pub(crate) const OPS: &[&dyn OpDef] = &[&Stack, &GRAD];

struct Stack;

impl OpDef for Stack {
    sig! {
        "stack": "Y = all X, side by side along a new axis";
        in* "X": "any tensors of one dtype and shape";
        out "Y": "of the shape of `X` with an axis inserted, as long as there are X";
        attr "axis" = 0, "where the new axis is; negative ones count from the end";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let all = cx.inputs("X")?;
        let Some(first) = all.first() else { fail!(Kind::Missing, "`stack` needs input `X`") };
        let mut shape = first.shape.0.clone();
        for x in &all[1..] {
            if x.shape.rank() != shape.len() || !shape.iter().zip(x.shape.iter()).all(|(a, b)| a.fits(*b)) {
                return Err(cx.shape_error(format!("cannot put {first} and {x} side by side: shapes differ")));
            }
            shape.iter_mut().zip(x.shape.iter()).for_each(|(a, b)| *a = a.or(*b));
        }
        let axis = cx.attrs().int("axis")?;
        let Some(at) = axis_of(axis, shape.len() + 1) else {
            return Err(cx.shape_error(format!("cannot insert axis {axis} into {first}")));
        };
        shape.insert(at, Dim::Is(all.len()));
        let y = VarType::tensor(first.dtype, shape);
        cx.set("Y", y);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, y, axis) = (p.inputs("X")?, p.output("Y")?, p.attrs().int("axis")?);
        kernel(move |io| {
            let Some(&slot) = xs.first() else { return Err(io.op_error(Kind::Missing, "needs input `X`")) };
            let first = io.dense(slot)?;
            let Some((at, dims)) = inserted(first.dims(), axis, xs.len()) else {
                return Err(io.error(
                    Kind::Shape,
                    slot,
                    format_args!("is {}: axis {axis} cannot be inserted", first.dims()),
                ));
            };
            let mut to = io.out_sized(y, first.dtype(), dims)?;
            let row = block(&to, at);
            for (i, &x) in xs.iter().enumerate() {
                let part = io.dense(x)?;
                if part.dims() != first.dims() || part.dtype() != first.dtype() {
                    let (a, b) = (&*part, &*first);
                    let what = format_args!("is {}{}, but others are {}{}", a.dtype(), a.dims(), b.dtype(), b.dims());
                    return Err(io.error(Kind::Shape, x, what));
                }
                let block = block(&part, at);
                put(part.bytes(), block, to.bytes_mut(), row, i * block);
            }
            Ok(())
        })
    }
}

/// The new axis, counted from the front, and the shape with it; `None` if there is no such place.
pub(super) fn inserted(dims: &Dims, axis: i64, size: usize) -> Option<(usize, Dims)> {
    let at = axis_of(axis, dims.rank() + 1)?;
    let mut all = dims.to_vec();
    all.insert(at, size);
    Some((at, Dims::try_new(&all).ok()?))
}

const GRAD: GradOp = GradOp::of(&Stack, "stack_grad(Y@GRAD) -> X@GRAD")
    .positional()
    .doc("X@GRAD = the pieces of Y@GRAD")
    .infer(|cx| {
        let (d, axis) = (cx.input("Y@GRAD")?, cx.attrs().int("axis")?);
        let Some(at) = axis_of(axis, d.shape.rank()) else {
            return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("Y@GRAD"))));
        };
        let mut shape = d.shape.0.clone();
        shape.remove(at);
        for i in 0..cx.op().outputs.get("X@GRAD").len() {
            cx.set_nth("X@GRAD", i, VarType::tensor(d.dtype, shape.clone()));
        }
        Ok(())
    })
    .kernel(|p| {
        let (dy, dxs, axis) = (p.input("Y@GRAD")?, p.outputs("X@GRAD")?, p.attrs().int("axis")?);
        kernel(move |io| {
            let d = io.dense(dy)?;
            let at = axis_of(axis, d.dims().rank()).filter(|at| d.dims()[*at] == dxs.len());
            let Some(at) = at else {
                let what = format_args!("is {}, it has not {} pieces along axis {axis}", d.dims(), dxs.len());
                return Err(io.error(Kind::Shape, dy, what));
            };
            cut(io, &d, at, &dxs, |_| Ok(without(d.dims(), at)))
        })
    });

/// The shape without one axis.
pub(super) fn without(dims: &Dims, axis: usize) -> Dims {
    let mut rest = Dims::new(&dims[..axis]);
    dims[axis + 1..].iter().for_each(|n| rest.push(*n));
    rest
}

#[test]
fn stack() {
    use crate::testing::{check, tensor};
    let stack = || check("stack").inputs("X", vec![tensor([2], &[1.0, 2.0]), tensor([2], &[3.0, 4.0])]);
    stack().output("Y", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0])).grad(&["X"]).run();
    stack().attr("axis", -1).output("Y", tensor([2, 2], &[1.0, 3.0, 2.0, 4.0])).grad(&["X"]).run();
    let wrong = check("stack").inputs("X", vec![tensor([2], &[1.0, 2.0]), tensor([1], &[3.0])]).any_output("Y");
    assert_eq!(
        wrong.error(),
        "error[shape]: `stack` cannot put f32[2] and f32[1] side by side: shapes differ\n  at (`stack`, block 0, op 0)"
    );
}
