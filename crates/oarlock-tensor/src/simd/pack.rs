//! Copies of parts of matrices in the order in which products read them, in memory that threads keep.
#![allow(unsafe_code, reason = "strided copies between matrices and room that is not initialised")]

use std::cell::Cell;

use super::prefetch::prefetch_at;
use super::vector::Vector;
use crate::gemm::{GemmElem, Mat};

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "read and written through pointers")] [u8; 64]);

thread_local! {
    /// The memory of the last product on this thread.
    static KEPT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Room for packed operands, given back to the thread at the end, so that a training step allocates nothing.
pub(super) struct Scratch(Vec<Line>);

impl Scratch {
    /// Room for `len` elements.
    pub(super) fn take<T: GemmElem>(len: usize) -> Scratch {
        let mut lines = KEPT.take();
        let need = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        if lines.len() < need {
            lines.resize(need, Line([0; 64]));
        }
        Scratch(lines)
    }

    /// The room, aligned to a cache line, holding arbitrary numbers.
    pub(super) fn room<T: GemmElem>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        KEPT.set(std::mem::take(&mut self.0));
    }
}

/// Asks for the first and the last element of a row.
#[inline(always)]
pub(super) fn prefetch_row<T>(row: *const T, len: usize) {
    prefetch_at(row);
    prefetch_at(row.wrapping_add(len - 1));
}

/// How many rows of the source are copied together: as many as memory streams well, each read in long runs.
const RUN: usize = 8;

/// Packs all rows of `from` in strips of `H`: the `H` elements of a column side by side, column after column. The last strip is
/// filled up with zeros.
///
/// # Safety
/// `to` must have space for the strips.
#[inline(always)]
pub(super) unsafe fn pack_rows<T: GemmElem, const H: usize>(to: *mut T, from: Mat<'_, T>) {
    let (rows, cols) = (from.rows(), from.cols());
    let (down, across) = (from.row_stride(), from.col_stride());
    let mut start = 0;
    while start < cols {
        let run = RUN.min(cols - start);
        let mut top = 0;
        while top < rows {
            let height = H.min(rows - top);
            for p in start..start + run {
                // SAFETY: the elements are inside the matrix, and the caller vouches for the space.
                unsafe {
                    let (to, from) = (to.add(top * cols + p * H), from.data().as_ptr().add(top * down + p * across));
                    prefetch_at(from.wrapping_add(RUN * across));
                    if height == H && down == 1 {
                        to.cast::<[T; H]>().write(from.cast::<[T; H]>().read());
                    } else {
                        for r in 0..H {
                            *to.add(r) = if r < height { *from.add(r * down) } else { T::ZERO };
                        }
                    }
                }
            }
            top += H;
        }
        start += run;
    }
}

/// Packs up to `width` registers of columns: row after row, filled up with zeros.
///
/// # Safety
/// The CPU must have the instructions of `V`, and `to` must have space for `width` registers per row.
#[inline(always)]
pub(super) unsafe fn pack_strip<V: Vector>(to: *mut V::Elem, from: Mat<'_, V::Elem>, width: usize) {
    let (rows, cols, strip) = (from.rows(), from.cols(), width * V::LANES);
    let (down, across) = (from.row_stride(), from.col_stride());
    let source = from.data().as_ptr();
    let mut p = 0;
    // SAFETY: the elements are inside the matrix, and the caller vouches for the space.
    unsafe {
        while cols == strip && across == 1 && p < rows {
            prefetch_at(source.wrapping_add(p * down + strip));
            for j in 0..width {
                V::load(source.add(p * down + j * V::LANES)).store(to.add(p * strip + j * V::LANES));
            }
            p += 1;
        }
        while cols == strip && down == 1 && p + V::LANES <= rows {
            for j in 0..width {
                V::transpose(source.add(p + j * V::LANES * across), across, to.add(p * strip + j * V::LANES), strip);
            }
            p += V::LANES;
        }
        while p < rows {
            for j in 0..strip {
                *to.add(p * strip + j) =
                    if j < cols { *source.add(p * down + j * across) } else { <V::Elem as crate::Float>::ZERO };
            }
            p += 1;
        }
    }
}
