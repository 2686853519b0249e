//! `unfold`: the windows of an image side by side.

use oarlock_ir::{Dim, GradOp, Infer, Kernel, OpDef, Prepare, Result, Sig, Traits, VarType, by_float, kernel};
use oarlock_tensor::{Dims, Element};

use crate::conv::unfolding::Unfold as Windows;

pub(crate) const OPS: &[&dyn OpDef] = &[&Unfold, &GRAD];

fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("kernel_sizes", "height and width of the window")
        .required_attr("strides", "steps of the window, vertical and horizontal")
        .required_attr("paddings", "zeros above, left, below, right")
        .required_attr("dilations", "distance of the window's elements, vertical and horizontal")
}

struct Unfold;

impl OpDef for Unfold {
    fn sig(&self) -> Sig {
        let sig = Sig::new("unfold", "Y = a column for every position of the window, with the pixels it covers");
        with_attrs(sig.input("X", "[n, channels, h, w], f32 or f64").output("Y", "[n, channels * window, positions]"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, windows) = (cx.float("X")?, Windows::new(&cx.attrs())?);
        let [n, c, h, w] = x.shape[..] else {
            return Err(cx.shape_error(format_args!("needs images of four sizes, but has {}", cx.describe("X"))));
        };
        let positions = match (h.known(), w.known()) {
            (Some(h), Some(w)) => match windows.positions(h, w) {
                Some(positions) => Dim::Is(positions),
                None => {
                    return Err(
                        cx.shape_error(format_args!("has a window larger than the image: {}", cx.describe("X")))
                    );
                }
            },
            _ => Dim::Any,
        };
        let terms = c.known().map_or(Dim::Any, |c| Dim::Is(c * windows.window()));
        cx.set("Y", VarType::tensor(x.dtype, vec![n, terms, positions]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, windows) = (p.input("X")?, p.output("Y")?, Windows::new(&p.attrs())?);
        by_float!(p.float("X")?, T => {
            let mut scratch = Vec::<T>::new();
            kernel(move |io| {
                let x_tensor = io.dense(x)?;
                let sizes = windows.sizes(io, x, x_tensor.dims())?;
                let mut t = io.out_sized(y, T::DTYPE, Dims::from(sizes.columns()))?;
                sizes.unfold(io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(y, &mut t)?, &mut scratch);
                Ok(())
            })
        })
    }
}

const GRAD: GradOp = GradOp::of(&Unfold, "unfold_grad(X, Y@GRAD) -> X@GRAD")
    .doc("X@GRAD = for every pixel, the sum of Y@GRAD over the windows that cover it")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dy, dx, windows) = (p.input("X")?, p.input("Y@GRAD")?, p.output("X@GRAD")?, Windows::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (x_tensor, dy_tensor) = (io.dense(x)?, io.dense(dy)?);
            let sizes = windows.sizes(io, x, x_tensor.dims())?;
            let d = io.data::<T>(dy, &dy_tensor)?;
            oarlock_ops_support::class_axis::same_count(io, x, dy, sizes.columns().iter().product(), d.len())?;
            let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
            sizes.fold(d, io.data_mut::<T>(dx, &mut t)?);
            Ok(())
        }))
    });

#[test]
fn windows_side_by_side() {
    use crate::testing::{check, noise, tensor};
    let case = |kernel: [i32; 2], paddings: [i32; 4]| {
        check("unfold")
            .attr("kernel_sizes", kernel.to_vec())
            .attr("strides", vec![1, 1])
            .attr("paddings", paddings.to_vec())
            .attr("dilations", vec![1, 1])
    };
    let x = || tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let y = tensor([1, 2, 4], &[0.0, 1.0, 0.0, 3.0, 1.0, 2.0, 3.0, 4.0]);
    case([1, 2], [0, 1, 0, 0]).input("X", x()).output("Y", y).grad(&["X"]).run();
    case([1, 1], [0, 0, 0, 0]).input("X", noise([2, 2, 2, 3], 1)).any_output("Y").grad(&["X"]).run();
    let e = case([3, 3], [0, 0, 0, 0]).input("X", x()).any_output("Y").error();
    assert!(e.contains("`unfold` has a window larger than the image: `X` = X.0 f32[1, 1, 2, 2]"), "{e}");
}
