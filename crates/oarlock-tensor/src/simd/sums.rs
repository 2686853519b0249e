//! Matrix products as sums of contiguous rows, for results of one or two rows and for short sums.
#![allow(
    unsafe_code,
    reason = "vector registers by hand: the compiler spends more on alias checks than short rows take"
)]

use super::dots::Rows;
use super::vector::{self, Kernel, Vector};
use crate::Float;
use crate::gemm::GemmElem;

/// A matrix with any strides, of which single elements are read.
#[derive(Clone, Copy)]
pub(crate) struct Elems<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

impl<T: Copy> Elems<'_, T> {
    #[inline(always)]
    fn at(&self, row: usize, col: usize) -> T {
        self.data[row * self.row_stride + col * self.col_stride]
    }
}

/// `out = alpha left right + beta out`: each row of `out` is a sum of rows of `right`, up to eight at a time. Good when
/// `out` stays in the cache (few rows) or `right` has few rows. `beta` 0 does not read `out`.
///
/// Each element is summed from the first row of `right` to the last, however the rows are divided.
pub(crate) fn sums<T: GemmElem>(out: &mut [T], left: Elems<'_, T>, right: Rows<'_, T>, alpha: T, beta: T) {
    vector::run(Sums { out, left, right, alpha, beta });
}

struct Sums<'a, T> {
    out: &'a mut [T],
    left: Elems<'a, T>,
    right: Rows<'a, T>,
    alpha: T,
    beta: T,
}

impl<T: GemmElem> Kernel<T> for Sums<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(mut self) {
        let mut from = 0;
        while from < self.right.rows {
            // SAFETY: the caller vouches for the instructions.
            from += unsafe {
                match self.right.rows - from {
                    1 => self.add_rows::<V, 1>(from),
                    2..4 => self.add_rows::<V, 2>(from),
                    4..8 => self.add_rows::<V, 4>(from),
                    _ => self.add_rows::<V, 8>(from),
                }
            };
            // What the first block scaled or replaced, the others add to.
            self.beta = T::ONE;
        }
    }
}

impl<T: GemmElem> Sums<'_, T> {
    /// Adds `K` rows of `right`, from `from`, to every row of `out`. Returns `K`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`.
    #[inline(always)]
    unsafe fn add_rows<V: Vector<Elem = T>, const K: usize>(&mut self, from: usize) -> usize {
        let rows: [&[T]; K] = std::array::from_fn(|p| self.right.row(from + p));
        for (i, out) in self.out.chunks_exact_mut(self.right.cols).enumerate() {
            let factors = std::array::from_fn(|p| self.alpha * self.left.at(i, from + p));
            // SAFETY: the caller vouches for the instructions; `out` is as long as the rows.
            unsafe { add_to_row::<V, K>(out, factors, rows, self.beta) };
        }
        K
    }
}

/// `out = beta out + sum of factors[p] rows[p]`.
///
/// # Safety
/// The CPU must have the instructions of `V`, and every row must be at least as long as `out`.
#[inline(always)]
pub(super) unsafe fn add_to_row<V: Vector, const K: usize>(
    out: &mut [V::Elem],
    factors: [V::Elem; K],
    rows: [&[V::Elem]; K],
    beta: V::Elem,
) {
    let zero = V::Elem::ZERO;
    let whole = out.len() / V::LANES * V::LANES;
    // SAFETY: the caller vouches for the instructions and the lengths; accesses start at most at `whole - LANES`.
    unsafe {
        let wide: [V; K] = std::array::from_fn(|p| V::splat(factors[p]));
        let (none, scale) = (V::splat(zero), V::splat(beta));
        let mut j = 0;
        while j < whole {
            let at = out.as_mut_ptr().add(j);
            let mut sum = if beta == zero { none } else { V::load(at).mul_add(scale, none) };
            for p in 0..K {
                sum = wide[p].mul_add(V::load(rows[p].as_ptr().add(j)), sum);
            }
            sum.store(at);
            j += V::LANES;
        }
        for (j, v) in out.iter_mut().enumerate().skip(whole) {
            let start = if beta == zero { zero } else { V::mul_add_one(*v, beta, zero) };
            *v = (0..K).fold(start, |sum, p| V::mul_add_one(factors[p], rows[p][j], sum));
        }
    }
}

#[test]
fn portable_registers_agree() {
    use super::vector::Portable;
    for (m, k, n) in [(1, 1, 1), (2, 9, 37), (3, 15, 16), (5, 4, 7)] {
        // Small integers: every order of summation gives the same.
        let a: Vec<f64> = (0..m * k).map(|i| (i % 5) as f64 - 2.0).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i % 7) as f64 - 3.0).collect();
        let left = Elems { data: &a, row_stride: k, col_stride: 1 };
        let right = Rows { data: &b, rows: k, cols: n, stride: n };
        for beta in [0.0, 1.0, 2.0] {
            let (mut fast, mut plain) = (vec![3.0; m * n], vec![3.0; m * n]);
            sums(&mut fast, left, right, 2.0, beta);
            // SAFETY: `Portable` needs no special instructions.
            unsafe { Sums { out: &mut plain, left, right, alpha: 2.0, beta }.run::<Portable<f64>>() };
            assert_eq!(fast, plain);
        }
    }
}
