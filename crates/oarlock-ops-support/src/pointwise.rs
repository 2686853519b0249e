//! Kernels and inference of operators that work element by element.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, Out, Prepare, Result, kernel};
use oarlock_tensor::Float;

/// Inference of an operator whose `Out` is like its float `X`.
pub fn infer_like_x(cx: &mut Infer<'_>) -> Result<()> {
    let x = cx.float("X")?;
    cx.set("Out", x);
    Ok(())
}

/// Out = f(X), element by element, in f32 or f64, in place or not. LoD goes along.
pub fn map_kernel(
    p: &Prepare<'_>,
    f32: impl Fn(f32) -> f32 + Send + 'static,
    f64: impl Fn(f64) -> f64 + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    match p.float("X")? {
        oarlock_tensor::DType::F64 => kernel(move |io| map(io, x, out, &f64)),
        _ => kernel(move |io| map(io, x, out, &f32)),
    }
}

/// Out = f(X), element by element, in place or not. LoD goes along.
pub fn map<T: Float>(io: &Io<'_>, x: In, out: Out, f: impl Fn(T) -> T) -> Result<()> {
    if out.is(x) {
        let mut t = io.update(x, out)?;
        for v in io.data_mut::<T>(out, &mut t)? {
            *v = f(*v);
        }
        return Ok(());
    }
    let from = io.dense(x)?;
    let mut to = io.out_sized(out, T::DTYPE, *from.dims())?;
    to.set_lod(from.lod().clone());
    let from = io.data::<T>(x, &from)?;
    for (o, v) in io.data_mut::<T>(out, &mut to)?.iter_mut().zip(from) {
        *o = f(*v);
    }
    Ok(())
}

/// X@GRAD = f(a, Out@GRAD), element by element, where `a` is `X` or `Out`. May overwrite `Out@GRAD`.
pub fn grad_kernel(
    p: &Prepare<'_>,
    of: &str,
    f32: impl Fn(f32, f32) -> f32 + Send + 'static,
    f64: impl Fn(f64, f64) -> f64 + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    let (a, dout, dx) = (p.input(of)?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
    match p.float(of)? {
        oarlock_tensor::DType::F64 => kernel(move |io| zip(io, a, dout, dx, &f64)),
        _ => kernel(move |io| zip(io, a, dout, dx, &f32)),
    }
}

/// to = f(a, b), element by element, for tensors of one size; may overwrite `b`. LoD of `a` goes along.
pub fn zip<T: Float>(io: &Io<'_>, a: In, b: In, to: Out, f: impl Fn(T, T) -> T) -> Result<()> {
    let a_tensor = io.dense(a)?;
    let a_data = io.data::<T>(a, &a_tensor)?;
    if to.is(b) {
        let mut t = io.update(b, to)?;
        same_count(io, a, b, a_data.len(), t.numel())?;
        t.set_lod(a_tensor.lod().clone());
        for (v, x) in io.data_mut::<T>(to, &mut t)?.iter_mut().zip(a_data) {
            *v = f(*x, *v);
        }
        return Ok(());
    }
    let b_tensor = io.dense(b)?;
    let b_data = io.data::<T>(b, &b_tensor)?;
    same_count(io, a, b, a_data.len(), b_data.len())?;
    let mut t = io.out_sized(to, T::DTYPE, *a_tensor.dims())?;
    t.set_lod(a_tensor.lod().clone());
    for ((o, x), y) in io.data_mut::<T>(to, &mut t)?.iter_mut().zip(a_data).zip(b_data) {
        *o = f(*x, *y);
    }
    Ok(())
}

fn same_count(io: &Io<'_>, a: In, b: In, a_len: usize, b_len: usize) -> Result<()> {
    if a_len == b_len {
        return Ok(());
    }
    Err(io.error(Kind::Shape, a, format_args!("has {a_len} elements, but {} has {b_len}", io.describe(b))))
}

/// The gradient of such an operator has the type of `X` (or of `Out`, which is like `X`).
pub fn infer_grad_like(cx: &mut Infer<'_>, of: &str) -> Result<()> {
    let ty = cx.input(of)?;
    cx.set("X@GRAD", ty);
    Ok(())
}

/// -1, 0 or 1; NaN has sign 0.
pub fn sign<T: Float>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x < T::ZERO {
        -T::ONE
    } else {
        T::ZERO
    }
}
