//! `cos_sim`: the cosine of the angle between each row and the same row, or the only one, of another tensor.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result};
use oarlock_ir::{by_float, kernel, product, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&CosSim, &GRAD];

struct CosSim;

impl OpDef for CosSim {
    sig! {
        "cos_sim": "Out = X Y / (XNorm * YNorm), row by row";
        in "X": "[n, ...]";
        in "Y": "like `X`, or one row for all";
        out "Out": "[n, 1], with the LoD of `X`";
        out "XNorm": "[n, 1], norms of rows, at least 1e-4";
        out "YNorm": "norms of the rows of `Y`, at least 1e-4";
        hints ["@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@"];
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
        cx.set("Out", equal_sizes::infer_rows(&x));
        cx.set("XNorm", equal_sizes::infer_rows(&x));
        cx.set("YNorm", equal_sizes::infer_rows(&y));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y) = (p.input("X")?, p.input("Y")?);
        let outputs = (p.output("Out")?, p.output("XNorm")?, p.output("YNorm")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, y, outputs)))
    }
}

/// The norm of a row; a row of zeros has no direction, so the norm is not smaller than this.
fn norm<T: Float>(row: &[T]) -> T {
    simd::sum_of_squares(row).max(T::of(1e-8)).sqrt()
}

fn forward<T: Float>(io: &Io<'_>, x: In, y: In, (out, x_norm, y_norm): (Out, Out, Out)) -> Result<()> {
    let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
    let (rows, width) = x_tensor.dims().matrix(1);
    let (x_data, y_data) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
    if y_data.len() != x_data.len() && y_data.len() != width {
        let what = format_args!("has sizes {}, which do not fit {}", y_tensor.dims(), x_tensor.dims());
        return Err(io.error(Kind::Shape, y, what));
    }
    let x_row = |i: usize| &x_data[i * width..][..width];
    let y_rows = y_tensor.rows();
    let y_row = |i: usize| &y_data[if y_rows == 1 { 0 } else { i * width }..][..width];
    equal_sizes::column(io, x_norm, rows, |i| norm(x_row(i)))?;
    equal_sizes::column(io, y_norm, y_rows, |i| norm(y_row(i)))?;
    equal_sizes::column(io, out, rows, |i| simd::dot(x_row(i), y_row(i)) / (norm(x_row(i)) * norm(y_row(i))))?;
    io.out(out)?.set_lod(x_tensor.lod().clone());
    Ok(())
}

const GRAD: GradOp = GradOp::of(&CosSim, "cos_sim_grad(X, Y, Out, XNorm, YNorm, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD * (Y / (XNorm * YNorm) - Out * X / XNorm^2), and likewise Y@GRAD, summed if `Y` is one row")
    .kernel(|p| {
        let (x, y) = (p.input("X")?, p.input("Y")?);
        let rows = [p.input("Out")?, p.input("XNorm")?, p.input("Out@GRAD")?];
        let y_norm = p.input("YNorm")?;
        let outputs = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, (x, y), rows, y_norm, outputs)))
    });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, y): (In, In),
    rows: [In; 3],
    y_norm: In,
    (dx, dy): (Option<Out>, Option<Out>),
) -> Result<()> {
    let (x_tensor, y_tensor, y_norm_tensor) = (io.dense(x)?, io.dense(y)?, io.dense(y_norm)?);
    let (count, width) = x_tensor.dims().matrix(1);
    let (x, y_data) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
    let together = equal_sizes::Together::new(io, rows)?;
    let [out, x_norms, d] = together.data::<T>(io)?;
    checks::expect_elements(io, rows[2], d.len(), count)?;
    let y_norms = io.data::<T>(y_norm, &y_norm_tensor)?;
    checks::expect_elements(io, y_norm, y_norms.len(), y_tensor.rows())?;
    let one = y_tensor.rows() == 1;
    let y_at = |row: usize| if one { 0 } else { row };
    // Gradient of element `i` of a row with respect to `a`, with `b` the other row.
    let grad = |row: usize, a: T, b: T, a_norm: T| {
        d[row] * (b / (x_norms[row] * y_norms[y_at(row)]) - out[row] * a / (a_norm * a_norm))
    };
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        for (i, dx) in io.data_mut::<T>(dx, &mut t)?.iter_mut().enumerate() {
            let row = i / width;
            *dx = grad(row, x[i], y_data[y_at(row) * width + i % width], x_norms[row]);
        }
    }
    if let Some(dy) = dy {
        let mut t = io.out_sized(dy, T::DTYPE, *y_tensor.dims())?;
        let dy = io.data_mut::<T>(dy, &mut t)?;
        dy.fill(T::ZERO);
        for (i, &x) in x.iter().enumerate() {
            let row = i / width;
            let at = y_at(row) * width + i % width;
            dy[at] += grad(row, y_data[at], x, y_norms[y_at(row)]);
        }
    }
    Ok(())
}

#[test]
fn rows_and_one_row() {
    use crate::testing::{check, tensor};
    check("cos_sim")
        .input("X", tensor([2, 2], &[3.0, 4.0, 1.0, 0.0]))
        .input("Y", tensor([1, 2], &[0.0, 2.0]))
        .output("Out", tensor([2, 1], &[0.8, 0.0]))
        .output("XNorm", tensor([2, 1], &[5.0, 1.0]))
        .output("YNorm", tensor([1, 1], &[2.0]))
        .counting(&["Out"])
        .grad(&["X", "Y"])
        .run();
}

#[test]
fn the_result_has_the_sequences_of_x() {
    use crate::testing::{check, tensor, with_lod};
    let x = with_lod(tensor([2, 2], &[3.0, 4.0, 1.0, 0.0]), &[&[0, 1, 2]]);
    check("cos_sim")
        .input("X", x)
        .input("Y", tensor([2, 2], &[0.0, 2.0, 0.0, 1.0]))
        .output("Out", with_lod(tensor([2, 1], &[0.8, 0.0]), &[&[0, 1, 2]]))
        .any_output("XNorm")
        .any_output("YNorm")
        .run();
}
