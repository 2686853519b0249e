//! `relu`: max(x, 0), element by element.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::double_gradient::{self, DoubleGradient, GradGrad, Of, Point};
use oarlock_ops_support::pointwise;
use oarlock_tensor::{Float, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&Relu, &GRAD, &GradGrad::<Relu>::OP];

struct Relu;

impl OpDef for Relu {
    sig! {
        "relu": "Out = max(X, 0)";
        in "X": "any float tensor";
        out "Out": "like `X`";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pointwise::infer_like_x(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| relu_kernel::<T>(io, x, out)))
    }
}

// Through the vector loops, like the fused fully connected layer: a nan stays one in both.
fn relu_kernel<T: Float>(io: &Io<'_>, x: In, out: Out) -> Result<()> {
    if out.is(x) {
        let mut t = io.update(x, out)?;
        simd::relu_assign(io.data_mut::<T>(out, &mut t)?);
        return Ok(());
    }
    let from = io.dense(x)?;
    let mut to = io.out_sized(out, T::DTYPE, *from.dims())?;
    to.set_lod(from.lod().clone());
    simd::relu(io.data_mut::<T>(out, &mut to)?, io.data::<T>(x, &from)?);
    Ok(())
}

// Reads `Out` rather than `X`, so that `X` can be overwritten.
const GRAD: GradOp = GradOp::of(&Relu, "relu_grad(Out, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD where Out > 0, else 0")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .infer(|cx| cx.same("X@GRAD", "Out"))
    .grad(double_gradient::emit::<Relu>)
    .kernel(|p| {
        let grad = |y: f32, d: f32| if y > 0.0 { d } else { 0.0 };
        pointwise::grad_kernel(p, "Out", grad, |y, d| if y > 0.0 { d } else { 0.0 })
    });

impl DoubleGradient for Relu {
    const TYPE: &'static str = "relu_grad_grad";
    const DOC: &'static str = "DDOut = DDX where Out > 0, else 0";
    const READS: &'static [&'static str] = &["Out"];
    const WRITES: &'static [(&'static str, Of)] = &[("DDOut", Of::Out)];

    fn values<T: Float>(p: Point<T>) -> [T; 3] {
        [if p.out > T::ZERO { p.ddx } else { T::ZERO }, T::ZERO, T::ZERO]
    }
}

#[test]
fn relu() {
    use crate::testing::{check, tensor};
    check("relu")
        .input("X", tensor([2, 2], &[-1.0, 0.5, 2.0, -0.25]))
        .output("Out", tensor([2, 2], &[0.0, 0.5, 2.0, 0.0]))
        .grad(&["X"])
        .run();
}
