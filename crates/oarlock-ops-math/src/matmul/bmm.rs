//! `bmm`: a batch of matrix products.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::checks::sized;
use oarlock_tensor::{Dims, Element, Float};

use crate::matmul::product::Product;

pub(crate) const OPS: &[&dyn OpDef] = &[&Bmm, &GRAD];

struct Bmm;

impl OpDef for Bmm {
    sig! {
        "bmm": "Out = X Y, for every matrix of the batch";
        in "X": "float, [batch, m, k]";
        in "Y": "float, [batch, k, n]";
        out "Out": "[batch, m, n]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        let out = match (&x.shape[..], &y.shape[..]) {
            (&[a, m, k], &[b, rows, n]) if a.fits(b) && k.fits(rows) => vec![a.or(b), m, n],
            _ => {
                let what = format!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y"));
                return Err(cx.shape_error(what).note(RULE));
            }
        };
        cx.set("Out", x.with_shape(out));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let product = product(io, x, a.dims(), y, b.dims())?;
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([product.batch, product.m, product.n]))?;
            to.set_lod(a.lod().clone());
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            product.multiply(io.pool(), a, b, io.data_mut(out, &mut to)?, T::ONE, T::ZERO);
            Ok(())
        }))
    }
}

const RULE: &str = "`X` must be [batch, m, k] and `Y` [batch, k, n]";

fn product(io: &Io<'_>, x: In, x_dims: &Dims, y: In, y_dims: &Dims) -> Result<Product> {
    match (&x_dims[..], &y_dims[..]) {
        (&[batch, m, k], &[other, rows, n]) if batch == other && k == rows => {
            Ok(Product { batch, ..Product::plain(m, k, n) })
        }
        _ => {
            let what = format_args!("{x_dims} cannot be multiplied by {} {y_dims}", io.describe(y));
            Err(io.error(Kind::Shape, x, what).note(RULE))
        }
    }
}

const GRAD: GradOp = GradOp::of(&Bmm, "bmm_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD Y^T and Y@GRAD = X^T Out@GRAD, for every matrix of the batch")
    .kernel(|p| {
        let (x, y, dout) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let (dx, dy) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let product = product(io, x, a.dims(), y, b.dims())?;
            let d = sized::<T>(io, dout, &d, product.batch * product.m * product.n)?;
            if let Some(dx) = dx {
                let mut to = io.out_sized(dx, T::DTYPE, *a.dims())?;
                product.grad_a(io.pool(), io.data::<T>(y, &b)?, d, io.data_mut(dx, &mut to)?, T::ONE);
            }
            if let Some(dy) = dy {
                let mut to = io.out_sized(dy, T::DTYPE, *b.dims())?;
                product.grad_b(io.pool(), io.data::<T>(x, &a)?, d, io.data_mut(dy, &mut to)?, T::ONE);
            }
            Ok(())
        }))
    });

#[test]
fn bmm() {
    use crate::testing::{check, noise, tensor};
    check("bmm")
        .input("X", tensor([2, 1, 2], &[1.0, 2.0, 3.0, 4.0]))
        .input("Y", tensor([2, 2, 1], &[1.0, 10.0, 1.0, 10.0]))
        .output("Out", tensor([2, 1, 1], &[21.0, 43.0]))
        .run();
    check("bmm")
        .input("X", noise([3, 2, 4], 1))
        .input("Y", noise([3, 4, 2], 2))
        .any_output("Out")
        .grad(&["X", "Y"])
        .run();
    let wrong = check("bmm").input("X", noise([3, 2, 4], 1)).input("Y", noise([2, 4, 2], 2)).any_output("Out");
    assert_eq!(
        wrong.error(),
        "error[shape]: `bmm` cannot multiply `X` = X.0 f32[3, 2, 4] by `Y` = Y.0 f32[2, 4, 2]\n  \
         at (`bmm`, block 0, op 0)\n  `X` must be [batch, m, k] and `Y` [batch, k, n]"
    );
}
