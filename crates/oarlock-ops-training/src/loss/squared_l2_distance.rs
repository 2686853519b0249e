//! `squared_l2_distance`: the squared distance of each row from the same row, or the only one, of another tensor.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, kernel, product, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Dims, Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&SquaredL2Distance, &GRAD];

struct SquaredL2Distance;

impl OpDef for SquaredL2Distance {
    sig! {
        "squared_l2_distance": "Out = sum over a row of sub_result^2, with sub_result = X - Y";
        in "X": "[n, ...]";
        in "Y": "like `X`, or one row for all";
        out "sub_result": "[n, elements of a row]";
        out "Out": "[n, 1]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        let fit = x.shape.rank() >= 2 && x.shape.rank() == y.shape.rank();
        let fit = fit && product(&x.shape[1..]).fits(product(&y.shape[1..]));
        let rows_fit = fit && (y.shape[0] == Dim::Is(1) || y.shape[0].fits(x.shape[0]));
        if !rows_fit {
            let what = format!("cannot compare {} with {}", cx.describe("X"), cx.describe("Y"));
            return Err(cx.shape_error(what).help("both need the same shape of at least two sizes, or `Y` one row"));
        }
        cx.set("sub_result", x.clone().with_shape(vec![x.shape[0], product(&x.shape[1..])]));
        cx.set("Out", equal_sizes::infer_rows(&x));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, sub, out) = (p.input("X")?, p.input("Y")?, p.output("sub_result")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, (x, y), sub, out)))
    }
}

fn forward<T: Float>(io: &Io<'_>, (x, y): (In, In), sub: Out, out: Out) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    let (rows, width) = x_tensor.dims().matrix(1);
    let (x, y_data) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
    if y_data.len() != x.len() && y_data.len() != width {
        let what = format_args!("has sizes {}, which do not fit {}", y_tensor.dims(), x_tensor.dims());
        return Err(io.error(Kind::Shape, y, what));
    }
    let mut t = io.out_sized(sub, T::DTYPE, Dims::from([rows, width]))?;
    let sub = io.data_mut::<T>(sub, &mut t)?;
    for (i, sub) in sub.iter_mut().enumerate() {
        *sub = x[i] - y_data[i % y_data.len()];
    }
    equal_sizes::column(io, out, rows, |row| simd::sum_of_squares(&sub[row * width..][..width]))
}

const GRAD: GradOp =
    GradOp::of(&SquaredL2Distance, "squared_l2_distance_grad(X, Y, sub_result, Out@GRAD) -> X@GRAD, Y@GRAD")
        .doc("X@GRAD = 2 * Out@GRAD * sub_result; Y@GRAD = -X@GRAD, summed if `Y` is one row")
        .traits(Traits::NONE.shape_only(&["X", "Y"]))
        .kernel(|p| {
            let inputs = (p.input("X")?, p.input("Y")?, p.input("sub_result")?, p.input("Out@GRAD")?);
            let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
            by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, outputs)))
        });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, y, sub, dout): (In, In, In, In),
    (dx, dy): (Option<Out>, Option<Out>),
) -> Result<()> {
    let (sub_tensor, dout_tensor) = (io.dense(sub)?, io.dense(dout)?);
    let (rows, width) = sub_tensor.dims().matrix(1);
    let (sub, d) = (io.data::<T>(sub, &sub_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    checks::expect_elements(io, dout, d.len(), rows)?;
    let grad = |i: usize| T::of(2.0) * d[i / width] * sub[i];
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *io.dense(x)?.dims())?;
        let dx = io.data_mut::<T>(dx, &mut t)?;
        dx.iter_mut().take(sub.len()).enumerate().for_each(|(i, dx)| *dx = grad(i));
    }
    if let Some(dy) = dy {
        let mut t = io.out_sized(dy, T::DTYPE, *io.dense(y)?.dims())?;
        let dy = io.data_mut::<T>(dy, &mut t)?;
        dy.fill(T::ZERO);
        let len = dy.len().max(1);
        (0..sub.len()).for_each(|i| dy[i % len] -= grad(i));
    }
    Ok(())
}

#[test]
fn rows_and_one_row() {
    use crate::testing::{check, noise, tensor};
    check("squared_l2_distance")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Y", tensor([1, 2], &[0.5, 2.0]))
        .output("sub_result", tensor([2, 2], &[0.5, 0.0, 2.5, 2.0]))
        .output("Out", tensor([2, 1], &[0.25, 10.25]))
        .counting(&["Out"])
        .grad(&["X", "Y"])
        .run();
    let e = check("squared_l2_distance").input("X", noise([2, 2], 1)).input("Y", noise([2, 3], 1)).any_output("Out");
    assert!(e.any_output("sub_result").error().contains("both need the same shape of at least two sizes"));
}
