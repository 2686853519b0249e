//! Arithmetic with rows of a table that ids name, where they are: a copy of them would often be larger than a cache.
//!
//! Sums are made in the order in which `gemm` makes them of copied rows, so the bits are the same.
#![allow(unsafe_code, reason = "vector registers by hand: the compiler does not keep the sums in registers by itself")]

use multiversion::multiversion;

use super::prefetch::{AHEAD, prefetch};
use super::sums::add_to_row;
use super::vector::{self, Kernel, Vector};
use crate::Float;
use crate::gemm::GemmElem;

/// Rows of a table, of `width` elements each, in the order of `ids`.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a, T> {
    table: &'a [T],
    width: usize,
    ids: &'a [i64],
}

impl<'a, T> Named<'a, T> {
    /// Panics if the table lacks a row: operators look at ids first.
    pub fn new(table: &'a [T], width: usize, ids: &'a [i64]) -> Named<'a, T> {
        let rows = table.len() / width.max(1);
        // As unsigned numbers, negative ids are too large as well.
        assert!(width > 0 && ids.iter().all(|id| (*id as u64) < rows as u64), "ids of rows that there are not");
        Named { table, width, ids }
    }

    #[inline(always)]
    fn row(&self, at: usize) -> &'a [T] {
        &self.table[self.ids[at] as usize * self.width..][..self.width]
    }

    /// Asks for the memory of the rows `from..end`, as far as they are named.
    #[inline(always)]
    fn ask_for(&self, from: usize, end: usize) {
        for id in &self.ids[from.min(self.ids.len())..end.min(self.ids.len())] {
            prefetch(self.table, *id as usize * self.width, self.width);
        }
    }
}

/// Dot products of each row of `x` with the rows that are named for it, as many for each: `out` in the order of the ids.
///
/// Panics if they do not come out even.
pub fn lookup_dots<T: GemmElem>(out: &mut [T], x: &[T], named: Named<'_, T>) {
    T::lookup_dots(out, x, named);
}

pub(crate) fn dots<T: GemmElem>(out: &mut [T], x: &[T], named: Named<'_, T>) {
    assert!(out.len() == named.ids.len(), "{} sums of {} rows", out.len(), named.ids.len());
    let count = share(x, &named);
    vector::run(Dots { out, x, named, count });
}

/// How many rows are named for each row of `x`.
fn share<T>(x: &[T], named: &Named<'_, T>) -> usize {
    let samples = x.len() / named.width;
    let count = named.ids.len().checked_div(samples).unwrap_or(0);
    assert!(x.len() == samples * named.width && samples * count == named.ids.len(), "rows are not named evenly");
    count
}

struct Dots<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    named: Named<'a, T>,
    count: usize,
}

/// The number of sums at a time that hides the latency of an addition.
const AT_ONCE: usize = 4;

impl<T: GemmElem> Kernel<T> for Dots<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let Dots { out, x, named, count } = self;
        let x_row = |at: usize| &x[at / count * named.width..][..named.width];
        named.ask_for(0, AHEAD);
        let mut at = 0;
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            while at + AT_ONCE <= out.len() {
                named.ask_for(at + AHEAD, at + AHEAD + AT_ONCE);
                let (x, y) = (std::array::from_fn(|p| x_row(at + p)), std::array::from_fn(|p| named.row(at + p)));
                out[at..at + AT_ONCE].copy_from_slice(&dots_of::<V, AT_ONCE>(x, y));
                at += AT_ONCE;
            }
            while at < out.len() {
                out[at] = dots_of::<V, 1>([x_row(at)], [named.row(at)])[0];
                at += 1;
            }
        }
    }
}

/// The dot products of pairs of rows, all of one length.
///
/// # Safety
/// The CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn dots_of<V: Vector, const R: usize>(x: [&[V::Elem]; R], y: [&[V::Elem]; R]) -> [V::Elem; R] {
    let cols = x[0].len();
    assert!(x.iter().chain(&y).all(|row| row.len() == cols), "rows of different lengths");
    let whole = cols / V::LANES * V::LANES;
    // SAFETY: the caller vouches for the instructions; all rows have `cols` elements, and loads start at most at `whole - LANES`.
    unsafe {
        let mut acc = [V::splat(V::Elem::ZERO); R];
        let mut p = 0;
        while p < whole {
            for r in 0..R {
                acc[r] = V::load(x[r].as_ptr().add(p)).mul_add(V::load(y[r].as_ptr().add(p)), acc[r]);
            }
            p += V::LANES;
        }
        std::array::from_fn(|r| {
            let rest = x[r][whole..].iter().zip(&y[r][whole..]);
            rest.fold(acc[r].sum(), |sum, (x, y)| V::mul_add_one(*x, *y, sum))
        })
    }
}

/// Each row of `out` is the sum of the rows that are named for it, as many for each, times their `factors`.
///
/// Panics if they do not come out even.
pub fn lookup_sums<T: GemmElem>(out: &mut [T], factors: &[T], named: Named<'_, T>) {
    T::lookup_sums(out, factors, named);
}

pub(crate) fn sums<T: GemmElem>(out: &mut [T], factors: &[T], named: Named<'_, T>) {
    assert!(factors.len() == named.ids.len(), "{} factors of {} rows", factors.len(), named.ids.len());
    let count = share(out, &named);
    vector::run(Sums { out, factors, named, count });
}

struct Sums<'a, T> {
    out: &'a mut [T],
    factors: &'a [T],
    named: Named<'a, T>,
    count: usize,
}

impl<T: GemmElem> Kernel<T> for Sums<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Elem = T>>(self) {
        let Sums { out, factors, named, count } = self;
        named.ask_for(0, AHEAD);
        for (i, out) in out.chunks_exact_mut(named.width).enumerate() {
            let (mut from, end) = (i * count, (i + 1) * count);
            named.ask_for(from + AHEAD, end + AHEAD);
            // What the first rows replaced, the others add to.
            let mut beta = T::ZERO;
            if count == 0 {
                out.fill(T::ZERO);
            }
            while from < end {
                // SAFETY: the caller vouches for the instructions.
                from += unsafe {
                    match end - from {
                        1 => add_rows::<V, 1>(out, factors, &named, from, beta),
                        2..4 => add_rows::<V, 2>(out, factors, &named, from, beta),
                        4..8 => add_rows::<V, 4>(out, factors, &named, from, beta),
                        _ => add_rows::<V, 8>(out, factors, &named, from, beta),
                    }
                };
                beta = T::ONE;
            }
        }
    }
}

/// Adds `K` named rows, from `from` on, to a row. Returns `K`.
///
/// # Safety
/// The CPU must have the instructions of `V`.
#[inline(always)]
unsafe fn add_rows<V: Vector, const K: usize>(
    out: &mut [V::Elem],
    factors: &[V::Elem],
    named: &Named<'_, V::Elem>,
    from: usize,
    beta: V::Elem,
) -> usize {
    let rows = std::array::from_fn(|p| named.row(from + p));
    let factors = std::array::from_fn(|p| factors[from + p]);
    // SAFETY: the caller vouches for the instructions; `out` has `width` elements, as every row has.
    unsafe { add_to_row::<V, K>(out, factors, rows, beta) };
    K
}

/// Plain gradient descent of the rows `ids` of a table, one after the other: the gradient of each is its factor times a row of `x`, each
/// of which serves as many ids.
///
/// Panics if the table has no such row, or they do not come out even.
#[multiversion(targets = "simd")]
pub fn sgd_rows_outer<T: Float>(table: &mut [T], width: usize, ids: &[i64], factors: &[T], x: &[T], rate: T) {
    let count = share(x, &Named { table, width, ids });
    assert!(factors.len() == ids.len(), "{} factors of {} rows", factors.len(), ids.len());
    for (at, (id, factor)) in ids.iter().zip(factors).enumerate() {
        if let Some(&soon) = ids.get(at + AHEAD) {
            prefetch(table, (soon as usize).saturating_mul(width), width);
        }
        let row = &mut table[*id as usize * width..][..width];
        for (p, x) in row.iter_mut().zip(&x[at / count * width..][..width]) {
            // A product of matrices adds to 0, which makes 0 of -0.
            *p -= rate * (*factor * *x + T::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pool;
    use crate::gemm::{Mat, gemm};

    fn numbers(count: usize, scale: f32) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * scale).sin()).collect()
    }

    /// Of rows copied out, by `gemm`.
    #[test]
    fn lookup_products_equal_products_of_copied_rows() {
        for (samples, count, width) in [(1, 1, 5), (3, 5, 300), (7, 1, 300), (5, 9, 37), (2, 13, 64), (4, 2, 7)] {
            let (table, x) = (numbers(20 * width, 0.7), numbers(samples * width, 0.3));
            let ids: Vec<i64> = (0..samples * count).map(|i| (i * i % 20) as i64).collect();
            let copied: Vec<f32> =
                ids.iter().flat_map(|id| table[*id as usize * width..][..width].iter().copied()).collect();
            let (mut scores, mut sums) = (vec![9.0; ids.len()], vec![9.0; x.len()]);
            lookup_dots(&mut scores, &x, Named::new(&table, width, &ids));
            let factors = numbers(ids.len(), 1.1);
            lookup_sums(&mut sums, &factors, Named::new(&table, width, &ids));
            let mut updated = table.clone();
            sgd_rows_outer(&mut updated, width, &ids, &factors, &x, 0.5);
            let (mut want, mut want_table) = (vec![0.0; width], table.clone());
            for i in 0..samples {
                let rows = Mat::new(&copied[i * count * width..], count, width);
                let (x, factors) = (Mat::new(&x[i * width..], 1, width), Mat::new(&factors[i * count..], 1, count));
                gemm(
                    &Pool::new(1),
                    &mut want[..count.min(width)],
                    x,
                    rows.view(0, count.min(width), 0, width).t(),
                    1.0,
                    0.0,
                );
                assert_eq!(scores[i * count..][..count.min(width)], want[..count.min(width)]);
                gemm(&Pool::new(1), &mut want, factors, rows, 1.0, 0.0);
                assert_eq!(sums[i * width..][..width], want);
                let mut grads = vec![0.0; count * width];
                gemm(&Pool::new(1), &mut grads, factors.t(), x, 1.0, 0.0);
                let of_sample = (&ids[..], i * count..(i + 1) * count);
                super::super::sgd_rows(&mut want_table, width, of_sample, (&grads, width), 0.5);
            }
            assert_eq!(updated, want_table);
        }
    }

    #[test]
    fn portable_registers_agree() {
        use super::super::vector::Portable;
        // Small integers: every order of summation gives the same.
        let table: Vec<f32> = (0..10 * 19).map(|i| (i % 13) as f32 - 6.0).collect();
        let x: Vec<f32> = (0..2 * 19).map(|i| (i % 7) as f32 - 3.0).collect();
        let ids = [3, 9, 0, 3, 7, 1];
        let named = Named::new(&table, 19, &ids);
        let (mut fast, mut plain) = ([0.0; 6], [0.0; 6]);
        lookup_dots(&mut fast, &x, named);
        // SAFETY: `Portable` needs no special instructions.
        unsafe { Dots { out: &mut plain, x: &x, named, count: 3 }.run::<Portable<f32>>() };
        assert_eq!(fast, plain);
        let (mut fast, mut plain) = ([0.0; 38], [0.0; 38]);
        lookup_sums(&mut fast, &x[..6], named);
        // SAFETY: `Portable` needs no special instructions.
        unsafe { Sums { out: &mut plain, factors: &x[..6], named, count: 3 }.run::<Portable<f32>>() };
        assert_eq!(fast, plain);
    }
}
