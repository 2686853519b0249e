//! `fake_quantize_abs_max`: a tensor rounded to integers, with its greatest absolute value as the scale.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig};

use crate::quantization::levels::{self, Levels};

pub(crate) const OPS: &[&dyn OpDef] = &[&FakeQuantizeAbsMax];

struct FakeQuantizeAbsMax;

impl OpDef for FakeQuantizeAbsMax {
    sig! {
        "fake_quantize_abs_max":
            "OutScale = max |X|, Out = round(X / OutScale * (2^(bit_length - 1) - 1)), still stored as floats";
        in "X": "f32 or f64";
        out "Out": "like `X`: integers";
        out "OutScale": "[1]";
        attr "bit_length" = 8, "bits of the integers, from 1 to 16";
        traits Traits::GRADIENT_FREE.whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        levels::greatest(&cx.attrs())?;
        cx.set("OutScale", VarType::tensor(x.dtype, vec![Dim::Is(1)]));
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, out_scale) = (p.input("X")?, p.output("Out")?, p.output("OutScale")?);
        let greatest = levels::greatest(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            let tensor = io.dense(x)?;
            let scale = levels::abs_max(io.data::<T>(x, &tensor)?);
            let levels = Levels::new(scale, greatest);
            levels::map::<T>(io, (x, &tensor), out, |x| levels.level(x))?;
            levels::set(io, out_scale, scale)
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor};

    #[test]
    fn greatest_number_has_the_greatest_level() {
        let case = || check("fake_quantize_abs_max").input("X", tensor([4], &[-2.0, 0.5, 1.0, 0.013]));
        case().output("Out", tensor([4], &[-127.0, 32.0, 64.0, 1.0])).output("OutScale", tensor([1], &[2.0])).run();
        case()
            .attr("bit_length", 3)
            .output("Out", tensor([4], &[-3.0, 1.0, 2.0, 0.0]))
            .output("OutScale", tensor([1], &[2.0]))
            .run();
        let e = case().attr("bit_length", 17).any_output("Out").any_output("OutScale").error();
        assert!(e.contains("attribute `bit_length` is 17; it must be from 1 to 16"), "{e}");
    }

    #[test]
    fn zeros_stay_zeros() {
        check("fake_quantize_abs_max")
            .input("X", tensor([2], &[0.0, 0.0]))
            .output("Out", tensor([2], &[0.0, 0.0]))
            .output("OutScale", tensor([1], &[0.0]))
            .run();
    }
}
