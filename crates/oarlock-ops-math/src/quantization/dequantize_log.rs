//! `dequantize_log`: the floats of a dictionary that signed integers of 8 bits name.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_tensor::DType;

use crate::quantization::integers;

pub(crate) const OPS: &[&dyn OpDef] = &[&DequantizeLog];

/// Absolute values of a dictionary.
const ENTRIES: usize = 128;

struct DequantizeLog;

impl OpDef for DequantizeLog {
    sig! {
        "dequantize_log": "Out = Dict[X] where X is not negative, else -Dict[X + 128]";
        in "X": "i8";
        in "Dict": "[128], f32: the absolute values, usually powers";
        out "Out": "like `X`, f32";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut ty = integers::expect_signed(cx, "X")?;
        cx.float("Dict")?;
        ty.dtype = DType::F32;
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, dict, out) = (p.input("X")?, p.input("Dict")?, p.output("Out")?);
        kernel(move |io| {
            let entries = io.dense(dict)?;
            let entries = checks::sized::<f32>(io, dict, &entries, ENTRIES)?;
            let number = |x: i8| if x < 0 { -entries[(i16::from(x) + 128) as usize] } else { entries[x as usize] };
            integers::map(io, (x, &*io.dense(x)?), out, number)
        })
    }
}

#[test]
fn integers_name_entries() {
    use crate::testing::{check, tensor, tensor_of};
    let entries: Vec<f32> = (0..128).map(|i| i as f32 * 0.5).collect();
    let case = |n: usize| {
        check("dequantize_log")
            .input("X", tensor_of::<i8>([4], &[-128, -1, 0, 127]))
            .input("Dict", tensor([n], &entries[..n]))
    };
    case(128).output("Out", tensor([4], &[0.0, -63.5, 0.0, 63.5])).run();
    let e = case(100).any_output("Out").error();
    assert!(e.contains("input `Dict` = `Dict.0` has 100 elements, but needs 128"), "{e}");
}
