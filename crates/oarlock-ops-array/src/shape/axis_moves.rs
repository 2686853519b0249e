//! The slices of some axes in another order; shared by `flip`, `reverse` and `roll`.
//!
//! Works on bytes: what the elements mean does not matter.

use oarlock_ir::{Grad, In, Infer, Io, Kernel, Kind, Op, Out, Prepare, Result, grad_name, kernel};
use oarlock_ops_support::int_list::axis_of;
use oarlock_tensor::{Dims, MAX_RANK};

/// How the slices of one axis move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Move {
    /// Not at all.
    Stay,
    /// The last one becomes the first.
    Reverse,
    /// Each goes this number of places towards the end, and from there to the beginning.
    Shift(i64),
}

impl Move {
    /// The place from which the slice at place `i` of an axis of that size comes.
    fn source(self, i: usize, size: usize) -> usize {
        match self {
            Move::Stay => i,
            Move::Reverse => size - 1 - i,
            Move::Shift(by) => (i as i64 - by).rem_euclid(size as i64) as usize,
        }
    }
}

/// An axis of `axes` that a tensor of that rank does not have.
fn wrong_axis(axes: &[i64], rank: usize) -> Option<i64> {
    axes.iter().copied().find(|&a| axis_of(a, rank).is_none())
}

/// Sets `Out` to the type of `X`, if `X` has these axes.
pub(crate) fn infer_axes(cx: &mut Infer<'_>, axes: &[i64]) -> Result<()> {
    let x = cx.input("X")?;
    if let Some(axis) = wrong_axis(axes, x.shape.rank()) {
        return Err(cx.shape_error(format!("has no axis {axis} in {}", cx.describe("X"))));
    }
    cx.set("Out", x);
    Ok(())
}

/// A kernel that reverses the axes of an attribute.
pub(crate) fn reverse_kernel(p: &Prepare<'_>, attr: &str) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    let axes: Vec<(i64, Move)> = p.attrs().ints(attr)?.into_iter().map(|a| (a, Move::Reverse)).collect();
    kernel(move |io| moved(io, x, out, &axes))
}

/// Out = X with the slices of these axes moved; of several moves of an axis, shifts add up. The LoD of X goes along.
pub(crate) fn moved(io: &Io<'_>, x: In, out: Out, axes: &[(i64, Move)]) -> Result<()> {
    let from = io.dense(x)?;
    let moves = moves(io, x, from.dims(), axes)?;
    let mut to = io.out_sized(out, from.dtype(), *from.dims())?;
    to.set_lod(from.lod().clone());
    if from.numel() > 0 {
        copy(from.bytes(), to.bytes_mut(), from.dims(), &moves);
    }
    Ok(())
}

/// The move of each axis.
fn moves(io: &Io<'_>, x: In, dims: &Dims, axes: &[(i64, Move)]) -> Result<[Move; MAX_RANK]> {
    let mut moves = [Move::Stay; MAX_RANK];
    for &(axis, step) in axes {
        let Some(at) = axis_of(axis, dims.rank()) else {
            return Err(io.error(Kind::Shape, x, format_args!("is {dims}, it has no axis {axis}")));
        };
        moves[at] = match (moves[at], step) {
            (Move::Shift(a), Move::Shift(b)) => Move::Shift(a.wrapping_add(b)),
            (_, step) => step,
        };
    }
    Ok(moves)
}

fn copy(from: &[u8], to: &mut [u8], dims: &[usize], moves: &[Move]) {
    // Behind the last axis that moves everything is one block.
    if moves[..dims.len()].iter().all(|m| *m == Move::Stay) {
        to.copy_from_slice(from);
        return;
    }
    let slice = from.len() / dims[0];
    for (i, to) in to.chunks_exact_mut(slice).enumerate() {
        let from = &from[moves[0].source(i, dims[0]) * slice..][..slice];
        copy(from, to, &dims[1..], &moves[1..]);
    }
}

/// Emits the operator itself as its gradient: what was turned around is turned back, and saved programs have it so.
pub(crate) fn emit_itself(g: &mut Grad<'_>) -> Result<()> {
    let mut op = Op::new(g.op().op_type.clone());
    op.attrs = g.op().attrs.clone();
    op.site = g.op().site.clone();
    op.inputs.set("X", g.op().outputs.get("Out").iter().map(|n| grad_name(n)).collect());
    op.outputs.set("Out", g.input_grads("X"));
    g.push(op)
}
