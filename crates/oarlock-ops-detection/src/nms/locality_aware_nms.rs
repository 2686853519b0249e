//! `locality_aware_nms`: neighbours that overlap are merged before suppression, as EAST does.

use oarlock_ir::{In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::Float;

use super::detections::{
    BACKGROUND, BOX_SIZES, Batch, Outs, Rows, Suppression, infer_shared, keep_best, out_type, overlap, with_attrs,
};
use crate::suppression::{descending, suppress};

pub(crate) const OPS: &[&dyn OpDef] = &[&LocalityAwareNms];

struct LocalityAwareNms;

impl OpDef for LocalityAwareNms {
    sig! {
        "locality_aware_nms": "Out = class, score and box of the boxes that stay: each box that overlaps the one before it is merged into it, \
             weighted by scores, which are added; then as in `multiclass_nms`";
        in "BBoxes": "[images, m, 4, 8, 16, 24 or 32], f32 or f64: boxes, or corners of polygons";
        in "Scores": "[images, classes, m]";
        out "Out": "[n, 2 + values of a box], with a sequence per image; [[-1]] if a batch has no boxes that stay";
        attr "background_label" = -1, BACKGROUND;
        with with_attrs;
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Suppression::new(&cx.attrs())?;
        let size = infer_shared(cx, &BOX_SIZES)?;
        let out = out_type(cx, size)?;
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (boxes, scores) = (p.input("BBoxes")?, p.input("Scores")?);
        let outs = Outs { out: p.output("Out")?, index: None, marks_nothing: true };
        let how = Suppression::new(&p.attrs())?;
        by_float!(p.float("Scores")?, T => kernel(move |io| run::<T>(io, (boxes, scores), &how)?.write(io, &outs)))
    }
}

/// One image; its boxes and scores change as boxes are merged.
struct Image<'a, T> {
    boxes: &'a mut [T],
    scores: &'a mut [T],
    size: usize,
    kept: Vec<Vec<usize>>,
}

fn run<T: Float>(io: &Io<'_>, (boxes, scores): (In, In), how: &Suppression) -> Result<Rows<T>> {
    let (box_tensor, score_tensor) = (io.dense(boxes)?, io.dense(scores)?);
    let batch = Batch::<T>::shared(io, (boxes, &box_tensor), (scores, &score_tensor), &BOX_SIZES)?;
    let (mut boxes, mut scores) = (batch.boxes.to_vec(), batch.scores.to_vec());
    let (images, classes, size) = (batch.images(), batch.classes, batch.size);
    let m = box_tensor.dims()[1];
    let mut parts: Vec<Image<'_, T>> = boxes
        .chunks_mut((m * size).max(1))
        .zip(scores.chunks_mut((classes * m).max(1)))
        .map(|(boxes, scores)| Image { boxes, scores, size, kept: vec![Vec::new(); classes] })
        .collect();
    io.pool().pieces(&mut parts, 1, |_, image| image[0].reduce(m, how));
    let mut rows = Rows::new(size);
    for image in &parts {
        rows.start_image();
        for (class, kept) in image.kept.iter().enumerate() {
            for &i in kept {
                rows.push(class, image.scores[class * m + i], &image.boxes[i * size..][..size], i);
            }
        }
    }
    (parts.len()..images).for_each(|_| rows.start_image());
    Ok(rows)
}

impl<T: Float> Image<'_, T> {
    fn one_box(&self, i: usize) -> &[T] {
        &self.boxes[i * self.size..][..self.size]
    }

    fn reduce(&mut self, m: usize, how: &Suppression) {
        for class in (0..self.kept.len()).filter(|class| *class as i64 != how.background) {
            let last = self.merge(class, m, how);
            let scores = &self.scores[class * m..][..m];
            let mut order: Vec<usize> =
                (0..m).filter(|&i| last[i] && scores[i] > T::of(how.score_threshold.into())).collect();
            order.sort_by(|&i, &j| descending(scores[i], scores[j]));
            order.truncate(how.nms_top_k.unwrap_or(usize::MAX));
            let overlap = |a, b| overlap(self.one_box(a), self.one_box(b), how.normalized);
            self.kept[class] = suppress(order, how.threshold.of(), overlap);
        }
        let scores = &*self.scores;
        keep_best(&mut self.kept, how.keep_top_k, |class, i| scores[class * m + i]);
    }

    /// Merges runs of boxes, each of which overlaps what the run has become, into the first of the run. The boxes are those of
    /// all classes, so that a class finds what the classes before it have merged. Returns which boxes stay.
    fn merge(&mut self, class: usize, m: usize, how: &Suppression) -> Vec<bool> {
        let mut stays = vec![false; m];
        let mut first = 0;
        for i in 1..m {
            if overlap(self.one_box(i), self.one_box(first), how.normalized) > T::of(how.threshold.overlap.into()) {
                let (new, old) = (self.scores[class * m + i], self.scores[class * m + first]);
                for k in 0..self.size {
                    let (from, to) = (self.boxes[i * self.size + k], &mut self.boxes[first * self.size + k]);
                    *to = (from * new + *to * old) / (new + old);
                }
                self.scores[class * m + first] = old + new;
            } else {
                stays[first] = true;
                first = i;
            }
        }
        if let Some(stays) = stays.get_mut(first) {
            *stays = true;
        }
        stays
    }
}

#[test]
fn neighbours_are_merged_by_score() {
    use crate::testing::{Check, check, noise, tensor, with_lod};
    let case = || -> Check {
        check("locality_aware_nms")
            .input("BBoxes", tensor([1, 3, 4], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.8, 5.0, 5.0, 6.0, 6.0]))
            .input("Scores", tensor([1, 1, 3], &[0.6, 0.2, 0.1]))
            .attr("score_threshold", 0.05f32)
            .attr("nms_top_k", -1)
            .attr("keep_top_k", -1)
            .attr("nms_threshold", 0.5f32)
    };
    let rows = [0.0, 0.8, 0.0, 0.0, 1.0, 0.95, 0.0, 0.1, 5.0, 5.0, 6.0, 6.0];
    case().output("Out", with_lod(tensor([2, 6], &rows), &[&[0, 2]])).run();
    let e = case().input("Scores", noise([3, 1], 1)).any_output("Out").error();
    assert!(e.contains("needs [images, classes, boxes], as many as in `BBoxes`, in `Scores`"), "{e}");
}
