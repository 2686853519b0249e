//! `multiclass_nms2`: `multiclass_nms` that also returns which boxes stay.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, sig};

use super::multiclass;

pub(crate) const OPS: &[&dyn OpDef] = &[&MulticlassNms2];

struct MulticlassNms2;

impl OpDef for MulticlassNms2 {
    sig! {
        "multiclass_nms2":
            "Out = class, score and box of the boxes that stay, as in `multiclass_nms`; Index = their numbers in the batch";
        with multiclass::with_inputs;
        out "Out": "[n, 2 + values of a box], with a sequence per image";
        out? "Index": "[n, 1], i32: image * m + box, or box * classes + class if each class has its own boxes";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        multiclass::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        multiclass::prepare(p)
    }
}

#[test]
fn image_may_have_no_boxes() {
    use crate::testing::{check, tensor, tensor_of, with_lod};
    let lod: &[&[usize]] = &[&[0, 0, 1]];
    let boxes = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
    check("multiclass_nms2")
        .input("BBoxes", with_lod(tensor([1, 2, 4], &boxes), lod))
        .input("Scores", with_lod(tensor([1, 2], &[0.9, 0.5]), lod))
        .attr("score_threshold", 0.1f32)
        .attr("nms_top_k", -1)
        .attr("keep_top_k", -1)
        .output("Out", with_lod(tensor([1, 6], &[1.0, 0.5, 2.0, 2.0, 3.0, 3.0]), lod))
        .output("Index", with_lod(tensor_of([1, 1], &[1]), lod))
        .run();
}

#[test]
fn kept_boxes_are_numbered_across_images() {
    use crate::testing::{check, tensor, tensor_of, with_lod};
    let boxes = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
    let case = |threshold: f32| {
        check("multiclass_nms2")
            .input("BBoxes", tensor([2, 2, 4], &[boxes, boxes].concat()))
            .input("Scores", tensor([2, 1, 2], &[0.5, 0.0, 0.3, 0.4]))
            .attr("background_label", -1)
            .attr("score_threshold", threshold)
            .attr("nms_top_k", -1)
            .attr("keep_top_k", -1)
    };
    let rows = [0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 0.0, 0.4, 2.0, 2.0, 3.0, 3.0, 0.0, 0.3, 0.0, 0.0, 1.0, 1.0];
    let lod: &[&[usize]] = &[&[0, 1, 3]];
    case(0.1)
        .output("Out", with_lod(tensor([3, 6], &rows), lod))
        .output("Index", with_lod(tensor_of([3, 1], &[0, 3, 2]), lod))
        .run();
    let none: &[&[usize]] = &[&[0, 0, 0]];
    case(0.9)
        .output("Out", with_lod(tensor([0, 6], &[]), none))
        .output("Index", with_lod(tensor_of::<i32>([0, 1], &[]), none))
        .run();
}
