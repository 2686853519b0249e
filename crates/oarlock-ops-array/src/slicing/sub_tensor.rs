//! A tensor inside a larger one of the same rank: what padding and cropping do to each other's gradients.

use oarlock_ir::{In, Io, Kind, Out, Result};
use oarlock_ops_support::strided_view::View;
use oarlock_tensor::{Dims, Element, Lod, Tensor, by_element};

/// The elements of a tensor of sizes `large` that one of sizes `small` covers when it starts at `at`; `None` if it does not fit.
fn inset(large: &Dims, small: &Dims, at: &[usize]) -> Option<View> {
    if large.rank() != small.rank() || large.rank() != at.len() {
        return None;
    }
    let mut view = View::whole(large);
    for (axis, (&start, &count)) in at.iter().zip(&small[..]).enumerate() {
        if start.checked_add(count)? > large[axis] {
            return None;
        }
        view = view.sliced(axis, start, 1, count);
    }
    Some(view)
}

fn misfit(io: &Io<'_>, from: In, small: &Dims, large: &Dims, at: &[usize]) -> oarlock_ir::Error {
    io.error(Kind::Shape, from, format_args!("does not fit: {small} at {at:?} is not inside of {large}"))
}

/// Writes `from` into a tensor of sizes `large`, filled with `value`.
pub(crate) fn put(io: &Io<'_>, from: In, to: Out, large: Dims, at: &[usize], value: f64, lod: Lod) -> Result<()> {
    fn run<T: Element>(
        io: &Io<'_>,
        (from, to): (In, Out),
        tensor: &Tensor,
        t: &mut Tensor,
        view: View,
        value: f64,
    ) -> Result<()> {
        let to = io.data_mut::<T>(to, t)?;
        to.fill(T::from_f64(value));
        view.scatter(io.data::<T>(from, tensor)?, to);
        Ok(())
    }
    let tensor = io.dense(from)?;
    let Some(view) = inset(&large, tensor.dims(), at) else {
        return Err(misfit(io, from, tensor.dims(), &large, at));
    };
    let mut t = io.out_sized(to, tensor.dtype(), large)?;
    t.set_lod(lod);
    by_element!(tensor.dtype(), T => run::<T>(io, (from, to), &tensor, &mut t, view, value))
}

/// Takes a tensor of sizes `small` out of `from`.
pub(crate) fn take(io: &Io<'_>, from: In, to: Out, small: Dims, at: &[usize], lod: Lod) -> Result<()> {
    fn run<T: Element>(io: &Io<'_>, (from, to): (In, Out), tensor: &Tensor, t: &mut Tensor, view: View) -> Result<()> {
        view.gather(io.data::<T>(from, tensor)?, io.data_mut::<T>(to, t)?);
        Ok(())
    }
    let tensor = io.dense(from)?;
    let Some(view) = inset(tensor.dims(), &small, at) else {
        return Err(misfit(io, from, &small, tensor.dims(), at));
    };
    let mut t = io.out_sized(to, tensor.dtype(), small)?;
    t.set_lod(lod);
    by_element!(tensor.dtype(), T => run::<T>(io, (from, to), &tensor, &mut t, view))
}
