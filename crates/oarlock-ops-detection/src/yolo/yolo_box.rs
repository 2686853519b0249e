//! `yolo_box`: boxes and scores from the predictions of YOLO.

use oarlock_ir::{
    Dim, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, Traits, VarType, by_float, kernel, product, sig,
};
use oarlock_ops_support::checks::expect_dims;
use oarlock_tensor::{Dims, Float};

use super::cells::{Cells, FIXED, sigmoid};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&YoloBox];

struct YoloBox;

impl OpDef for YoloBox {
    sig! {
        "yolo_box": "Boxes = the boxes that YOLO predicts for each anchor of each cell, in pixels of the images; Scores = the scores of \
             their classes; both 0 where the objectness is below conf_thresh";
        in "X": "[n, anchors * (5 + class_num), h, w], f32 or f64: the output of the network";
        in "ImgSize": "[n, 2], i32: height and width of each image";
        out "Boxes": "[n, anchors * h * w, 4]: left, top, right and bottom";
        out "Scores": "[n, anchors * h * w, class_num]";
        attr "class_num": "how many classes there are";
        attr "anchors" = Vec::<i32>::new(), "width and height of each anchor, in pixels of the network's input";
        attr "downsample_ratio" = 32, "the network's input over the map, in height";
        attr "conf_thresh" = 0.01f32, "the least objectness";
        attr "clip_bbox" = true, "bring boxes into their image";
        attr "scale_x_y" = 1.0f32, "factor of a centre's distance from the middle of its cell";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let cells = Cells::new(&cx.attrs())?;
        let anchors = cells.anchors.len();
        let x = cells.infer(cx, anchors)?;
        sizes::expect(cx, "ImgSize", &cx.integer("ImgSize")?, &[x.shape[0].known(), Some(2)], "[n, 2]")?;
        let boxes = product(&[x.shape[2], x.shape[3], Dim::Is(anchors)]);
        let ty = |last: usize| VarType::tensor(x.dtype, vec![x.shape[0], boxes, Dim::Is(last)]);
        cx.set("Boxes", ty(4));
        cx.set("Scores", ty(cells.classes));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, outs) = ((p.input("X")?, p.input("ImgSize")?), (p.output("Boxes")?, p.output("Scores")?));
        let cells = Cells::new(&p.attrs())?;
        let (least, clip) = (p.attrs().f32("conf_thresh")?, p.attrs().bool("clip_bbox")?);
        by_float!(p.float("X")?, T => kernel(move |io| run::<T>(io, inputs, outs, &cells, (T::of(least.into()), clip))))
    }
}

fn run<T: Float>(
    io: &Io<'_>,
    (x, image_size): (In, In),
    (boxes, scores): (Out, Out),
    cells: &Cells,
    (least, clip): (T, bool),
) -> Result<()> {
    let (x_tensor, size_tensor) = (io.dense(x)?, io.dense(image_size)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let (anchors, entries) = (cells.anchors.len(), cells.entries());
    let what = format_args!("[n, {}, h, w]", anchors * entries);
    sizes::ensure(io, x, &x_tensor, channels == anchors * entries, what)?;
    expect_dims(io, image_size, &size_tensor, &[n, 2], "height and width of each image")?;
    let data = io.data::<T>(x, &x_tensor)?;
    let image_sizes = io.data::<i32>(image_size, &size_tensor)?.as_chunks::<2>().0;
    let plane = h * w;
    let mut box_tensor = io.out_sized(boxes, T::DTYPE, Dims::from([n, anchors * plane, 4]))?;
    let mut score_tensor = io.out_sized(scores, T::DTYPE, Dims::from([n, anchors * plane, cells.classes]))?;
    let boxes = io.data_mut::<T>(boxes, &mut box_tensor)?.as_chunks_mut::<4>().0;
    let scores = io.data_mut::<T>(scores, &mut score_tensor)?;
    boxes.fill([T::ZERO; 4]);
    scores.fill(T::ZERO);
    let frame = cells.frame::<T>(h);
    let outs = boxes.chunks_mut(plane.max(1)).zip(scores.chunks_mut((plane * cells.classes).max(1)));
    io.pool().each(n * anchors, outs.enumerate(), |(task, (boxes, scores))| {
        let [height, width] = image_sizes[task / anchors].map(|side| T::of(f64::from(side)));
        let [anchor_w, anchor_h] = cells.anchors[task % anchors].map(|side| T::of(side as f64));
        let x = &data[task * entries * plane..][..entries * plane];
        let rows = boxes.iter_mut().zip(scores.chunks_exact_mut(cells.classes)).enumerate();
        for (at, (out, scores)) in rows {
            let value = |entry: usize| x[entry * plane + at];
            let objectness = sigmoid(value(4));
            if objectness < least {
                continue;
            }
            let centre = [
                frame.place(at % w, value(0)) * width / frame.cells,
                frame.place(at / w, value(1)) * height / frame.cells,
            ];
            let sides =
                [value(2).exp() * anchor_w * width / frame.input, value(3).exp() * anchor_h * height / frame.input];
            *out = corners(centre, sides, clip.then_some([width - T::ONE, height - T::ONE]));
            scores.iter_mut().enumerate().for_each(|(c, score)| *score = objectness * sigmoid(value(FIXED + c)));
        }
    });
    Ok(())
}

/// The sides of a box, brought into an image whose last pixel is `last`.
fn corners<T: Float>([x, y]: [T; 2], [w, h]: [T; 2], last: Option<[T; 2]>) -> Box4<T> {
    let half = T::of(0.5);
    let (w, h) = (w * half, h * half);
    let mut sides = [x - w, y - h, x + w, y + h];
    if let Some([right, bottom]) = last {
        sides = [sides[0].max(T::ZERO), sides[1].max(T::ZERO), sides[2].min(right), sides[3].min(bottom)];
    }
    sides
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn case() -> Check {
        // One anchor, one class, two cells; the second one is not an object.
        let x = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -9.0, 0.0, 0.0];
        check("yolo_box")
            .input("X", tensor([1, 6, 1, 2], &x))
            .input("ImgSize", tensor_of([1, 2], &[64, 64]))
            .attr("anchors", vec![16, 8])
            .attr("class_num", 1)
    }

    #[test]
    fn boxes_of_objects_are_decoded() {
        case()
            .output("Boxes", tensor([1, 2, 4], &[16.0, 24.0, 48.0, 40.0, 0.0, 0.0, 0.0, 0.0]))
            .output("Scores", tensor([1, 2, 1], &[0.25, 0.0]))
            .run();
        let small = case().input("ImgSize", tensor_of([1, 2], &[32, 32])).attr("anchors", vec![64, 8]);
        let outs = small.output("Boxes", tensor([1, 2, 4], &[0.0, 12.0, 31.0, 20.0, 0.0, 0.0, 0.0, 0.0]));
        outs.any_output("Scores").run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| case.any_output("Boxes").any_output("Scores").error();
        let e = outs(case().input("X", noise([1, 7, 1, 2], 1)));
        assert!(e.contains("needs 6 channels (1 anchors of 5 + 1 values) in `X`"), "{e}");
        let e = outs(case().attr("anchors", vec![16]));
        assert!(e.contains("attribute `anchors` is [16]; it needs pairs of width and height, above 0"), "{e}");
        let e = outs(case().input("ImgSize", tensor_of([2, 2], &[1; 4])));
        assert!(e.contains("needs [n, 2] in `ImgSize`"), "{e}");
    }
}
