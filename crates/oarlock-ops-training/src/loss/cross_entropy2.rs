//! `cross_entropy2`: `cross_entropy` of class numbers that keeps what its gradient needs, so that `X` can be freed.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Shape, Traits};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::class_axis::{self, Classes, Labels, bounded_ln};
use oarlock_tensor::{Dims, Float, MAX_RANK};

pub(crate) const OPS: &[&dyn OpDef] = &[&CrossEntropy2, &GRAD];

const IGNORE: &str = "rows with this label cost nothing";

struct CrossEntropy2;

impl OpDef for CrossEntropy2 {
    sig! {
        "cross_entropy2": "Y = -ln X[Label]; ln 0 is -1e20";
        in "X": "probabilities [..., classes]";
        in "Label": "class numbers [..., 1]";
        out "Y": "[..., 1]";
        out "MatchX": "X[Label], 0 in ignored rows; like `Y`";
        out "XShape": "no elements; its sizes are those of `X` behind a 0";
        attr "ignore_index" = -100, IGNORE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        if x.shape.rank() == 0 {
            return Err(cx.shape_error(format_args!("needs classes along the last axis of {}", cx.describe("X"))));
        }
        let loss = class_axis::infer_loss(cx, "X", "Label", x.shape.rank() - 1, false)?;
        let mut sizes = x.shape.0.clone();
        sizes.pop();
        sizes.push(Dim::from_i64(1));
        cx.set("Y", loss.clone());
        // One column, also where the label has none.
        cx.set("MatchX", loss.with_shape(Shape(sizes)));
        cx.set("XShape", class_axis::infer_x_shape(&x));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, label, ignore) = (p.input("X")?, p.input("Label")?, p.attrs().int("ignore_index")?);
        let (y, match_x, x_shape) = (p.output("Y")?, p.output("MatchX")?, p.output("XShape")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, (x, label), (y, match_x, x_shape), ignore)))
    }
}

fn remember_sizes(io: &Io<'_>, x: In, x_shape: Out) -> Result<()> {
    let x_tensor = io.dense(x)?;
    if x_tensor.dims().rank() == MAX_RANK {
        return Err(io.error(Kind::Shape, x, "has too many dimensions to add one"));
    }
    let mut dims = Dims::from([0]);
    x_tensor.dims().iter().for_each(|&d| dims.push(d));
    io.out_sized(x_shape, x_tensor.dtype(), dims)?.set_lod(x_tensor.lod().clone());
    Ok(())
}

/// Writes `Y`, `MatchX` and `XShape`.
pub fn forward<T: Float>(
    io: &Io<'_>,
    (x, label): (In, In),
    (y, match_x, x_shape): (Out, Out, Out),
    ignore: i64,
) -> Result<()> {
    remember_sizes(io, x, x_shape)?;
    let (x_tensor, label_tensor) = (io.dense(x)?, io.dense(label)?);
    let classes = Classes::of(io, x, x_tensor.dims(), -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, ignore)?;
    let dims = class_axis::loss_dims(&label_tensor, -1, x_tensor.dims().rank());
    let mut y_tensor = io.out_sized(y, T::DTYPE, dims)?;
    let mut column = Dims::new(&x_tensor.dims()[..x_tensor.dims().rank() - 1]);
    column.push(1);
    let mut match_tensor = io.out_sized(match_x, T::DTYPE, column)?;
    y_tensor.set_lod(x_tensor.lod().clone());
    match_tensor.set_lod(x_tensor.lod().clone());
    let p = io.data::<T>(x, &x_tensor)?;
    let (y, matches) = (io.data_mut::<T>(y, &mut y_tensor)?, io.data_mut::<T>(match_x, &mut match_tensor)?);
    for (row, class) in labels.iter().enumerate() {
        matches[row] = class.map_or(T::ZERO, |c| p[row * classes.len + c]);
        y[row] = class.map_or(T::ZERO, |_| -bounded_ln(matches[row]));
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&CrossEntropy2, "cross_entropy_grad2(Label, MatchX, XShape, Y@GRAD) -> X@GRAD")
    .doc("X@GRAD = -Y@GRAD / MatchX at the true class, else 0")
    .traits(Traits::NONE.shape_only(&["XShape"]))
    .infer(|cx| {
        let x_shape = cx.input("XShape")?;
        let sizes = x_shape.shape.0.get(1..).unwrap_or_default().to_vec();
        cx.set("X@GRAD", x_shape.with_shape(Shape(sizes)));
        Ok(())
    })
    .kernel(|p| {
        let (label, match_x, x_shape) = (p.input("Label")?, p.input("MatchX")?, p.input("XShape")?);
        let (dy, dx, ignore) = (p.input("Y@GRAD")?, p.output("X@GRAD")?, p.attrs().int("ignore_index")?);
        by_float!(p.float("MatchX")?, T => kernel(move |io| {
            backward::<T>(io, (label, match_x, x_shape, dy), dx, ignore)
        }))
    });

fn backward<T: Float>(io: &Io<'_>, inputs: (In, In, In, In), dx: Out, ignore: i64) -> Result<()> {
    let (label, match_x, x_shape, dy) = inputs;
    let (label_tensor, match_tensor) = (io.dense(label)?, io.dense(match_x)?);
    let (shape_tensor, dy_tensor) = (io.dense(x_shape)?, io.dense(dy)?);
    let Some(sizes) = shape_tensor.dims().get(1..) else {
        return Err(io.error(Kind::Shape, x_shape, "must have the sizes of `X` behind a 0"));
    };
    let dims = Dims::new(sizes);
    let classes = Classes::of(io, x_shape, &dims, -1)?;
    let labels = Labels::new(io, label, &label_tensor, classes.rows(), classes.len, ignore)?;
    let (matches, d) = (io.data::<T>(match_x, &match_tensor)?, io.data::<T>(dy, &dy_tensor)?);
    class_axis::same_count(io, label, match_x, classes.rows(), matches.len())?;
    class_axis::same_count(io, label, dy, classes.rows(), d.len())?;
    let mut t = io.out_sized(dx, T::DTYPE, dims)?;
    t.set_lod(shape_tensor.lod().clone());
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    for (row, class) in labels.iter().enumerate() {
        if let Some(c) = class {
            dx[row * classes.len + c] = -d[row] / matches[row];
        }
    }
    Ok(())
}

#[test]
fn cross_entropy2() {
    use crate::testing::{check, tensor, tensor_of};
    check("cross_entropy2")
        .input("X", tensor([3, 2], &[0.25, 0.75, 0.5, 0.5, 0.125, 0.875]))
        .input("Label", tensor_of([3, 1], &[0i64, 7, 1]))
        .attr("ignore_index", 7)
        .output("Y", tensor([3, 1], &[1.3862944, 0.0, 0.13353139]))
        .output("MatchX", tensor([3, 1], &[0.25, 0.0, 0.875]))
        .output("XShape", tensor([0, 3, 2], &[]))
        .run();
    check("cross_entropy2")
        .input("X", tensor([2, 2], &[0.25, 0.75, 0.5, 0.5]))
        .input("Label", tensor_of([2, 1], &[1i64, 0]))
        .any_output("Y")
        .output("MatchX", tensor([2, 1], &[0.75, 0.5]))
        .any_output("XShape")
        .counting(&["Y"])
        .grad(&["X"])
        .run();
}
