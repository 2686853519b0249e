//! `layer_norm`: every row moved and scaled to mean 0 and variance 1, then to a learned mean and scale per column.

use oarlock_ir::{Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarType};
use oarlock_ir::{by_float, kernel, product, sig, slots};
use oarlock_tensor::{Dims, Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&LayerNorm, &GRAD];

fn attrs(sig: Sig) -> Sig {
    sig.attr("begin_norm_axis", 1, "sizes before this axis count rows, the others columns").attr(
        "epsilon",
        1e-5f32,
        "added to the variance",
    )
}

struct LayerNorm;

impl OpDef for LayerNorm {
    sig! {
        "layer_norm": "Y = Scale * (X - Mean) / sqrt(Variance + epsilon) + Bias, row by row";
        in "X": "f32 or f64";
        in? "Scale": "[columns]; 1 if left out";
        in? "Bias": "[columns]; 0 if left out";
        out "Y": "like `X`";
        out "Mean": "[rows]";
        out "Variance": "[rows]";
        with attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let axis = cx.attrs().count("begin_norm_axis")?;
        if axis == 0 || axis >= x.shape.rank() {
            let what =
                format!("has begin_norm_axis {axis}, which does not cut {} in rows and columns", cx.describe("X"));
            return Err(cx.shape_error(what));
        }
        let columns = product(&x.shape[axis..]);
        for slot in ["Scale", "Bias"].into_iter().filter(|s| cx.has(s)) {
            if !product(&cx.float(slot)?.shape).fits(columns) {
                let what =
                    format!("needs {columns} values, the columns of {}, in {}", cx.describe("X"), cx.describe(slot));
                return Err(cx.shape_error(what));
            }
        }
        let rows = VarType::tensor(x.dtype, vec![product(&x.shape[..axis])]);
        cx.set("Y", x);
        cx.set("Mean", rows.clone());
        cx.set("Variance", rows);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.maybe_input("Scale")?, p.maybe_input("Bias")?);
        let outputs = (p.output("Y")?, p.output("Mean")?, p.output("Variance")?);
        let (axis, epsilon) = (p.attrs().count("begin_norm_axis")?, p.attrs().f32("epsilon")?);
        by_float!(p.float("X")?, T => {
            kernel(move |io| forward::<T>(io, inputs, outputs, axis, T::of(epsilon.into())))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads = ["Bias", "Mean", "Scale", "Variance", "X", "Y@GRAD"];
        g.emit("layer_norm_grad", &reads, &["Bias@GRAD", "Scale@GRAD", "X@GRAD"])
    }
}

/// Rows that one task works on.
const ROWS: usize = 64;

fn forward<T: Float>(
    io: &Io<'_>,
    (x, scale, bias): (In, Option<In>, Option<In>),
    (y, mean, variance): (Out, Out, Out),
    axis: usize,
    epsilon: T,
) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let (rows, columns) = x_tensor.dims().matrix(axis);
    let (scale_tensor, bias_tensor) = (scale.map(|s| io.dense(s)).transpose()?, bias.map(|b| io.dense(b)).transpose()?);
    let scale = per_column::<T>(io, columns, scale.zip(scale_tensor.as_deref()))?;
    let bias = per_column::<T>(io, columns, bias.zip(bias_tensor.as_deref()))?;
    let x = io.data::<T>(x, &x_tensor)?;
    let mut mean_tensor = io.out_sized(mean, T::DTYPE, Dims::from([rows]))?;
    let mut variance_tensor = io.out_sized(variance, T::DTYPE, Dims::from([rows]))?;
    let (mean, variance) =
        (io.data_mut::<T>(mean, &mut mean_tensor)?, io.data_mut::<T>(variance, &mut variance_tensor)?);
    let mut t = io.out_sized(y, T::DTYPE, *x_tensor.dims())?;
    t.set_lod(x_tensor.lod().clone());
    let y = io.data_mut::<T>(y, &mut t)?;
    if columns == 0 {
        return Ok(());
    }
    let row = |i: usize| &x[i * columns..][..columns];
    let count = T::of(columns as f64);
    io.pool().pieces(mean, ROWS, |i, mean| {
        mean.iter_mut().enumerate().for_each(|(r, m)| *m = simd::sum(row(i * ROWS + r)) / count);
    });
    io.pool().pieces(variance, ROWS, |i, variance| {
        for (r, v) in variance.iter_mut().enumerate() {
            *v = simd::sum_of_squared_deviations(row(i * ROWS + r), mean[i * ROWS + r]) / count;
        }
    });
    io.pool().pieces(y, ROWS * columns, |i, y| {
        for (r, y) in y.chunks_exact_mut(columns).enumerate() {
            let r = i * ROWS + r;
            let inverse = T::ONE / (variance[r] + epsilon).sqrt();
            simd::scale_bias(y, row(r), inverse, -mean[r] * inverse);
            if let Some(scale) = scale {
                simd::mul_assign(y, scale);
            }
            if let Some(bias) = bias {
                simd::add_assign(y, bias);
            }
        }
    });
    Ok(())
}

/// The elements of an optional input, one per column.
fn per_column<'a, T: Float>(
    io: &Io<'_>,
    columns: usize,
    input: Option<(In, &'a oarlock_tensor::Tensor)>,
) -> Result<Option<&'a [T]>> {
    let Some((input, tensor)) = input else { return Ok(None) };
    if tensor.numel() != columns {
        let what = format_args!("has {} elements, but there are {columns} columns", tensor.numel());
        return Err(io.error(Kind::Shape, input, what));
    }
    io.data::<T>(input, tensor).map(Some)
}

const GRAD: GradOp =
    GradOp::of(&LayerNorm, "layer_norm_grad(X, Scale, Bias, Mean, Variance, Y@GRAD) -> X@GRAD, Scale@GRAD, Bias@GRAD")
        .doc("gradients of `layer_norm`")
        .traits(Traits::NONE.shape_only(&["Bias"]))
        .kernel(|p| {
            let slots = GradSlots::new(p)?;
            let epsilon = p.attrs().f32("epsilon")?;
            by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, &slots, T::of(epsilon.into()))))
        });

slots! {
    struct GradSlots(p) {
        x: input "X",
        scale: maybe_input "Scale",
        mean: input "Mean",
        variance: input "Variance",
        dy: input "Y@GRAD",
        dx: maybe_output "X@GRAD",
        dscale: maybe_output "Scale@GRAD",
        dbias: maybe_output "Bias@GRAD",
        axis: count "begin_norm_axis",
    }
}

fn backward<T: Float>(io: &Io<'_>, s: &GradSlots, epsilon: T) -> Result<()> {
    let (x_tensor, dy_tensor) = (io.dense(s.x)?, io.dense(s.dy)?);
    let (mean_tensor, variance_tensor) = (io.dense(s.mean)?, io.dense(s.variance)?);
    let (rows, columns) = x_tensor.dims().matrix(s.axis);
    let scale_tensor = s.scale.map(|s| io.dense(s)).transpose()?;
    let scale = per_column::<T>(io, columns, s.scale.zip(scale_tensor.as_deref()))?;
    let (x, d) = (io.data::<T>(s.x, &x_tensor)?, io.data::<T>(s.dy, &dy_tensor)?);
    let (mean, variance) = (io.data::<T>(s.mean, &mean_tensor)?, io.data::<T>(s.variance, &variance_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, s.x, s.dy, x.len(), d.len())?;
    oarlock_ops_support::class_axis::same_count(io, s.x, s.mean, rows, mean.len())?;
    oarlock_ops_support::class_axis::same_count(io, s.x, s.variance, rows, variance.len())?;
    let rows = Rows { x, d, mean, variance, columns, epsilon };
    if let Some(dbias) = s.dbias {
        let mut t = io.out_sized(dbias, T::DTYPE, Dims::from([columns]))?;
        simd::column_sums(io.data_mut::<T>(dbias, &mut t)?, d);
    }
    if let Some(dscale) = s.dscale {
        let mut t = io.out_sized(dscale, T::DTYPE, Dims::from([columns]))?;
        rows.scale_gradient(io.data_mut::<T>(dscale, &mut t)?);
    }
    if let Some(dx) = s.dx {
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        t.set_lod(x_tensor.lod().clone());
        if columns > 0 {
            io.pool().pieces(io.data_mut::<T>(dx, &mut t)?, ROWS * columns, |i, dx| {
                for (r, dx) in dx.chunks_exact_mut(columns).enumerate() {
                    rows.input_gradient(i * ROWS + r, scale, dx);
                }
            });
        }
    }
    Ok(())
}

/// The inputs that gradients are computed from.
struct Rows<'a, T> {
    x: &'a [T],
    d: &'a [T],
    mean: &'a [T],
    variance: &'a [T],
    columns: usize,
    epsilon: T,
}

impl<T: Float> Rows<'_, T> {
    fn inverse(&self, row: usize) -> T {
        T::ONE / (self.variance[row] + self.epsilon).sqrt()
    }

    /// The sum over rows of d * normalised x.
    fn scale_gradient(&self, dscale: &mut [T]) {
        dscale.fill(T::ZERO);
        for row in 0..self.mean.len() {
            let (mean, inverse) = (self.mean[row], self.inverse(row));
            let part = row * self.columns..(row + 1) * self.columns;
            for ((sum, d), x) in dscale.iter_mut().zip(&self.d[part.clone()]).zip(&self.x[part]) {
                *sum += *d * (*x - mean) * inverse;
            }
        }
    }

    /// dx = inverse * (g - mean of g - normalised x * mean of g * normalised x), with g = d * scale.
    fn input_gradient(&self, row: usize, scale: Option<&[T]>, dx: &mut [T]) {
        let part = row * self.columns..(row + 1) * self.columns;
        let (x, d) = (&self.x[part.clone()], &self.d[part]);
        dx.copy_from_slice(d);
        if let Some(scale) = scale {
            simd::mul_assign(dx, scale);
        }
        let (mean, inverse, count) = (self.mean[row], self.inverse(row), T::of(self.columns as f64));
        let sum = simd::sum(dx);
        let dot = simd::dot_deviations(dx, x, mean) * inverse;
        let (b, c) = (-inverse * inverse * dot / count, -inverse * sum / count);
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx = *dx * inverse + (*x - mean) * b + c;
        }
    }
}

#[test]
fn rows_are_normalised() {
    use crate::testing::{check, noise, tensor};
    check("layer_norm")
        .attr("epsilon", 0.0f32)
        .input("X", tensor([2, 2], &[1.0, 3.0, 0.0, 8.0]))
        .input("Scale", tensor([2], &[1.0, 2.0]))
        .input("Bias", tensor([2], &[0.5, 0.0]))
        .output("Y", tensor([2, 2], &[-0.5, 2.0, -0.5, 2.0]))
        .output("Mean", tensor([2], &[2.0, 4.0]))
        .output("Variance", tensor([2], &[1.0, 16.0]))
        .run();
    check("layer_norm")
        .input("X", noise([2, 4], 1))
        .input("Scale", noise([4], 2))
        .input("Bias", noise([4], 3))
        .any_output("Y")
        .any_output("Mean")
        .any_output("Variance")
        .counting(&["Y"])
        .grad(&["X", "Scale", "Bias"])
        .run();
    let e = check("layer_norm").input("X", noise([2, 3], 1)).input("Scale", noise([2], 1)).any_output("Y").error();
    assert!(
        e.contains("`layer_norm` needs 3 values, the columns of `X` = X.0 f32[2, 3], in `Scale` = Scale.0 f32[2]"),
        "{e}"
    );
}
