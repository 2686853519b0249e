//! `retinanet_detection_output`: boxes from the predictions of RetinaNet on all levels of a feature pyramid.

use oarlock_ir::{
    AttrView, Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, by_float, fail, kernel,
    sig,
};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::{Dims, Float, Lod, Tensor};

use crate::geometry::{Box4, centred, clipped, jaccard};
use crate::nms::detections::top;
use crate::sizes;
use crate::suppression::{Threshold, descending, ranked, suppress};

pub(crate) const OPS: &[&dyn OpDef] = &[&RetinanetDetectionOutput];

struct RetinanetDetectionOutput;

impl OpDef for RetinanetDetectionOutput {
    sig! {
        "retinanet_detection_output": "Out = class, score and box of the boxes that stay: the best of each level, moved by their deltas to the original \
             image; of those of a class that overlap the one with the highest score; then the best of an image";
        in* "BBoxes": "[n, anchors, 4], f32 or f64, one per level: how boxes differ from their anchors";
        in* "Scores": "[n, anchors, classes], one per level; there is no class for the background";
        in* "Anchors": "[anchors, 4], one per level: left, top, right and bottom";
        in "ImInfo": "[n, 3]: height, width and scale of each image";
        out "Out": "[boxes, 6], with a sequence per image, best first; classes count from 1";
        attr "score_threshold": "boxes with at most this score are left out, except on the last level";
        attr "nms_top_k": "how many boxes of a level are looked at, best first; -1 for all";
        attr "nms_threshold": "boxes that overlap a kept one by more than this are dropped";
        attr "nms_eta": "factor of the threshold after each kept box while it is above 0.5; 1 for none";
        attr "keep_top_k": "how many boxes of an image are kept, best first; -1 for all";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        Limits::new(&cx.attrs())?;
        let (boxes, scores, anchors) = (cx.inputs("BBoxes")?, cx.inputs("Scores")?, cx.inputs("Anchors")?);
        if boxes.is_empty() || boxes.len() != scores.len() || boxes.len() != anchors.len() {
            let (b, s, a) = (boxes.len(), scores.len(), anchors.len());
            let what = format_args!("needs `BBoxes` ({b}), `Scores` ({s}) and `Anchors` ({a}) of as many levels");
            return Err(cx.shape_error(what));
        }
        for ((boxes, scores), anchors) in boxes.iter().zip(&scores).zip(&anchors) {
            sizes::expect(cx, "BBoxes", boxes, &[None, None, Some(4)], "[n, anchors, 4] of each level")?;
            let per_anchor = [boxes.shape[0].known(), boxes.shape[1].known(), None];
            sizes::expect(cx, "Scores", scores, &per_anchor, "scores for each of `BBoxes`")?;
            sizes::expect(
                cx,
                "Anchors",
                anchors,
                &[boxes.shape[1].known(), Some(4)],
                "an anchor for each of `BBoxes`",
            )?;
        }
        sizes::float(cx, "ImInfo", &[boxes[0].shape[0].known(), Some(3)], "[n, 3]")?;
        cx.set("Out", VarType::tensor(scores[0].dtype, vec![Dim::Any, Dim::Is(6)]).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (boxes, scores, anchors) = (p.inputs("BBoxes")?, p.inputs("Scores")?, p.inputs("Anchors")?);
        if boxes.len() != scores.len() || boxes.len() != anchors.len() {
            fail!(
                Kind::Argument,
                "`retinanet_detection_output` needs `BBoxes`, `Scores` and `Anchors` of as many levels"
            )
        }
        let levels = boxes.into_iter().zip(scores).zip(anchors).map(|((b, s), a)| [b, s, a]).collect::<Vec<_>>();
        let (info, out, limits) = (p.input("ImInfo")?, p.output("Out")?, Limits::new(&p.attrs())?);
        by_float!(p.float("Scores")?, T => kernel(move |io| run::<T>(io, &levels, info, out, &limits)))
    }
}

struct Limits {
    score: f32,
    nms_top_k: Option<usize>,
    threshold: Threshold<f32>,
    keep_top_k: Option<usize>,
}

impl Limits {
    fn new(attrs: &AttrView<'_>) -> Result<Limits> {
        Ok(Limits {
            score: attrs.f32("score_threshold")?,
            nms_top_k: top(attrs, "nms_top_k")?,
            threshold: Threshold { overlap: attrs.f32("nms_threshold")?, eta: attrs.f32("nms_eta")? },
            keep_top_k: top(attrs, "keep_top_k")?,
        })
    }
}

/// One level of the pyramid.
struct Level<'t, T> {
    deltas: &'t [Box4<T>],
    scores: &'t [T],
    anchors: &'t [Box4<T>],
}

/// A box of a class with its score.
type Found<T> = (usize, T, Box4<T>);

fn run<T: Float>(io: &Io<'_>, slots: &[[In; 3]], info: In, out: Out, limits: &Limits) -> Result<()> {
    let tensors: Vec<[std::cell::Ref<'_, Tensor>; 3]> =
        slots.iter().map(|[b, s, a]| Ok([io.dense(*b)?, io.dense(*s)?, io.dense(*a)?])).collect::<Result<_>>()?;
    let (mut levels, mut batch) = (Vec::new(), None);
    for ([boxes, scores, anchors], tensors) in slots.iter().zip(&tensors) {
        let [n, count, classes] = sizes::dims(io, *scores, &tensors[1], "[n, anchors, classes]")?;
        let (images, kinds) = *batch.get_or_insert((n, classes));
        let what = format_args!("[{images}, anchors, {kinds}], as the first level is");
        sizes::ensure(io, *scores, &tensors[1], (images, kinds) == (n, classes), what)?;
        let what = format_args!("[{n}, {count}, 4], as `Scores` has anchors");
        sizes::ensure(io, *boxes, &tensors[0], tensors[0].dims()[..] == [n, count, 4], what)?;
        let what = format_args!("[{count}, 4], as `Scores` has anchors");
        sizes::ensure(io, *anchors, &tensors[2], tensors[2].dims()[..] == [count, 4], what)?;
        levels.push(Level {
            deltas: sizes::boxes_of::<T>(io, *boxes, &tensors[0])?,
            scores: io.data::<T>(*scores, &tensors[1])?,
            anchors: sizes::boxes_of::<T>(io, *anchors, &tensors[2])?,
        });
    }
    let (images, classes) = batch.unwrap_or((0, 0));
    let info_tensor = io.dense(info)?;
    let infos = sizes::image_infos::<T>(io, info, &info_tensor, images)?;
    let mut found: Vec<Vec<Found<T>>> = vec![Vec::new(); images];
    io.pool().pieces(&mut found, 1, |i, found| found[0] = detect(&levels, i, classes, &infos[i], limits));
    let rows = found.iter().map(Vec::len).sum();
    let mut t = io.out_sized(out, T::DTYPE, Dims::from([rows, 6]))?;
    t.set_lod(lod_of(&Lod::NONE, found.iter().map(Vec::len)));
    let to = io.data_mut::<T>(out, &mut t)?.as_chunks_mut::<6>().0;
    for (to, (class, score, b)) in to.iter_mut().zip(found.iter().flatten()) {
        *to = [T::of(*class as f64 + 1.0), *score, b[0], b[1], b[2], b[3]];
    }
    Ok(())
}

fn detect<T: Float>(
    levels: &[Level<'_, T>],
    image: usize,
    classes: usize,
    info: &[T; 3],
    limits: &Limits,
) -> Vec<Found<T>> {
    let [height, width, scale] = *info;
    let (right, bottom) = ((width / scale).round() - T::ONE, (height / scale).round() - T::ONE);
    let mut by_class: Vec<Vec<(T, Box4<T>)>> = vec![Vec::new(); classes];
    for (l, level) in levels.iter().enumerate() {
        let anchors = level.anchors.len();
        let scores = &level.scores[image * anchors * classes..][..anchors * classes];
        // The last level has few boxes; all of them may stay.
        let least = if l + 1 < levels.len() { T::of(limits.score.into()) } else { T::ZERO };
        for i in ranked(scores, least, limits.nms_top_k) {
            let (anchor, class) = (i / classes, i % classes);
            let moved = centred(&level.anchors[anchor], false).moved(level.deltas[image * anchors + anchor]);
            let original = moved.sides(false).map(|v| v / scale);
            by_class[class].push((scores[i], clipped(&original, right, bottom)));
        }
    }
    let mut found: Vec<Found<T>> = Vec::new();
    for (class, boxes) in by_class.iter().enumerate() {
        let mut order: Vec<usize> = (0..boxes.len()).collect();
        order.sort_by(|&i, &j| descending(boxes[i].0, boxes[j].0));
        let kept = suppress(order, limits.threshold.of(), |a, b| jaccard(&boxes[a].1, &boxes[b].1, false));
        found.extend(kept.into_iter().map(|i| (class, boxes[i].0, boxes[i].1)));
    }
    found.sort_by(|a, b| descending(a.1, b.1));
    found.truncate(limits.keep_top_k.unwrap_or(usize::MAX));
    found
}

#[test]
fn best_boxes_of_all_levels() {
    use crate::testing::{Check, check, noise, tensor, with_lod};
    let case = || -> Check {
        check("retinanet_detection_output")
            .inputs("BBoxes", vec![tensor([1, 2, 4], &[0.0; 8]), tensor([1, 1, 4], &[0.0; 4])])
            .inputs("Scores", vec![tensor([1, 2, 1], &[0.9, 0.2]), tensor([1, 1, 1], &[0.1])])
            .inputs(
                "Anchors",
                vec![
                    tensor([2, 4], &[0.0, 0.0, 9.0, 9.0, 2.0, 2.0, 5.0, 5.0]),
                    tensor([1, 4], &[20.0, 20.0, 39.0, 39.0]),
                ],
            )
            .input("ImInfo", tensor([1, 3], &[30.0, 30.0, 1.0]))
            .attr("score_threshold", 0.5f32)
            .attr("nms_top_k", 10)
            .attr("nms_threshold", 0.3f32)
            .attr("nms_eta", 1.0f32)
            .attr("keep_top_k", 10)
    };
    let rows = [1.0, 0.9, 0.0, 0.0, 9.0, 9.0, 1.0, 0.1, 20.0, 20.0, 29.0, 29.0];
    case().output("Out", with_lod(tensor([2, 6], &rows), &[&[0, 2]])).run();
    let e = case().inputs("Anchors", vec![noise([2, 4], 1)]).any_output("Out").error();
    assert!(e.contains("needs `BBoxes` (2), `Scores` (2) and `Anchors` (1) of as many levels"), "{e}");
}
