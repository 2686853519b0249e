//! `fake_quantize_range_abs_max`: a tensor rounded to integers; its scale is the greatest of a window of steps.

use oarlock_ir::{
    Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, fail, kernel, sig, slots,
};
use oarlock_tensor::{Dims, Float};

use crate::quantization::levels::{self, Levels};

pub(crate) const OPS: &[&dyn OpDef] = &[&FakeQuantizeRangeAbsMax];

struct FakeQuantizeRangeAbsMax;

impl OpDef for FakeQuantizeRangeAbsMax {
    sig! {
        "fake_quantize_range_abs_max":
            "OutScale = the greatest max |X| of the last window_size steps, \
             Out = round(X / OutScale * (2^(bit_length - 1) - 1)) with X bounded by OutScale; in a test, OutScale is InScale";
        in "X": "f32 or f64";
        in "InScale": "[1], the scale of the step before";
        in? "Iter": "one i64, the number of the step; needed in training";
        out "Out": "like `X`: integers";
        out "OutScale": "[1], usually `InScale` itself";
        out? "OutScales": "[window_size], max |X| of the last steps; it is read, too";
        attr "window_size" = 10000, "how many steps count";
        attr "bit_length" = 8, "bits of the integers, from 1 to 16";
        attr "is_test" = false, "leave the scale as it is";
        traits Traits::GRADIENT_FREE.in_place(&[("InScale", "OutScale")]).whole_tensor();
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        levels::greatest(&cx.attrs())?;
        let window = cx.attrs().count("window_size")?;
        cx.set("OutScale", VarType::tensor(x.dtype, vec![Dim::Is(1)]));
        cx.set("OutScales", VarType::tensor(x.dtype, vec![Dim::Is(window)]));
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let range = Range::new(p)?;
        if !range.test && (range.step.is_none() || range.out_scales.is_none() || range.window == 0) {
            fail!(
                Kind::Missing,
                "`fake_quantize_range_abs_max` needs `Iter`, `OutScales` and a `window_size` above 0 in training"
            );
        }
        by_float!(p.float("X")?, T => kernel(move |io| range.run::<T>(io)))
    }
}

slots! {
    struct Range(p) {
        x: input "X",
        in_scale: input "InScale",
        step: maybe_input "Iter",
        out: output "Out",
        out_scale: output "OutScale",
        out_scales: maybe_output "OutScales",
        window: count "window_size",
        test: bool "is_test",
        greatest: f64 = levels::greatest(&p.attrs())?,
    }
}

impl Range {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let tensor = io.dense(self.x)?;
        let mut scale = levels::scale::<T>(io, self.in_scale)?;
        if let (false, Some(step)) = (self.test, self.step) {
            let step = io.index(step)?.max(0) as usize;
            scale = self.next(io, scale, levels::abs_max(io.data::<T>(self.x, &tensor)?), step)?;
        }
        let levels = Levels::new(scale, self.greatest);
        levels::map::<T>(io, (self.x, &tensor), self.out, |x| levels.level(x))?;
        levels::set(io, self.out_scale, scale)
    }

    /// Puts the scale of this step into the window; returns the greatest.
    fn next<T: Float>(&self, io: &Io<'_>, last: T, now: T, step: usize) -> Result<T> {
        let Some(out) = self.out_scales else { return Ok(last) };
        let mut tensor = io.out(out)?;
        if tensor.dtype() != T::DTYPE || tensor.dims()[..] != [self.window] {
            tensor.resize(T::DTYPE, Dims::from([self.window]));
            tensor.bytes_mut().fill(0);
        }
        let scales = io.data_mut::<T>(out, &mut tensor)?;
        let removed = std::mem::replace(&mut scales[step % self.window], now);
        if last < now {
            return Ok(now);
        }
        // The greatest left the window.
        if (removed - last).abs().f64() < 1e-6 {
            return Ok(levels::abs_max(&scales[..step.min(self.window)]));
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of};

    fn case(scale: f32, step: i64) -> Check {
        check("fake_quantize_range_abs_max")
            .input("X", tensor([3], &[-1.0, 0.5, 2.0]))
            .input("InScale", tensor([1], &[scale]))
            .input("Iter", tensor_of([1], &[step]))
            .attr("window_size", 3)
    }

    #[test]
    fn scale_is_the_greatest_of_the_window() {
        case(1.0, 0)
            .output("Out", tensor([3], &[-64.0, 32.0, 127.0]))
            .output("OutScale", tensor([1], &[2.0]))
            .output("OutScales", tensor([3], &[2.0, 0.0, 0.0]))
            .run();
        case(4.0, 1)
            .output("Out", tensor([3], &[-32.0, 16.0, 64.0]))
            .output("OutScale", tensor([1], &[4.0]))
            .output("OutScales", tensor([3], &[0.0, 2.0, 0.0]))
            .run();
    }

    #[test]
    fn test_keeps_the_scale() {
        case(1.0, 0)
            .attr("is_test", true)
            .output("Out", tensor([3], &[-127.0, 64.0, 127.0]))
            .output("OutScale", tensor([1], &[1.0]))
            .run();
    }

    #[test]
    fn training_needs_the_window() {
        let e = case(1.0, 0).any_output("Out").any_output("OutScale").error();
        assert!(e.contains("needs `Iter`, `OutScales` and a `window_size` above 0 in training"), "{e}");
    }
}
