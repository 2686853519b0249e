//! How elements compare, and gradients that go back to where elements were; shared by operators that sort.

use std::cmp::Ordering;

use oarlock_ir::{In, Io, Kernel, Kind, Prepare, Result, by_float, kernel};
use oarlock_tensor::{Dims, Element};

/// Ascending; not-a-number goes last.
pub(crate) fn smaller_first<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

/// Descending; not-a-number goes first, so that it is not overlooked.
pub(crate) fn larger_first<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    smaller_first(b, a)
}

fn is_nan<T: PartialOrd>(v: &T) -> bool {
    v.partial_cmp(v).is_none()
}

/// A tensor as rows along one axis: how many before it, along it and after it.
pub(crate) fn along(dims: &Dims, axis: usize) -> [usize; 3] {
    [dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product()]
}

/// The kernel of a gradient that goes back to where elements were: X@GRAD[Indices[i]] = Out@GRAD[i] along an axis, 0 elsewhere.
pub(crate) fn put_back(
    p: &Prepare<'_>,
    axis: impl Fn(&Io<'_>, In) -> Result<usize> + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    let (x, indices, dout, dx) = (p.input("X")?, p.input("Indices")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
    by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
        let axis = axis(io, x)?;
        let (tensor, places, d) = (io.dense(x)?, io.dense(indices)?, io.dense(dout)?);
        let fits = places.dims() == d.dims() && d.dims().rank() == tensor.dims().rank() && axis < d.dims().rank();
        let same = |i: usize| i == axis || d.dims()[i] == tensor.dims()[i];
        if !fits || !(0..d.dims().rank()).all(same) {
            let what = format_args!("is {}, which does not fit `X` {}", d.dims(), tensor.dims());
            return Err(io.error(Kind::Shape, dout, what));
        }
        let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
        to.set_lod(tensor.lod().clone());
        let (to, d_data) = (io.data_mut::<T>(dx, &mut to)?, io.data::<T>(dout, &d)?);
        to.fill(0.0);
        let ([_, size, _], [before, count, after]) = (along(tensor.dims(), axis), along(d.dims(), axis));
        let places = io.data::<i64>(indices, &places)?;
        for row in 0..before {
            for i in 0..count * after {
                let place = places[row * count * after + i];
                let Some(at) = usize::try_from(place).ok().filter(|at| *at < size) else {
                    return Err(io.error(Kind::Range, indices, format_args!("has {place}, but only 0 to {} exist", size - 1)));
                };
                to[(row * size + at) * after + i % after] = d_data[row * count * after + i];
            }
        }
        Ok(())
    }))
}
