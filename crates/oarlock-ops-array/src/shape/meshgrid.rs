//! `meshgrid`: the coordinates of a grid.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_tensor::{Dims, Element};

use crate::fill::shape_source::checked_dims;

pub(crate) const OPS: &[&dyn OpDef] = &[&Meshgrid, &GRAD];

struct Meshgrid;

impl OpDef for Meshgrid {
    sig! {
        "meshgrid": "Out[i] at (a, b, ...) = the element of X[i] at the i-th of these coordinates";
        in* "X": "lists, [n] each";
        out* "Out": "as many as X, all of the lengths of the X as sizes";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let all = cx.inputs("X")?;
        let mut shape = Vec::new();
        for x in &all {
            match x.shape[..] {
                [] => shape.push(Dim::Is(1)),
                [n] => shape.push(n),
                _ => return Err(cx.shape_error(format!("needs lists in `X`, but one is {x}"))),
            }
        }
        for (i, x) in all.iter().enumerate() {
            cx.set_nth("Out", i, VarType::tensor(x.dtype, shape.clone()));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, outs) = (p.inputs("X")?, p.outputs("Out")?);
        kernel(move |io| {
            let dims = grid(io, &xs)?;
            for (axis, (&x, out)) in xs.iter().zip(&outs).enumerate() {
                let Some(out) = *out else { continue };
                let from = io.dense(x)?;
                let size = from.dtype().size();
                let mut to = io.out_sized(out, from.dtype(), dims)?;
                let block = dims.matrix(axis + 1).1 * size;
                if to.numel() > 0 {
                    let elements = from.bytes().chunks_exact(size).cycle();
                    for (to, v) in to.bytes_mut().chunks_exact_mut(block).zip(elements) {
                        to.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(v));
                    }
                }
            }
            Ok(())
        })
    }
}

/// The sizes of the grid.
fn grid(io: &Io<'_>, xs: &[In]) -> Result<Dims> {
    let lengths: Result<Vec<i64>> = xs.iter().map(|&x| Ok(io.dense(x)?.numel() as i64)).collect();
    checked_dims(io, &lengths?)
}

const GRAD: GradOp = GradOp::of(&Meshgrid, "meshgrid_grad(X, Out@GRAD) -> X@GRAD")
    .positional()
    .doc("X@GRAD[i] = Out@GRAD[i] summed over all coordinates but the i-th")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (xs, douts, dxs) = (p.inputs("X")?, p.inputs_by_position("Out@GRAD")?, p.outputs("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let dims = grid(io, &xs)?;
            for (axis, (&x, dx)) in xs.iter().zip(&dxs).enumerate() {
                let Some(dx) = *dx else { continue };
                let mut to = io.out_sized(dx, T::DTYPE, *io.dense(x)?.dims())?;
                let to = io.data_mut::<T>(dx, &mut to)?;
                to.fill(0.0);
                let Some(Some(dout)) = douts.get(axis).copied() else { continue };
                let d = io.dense(dout)?;
                if d.numel() != dims.numel() {
                    return Err(io.error(Kind::Shape, dout, format_args!("is {}, but the grid is {dims}", d.dims())));
                }
                let (block, count) = (dims.matrix(axis + 1).1, to.len());
                for (i, d) in io.data::<T>(dout, &d)?.chunks_exact(block.max(1)).enumerate() {
                    to[i % count] += d.iter().sum::<T>();
                }
            }
            Ok(())
        }))
    });

#[test]
fn meshgrid() {
    use crate::testing::{check, tensor};
    let mesh = || check("meshgrid").inputs("X", vec![tensor([2], &[1.0, 2.0]), tensor([3], &[3.0, 4.0, 5.0])]);
    let rows = tensor([2, 3], &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    let columns = tensor([2, 3], &[3.0, 4.0, 5.0, 3.0, 4.0, 5.0]);
    mesh().outputs("Out", vec![rows.into(), columns.into()]).grad(&["X"]).run();
    let wrong = check("meshgrid").inputs("X", vec![tensor([1, 2], &[1.0, 2.0])]).any_output("Out").error();
    assert!(wrong.contains("`meshgrid` needs lists in `X`, but one is f32[1, 2]"), "{wrong}");
}
