//! What operators of non-maximum suppression share: attributes, boxes with their scores, and the rows of the result.

use oarlock_ir::{AttrView, Dim, In, Infer, Io, Kind, Out, Result, Sig, VarType, fail};
use oarlock_ops_support::lod_rows::lod_of;
use oarlock_tensor::{DType, Dims, Float, Lod, Tensor};

use crate::geometry::jaccard;
use crate::polygon;
use crate::sizes;
use crate::suppression::{Threshold, descending};

/// How many values a box has: four sides, or the corners of a polygon.
pub(crate) const BOX_SIZES: [usize; 5] = [4, 8, 16, 24, 32];

/// Documentation of `background_label`, whose default differs.
pub(crate) const BACKGROUND: &str = "a class that is left out; -1 for none";

/// Adds the attributes of greedy suppression, but for `background_label`.
pub(crate) fn with_attrs(sig: Sig) -> Sig {
    sig.required_attr("score_threshold", "boxes with at most this score are left out")
        .required_attr("nms_top_k", "how many boxes of a class are looked at, best first; -1 for all")
        .attr("nms_threshold", 0.3f32, "boxes that overlap a kept one by more than this are dropped")
        .attr("nms_eta", 1.0f32, "factor of the threshold after each kept box while it is above 0.5; 1 for none")
        .required_attr("keep_top_k", "how many boxes of an image are kept, best first; -1 for all")
        .attr("normalized", true, "false for boxes of pixels, which include their right and bottom pixels")
}

/// The attributes.
#[derive(Clone, Copy)]
pub(crate) struct Suppression {
    pub(crate) background: i64,
    pub(crate) score_threshold: f32,
    pub(crate) nms_top_k: Option<usize>,
    pub(crate) threshold: Threshold<f32>,
    pub(crate) keep_top_k: Option<usize>,
    pub(crate) normalized: bool,
}

impl Suppression {
    /// Those of an operator.
    pub(crate) fn new(attrs: &AttrView<'_>) -> Result<Suppression> {
        Ok(Suppression {
            background: attrs.int("background_label")?,
            score_threshold: attrs.f32("score_threshold")?,
            nms_top_k: top(attrs, "nms_top_k")?,
            threshold: Threshold { overlap: attrs.f32("nms_threshold")?, eta: attrs.f32("nms_eta")? },
            keep_top_k: top(attrs, "keep_top_k")?,
            normalized: attrs.bool("normalized")?,
        })
    }
}

/// A limit; -1 stands for none.
pub(crate) fn top(attrs: &AttrView<'_>, name: &str) -> Result<Option<usize>> {
    match attrs.int(name)? {
        -1 => Ok(None),
        n => match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => fail!(Kind::Argument, "attribute `{name}` is {n}; it must be -1 (no limit) or more"),
        },
    }
}

/// Checks boxes [images, m, size] and scores [images, classes, m] when the program is built; returns the size of boxes.
pub(crate) fn infer_shared(cx: &Infer<'_>, box_sizes: &[usize]) -> Result<Dim> {
    let (boxes, scores) = (cx.float("BBoxes")?, cx.float("Scores")?);
    let what = "[images, boxes, 4], or as many corners of polygons as the operator allows,";
    sizes::expect(cx, "BBoxes", &boxes, &[None; 3], what)?;
    let size = boxes.shape[2];
    if size.known().is_some_and(|n| !box_sizes.contains(&n)) {
        let what = format_args!("takes boxes of {box_sizes:?} values, but not those of {}", cx.describe("BBoxes"));
        return Err(cx.shape_error(what));
    }
    let expected = [boxes.shape[0].known(), None, boxes.shape[1].known()];
    sizes::expect(cx, "Scores", &scores, &expected, "[images, classes, boxes], as many as in `BBoxes`,")?;
    Ok(size)
}

/// The type of the result: class, score and box in each row.
pub(crate) fn out_type(cx: &Infer<'_>, size: Dim) -> Result<VarType> {
    let (dtype, lod) = (cx.input("Scores")?.dtype, cx.input("BBoxes")?.lod_level.max(1));
    let columns = size.known().map_or(Dim::Any, |n| Dim::Is(n + 2));
    Ok(VarType::tensor(dtype, vec![Dim::Any, columns]).with_lod(lod))
}

/// Boxes and scores of a batch.
pub(crate) struct Batch<'t, T> {
    pub(crate) boxes: &'t [T],
    pub(crate) scores: &'t [T],
    pub(crate) classes: usize,
    /// Values of a box.
    pub(crate) size: usize,
    pub(crate) layout: Layout<'t>,
}

/// How boxes and scores lie in memory.
#[derive(Clone, Copy)]
pub(crate) enum Layout<'t> {
    /// All classes have the same boxes: [images, m, size], with scores [images, classes, m].
    Shared { images: usize, m: usize },
    /// Each class has its own boxes: [m, classes, 4], with scores [m, classes]; the offsets of images.
    PerClass { offsets: &'t [usize] },
}

impl<'t, T: Float> Batch<'t, T> {
    /// Boxes that all classes share.
    pub(crate) fn shared(
        io: &Io<'_>,
        (boxes, box_tensor): (In, &'t Tensor),
        (scores, score_tensor): (In, &'t Tensor),
        box_sizes: &[usize],
    ) -> Result<Batch<'t, T>> {
        let [images, m, size] = sizes::dims(io, boxes, box_tensor, "[images, boxes, 4]")?;
        sizes::ensure(io, boxes, box_tensor, box_sizes.contains(&size), format_args!("boxes of {box_sizes:?} values"))?;
        let [score_images, classes, score_boxes] = sizes::dims(io, scores, score_tensor, "[images, classes, boxes]")?;
        let what = format_args!("[{images}, classes, {m}], as `BBoxes` has boxes");
        sizes::ensure(io, scores, score_tensor, [score_images, score_boxes] == [images, m], what)?;
        let (boxes, scores) = (io.data::<T>(boxes, box_tensor)?, io.data::<T>(scores, score_tensor)?);
        Ok(Batch { boxes, scores, classes, size, layout: Layout::Shared { images, m } })
    }

    pub(crate) fn images(&self) -> usize {
        match self.layout {
            Layout::Shared { images, .. } => images,
            Layout::PerClass { offsets } => offsets.len() - 1,
        }
    }

    /// How many boxes an image has.
    pub(crate) fn count(&self, image: usize) -> usize {
        match self.layout {
            Layout::Shared { m, .. } => m,
            Layout::PerClass { offsets } => offsets[image + 1] - offsets[image],
        }
    }

    pub(crate) fn score(&self, image: usize, class: usize, index: usize) -> T {
        match self.layout {
            Layout::Shared { m, .. } => self.scores[(image * self.classes + class) * m + index],
            Layout::PerClass { offsets } => self.scores[(offsets[image] + index) * self.classes + class],
        }
    }

    pub(crate) fn one_box(&self, image: usize, class: usize, index: usize) -> &'t [T] {
        let at = match self.layout {
            Layout::Shared { m, .. } => image * m + index,
            Layout::PerClass { offsets } => (offsets[image] + index) * self.classes + class,
        };
        &self.boxes[at * self.size..][..self.size]
    }

    /// The number of a box among all of the batch, as the output `Index` has it.
    pub(crate) fn number(&self, image: usize, class: usize, index: usize) -> usize {
        match self.layout {
            Layout::Shared { m, .. } => image * m + index,
            Layout::PerClass { offsets } => (offsets[image] + index) * self.classes + class,
        }
    }
}

/// Intersection over union of boxes or polygons.
pub(crate) fn overlap<T: Float>(a: &[T], b: &[T], normalized: bool) -> T {
    match (a, b) {
        ([a0, a1, a2, a3], [b0, b1, b2, b3]) => jaccard(&[*a0, *a1, *a2, *a3], &[*b0, *b1, *b2, *b3], normalized),
        _ => polygon::overlap(a, b),
    }
}

/// The boxes of an image, class by class, cut to the `keep` with the highest scores.
pub(crate) fn keep_best<T: Float>(by_class: &mut [Vec<usize>], keep: Option<usize>, score: impl Fn(usize, usize) -> T) {
    let found: usize = by_class.iter().map(Vec::len).sum();
    let Some(keep) = keep.filter(|keep| found > *keep) else { return };
    let all = by_class.iter().enumerate().flat_map(|(c, boxes)| boxes.iter().map(move |&i| (c, i)));
    let mut ranked: Vec<(usize, usize)> = all.collect();
    ranked.sort_by(|a, b| descending(score(a.0, a.1), score(b.0, b.1)));
    by_class.iter_mut().for_each(Vec::clear);
    ranked.into_iter().take(keep).for_each(|(c, i)| by_class[c].push(i));
}

/// Where a result goes.
#[derive(Clone, Copy)]
pub(crate) struct Outs {
    pub(crate) out: Out,
    /// The numbers of the kept boxes.
    pub(crate) index: Option<Out>,
    /// A batch without detections gives one element, -1, instead of no rows.
    pub(crate) marks_nothing: bool,
}

/// Rows of class, score and box, and the number of each box, by image.
pub(crate) struct Rows<T> {
    columns: usize,
    values: Vec<T>,
    numbers: Vec<i32>,
    lengths: Vec<usize>,
}

impl<T: Float> Rows<T> {
    /// None yet; boxes have `size` values.
    pub(crate) fn new(size: usize) -> Rows<T> {
        Rows { columns: size + 2, values: Vec::new(), numbers: Vec::new(), lengths: Vec::new() }
    }

    /// Starts the next image.
    pub(crate) fn start_image(&mut self) {
        self.lengths.push(0);
    }

    /// Adds a row to the image.
    pub(crate) fn push(&mut self, class: usize, score: T, one_box: &[T], number: usize) {
        self.values.extend([T::of(class as f64), score]);
        self.values.extend_from_slice(one_box);
        self.numbers.push(number as i32);
        if let Some(length) = self.lengths.last_mut() {
            *length += 1;
        }
    }

    /// Writes all rows.
    pub(crate) fn write(self, io: &Io<'_>, outs: &Outs) -> Result<()> {
        let rows = self.numbers.len();
        if rows == 0 && outs.marks_nothing {
            let mut t = io.out_sized(outs.out, T::DTYPE, Dims::from([1, 1]))?;
            t.set_lod(Lod::new(vec![vec![0, 1]]));
            io.data_mut::<T>(outs.out, &mut t)?[0] = -T::ONE;
            return Ok(());
        }
        let lod = lod_of(&Lod::NONE, self.lengths.into_iter());
        let mut t = io.out_sized(outs.out, T::DTYPE, Dims::from([rows, self.columns]))?;
        t.set_lod(lod.clone());
        io.data_mut::<T>(outs.out, &mut t)?.copy_from_slice(&self.values);
        let Some(index) = outs.index else { return Ok(()) };
        let mut t = io.out_sized(index, DType::I32, Dims::from([rows, 1]))?;
        t.set_lod(lod);
        io.data_mut::<i32>(index, &mut t)?.copy_from_slice(&self.numbers);
        Ok(())
    }
}
