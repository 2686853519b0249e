//! `dequantize`: the floats that integers of 8 bits stand for.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::DType;

use crate::quantization::integers;

pub(crate) const OPS: &[&dyn OpDef] = &[&Dequantize];

struct Dequantize;

impl OpDef for Dequantize {
    sig! {
        "dequantize": "Output = Input / Scale";
        in "Input": "i8 or u8";
        out "Output": "like `Input`, f32";
        attr "Scale" = 1.0f32, "the integer that stands for 1";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut ty = integers::expect(cx, "Input")?;
        integers::nonzero("Scale", cx.attrs().f32("Scale")?)?;
        ty.dtype = DType::F32;
        cx.set("Output", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out) = (p.input("Input")?, p.output("Output")?);
        let factor = 1.0 / integers::nonzero("Scale", p.attrs().f32("Scale")?)?;
        kernel(move |io| {
            let tensor = io.dense(x)?;
            match tensor.dtype() {
                DType::U8 => integers::map(io, (x, &tensor), out, |x: u8| f32::from(x) * factor),
                _ => integers::map(io, (x, &tensor), out, |x: i8| f32::from(x) * factor),
            }
        })
    }
}

#[test]
fn integers_stand_for_floats() {
    use crate::testing::{check, tensor, tensor_of};
    let case = || check("dequantize").attr("Scale", 50.0f32);
    case().input("Input", tensor_of::<i8>([2], &[-100, 12])).output("Output", tensor([2], &[-2.0, 0.24])).run();
    case().input("Input", tensor_of::<u8>([2], &[255, 0])).output("Output", tensor([2], &[5.1, 0.0])).run();
    let e = case().input("Input", tensor([1], &[1.0])).any_output("Output").error();
    assert!(e.contains("`dequantize` needs i8 or u8 in `Input` = Input.0 f32[1]"), "{e}");
    let e = check("dequantize").attr("Scale", 0.0f32).input("Input", tensor_of::<i8>([1], &[1])).any_output("Output");
    assert!(e.error().contains("attribute `Scale` is 0; it must be a number other than 0"));
}
