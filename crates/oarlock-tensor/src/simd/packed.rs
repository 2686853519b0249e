//! Products with a right matrix that was packed beforehand, for weights that serve many products.
//!
//! The columns are divided into strips of two registers, the rows into blocks of `depth` terms; the rows of a strip stand one after
//! the other, so a product reads the matrix from its first byte to its last. Each element is summed as a tile of
//! [`tiles`](super::tiles) sums it.
#![allow(unsafe_code, reason = "vector registers by hand, and strips of one result interleave in memory")]

use super::blocked::Out;
use super::pack::pack_strip;
use super::tiles::{BLOCK, UNPACKED, WIDTH, depth};
use super::vector::{self, Kernel, Vector};
use crate::gemm::{GemmElem, Mat, PARALLEL};
use crate::{Float, Pool};

/// Columns of a strip on this CPU.
pub(crate) fn strip<T>() -> usize {
    let lanes = match vector::bits() {
        // The portable register.
        0 => 4,
        bits => bits / 8 / size_of::<T>(),
    };
    WIDTH * lanes
}

/// Packs a matrix into `to`, which has as many rows as it and as many columns as whole strips take.
pub(crate) fn pack<T: GemmElem>(to: &mut [T], from: Mat<'_, T>) {
    assert!(to.len() == from.rows() * from.cols().next_multiple_of(strip::<T>()), "the caller made room for it");
    vector::run(Pack { to, from });
}

struct Pack<'a, T> {
    to: &'a mut [T],
    from: Mat<'a, T>,
}

impl<T: GemmElem> Kernel<T> for Pack<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let (k, n, strip) = (self.from.rows(), self.from.cols(), WIDTH * V::LANES);
        let mut to = self.to;
        let mut from = 0;
        while from < k {
            let len = depth(k).min(k - from);
            for left in (0..n).step_by(strip) {
                let (part, rest) = to.split_at_mut(len * strip);
                let columns = self.from.view(from, len, left, strip.min(n - left));
                // SAFETY: the caller vouches for the instructions; `part` has room for a strip of `len` rows.
                unsafe { pack_strip::<V>(part.as_mut_ptr(), columns, WIDTH) };
                to = rest;
            }
            from += len;
        }
    }
}

/// `c = a b`, with `b` of `n` columns packed, and `a` and `c` stored row after row.
///
/// Panics if the shapes do not fit.
pub(crate) fn product<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, packed: &[T], n: usize) {
    let (m, k, strip) = (a.rows(), a.cols(), strip::<T>());
    assert!(c.len() == m * n && a.col_stride() == 1, "shapes were checked by the caller");
    assert!(packed.len() == k * n.next_multiple_of(strip), "the matrix was packed by `pack`");
    let strips = n.div_ceil(strip);
    let parts = if m.saturating_mul(n).saturating_mul(k) < PARALLEL { 1 } else { 2 * pool.threads() };
    let each = strips.div_ceil(parts.max(1)).max(1);
    let out = Out(c.as_mut_ptr());
    let out = &out;
    pool.run(strips.div_ceil(each), |i| {
        let strips = i * each..strips.min((i + 1) * each);
        vector::run(Columns { out: out.0, n, a, packed, strips });
    });
}

/// Some strips of a product, which one thread makes.
struct Columns<'a, T> {
    /// The first element of the result. Of its columns only those of `strips` are touched, and by no other task.
    out: *mut T,
    n: usize,
    a: Mat<'a, T>,
    packed: &'a [T],
    strips: std::ops::Range<usize>,
}

/// A piece of the product: one block of terms for some rows and neighbouring strips.
#[derive(Clone, Copy)]
struct Piece<T> {
    /// The first row of the left matrix, at the first term; rows are `row_stride` apart.
    left: *const T,
    row_stride: usize,
    /// The first strip; the next follows after `terms` rows.
    right: *const T,
    terms: usize,
    /// Where the result goes; rows are `n` apart.
    out: *mut T,
    n: usize,
    /// Columns of the result from `out` on, to the end of the row.
    cols: usize,
    /// The result so far is added to the sums.
    add: bool,
}

impl<T: GemmElem> Kernel<T> for Columns<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let (m, k, strip) = (self.a.rows(), self.a.cols(), WIDTH * V::LANES);
        let padded = self.n.next_multiple_of(strip);
        let mut from = 0;
        while from < k {
            let terms = depth(k).min(k - from);
            for top in (0..m).step_by(BLOCK) {
                let rows = BLOCK.min(m - top);
                let mut at = self.strips.start;
                while at < self.strips.end {
                    // SAFETY: rows, strips and terms are inside the matrices, whose lengths `product` has checked.
                    at += unsafe {
                        let piece = Piece {
                            left: self.a.data().as_ptr().add(top * self.a.row_stride() + from),
                            row_stride: self.a.row_stride(),
                            right: self.packed.as_ptr().add(from * padded + at * strip * terms),
                            terms,
                            out: self.out.add(top * self.n + at * strip),
                            n: self.n,
                            cols: self.n - at * strip,
                            add: from > 0,
                        };
                        rows_of::<V>(piece, rows, self.strips.end - at)
                    };
                }
            }
            from += terms;
        }
    }
}

/// Makes `rows` rows of as many strips as suit them, at most `left` many. Returns how many it made.
///
/// Few rows take several strips at once, because two sums at a time would wait for each other's additions.
///
/// # Safety
/// The CPU must have the instructions of `V`, and the piece must have this number of rows and strips.
#[inline(always)]
unsafe fn rows_of<V: Vector>(piece: Piece<V::Elem>, rows: usize, left: usize) -> usize {
    // SAFETY: passed on to the caller.
    unsafe {
        match (rows, left) {
            (1, 4..) => tile::<V, 1, 4>(piece),
            (1, 2..) => tile::<V, 1, 2>(piece),
            (2, 2..) => tile::<V, 2, 2>(piece),
            (3, 2..) => tile::<V, 3, 2>(piece),
            _ => one_strip::<V>(piece, rows),
        }
    }
}

/// Makes one strip of all rows. Returns 1.
///
/// # Safety
/// As for `rows_of`.
#[inline(always)]
unsafe fn one_strip<V: Vector>(mut piece: Piece<V::Elem>, rows: usize) -> usize {
    let mut left = rows;
    // SAFETY: passed on to the caller.
    unsafe {
        while left > 0 {
            let done = if left >= UNPACKED && V::ROWS > UNPACKED { UNPACKED } else { left.min(6) };
            match done {
                1 => tile::<V, 1, 1>(piece),
                2 => tile::<V, 2, 1>(piece),
                3 => tile::<V, 3, 1>(piece),
                4 => tile::<V, 4, 1>(piece),
                5 => tile::<V, 5, 1>(piece),
                6 => tile::<V, 6, 1>(piece),
                _ => tile::<V, UNPACKED, 1>(piece),
            };
            piece.left = piece.left.wrapping_add(done * piece.row_stride);
            piece.out = piece.out.wrapping_add(done * piece.n);
            left -= done;
        }
    }
    1
}

/// `R` rows of `S` strips. Returns `S`.
///
/// # Safety
/// As for `rows_of`.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "indices that are constants keep the sums in registers")]
unsafe fn tile<V: Vector, const R: usize, const S: usize>(piece: Piece<V::Elem>) -> usize {
    let strip = WIDTH * V::LANES;
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = [[[V::splat(V::Elem::ZERO); WIDTH]; S]; R];
        let mut rights: [*const V::Elem; S] = std::array::from_fn(|s| piece.right.add(s * strip * piece.terms));
        for p in 0..piece.terms {
            let values: [V; R] = std::array::from_fn(|r| V::splat(*piece.left.add(r * piece.row_stride + p)));
            for s in 0..S {
                for j in 0..WIDTH {
                    let y = V::load(rights[s].add(j * V::LANES));
                    for r in 0..R {
                        sums[r][s][j] = values[r].mul_add(y, sums[r][s][j]);
                    }
                }
                rights[s] = rights[s].add(strip);
            }
        }
        for (r, row) in sums.into_iter().enumerate() {
            for (s, sums) in row.into_iter().enumerate() {
                store(sums, piece.out.add(r * piece.n + s * strip), piece.cols - s * strip, piece.add);
            }
        }
    }
    S
}

/// Writes the sums of one row of a strip, of which the result has `cols` columns or more.
///
/// # Safety
/// The CPU must have the instructions of `V`; `to` must have the columns.
#[inline(always)]
unsafe fn store<V: Vector>(sums: [V; WIDTH], to: *mut V::Elem, cols: usize, add: bool) {
    /// As many elements as two of the widest registers hold.
    const MOST: usize = WIDTH * 16;
    let mut edge = [V::Elem::ZERO; MOST];
    let whole = cols >= WIDTH * V::LANES;
    let one = V::Elem::ONE;
    // SAFETY: passed on to the caller; a strip that is not whole goes through `edge`, which has room for it.
    unsafe {
        let at = if whole { to } else { edge.as_mut_ptr() };
        if add && !whole {
            std::ptr::copy_nonoverlapping(to, at, cols);
        }
        for (j, sum) in sums.into_iter().enumerate() {
            let at = at.add(j * V::LANES);
            if add { sum.mul_add(V::splat(one), V::load(at)).store(at) } else { sum.store(at) }
        }
        if !whole {
            std::ptr::copy_nonoverlapping(at, to, cols);
        }
    }
}

#[test]
fn portable_registers_agree() {
    use super::vector::Portable;
    for (m, k, n) in [(1, 3, 9), (2, 5, 70), (7, 513, 33), (100, 4, 8)] {
        // Small integers: every order of summation gives the same.
        let a: Vec<f64> = (0..m * k).map(|i| (i % 5) as f64 - 2.0).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i % 7) as f64 - 3.0).collect();
        let mut fast = vec![f64::NAN; m * n];
        let mut packed = vec![f64::NAN; k * n.next_multiple_of(strip::<f64>())];
        pack(&mut packed, Mat::new(&b, k, n));
        product(&Pool::new(2), &mut fast, Mat::new(&a, m, k), &packed, n);
        let (mut plain, mut packed) = (vec![f64::NAN; m * n], vec![f64::NAN; k * n.next_multiple_of(8)]);
        let out = plain.as_mut_ptr();
        // SAFETY: `Portable` needs no special instructions; its strips have eight columns.
        unsafe {
            Pack { to: &mut packed, from: Mat::new(&b, k, n) }.run::<Portable<f64>>();
            let strips = 0..n.div_ceil(8);
            Columns { out, n, a: Mat::new(&a, m, k), packed: &packed, strips }.run::<Portable<f64>>();
        }
        assert_eq!(fast, plain);
    }
}
