//! `maxout`: the maximum over groups of neighbouring channels.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, by_float, fail, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Maxout, &GRAD];

struct Maxout;

impl OpDef for Maxout {
    sig! {
        "maxout": "Out = maximum of X over each `groups` neighbouring channels";
        in "X": "images of four sizes";
        out "Out": "like `X`, with channels / groups channels";
        attr "groups": "how many channels are compared";
        attr "axis" = 1, "the axis of the channels";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let (axis, groups) = (class_axis::infer_axis(cx, "X")?, groups(cx.attrs().count("groups")?)?);
        let mut shape = x.shape.clone();
        if let Some(channels) = shape[axis].known() {
            if channels % groups != 0 {
                let what = format!("cannot cut the channels of {} in groups of {groups}", cx.describe("X"));
                return Err(cx.shape_error(what));
            }
            shape.0[axis] = oarlock_ir::Dim::Is(channels / groups);
        }
        cx.set("Out", x.with_shape(shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, axis) = (p.input("X")?, p.output("Out")?, p.attrs().int("axis")?);
        let groups = groups(p.attrs().count("groups")?)?;
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, out, axis, groups)))
    }
}

fn groups(groups: usize) -> Result<usize> {
    if groups == 0 {
        fail!(Kind::Argument, "attribute `groups` of `maxout` must be above 0");
    }
    Ok(groups)
}

/// The groups of channels as rows of classes, and the sizes of the output.
fn view(io: &Io<'_>, x: In, dims: &Dims, axis: i64, groups: usize) -> Result<(Classes, Dims)> {
    let all = Classes::of(io, x, dims, axis)?;
    if all.len % groups != 0 {
        return Err(io.error(Kind::Shape, x, format_args!("has {} channels, not groups of {groups}", all.len)));
    }
    let mut out = *dims;
    if let Some(a) = class_axis::axis_of(axis, dims.rank()) {
        out[a] /= groups;
    }
    Ok((Classes { outer: all.outer * (all.len / groups), len: groups, inner: all.inner }, out))
}

fn forward<T: Float>(io: &Io<'_>, x: In, out: Out, axis: i64, groups: usize) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let (view, dims) = view(io, x, x_tensor.dims(), axis, groups)?;
    let x = io.data::<T>(x, &x_tensor)?;
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    for (row, out) in io.data_mut::<T>(out, &mut t)?.iter_mut().enumerate() {
        *out = view.row(row).fold(-T::INFINITY, |max, i| if x[i] > max { x[i] } else { max });
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Maxout, "maxout_grad(X, Out, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD at the first maximum of each group, else 0")
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("Out")?, p.input("Out@GRAD")?);
        let (dx, axis, groups) = (p.output("X@GRAD")?, p.attrs().int("axis")?, groups(p.attrs().count("groups")?)?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, dx, axis, groups)))
    });

fn backward<T: Float>(io: &Io<'_>, (x, out, dout): (In, In, In), dx: Out, axis: i64, groups: usize) -> Result<()> {
    let (x_tensor, out_tensor, dout_tensor) = (io.dense(x)?, io.dense(out)?, io.dense(dout)?);
    let (view, _) = view(io, x, x_tensor.dims(), axis, groups)?;
    let (max, d) = (io.data::<T>(out, &out_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    class_axis::same_count(io, x, out, view.rows(), max.len())?;
    class_axis::same_count(io, x, dout, view.rows(), d.len())?;
    let x = io.data::<T>(x, &x_tensor)?;
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    for (row, &d) in d.iter().enumerate() {
        if let Some(i) = view.row(row).find(|&i| x[i] == max[row]) {
            dx[i] = d;
        }
    }
    Ok(())
}

#[test]
fn maxout() {
    use crate::testing::{check, noise, tensor};
    check("maxout")
        .attr("groups", 2)
        .input("X", tensor([1, 4, 1, 2], &[1.0, 5.0, 2.0, 4.0, -1.0, 0.5, 3.0, 0.25]))
        .output("Out", tensor([1, 2, 1, 2], &[2.0, 5.0, 3.0, 0.5]))
        .grad(&["X"])
        .run();
    let e = check("maxout").attr("groups", 2).input("X", noise([1, 3, 1, 1], 1)).any_output("Out").error();
    assert!(e.contains("`maxout` cannot cut the channels of `X` = X.0 f32[1, 3, 1, 1] in groups of 2"), "{e}");
}
