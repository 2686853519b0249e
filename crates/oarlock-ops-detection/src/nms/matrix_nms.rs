//! `matrix_nms`: scores decay with the overlap of better boxes, instead of boxes being dropped one after the other.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::{DType, Float};

use super::detections::{Batch, Outs, Rows, infer_shared, out_type, overlap, top};
use crate::suppression::{descending, ranked};

pub(crate) const OPS: &[&dyn OpDef] = &[&MatrixNms];

struct MatrixNms;

impl OpDef for MatrixNms {
    sig! {
        "matrix_nms":
            "Out = class, decayed score and box of the boxes that stay, best first: a score is multiplied by the least decay \
             among better boxes of its class, (1 - overlap) / (1 - that box's own largest overlap with better ones), or its \
             Gaussian form";
        in "BBoxes": "[images, m, 4], f32 or f64: left, top, right and bottom of each box";
        in "Scores": "[images, classes, m]";
        out "Out": "[n, 6], with a sequence per image";
        out "Index": "[n, 1], i32: image * m + box";
        attr "background_label" = 0, "a class that is left out; -1 for none";
        attr "score_threshold": "boxes with at most this score are left out";
        attr "post_threshold" = 0.0f32, "boxes with at most this decayed score are left out";
        attr "nms_top_k": "how many boxes of a class are looked at, best first; -1 for all";
        attr "keep_top_k": "how many boxes of an image are kept, best first; -1 for all";
        attr "normalized" = true, "false for boxes of pixels, which include their right and bottom pixels";
        attr "use_gaussian" = false, "decay by exp(sigma * (largest overlap ^ 2 - overlap ^ 2))";
        attr "gaussian_sigma" = 2.0f32, "sigma of the Gaussian form";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Decay::new(&cx.attrs())?;
        infer_shared(cx, &[4])?;
        let out = out_type(cx, Dim::Is(4))?;
        cx.set("Index", out.clone().with_dtype(DType::I32).with_shape(vec![Dim::Any, Dim::Is(1)]));
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (boxes, scores) = (p.input("BBoxes")?, p.input("Scores")?);
        let outs = Outs { out: p.output("Out")?, index: p.maybe_output("Index")?, marks_nothing: false };
        let how = Decay::new(&p.attrs())?;
        by_float!(p.float("Scores")?, T => kernel(move |io| how.run::<T>(io, (boxes, scores))?.write(io, &outs)))
    }
}

#[derive(Clone, Copy)]
struct Decay {
    background: i64,
    score_threshold: f32,
    post_threshold: f32,
    nms_top_k: Option<usize>,
    keep_top_k: Option<usize>,
    normalized: bool,
    /// Sigma of the Gaussian form.
    gaussian: Option<f32>,
}

impl Decay {
    fn new(attrs: &AttrView<'_>) -> Result<Decay> {
        let sigma = attrs.f32("gaussian_sigma")?;
        Ok(Decay {
            background: attrs.int("background_label")?,
            score_threshold: attrs.f32("score_threshold")?,
            post_threshold: attrs.f32("post_threshold")?,
            nms_top_k: top(attrs, "nms_top_k")?,
            keep_top_k: top(attrs, "keep_top_k")?,
            normalized: attrs.bool("normalized")?,
            gaussian: attrs.bool("use_gaussian")?.then_some(sigma),
        })
    }

    fn run<T: Float>(&self, io: &Io<'_>, (boxes, scores): (In, In)) -> Result<Rows<T>> {
        let (box_tensor, score_tensor) = (io.dense(boxes)?, io.dense(scores)?);
        let batch = Batch::<T>::shared(io, (boxes, &box_tensor), (scores, &score_tensor), &[4])?;
        let classes = batch.classes.max(1);
        let mut kept = vec![Vec::new(); batch.images() * batch.classes];
        io.pool().pieces(&mut kept, 1, |task, kept| {
            let (image, class) = (task / classes, task % classes);
            if class as i64 != self.background {
                kept[0] = self.decayed(&batch, image, class);
            }
        });
        let mut rows = Rows::new(4);
        for image in 0..batch.images() {
            rows.start_image();
            let by_class = kept[image * batch.classes..][..batch.classes].iter().enumerate();
            let mut all: Vec<(usize, usize, T)> =
                by_class.flat_map(|(class, kept)| kept.iter().map(move |&(i, score)| (class, i, score))).collect();
            all.sort_by(|a, b| descending(a.2, b.2));
            for &(class, i, score) in all.iter().take(self.keep_top_k.unwrap_or(usize::MAX)) {
                rows.push(class, score, batch.one_box(image, class, i), batch.number(image, class, i));
            }
        }
        Ok(rows)
    }

    /// The boxes of a class with their decayed scores.
    fn decayed<T: Float>(&self, batch: &Batch<'_, T>, image: usize, class: usize) -> Vec<(usize, T)> {
        let scores: Vec<T> = (0..batch.count(image)).map(|i| batch.score(image, class, i)).collect();
        let order = ranked(&scores, T::of(self.score_threshold.into()), self.nms_top_k);
        let post = T::of(self.post_threshold.into());
        let (mut largest, mut kept) = (Vec::with_capacity(order.len()), Vec::new());
        for (at, &i) in order.iter().enumerate() {
            let (mut worst, mut decay) = (T::ZERO, T::ONE);
            for (&better, &its_worst) in order[..at].iter().zip(&largest) {
                let one_box = |i: usize| batch.one_box(image, class, i);
                let common = overlap(one_box(i), one_box(better), self.normalized);
                worst = worst.max(common);
                decay = decay.min(self.decay(common, its_worst));
            }
            largest.push(worst);
            let score = scores[i] * decay;
            if score > post {
                kept.push((i, score));
            }
        }
        kept
    }

    fn decay<T: Float>(&self, overlap: T, largest: T) -> T {
        match self.gaussian {
            Some(sigma) => ((largest * largest - overlap * overlap) * T::of(sigma.into())).exp(),
            None => (T::ONE - overlap) / (T::ONE - largest),
        }
    }
}

#[test]
fn scores_decay_with_overlap() {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};
    let case = || -> Check {
        check("matrix_nms")
            .input("BBoxes", tensor([1, 2, 4], &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5]))
            .input("Scores", tensor([1, 1, 2], &[0.8, 0.4]))
            .attr("background_label", -1)
            .attr("score_threshold", 0.1f32)
            .attr("nms_top_k", -1)
            .attr("keep_top_k", -1)
    };
    let rows = [0.0, 0.8, 0.0, 0.0, 1.0, 1.0, 0.0, 0.2, 0.0, 0.0, 1.0, 0.5];
    let lod: &[&[usize]] = &[&[0, 2]];
    case()
        .output("Out", with_lod(tensor([2, 6], &rows), lod))
        .output("Index", with_lod(tensor_of([2, 1], &[0, 1]), lod))
        .run();
    let e = case().input("BBoxes", noise([1, 2, 8], 1)).any_output("Out").any_output("Index").error();
    assert!(e.contains("takes boxes of [4] values"), "{e}");
}
