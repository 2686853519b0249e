//! Large matrix products: by our own tiles where they are faster, else by the `gemm` crate, which is called only here.
#![allow(unsafe_code, reason = "the crate takes raw pointers, and panels of columns interleave in memory")]

use super::tiles::{self, Panel};
use crate::Pool;
use crate::gemm::{GemmElem, Mat, PARALLEL, Then};

/// The largest panel of the result, in rows and columns. Panels are cut by shape alone, never by the number of threads,
/// because the cut decides how the crate blocks the sum and so the last bit of the result.
/// This size costs one thread at most a few percent (each panel packs its operands again) and feeds a handful of threads.
const PANEL: (usize, usize) = (512, 256);

/// The result, shared by threads that each write a different rectangle of it.
pub(super) struct Out<T>(pub(super) *mut T);

// SAFETY: `product`, here and in `packed`, gives every panel to exactly one task, and panels do not overlap.
unsafe impl<T: Send> Sync for Out<T> {}

/// `c = alpha a b + beta c`, then finished by `then`; `c` row-major of `a.rows() x b.cols()` elements. `beta` 0 does not read `c`.
///
/// Panics if the shapes do not fit; `crate::gemm` has checked them with better words.
pub(crate) fn product<T: GemmElem>(
    pool: &Pool,
    c: &mut [T],
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    (alpha, beta): (T, T),
    then: Then<'_, T>,
) {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    assert!(b.rows() == k && c.len() == m * n && then.fits(m, n), "shapes were checked by the caller");
    if !tiles::fit() {
        by_crate(pool, c, a, b, (alpha, beta));
        return then.finish(c);
    }
    let one = m.saturating_mul(n).saturating_mul(k) < PARALLEL;
    let (height, width) = if one { (m, n) } else { share(m, n, pool.threads()) };
    let (down, across) = (m.div_ceil(height), n.div_ceil(width));
    let out = Out(c.as_mut_ptr());
    let out = &out;
    pool.run(down * across, |i| {
        let (top, left) = (i / across * height, i % across * width);
        let (rows, cols) = (height.min(m - top), width.min(n - left));
        let (a, b) = (a.view(top, rows, 0, k), b.view(0, k, left, cols));
        // SAFETY: `c` has m x n elements and is borrowed for the whole of `run`; this task alone touches rows
        // `top..top + rows` and columns `left..left + cols` of it, which lie inside, as they do in what `then` names. The views
        // were checked against their slices when they were made.
        unsafe {
            let to = out.0.add(top * n + left);
            tiles::compute(Panel { out: to, stride: n, a, b, alpha, beta, then: then.from(top, left, n) });
        }
    });
}

/// The same by the `gemm` crate.
fn by_crate<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, (alpha, beta): (T, T)) {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    let one = m.saturating_mul(n).saturating_mul(k) < PARALLEL;
    let (height, width) = if one { (m, n) } else { (part(m, PANEL.0), part(n, PANEL.1)) };
    let (down, across) = (m.div_ceil(height), n.div_ceil(width));
    let out = Out(c.as_mut_ptr());
    let out = &out;
    pool.run(down * across, |i| {
        let (top, left) = (i / across * height, i % across * width);
        let (rows, cols) = (height.min(m - top), width.min(n - left));
        let (a, b) = (a.view(top, rows, 0, k), b.view(0, k, left, cols));
        // SAFETY: `c` has m x n elements and is borrowed for the whole of `run`; this task alone touches rows
        // `top..top + rows` and columns `left..left + cols` of it, which lie inside. The views were checked against
        // their slices when they were made. Strides within a slice fit an `isize`; one that does not belongs to a
        // single row or column and is only ever multiplied by 0.
        unsafe {
            let to = out.0.add(top * n + left);
            gemm::gemm(
                rows,
                cols,
                k,
                to,
                1,
                n as isize,
                beta != T::ZERO,
                a.data().as_ptr(),
                a.col_stride() as isize,
                a.row_stride() as isize,
                b.data().as_ptr(),
                b.col_stride() as isize,
                b.row_stride() as isize,
                // The crate scales the destination by its first factor and the product by its second.
                beta,
                alpha,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    });
}

/// The length of the parts when `len` is cut into as few equal parts of at most `max` as possible, a multiple of the
/// kernel's tile where there are several.
fn part(len: usize, max: usize) -> usize {
    let parts = len.div_ceil(max).max(1);
    len.div_ceil(parts).next_multiple_of(16).min(len.max(1))
}

/// Height and width of the panels of tiles, whose bits do not depend on the cut: the whole for one thread, else some panels
/// per thread, cut along the longer side.
fn share(m: usize, n: usize, threads: usize) -> (usize, usize) {
    if threads == 1 {
        return (m, n);
    }
    let parts = 2 * threads;
    if m >= n {
        (m.div_ceil(parts).next_multiple_of(12).min(m), n)
    } else {
        (m, n.div_ceil(parts).next_multiple_of(32).min(n))
    }
}
