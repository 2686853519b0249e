//! `fusion_squared_mat_sub`: the second-order term of a factorisation machine.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::gemm::{Mat, gemm};
use oarlock_tensor::{Dims, Element, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&FusionSquaredMatSub];

struct FusionSquaredMatSub;

impl OpDef for FusionSquaredMatSub {
    sig! {
        "fusion_squared_mat_sub":
            "Out = scalar ((X Y)^2 - X^2 Y^2), squares being element by element; for inference, without a gradient";
        in "X": "a matrix";
        in "Y": "a matrix with as many rows as `X` has columns";
        out "SquaredX": "X^2";
        out "SquaredY": "Y^2";
        out "SquaredXY": "(X Y)^2";
        out "Out": "the rows of `X` by the columns of `Y`";
        attr "scalar" = 1.0f32, "multiplies the difference";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, y) = (cx.float("X")?, cx.float("Y")?);
        match (&x.shape[..], &y.shape[..]) {
            ([m, k], [rows, n]) if k.fits(*rows) => {
                let out = x.clone().with_shape(vec![*m, *n]);
                cx.set("SquaredXY", out.clone().with_lod(0));
                cx.set("Out", out.with_lod(0));
            }
            _ => return Err(cx.shape_error(format!("cannot multiply {} by {}", cx.describe("X"), cx.describe("Y")))),
        }
        cx.set("SquaredX", x.with_lod(0));
        cx.set("SquaredY", y.with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y) = (p.input("X")?, p.input("Y")?);
        let outs = [p.output("SquaredX")?, p.output("SquaredY")?, p.output("SquaredXY")?, p.output("Out")?];
        let scalar = p.attrs().f32("scalar")?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (xt, yt) = (io.dense(x)?, io.dense(y)?);
            let ((m, k), (rows, n)) = (xt.dims().matrix(1), yt.dims().matrix(1));
            if k != rows {
                let what = format_args!("is {}, which cannot be multiplied by {} {}", xt.dims(), io.describe(y), yt.dims());
                return Err(io.error(Kind::Shape, x, what));
            }
            let dtype = <T as Element>::DTYPE;
            let (mut xx, mut yy) = (io.out_sized(outs[0], dtype, *xt.dims())?, io.out_sized(outs[1], dtype, *yt.dims())?);
            let dims = Dims::from([m, n]);
            let (mut xy, mut out) = (io.out_sized(outs[2], dtype, dims)?, io.out_sized(outs[3], dtype, dims)?);
            let (xs, ys) = (io.data::<T>(x, &xt)?, io.data::<T>(y, &yt)?);
            let (xx, yy) = (io.data_mut::<T>(outs[0], &mut xx)?, io.data_mut::<T>(outs[1], &mut yy)?);
            let (xy, out) = (io.data_mut::<T>(outs[2], &mut xy)?, io.data_mut::<T>(outs[3], &mut out)?);
            simd::square(xx, xs);
            simd::square(yy, ys);
            gemm(io.pool(), out, Mat::new(xs, m, k), Mat::new(ys, k, n), 1.0, 0.0);
            simd::square(xy, out);
            gemm(io.pool(), out, Mat::new(xx, m, k), Mat::new(yy, k, n), -1.0, 0.0);
            simd::add_assign(out, xy);
            simd::scale(out, T::from(scalar));
            Ok(())
        }))
    }
}

#[test]
fn fusion_squared_mat_sub() {
    use crate::testing::{check, noise, tensor};
    check("fusion_squared_mat_sub")
        .input("X", tensor([1, 2], &[1.0, 2.0]))
        .input("Y", tensor([2, 1], &[3.0, 4.0]))
        .attr("scalar", 0.5f32)
        .output("SquaredX", tensor([1, 2], &[1.0, 4.0]))
        .output("SquaredY", tensor([2, 1], &[9.0, 16.0]))
        .output("SquaredXY", tensor([1, 1], &[121.0]))
        .output("Out", tensor([1, 1], &[24.0]))
        .run();
    let wrong = check("fusion_squared_mat_sub").input("X", noise([1, 2], 1)).input("Y", noise([3, 1], 1));
    let e = wrong.any_output("SquaredX").any_output("SquaredY").any_output("SquaredXY").any_output("Out").error();
    assert!(e.contains("cannot multiply `X` = X.0 f32[1, 2] by `Y` = Y.0 f32[3, 1]"), "{e}");
}
