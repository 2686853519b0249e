//! `affine_grid`: where an affine map leads the points of an image.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType};
use oarlock_ir::{by_float, kernel};
use oarlock_ops_support::int_list::IntList;
use oarlock_tensor::{Dims, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&AffineGrid, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.optional_input("OutputShape", "[4], i32; replaces `output_shape`").attr(
        "output_shape",
        Vec::<i32>::new(),
        "sizes of the image: batch, channels, height, width",
    )
}

/// Batch, height and width.
fn sizes(io: &Io<'_>, list: &IntList, scratch: &mut Vec<i64>) -> Result<[usize; 3]> {
    list.read(io, scratch)?;
    let sizes: Option<Vec<usize>> = scratch.iter().map(|&v| usize::try_from(v).ok()).collect();
    match sizes.as_deref() {
        Some([n, _, h, w]) => Ok([*n, *h, *w]),
        _ => Err(io.op_error(Kind::Shape, format_args!("has output shape {scratch:?}; it needs four sizes"))),
    }
}

/// The coordinate of position `i` of `n`: from -1 to 1.
fn coordinate<T: Float>(i: usize, n: usize) -> T {
    if n <= 1 { -T::ONE } else { T::of(2.0 * i as f64 / (n - 1) as f64 - 1.0) }
}

struct AffineGrid;

impl OpDef for AffineGrid {
    fn sig(&self) -> Sig {
        let doc = "Output[n, y, x] = Theta[n] times (x, y, 1), with x and y from -1 to 1 over the image";
        with_attrs(
            Sig::new("affine_grid", doc).input("Theta", "[n, 2, 3], f32 or f64").output("Output", "[n, h, w, 2]"),
        )
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let theta = cx.float("Theta")?;
        let fits = theta.shape.rank() == 3 && theta.shape[1].fits(Dim::Is(2)) && theta.shape[2].fits(Dim::Is(3));
        if !fits {
            return Err(cx.shape_error(format_args!("needs matrices [n, 2, 3], but has {}", cx.describe("Theta"))));
        }
        // Fluid leaves the sizes open even where the attribute has them; so do saved programs.
        cx.set("Output", VarType::tensor(theta.dtype, vec![theta.shape[0], Dim::Any, Dim::Any, Dim::Is(2)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (theta, out) = (p.input("Theta")?, p.output("Output")?);
        let (list, mut scratch) = (IntList::prepare(p, "output_shape", "OutputShape", "")?, Vec::new());
        by_float!(p.float("Theta")?, T => kernel(move |io| {
            let sizes = sizes(io, &list, &mut scratch)?;
            forward::<T>(io, theta, out, sizes)
        }))
    }
}

fn forward<T: Float>(io: &Io<'_>, theta: In, out: Out, [n, h, w]: [usize; 3]) -> Result<()> {
    let tensor = io.dense(theta)?;
    if tensor.dims()[..] != [n, 2, 3] {
        let what = format_args!("has sizes {}, but {n} matrices of [2, 3] are needed", tensor.dims());
        return Err(io.error(Kind::Shape, theta, what));
    }
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([n, h, w, 2]))?;
    let (thetas, out) = (io.data::<T>(theta, &tensor)?, io.data_mut::<T>(out, &mut t)?);
    for (i, point) in out.chunks_exact_mut(2).enumerate() {
        let theta = &thetas[i / (h * w) * 6..][..6];
        let (y, x) = (coordinate::<T>(i / w % h, h), coordinate::<T>(i % w, w));
        point[0] = theta[0] * x + theta[1] * y + theta[2];
        point[1] = theta[3] * x + theta[4] * y + theta[5];
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&AffineGrid, "affine_grid_grad(Output@GRAD, OutputShape) -> Theta@GRAD")
    .doc("gradient of `affine_grid`")
    .infer(|cx| {
        let dout = cx.input("Output@GRAD")?;
        let n = dout.shape.first().copied().unwrap_or(Dim::Any);
        cx.set("Theta@GRAD", VarType::tensor(dout.dtype, vec![n, Dim::Is(2), Dim::Is(3)]));
        Ok(())
    })
    .kernel(|p| {
        let (dout, dtheta) = (p.input("Output@GRAD")?, p.output("Theta@GRAD")?);
        by_float!(p.float("Output@GRAD")?, T => kernel(move |io| backward::<T>(io, dout, dtheta)))
    });

fn backward<T: Float>(io: &Io<'_>, dout: In, dtheta: Out) -> Result<()> {
    let tensor = io.dense(dout)?;
    let [n, h, w, 2] = tensor.dims()[..] else {
        return Err(io.error(Kind::Shape, dout, format_args!("has sizes {}, not [n, h, w, 2]", tensor.dims())));
    };
    let mut t = io.out_sized(dtheta, T::DTYPE, Dims::from([n, 2, 3]))?;
    let dthetas = io.data_mut::<T>(dtheta, &mut t)?;
    dthetas.fill(T::ZERO);
    for (i, d) in io.data::<T>(dout, &tensor)?.chunks_exact(2).enumerate() {
        let (y, x) = (coordinate::<T>(i / w % h, h), coordinate::<T>(i % w, w));
        let sums = &mut dthetas[i / (h * w) * 6..][..6];
        for (row, d) in d.iter().enumerate() {
            for (sum, v) in sums[3 * row..].iter_mut().zip([x, y, T::ONE]) {
                *sum += *d * v;
            }
        }
    }
    Ok(())
}

#[test]
fn points_of_an_image() {
    use crate::testing::{check, noise, tensor, tensor_of};
    let theta = || tensor([1, 2, 3], &[2.0, 0.0, 0.5, 0.0, 1.0, 0.0]);
    let out = || tensor([1, 1, 3, 2], &[-1.5, -1.0, 0.5, -1.0, 2.5, -1.0]);
    let case = || check("affine_grid").input("Theta", theta()).output("Output", out()).grad(&["Theta"]);
    case().attr("output_shape", vec![1, 4, 1, 3]).run();
    case().input("OutputShape", tensor_of::<i32>([4], &[1, 4, 1, 3])).run();
    let e = check("affine_grid").input("Theta", noise([2, 3], 1)).any_output("Output").error();
    assert!(e.contains("`affine_grid` needs matrices [n, 2, 3], but has `Theta` = Theta.0 f32[2, 3]"), "{e}");
}
