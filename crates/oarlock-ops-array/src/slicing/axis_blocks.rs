//! Tensors side by side along one axis, copied block by block; shared by `concat`, `split`, `stack` and `unstack`.
//!
//! Works on bytes: what the elements mean does not matter.

use oarlock_ir::{Dim, In, Infer, Io, Kind, Out, Prepare, Result, VarType};
use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::{Dims, Tensor};

/// The axis, from an attribute or from a tensor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    attr: i64,
    tensor: Option<In>,
}

impl Axis {
    /// Finds the axis.
    pub(crate) fn prepare(p: &Prepare<'_>) -> Result<Axis> {
        Ok(Axis { attr: p.attrs().int("axis")?, tensor: p.maybe_input("AxisTensor")? })
    }

    /// The axis, for tensors of that rank.
    pub(crate) fn of(&self, io: &Io<'_>, x: In, dims: &Dims) -> Result<usize> {
        let axis = match self.tensor {
            Some(tensor) => io.index(tensor)?,
            None => self.attr,
        };
        axis_of(axis, dims.rank())
            .ok_or_else(|| io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {axis}")))
    }

    /// The axis when the program is built; `None` if only a tensor knows.
    pub(crate) fn infer(cx: &Infer<'_>, x: &VarType) -> Result<Option<usize>> {
        if cx.has("AxisTensor") {
            return Ok(None);
        }
        let axis = cx.attrs().int("axis")?;
        match axis_of(axis, x.shape.rank()) {
            Some(axis) => Ok(Some(axis)),
            None => Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X")))),
        }
    }
}

/// Nothing is known but the rank.
pub(crate) fn unknown_like(x: &VarType) -> VarType {
    x.clone().with_shape(vec![Dim::Any; x.shape.rank()])
}

/// The bytes of a tensor from an axis on: what stands side by side.
pub(crate) fn block(tensor: &Tensor, axis: usize) -> usize {
    tensor.dims().matrix(axis).1 * tensor.dtype().size()
}

/// Copies the blocks of `part` into every row of `whole`, from byte `at` on. `row` is the length of a row of `whole`.
pub(crate) fn put(part: &[u8], block: usize, whole: &mut [u8], row: usize, at: usize) {
    if block == 0 {
        return;
    }
    for (from, to) in part.chunks_exact(block).zip(whole.chunks_exact_mut(row)) {
        to[at..at + block].copy_from_slice(from);
    }
}

/// Copies the blocks of `part` out of every row of `whole`, from byte `at` on.
pub(crate) fn take(part: &mut [u8], block: usize, whole: &[u8], row: usize, at: usize) {
    if block == 0 {
        return;
    }
    for (to, from) in part.chunks_exact_mut(block).zip(whole.chunks_exact(row)) {
        to.copy_from_slice(&from[at..at + block]);
    }
}

/// Cuts `whole` into parts along `axis`; `dims(i)` gives the shape of the i-th. Parts without an output are skipped over.
pub(crate) fn cut(
    io: &Io<'_>,
    whole: &Tensor,
    axis: usize,
    parts: &[Option<Out>],
    dims: impl Fn(usize) -> Result<Dims>,
) -> Result<()> {
    let row = block(whole, axis);
    let mut at = 0;
    for (i, part) in parts.iter().enumerate() {
        let dims = dims(i)?;
        // What has no elements takes nothing, whatever its sizes.
        let block = if dims.numel() == 0 { 0 } else { dims.matrix(axis).1 * whole.dtype().size() };
        if let Some(out) = part {
            let mut to = io.out_sized(*out, whole.dtype(), dims)?;
            take(to.bytes_mut(), block, whole.bytes(), row, at);
        }
        at += block;
    }
    Ok(())
}
