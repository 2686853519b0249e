//! `pow`: x to a power, element by element.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_ops_support::pointwise;
use oarlock_tensor::{DType, Element, Float};

pub(crate) const OPS: &[&dyn OpDef] = &[&Pow, &GRAD];

/// The power of this run: of the tensor if there is one.
fn factor(io: &Io<'_>, tensor: Option<In>, attr: f32) -> Result<f64> {
    tensor.map_or(Ok(attr.into()), |t| io.scalar(t))
}

struct Pow;

impl OpDef for Pow {
    sig! {
        "pow": "Out = X ^ factor";
        in "X": "f32, f64, i32 or i64";
        in? "FactorTensor": "[1]; replaces `factor`";
        out "Out": "like `X`";
        attr "factor" = 1.0f32, "the power";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        match cx.input("X")?.dtype {
            DType::I32 | DType::I64 => cx.same("Out", "X"),
            _ => pointwise::infer_like_x(cx),
        }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("X")?, p.output("Out")?);
        let (tensor, attr) = (p.maybe_input("FactorTensor")?, p.attrs().f32("factor")?);
        match p.dtype("X")? {
            DType::I32 => kernel(move |io| pow_integers::<i32>(io, x, out, factor(io, tensor, attr)?)),
            DType::I64 => kernel(move |io| pow_integers::<i64>(io, x, out, factor(io, tensor, attr)?)),
            _ => by_float!(p.float("X")?, T => kernel(move |io| {
                let e = T::of(factor(io, tensor, attr)?);
                pointwise::map(io, x, out, |v: T| power(v, e))
            })),
        }
    }
}

/// x^e, without the cost of the general function for the powers that programs mostly use.
fn power<T: Float>(x: T, e: T) -> T {
    if e == T::of(2.0) {
        x * x
    } else if e == T::ONE {
        x
    } else {
        x.powf(e)
    }
}

fn pow_integers<T: Element>(io: &Io<'_>, x: In, out: oarlock_ir::Out, e: f64) -> Result<()> {
    let mut t = io.update(x, out)?;
    for v in io.data_mut::<T>(out, &mut t)? {
        *v = T::from_f64(v.to_f64().powf(e.trunc()));
    }
    Ok(())
}

const GRAD: GradOp = GradOp::of(&Pow, "pow_grad(X, Out@GRAD, FactorTensor) -> X@GRAD")
    .doc("X@GRAD = Out@GRAD * factor * X ^ (factor - 1)")
    .traits(Traits::NONE.in_place(&[("Out@GRAD", "X@GRAD")]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let (tensor, attr) = (p.maybe_input("FactorTensor")?, p.attrs().f32("factor")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let e = T::of(factor(io, tensor, attr)?);
            pointwise::zip(io, x, dout, dx, |x: T, d: T| d * e * power(x, e - T::ONE))
        }))
    });

#[test]
fn pow() {
    use crate::testing::{check, tensor, tensor_of};
    check("pow")
        .attr("factor", 3.0f32)
        .input("X", tensor([3], &[-1.5, 0.5, 2.0]))
        .output("Out", tensor([3], &[-3.375, 0.125, 8.0]))
        .grad(&["X"])
        .run();
    check("pow")
        .input("FactorTensor", tensor([1], &[2.0]))
        .input("X", tensor([2], &[-1.5, 0.5]))
        .output("Out", tensor([2], &[2.25, 0.25]))
        .run();
    check("pow")
        .attr("factor", 2.0f32)
        .input("X", tensor_of([2], &[-3i64, 4]))
        .output("Out", tensor_of([2], &[9i64, 16]))
        .run();
}
