//! `moving_average_abs_max_scale`: the scale of a tensor, which itself stays as it is.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, by_float, kernel, sig};

use crate::quantization::levels;
use crate::quantization::moving_average::{self, Average};

pub(crate) const OPS: &[&dyn OpDef] = &[&MovingAverageAbsMaxScale];

struct MovingAverageAbsMaxScale;

impl OpDef for MovingAverageAbsMaxScale {
    sig! {
        "moving_average_abs_max_scale":
            "Out = X, OutScale = (moving_rate * InAccum + max |X|) / (moving_rate * InState + 1); in a test, Out = X only";
        in "X": "f32 or f64";
        out "Out": "like `X`";
        with moving_average::with_average;
        traits moving_average::TRAITS;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        moving_average::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, average) = (p.input("X")?, p.output("Out")?, Average::new(p)?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            if let Some(average) = &average {
                average.add(io, io.data::<T>(x, &tensor)?)?;
            }
            levels::map::<T>(io, (x, &tensor), out, |x| x)
        }))
    }
}

#[test]
fn tensor_stays_as_it_is() {
    use crate::testing::{check, tensor};
    let case = || check("moving_average_abs_max_scale").input("X", tensor([2], &[-3.0, 1.0]));
    case()
        .input("InAccum", tensor([1], &[1.0]))
        .input("InState", tensor([1], &[1.0]))
        .attr("moving_rate", 0.5f32)
        .output("Out", tensor([2], &[-3.0, 1.0]))
        .output("OutScale", tensor([1], &[3.5 / 1.5]))
        .output("OutAccum", tensor([1], &[3.5]))
        .output("OutState", tensor([1], &[1.5]))
        .run();
    case().attr("is_test", true).output("Out", tensor([2], &[-3.0, 1.0])).run();
}
