//! Where a part of a tensor starts and how large it is; shared by `crop` and `crop_tensor`.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, Prepare, Result, kernel};
use oarlock_ops_support::int_list::{IntList, Known};
use oarlock_tensor::Dims;

use crate::slicing::sub_tensor;

/// The start of the part along each axis.
pub(crate) fn offsets(io: &Io<'_>, x: In, list: &IntList, rank: usize, scratch: &mut Vec<i64>) -> Result<Vec<usize>> {
    list.read(io, scratch)?;
    if scratch.is_empty() {
        return Ok(vec![0; rank]);
    }
    let found: Option<Vec<usize>> = scratch.iter().map(|&v| usize::try_from(v).ok()).collect();
    found.filter(|at| at.len() == rank).ok_or_else(|| {
        io.error(
            Kind::Shape,
            x,
            format_args!("has {rank} axes, but the offsets are {scratch:?}; each needs one of at least 0"),
        )
    })
}

/// The offsets, as far as they are known when the program is built.
pub(crate) fn known_offsets(cx: &Infer<'_>, tensors: &str) -> Result<Option<Vec<i64>>> {
    Ok(match IntList::infer(cx, "offsets", "Offsets", tensors)? {
        Known::All(list) if list.iter().all(|&v| v >= 0) => Some(list),
        _ => None,
    })
}

/// The kernel of the gradient: `X@GRAD` is zero but for the part.
pub(crate) fn grad_kernel(p: &Prepare<'_>, tensors: &str) -> Result<Box<dyn Kernel>> {
    let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
    let (list, mut scratch) = (IntList::prepare(p, "offsets", "Offsets", tensors)?, Vec::new());
    kernel(move |io| {
        let x_tensor = io.dense(x)?;
        let large: Dims = *x_tensor.dims();
        let at = offsets(io, x, &list, large.rank(), &mut scratch)?;
        sub_tensor::put(io, dout, dx, large, &at, 0.0, x_tensor.lod().clone())
    })
}
