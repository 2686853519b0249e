//! Repeating a tensor along its axes, and summing the repetitions again: `expand` and `expand_as`.

use oarlock_ir::{In, Io, Kind, Out, Result};
use oarlock_tensor::{Dims, Element, Float, Tensor, by_element};

/// Writes `x` repeated `times[i]` times along each axis `i`. `times` is as long as `x` has axes.
pub(crate) fn tile(io: &Io<'_>, x: In, out: Out, times: &[usize]) -> Result<()> {
    let tensor = io.dense(x)?;
    by_element!(tensor.dtype(), T => tile_elements::<T>(io, x, &tensor, out, times))
}

fn tile_elements<T: Element>(io: &Io<'_>, x: In, from: &Tensor, out: Out, times: &[usize]) -> Result<()> {
    let mut dims = *from.dims();
    dims.iter_mut().zip(times).for_each(|(d, t)| *d *= *t);
    let mut to = io.out_sized(out, T::DTYPE, dims)?;
    if dims.numel() > 0 {
        repeat(io.data::<T>(x, from)?, io.data_mut(out, &mut to)?, from.dims(), times);
    }
    Ok(())
}

/// Writes one block for axis 0, axis by axis, then copies it as often as needed.
fn repeat<T: Copy>(from: &[T], to: &mut [T], dims: &[usize], times: &[usize]) {
    let (Some((size, dims)), Some((count, times))) = (dims.split_first(), times.split_first()) else {
        to[0] = from[0];
        return;
    };
    let block = to.len() / count;
    if dims.is_empty() {
        to[..block].copy_from_slice(from);
    } else {
        let (from, to) = (from.chunks_exact(from.len() / size), to[..block].chunks_exact_mut(block / size));
        from.zip(to).for_each(|(from, to)| repeat(from, to, dims, times));
    }
    for i in 1..*count {
        to.copy_within(..block, i * block);
    }
}

/// Writes the gradient of `x`: the sum of those of its repetitions.
pub(crate) fn tile_grad<T: Float>(io: &Io<'_>, x: In, dout: In, dx: Out, times: &[usize]) -> Result<()> {
    let (like, d) = (io.dense(x)?, io.dense(dout)?);
    let mut dims = *like.dims();
    dims.iter_mut().zip(times).for_each(|(d, t)| *d *= *t);
    if d.numel() != dims.numel() {
        let what = format_args!("is {}, but the forward operator's result is {dims}", d.dims());
        return Err(io.error(Kind::Shape, dout, what));
    }
    let mut to = io.out_sized(dx, T::DTYPE, *like.dims())?;
    to.set_lod(like.lod().clone());
    let to = io.data_mut::<T>(dx, &mut to)?;
    to.fill(T::ZERO);
    if d.numel() > 0 {
        add_up(io.data::<T>(dout, &d)?, to, like.dims(), times);
    }
    Ok(())
}

fn add_up<T: Float>(from: &[T], to: &mut [T], dims: &[usize], times: &[usize]) {
    let (Some((size, dims)), Some((count, times))) = (dims.split_first(), times.split_first()) else {
        to[0] += from[0];
        return;
    };
    for block in from.chunks_exact(from.len() / count) {
        if dims.is_empty() {
            to.iter_mut().zip(block).for_each(|(t, v)| *t += *v);
        } else {
            let parts = block.chunks_exact(block.len() / size).zip(to.chunks_exact_mut(to.len() / size));
            parts.for_each(|(from, to)| add_up(from, to, dims, times));
        }
    }
}

/// How often a tensor of sizes `x` fits into one of sizes `target` along each axis; `None` if it does not.
pub(crate) fn times_to(x: &Dims, target: &Dims) -> Option<Dims> {
    let mut times = *x;
    for (t, whole) in times.iter_mut().zip(target.iter()) {
        *t = whole.checked_div(*t).filter(|n| n * *t == *whole)?;
    }
    (x.rank() == target.rank()).then_some(times)
}
