//! `multiclass_nms` and `multiclass_nms2`, which differ in what they return.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, Prepare, Result, Sig, by_float, kernel};
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Float, Tensor};

use super::detections::{
    BACKGROUND, BOX_SIZES, Batch, Layout, Outs, Rows, Suppression, infer_shared, keep_best, out_type, overlap,
    with_attrs,
};
use crate::sizes;
use crate::suppression::{ranked, suppress};

/// Adds inputs and attributes.
pub(crate) fn with_inputs(sig: Sig) -> Sig {
    let boxes = "[images, m, 4, 8, 16, 24 or 32], f32 or f64: boxes, or corners of polygons; or [m, classes, 4] with a \
                 sequence per image";
    let sig = sig
        .input("BBoxes", boxes)
        .input("Scores", "[images, classes, m]; or [m, classes] if each class has its own boxes")
        .attr("background_label", 0, BACKGROUND);
    with_attrs(sig)
}

/// Types of `Out` and `Index`.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    Suppression::new(&cx.attrs())?;
    let size = match cx.float("Scores")?.shape.rank() {
        2 => {
            let scores = cx.float("Scores")?;
            let expected = [scores.shape[0].known(), scores.shape[1].known(), Some(4)];
            sizes::float(cx, "BBoxes", &expected, "[boxes, classes, 4], as `Scores` has boxes and classes,")?;
            Dim::Is(4)
        }
        _ => infer_shared(cx, &BOX_SIZES)?,
    };
    let out = out_type(cx, size)?;
    cx.set("Index", out.clone().with_dtype(DType::I32).with_shape(vec![Dim::Any, Dim::Is(1)]));
    cx.set("Out", out);
    Ok(())
}

/// The kernel. As in Fluid, a batch without detections gives a mark where no numbers of boxes are asked for.
pub(crate) fn prepare(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (boxes, scores) = (p.input("BBoxes")?, p.input("Scores")?);
    let index = p.maybe_output("Index")?;
    let outs = Outs { out: p.output("Out")?, index, marks_nothing: index.is_none() };
    let how = Suppression::new(&p.attrs())?;
    by_float!(p.float("Scores")?, T => kernel(move |io| {
        let (box_tensor, score_tensor) = (io.dense(boxes)?, io.dense(scores)?);
        let batch = batch::<T>(io, (boxes, &box_tensor), (scores, &score_tensor))?;
        run(io, &batch, &how).write(io, &outs)
    }))
}

fn batch<'t, T: Float>(io: &Io<'_>, boxes: (In, &'t Tensor), scores: (In, &'t Tensor)) -> Result<Batch<'t, T>> {
    if scores.1.dims().rank() != 2 {
        return Batch::shared(io, boxes, scores, &BOX_SIZES);
    }
    let (box_slot, box_tensor) = boxes;
    let offsets = lod_rows::offsets(io, box_slot, box_tensor)?;
    let [rows, classes] = sizes::dims(io, scores.0, scores.1, "[boxes, classes]")?;
    let what = format_args!("[{rows}, {classes}, 4], as `Scores` has boxes and classes");
    sizes::ensure(io, box_slot, box_tensor, box_tensor.dims()[..] == [rows, classes, 4], what)?;
    if i32::try_from(rows * classes).is_err() {
        return Err(io.error(Kind::Shape, box_slot, "has more boxes than an i32 can number"));
    }
    let (boxes, scores) = (io.data::<T>(box_slot, box_tensor)?, io.data::<T>(scores.0, scores.1)?);
    Ok(Batch { boxes, scores, classes, size: 4, layout: Layout::PerClass { offsets } })
}

fn run<T: Float>(io: &Io<'_>, batch: &Batch<'_, T>, how: &Suppression) -> Rows<T> {
    let per_class = matches!(batch.layout, Layout::PerClass { .. });
    let classes = batch.classes.max(1);
    let mut kept = vec![Vec::new(); batch.images() * batch.classes];
    io.pool().pieces(&mut kept, 1, |task, kept| {
        let (image, class) = (task / classes, task % classes);
        if class as i64 == how.background {
            return;
        }
        let scores: Vec<T> = (0..batch.count(image)).map(|i| batch.score(image, class, i)).collect();
        let order = ranked(&scores, T::of(how.score_threshold.into()), how.nms_top_k);
        let one_box = |i: usize| batch.one_box(image, class, i);
        kept[0] = suppress(order, how.threshold.of(), |a, b| overlap(one_box(a), one_box(b), how.normalized));
        if per_class {
            kept[0].sort_unstable();
        }
    });
    let mut rows = Rows::new(batch.size);
    for (image, by_class) in kept.chunks_exact_mut(classes).enumerate() {
        rows.start_image();
        keep_best(by_class, how.keep_top_k, |class, i| batch.score(image, class, i));
        for (class, kept) in by_class.iter_mut().enumerate() {
            if per_class {
                kept.sort_unstable();
            }
            for &i in kept.iter() {
                let number = batch.number(image, class, i);
                rows.push(class, batch.score(image, class, i), batch.one_box(image, class, i), number);
            }
        }
    }
    // Without classes there are images all the same.
    (kept.len() / classes..batch.images()).for_each(|_| rows.start_image());
    rows
}
