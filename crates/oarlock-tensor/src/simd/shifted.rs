//! Matrix products whose right rows are shifted views of one buffer: what a convolution of stride 1 is, without copying
//! the windows of the image side by side.
#![allow(unsafe_code, reason = "vector registers by hand: the compiler does not keep the tile in registers by itself")]

use super::vector::{self, Kernel, Vector};
use crate::gemm::GemmElem;

/// Rows of `len` elements, row `r` starting at `starts[r]` of `data`; rows may overlap.
#[derive(Debug, Clone, Copy)]
pub struct Shifted<'a, T> {
    data: &'a [T],
    starts: &'a [usize],
    len: usize,
}

impl<'a, T> Shifted<'a, T> {
    /// A view. Panics if a row does not fit; the unsafe kernels rely on that.
    pub fn new(data: &'a [T], starts: &'a [usize], len: usize) -> Self {
        let fits = |start: &usize| start.checked_add(len).is_some_and(|end| end <= data.len());
        assert!(starts.iter().all(fits), "a row of {len} elements does not fit a slice of {}", data.len());
        Shifted { data, starts, len }
    }
}

/// `out = left right`: `left` has a column per row of `right`, `out` a row of `right`'s length per row of `left`.
pub fn shifted_product<T: GemmElem>(out: &mut [T], left: &[T], right: Shifted<'_, T>) {
    T::shifted_product(out, left, right);
}

pub(crate) fn product<T: GemmElem>(out: &mut [T], left: &[T], right: Shifted<'_, T>) {
    let (terms, len) = (right.starts.len(), right.len);
    if out.is_empty() {
        return;
    }
    assert!(terms > 0 && len > 0 && out.len().is_multiple_of(len), "rows of no length");
    assert_eq!(left.len(), out.len() / len * terms, "the left matrix does not fit the result");
    vector::run(Product { out, left, right });
}

struct Product<'a, T> {
    out: &'a mut [T],
    left: &'a [T],
    right: Shifted<'a, T>,
}

impl<T: GemmElem> Kernel<T> for Product<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(mut self) {
        let len = self.right.len;
        let mut at = 0;
        // SAFETY: the caller vouches for the instructions; tiles end within the rows.
        unsafe {
            while at + 2 * V::LANES <= len {
                self.columns::<V, 2>(at);
                at += 2 * V::LANES;
            }
            while at < len && len >= V::LANES {
                // The last tile may overlap the one before, whose elements it computes again with the same bits.
                self.columns::<V, 1>(at.min(len - V::LANES));
                at += V::LANES;
            }
        }
        if len < V::LANES {
            self.short_rows();
        }
    }
}

impl<T: GemmElem> Product<'_, T> {
    /// `C` registers from column `at`, of all rows: six rows at a time, which with two registers fill a register file of sixteen.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`, and `at + C * LANES` must not exceed the length of rows.
    #[inline(always)]
    unsafe fn columns<V: Vector<Elem = T>, const C: usize>(&mut self, at: usize) {
        let rows = self.out.len() / self.right.len;
        let mut row = 0;
        while row < rows {
            // SAFETY: passed on to the caller; `row + R` does not exceed `rows`.
            row += unsafe {
                match rows - row {
                    1 => self.tile::<V, 1, C>(row, at),
                    2..4 => self.tile::<V, 2, C>(row, at),
                    4 | 5 => self.tile::<V, 4, C>(row, at),
                    _ => self.tile::<V, 6, C>(row, at),
                }
            };
        }
    }

    /// Rows `row..row + R` of the result, `C` registers from column `at`. Returns `R`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`; the rows and columns must be there.
    #[inline(always)]
    unsafe fn tile<V: Vector<Elem = T>, const R: usize, const C: usize>(&mut self, row: usize, at: usize) -> usize {
        let (terms, len) = (self.right.starts.len(), self.right.len);
        // SAFETY: the caller vouches for the instructions and for rows and columns of the result. `Shifted::new` checked
        // that each row of `right` has `len` elements, `shifted_product` that `left` has `terms` elements per row.
        unsafe {
            let left = self.left.as_ptr().add(row * terms);
            let right = self.right.data.as_ptr().add(at);
            let mut acc = [[V::splat(T::ZERO); C]; R];
            for (p, start) in self.right.starts.iter().enumerate() {
                let x: [V; C] = std::array::from_fn(|c| V::load(right.add(start + c * V::LANES)));
                for (r, acc) in acc.iter_mut().enumerate() {
                    let factor = V::splat(*left.add(r * terms + p));
                    for c in 0..C {
                        acc[c] = factor.mul_add(x[c], acc[c]);
                    }
                }
            }
            let out = self.out.as_mut_ptr().add(row * len + at);
            for (r, acc) in acc.iter().enumerate() {
                for (c, sum) in acc.iter().enumerate() {
                    sum.store(out.add(r * len + c * V::LANES));
                }
            }
        }
        R
    }

    /// Rows shorter than a register.
    fn short_rows(&mut self) {
        let (terms, len) = (self.right.starts.len(), self.right.len);
        for (out, left) in self.out.chunks_exact_mut(len).zip(self.left.chunks_exact(terms)) {
            for (j, out) in out.iter_mut().enumerate() {
                let pairs = left.iter().zip(self.right.starts);
                *out = pairs.fold(T::ZERO, |sum, (&f, &start)| sum + f * self.right.data[start + j]);
            }
        }
    }
}

/// Several pairs of matrices, one after the other in memory.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a, T> {
    /// Left matrices: rows of `len` elements, `left_stride` from one matrix to the next.
    pub left: &'a [T],
    /// Elements from one left matrix to the next.
    pub left_stride: usize,
    /// Elements from one right matrix to the next.
    pub right_stride: usize,
    /// How many pairs.
    pub count: usize,
}

/// `out += sum over pairs of left right^T`: dot products of `rows` rows of each left matrix with the shifted rows of its right
/// matrix. `right` is the first right matrix; its buffer holds them all. `out` has a column per shifted row.
///
/// Sums over all pairs are kept in registers; a large number of short rows therefore costs no more than one long one.
pub fn shifted_dots<T: GemmElem>(out: &mut [T], rows: usize, pairs: Pairs<'_, T>, right: Shifted<'_, T>) {
    T::shifted_dots(out, rows, pairs, right);
}

pub(crate) fn dots<T: GemmElem>(out: &mut [T], rows: usize, pairs: Pairs<'_, T>, right: Shifted<'_, T>) {
    let (terms, len) = (right.starts.len(), right.len);
    assert_eq!(out.len(), rows * terms, "the result does not fit the rows");
    if pairs.count == 0 || out.is_empty() {
        return;
    }
    let last = pairs.count - 1;
    let furthest = right.starts.iter().max().map_or(0, |s| s + len);
    assert!(last * pairs.left_stride + rows * len <= pairs.left.len(), "not all left matrices are there");
    assert!(last * pairs.right_stride + furthest <= right.data.len(), "not all right matrices are there");
    vector::run(Dots { out, rows, pairs, right });
}

struct Dots<'a, T> {
    out: &'a mut [T],
    rows: usize,
    pairs: Pairs<'a, T>,
    right: Shifted<'a, T>,
}

impl<T: GemmElem> Kernel<T> for Dots<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(mut self) {
        let mut row = 0;
        while row < self.rows {
            // SAFETY: passed on to the caller; `row + R` does not exceed `rows`.
            row += unsafe {
                match self.rows - row {
                    1 => self.across::<V, 1>(row),
                    2 | 3 => self.across::<V, 2>(row),
                    _ => self.across::<V, 4>(row),
                }
            };
        }
    }
}

impl<T: GemmElem> Dots<'_, T> {
    /// Rows `row..row + R` with all shifted rows, three at a time. Returns `R`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`, and the rows must be there.
    #[inline(always)]
    unsafe fn across<V: Vector<Elem = T>, const R: usize>(&mut self, row: usize) -> usize {
        let terms = self.right.starts.len();
        let mut p = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while p + 3 <= terms {
                self.tile::<V, R, 3>(row, p);
                p += 3;
            }
            while p < terms {
                self.tile::<V, R, 1>(row, p);
                p += 1;
            }
        }
        R
    }

    /// Rows `row..row + R` with shifted rows `p..p + C`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `V`, and the rows must be there.
    #[inline(always)]
    unsafe fn tile<V: Vector<Elem = T>, const R: usize, const C: usize>(&mut self, row: usize, p: usize) {
        let (terms, len) = (self.right.starts.len(), self.right.len);
        let whole = len / V::LANES * V::LANES;
        let mut rest = [[T::ZERO; C]; R];
        // SAFETY: the caller vouches for the instructions and the rows; `shifted_dots` checked that every row of every pair
        // is there; loads start at most at `whole - LANES` of a row.
        unsafe {
            let mut acc = [[V::splat(T::ZERO); C]; R];
            for pair in 0..self.pairs.count {
                let left = self.pairs.left.as_ptr().add(pair * self.pairs.left_stride + row * len);
                let right = self.right.data.as_ptr().add(pair * self.pairs.right_stride);
                let right: [*const T; C] = std::array::from_fn(|c| right.add(self.right.starts[p + c]));
                let mut j = 0;
                while j < whole {
                    let y: [V; C] = std::array::from_fn(|c| V::load(right[c].add(j)));
                    for (r, acc) in acc.iter_mut().enumerate() {
                        let x = V::load(left.add(r * len + j));
                        for c in 0..C {
                            acc[c] = x.mul_add(y[c], acc[c]);
                        }
                    }
                    j += V::LANES;
                }
                for j in whole..len {
                    for (r, rest) in rest.iter_mut().enumerate() {
                        for c in 0..C {
                            rest[c] = V::mul_add_one(*left.add(r * len + j), *right[c].add(j), rest[c]);
                        }
                    }
                }
            }
            for r in 0..R {
                for c in 0..C {
                    self.out[(row + r) * terms + p + c] += acc[r][c].sum() + rest[r][c];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::vector::Portable;

    /// Small integers: every order of summation gives the same.
    fn numbers(len: usize, modulus: usize) -> Vec<f32> {
        (0..len).map(|i| (i * 7 % modulus) as f32 - (modulus / 2) as f32).collect()
    }

    #[test]
    fn products_equal_their_definition() {
        for (rows, len) in [(1, 1), (3, 7), (6, 16), (5, 37), (16, 100)] {
            let (data, starts) = (numbers(len + 30, 11), [0usize, 1, 5, 29, 30]);
            let left = numbers(rows * starts.len(), 5);
            let right = Shifted::new(&data, &starts, len);
            let want: Vec<f32> = (0..rows * len)
                .map(|i| (0..5).map(|p| left[i / len * 5 + p] * data[starts[p] + i % len]).sum())
                .collect();
            let (mut fast, mut plain) = (vec![9.0; rows * len], vec![9.0; rows * len]);
            shifted_product(&mut fast, &left, right);
            // SAFETY: `Portable` needs no special instructions.
            unsafe { Product { out: &mut plain, left: &left, right }.run::<Portable<f32>>() };
            assert_eq!(fast, want);
            assert_eq!(plain, want);
        }
    }

    #[test]
    fn dots_equal_their_definition() {
        for (rows, len) in [(1, 1), (3, 7), (6, 16), (5, 37)] {
            let (data, starts) = (numbers(2 * (len + 9), 11), [0usize, 1, 5, 9]);
            let left = numbers(2 * rows * len, 5);
            let right = Shifted::new(&data, &starts, len);
            let pairs = Pairs { left: &left, left_stride: rows * len, right_stride: len + 9, count: 2 };
            let dot = |row: usize, p: usize, pair: usize| -> f32 {
                (0..len).map(|j| left[(pair * rows + row) * len + j] * data[pair * (len + 9) + starts[p] + j]).sum()
            };
            let want: Vec<f32> = (0..rows * 4).map(|i| 1.0 + dot(i / 4, i % 4, 0) + dot(i / 4, i % 4, 1)).collect();
            let (mut fast, mut plain) = (vec![1.0; rows * 4], vec![1.0; rows * 4]);
            shifted_dots(&mut fast, rows, pairs, right);
            // SAFETY: `Portable` needs no special instructions, and the sizes are those checked above.
            unsafe { Dots { out: &mut plain, rows, pairs, right }.run::<Portable<f32>>() };
            assert_eq!(fast, want);
            assert_eq!(plain, want);
        }
    }
}
