//! `retinanet_target_assign`: anchors from which RetinaNet learns.

use oarlock_ir::{AttrView, Dim, Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig};
use oarlock_tensor::DType;

use crate::proposals::anchor_targets::{self, Choice, Slots};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&RetinanetTargetAssign];

struct RetinanetTargetAssign;

impl OpDef for RetinanetTargetAssign {
    sig! {
        "retinanet_target_assign":
            "all anchors that show an object (they overlap a box by positive_overlap, or more than any other anchor does) and all \
             that show the background (they overlap all boxes by less than negative_overlap)";
        in "Anchor": "[anchors, 4], f32 or f64: left, top, right and bottom";
        in "GtBoxes": "[boxes, 4], with a sequence per image, in pixels of the original images";
        in "GtLabels": "[boxes, 1], i32, with a sequence per image: classes, from 1";
        in "IsCrowd": "[boxes, 1], i32, with a sequence per image: boxes with a number other than 0 are left out";
        in "ImInfo": "[images, 3]: height, width and scale of each image";
        with anchor_targets::with_outputs;
        out "ForegroundNumber": "[images, 1], i32: one more than there are objects";
        attr "positive_overlap" = 0.5f32, "the least overlap of an object";
        attr "negative_overlap" = 0.4f32, "the overlap below which an anchor shows the background";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        choice(&cx.attrs())?;
        anchor_targets::infer(cx)?;
        let rows = cx.input("GtBoxes")?.shape[0].known();
        sizes::expect(cx, "GtLabels", &cx.integer("GtLabels")?, &[rows, Some(1)], "a label per row of `GtBoxes`")?;
        cx.set("ForegroundNumber", VarType::tensor(DType::I32, vec![Dim::Any, Dim::Is(1)]).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, choice) = (Slots::new(p)?, choice(&p.attrs())?);
        by_float!(p.float("Anchor")?, T => kernel(move |io| anchor_targets::run::<T>(io, &slots, &choice)))
    }
}

fn choice(attrs: &AttrView<'_>) -> Result<Choice> {
    Ok(Choice {
        positive: attrs.f32("positive_overlap")?,
        negative: attrs.f32("negative_overlap")?,
        sample: None,
        straddle: None,
        random: false,
    })
}

#[test]
fn objects_take_the_labels_of_their_boxes() {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};
    let case = || -> Check {
        let anchors = [0.0, 0.0, 9.0, 9.0, 20.0, 20.0, 29.0, 29.0, 40.0, 40.0, 49.0, 49.0];
        check("retinanet_target_assign")
            .input("Anchor", tensor([3, 4], &anchors))
            .input("GtBoxes", with_lod(tensor([2, 4], &[0.0, 0.0, 9.0, 9.0, 20.0, 20.0, 29.0, 28.0]), &[&[0, 2]]))
            .input("GtLabels", with_lod(tensor_of([2, 1], &[7, 3]), &[&[0, 2]]))
            .input("IsCrowd", with_lod(tensor_of([2, 1], &[0, 0]), &[&[0, 2]]))
            .input("ImInfo", tensor([1, 3], &[50.0, 50.0, 1.0]))
            .any_output("TargetBBox")
    };
    case()
        .output("LocationIndex", with_lod(tensor_of([2], &[0, 1]), &[&[0, 2]]))
        .output("ScoreIndex", with_lod(tensor_of([3], &[0, 1, 2]), &[&[0, 3]]))
        .output("TargetLabel", with_lod(tensor_of([3, 1], &[7, 3, 0]), &[&[0, 3]]))
        .output("BBoxInsideWeight", with_lod(tensor([2, 4], &[1.0; 8]), &[&[0, 2]]))
        .output("ForegroundNumber", with_lod(tensor_of([1, 1], &[3]), &[&[0, 1]]))
        .run();
    let names = ["LocationIndex", "ScoreIndex", "TargetLabel", "BBoxInsideWeight", "ForegroundNumber"];
    let wrong = case().input("GtLabels", with_lod(tensor_of([3, 1], &[7, 3, 1]), &[&[0, 3]]));
    let e = names.iter().fold(wrong, |case, name| case.any_output(name)).error();
    assert!(e.contains("needs a label per row of `GtBoxes` in `GtLabels`"), "{e}");
}
