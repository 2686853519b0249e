//! The two operators that quantize by a moving average of scales: to integers, or to the numbers that those stand for.

use oarlock_ir::{Infer, Io, Kernel, OpDef, Prepare, Result, Sig, by_float, kernel};

use crate::quantization::levels::{self, Levels};
use crate::quantization::moving_average::{self, Average};

/// One of the operators.
pub(crate) struct Simulated {
    pub(crate) op_type: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) out: &'static str,
    /// Gives numbers, not levels.
    pub(crate) dequantize: bool,
}

impl OpDef for Simulated {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.op_type, self.doc)
            .input("X", "f32 or f64")
            .input("InScale", "[1], the scale of the step before; used in a test")
            .output("Out", self.out);
        moving_average::with_average(sig)
            .attr("bit_length", 8, "bits of the integers, from 1 to 16")
            .traits(moving_average::TRAITS)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        levels::greatest(&cx.attrs())?;
        moving_average::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, in_scale, out, out_scale) =
            (p.input("X")?, p.input("InScale")?, p.output("Out")?, p.output("OutScale")?);
        let (greatest, average, dequantize) = (levels::greatest(&p.attrs())?, Average::new(p)?, self.dequantize);
        by_float!(p.float("X")?, T => kernel(move |io: &Io<'_>| {
            let tensor = io.dense(x)?;
            let scale = match &average {
                Some(average) => average.add(io, io.data::<T>(x, &tensor)?)?,
                None => {
                    let scale = levels::scale::<T>(io, in_scale)?;
                    levels::set(io, out_scale, scale)?;
                    scale
                }
            };
            let levels = Levels::new(scale, greatest);
            let apply = |x: T| if dequantize { levels.number(levels.level(x)) } else { levels.level(x) };
            levels::map(io, (x, &tensor), out, apply)
        }))
    }
}

/// The case that both test.
#[cfg(test)]
pub(crate) fn case(op_type: &str) -> crate::testing::Check {
    use crate::testing::{check, tensor};
    check(op_type)
        .input("X", tensor([3], &[-1.0, 0.5, 4.0]))
        .input("InScale", tensor([1], &[2.0]))
        .input("InAccum", tensor([1], &[5.0]))
        .input("InState", tensor([1], &[2.0]))
        .attr("moving_rate", 0.5f32)
}
