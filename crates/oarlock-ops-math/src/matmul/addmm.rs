//! `addmm`: a matrix product added to a matrix.

use oarlock_ir::{AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_ops_support::broadcast;
use oarlock_ops_support::broadcast::spread;
use oarlock_ops_support::checks::sized;
use oarlock_tensor::{Dims, Element, Float};

use crate::matmul::product::Product;

pub(crate) const OPS: &[&dyn OpDef] = &[&Addmm, &GRAD];

/// (Alpha, Beta)
fn factors(attrs: AttrView<'_>) -> Result<(f64, f64)> {
    Ok((attrs.f32("Alpha")?.into(), attrs.f32("Beta")?.into()))
}

struct Addmm;

impl OpDef for Addmm {
    sig! {
        "addmm": "Out = Alpha * X Y + Beta * Input";
        in "Input": "float, broadcast to [m, n]";
        in "X": "float, [m, k]";
        in "Y": "float, [k, n]";
        out "Out": "[m, n]";
        attr "Alpha" = 1.0f32, "factor of the product";
        attr "Beta" = 1.0f32, "factor of `Input`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (input, x, y) = (cx.float("Input")?, cx.float("X")?, cx.float("Y")?);
        let out = match (&x.shape[..], &y.shape[..]) {
            (&[m, k], &[rows, n]) if k.fits(rows) => vec![m, n],
            _ => {
                let what = format!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y"));
                return Err(cx.shape_error(what).note("`X` must be [m, k] and `Y` [k, n]"));
            }
        };
        if broadcast::infer(&out, &input.shape, -1).is_none() || input.shape.rank() > 2 {
            let what = format!(
                "cannot add {} to the product of {} and {}",
                cx.describe("Input"),
                cx.describe("X"),
                cx.describe("Y")
            );
            return Err(cx.shape_error(what).note("its sizes must be those of the product, or 1"));
        }
        cx.set("Out", x.with_shape(out));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, x, y, out) = (p.input("Input")?, p.input("X")?, p.input("Y")?, p.output("Out")?);
        let (alpha, beta) = factors(p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (c, a, b) = (io.dense(input)?, io.dense(x)?, io.dense(y)?);
            let product = product(io, x, a.dims(), y, b.dims())?;
            let dims = Dims::from([product.m, product.n]);
            let s = spread(io, x, &dims, input, c.dims(), -1)?;
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            let to = io.data_mut::<T>(out, &mut to)?;
            let (a, b, c) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?, io.data::<T>(input, &c)?);
            product.multiply(io.pool(), a, b, to, T::of(alpha), T::ZERO);
            let n = s.run;
            s.runs(|o, _, j| {
                let add = |(t, k): (&mut T, usize)| *t += T::of(beta) * c[if s.y_moves { j + k } else { j }];
                to[o..o + n].iter_mut().zip(0..).for_each(add);
            });
            Ok(())
        }))
    }
}

fn product(io: &Io<'_>, x: In, x_dims: &Dims, y: In, y_dims: &Dims) -> Result<Product> {
    match (&x_dims[..], &y_dims[..]) {
        (&[m, k], &[rows, n]) if k == rows => Ok(Product::plain(m, k, n)),
        _ => {
            let what = format_args!("{x_dims} cannot be multiplied by {} {y_dims}", io.describe(y));
            Err(io.error(Kind::Shape, x, what))
        }
    }
}

const GRAD: GradOp = GradOp::of(&Addmm, "addmm_grad(Input, X, Y, Out@GRAD) -> Input@GRAD, X@GRAD, Y@GRAD")
    .doc("the gradients of a matrix product and of what is added to it")
    .traits(Traits::NONE.shape_only(&["Input"]))
    .kernel(|p| {
        let (input, x, y, dout) = (p.input("Input")?, p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let (dinput, dx, dy) = (p.maybe_output("Input@GRAD")?, p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        let (alpha, beta) = factors(p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let product = product(io, x, a.dims(), y, b.dims())?;
            let d = sized::<T>(io, dout, &d, product.m * product.n)?;
            if let Some(out) = dinput {
                let c = *io.dense(input)?.dims();
                let s = spread(io, x, &Dims::from([product.m, product.n]), input, &c, -1)?;
                let mut to = io.out_sized(out, T::DTYPE, c)?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.fill(T::ZERO);
                s.runs(|o, _, j| {
                    for (k, d) in d[o..o + s.run].iter().enumerate() {
                        to[if s.y_moves { j + k } else { j }] += T::of(beta) * *d;
                    }
                });
            }
            if let Some(out) = dx {
                let mut to = io.out_sized(out, T::DTYPE, *a.dims())?;
                product.grad_a(io.pool(), io.data::<T>(y, &b)?, d, io.data_mut(out, &mut to)?, T::of(alpha));
            }
            if let Some(out) = dy {
                let mut to = io.out_sized(out, T::DTYPE, *b.dims())?;
                product.grad_b(io.pool(), io.data::<T>(x, &a)?, d, io.data_mut(out, &mut to)?, T::of(alpha));
            }
            Ok(())
        }))
    });

#[test]
fn addmm() {
    use crate::testing::{check, noise, tensor};
    for shape in [[2, 2], [1, 2], [2, 1], [1, 1]] {
        check("addmm")
            .input("Input", noise(shape, 1))
            .input("X", noise([2, 3], 2))
            .input("Y", noise([3, 2], 3))
            .attr("Alpha", 0.5f32)
            .attr("Beta", 2.0f32)
            .any_output("Out")
            .grad(&["Input", "X", "Y"])
            .run();
    }
    check("addmm")
        .input("Input", tensor([1, 2], &[10.0, 20.0]))
        .input("X", tensor([2, 1], &[1.0, 2.0]))
        .input("Y", tensor([1, 2], &[3.0, 4.0]))
        .attr("Beta", 2.0f32)
        .output("Out", tensor([2, 2], &[23.0, 44.0, 26.0, 48.0]))
        .run();
}
