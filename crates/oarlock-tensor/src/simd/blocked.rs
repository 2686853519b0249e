//! Large matrix products: by our own tiles where they are faster, else by the `gemm` crate, which is called only here.
#![allow(unsafe_code, reason = "the crate takes raw pointers, and panels of columns interleave in memory")]

use super::tiles::{self, Panel};
use crate::Pool;
use crate::gemm::{GemmElem, Mat, PARALLEL, Then};

/// The largest panel of the result, in rows and columns. Panels are divided by shape alone, never by the number of threads,
/// because the division decides how the crate blocks the sum and so the last bit of the result.
/// This size costs one thread at most a few percent (each panel packs its operands again) and feeds a handful of threads.
const PANEL: (usize, usize) = (512, 256);

/// The result, shared by threads that each write a different rectangle of it.
pub(super) struct Out<T>(pub(super) *mut T);

// SAFETY: `each_panel` here and `product` in `packed` give every panel to exactly one task, and panels do not overlap.
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
    let (m, n) = (a.rows(), b.cols());
    assert!(b.rows() == a.cols() && c.len() == m * n && then.fits(m, n), "shapes were checked by the caller");
    if !tiles::fit() {
        by_crate(pool, c, a, b, (alpha, beta));
        return then.finish(c);
    }
    let size = share(m, n, pool.threads());
    each_panel(pool, c, (a, b), size, |to, a, b, (top, left)| {
        // SAFETY: this task alone touches the panel at `to`, which lies inside `c`, as it does in what `then` names. The views
        // were checked against their slices when they were made.
        unsafe { tiles::compute(Panel { out: to, stride: n, a, b, alpha, beta, then: then.from(top, left, n) }) };
    });
}

/// The same by the `gemm` crate.
fn by_crate<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, (alpha, beta): (T, T)) {
    let (m, n) = (a.rows(), b.cols());
    let size = (part(m, PANEL.0), part(n, PANEL.1));
    each_panel(pool, c, (a, b), size, |to, a, b, _| {
        // SAFETY: this task alone touches the panel at `to`, which lies inside `c`. The views were checked against their slices
        // when they were made. Strides within a slice fit an `isize`; one that does not belongs to a single row or column
        // and is only ever multiplied by 0.
        unsafe {
            gemm::gemm(
                a.rows(),
                b.cols(),
                a.cols(),
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

/// Calls `compute` for every panel of the result `c`, with its first element, the rows of `a` and the columns of `b` that it is
/// the product of, and its place. Panels are of `size` at most, or one where the product is too small for several threads.
/// `c` has a row of elements for each row of `a`, as many as `b` has columns; each panel is given to one task.
fn each_panel<T: GemmElem>(
    pool: &Pool,
    c: &mut [T],
    (a, b): (Mat<'_, T>, Mat<'_, T>),
    size: (usize, usize),
    compute: impl Fn(*mut T, Mat<'_, T>, Mat<'_, T>, (usize, usize)) + Sync,
) {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    assert!(c.len() == m * n, "shapes were checked by the caller");
    let one = m.saturating_mul(n).saturating_mul(k) < PARALLEL;
    let (height, width) = if one { (m, n) } else { size };
    let (down, across) = (m.div_ceil(height), n.div_ceil(width));
    let out = &Out(c.as_mut_ptr());
    pool.run(down * across, |i| {
        let (top, left) = (i / across * height, i % across * width);
        let (rows, cols) = (height.min(m - top), width.min(n - left));
        // SAFETY: `c` has m x n elements and is borrowed for the whole of `run`; the place lies inside.
        let to = unsafe { out.0.add(top * n + left) };
        compute(to, a.view(top, rows, 0, k), b.view(0, k, left, cols), (top, left));
    });
}

/// The length of the parts when `len` is divided into as few equal parts of at most `max` as possible, a multiple of the
/// kernel's tile where there are several.
fn part(len: usize, max: usize) -> usize {
    let parts = len.div_ceil(max).max(1);
    len.div_ceil(parts).next_multiple_of(16).min(len.max(1))
}

/// Height and width of the panels of tiles, whose bits do not depend on the division: the whole for one thread, else some panels
/// per thread, divided along the longer side.
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
