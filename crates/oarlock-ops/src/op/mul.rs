//! `mul`: the product of two matrices, each made of a tensor by joining its leading and its trailing dimensions.

use oarlock_ir::{
    Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarKind, VarType, by_float, fail, kernel,
    product,
};
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Mul, &MulGrad];

fn with_attrs(sig: Sig) -> Sig {
    sig.attr("x_num_col_dims", 1, "so many leading dimensions of `X` are its rows")
        .attr("y_num_col_dims", 1, "so many leading dimensions of `Y` are its rows")
        .hints(&["scale_x", "scale_y", "scale_out", "force_fp32_output"])
}

struct Mul;

impl OpDef for Mul {
    fn sig(&self) -> Sig {
        let sig = Sig::new("mul", "Out = X Y, as matrices")
            .input("X", "f32 or f64, with more dimensions than `x_num_col_dims`")
            .input("Y", "like `X`; its rows are as many as the columns of `X`")
            .output("Out", "the row dimensions of `X`, then the column dimensions of `Y`");
        with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        let (xc, yc) = (columns_from(cx, "X", "x_num_col_dims", &x)?, columns_from(cx, "Y", "y_num_col_dims", &y)?);
        let (columns, rows) = (product(&x.shape[xc..]), product(&y.shape[..yc]));
        if !columns.fits(rows) {
            return Err(cx
                .shape_error(format_args!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y")))
                .note(format!("columns of `X` ({columns}) must equal rows of `Y` ({rows})"))
                .help(format!(
                    "give {} {columns} rows, or change the layer that makes `X`",
                    cx.op().inputs.get("Y")[0]
                )));
        }
        if x.dtype != y.dtype {
            fail!(Kind::DType, "`mul` cannot multiply {} by {}", cx.describe("X"), cx.describe("Y"));
        }
        let shape: Vec<_> = x.shape[..xc].iter().chain(&y.shape[yc..]).copied().collect();
        cx.set("Out", VarType::tensor(x.dtype, shape).with_lod(x.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
        let split = (p.attrs().count("x_num_col_dims")?, p.attrs().count("y_num_col_dims")?);
        by_float!(p.float("X")?, T => kernel(move |io| multiply::<T>(io, x, y, out, split)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit("mul_grad", &["X", "Y", "Out@GRAD"], &["X@GRAD", "Y@GRAD"])
    }
}

/// Where the columns of an operand begin.
fn columns_from(cx: &Infer<'_>, slot: &str, attr: &str, ty: &VarType) -> Result<usize> {
    let at = cx.attrs().count(attr)?;
    if at == 0 || at >= ty.shape.rank() {
        return Err(cx
            .shape_error(format_args!("needs more than {at} dimensions in {}", cx.describe(slot)))
            .note(format!("`{attr}` is {at}: that many leading dimensions are rows, the others columns")));
    }
    Ok(at)
}

fn multiply<T: GemmElem>(io: &Io<'_>, x: In, y: In, out: Out, split: (usize, usize)) -> Result<()> {
    let (xt, yt) = (io.dense(x)?, io.dense(y)?);
    let (m, n, k) = sizes(io, x, &xt, y, &yt, split)?;
    let mut dims = Dims::new(&xt.dims()[..split.0.min(xt.dims().rank())]);
    yt.dims()[split.1.min(yt.dims().rank())..].iter().for_each(|&d| dims.push(d));
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    t.set_lod(xt.lod().clone());
    let (xs, ys) = (io.data::<T>(x, &xt)?, io.data::<T>(y, &yt)?);
    gemm(io.pool(), io.data_mut::<T>(out, &mut t)?, Mat::new(xs, m, k), Mat::new(ys, k, n), T::ONE, T::ZERO);
    Ok(())
}

/// Rows of `X`, columns of `Y`, and what they share.
fn sizes(io: &Io<'_>, x: In, xt: &Tensor, y: In, yt: &Tensor, split: (usize, usize)) -> Result<(usize, usize, usize)> {
    let ((m, k), (rows, n)) = (xt.dims().matrix(split.0), yt.dims().matrix(split.1));
    if k != rows {
        let what = format_args!(
            "is {}: its {k} columns must equal the {rows} rows of {}, {}",
            xt.dims(),
            io.describe(y),
            yt.dims()
        );
        return Err(io.error(Kind::Shape, x, what));
    }
    Ok((m, n, k))
}

struct MulGrad;

impl OpDef for MulGrad {
    fn sig(&self) -> Sig {
        let sig = Sig::new("mul_grad", "X@GRAD = Out@GRAD Y^T; Y@GRAD = X^T Out@GRAD")
            .input("X", "of the forward operator")
            .input("Y", "of the forward operator")
            .input("Out@GRAD", "gradient of `Out`")
            .optional_output("X@GRAD", "gradient of `X`")
            .optional_output("Y@GRAD", "gradient of `Y`");
        with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (grad, of) in [("X@GRAD", "X"), ("Y@GRAD", "Y")] {
            let ty = cx.input(of)?.with_kind(VarKind::Tensor);
            cx.set(grad, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, dout) = (p.input("X")?, p.input("Y")?, p.input("Out@GRAD")?);
        let grads = (p.maybe_output("X@GRAD")?, p.maybe_output("Y@GRAD")?);
        let split = (p.attrs().count("x_num_col_dims")?, p.attrs().count("y_num_col_dims")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, (x, y, dout), grads, split)))
    }
}

fn backward<T: GemmElem>(
    io: &Io<'_>,
    (x, y, dout): (In, In, In),
    (dx, dy): (Option<Out>, Option<Out>),
    split: (usize, usize),
) -> Result<()> {
    let (xt, yt, dt) = (io.dense(x)?, io.dense(y)?, io.dense(dout)?);
    let (m, n, k) = sizes(io, x, &xt, y, &yt, split)?;
    let d = io.data::<T>(dout, &dt)?;
    if d.len() != m * n {
        return Err(io.error(Kind::Shape, dout, format_args!("is {}, but {m} x {n} is needed", dt.dims())));
    }
    let d = Mat::new(d, m, n);
    if let Some(dx) = dx {
        let mut t = io.out_sized(dx, T::DTYPE, *xt.dims())?;
        t.set_lod(xt.lod().clone());
        let ys = Mat::new(io.data::<T>(y, &yt)?, k, n);
        gemm(io.pool(), io.data_mut::<T>(dx, &mut t)?, d, ys.t(), T::ONE, T::ZERO);
    }
    if let Some(dy) = dy {
        let mut t = io.out_sized(dy, T::DTYPE, *yt.dims())?;
        let xs = Mat::new(io.data::<T>(x, &xt)?, m, k);
        gemm(io.pool(), io.data_mut::<T>(dy, &mut t)?, xs.t(), d, T::ONE, T::ZERO);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor};

    #[test]
    fn mul() {
        check("mul")
            .input("X", tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Y", tensor([3, 2], &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]))
            .output("Out", tensor([2, 2], &[7.0, 8.0, 16.0, 17.0]))
            .grad(&["X", "Y"])
            .run();
        check("mul")
            .input("X", noise([2, 2, 3], 1))
            .input("Y", noise([3, 2, 2], 2))
            .attr("x_num_col_dims", 2)
            .any_output("Out")
            .grad(&["X", "Y"])
            .run();
    }

    #[test]
    fn the_message_names_both_sides() {
        let e = check("mul").input("X", noise([2, 10], 1)).input("Y", noise([16, 1], 2)).any_output("Out").error();
        assert_eq!(
            e,
            "error[shape]: `mul` cannot multiply `X` = X.0 f32[2, 10] by `Y` = Y.0 f32[16, 1]\n  \
             at (`mul`, block 0, op 0)\n  \
             columns of `X` (10) must equal rows of `Y` (16)\n  \
             help: give Y.0 10 rows, or change the layer that makes `X`"
        );
    }
}
