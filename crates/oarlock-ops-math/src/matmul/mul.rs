//! `mul`: the product of two tensors seen as matrices; the heart of every fully connected layer.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig};
use oarlock_ir::{by_float, kernel, product, sig};
use oarlock_ops_support::checks::sized;
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_tensor::{Dims, Element, Float, MAX_RANK};

use crate::matmul::product::Product;

pub(crate) const OPS: &[&dyn OpDef] = &[&Mul, &GRAD, &MulGradGrad];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("x_num_col_dims", 1, "the number of axes of `X` that make its rows; the others make its columns")
        .attr("y_num_col_dims", 1, "the number of axes of `Y` that make its rows; the others make its columns")
        .hints(&["scale_x", "scale_y", "scale_out", "force_fp32_output"])
}

struct Mul;

impl OpDef for Mul {
    sig! {
        "mul": "Out = X Y, both seen as matrices";
        in "X": "any float tensor";
        in "Y": "with as many rows as `X` has columns";
        out "Out": "the row axes of `X`, then the column axes of `Y`; LoD of `X`";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y, cut) = (cx.float("X")?, cx.float("Y")?, Cut::parse(cx.attrs())?);
        if x.shape.rank() <= cut.x || y.shape.rank() <= cut.y {
            let what = format!("cannot cut {} and {} into rows and columns", cx.describe("X"), cx.describe("Y"));
            let note =
                format!("x_num_col_dims is {}, y_num_col_dims is {}: axes must be left for columns", cut.x, cut.y);
            return Err(cx.shape_error(what).note(note));
        }
        let (columns, rows) = (product(&x.shape[cut.x..]), product(&y.shape[..cut.y]));
        if !columns.fits(rows) {
            let what = format!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y"));
            let note = format!("columns of `X` ({columns}) must equal rows of `Y` ({rows})");
            return Err(cx.shape_error(what).note(note).help(format!("make `Y` with {columns} rows, or reshape `X`")));
        }
        let out: Vec<Dim> = x.shape[..cut.x].iter().chain(&y.shape[cut.y..]).copied().collect();
        cx.set("Out", x.with_shape(out));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, cut) = (p.input("X")?, p.input("Y")?, p.output("Out")?, Cut::parse(p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let product = cut.product(io, x, a.dims(), y, b.dims())?;
            let mut to = io.out_sized(out, T::DTYPE, cut.out_dims(a.dims(), b.dims()))?;
            to.set_lod(a.lod().clone());
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            product.multiply(io.pool(), a, b, io.data_mut::<T>(out, &mut to)?, T::ONE, T::ZERO);
            Ok(())
        }))
    }
}

/// Where axes of X and Y turn from rows to columns.
#[derive(Clone, Copy)]
struct Cut {
    x: usize,
    y: usize,
}

impl Cut {
    fn parse(attrs: AttrView<'_>) -> Result<Cut> {
        Ok(Cut { x: attrs.count("x_num_col_dims")?, y: attrs.count("y_num_col_dims")? })
    }

    fn product(&self, io: &Io<'_>, x: In, x_dims: &Dims, y: In, y_dims: &Dims) -> Result<Product> {
        let ((m, k), (rows, n)) = (x_dims.matrix(self.x), y_dims.matrix(self.y));
        let out_rank = self.x.min(x_dims.rank()) + y_dims.rank().saturating_sub(self.y);
        if k == rows && out_rank <= MAX_RANK {
            return Ok(Product::plain(m, k, n));
        }
        let what = format_args!("{x_dims} has {k} columns, but {} {y_dims} has {rows} rows", io.describe(y));
        Err(io.error(Kind::Shape, x, what).help("columns of `X` must equal rows of `Y`"))
    }

    fn out_dims(&self, x: &Dims, y: &Dims) -> Dims {
        let mut out = Dims::new(&x[..self.x.min(x.rank())]);
        y[self.y.min(y.rank())..].iter().for_each(|n| out.push(*n));
        out
    }
}

const GRAD: GradOp = GradOp::of(&Mul, "mul_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("X@GRAD = Out@GRAD Y^T and Y@GRAD = X^T Out@GRAD")
    .grad(|g| {
        let places = Places {
            reads: &[("X", "X"), ("Y", "Y"), ("DOut", "Out@GRAD")],
            grads: &[("DDX", "X@GRAD"), ("DDY", "Y@GRAD")],
            writes: &[("DX", "X"), ("DY", "Y"), ("DDOut", "Out@GRAD")],
        };
        emit_from(g, "mul_grad_grad", &places)
    })
    .kernel(|p| {
        let (x, y, dout, cut) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?, Cut::parse(p.attrs())?);
        let (dx, dy) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let product = cut.product(io, x, a.dims(), y, b.dims())?;
            let d = sized::<T>(io, dout, &d, product.m * product.n)?;
            if let Some(dx) = dx {
                let mut to = io.out_sized(dx, T::DTYPE, *a.dims())?;
                to.set_lod(a.lod().clone());
                product.grad_a(io.pool(), io.data::<T>(y, &b)?, d, io.data_mut::<T>(dx, &mut to)?, T::ONE);
            }
            if let Some(dy) = dy {
                let mut to = io.out_sized(dy, T::DTYPE, *b.dims())?;
                product.grad_b(io.pool(), io.data::<T>(x, &a)?, d, io.data_mut::<T>(dy, &mut to)?, T::ONE);
            }
            Ok(())
        }))
    });

struct MulGradGrad;

impl OpDef for MulGradGrad {
    sig! {
        "mul_grad_grad": "DDOut = DDX Y + X DDY, DX = DOut DDY^T, DY = DDX^T DOut";
        in "X": "of the forward operator";
        in "Y": "of the forward operator";
        in "DOut": "gradient of `Out`";
        in? "DDX": "gradient of the gradient of `X`";
        in? "DDY": "gradient of the gradient of `Y`";
        out? "DDOut": "gradient of `DOut`";
        out? "DX": "gradient of `X`";
        out? "DY": "gradient of `Y`";
        with with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("DX", "X")?;
        cx.same("DY", "Y")?;
        cx.same("DDOut", "DOut")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, dout, cut) = (p.input("X")?, p.input("Y")?, p.input("DOut")?, Cut::parse(p.attrs())?);
        let (ddx, ddy) = (p.maybe_input("DDX")?, p.maybe_input("DDY")?);
        let (dx, dy, ddout) = (p.maybe_output("DX")?, p.maybe_output("DY")?, p.maybe_output("DDOut")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let product = cut.product(io, x, a.dims(), y, b.dims())?;
            let (d_dims, d) = (*d.dims(), sized::<T>(io, dout, &d, product.m * product.n)?);
            // A missing input is zero, and so is every product with it.
            let dda_tensor = ddx.map(|slot| Ok((slot, io.dense(slot)?))).transpose()?;
            let ddb_tensor = ddy.map(|slot| Ok((slot, io.dense(slot)?))).transpose()?;
            let dda = dda_tensor.as_ref().map(|(slot, t)| sized::<T>(io, *slot, t, a.numel())).transpose()?;
            let ddb = ddb_tensor.as_ref().map(|(slot, t)| sized::<T>(io, *slot, t, b.numel())).transpose()?;
            if let Some(out) = dx {
                let mut to = io.out_sized(out, T::DTYPE, *a.dims())?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.fill(0.0);
                if let Some(ddb) = ddb {
                    product.grad_a(io.pool(), ddb, d, to, T::ONE);
                }
            }
            if let Some(out) = dy {
                let mut to = io.out_sized(out, T::DTYPE, *b.dims())?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.fill(0.0);
                if let Some(dda) = dda {
                    product.grad_b(io.pool(), dda, d, to, T::ONE);
                }
            }
            if let Some(out) = ddout {
                let mut to = io.out_sized(out, T::DTYPE, d_dims)?;
                let to = io.data_mut::<T>(out, &mut to)?;
                to.fill(0.0);
                if let Some(dda) = dda {
                    product.multiply(io.pool(), dda, io.data::<T>(y, &b)?, to, T::ONE, T::ZERO);
                }
                if let Some(ddb) = ddb {
                    product.multiply(io.pool(), io.data::<T>(x, &a)?, ddb, to, T::ONE, T::ONE);
                }
            }
            Ok(())
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, with_lod};

    #[test]
    fn matrices() {
        check("mul")
            .input("X", with_lod(tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 2]]))
            .input("Y", tensor([3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
            .output("Out", with_lod(tensor([2, 2], &[4.0, 5.0, 10.0, 11.0]), &[&[0, 2]]))
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn more_axes() {
        check("mul")
            .input("X", noise([2, 2, 3, 2], 1))
            .input("Y", noise([3, 2, 4], 2))
            .attr("x_num_col_dims", 2)
            .attr("y_num_col_dims", 2)
            .any_output("Out")
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn no_rows() {
        let x = tensor([0, 3], &[]);
        check("mul").input("X", x).input("Y", tensor([3, 2], &[1.0; 6])).output("Out", tensor([0, 2], &[])).run();
    }

    #[test]
    fn columns_and_rows_that_differ() {
        let wrong = check("mul").input("X", tensor([2, 3], &[0.0; 6])).input("Y", tensor([2, 3], &[0.0; 6]));
        assert_eq!(
            wrong.any_output("Out").error(),
            "error[shape]: `mul` cannot multiply `X` = X.0 f32[2, 3] by `Y` = Y.0 f32[2, 3]\n  \
             at (`mul`, block 0, op 0)\n  \
             columns of `X` (3) must equal rows of `Y` (2)\n  \
             help: make `Y` with 3 rows, or reshape `X`"
        );
    }
}
