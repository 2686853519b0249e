//! The one seam through which all matrix products go.
//!
//! Callers describe matrices as views (a transpose is a swap of strides); this module picks the kernel. Which one, and
//! how the work is divided, follows from the shape alone: the bits of a product do not depend on the number of threads.

use std::cell::RefCell;

use crate::simd::blocked::product;
use crate::simd::dots::{Rows, Target, dots};
use crate::simd::lookups::{self, Named};
use crate::simd::packed;
use crate::simd::shifted::{self, Pairs, Shifted};
use crate::simd::sums::{Elems, sums};
use crate::simd::vector::Registers;
use crate::{Buf, Float, Pool, simd};

/// The elements of a product: f32 and f64.
pub trait GemmElem: Float + Registers + Products {}

impl GemmElem for f32 {}
impl GemmElem for f64 {}

/// The products of one element type.
///
/// The public functions are generic and would be compiled again in every crate that calls them, for every CPU that kernels are made
/// for: more than half of the code of the operators. They call these methods, which are compiled here once.
#[doc(hidden)]
#[allow(missing_docs, reason = "each is the public function of its name")]
pub trait Products: Sized {
    fn gemm(pool: &Pool, c: &mut [Self], a: Mat<'_, Self>, b: Mat<'_, Self>, factors: (Self, Self));
    fn gemm_then(pool: &Pool, c: &mut [Self], a: Mat<'_, Self>, b: Mat<'_, Self>, then: Then<'_, Self>);
    fn gemm_packed(pool: &Pool, c: &mut [Self], a: Mat<'_, Self>, b: Packed<'_, Self>);
    fn pack(to: &mut [Self], from: Mat<'_, Self>);
    fn shifted_product(out: &mut [Self], left: &[Self], right: Shifted<'_, Self>);
    fn shifted_dots(out: &mut [Self], rows: usize, pairs: Pairs<'_, Self>, right: Shifted<'_, Self>);
    fn lookup_dots(out: &mut [Self], x: &[Self], named: Named<'_, Self>);
    fn lookup_sums(out: &mut [Self], factors: &[Self], named: Named<'_, Self>);
}

macro_rules! products {
    ($($ty:ty)*) => {$(
        impl Products for $ty {
            fn gemm(pool: &Pool, c: &mut [$ty], a: Mat<'_, $ty>, b: Mat<'_, $ty>, factors: ($ty, $ty)) {
                gemm_of(pool, c, a, b, factors.0, factors.1);
            }

            fn gemm_then(pool: &Pool, c: &mut [$ty], a: Mat<'_, $ty>, b: Mat<'_, $ty>, then: Then<'_, $ty>) {
                gemm_then_of(pool, c, a, b, then);
            }

            fn gemm_packed(pool: &Pool, c: &mut [$ty], a: Mat<'_, $ty>, b: Packed<'_, $ty>) {
                gemm_packed_of(pool, c, a, b);
            }

            fn pack(to: &mut [$ty], from: Mat<'_, $ty>) {
                packed::pack(to, from);
            }

            fn shifted_product(out: &mut [$ty], left: &[$ty], right: Shifted<'_, $ty>) {
                shifted::product(out, left, right);
            }

            fn shifted_dots(out: &mut [$ty], rows: usize, pairs: Pairs<'_, $ty>, right: Shifted<'_, $ty>) {
                shifted::dots(out, rows, pairs, right);
            }

            fn lookup_dots(out: &mut [$ty], x: &[$ty], named: Named<'_, $ty>) {
                lookups::dots(out, x, named);
            }

            fn lookup_sums(out: &mut [$ty], factors: &[$ty], named: Named<'_, $ty>) {
                lookups::sums(out, factors, named);
            }
        }
    )*};
}
products! { f32 f64 }

/// A matrix read in place: any slice with a distance between rows and one between columns.
#[derive(Debug, Clone, Copy)]
pub struct Mat<'a, T> {
    /// Holds every element of the view; checked when the view is made, which the unsafe kernels rely on.
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Mat<'a, T> {
    /// A view with given distances between neighbours, in elements. Panics if the slice is too short for it.
    pub fn strided(data: &'a [T], rows: usize, cols: usize, row_stride: usize, col_stride: usize) -> Self {
        if rows > 0 && cols > 0 {
            let down = (rows - 1).checked_mul(row_stride);
            let across = (cols - 1).checked_mul(col_stride);
            let last = down.zip(across).and_then(|(d, a)| d.checked_add(a));
            assert!(
                last.is_some_and(|last| last < data.len()),
                "a matrix of {rows} x {cols} with strides {row_stride} and {col_stride} does not fit a slice of {} elements",
                data.len()
            );
        }
        Mat { data, rows, cols, row_stride, col_stride }
    }

    /// A matrix stored row after row. Panics if the slice is too short for it.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        Mat::strided(data, rows, cols, cols, 1)
    }

    /// The transpose, of the same memory.
    pub fn t(self) -> Self {
        Mat { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    /// `rows` rows from `top` and `cols` columns from `left`. Panics if they are not all there.
    pub fn view(self, top: usize, rows: usize, left: usize, cols: usize) -> Self {
        assert!(
            top <= self.rows && rows <= self.rows - top && left <= self.cols && cols <= self.cols - left,
            "rows {top}+{rows} and columns {left}+{cols} are not all in a matrix of {} x {}",
            self.rows,
            self.cols
        );
        // An empty view may start past the end.
        let start = (top * self.row_stride + left * self.col_stride).min(self.data.len());
        Mat::strided(&self.data[start..], rows, cols, self.row_stride, self.col_stride)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Elements from one column to the next.
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    /// The slice, from the first element on.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// The view as contiguous rows, if they are.
    fn contiguous_rows(self) -> Option<Rows<'a, T>> {
        let contiguous = self.col_stride == 1 || self.cols <= 1;
        contiguous.then_some(Rows { data: self.data, rows: self.rows, cols: self.cols, stride: self.row_stride })
    }

    fn elems(self) -> Elems<'a, T> {
        Elems { data: self.data, row_stride: self.row_stride, col_stride: self.col_stride }
    }
}

/// The operation on the elements of a product as soon as they are summed, while they are still at hand.
#[derive(Debug, Clone, Copy)]
pub enum Then<'a, T> {
    /// They stay.
    Nothing,
    /// A number per column is added.
    Add(&'a [T]),
    /// A number per column is added, then what is not positive becomes 0.
    AddRelu(&'a [T]),
    /// An element becomes 0 where this matrix, stored row after row like the product, is not positive.
    WherePositive(&'a [T]),
}

impl<'a, T: GemmElem> Then<'a, T> {
    /// Does it fit a product of this number of rows and columns?
    pub(crate) fn fits(&self, rows: usize, cols: usize) -> bool {
        match self {
            Then::Nothing => true,
            Then::Add(bias) | Then::AddRelu(bias) => bias.len() == cols,
            Then::WherePositive(by) => by.len() == rows * cols,
        }
    }

    /// The same as seen from an element inside a product of `cols` columns.
    pub(crate) fn from(self, top: usize, left: usize, cols: usize) -> Then<'a, T> {
        match self {
            Then::Nothing => Then::Nothing,
            Then::Add(bias) => Then::Add(&bias[left..]),
            Then::AddRelu(bias) => Then::AddRelu(&bias[left..]),
            Then::WherePositive(by) => Then::WherePositive(&by[top * cols + left..]),
        }
    }

    /// Does it to a whole product.
    pub(crate) fn finish(self, c: &mut [T]) {
        match self {
            Then::Nothing => {}
            Then::Add(bias) => simd::add_bias(c, bias),
            Then::AddRelu(bias) => simd::add_bias_relu(c, bias),
            Then::WherePositive(by) => simd::relu_grad_assign(c, by),
        }
    }
}

/// The largest number of rows for which a product by sums of rows beats one that packs the right matrix.
const FEW: usize = 2;

/// The largest number of terms per sum for which it does, too.
const SHORT: usize = 4;

/// The largest number of rows or columns for which a product is computed by dot products.
const THIN: usize = 8;

/// The number of multiplications from which on a product uses more than one thread.
pub(crate) const PARALLEL: usize = 1 << 21;

/// Panics unless a product of matrices of these rows and columns has `len` elements.
fn check_sizes(a: (usize, usize), b: (usize, usize), len: usize) {
    assert!(
        a.1 == b.0 && a.0.checked_mul(b.1) == Some(len),
        "cannot put the product of {} x {} and {} x {} into {len} elements",
        a.0,
        a.1,
        b.0,
        b.1
    );
}

/// `c = alpha a b + beta c`, `c` stored row after row. With `beta` 0 the old `c` is not read, so it may hold anything.
///
/// Panics if the shapes do not fit: operators check theirs when a program is built.
pub fn gemm<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, alpha: T, beta: T) {
    T::gemm(pool, c, a, b, (alpha, beta));
}

fn gemm_of<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, alpha: T, beta: T) {
    check_sizes((a.rows, a.cols), (b.rows, b.cols), c.len());
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        return c.iter_mut().for_each(|v| *v = if beta == T::ZERO { T::ZERO } else { *v * beta });
    }
    let Some(kernel) = thin_kernel(a, b) else {
        return product(pool, c, a, b, (alpha, beta), Then::Nothing);
    };
    if m.saturating_mul(n).saturating_mul(k) < PARALLEL {
        return thin_product(kernel, c, a, b, alpha, beta);
    }
    // Divided by rows only: a product of few rows is limited by memory in any case.
    let height = (PARALLEL / n.saturating_mul(k)).next_multiple_of(8).max(8);
    pool.pieces(c, height.saturating_mul(n), |i, c| {
        let a = a.view(i * height, c.len() / n, 0, k);
        thin_product(kernel, c, a, b, alpha, beta);
    });
}

/// `c = a b`, finished by `then`: the bits of the product and of what follows one after the other. Panics if the shapes do not fit.
pub fn gemm_then<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, then: Then<'_, T>) {
    T::gemm_then(pool, c, a, b, then);
}

fn gemm_then_of<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, then: Then<'_, T>) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(then.fits(m, n), "{then:?} does not fit {m} x {n}");
    if [m, n, k].contains(&0) || thin_kernel(a, b).is_some() {
        gemm_of(pool, c, a, b, T::ONE, T::ZERO);
        return then.finish(c);
    }
    assert!(b.rows == k && c.len() == m * n, "cannot put {m} x {k} times {} x {n} into {} elements", b.rows, c.len());
    product(pool, c, a, b, (T::ONE, T::ZERO), then);
}

/// `gemm` on the calling thread, for callers that share out whole products themselves. The same bits.
pub fn gemm_inline<T: GemmElem>(c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, alpha: T, beta: T) {
    gemm(&Pool::new(1), c, a, b, alpha, beta);
}

/// A right matrix in the order in which products read it: for weights that serve many products.
///
/// The order depends on the CPU, so what is packed stays in this process.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
}

impl<'a, T: GemmElem> Packed<'a, T> {
    /// Elements that a packed matrix takes.
    pub fn len(rows: usize, cols: usize) -> usize {
        rows * cols.next_multiple_of(packed::strip::<T>())
    }

    /// Is packing worth it? Narrow matrices are multiplied by dot products instead.
    pub fn is_worth_it(cols: usize) -> bool {
        cols > THIN
    }

    /// Packs a matrix into `to`, which must have [`Packed::len`] elements.
    pub fn pack(to: &'a mut [T], from: Mat<'_, T>) -> Packed<'a, T> {
        T::pack(to, from);
        Packed { data: to, rows: from.rows, cols: from.cols }
    }

    /// A matrix that was packed before. Panics if it was a matrix of another size.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Packed<'a, T> {
        assert!(data.len() == Self::len(rows, cols), "{} elements are no packed {rows} x {cols} matrix", data.len());
        Packed { data, rows, cols }
    }
}

/// `c = a b` for a packed `b`, `c` stored row after row. Panics if the shapes do not fit.
pub fn gemm_packed<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Packed<'_, T>) {
    T::gemm_packed(pool, c, a, b);
}

fn gemm_packed_of<T: GemmElem>(pool: &Pool, c: &mut [T], a: Mat<'_, T>, b: Packed<'_, T>) {
    check_sizes((a.rows, a.cols), (b.rows, b.cols), c.len());
    if b.rows == 0 {
        return c.fill(T::ZERO);
    }
    match a.contiguous_rows() {
        Some(_) => packed::product(pool, c, Mat { col_stride: 1, ..a }, b.data, b.cols),
        None => with_rows(a, |a| packed::product(pool, c, Mat::new(a.data, a.rows, a.cols), b.data, b.cols)),
    }
}

/// How a product that is thin in some direction is made.
#[derive(Debug, Clone, Copy)]
enum Thin {
    /// Rows of the result are sums of rows of the right matrix.
    Sums,
    /// Rows of the left matrix times columns of the right one, the left matrix being the larger.
    DotsOfA,
    /// The same, the right matrix being the larger.
    DotsOfB,
    /// Columns of the result are sums of columns of the left matrix.
    ColumnSums,
}

/// The kernel for a thin product, if it is one.
fn thin_kernel<T: GemmElem>(a: Mat<'_, T>, b: Mat<'_, T>) -> Option<Thin> {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    // Sums of rows go along the rows: short ones leave most of a register empty.
    if k <= SHORT || (m <= FEW && n > THIN && b.contiguous_rows().is_some()) {
        Some(Thin::Sums)
    } else if n <= THIN && a.contiguous_rows().is_some() {
        Some(Thin::DotsOfA)
    } else if m <= THIN && b.t().contiguous_rows().is_some() {
        Some(Thin::DotsOfB)
    } else if n <= THIN && a.t().contiguous_rows().is_some() {
        Some(Thin::ColumnSums)
    } else {
        None
    }
}

fn thin_product<T: GemmElem>(kernel: Thin, c: &mut [T], a: Mat<'_, T>, b: Mat<'_, T>, alpha: T, beta: T) {
    let n = b.cols;
    match kernel {
        Thin::Sums => with_rows(b, |b| sums(c, a.elems(), b, alpha, beta)),
        Thin::DotsOfA => with_rows(a, |a| {
            with_rows(b.t(), |b| dots(Target { data: c, wide_stride: n, thin_stride: 1, alpha, beta }, a, b));
        }),
        Thin::DotsOfB => with_rows(a, |a| {
            with_rows(b.t(), |b| dots(Target { data: c, wide_stride: 1, thin_stride: n, alpha, beta }, b, a));
        }),
        Thin::ColumnSums => with_rows(a.t(), |a| column_sums(c, a, b, alpha, beta)),
    }
}

/// `c = alpha a^T b + beta c`: the transpose of the result is summed row by row, then turned.
fn column_sums<T: GemmElem>(c: &mut [T], a: Rows<'_, T>, b: Mat<'_, T>, alpha: T, beta: T) {
    if b.cols == 1 {
        // A single column is its own transpose.
        return sums(c, b.t().elems(), a, alpha, beta);
    }
    with_scratch(c.len(), |turned| {
        sums(turned, b.t().elems(), a, alpha, T::ZERO);
        for (i, row) in c.chunks_exact_mut(b.cols).enumerate() {
            for (j, v) in row.iter_mut().enumerate() {
                let sum = turned[j * a.cols + i];
                *v = if beta == T::ZERO { sum } else { sum + beta * *v };
            }
        }
    });
}

/// Calls `f` with the matrix as contiguous rows, copied if necessary.
fn with_rows<T: GemmElem>(m: Mat<'_, T>, f: impl FnOnce(Rows<'_, T>)) {
    match m.contiguous_rows() {
        Some(rows) => f(rows),
        None => with_scratch(m.rows * m.cols, |packed| {
            for (r, row) in packed.chunks_exact_mut(m.cols.max(1)).enumerate() {
                let from = |c: usize| m.data[r * m.row_stride + c * m.col_stride];
                row.iter_mut().enumerate().for_each(|(c, v)| *v = from(c));
            }
            f(Rows { data: packed, rows: m.rows, cols: m.cols, stride: m.cols });
        }),
    }
}

/// Lends `len` elements of scratch memory that the thread keeps for the next product; their contents are arbitrary.
fn with_scratch<T: GemmElem>(len: usize, f: impl FnOnce(&mut [T])) {
    // A stack, because one product may need several pieces at once.
    thread_local!(static SCRATCH: RefCell<Vec<Buf>> = const { RefCell::new(Vec::new()) });
    let mut buf = SCRATCH.with(|s| s.borrow_mut().pop()).unwrap_or_default();
    buf.resize(len * size_of::<T>());
    f(buf.typed_mut());
    SCRATCH.with(|s| s.borrow_mut().push(buf));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::fill_uniform;

    /// The definition, in f64.
    fn plain(c: &[f64], a: Mat<'_, f64>, b: Mat<'_, f64>, alpha: f64, beta: f64) -> Vec<f64> {
        let at = |m: &Mat<'_, f64>, r: usize, c: usize| m.data[r * m.row_stride + c * m.col_stride];
        let mut out = Vec::new();
        for i in 0..a.rows {
            for j in 0..b.cols {
                let sum: f64 = (0..a.cols).map(|p| at(&a, i, p) * at(&b, p, j)).sum();
                let old = if beta == 0.0 { 0.0 } else { beta * c[i * b.cols + j] };
                out.push(alpha * sum + old);
            }
        }
        out
    }

    fn uniform(len: usize, seed: u64) -> Vec<f32> {
        let mut v = vec![0.0; len];
        fill_uniform(&mut v, seed, -1.0, 1.0, 0);
        v
    }

    fn wide(v: &[f32]) -> Vec<f64> {
        v.iter().map(|x| f64::from(*x)).collect()
    }

    /// Both operands plain and transposed, with and without what was there.
    fn check_shape(pool: &Pool, (m, n, k): (usize, usize, usize)) {
        let (a, b, c) = (uniform(m * k, 12345678), uniform(k * n, 987654321), uniform(m * n, 55555555));
        let (a64, b64, c64) = (wide(&a), wide(&b), wide(&c));
        for case in 0..8 {
            let (ta, tb, beta) = (case & 1 == 1, case & 2 == 2, if case & 4 == 4 { 0.5 } else { 0.0 });
            let alpha = 0.75;
            let view_a = if ta { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
            let view_b = if tb { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
            let wide_a = if ta { Mat::new(&a64, k, m).t() } else { Mat::new(&a64, m, k) };
            let wide_b = if tb { Mat::new(&b64, n, k).t() } else { Mat::new(&b64, k, n) };
            let want = plain(&c64, wide_a, wide_b, alpha, beta.into());
            let old = if beta == 0.0 { vec![f32::NAN; m * n] } else { c.clone() };
            let mut got = old.clone();
            gemm(pool, &mut got, view_a, view_b, alpha as f32, beta);
            for (g, w) in got.iter().zip(&want) {
                let error = (f64::from(*g) - w).abs();
                assert!(error <= 1e-6 * (1.0 + w.abs() + (k as f64).sqrt()), "{m}x{n}x{k} case {case}: {g} is not {w}");
            }
            let mut again = old;
            gemm_inline(&mut again, view_a, view_b, alpha as f32, beta);
            assert!(got.iter().zip(&again).all(|(x, y)| x.to_bits() == y.to_bits()), "{m}x{n}x{k} case {case}: bits");
            if beta == 0.0 {
                check_packed(pool, (view_a, view_b), &want);
            }
            let mut got64 = c64.clone();
            gemm(pool, &mut got64, wide_a, wide_b, alpha, beta.into());
            for (g, w) in got64.iter().zip(&want) {
                assert!((g - w).abs() < 1e-12, "{m}x{n}x{k} case {case} in f64: {g} is not {w}");
            }
        }
    }

    /// The same product with the right matrix packed.
    fn check_packed(pool: &Pool, (a, b): (Mat<'_, f32>, Mat<'_, f32>), want: &[f64]) {
        let (mut room, mut got) = (vec![f32::NAN; Packed::<f32>::len(b.rows, b.cols)], vec![f32::NAN; want.len()]);
        gemm_packed(pool, &mut got, a, Packed::pack(&mut room, b));
        for (g, w) in got.iter().zip(want) {
            let error = (f64::from(*g) * 0.75 - w).abs();
            let allowed = 1e-6 * (1.0 + w.abs() + (a.cols as f64).sqrt());
            assert!(error <= allowed, "{}x{}x{} packed: {g} is not {w}", a.rows, b.cols, a.cols);
        }
    }

    #[test]
    fn products_equal_the_definition_for_any_thread_count() {
        let pool = Pool::new(3);
        let sizes = [1, 2, 3, 5, 8, 9, 17, 33];
        for m in sizes {
            for n in sizes {
                for k in sizes {
                    check_shape(&pool, (m, n, k));
                }
            }
        }
        // Large enough to be divided, at uneven places.
        for shape in [(1000, 10, 300), (530, 270, 40), (7, 3000, 110), (3000, 7, 110), (260, 530, 17), (2000, 700, 2)] {
            check_shape(&pool, shape);
        }
    }

    #[test]
    fn fused_and_separate_operations_on_a_product_give_the_same_bits() {
        let pool = Pool::new(3);
        for (m, n, k) in [(5, 9, 7), (100, 400, 30), (260, 273, 1100), (33, 2, 40), (300, 48, 2), (12, 17, 0)] {
            let (a, b) = (uniform(m * k, 1), uniform(k * n, 2));
            let (bias, by) = (uniform(n, 3), uniform(m * n, 4));
            let (a, b) = (Mat::new(&a, m, k), Mat::new(&b, k, n));
            for then in [Then::Nothing, Then::Add(&bias), Then::AddRelu(&bias), Then::WherePositive(&by)] {
                let (mut at_once, mut after) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
                gemm_then(&pool, &mut at_once, a, b, then);
                gemm(&pool, &mut after, a, b, 1.0, 0.0);
                then.finish(&mut after);
                assert_eq!(at_once, after, "{m} x {n} x {k}");
            }
        }
    }

    #[test]
    fn products_of_empty_shapes_and_views_are_right() {
        let pool = Pool::new(1);
        let none: [f32; 0] = [];
        gemm(&pool, &mut [], Mat::new(&none, 0, 3), Mat::new(&[0.0; 6], 3, 2), 1.0, 0.0);
        let mut c = [f32::NAN, 2.0];
        gemm(&pool, &mut c, Mat::new(&none, 1, 0), Mat::new(&none, 0, 2), 1.0, 0.0);
        assert_eq!(c, [0.0, 0.0]);
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let view = Mat::new(&data, 2, 3).t().view(1, 2, 0, 2);
        with_rows(view, |rows| assert_eq!(rows.data, [1.0, 4.0, 2.0, 5.0]));
        assert_eq!(Mat::new(&data, 2, 3).view(2, 0, 3, 0).rows(), 0);
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let refused = |f: fn()| std::panic::catch_unwind(f).is_err();
        assert!(refused(|| _ = Mat::new(&[0.0; 5], 2, 3)));
        assert!(refused(|| _ = Mat::strided(&[0.0; 5], 2, usize::MAX, 2, usize::MAX)));
        assert!(refused(|| _ = Mat::new(&[0.0; 6], 2, 3).view(1, 2, 0, 1)));
        assert!(refused(|| gemm_inline(&mut [0.0; 3], Mat::new(&[0.0; 6], 2, 3), Mat::new(&[0.0; 6], 3, 2), 1.0, 0.0)));
        assert!(refused(|| gemm_inline(&mut [0.0; 4], Mat::new(&[0.0; 6], 2, 3), Mat::new(&[0.0; 4], 2, 2), 1.0, 0.0)));
    }
}
