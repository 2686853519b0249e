//! `rpn_target_assign`: anchors from which a region proposal network learns.

use oarlock_ir::{AttrView, Infer, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};

use super::anchor_targets::{self, Choice, Slots};

pub(crate) const OPS: &[&dyn OpDef] = &[&RpnTargetAssign];

struct RpnTargetAssign;

impl OpDef for RpnTargetAssign {
    sig! {
        "rpn_target_assign":
            "samples of the anchors that show an object (they overlap a box by rpn_positive_overlap, or more than any other anchor \
             does) and of those that show the background (they overlap all boxes by less than rpn_negative_overlap)";
        in "Anchor": "[anchors, 4], f32 or f64: left, top, right and bottom";
        in "GtBoxes": "[boxes, 4], with a sequence per image, in pixels of the original images";
        in "IsCrowd": "[boxes, 1], i32, with a sequence per image: boxes with a number other than 0 are left out";
        in "ImInfo": "[images, 3]: height, width and scale of each image";
        with anchor_targets::with_outputs;
        attr "rpn_batch_size_per_im" = 256, "how many anchors of an image are sampled";
        attr "rpn_straddle_thresh": "anchors that reach out of the image by more are left out; below 0 for none";
        attr "rpn_positive_overlap" = 0.7f32, "the least overlap of an object";
        attr "rpn_negative_overlap" = 0.3f32, "the overlap below which an anchor shows the background";
        attr "rpn_fg_fraction" = 0.25f32, "the largest part of objects among the samples";
        attr "use_random" = true, "sample by chance; false takes the first";
        traits Traits::GRADIENT_FREE.random(None);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        choice(&cx.attrs())?;
        anchor_targets::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, choice) = (Slots::new(p)?, choice(&p.attrs())?);
        by_float!(p.float("Anchor")?, T => kernel(move |io| anchor_targets::run::<T>(io, &slots, &choice)))
    }
}

fn choice(attrs: &AttrView<'_>) -> Result<Choice> {
    let (size, share) = (attrs.count("rpn_batch_size_per_im")?, attrs.f32("rpn_fg_fraction")?);
    let straddle = attrs.f32("rpn_straddle_thresh")?;
    Ok(Choice {
        positive: attrs.f32("rpn_positive_overlap")?,
        negative: attrs.f32("rpn_negative_overlap")?,
        sample: (size > 0 && share > 0.0).then_some((size, share)),
        straddle: (straddle >= 0.0).then_some(straddle),
        random: attrs.bool("use_random")?,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case() -> Check {
        let anchors = [0.0, 0.0, 9.0, 9.0, 1.0, 0.0, 9.0, 9.0, 20.0, 20.0, 29.0, 29.0, -5.0, 0.0, 5.0, 5.0];
        check("rpn_target_assign")
            .input("Anchor", tensor([4, 4], &anchors))
            .input("GtBoxes", with_lod(tensor([2, 4], &[0.0, 0.0, 9.0, 9.0, 20.0, 20.0, 40.0, 40.0]), &[&[0, 2]]))
            .input("IsCrowd", with_lod(tensor_of([2, 1], &[0, 1]), &[&[0, 2]]))
            .input("ImInfo", tensor([1, 3], &[50.0, 50.0, 1.0]))
            .attr("rpn_batch_size_per_im", 2)
            .attr("rpn_straddle_thresh", 0.0f32)
            .attr("rpn_fg_fraction", 0.5f32)
            .attr("use_random", false)
    }

    #[test]
    fn objects_and_background_are_sampled() {
        let lod = |n: usize| vec![0, n];
        case()
            .output("LocationIndex", with_lod(tensor_of([1], &[0]), &[&lod(1)]))
            .output("ScoreIndex", with_lod(tensor_of([2], &[0, 2]), &[&lod(2)]))
            .output("TargetBBox", with_lod(tensor([1, 4], &[0.0; 4]), &[&lod(1)]))
            .output("TargetLabel", with_lod(tensor_of([2, 1], &[1, 0]), &[&lod(2)]))
            .output("BBoxInsideWeight", with_lod(tensor([1, 4], &[1.0; 4]), &[&lod(1)]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| {
            let names = ["LocationIndex", "ScoreIndex", "TargetBBox", "TargetLabel", "BBoxInsideWeight"];
            names.iter().fold(case, |case, name| case.any_output(name)).error()
        };
        let e = outs(case().input("IsCrowd", with_lod(tensor_of([2, 1], &[0, 1]), &[&[0, 1, 2]])));
        assert!(e.contains("input `IsCrowd` = `IsCrowd.0` has 2 images, but there are 1"), "{e}");
        let e = outs(case().input("ImInfo", tensor([2, 3], &[1.0; 6])));
        assert!(e.contains("input `ImInfo` = `ImInfo.0` is [2, 3], but must be [1, 3]"), "{e}");
    }
}
