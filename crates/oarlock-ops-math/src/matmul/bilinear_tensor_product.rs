//! `bilinear_tensor_product`: bilinear forms of two rows.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&BilinearTensorProduct, &BILINEAR_TENSOR_PRODUCT_GRAD];

struct BilinearTensorProduct;

impl OpDef for BilinearTensorProduct {
    sig! {
        "bilinear_tensor_product": "Out[i, k] = X[i] Weight[k] Y[i]^T + Bias[k]";
        in "X": "[batch, m]";
        in "Y": "[batch, n]";
        in "Weight": "[size, m, n]";
        in? "Bias": "[1, size]";
        out "Out": "[batch, size]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y, w) = (cx.float("X")?, cx.float("Y")?, cx.float("Weight")?);
        let fits = x.shape.rank() == 2
            && y.shape.rank() == 2
            && w.shape.rank() == 3
            && x.shape[1].fits(w.shape[1])
            && y.shape[1].fits(w.shape[2])
            && x.shape[0].fits(y.shape[0]);
        if !fits {
            let what =
                format!("cannot multiply {} by {} by {}", cx.describe("X"), cx.describe("Weight"), cx.describe("Y"));
            return Err(cx.shape_error(what).help("they are [batch, m], [size, m, n] and [batch, n]"));
        }
        let out: Vec<Dim> = vec![x.shape[0].or(y.shape[0]), w.shape[0]];
        cx.set("Out", VarType::tensor(x.dtype, out).with_lod(x.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (forms, bias, out) = (Forms::new(p)?, p.maybe_input("Bias")?, p.output("Out")?);
        by_float!(p.float("X")?, T => {
            let mut product = Vec::<T>::new();
            kernel(move |io| forms.forward(io, bias, out, &mut product))
        })
    }
}

/// The inputs that the operator and its gradient have in common.
#[derive(Clone, Copy)]
struct Forms {
    x: In,
    y: In,
    w: In,
}

/// How many rows and forms, and the sizes of a form.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    size: usize,
    m: usize,
    n: usize,
}

impl Forms {
    fn new(p: &Prepare<'_>) -> Result<Forms> {
        Ok(Forms { x: p.input("X")?, y: p.input("Y")?, w: p.input("Weight")? })
    }

    fn sizes(&self, io: &Io<'_>, x: &Tensor, y: &Tensor, w: &Tensor) -> Result<Sizes> {
        let ((batch, m), (rows, n)) = (x.dims().matrix(1), y.dims().matrix(1));
        let size = w.rows();
        if rows != batch {
            return Err(io.error(
                Kind::Shape,
                self.y,
                format!("has {rows} rows, but {} has {batch}", io.describe(self.x)),
            ));
        }
        if w.dims()[..] != [size, m, n] {
            return Err(io.error(Kind::Shape, self.w, format!("is {}, but [{size}, {m}, {n}] is needed", w.dims())));
        }
        Ok(Sizes { batch, size, m, n })
    }

    fn forward<T: GemmElem>(&self, io: &Io<'_>, bias: Option<In>, out: Out, product: &mut Vec<T>) -> Result<()> {
        let (x, y, w) = (io.dense(self.x)?, io.dense(self.y)?, io.dense(self.w)?);
        let s = self.sizes(io, &x, &y, &w)?;
        let mut t = io.out_sized(out, T::DTYPE, Dims::from([s.batch, s.size]))?;
        t.set_lod(x.lod().clone());
        let to = io.data_mut::<T>(out, &mut t)?;
        let (x, y, w) = (io.data::<T>(self.x, &x)?, io.data::<T>(self.y, &y)?, io.data::<T>(self.w, &w)?);
        product.resize(s.batch * s.n, T::ZERO);
        for k in 0..s.size {
            gemm(
                io.pool(),
                product,
                Mat::new(x, s.batch, s.m),
                Mat::new(&w[k * s.m * s.n..], s.m, s.n),
                T::ONE,
                T::ZERO,
            );
            for row in 0..s.batch {
                to[row * s.size + k] = simd::dot(&product[row * s.n..][..s.n], &y[row * s.n..][..s.n]);
            }
        }
        if let Some(bias) = bias {
            let bias_tensor = io.dense(bias)?;
            simd::add_bias(to, checks::sized::<T>(io, bias, &bias_tensor, s.size)?);
        }
        Ok(())
    }
}

const BILINEAR_TENSOR_PRODUCT_GRAD: GradOp = GradOp::of(
    &BilinearTensorProduct,
    "bilinear_tensor_product_grad(Out@GRAD, Weight, X, Y) -> Bias@GRAD, Weight@GRAD, X@GRAD, Y@GRAD",
)
.doc(
    "X@GRAD = sum over k of Out@GRAD[k] * Y Weight[k]^T, Y@GRAD the same the other way, \
             Weight@GRAD[k] = (Out@GRAD[k] * X)^T Y, Bias@GRAD = column sums",
)
.infer(|cx| {
    cx.grads_of(&["Weight", "X", "Y"])?;
    let w = cx.input("Weight")?;
    let size = w.shape.first().copied().unwrap_or(Dim::Any);
    cx.set("Bias@GRAD", VarType::tensor(w.dtype, vec![Dim::Is(1), size]));
    Ok(())
})
.kernel(|p| {
    let backward = Backward::new(p)?;
    by_float!(p.float("X")?, T => {
        let mut scaled = Vec::<T>::new();
        kernel(move |io| backward.run(io, &mut scaled))
    })
});

slots! {
    struct Backward(p) {
        forms: Forms = Forms::new(p)?,
        d: input "Out@GRAD",
        dx: maybe_output "X@GRAD",
        dy: maybe_output "Y@GRAD",
        dw: maybe_output "Weight@GRAD",
        dbias: maybe_output "Bias@GRAD",
    }
}

impl Backward {
    fn run<T: GemmElem>(&self, io: &Io<'_>, scaled: &mut Vec<T>) -> Result<()> {
        let Forms { x, y, w } = self.forms;
        let (x_tensor, y_tensor, w_tensor, d_tensor) = (io.dense(x)?, io.dense(y)?, io.dense(w)?, io.dense(self.d)?);
        let s = self.forms.sizes(io, &x_tensor, &y_tensor, &w_tensor)?;
        let d = checks::sized::<T>(io, self.d, &d_tensor, s.batch * s.size)?;
        let (x, y, w) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?, io.data::<T>(w, &w_tensor)?);
        let form = |k: usize| Mat::new(&w[k * s.m * s.n..], s.m, s.n);
        let pool = io.pool();
        if let Some(dx) = self.dx {
            let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
            t.set_lod(x_tensor.lod().clone());
            let to = io.data_mut::<T>(dx, &mut t)?;
            to.fill(T::ZERO);
            for k in 0..s.size {
                scale_rows(scaled, y, s.n, d, (k, s.size));
                gemm(pool, to, Mat::new(scaled, s.batch, s.n), form(k).t(), T::ONE, T::ONE);
            }
        }
        if let Some(dy) = self.dy {
            let mut t = io.out_sized(dy, T::DTYPE, *y_tensor.dims())?;
            t.set_lod(y_tensor.lod().clone());
            let to = io.data_mut::<T>(dy, &mut t)?;
            to.fill(T::ZERO);
            for k in 0..s.size {
                scale_rows(scaled, x, s.m, d, (k, s.size));
                gemm(pool, to, Mat::new(scaled, s.batch, s.m), form(k), T::ONE, T::ONE);
            }
        }
        if let Some(dw) = self.dw {
            let mut t = io.out_sized(dw, T::DTYPE, *w_tensor.dims())?;
            let to = io.data_mut::<T>(dw, &mut t)?;
            for k in 0..s.size {
                scale_rows(scaled, x, s.m, d, (k, s.size));
                let to = &mut to[k * s.m * s.n..][..s.m * s.n];
                gemm(pool, to, Mat::new(scaled, s.batch, s.m).t(), Mat::new(y, s.batch, s.n), T::ONE, T::ZERO);
            }
        }
        if let Some(dbias) = self.dbias {
            let mut t = io.out_sized(dbias, T::DTYPE, Dims::from([1, s.size]))?;
            simd::column_sums(io.data_mut::<T>(dbias, &mut t)?, d);
        }
        Ok(())
    }
}

/// Row i of `x` times `d[i, k]`.
fn scale_rows<T: GemmElem>(scaled: &mut Vec<T>, x: &[T], width: usize, d: &[T], (k, size): (usize, usize)) {
    scaled.clear();
    scaled.extend_from_slice(x);
    for (row, scaled) in scaled.chunks_exact_mut(width.max(1)).enumerate() {
        simd::scale(scaled, d[row * size + k]);
    }
}

#[test]
fn bilinear_tensor_product() {
    use crate::testing::{check, noise, tensor};
    check("bilinear_tensor_product")
        .input("X", tensor([1, 2], &[1.0, 2.0]))
        .input("Y", tensor([1, 1], &[3.0]))
        .input("Weight", tensor([2, 2, 1], &[1.0, 0.0, 0.5, 1.0]))
        .input("Bias", tensor([1, 2], &[0.0, 1.0]))
        .output("Out", tensor([1, 2], &[3.0, 8.5]))
        .run();
    check("bilinear_tensor_product")
        .input("X", noise([3, 2], 1))
        .input("Y", noise([3, 4], 2))
        .input("Weight", noise([2, 2, 4], 3))
        .input("Bias", noise([1, 2], 4))
        .any_output("Out")
        .grad(&["X", "Y", "Weight", "Bias"])
        .run();
}
