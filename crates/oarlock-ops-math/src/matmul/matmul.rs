//! `matmul`: products of the matrices in the last two axes, with transposes and a factor.

use oarlock_ir::{AttrView, Dim, Error, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result};
use oarlock_ir::{by_float, kernel, product, sig};
use oarlock_ops_support::checks::sized;
use oarlock_tensor::{Dims, Element, Float};

use crate::matmul::heads::{self, Heads};
use crate::matmul::product::Product;

pub(crate) const OPS: &[&dyn OpDef] = &[&Matmul, &GRAD];

struct Matmul;

impl OpDef for Matmul {
    sig! {
        "matmul": "Out = alpha * X Y, for every matrix of the batch";
        in "X": "float; a vector counts as one row";
        in "Y": "float; a vector counts as one column; a single matrix is used for the whole batch";
        out "Out": "the batch axes, then rows of `X` and columns of `Y`; axes of vectors are dropped";
        attr "transpose_X" = false, "transpose the matrices of `X`";
        attr "transpose_Y" = false, "transpose the matrices of `Y`";
        attr "alpha" = 1.0f32, "a factor";
        attr "head_number" = 1, "parts of the columns of `X` that are multiplied by parts of `Y`, side by side; without gradient";
        attr "fused_reshape_Out" = Vec::<i32>::new(), "empty: belongs to fused operators of another library";
        attr "fused_transpose_Out" = Vec::<i32>::new(), "empty: belongs to fused operators of another library";
        hints ["Scale_x", "Scale_y", "Scale_out", "force_fp32_output"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y, how) = (cx.float("X")?, cx.float("Y")?, How::parse(cx.attrs())?);
        let (a, b) = (how.x(&x.shape, Dim::Is(1)), how.y(&y.shape, Dim::Is(1)));
        if how.heads != 1 {
            let columns = match Heads::known(how.heads, (a.rows, a.cols), (b.rows, b.cols)) {
                Some(heads) if !heads.fits() => return Err(cx.shape_error(heads::misfit(&heads).1)),
                Some(heads) => Dim::Is(heads.columns()),
                None => Dim::Any,
            };
            let mut out = a.batch.or(b.batch).unwrap_or_default().to_vec();
            out.extend([a.rows, columns]);
            cx.set("Out", x.clone().with_shape(out));
            return Ok(());
        }
        let batches_differ = a.batch.zip(b.batch).is_some_and(|(a, b)| !product(a).fits(product(b)));
        if !a.cols.fits(b.rows) || batches_differ {
            let what = format!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y"));
            let note = format!(
                "columns of `X` ({}) must equal rows of `Y` ({}), and both must have one batch size",
                a.cols, b.rows
            );
            return Err(cx.shape_error(what).note(note).help(HOW_TO_FIT));
        }
        let mut out = Vec::new();
        out_axes(&x.shape, &y.shape, a.rows, b.cols, Dim::Is(1), |d| out.push(d));
        let out = x.clone().with_shape(out);
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out, how) = (p.input("X")?, p.input("Y")?, p.output("Out")?, How::parse(p.attrs())?);
        if how.heads != 1 {
            return by_float!(p.float("X")?, T => kernel(move |io| how.multiply_heads::<T>(io, (x, y), out)));
        }
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b) = (io.dense(x)?, io.dense(y)?);
            let (product, dims) = how.product(io, x, a.dims(), y, b.dims())?;
            let mut to = io.out_sized(out, T::DTYPE, dims)?;
            if to.rows() == a.rows() {
                to.set_lod(a.lod().clone());
            }
            let (a, b) = (io.data::<T>(x, &a)?, io.data::<T>(y, &b)?);
            product.multiply(io.pool(), a, b, io.data_mut(out, &mut to)?, T::of(how.alpha), T::ZERO);
            Ok(())
        }))
    }
}

#[derive(Clone, Copy)]
struct How {
    x_turned: bool,
    y_turned: bool,
    alpha: f64,
    /// Parts of the columns of X.
    heads: usize,
}

/// A tensor as a batch of matrices, after transposing.
struct Matrices<'a, D> {
    /// The batch axes; `None` for a single matrix.
    batch: Option<&'a [D]>,
    rows: D,
    cols: D,
}

fn matrices<D: Copy>(shape: &[D], vector: (D, D), turned: bool) -> Matrices<'_, D> {
    let (batch, (rows, cols)) = match shape {
        [] | [_] => (None, vector),
        [rows, cols] => (None, (*rows, *cols)),
        [batch @ .., rows, cols] => (Some(batch), (*rows, *cols)),
    };
    if turned { Matrices { batch, rows: cols, cols: rows } } else { Matrices { batch, rows, cols } }
}

/// The axes of the result: batch axes of the operand that has them, rows, columns; without the axes that vectors do not have.
fn out_axes<D: Copy + PartialEq>(x: &[D], y: &[D], rows: D, cols: D, one: D, mut push: impl FnMut(D)) {
    let batch = if x.len() > 2 { x } else { y };
    batch[..batch.len().saturating_sub(2)].iter().for_each(|d| push(*d));
    let (no_rows, no_cols) = (x.len() <= 1 && rows == one, y.len() <= 1 && cols == one);
    if !no_rows {
        push(rows);
    }
    // A number is [1], not [].
    if !no_cols || (no_rows && batch.len() <= 2) {
        push(cols);
    }
}

impl How {
    fn parse(attrs: AttrView<'_>) -> Result<How> {
        let fused = !attrs.ints("fused_reshape_Out")?.is_empty() || !attrs.ints("fused_transpose_Out")?.is_empty();
        if fused {
            let what = "`matmul` with fused_reshape_Out or fused_transpose_Out is not supported";
            return Err(Error::new(Kind::Unsupported, what).help("load the program as it was before that optimisation"));
        }
        Ok(How {
            x_turned: attrs.bool("transpose_X")?,
            y_turned: attrs.bool("transpose_Y")?,
            alpha: attrs.f32("alpha")?.into(),
            heads: usize::try_from(attrs.int("head_number")?).unwrap_or(0).max(1),
        })
    }

    fn multiply_heads<T: Float>(&self, io: &Io<'_>, (x, y): (In, In), out: Out) -> Result<()> {
        let (x_tensor, y_tensor) = (io.dense(x)?, io.dense(y)?);
        let (a, b) = (self.x(x_tensor.dims(), 1), self.y(y_tensor.dims(), 1));
        let heads = Heads { count: self.heads, x: (a.rows, a.cols), y: (b.rows, b.cols) };
        let count = |batch: Option<&[usize]>| batch.map_or(1, |b| b.iter().product::<usize>());
        let (x_batch, y_batch) = (count(a.batch), count(b.batch));
        if !heads.fits() || (x_batch != y_batch && x_batch != 1 && y_batch != 1) {
            let (kind, what) = heads::misfit(&heads);
            return Err(io.error(kind, x, what));
        }
        let dims = heads::dims(io, out, a.batch.or(b.batch).unwrap_or_default(), &heads)?;
        let mut to = io.out_sized(out, T::DTYPE, dims)?;
        let (xs, ys) = (io.data::<T>(x, &x_tensor)?, io.data::<T>(y, &y_tensor)?);
        let at = |turned: bool, (rows, columns): (usize, usize), row: usize, column: usize| {
            if turned { column * rows + row } else { row * columns + column }
        };
        for (i, to) in io.data_mut::<T>(out, &mut to)?.chunks_exact_mut((a.rows * heads.columns()).max(1)).enumerate() {
            let xs = &xs[if x_batch == 1 { 0 } else { i } * a.rows * a.cols..];
            let ys = &ys[if y_batch == 1 { 0 } else { i } * b.rows * b.cols..];
            let read_x = |row, column| xs[at(self.x_turned, heads.x, row, column)];
            let read_y = |row, column| ys[at(self.y_turned, heads.y, row, column)];
            heads.multiply(to, T::of(self.alpha), read_x, read_y);
        }
        Ok(())
    }

    /// X, of which a vector is one row.
    fn x<'a, D: Copy>(&self, shape: &'a [D], one: D) -> Matrices<'a, D> {
        matrices(shape, (one, shape.first().copied().unwrap_or(one)), self.x_turned)
    }

    /// Y, of which a vector is one column.
    fn y<'a, D: Copy>(&self, shape: &'a [D], one: D) -> Matrices<'a, D> {
        matrices(shape, (shape.first().copied().unwrap_or(one), one), self.y_turned)
    }

    /// The product to compute and the shape of its result.
    fn product(&self, io: &Io<'_>, x: In, x_dims: &Dims, y: In, y_dims: &Dims) -> Result<(Product, Dims)> {
        let (a, b) = (self.x(x_dims, 1), self.y(y_dims, 1));
        let count = |batch: Option<&[usize]>| batch.map(|b| b.iter().product::<usize>());
        let (x_batch, y_batch) = (count(a.batch), count(b.batch));
        if a.cols != b.rows || x_batch.zip(y_batch).is_some_and(|(a, b)| a != b) {
            let what = format_args!("{x_dims} cannot be multiplied by {} {y_dims}", io.describe(y));
            return Err(io.error(Kind::Shape, x, what).help(HOW_TO_FIT));
        }
        let product = Product {
            batch: x_batch.or(y_batch).unwrap_or(1),
            m: a.rows,
            k: a.cols,
            n: b.cols,
            a_turned: self.x_turned,
            b_turned: self.y_turned,
            a_shared: x_batch.is_none() && y_batch.is_some(),
            b_shared: y_batch.is_none() && x_batch.is_some(),
        };
        let mut out = Dims::new(&[]);
        out_axes(x_dims, y_dims, a.rows, b.cols, 1, |n| out.push(n));
        Ok((product, out))
    }
}

const HOW_TO_FIT: &str = "set transpose_X or transpose_Y, or reshape one of them";

const GRAD: GradOp = GradOp::of(&Matmul, "matmul_grad(X, Y, Out@GRAD) -> X@GRAD, Y@GRAD")
    .doc("the gradients of a batch of matrix products")
    .kernel(|p| {
        let (x, y, dout, how) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?, How::parse(p.attrs())?);
        let (dx, dy) = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        if how.heads != 1 {
            return Err(Error::new(Kind::Unsupported, "`matmul` with head_number has no gradient")
                .help("multiply parts of the matrices, and concatenate the results"));
        }
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (a, b, d) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
            let (product, _) = how.product(io, x, a.dims(), y, b.dims())?;
            let d = sized::<T>(io, dout, &d, product.batch * product.m * product.n)?;
            let alpha = T::of(how.alpha);
            if let Some(dx) = dx {
                let mut to = io.out_sized(dx, T::DTYPE, *a.dims())?;
                to.set_lod(a.lod().clone());
                product.grad_a(io.pool(), io.data::<T>(y, &b)?, d, io.data_mut(dx, &mut to)?, alpha);
            }
            if let Some(dy) = dy {
                let mut to = io.out_sized(dy, T::DTYPE, *b.dims())?;
                to.set_lod(b.lod().clone());
                product.grad_b(io.pool(), io.data::<T>(x, &a)?, d, io.data_mut(dy, &mut to)?, alpha);
            }
            Ok(())
        }))
    });

#[cfg(test)]
mod tests {
    use oarlock_tensor::Dims;

    use crate::testing::{check, noise, tensor};

    #[test]
    fn matrices() {
        check("matmul")
            .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Y", tensor([3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
            .attr("alpha", 0.5f32)
            .output("Out", tensor([2, 2], &[2.0, 2.5, 5.0, 5.5]))
            .run();
    }

    #[test]
    fn every_form() {
        type Form = (&'static [usize], &'static [usize], bool, bool, &'static [usize]);
        let forms: [Form; 12] = [
            (&[2, 3], &[3, 4], false, false, &[2, 4]),
            (&[3, 2], &[4, 3], true, true, &[2, 4]),
            (&[2, 2, 3], &[2, 3, 2], false, false, &[2, 2, 2]),
            (&[2, 3, 2], &[2, 2, 3], true, true, &[2, 2, 2]),
            (&[2, 2, 3], &[3, 2], false, false, &[2, 2, 2]),
            (&[2, 3, 2], &[3, 2], true, false, &[2, 2, 2]),
            (&[2, 3], &[2, 3, 2], false, false, &[2, 2, 2]),
            (&[3], &[3], false, false, &[1]),
            (&[3], &[3, 2], false, false, &[2]),
            (&[2, 3], &[3], false, false, &[2]),
            (&[2, 2, 3], &[3], false, false, &[2, 2]),
            (&[3], &[2], true, true, &[3, 2]),
        ];
        for (x, y, tx, ty, out) in forms {
            check("matmul")
                .input("X", noise(Dims::new(x), 3))
                .input("Y", noise(Dims::new(y), 4))
                .attr("transpose_X", tx)
                .attr("transpose_Y", ty)
                .attr("alpha", 2.0f32)
                .any_output("Out")
                .grad(&["X", "Y"])
                .run();
            let how = super::How { x_turned: tx, y_turned: ty, alpha: 1.0, heads: 1 };
            let mut found = Vec::new();
            super::out_axes(x, y, how.x(x, 1).rows, how.y(y, 1).cols, 1, |n| found.push(n));
            assert_eq!(found, out);
        }
    }

    #[test]
    fn sizes_that_do_not_fit() {
        let wrong = check("matmul").input("X", tensor([2, 3], &[0.0; 6])).input("Y", tensor([2, 3], &[0.0; 6]));
        assert_eq!(
            wrong.any_output("Out").error(),
            "error[shape]: `matmul` cannot multiply `X` = X.0 f32[2, 3] by `Y` = Y.0 f32[2, 3]\n  \
             at (`matmul`, block 0, op 0)\n  \
             columns of `X` (3) must equal rows of `Y` (2), and both must have one batch size\n  \
             help: set transpose_X or transpose_Y, or reshape one of them"
        );
    }
}
