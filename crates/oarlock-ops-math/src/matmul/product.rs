//! One product or a batch of them, and its gradients; shared by operators that multiply matrices.
//!
//! All arithmetic is `oarlock_tensor::gemm`'s; this module only says which matrices.

use oarlock_tensor::Pool;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm, gemm_inline};

/// C = op(A) op(B), or a batch of such products. Op is the transpose if asked for; A or B may be one matrix for the whole batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    /// How many products.
    pub(crate) batch: usize,
    /// Rows of op(A) and C.
    pub(crate) m: usize,
    /// Columns of op(A), rows of op(B).
    pub(crate) k: usize,
    /// Columns of op(B) and C.
    pub(crate) n: usize,
    /// A is stored transposed, as k x m.
    pub(crate) a_turned: bool,
    /// B is stored transposed, as n x k.
    pub(crate) b_turned: bool,
    /// One A for the whole batch.
    pub(crate) a_shared: bool,
    /// One B for the whole batch.
    pub(crate) b_shared: bool,
}

impl Product {
    /// A single product of matrices as they are stored.
    pub(crate) fn plain(m: usize, k: usize, n: usize) -> Product {
        Product { batch: 1, m, k, n, a_turned: false, b_turned: false, a_shared: false, b_shared: false }
    }

    /// A batch whose products share B is one product of all rows of all A.
    fn folded(mut self) -> Product {
        if self.b_shared && !self.a_shared && !self.a_turned {
            self.m *= self.batch;
            self.batch = 1;
        }
        self
    }

    /// op(A) of the i-th product.
    fn a<'a, T: GemmElem>(&self, a: &'a [T], i: usize) -> Mat<'a, T> {
        let a = &a[if self.a_shared { 0 } else { i * self.m * self.k }..];
        if self.a_turned { Mat::new(a, self.k, self.m).t() } else { Mat::new(a, self.m, self.k) }
    }

    /// op(B) of the i-th product.
    fn b<'a, T: GemmElem>(&self, b: &'a [T], i: usize) -> Mat<'a, T> {
        let b = &b[if self.b_shared { 0 } else { i * self.k * self.n }..];
        if self.b_turned { Mat::new(b, self.n, self.k).t() } else { Mat::new(b, self.k, self.n) }
    }

    /// C of the i-th product, to read.
    fn c<'a, T: GemmElem>(&self, c: &'a [T], i: usize) -> Mat<'a, T> {
        Mat::new(&c[i * self.m * self.n..], self.m, self.n)
    }

    /// C = alpha op(A) op(B) + beta C.
    pub(crate) fn multiply<T: GemmElem>(&self, pool: &Pool, a: &[T], b: &[T], c: &mut [T], alpha: T, beta: T) {
        let p = self.folded();
        each(pool, c, p.batch, false, beta, |i| (p.a(a, i), p.b(b, i), alpha));
    }

    /// The gradient of A from that of C.
    pub(crate) fn grad_a<T: GemmElem>(&self, pool: &Pool, b: &[T], dc: &[T], da: &mut [T], alpha: T) {
        let p = self.folded();
        each(pool, da, p.batch, p.a_shared, T::ZERO, |i| {
            if p.a_turned { (p.b(b, i), p.c(dc, i).t(), alpha) } else { (p.c(dc, i), p.b(b, i).t(), alpha) }
        });
    }

    /// The gradient of B from that of C.
    pub(crate) fn grad_b<T: GemmElem>(&self, pool: &Pool, a: &[T], dc: &[T], db: &mut [T], alpha: T) {
        let p = self.folded();
        each(pool, db, p.batch, p.b_shared, T::ZERO, |i| {
            if p.b_turned { (p.c(dc, i).t(), p.a(a, i), alpha) } else { (p.a(a, i).t(), p.c(dc, i), alpha) }
        });
    }
}

/// Puts the products `of(0)`, `of(1)`, ... side by side into `to`, or their sum if `summed`.
fn each<'m, T: GemmElem>(
    pool: &Pool,
    to: &mut [T],
    batch: usize,
    summed: bool,
    beta: T,
    of: impl Fn(usize) -> (Mat<'m, T>, Mat<'m, T>, T) + Sync,
) {
    if batch == 0 {
        return to.fill(T::ZERO);
    }
    if batch == 1 || summed {
        for i in 0..batch {
            let (a, b, alpha) = of(i);
            gemm(pool, to, a, b, alpha, if i == 0 { beta } else { T::ONE });
        }
        return;
    }
    pool.pieces(to, to.len() / batch, |i, to| {
        let (a, b, alpha) = of(i);
        gemm_inline(to, a, b, alpha, beta);
    });
}
