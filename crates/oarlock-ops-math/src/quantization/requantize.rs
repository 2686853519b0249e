//! `requantize`: integers of 8 bits with one scale as integers with another.

use oarlock_ir::{AttrView, Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::DType;

use crate::quantization::integers::{self, nearest};

pub(crate) const OPS: &[&dyn OpDef] = &[&Requantize];

struct Requantize;

impl OpDef for Requantize {
    sig! {
        "requantize": "Output = Input * Scale_out / Scale_in, rounded and bounded to what 8 bits hold";
        in "Input": "i8 or u8";
        out "Output": "like `Input`";
        attr "Scale_in" = 1.0f32, "the integer of `Input` that stands for 1";
        attr "Scale_out" = 1.0f32, "the integer of `Output` that stands for 1";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = integers::expect(cx, "Input")?;
        factor(&cx.attrs())?;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, factor) = (p.input("Input")?, p.output("Output")?, factor(&p.attrs())?);
        kernel(move |io| {
            let tensor = io.dense(x)?;
            match tensor.dtype() {
                DType::U8 => integers::map(io, (x, &tensor), out, |x: u8| nearest::<u8>(f32::from(x) * factor)),
                _ => integers::map(io, (x, &tensor), out, |x: i8| nearest::<i8>(f32::from(x) * factor)),
            }
        })
    }
}

fn factor(attrs: &AttrView<'_>) -> Result<f32> {
    Ok(attrs.f32("Scale_out")? / integers::nonzero("Scale_in", attrs.f32("Scale_in")?)?)
}

#[test]
fn integers_change_their_scale() {
    use crate::testing::{check, tensor_of};
    check("requantize")
        .input("Input", tensor_of::<i8>([3], &[-100, 3, 60]))
        .attr("Scale_in", 2.0f32)
        .attr("Scale_out", 5.0f32)
        .output("Output", tensor_of::<i8>([3], &[-128, 8, 127]))
        .run();
}
