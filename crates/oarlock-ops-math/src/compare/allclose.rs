//! `allclose`: whether two tensors are equal but for rounding.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Float;

use crate::compare::predicate::{answer, one_bool};

pub(crate) const OPS: &[&dyn OpDef] = &[&AllClose];

struct AllClose;

impl OpDef for AllClose {
    sig! {
        "allclose": "Out = |Input - Other| <= atol + rtol * |Other| everywhere";
        in "Input": "any float tensor";
        in "Other": "of the same dtype and shape";
        out "Out": "bool, of shape [1]";
        attr "rtol" = 1e-5f32, "tolerance in proportion to `Other`";
        attr "atol" = 1e-8f32, "fixed tolerance";
        attr "equal_nan" = false, "not-a-number equals itself";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.float("Input")?;
        cx.set("Out", one_bool());
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (a, b, out) = (p.input("Input")?, p.input("Other")?, p.output("Out")?);
        let (rtol, atol) = (p.attrs().f32("rtol")?, p.attrs().f32("atol")?);
        let nan = p.attrs().bool("equal_nan")?;
        by_float!(p.float("Input")?, T => kernel(move |io| {
            let (a_tensor, b_tensor) = (io.dense(a)?, io.dense(b)?);
            if a_tensor.dims() != b_tensor.dims() {
                let what = format_args!("is {}, but {} is {}", a_tensor.dims(), io.describe(b), b_tensor.dims());
                return Err(io.error(Kind::Shape, a, what));
            }
            let (rtol, atol) = (T::of(rtol.into()), T::of(atol.into()));
            let close = |(a, b): (&T, &T)| match (a.is_nan(), b.is_nan()) {
                (false, false) => a == b || (*a - *b).abs() <= atol + rtol * b.abs(),
                (a, b) => nan && a == b,
            };
            let all = io.data::<T>(a, &a_tensor)?.iter().zip(io.data::<T>(b, &b_tensor)?).all(close);
            answer(io, out, all)
        }))
    }
}

#[test]
fn allclose() {
    use oarlock_tensor::{B8, Tensor};

    use crate::testing::{check, tensor};
    let compare = |a: f32, b: f32, nan: bool, expected: bool| {
        check("allclose")
            .input("Input", tensor([2], &[1.0, a]))
            .input("Other", tensor([2], &[1.0, b]))
            .attr("equal_nan", nan)
            .output("Out", Tensor::scalar(B8::from(expected)))
            .run();
    };
    compare(1000.0, 1000.005, false, true);
    compare(1000.0, 1000.05, false, false);
    compare(f32::NAN, f32::NAN, false, false);
    compare(f32::NAN, f32::NAN, true, true);
    compare(f32::INFINITY, f32::INFINITY, false, true);
}
