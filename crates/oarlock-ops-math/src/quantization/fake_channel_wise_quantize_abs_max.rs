//! `fake_channel_wise_quantize_abs_max`: every row of a tensor rounded to integers with a scale of its own.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig};
use oarlock_tensor::{Dims, Element};

use crate::quantization::levels::{self, Levels};

pub(crate) const OPS: &[&dyn OpDef] = &[&ChannelWise];

struct ChannelWise;

impl OpDef for ChannelWise {
    sig! {
        "fake_channel_wise_quantize_abs_max":
            "OutScale[c] = max |X[c]|, Out[c] = round(X[c] / OutScale[c] * (2^(bit_length - 1) - 1)), still stored as floats";
        in "X": "[channels, ...], f32 or f64";
        out "Out": "like `X`: integers";
        out "OutScale": "[channels]";
        attr "bit_length" = 8, "bits of the integers, from 1 to 16";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        levels::greatest(&cx.attrs())?;
        let Some(&channels) = x.shape.first() else {
            return Err(cx.shape_error(format_args!("needs channels, but has {}", cx.describe("X"))));
        };
        cx.set("OutScale", VarType::tensor(x.dtype, vec![channels]));
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, out_scale) = (p.input("X")?, p.output("Out")?, p.output("OutScale")?);
        let greatest = levels::greatest(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let (channels, width) = tensor.dims().matrix(1);
            let mut scales = io.out_sized(out_scale, <T as Element>::DTYPE, Dims::from([channels]))?;
            let mut to = io.out_sized(out, <T as Element>::DTYPE, *tensor.dims())?;
            to.set_lod(tensor.lod().clone());
            let rows = io.data::<T>(x, &tensor)?.chunks_exact(width.max(1));
            let to = io.data_mut::<T>(out, &mut to)?.chunks_exact_mut(width.max(1));
            for ((row, to), scale) in rows.zip(to).zip(io.data_mut::<T>(out_scale, &mut scales)?) {
                *scale = levels::abs_max(row);
                let levels = Levels::new(*scale, greatest);
                to.iter_mut().zip(row).for_each(|(to, x)| *to = levels.level(*x));
            }
            Ok(())
        }))
    }
}

#[test]
fn channels_have_their_own_scale() {
    use crate::testing::{check, tensor};
    check("fake_channel_wise_quantize_abs_max")
        .input("X", tensor([2, 2], &[-2.0, 1.0, 0.1, 0.05]))
        .output("Out", tensor([2, 2], &[-127.0, 64.0, 127.0, 64.0]))
        .output("OutScale", tensor([2], &[2.0, 0.1]))
        .run();
}
