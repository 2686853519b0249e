//! `quantize`: floats as integers of 8 bits.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_tensor::DType;

use crate::quantization::integers;

pub(crate) const OPS: &[&dyn OpDef] = &[&Quantize];

struct Quantize;

impl OpDef for Quantize {
    sig! {
        "quantize": "Output = Input * Scale, rounded and bounded to what 8 bits hold";
        in "Input": "f32";
        out "Output": "like `Input`: i8 with `is_negative_input`, else u8";
        attr "is_negative_input" = false, "write signed integers";
        attr "Scale" = 1.0f32, "the integer that stands for 1";
        // The order in memory of another library; tensors are the same.
        hints ["output_format"];
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut ty = cx.input("Input")?;
        if ty.dtype != DType::F32 {
            fail!(Kind::DType, "`quantize` needs f32 in {}", cx.describe("Input"));
        }
        ty.dtype = if cx.attrs().bool("is_negative_input")? { DType::I8 } else { DType::U8 };
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, scale) = (p.input("Input")?, p.output("Output")?, p.attrs().f32("Scale")?);
        let signed = p.attrs().bool("is_negative_input")?;
        kernel(move |io| {
            let tensor = io.dense(x)?;
            if signed {
                integers::map(io, (x, &tensor), out, |x: f32| integers::nearest::<i8>(x * scale))
            } else {
                integers::map(io, (x, &tensor), out, |x: f32| integers::nearest::<u8>(x * scale))
            }
        })
    }
}

#[test]
fn numbers_are_bounded() {
    use crate::testing::{check, tensor, tensor_of};
    let case = || check("quantize").input("Input", tensor([4], &[-2.0, 0.25, 1.26, 9.0])).attr("Scale", 50.0f32);
    case().output("Output", tensor_of::<u8>([4], &[0, 12, 63, 255])).run();
    case().attr("is_negative_input", true).output("Output", tensor_of::<i8>([4], &[-100, 12, 63, 127])).run();
}
