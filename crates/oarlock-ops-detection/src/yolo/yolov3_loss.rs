//! `yolov3_loss`: how far the predictions of YOLO are from the boxes in the images.

use oarlock_ir::{
    AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType, by_float, fail, kernel,
    sig, slots,
};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::{DType, Dims, Float};

use super::cells::{Cells, FIXED, Frame, sigmoid};
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&Yolov3Loss, &GRAD];

struct Yolov3Loss;

impl OpDef for Yolov3Loss {
    sig! {
        "yolov3_loss":
            "Loss[i] = the sum over the boxes of image i whose best anchor is in anchor_mask of the cross entropies of place and \
             classes and the absolute differences of the sizes, at the cell of the box's centre, plus the cross entropy of all \
             objectness values but those of predictions that overlap a box by more than ignore_thresh";
        in "X": "[n, masked anchors * (5 + class_num), h, w], f32 or f64: the output of the network";
        in "GTBox": "[n, b, 4]: centre x, y, width and height, as fractions of the image; width or height 0 for none";
        in "GTLabel": "[n, b], i32: classes";
        in? "GTScore": "[n, b]: weights of the boxes, 1 without it";
        out "Loss": "[n]";
        out "ObjectnessMask": "[n, masked anchors, h, w]: the weight of an object, 0 for none, -1 for ignored";
        out "GTMatchMask": "[n, b], i32: the masked anchor of each box, -1 for none";
        attr "class_num": "how many classes there are";
        attr "anchors" = Vec::<i32>::new(), "width and height of each anchor, in pixels of the network's input";
        attr "anchor_mask" = Vec::<i32>::new(), "which anchors `X` has predictions for";
        attr "downsample_ratio" = 32, "the network's input over the map, in height";
        attr "ignore_thresh" = 0.7f32, "predictions that overlap a box by more are not punished for finding an object";
        attr "use_label_smooth" = true, "take 1 / class_num, at most 1 / 40, from the right class and give it to the others";
        attr "scale_x_y" = 1.0f32, "factor of a centre's distance from the middle of its cell";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let loss = LossAttrs::new(&cx.attrs())?;
        let x = loss.cells.infer(cx, loss.mask.len())?;
        let n = x.shape[0];
        let boxes = sizes::float(cx, "GTBox", &[n.known(), None, Some(4)], "[n, b, 4]")?;
        let count = boxes.shape[1];
        let per_box = [n.known(), count.known()];
        sizes::expect(cx, "GTLabel", &cx.integer("GTLabel")?, &per_box, "a label for each of `GTBox`")?;
        if cx.has("GTScore") {
            sizes::float(cx, "GTScore", &per_box, "a score for each of `GTBox`")?;
        }
        cx.set("Loss", VarType::tensor(x.dtype, vec![n]));
        let mask = vec![n, Dim::Is(loss.mask.len()), x.shape[2], x.shape[3]];
        cx.set("ObjectnessMask", VarType::tensor(x.dtype, mask));
        cx.set("GTMatchMask", VarType::tensor(DType::I32, vec![n, count]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let loss = LossAttrs::new(&p.attrs())?;
        let inputs = Inputs::new(p)?;
        let outs = (p.output("Loss")?, p.output("ObjectnessMask")?, p.output("GTMatchMask")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, &inputs, outs, &loss)))
    }
}

/// Parsed attributes.
struct LossAttrs {
    cells: Cells,
    /// The anchors of `X`.
    mask: Vec<usize>,
    ignore: f32,
    smooth: bool,
}

impl LossAttrs {
    fn new(attrs: &AttrView<'_>) -> Result<LossAttrs> {
        let cells = Cells::new(attrs)?;
        let given = attrs.ints("anchor_mask")?;
        let known = |a: &i64| usize::try_from(*a).ok().filter(|a| *a < cells.anchors.len());
        let mask: Option<Vec<usize>> = given.iter().map(known).collect();
        match mask.filter(|mask| !mask.is_empty()) {
            Some(mask) => Ok(LossAttrs {
                cells,
                mask,
                ignore: attrs.f32("ignore_thresh")?,
                smooth: attrs.bool("use_label_smooth")?,
            }),
            None => fail!(
                Kind::Argument,
                "attribute `anchor_mask` is {given:?}; it needs numbers of anchors, of which there are {}",
                cells.anchors.len()
            ),
        }
    }

    /// What the score of the right class and of another one should be.
    fn targets<T: Float>(&self) -> [T; 2] {
        let give = if self.smooth { (1.0 / self.cells.classes as f64).min(1.0 / 40.0) } else { 0.0 };
        [T::of(1.0 - give), T::of(give)]
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Inputs(p) {
        x: input "X",
        boxes: input "GTBox",
        labels: input "GTLabel",
        scores: maybe_input "GTScore",
    }
}

/// Predictions and boxes of one run.
struct Batch<'a, T> {
    loss: &'a LossAttrs,
    x: &'a [T],
    boxes: &'a [Object<T>],
    labels: &'a [i32],
    scores: Option<&'a [T]>,
    frame: Frame<T>,
    /// Boxes of an image.
    count: usize,
    height: usize,
    width: usize,
}

/// A box by centre and sides.
type Object<T> = [T; 4];

/// Gives `run` the checked inputs.
fn with_batch<T: Float, R>(
    io: &Io<'_>,
    inputs: &Inputs,
    loss: &LossAttrs,
    run: impl FnOnce(&Batch<'_, T>, usize) -> Result<R>,
) -> Result<R> {
    let (x, boxes, labels) = (io.dense(inputs.x)?, io.dense(inputs.boxes)?, io.dense(inputs.labels)?);
    let [n, channels, height, width] = sizes::dims(io, inputs.x, &x, sizes::IMAGES)?;
    let expected = loss.mask.len() * loss.cells.entries();
    sizes::ensure(io, inputs.x, &x, channels == expected, format_args!("[n, {expected}, h, w]"))?;
    let [_, count, _] = sizes::dims(io, inputs.boxes, &boxes, "[n, b, 4]")?;
    expect_dims(io, inputs.boxes, &boxes, &[n, count, 4], "a box by centre and sides")?;
    let labels = sizes::counted::<i32>(io, inputs.labels, &labels, n * count)?;
    let score_tensor = inputs.scores.map(|slot| io.dense(slot)).transpose()?;
    let scores = match (inputs.scores, &score_tensor) {
        (Some(slot), Some(t)) => Some(sizes::counted::<T>(io, slot, t, n * count)?),
        _ => None,
    };
    let batch = Batch {
        loss,
        x: io.data::<T>(inputs.x, &x)?,
        boxes: sizes::boxes_of::<T>(io, inputs.boxes, &boxes)?,
        labels,
        scores,
        frame: loss.cells.frame(height),
        count,
        height,
        width,
    };
    for (i, b) in batch.boxes.iter().enumerate().filter(|(_, b)| is_there(b)) {
        let (row, column) = batch.cell(b);
        if batch.index(row, column).is_none() {
            let (image, i) = (i / count, i % count);
            let what =
                format!("has box {i} of image {image} centred at ({:?}, {:?}), outside of the image", b[0], b[1]);
            return Err(io
                .error(Kind::Range, inputs.boxes, what)
                .help("give centres as fractions of the image, at least 0 and below 1"));
        }
    }
    run(&batch, n)
}

/// Is there a box at all?
fn is_there<T: Float>(b: &Object<T>) -> bool {
    // A size of NaN is there, and so is the loss of NaN that it causes.
    let is_missing = |size: T| size < T::of(1e-6);
    !is_missing(b[2]) && !is_missing(b[3])
}

/// Intersection over union of boxes by centre and sides.
fn overlap<T: Float>(a: &Object<T>, b: &Object<T>) -> T {
    let half = T::of(0.5);
    let common = |axis: usize| {
        let side = |o: &Object<T>| (o[axis] - o[axis + 2] * half, o[axis] + o[axis + 2] * half);
        let ((a_low, a_high), (b_low, b_high)) = (side(a), side(b));
        a_high.min(b_high) - a_low.max(b_low)
    };
    let (w, h) = (common(0), common(1));
    let area = if w < T::ZERO || h < T::ZERO { T::ZERO } else { w * h };
    area / (a[2] * a[3] + b[2] * b[3] - area)
}

/// Cross entropy of a logit and a target.
fn entropy<T: Float>(x: T, target: T) -> T {
    x.max(T::ZERO) - x * target + (-x.abs()).exp().ln_1p()
}

/// A box that a masked anchor has to find.
struct Match<T> {
    /// The position in the predictions of its place in X; other values follow a plane apart.
    at: usize,
    /// What place and sides should be.
    targets: [T; 4],
    /// The weight of place and sides, and that of the classes.
    weight: T,
    score: T,
    label: i32,
}

impl<T: Float> Batch<'_, T> {
    fn plane(&self) -> usize {
        self.height * self.width
    }

    fn anchor(&self, anchor: usize) -> [T; 2] {
        self.loss.cells.anchors[anchor].map(|side| T::of(side as f64))
    }

    /// The row and column of a box's centre.
    fn cell(&self, b: &Object<T>) -> (i64, i64) {
        let at = |v: T, n: usize| (v * T::of(n as f64)).f64() as i64;
        (at(b[1], self.height), at(b[0], self.width))
    }

    fn index(&self, row: i64, column: i64) -> Option<usize> {
        let at = row.checked_mul(self.width as i64)?.checked_add(column)?;
        usize::try_from(at).ok().filter(|at| *at < self.plane())
    }

    fn image_boxes(&self, image: usize) -> &[Object<T>] {
        &self.boxes[image * self.count..][..self.count]
    }

    /// Marks the predictions of one masked anchor of an image that overlap a box so well that they are not punished.
    fn mark_ignored(&self, image: usize, masked: usize, mask: &mut [T]) {
        let (plane, [anchor_w, anchor_h]) = (self.plane(), self.anchor(self.loss.mask[masked]));
        let start = (image * self.loss.mask.len() + masked) * self.loss.cells.entries() * plane;
        let (x, frame) = (&self.x[start..][..4 * plane], self.frame);
        let objects: Vec<&Object<T>> = self.image_boxes(image).iter().filter(|b| is_there(b)).collect();
        let limit = T::of(self.loss.ignore.into());
        for (at, mask) in mask.iter_mut().enumerate() {
            let predicted = [
                frame.place(at % self.width, x[at]) / frame.cells,
                frame.place(at / self.width, x[plane + at]) / frame.cells,
                x[2 * plane + at].exp() * anchor_w / frame.input,
                x[3 * plane + at].exp() * anchor_h / frame.input,
            ];
            let best = objects.iter().fold(T::ZERO, |best, b| best.max(overlap(&predicted, b)));
            *mask = if best > limit { -T::ONE } else { T::ZERO };
        }
    }

    /// The masked anchor whose shape is most like a box's, if it is one of `X`.
    fn masked_anchor(&self, b: &Object<T>) -> Option<usize> {
        let shape = [T::ZERO, T::ZERO, b[2], b[3]];
        let (mut best, mut best_overlap) = (0, T::ZERO);
        for anchor in 0..self.loss.cells.anchors.len() {
            let [w, h] = self.anchor(anchor).map(|side| side / self.frame.input);
            let common = overlap(&[T::ZERO, T::ZERO, w, h], &shape);
            if common > best_overlap {
                (best, best_overlap) = (anchor, common);
            }
        }
        self.loss.mask.iter().position(|anchor| *anchor == best)
    }

    /// What the masked anchor that finds box `i` of an image has to predict; `None` if the centre has no cell.
    fn matched(&self, image: usize, i: usize, masked: usize) -> Option<(Match<T>, usize)> {
        let b = &self.image_boxes(image)[i];
        let (row, column) = self.cell(b);
        let cell = self.index(row, column)?;
        let [anchor_w, anchor_h] = self.anchor(self.loss.mask[masked]);
        let (cells, input) = (self.frame.cells, self.frame.input);
        let targets = [
            b[0] * cells - T::of(column as f64),
            b[1] * cells - T::of(row as f64),
            (b[2] * input / anchor_w).ln(),
            (b[3] * input / anchor_h).ln(),
        ];
        let score = self.scores.map_or(T::ONE, |scores| scores[image * self.count + i]);
        let weight = (T::of(2.0) - b[2] * b[3]) * score;
        let anchor = image * self.loss.mask.len() + masked;
        let at = anchor * self.loss.cells.entries() * self.plane() + cell;
        let label = self.labels[image * self.count + i];
        Some((Match { at, targets, weight, score, label }, masked * self.plane() + cell))
    }

    /// The loss of an image; fills in its masks.
    fn image_loss(&self, image: usize, mask: &mut [T], matches: &mut [i32]) -> T {
        let plane = self.plane();
        let mut loss = T::ZERO;
        for (i, (b, matched)) in self.image_boxes(image).iter().zip(matches).enumerate() {
            let masked = if is_there(b) { self.masked_anchor(b) } else { None };
            *matched = masked.map_or(-1, |masked| masked as i32);
            let Some((found, cell)) = masked.and_then(|masked| self.matched(image, i, masked)) else { continue };
            let value = |entry: usize| self.x[found.at + entry * plane];
            loss += entropy(value(0), found.targets[0]) * found.weight;
            loss += entropy(value(1), found.targets[1]) * found.weight;
            loss += (found.targets[2] - value(2)).abs() * found.weight;
            loss += (found.targets[3] - value(3)).abs() * found.weight;
            mask[cell] = found.score;
            let [right, wrong] = self.loss.targets::<T>();
            for class in 0..self.loss.cells.classes {
                let target = if class as i32 == found.label { right } else { wrong };
                loss += entropy(value(FIXED + class), target) * found.score;
            }
        }
        for (masked, mask) in mask.chunks_exact(plane.max(1)).enumerate() {
            for (x, &weight) in self.objectness(image, masked).iter().zip(mask) {
                if weight > T::of(1e-5) {
                    loss += entropy(*x, T::ONE) * weight;
                } else if weight > T::of(-0.5) {
                    loss += entropy(*x, T::ZERO);
                }
            }
        }
        loss
    }

    fn objectness(&self, image: usize, masked: usize) -> &[T] {
        let start = self.objectness_start(image, masked);
        &self.x[start..][..self.plane()]
    }

    fn objectness_start(&self, image: usize, masked: usize) -> usize {
        ((image * self.loss.mask.len() + masked) * self.loss.cells.entries() + 4) * self.plane()
    }

    /// The gradient of an image; `d` is that of its loss. Of two boxes that one prediction has to find, the later one counts.
    fn image_grad(&self, image: usize, d: T, mask: &[T], matches: &[i32], dx: &mut [T]) {
        let plane = self.plane();
        let start = image * dx.len();
        dx.fill(T::ZERO);
        for (i, masked) in matches.iter().enumerate().filter_map(|(i, m)| Some((i, usize::try_from(*m).ok()?))) {
            if masked >= self.loss.mask.len() {
                continue;
            }
            let Some((found, _)) = self.matched(image, i, masked) else { continue };
            let value = |entry: usize| self.x[found.at + entry * plane];
            let mut set = |entry: usize, v: T| dx[found.at - start + entry * plane] = v * d;
            for (entry, target) in found.targets.iter().enumerate() {
                let x = value(entry);
                let slope = match entry {
                    0 | 1 => sigmoid(x) - *target,
                    _ if x > *target => T::ONE,
                    _ => -T::ONE,
                };
                set(entry, slope * found.weight);
            }
            let [right, wrong] = self.loss.targets::<T>();
            for class in 0..self.loss.cells.classes {
                let target = if class as i32 == found.label { right } else { wrong };
                set(FIXED + class, (sigmoid(value(FIXED + class)) - target) * found.score);
            }
        }
        for (masked, mask) in mask.chunks_exact(plane.max(1)).enumerate() {
            let dx = &mut dx[self.objectness_start(image, masked) - start..][..plane];
            for ((dx, x), &weight) in dx.iter_mut().zip(self.objectness(image, masked)).zip(mask) {
                if weight > T::of(1e-5) {
                    *dx = (sigmoid(*x) - T::ONE) * weight * d;
                } else if weight > T::of(-0.5) {
                    *dx = sigmoid(*x) * d;
                }
            }
        }
    }
}

fn forward<T: Float>(
    io: &Io<'_>,
    inputs: &Inputs,
    (loss, mask, matches): (Out, Out, Out),
    attrs: &LossAttrs,
) -> Result<()> {
    with_batch::<T, ()>(io, inputs, attrs, |batch, n| {
        let (masked, plane) = (attrs.mask.len(), batch.plane());
        let mut loss_tensor = io.out_sized(loss, T::DTYPE, Dims::from([n]))?;
        let dims = Dims::from([n, masked, batch.height, batch.width]);
        let mut mask_tensor = io.out_sized(mask, T::DTYPE, dims)?;
        let mut match_tensor = io.out_sized(matches, DType::I32, Dims::from([n, batch.count]))?;
        let loss = io.data_mut::<T>(loss, &mut loss_tensor)?;
        let mask = io.data_mut::<T>(mask, &mut mask_tensor)?;
        let matches = io.data_mut::<i32>(matches, &mut match_tensor)?;
        io.pool().pieces(mask, plane, |task, mask| batch.mark_ignored(task / masked, task % masked, mask));
        let mut masks = mask.chunks_mut((masked * plane).max(1));
        let mut matches = matches.chunks_mut(batch.count.max(1));
        let images = loss
            .iter_mut()
            .enumerate()
            .map(|(i, loss)| (i, loss, masks.next().unwrap_or_default(), matches.next().unwrap_or_default()));
        io.pool().each(n, images, |(i, loss, mask, matches)| *loss = batch.image_loss(i, mask, matches));
        Ok(())
    })
}

const GRAD: GradOp = GradOp::of(
    &Yolov3Loss,
    "yolov3_loss_grad(X, GTBox, GTLabel, GTScore, Loss@GRAD, ObjectnessMask, GTMatchMask) -> X@GRAD",
)
.doc("gradient of `yolov3_loss`")
.kernel(|p| {
    let loss = LossAttrs::new(&p.attrs())?;
    let inputs = Inputs::new(p)?;
    let more = (p.input("Loss@GRAD")?, p.input("ObjectnessMask")?, p.input("GTMatchMask")?);
    let dx = p.output("X@GRAD")?;
    by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, &inputs, more, dx, &loss)))
});

fn backward<T: Float>(
    io: &Io<'_>,
    inputs: &Inputs,
    (dloss, mask, matches): (In, In, In),
    dx: Out,
    attrs: &LossAttrs,
) -> Result<()> {
    with_batch::<T, ()>(io, inputs, attrs, |batch, n| {
        let (dloss_tensor, mask_tensor, match_tensor) = (io.dense(dloss)?, io.dense(mask)?, io.dense(matches)?);
        let per_image = attrs.mask.len() * batch.plane();
        let dloss = sizes::counted::<T>(io, dloss, &dloss_tensor, n)?;
        let mask = sizes::counted::<T>(io, mask, &mask_tensor, n * per_image)?;
        let matches = sizes::counted::<i32>(io, matches, &match_tensor, n * batch.count)?;
        let mut t = io.out_sized(dx, T::DTYPE, *io.dense(inputs.x)?.dims())?;
        io.pool().pieces(io.data_mut::<T>(dx, &mut t)?, per_image * attrs.cells.entries(), |i, dx| {
            let (mask, matches) = (&mask[i * per_image..][..per_image], &matches[i * batch.count..][..batch.count]);
            batch.image_grad(i, dloss[i], mask, matches, dx);
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn case() -> Check {
        check("yolov3_loss")
            .input("X", noise([2, 12, 2, 2], 1))
            .input(
                "GTBox",
                tensor([2, 2, 4], &[0.3, 0.3, 0.4, 0.3, 0.8, 0.7, 0.1, 0.2, 0.6, 0.2, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]),
            )
            .input("GTLabel", tensor_of([2, 2], &[0, 0, 0, 0]))
            .attr("anchors", vec![10, 13, 16, 30, 33, 23])
            .attr("anchor_mask", vec![0, 2])
            .attr("class_num", 1)
            .attr("downsample_ratio", 32)
    }

    fn outs(case: Check) -> Check {
        case.any_output("Loss").any_output("ObjectnessMask").any_output("GTMatchMask")
    }

    #[test]
    fn gradient_is_that_of_the_loss() {
        outs(case()).counting(&["Loss"]).grad(&["X"]).run();
        let scored = case().input("GTScore", tensor([2, 2], &[0.5, 1.0, 0.7, 1.0])).attr("use_label_smooth", false);
        outs(scored).counting(&["Loss"]).grad(&["X"]).run();
    }

    #[test]
    fn boxes_are_matched_to_anchors_of_their_shape() {
        let boxes = tensor([1, 3, 4], &[0.3, 0.3, 0.5, 0.3, 0.8, 0.7, 0.15, 0.2, 0.5, 0.5, 0.0, 0.1]);
        let case = case().input("X", noise([1, 12, 2, 2], 1)).input("GTBox", boxes);
        let case = case.input("GTLabel", tensor_of([1, 3], &[0, 0, 0])).any_output("Loss").any_output("ObjectnessMask");
        case.output("GTMatchMask", tensor_of([1, 3], &[1, 0, -1])).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = outs(case().attr("anchor_mask", vec![3])).error();
        assert!(e.contains("attribute `anchor_mask` is [3]; it needs numbers of anchors, of which there are 3"), "{e}");
        let mut boxes = vec![0.5f32; 16];
        boxes[5] = 7.0;
        let e = outs(case().input("GTBox", tensor([2, 2, 4], &boxes))).error();
        assert!(e.contains("input `GTBox` = `GTBox.0` has box 1 of image 0 centred at (0.5, 7.0), outside"), "{e}");
        let e = outs(case().input("GTLabel", tensor_of([2, 3], &[0; 6]))).error();
        assert!(e.contains("needs a label for each of `GTBox` in `GTLabel`"), "{e}");
    }
}
