//! Large matrix products by tiles that stay in registers, for vectors of 256 bits and more: there they beat the `gemm` crate.
//!
//! Each element is summed from its first term to its last in blocks of `depth(k)` terms, one addition at a time. So its
//! bits depend on `k` and the two vectors it is made of, not on the division of the result into panels, blocks and tiles.
#![allow(unsafe_code, reason = "vector registers by hand, and panels of one result interleave in memory")]

use super::pack::{Scratch, pack_strip, prefetch_row};
use super::vector::{self, Kernel, Vector};
use crate::Float;
use crate::gemm::{GemmElem, Mat, Then};

/// The most rows of a tile whose left rows are not packed.
pub(super) const UNPACKED: usize = 8;

/// Registers of columns of a tile.
pub(super) const WIDTH: usize = 2;

/// The most terms summed in one go: a strip of the right matrix then fits the first cache.
const DEPTH: usize = 512;

/// Rows of a block. This number of rows of `DEPTH` elements stay in the second cache while all columns pass by.
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
    /// The operation on a finished element: the bias from the panel's first column on, or the other matrix from its first element on,
    /// whose rows are `stride` elements apart, too.
    pub(crate) then: Then<'a, T>,
}

/// Computes a panel on this thread.
///
/// # Safety
/// The matrices must fit each other, and no other task may touch the `a.rows()` x `b.cols()` elements at `out` meanwhile,
/// all of which must be valid for reading and writing. What `then` names must be as large as the panel.
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

/// The terms of one block, `from..from + len`, what the sums are added to, and whether they are finished then.
#[derive(Clone, Copy)]
struct Terms<T> {
    from: usize,
    len: usize,
    beta: T,
    last: bool,
}

/// The operation on the elements of one tile: the bias at its columns, or the other matrix at its first element.
#[derive(Clone, Copy)]
enum After<T> {
    Nothing,
    Add(*const T),
    AddRelu(*const T),
    WherePositive(*const T),
}

impl<T: GemmElem> After<T> {
    /// For the tile at a row and a column of a panel whose rows are `stride` elements apart.
    #[inline(always)]
    fn at(then: Then<'_, T>, stride: usize, (row, column): (usize, usize)) -> After<T> {
        match then {
            Then::Nothing => After::Nothing,
            Then::Add(bias) => After::Add(bias.as_ptr().wrapping_add(column)),
            Then::AddRelu(bias) => After::AddRelu(bias.as_ptr().wrapping_add(column)),
            Then::WherePositive(by) => After::WherePositive(by.as_ptr().wrapping_add(row * stride + column)),
        }
    }

    /// One register of a tile's row, `offset` elements after the row's first; rows of the other matrix are `stride` apart.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`, and what is pointed to must have the register's columns.
    #[inline(always)]
    unsafe fn apply<V: Vector<Elem = T>>(self, value: V, row: usize, stride: usize, offset: usize) -> V {
        // SAFETY: passed on to the caller.
        unsafe {
            let add = |bias: *const T| value.mul_add(V::splat(T::ONE), V::load(bias.add(offset)));
            match self {
                After::Nothing => value,
                After::Add(bias) => add(bias),
                After::AddRelu(bias) => add(bias).where_positive(add(bias)),
                After::WherePositive(by) => value.where_positive(V::load(by.add(row * stride + offset))),
            }
        }
    }

    /// The same for a row of elements in place.
    ///
    /// # Safety
    /// `to`, and what is pointed to, must have `len` elements.
    #[inline(always)]
    unsafe fn apply_row(self, to: *mut T, len: usize, row: usize, stride: usize) {
        for c in 0..len {
            // SAFETY: passed on to the caller.
            unsafe {
                let (to, relu) = (to.add(c), |v: T, by: T| if by > T::ZERO { v } else { T::ZERO });
                *to = match self {
                    After::Nothing => *to,
                    After::Add(bias) => *to + *bias.add(c),
                    After::AddRelu(bias) => relu(*to + *bias.add(c), *to + *bias.add(c)),
                    After::WherePositive(by) => relu(*to, *by.add(row * stride + c)),
                };
            }
        }
    }
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
            let len = depth.min(k - from);
            let terms = Terms { from, len, beta, last: from + len == k };
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
                    self.strip::<V>(terms, (block, rows), right, (top, left + j, cols), room.edge);
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
    /// As for `run`; `left` has `rows` rows and `right`, at its stride, a whole strip for all terms; the panel has as many rows from
    /// `top` on and `cols` columns from `column` on.
    #[inline(always)]
    unsafe fn strip<V: Vector<Elem = T>>(
        &self,
        terms: Terms<T>,
        (left, rows): (Left<T>, usize),
        right: (*const T, usize),
        (top, column, cols): (usize, usize, usize),
        edge: *mut T,
    ) {
        let narrow = cols <= V::LANES;
        let whole = cols == if narrow { V::LANES } else { WIDTH * V::LANES };
        let mut i = 0;
        while i < rows {
            let height = if left.packed { V::ROWS } else { V::ROWS.min(UNPACKED) }.min(rows - i);
            // SAFETY: passed on; a tile that is not whole goes through `edge`.
            unsafe {
                let out = self.out.add((top + i) * self.stride + column);
                let left = Left { at: left.at.add(i * left.row_stride), ..left };
                let after = match terms.last {
                    true => After::at(self.then, self.stride, (top + i, column)),
                    false => After::Nothing,
                };
                if whole {
                    tile_of::<V>((height, narrow), left, right, terms, (out, self.stride), (self.alpha, after));
                } else {
                    let stride = WIDTH * V::LANES;
                    if terms.beta != T::ZERO {
                        copy_rows(edge, stride, out, self.stride, height, cols);
                    }
                    let plain = (self.alpha, After::Nothing);
                    tile_of::<V>((height, narrow), left, right, terms, (edge, stride), plain);
                    copy_rows(out, self.stride, edge, stride, height, cols);
                    (0..height).for_each(|r| after.apply_row(out.add(r * self.stride), cols, r, self.stride));
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
    scale: (V::Elem, After<V::Elem>),
) {
    macro_rules! by_height {
        ($most:literal: $($rows:literal)*) => {
            match (height, narrow, left.packed) {
                $(
                    ($rows, false, false) => tile::<V, $rows, 2, 1>(left, right, terms, out, scale),
                    ($rows, false, true) => tile::<V, $rows, 2, $most>(left, right, terms, out, scale),
                    ($rows, true, false) => tile::<V, $rows, 1, 1>(left, right, terms, out, scale),
                    ($rows, true, true) => tile::<V, $rows, 1, $most>(left, right, terms, out, scale),
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

/// `R` rows of `N` registers: `out = alpha left right + beta out`, finished by `after`; `STEP` being the distance of the terms of a row of `left`.
///
/// # Safety
/// The CPU must have the instructions of `V`; `left`, `right` and `out` must have all elements of the tile.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize, const STEP: usize>(
    left: Left<V::Elem>,
    (right, right_stride): (*const V::Elem, usize),
    terms: Terms<V::Elem>,
    (out, out_stride): (*mut V::Elem, usize),
    (alpha, after): (V::Elem, After<V::Elem>),
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
                after.apply(sum.mul_add(alpha, old), r, out_stride, j * V::LANES).store(to);
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
