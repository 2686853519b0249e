//! Matrix products as dot products of contiguous rows, for matrices with few rows or columns.
#![allow(unsafe_code, reason = "vector registers by hand: the compiler does not keep the tile in registers by itself")]

use super::vector::{self, Kernel, Vector};
use crate::Float;
use crate::gemm::GemmElem;

/// A matrix whose rows are contiguous, `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
}

impl<'a, T> Rows<'a, T> {
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &'a [T] {
        &self.data[i * self.stride..][..self.cols]
    }
}

/// Where the dot product of wide row `w` and thin row `t` goes, and how it joins what is there.
pub(crate) struct Target<'a, T> {
    pub(crate) data: &'a mut [T],
    pub(crate) wide_stride: usize,
    pub(crate) thin_stride: usize,
    pub(crate) alpha: T,
    pub(crate) beta: T,
}

impl<T: GemmElem> Target<'_, T> {
    #[inline(always)]
    fn put(&mut self, wide: usize, thin: usize, sum: T) {
        let at = &mut self.data[wide * self.wide_stride + thin * self.thin_stride];
        *at = if self.beta == T::ZERO { self.alpha * sum } else { self.alpha * sum + self.beta * *at };
    }
}

/// Dot products of every row of `wide` with every row of `thin`. Each is summed in an order that depends on nothing but its length.
pub(crate) fn dots<T: GemmElem>(out: Target<'_, T>, wide: Rows<'_, T>, thin: Rows<'_, T>) {
    assert_eq!(wide.cols, thin.cols, "rows of different lengths");
    vector::run(Dots { out, wide, thin });
}

struct Dots<'a, T> {
    out: Target<'a, T>,
    wide: Rows<'a, T>,
    thin: Rows<'a, T>,
}

impl<T: GemmElem> Kernel<T> for Dots<'_, T> {
    /// Goes over the wide rows in groups that keep about eight sums in flight, as many as hide the latency of an addition.
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let Dots { mut out, wide, thin } = self;
        let mut w = 0;
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            while thin.rows == 1 && w + 8 <= wide.rows {
                tile::<V, 8, 1>(&mut out, wide, thin, w, 0);
                w += 8;
            }
            while w + 4 <= wide.rows {
                across::<V, 4>(&mut out, wide, thin, w);
                w += 4;
            }
            while w < wide.rows {
                across::<V, 1>(&mut out, wide, thin, w);
                w += 1;
            }
        }
    }
}

/// Wide rows `w..w + R` with all of `thin`, two rows of it at a time.
///
/// # Safety
/// The CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn across<V: Vector, const R: usize>(
    out: &mut Target<'_, V::Elem>,
    wide: Rows<'_, V::Elem>,
    thin: Rows<'_, V::Elem>,
    w: usize,
) {
    let mut t = 0;
    // SAFETY: passed on to the caller.
    unsafe {
        while t + 2 <= thin.rows {
            tile::<V, R, 2>(out, wide, thin, w, t);
            t += 2;
        }
        if t < thin.rows {
            tile::<V, R, 1>(out, wide, thin, w, t);
        }
    }
}

/// Wide rows `w..w + R` with thin rows `t..t + C`.
///
/// # Safety
/// The CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const C: usize>(
    out: &mut Target<'_, V::Elem>,
    wide: Rows<'_, V::Elem>,
    thin: Rows<'_, V::Elem>,
    w: usize,
    t: usize,
) {
    let x: [&[V::Elem]; R] = std::array::from_fn(|r| wide.row(w + r));
    let y: [&[V::Elem]; C] = std::array::from_fn(|c| thin.row(t + c));
    let whole = thin.cols / V::LANES * V::LANES;
    // SAFETY: the caller vouches for the instructions. All rows have `cols` elements (`dots` compared the widths and
    // `row` checked the slices), and loads start at most at `whole - LANES`.
    unsafe {
        let mut acc = [[V::splat(V::Elem::ZERO); C]; R];
        let mut p = 0;
        while p < whole {
            let y: [V; C] = std::array::from_fn(|c| V::load(y[c].as_ptr().add(p)));
            for r in 0..R {
                let x = V::load(x[r].as_ptr().add(p));
                for c in 0..C {
                    acc[r][c] = x.mul_add(y[c], acc[r][c]);
                }
            }
            p += V::LANES;
        }
        for r in 0..R {
            for c in 0..C {
                let rest = x[r][whole..].iter().zip(&y[c][whole..]);
                out.put(w + r, t + c, rest.fold(acc[r][c].sum(), |sum, (x, y)| V::mul_add_one(*x, *y, sum)));
            }
        }
    }
}

#[test]
fn portable_registers_agree() {
    use super::vector::Portable;
    for (wide_rows, thin_rows, cols) in [(1, 1, 1), (11, 1, 37), (9, 2, 16), (6, 5, 100), (3, 3, 7)] {
        // Small integers: every order of summation gives the same.
        let x: Vec<f32> = (0..wide_rows * cols).map(|i| (i % 13) as f32 - 6.0).collect();
        let y: Vec<f32> = (0..thin_rows * cols).map(|i| (i % 7) as f32 - 3.0).collect();
        let wide = Rows { data: &x, rows: wide_rows, cols, stride: cols };
        let thin = Rows { data: &y, rows: thin_rows, cols, stride: cols };
        let (mut fast, mut plain) = (vec![0.0; wide_rows * thin_rows], vec![0.0; wide_rows * thin_rows]);
        let target = |data| Target { data, wide_stride: thin_rows, thin_stride: 1, alpha: 1.0, beta: 0.0 };
        dots(target(&mut fast), wide, thin);
        // SAFETY: `Portable` needs no special instructions, and the rows have one length.
        unsafe { Dots { out: target(&mut plain), wide, thin }.run::<Portable<f32>>() };
        assert_eq!(fast, plain);
    }
}
