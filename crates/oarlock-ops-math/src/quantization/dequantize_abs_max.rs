//! `dequantize_abs_max`: the floats that signed integers of 8 bits stand for, with a scale that is a variable.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_tensor::DType;

use crate::quantization::{integers, levels};

pub(crate) const OPS: &[&dyn OpDef] = &[&DequantizeAbsMax];

struct DequantizeAbsMax;

impl OpDef for DequantizeAbsMax {
    sig! {
        "dequantize_abs_max": "Out = X * Scale / max_range";
        in "X": "i8";
        in "Scale": "[1], f32";
        out "Out": "like `X`, f32";
        attr "max_range": "the integer that stands for `Scale`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut ty = integers::expect_signed(cx, "X")?;
        cx.float("Scale")?;
        ty.dtype = DType::F32;
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, scale, out) = (p.input("X")?, p.input("Scale")?, p.output("Out")?);
        let range = integers::nonzero("max_range", p.attrs().f32("max_range")?)?;
        kernel(move |io| {
            let scale = levels::scale::<f32>(io, scale)?;
            integers::map(io, (x, &*io.dense(x)?), out, |x: i8| scale * f32::from(x) / range)
        })
    }
}

#[test]
fn integers_stand_for_floats() {
    use crate::testing::{check, tensor, tensor_of};
    check("dequantize_abs_max")
        .input("X", tensor_of::<i8>([2], &[-127, 64]))
        .input("Scale", tensor([1], &[2.0]))
        .attr("max_range", 127.0f32)
        .output("Out", tensor([2], &[-2.0, 128.0 / 127.0]))
        .run();
}
