//! `multiclass_nms`: of boxes of a class that overlap, the one with the highest score.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, sig};

use super::multiclass;

pub(crate) const OPS: &[&dyn OpDef] = &[&MulticlassNms];

struct MulticlassNms;

impl OpDef for MulticlassNms {
    sig! {
        "multiclass_nms":
            "Out = class, score and box of the boxes that stay: in each class the best one, the best of those that do not \
             overlap it, and so on; then the best of all classes of an image";
        with multiclass::with_inputs;
        out "Out": "[n, 2 + values of a box], with a sequence per image; [[-1]] if a batch has no boxes that stay";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        multiclass::infer(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        multiclass::prepare(p)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        let boxes = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.9, 2.0, 2.0, 3.0, 3.0];
        check("multiclass_nms")
            .input("BBoxes", tensor([1, 3, 4], &boxes))
            .input("Scores", tensor([1, 2, 3], &[0.9, 0.9, 0.9, 0.6, 0.7, 0.2]))
            .attr("score_threshold", 0.1f32)
            .attr("nms_top_k", -1)
            .attr("keep_top_k", -1)
    }

    #[test]
    fn overlapping_boxes_are_dropped() {
        let rows = [1.0, 0.7, 0.0, 0.0, 1.0, 0.9, 1.0, 0.2, 2.0, 2.0, 3.0, 3.0];
        case().output("Out", with_lod(tensor([2, 6], &rows), &[&[0, 2]])).run();
        case().attr("keep_top_k", 1).output("Out", with_lod(tensor([1, 6], &rows[..6]), &[&[0, 1]])).run();
        case().attr("nms_top_k", 1).output("Out", with_lod(tensor([1, 6], &rows[..6]), &[&[0, 1]])).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("BBoxes", noise([1, 3, 5], 1)).any_output("Out").error();
        assert!(e.contains("takes boxes of [4, 8, 16, 24, 32] values, but not those of `BBoxes`"), "{e}");
        let e = case().input("BBoxes", noise([1, 2, 4], 1)).any_output("Out").error();
        assert!(e.contains("needs [images, classes, boxes], as many as in `BBoxes`, in `Scores`"), "{e}");
        let e = case().attr("keep_top_k", -2).any_output("Out").error();
        assert!(e.contains("attribute `keep_top_k` is -2; it must be -1 (no limit) or more"), "{e}");
        let e = case().input("Scores", noise([3, 2], 1)).input("BBoxes", noise([3, 2, 4], 2)).any_output("Out").error();
        assert!(e.contains("input `BBoxes` = `BBoxes.0` has no LoD"), "{e}");
    }
}
