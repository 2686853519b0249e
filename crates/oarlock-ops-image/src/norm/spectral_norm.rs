//! `spectral_norm`: a weight divided by its largest singular value, estimated by power iteration.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&SpectralNorm, &SPECTRAL_NORM_GRAD];

#[derive(Debug, Clone, Copy)]
struct Params {
    dim: usize,
    iterations: usize,
    eps: f32,
}

impl Params {
    fn new(attrs: &oarlock_ir::AttrView<'_>) -> Result<Params> {
        Ok(Params { dim: attrs.count("dim")?, iterations: attrs.count("power_iters")?, eps: attrs.f32("eps")? })
    }
}

/// A weight as a matrix, in place.
#[derive(Debug, Clone, Copy)]
struct Matrix {
    rows: usize,
    cols: usize,
    /// Elements from one row to the next.
    step: usize,
}

impl Matrix {
    fn new(io: &Io<'_>, weight: In, dims: &Dims, dim: usize) -> Result<Matrix> {
        match dims.get(dim) {
            Some(&rows) if dims.numel() > 0 => {
                Ok(Matrix { rows, cols: dims.numel() / rows, step: dims[dim + 1..].iter().product() })
            }
            _ => Err(io.error(Kind::Shape, weight, format_args!("has sizes {dims}, but no axis {dim} with elements"))),
        }
    }

    /// Row and column of an element.
    fn place(&self, i: usize) -> (usize, usize) {
        let (outer, inner) = (i / self.step, i % self.step);
        (outer % self.rows, outer / self.rows * self.step + inner)
    }
}

/// Improves the estimates of the singular vectors `u` and `v`; returns the singular value.
fn iterate<T: Float>(weight: &[T], m: &Matrix, params: &Params, u: &mut [T], v: &mut [T]) -> T {
    let eps = T::of(params.eps.into());
    let normalize = |x: &mut [T]| {
        let norm = x.iter().map(|v| *v * *v).sum::<T>().sqrt() + eps;
        x.iter_mut().for_each(|v| *v /= norm);
    };
    for _ in 0..params.iterations {
        v.fill(T::ZERO);
        for (i, w) in weight.iter().enumerate() {
            let (row, col) = m.place(i);
            v[col] += *w * u[row];
        }
        normalize(v);
        u.fill(T::ZERO);
        for (i, w) in weight.iter().enumerate() {
            let (row, col) = m.place(i);
            u[row] += *w * v[col];
        }
        normalize(u);
    }
    weight.iter().enumerate().map(|(i, w)| *w * u[m.place(i).0] * v[m.place(i).1]).sum()
}

/// Copies of the vectors, so that the variables stay as they are.
fn vectors<T: Float>(io: &Io<'_>, (u, v): (In, In), m: &Matrix, [us, vs]: &mut [Vec<T>; 2]) -> Result<()> {
    for (input, to, len) in [(u, us, m.rows), (v, vs, m.cols)] {
        let tensor = io.dense(input)?;
        to.clear();
        to.extend_from_slice(io.data::<T>(input, &tensor)?);
        if to.len() != len {
            let what = format_args!("has {} elements, but the weight is a matrix of {} x {}", to.len(), m.rows, m.cols);
            return Err(io.error(Kind::Shape, input, what));
        }
    }
    Ok(())
}

struct SpectralNorm;

impl OpDef for SpectralNorm {
    sig! {
        "spectral_norm": "Out = Weight / s, with s the largest singular value of Weight as a matrix";
        in "Weight": "f32 or f64";
        in "U": "[rows], where the left singular vector is looked for";
        in "V": "[columns], where the right singular vector is looked for";
        out "Out": "like `Weight`";
        attr "dim" = 0, "the axis whose positions are rows of the matrix; all others together are columns";
        attr "power_iters" = 1, "how often the estimate is improved";
        attr "eps" = 1e-12f32, "added to norms that are divided by";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (weight, params) = (cx.float("Weight")?, Params::new(&cx.attrs())?);
        if params.dim >= weight.shape.rank() {
            let what = format_args!("has dim {}, which {} does not have", params.dim, cx.describe("Weight"));
            return Err(cx.shape_error(what));
        }
        if !oarlock_ir::product(&cx.float("U")?.shape).fits(weight.shape[params.dim]) {
            let what = format_args!("cannot start with {} for {}", cx.describe("U"), cx.describe("Weight"));
            return Err(cx.shape_error(what).help("U has an element for each row, V one for each column"));
        }
        cx.set("Out", weight);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (weight, vectors, out) = (p.input("Weight")?, (p.input("U")?, p.input("V")?), p.output("Out")?);
        let params = Params::new(&p.attrs())?;
        by_float!(p.float("Weight")?, T => {
            let mut scratch = [const { Vec::<T>::new() }; 2];
            kernel(move |io| forward(io, weight, vectors, out, &params, &mut scratch))
        })
    }
}

fn forward<T: Float>(
    io: &Io<'_>,
    weight: In,
    uv: (In, In),
    out: Out,
    params: &Params,
    scratch: &mut [Vec<T>; 2],
) -> Result<()> {
    let tensor = io.dense(weight)?;
    let m = Matrix::new(io, weight, tensor.dims(), params.dim)?;
    vectors(io, uv, &m, scratch)?;
    let w = io.data::<T>(weight, &tensor)?;
    let [u, v] = scratch;
    let sigma = iterate(w, &m, params, u, v);
    let mut t = io.out_sized(out, T::DTYPE, *tensor.dims())?;
    io.data_mut::<T>(out, &mut t)?.iter_mut().zip(w).for_each(|(out, w)| *out = *w / sigma);
    Ok(())
}

const SPECTRAL_NORM_GRAD: GradOp =
    GradOp::of(&SpectralNorm, "spectral_norm_grad(Weight, U, V, Out@GRAD) -> Weight@GRAD")
        .doc("Weight@GRAD = Out@GRAD / s * (1 - U V^T * the sum of Weight / s), element by element")
        .kernel(|p| {
            let inputs = (p.input("Weight")?, p.input("Out@GRAD")?);
            let (vectors, dw, params) =
                ((p.input("U")?, p.input("V")?), p.output("Weight@GRAD")?, Params::new(&p.attrs())?);
            by_float!(p.float("Weight")?, T => {
                let mut scratch = [const { Vec::<T>::new() }; 2];
                kernel(move |io| backward(io, inputs, vectors, dw, &params, &mut scratch))
            })
        });

fn backward<T: Float>(
    io: &Io<'_>,
    (weight, dout): (In, In),
    uv: (In, In),
    dw: Out,
    params: &Params,
    scratch: &mut [Vec<T>; 2],
) -> Result<()> {
    let (tensor, dout_tensor) = (io.dense(weight)?, io.dense(dout)?);
    let m = Matrix::new(io, weight, tensor.dims(), params.dim)?;
    vectors(io, uv, &m, scratch)?;
    let (w, d) = (io.data::<T>(weight, &tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, weight, dout, w.len(), d.len())?;
    let [u, v] = scratch;
    let sigma = iterate(w, &m, params, u, v);
    // Not the derivative, which is Out@GRAD / s - U V^T * (sum of Out@GRAD * Weight) / s^2; but it is what Fluid trains with.
    let slope = w.iter().copied().sum::<T>() / sigma;
    let mut t = io.out_sized(dw, T::DTYPE, *tensor.dims())?;
    for (i, (dw, d)) in io.data_mut::<T>(dw, &mut t)?.iter_mut().zip(d).enumerate() {
        let (row, col) = m.place(i);
        *dw = *d / sigma * (T::ONE - u[row] * v[col] * slope);
    }
    Ok(())
}

#[test]
fn the_largest_singular_value() {
    use crate::testing::{check, noise, tensor};
    let case = |u: &[f32]| {
        check("spectral_norm")
            .attr("power_iters", 20)
            .input("Weight", tensor([2, 2], &[3.0, 0.0, 0.0, 1.0]))
            .input("U", tensor([u.len()], u))
            .input("V", noise([2], 1))
            .output("Out", tensor([2, 2], &[1.0, 0.0, 0.0, 1.0 / 3.0]))
    };
    case(&[0.8, 0.6]).run();
    let e = case(&[0.8]).error();
    assert!(e.contains("`spectral_norm` cannot start with `U` = U.0 f32[1] for `Weight` = Weight.0 f32[2, 2]"), "{e}");
}
