//! Large matrix products by tiles that stay in registers, for vectors of 256 bits and more: there they beat the `gemm` crate.
//!
//! Each element is summed from its first term to its last in blocks of `depth(k)` terms, one addition at a time. So its
//! bits depend on `k` and the two vectors it is made of, not on the cut of the result into panels, blocks and tiles.
#![allow(unsafe_code, reason = "vector registers by hand, and panels of one result interleave in memory")]

use super::pack::{Scratch, pack_strip, prefetch_row};
use super::vector::{self, Kernel, Vector};
use crate::Float;
use crate::gemm::{GemmElem, Mat};

/// The most rows of a tile whose left rows are not packed.
pub(super) const UNPACKED: usize = 8;

/// Registers of columns of a tile.
pub(super) const WIDTH: usize = 2;

/// The most terms summed in one go: a strip of the right matrix then fits the first cache.
const DEPTH: usize = 512;

/// Rows of a block. So many rows of `DEPTH` elements stay in the second cache while all columns pass by.
pub(super) const BLOCK: usize = 96;

/// Elements of the right matrix packed at once, at most; they should stay in the last cache.
const PACKED: usize = 1 << 19;

/// Whether this CPU has registers of 256 bits or more.
pub(crate) fn fit() -> bool {
    vector::bits() >= 256
}

/// One panel of a product: `out = alpha a b + beta out`. `beta` 0 does not read `out`.
pub(crate) struct Panel<'a, T> {
    /// The first element of the panel, whose rows are `stride` elements apart.
    pub(crate) out: *mut T,
    pub(crate) stride: usize,
    pub(crate) a: Mat<'a, T>,
    pub(crate) b: Mat<'a, T>,
    pub(crate) alpha: T,
    pub(crate) beta: T,
}

/// Computes a panel on this thread.
///
/// # Safety
/// The matrices must fit each other, and nobody else may touch the `a.rows()` x `b.cols()` elements at `out` meanwhile,
/// all of which must be valid for reading and writing.
pub(crate) unsafe fn compute<T: GemmElem>(panel: Panel<'_, T>) {
    vector::run(panel);
}

/// The length of the blocks of a sum of `k` terms: as few as possible, and nearly equal.
pub(super) fn depth(k: usize) -> usize {
    k.div_ceil(k.div_ceil(DEPTH)).next_multiple_of(4)
}

/// Where the rows of the left matrix are for one tile: rows `row_stride` apart, packed ones interleaved.
#[derive(Clone, Copy)]
struct Left<T> {
    at: *const T,
    row_stride: usize,
    packed: bool,
}

/// The terms of one block, `from..from + len`, and what the sums are added to.
#[derive(Clone, Copy)]
struct Terms<T> {
    from: usize,
    len: usize,
    beta: T,
}

/// Where packed operands go, and the result of a tile that is not whole.
#[derive(Clone, Copy)]
struct Room<T> {
    right: *mut T,
    left: *mut T,
    edge: *mut T,
}

impl<T: GemmElem> Kernel<T> for Panel<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let (k, n) = (self.a.cols(), self.b.cols());
        let (depth, strip) = (depth(k), WIDTH * V::LANES);
        let across = (PACKED / depth).max(strip).next_multiple_of(strip).min(n.next_multiple_of(strip));
        let mut scratch = Scratch::take::<T>(depth * (across + BLOCK) + V::ROWS * strip);
        let mut from = 0;
        while from < k {
            let beta = if from == 0 { self.beta } else { T::ONE };
            let terms = Terms { from, len: depth.min(k - from), beta };
            let mut left = 0;
            while left < n {
                let width = across.min(n - left);
                // SAFETY: the caller vouches for the instructions and the panel; the scratch has room for `across` columns
                // and `BLOCK` rows of `depth` elements and for a tile.
                unsafe {
                    let right = scratch.room::<T>();
                    let room =
                        Room { right, left: right.add(depth * across), edge: right.add(depth * (across + BLOCK)) };
                    self.columns::<V>(terms, left, width, room);
                }
                left += width;
            }
            from += terms.len;
        }
    }
}

impl<T: GemmElem> Panel<'_, T> {
    /// Adds one block of terms to columns `left..left + width`.
    ///
    /// # Safety
    /// As for `run`. `room` has space for the columns, for `BLOCK` rows and for a tile.
    #[inline(always)]
    unsafe fn columns<V: Vector<Elem = T>>(&self, terms: Terms<T>, left: usize, width: usize, room: Room<T>) {
        let (m, strip) = (self.a.rows(), WIDTH * V::LANES);
        let b = self.b.view(terms.from, terms.len, left, width);
        // Few rows do not repay packing: they read `b` in place, if whole registers can be loaded.
        // Rows a multiple of 2 KiB apart fall on a handful of lines of the first cache, so only very few rows may.
        let crowded = (b.row_stride() * size_of::<T>()).is_multiple_of(2048);
        let in_place = b.col_stride() == 1 && m <= if crowded { 12 } else { BLOCK };
        let mut top = 0;
        while top < m {
            let rows = BLOCK.min(m - top);
            // SAFETY: passed on; offsets stay inside the rows, the columns and the packed strips.
            unsafe {
                let block = self.left_block::<V>(terms, top, rows, room.left);
                let mut j = 0;
                while j < width {
                    let cols = strip.min(width - j);
                    let mut right = (room.right.add(j * terms.len).cast_const(), strip);
                    if in_place && cols == strip {
                        right = (b.data().as_ptr().add(j), b.row_stride());
                    } else if top == 0 {
                        pack_strip::<V>(room.right.add(j * terms.len), b.view(0, terms.len, j, cols), WIDTH);
                    }
                    let out = self.out.add(top * self.stride + left + j);
                    self.strip::<V>(terms, (block, rows), right, (out, cols), room.edge);
                    j += cols;
                }
            }
            top += rows;
        }
    }

    /// Rows `top..top + rows` of the left matrix, packed into `room` unless each row is contiguous.
    ///
    /// # Safety
    /// `room` has space for the rows, rounded up to strips.
    #[inline(always)]
    unsafe fn left_block<V: Vector>(&self, terms: Terms<T>, top: usize, rows: usize, room: *mut T) -> Left<T> {
        let a = self.a.view(top, rows, terms.from, terms.len);
        // Tall tiles read packed rows: there are not enough registers for a pointer to each. Packing pays when many rows and
        // columns share it.
        let tall = V::ROWS > UNPACKED && rows >= 2 * V::ROWS && self.b.cols() >= 8 * WIDTH * V::LANES;
        if a.col_stride() == 1 && !tall {
            return Left { at: a.data().as_ptr(), row_stride: a.row_stride(), packed: false };
        }
        // SAFETY: passed on to the caller.
        unsafe {
            match V::ROWS {
                12 => super::pack::pack_rows::<T, 12>(room, a),
                _ => super::pack::pack_rows::<T, 6>(room, a),
            }
        }
        Left { at: room, row_stride: terms.len, packed: true }
    }

    /// Adds to one strip of columns, tile by tile.
    ///
    /// # Safety
    /// As for `run`; `left` has `rows` rows and `right`, at its stride, a whole strip for all terms; `out` has so many rows of
    /// `cols` columns.
    #[inline(always)]
    unsafe fn strip<V: Vector<Elem = T>>(
        &self,
        terms: Terms<T>,
        (left, rows): (Left<T>, usize),
        right: (*const T, usize),
        (out, cols): (*mut T, usize),
        edge: *mut T,
    ) {
        let whole = cols == WIDTH * V::LANES;
        let mut i = 0;
        while i < rows {
            let height = if left.packed { V::ROWS } else { V::ROWS.min(UNPACKED) }.min(rows - i);
            // SAFETY: passed on; a tile that is not whole goes through `edge`.
            unsafe {
                let out = out.add(i * self.stride);
                let left = Left { at: left.at.add(i * left.row_stride), ..left };
                let (to, stride) = if whole { (out, self.stride) } else { (edge, WIDTH * V::LANES) };
                if !whole && terms.beta != T::ZERO {
                    copy_rows(to, stride, out, self.stride, height, cols);
                }
                let narrow = cols <= V::LANES;
                tile_of::<V>((height, narrow), left, right, terms, (to, stride), self.alpha);
                if !whole {
                    copy_rows(out, self.stride, to, stride, height, cols);
                }
            }
            i += height;
        }
    }
}

/// Copies `rows` rows of `cols` elements.
///
/// # Safety
/// They must be readable and writable, and must not overlap.
#[inline(always)]
unsafe fn copy_rows<T: Copy>(
    to: *mut T,
    to_stride: usize,
    from: *const T,
    from_stride: usize,
    rows: usize,
    cols: usize,
) {
    for r in 0..rows {
        // SAFETY: passed on to the caller.
        unsafe { std::ptr::copy_nonoverlapping(from.add(r * from_stride), to.add(r * to_stride), cols) };
    }
}

/// A tile of any height and of one or two registers.
///
/// # Safety
/// As for `tile`.
#[inline(always)]
unsafe fn tile_of<V: Vector>(
    (height, narrow): (usize, bool),
    left: Left<V::Elem>,
    right: (*const V::Elem, usize),
    terms: Terms<V::Elem>,
    out: (*mut V::Elem, usize),
    alpha: V::Elem,
) {
    macro_rules! by_height {
        ($most:literal: $($rows:literal)*) => {
            match (height, narrow, left.packed) {
                $(
                    ($rows, false, false) => tile::<V, $rows, 2, 1>(left, right, terms, out, alpha),
                    ($rows, false, true) => tile::<V, $rows, 2, $most>(left, right, terms, out, alpha),
                    ($rows, true, false) => tile::<V, $rows, 1, 1>(left, right, terms, out, alpha),
                    ($rows, true, true) => tile::<V, $rows, 1, $most>(left, right, terms, out, alpha),
                )*
                _ => unreachable!("tiles have 1 to {} rows", V::ROWS),
            }
        };
    }
    // SAFETY: passed on to the caller.
    unsafe {
        match V::ROWS {
            12 => by_height!(12: 12 11 10 9 8 7 6 5 4 3 2 1),
            _ => by_height!(6: 6 5 4 3 2 1),
        }
    }
}

/// `R` rows of `N` registers: `out = alpha left right + beta out`, `STEP` being the distance of the terms of a row of `left`.
///
/// # Safety
/// The CPU must have the instructions of `V`; `left`, `right` and `out` must have all elements of the tile.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize, const STEP: usize>(
    left: Left<V::Elem>,
    (right, right_stride): (*const V::Elem, usize),
    terms: Terms<V::Elem>,
    (out, out_stride): (*mut V::Elem, usize),
    alpha: V::Elem,
) {
    let row_stride = if STEP == 1 { left.row_stride } else { 1 };
    // SAFETY: passed on to the caller.
    unsafe {
        let mut rows = [left.at; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = left.at.add(r * row_stride);
            prefetch_row(out.add(r * out_stride), N * V::LANES);
        }
        let mut acc = [[V::splat(V::Elem::ZERO); N]; R];
        let (mut at, mut right, mut p) = (0, right, 0);
        while p + 4 <= terms.len {
            for u in 0..4 {
                step(&mut acc, &rows, at + u * STEP, right.add(u * right_stride));
            }
            (at, right, p) = (at + 4 * STEP, right.add(4 * right_stride), p + 4);
        }
        while p < terms.len {
            step(&mut acc, &rows, at, right);
            (at, right, p) = (at + STEP, right.add(right_stride), p + 1);
        }
        let (zero, alpha, beta) = (V::splat(V::Elem::ZERO), V::splat(alpha), V::splat(terms.beta));
        for (r, sums) in acc.into_iter().enumerate() {
            for (j, sum) in sums.into_iter().enumerate() {
                let to = out.add(r * out_stride + j * V::LANES);
                let old = if terms.beta == V::Elem::ZERO { zero } else { V::load(to).mul_add(beta, zero) };
                sum.mul_add(alpha, old).store(to);
            }
        }
    }
}

/// Adds one term to every sum of a tile.
///
/// # Safety
/// As for `tile`.
#[inline(always)]
unsafe fn step<V: Vector, const R: usize, const N: usize>(
    acc: &mut [[V; N]; R],
    rows: &[*const V::Elem; R],
    at: usize,
    right: *const V::Elem,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut y = [V::splat(V::Elem::ZERO); N];
        for (j, y) in y.iter_mut().enumerate() {
            *y = V::load(right.add(j * V::LANES));
        }
        for (sums, row) in acc.iter_mut().zip(rows) {
            let x = V::splat(*row.add(at));
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum = x.mul_add(y, *sum);
            }
        }
    }
}
