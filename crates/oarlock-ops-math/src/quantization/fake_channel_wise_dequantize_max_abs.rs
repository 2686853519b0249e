//! `fake_channel_wise_dequantize_max_abs`: the numbers that integers stand for, with a scale per channel.

use oarlock_ir::{Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, fail, kernel, sig, slots};
use oarlock_ops_support::checks;
use oarlock_tensor::Float;

use crate::quantization::levels;

pub(crate) const OPS: &[&dyn OpDef] = &[&ChannelWise];

struct ChannelWise;

impl OpDef for ChannelWise {
    sig! {
        "fake_channel_wise_dequantize_max_abs":
            "with one scale tensor, Out[c] = X[c] * Scales[0][c] / n; with two, Out[:, c] = X[:, c] * Scales[0][c] * Scales[1] / n; \
             n is the product of 2^(bits - 1) - 1";
        in "X": "f32 or f64: integers, [channels, ...] or [batch, channels, ...]";
        in* "Scales": "[channels], and perhaps [1]";
        out "Out": "like `X`";
        attr "quant_bits" = vec![8], "bits of the integers that each scale belongs to";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let scales = cx.inputs("Scales")?.len();
        if !(1..=2).contains(&scales) || x.shape.rank() < scales {
            let what = format_args!("cannot scale {} by {scales} tensors", cx.describe("X"));
            return Err(cx
                .shape_error(what)
                .help("one tensor has a scale per row, two have one per channel and one for all"));
        }
        range(&cx.attrs().ints("quant_bits")?, scales)?;
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        by_float!(p.float("X")?, T => kernel(move |io| slots.run::<T>(io)))
    }
}

/// The level that stands for the product of all scales.
fn range(bits: &[i64], scales: usize) -> Result<f64> {
    if bits.len() < scales {
        fail!(Kind::Argument, "attribute `quant_bits` has {} numbers, but there are {scales} scales", bits.len());
    }
    bits[..scales].iter().try_fold(1.0, |range, &bits| Ok(range * levels::of_bits("quant_bits", bits)?))
}

slots! {
    struct Slots(p) {
        x: input "X",
        scales: inputs "Scales",
        out: output "Out",
        range: f64 = range(&p.attrs().ints("quant_bits")?, p.inputs("Scales")?.len())?,
    }
}

impl Slots {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (x, first) = (io.dense(self.x)?, io.dense(self.scales[0])?);
        // The axis of channels is the second one where a scale for the whole tensor comes, too.
        let axis = self.scales.len() - 1;
        let (_, inner) = x.dims().matrix(axis + 1);
        let channels = x.dims()[axis];
        let scales = checks::sized::<T>(io, self.scales[0], &first, channels)?;
        let second = match self.scales.get(1) {
            Some(&input) => {
                checks::expect_elements(io, input, io.dense(input)?.numel(), 1)?;
                Some(levels::scale::<T>(io, input)?)
            }
            None => None,
        };
        let mut to = io.out_sized(self.out, T::DTYPE, *x.dims())?;
        to.set_lod(x.lod().clone());
        let range = T::of(self.range);
        let pieces = io.data_mut::<T>(self.out, &mut to)?.chunks_exact_mut(inner.max(1));
        for (i, (to, x)) in pieces.zip(io.data::<T>(self.x, &x)?.chunks_exact(inner.max(1))).enumerate() {
            let scale = scales[i % channels];
            let scale = second.map_or(scale, |second| scale * second);
            to.iter_mut().zip(x).for_each(|(to, x)| *to = scale * *x / range);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor};

    #[test]
    fn channels_have_their_own_scale() {
        let case =
            || check("fake_channel_wise_dequantize_max_abs").input("X", tensor([2, 2], &[127.0, 254.0, 127.0, 0.0]));
        case()
            .inputs("Scales", vec![tensor([2], &[1.0, 2.0])])
            .output("Out", tensor([2, 2], &[1.0, 2.0, 2.0, 0.0]))
            .run();
        case()
            .inputs("Scales", vec![tensor([2], &[1.0, 2.0]), tensor([1], &[127.0])])
            .attr("quant_bits", vec![8, 8])
            .output("Out", tensor([2, 2], &[1.0, 4.0, 1.0, 0.0]))
            .run();
        let e = case().inputs("Scales", vec![tensor([3], &[1.0; 3])]).any_output("Out").error();
        assert!(e.contains("input `Scales` = `Scales.0` has 3 elements, but needs 2"), "{e}");
        let two = vec![tensor([2], &[1.0; 2]), tensor([1], &[1.0])];
        let e = case().inputs("Scales", two).any_output("Out").error();
        assert!(e.contains("attribute `quant_bits` has 1 numbers, but there are 2 scales"), "{e}");
    }
}
