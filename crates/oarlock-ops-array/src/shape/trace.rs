//! `trace`: the sum of a diagonal.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Dims, Element};

use super::diag_embed::{plane, plane_attrs};
use crate::shape::diagonal::{Diagonals, Plane};

pub(crate) const OPS: &[&dyn OpDef] = &[&Trace, &GRAD];

struct Trace;

impl OpDef for Trace {
    sig! {
        "trace": "Out = the sums of the diagonals of Input";
        in "Input": "numbers, at least two axes";
        out "Out": "the axes of `Input` but those of the diagonal, [1] if none is left";
        with plane_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (input, plane) = (cx.input("Input")?, plane(cx.attrs())?);
        let Some((a, b)) = plane.axes(input.shape.rank()) else {
            let what = format!("has no axes {} and {} in {}", plane.dim1, plane.dim2, cx.describe("Input"));
            return Err(cx.shape_error(what));
        };
        let mut shape = input.shape.0.clone();
        shape.remove(a.max(b));
        shape.remove(a.min(b));
        if shape.is_empty() {
            shape.push(Dim::Is(1));
        }
        cx.set("Out", VarType::tensor(input.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, out, plane) = (p.input("Input")?, p.output("Out")?, plane(p.attrs())?);
        by_number!(p.dtype("Input")?, T => kernel(move |io| {
            let from = io.dense(input)?;
            let diagonals = diagonals(io, input, from.dims(), plane)?;
            let dims = if diagonals.rest.rank() == 0 { Dims::from([1]) } else { diagonals.rest };
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            let (from, to) = (io.data::<T>(input, &from)?, io.data_mut::<T>(out, &mut to)?);
            diagonals.each(|n, places| to[n] = places.fold(T::ZERO, |sum, at| sum.plus(from[at])));
            Ok(())
        }), other => fail!(Kind::DType, "`trace` works on f32, f64, i32 and i64, not on {other}"))
    }
}

fn diagonals(io: &Io<'_>, input: In, dims: &Dims, plane: Plane) -> Result<Diagonals> {
    plane.of(dims).ok_or_else(|| {
        let what = format_args!("is {dims}, it has no axes {} and {}", plane.dim1, plane.dim2);
        io.error(Kind::Shape, input, what)
    })
}

const GRAD: GradOp = GradOp::of(&Trace, "trace_grad(Input, Out@GRAD) -> Input@GRAD")
    .doc("Input@GRAD = Out@GRAD on the diagonals, 0 elsewhere")
    .traits(Traits::NONE.shape_only(&["Input"]))
    .kernel(|p| {
        let (input, dout, dx, plane) =
            (p.input("Input")?, p.input("Out@GRAD")?, p.output("Input@GRAD")?, plane(p.attrs())?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let (dims, d) = (*io.dense(input)?.dims(), io.dense(dout)?);
            let diagonals = diagonals(io, input, &dims, plane)?;
            if d.numel() != diagonals.rest.numel() {
                let what = format_args!("is {}, but there are {} diagonals", d.dims(), diagonals.rest.numel());
                return Err(io.error(Kind::Shape, dout, what));
            }
            let mut to = io.out_sized(dx, T::DTYPE, dims)?;
            let (d, to) = (io.data::<T>(dout, &d)?, io.data_mut::<T>(dx, &mut to)?);
            to.fill(0.0);
            diagonals.each(|n, places| places.for_each(|at| to[at] = d[n]));
            Ok(())
        }))
    });

#[test]
fn trace() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let trace = || check("trace").input("Input", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    trace().output("Out", tensor([1], &[6.0])).grad(&["Input"]).run();
    trace().attr("offset", 1).output("Out", tensor([1], &[8.0])).grad(&["Input"]).run();
    trace().attr("offset", -7).output("Out", tensor([1], &[0.0])).grad(&["Input"]).run();
    check("trace")
        .input("Input", noise([2, 3, 4], 1))
        .attr("dim1", 0)
        .attr("dim2", 2)
        .attr("offset", -1)
        .any_output("Out")
        .grad(&["Input"])
        .run();
    check("trace")
        .input("Input", tensor_of::<i64>([2, 2], &[1, 2, 3, 4]))
        .output("Out", tensor_of::<i64>([1], &[5]))
        .run();
    assert_eq!(
        trace().attr("dim1", 1).any_output("Out").error(),
        "error[shape]: `trace` has no axes 1 and -1 in `Input` = Input.0 f32[2, 3]\n  at (`trace`, block 0, op 0)"
    );
}
