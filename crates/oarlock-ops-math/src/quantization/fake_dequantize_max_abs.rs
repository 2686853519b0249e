//! `fake_dequantize_max_abs`: the numbers that integers, stored as floats, stand for.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Float;

use crate::quantization::levels;

pub(crate) const OPS: &[&dyn OpDef] = &[&FakeDequantizeMaxAbs];

struct FakeDequantizeMaxAbs;

impl OpDef for FakeDequantizeMaxAbs {
    sig! {
        "fake_dequantize_max_abs": "Out = X * Scale / max_range";
        in "X": "f32 or f64: integers";
        in "Scale": "[1]";
        out "Out": "like `X`";
        attr "max_range": "the level that stands for `Scale`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        cx.float("Scale")?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, scale, out, range) = (p.input("X")?, p.input("Scale")?, p.output("Out")?, p.attrs().f32("max_range")?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            let (scale, range) = (levels::scale::<T>(io, scale)?, T::of(range.into()));
            levels::map::<T>(io, (x, &*io.dense(x)?), out, |x| scale * x / range)
        }))
    }
}

#[test]
fn integers_stand_for_numbers() {
    use crate::testing::{check, tensor};
    check("fake_dequantize_max_abs")
        .input("X", tensor([2], &[-127.0, 64.0]))
        .input("Scale", tensor([1], &[2.0]))
        .attr("max_range", 127.0f32)
        .output("Out", tensor([2], &[-2.0, 128.0 / 127.0]))
        .run();
}
