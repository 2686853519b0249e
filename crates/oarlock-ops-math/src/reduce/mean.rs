//! `mean`: the mean of all elements.

use oarlock_ir::{Dim, GradOp, Infer, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig};
use oarlock_tensor::{Dims, Element, Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&Mean, &GRAD];

struct Mean;

impl OpDef for Mean {
    sig! {
        "mean": "Out = mean of all elements of X";
        in "X": "any float tensor";
        out "Out": "of shape [1]";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.set("Out", VarType::tensor(x.dtype, Shape(vec![Dim::Is(1)])));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let data = io.data::<T>(x, &tensor)?;
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([1]))?;
            io.data_mut::<T>(out, &mut to)?[0] = simd::sum(data) / T::of(data.len() as f64);
            Ok(())
        }))
    }
}

const GRAD: GradOp = GradOp::of(&Mean, "mean_grad(X, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD / number of elements of X")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let d = io.dense(dout)?;
            let &[d] = io.data::<T>(dout, &d)? else {
                return Err(io.error(Kind::Shape, dout, "must be one number, as `Out` of the forward operator is"));
            };
            let mut to = io.out_sized(dx, T::DTYPE, *tensor.dims())?;
            to.set_lod(tensor.lod().clone());
            io.data_mut::<T>(dx, &mut to)?.fill(d / T::of(tensor.numel() as f64));
            Ok(())
        }))
    });

#[test]
fn mean() {
    use crate::testing::{check, tensor};
    check("mean")
        .input("X", tensor([2, 2], &[-1.0, 0.5, 2.0, -0.25]))
        .output("Out", tensor([1], &[0.3125]))
        .grad(&["X"])
        .run();
}
