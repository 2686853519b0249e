//! `im2sequence`: each image as a sequence of the windows that slide over it.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, VarType, sig};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_ops_support::sliding_window::{Axes, sizes};
use oarlock_tensor::{Dims, Element, Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&Im2Sequence, &GRAD];

struct Im2Sequence;

impl OpDef for Im2Sequence {
    sig! {
        "im2sequence":
            "Out has a sequence per image and in it a row per window: all channels of the window, row after row";
        in "X": "images: batch, channels, height, width";
        in? "Y": "height and width of each image as it was, of which only windows are taken";
        out "Out": "a row per window, with LoD";
        attr "kernels": "height and width of a window";
        attr "strides" = vec![1, 1], "steps of the window, down and across";
        attr "paddings" = vec![0, 0, 0, 0], "zeros around: up, left, down, right";
        attr "out_stride" = vec![1, 1], "with `Y`: how much smaller images became, down and across";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, windows) = (cx.float("X")?, Windows::read(&cx.attrs())?);
        let [_, channels, ..] = x.shape[..] else {
            return Err(
                cx.shape_error(format!("needs images (batch, channels, height, width), but has {}", cx.describe("X")))
            );
        };
        if x.shape.rank() != 4 {
            return Err(
                cx.shape_error(format!("needs images (batch, channels, height, width), but has {}", cx.describe("X")))
            );
        }
        let columns = oarlock_ir::product(&[channels, Dim::Is(windows.kernel[0]), Dim::Is(windows.kernel[1])]);
        cx.set("Out", VarType::tensor(x.dtype, vec![Dim::Any, columns]).with_lod(1));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, y, out) = (p.input("X")?, p.maybe_input("Y")?, p.output("Out")?);
        let windows = Windows::read(&p.attrs())?;
        by_float!(p.float("X")?, T => {
            let mut counts = Vec::new();
            kernel(move |io| {
                let images = io.dense(x)?;
                let columns = windows.columns(io, x, &images)?;
                windows.counts(io, x, y, &images, &mut counts)?;
                let lengths = counts.iter().map(|[h, w]| h * w);
                let rows = lengths.clone().sum();
                let mut to = io.out_sized(out, <T as Element>::DTYPE, Dims::from([rows, columns]))?;
                to.set_lod(lod_rows::lod_of(&Lod::NONE, lengths));
                let (from, to) = (io.data::<T>(x, &images)?, io.data_mut::<T>(out, &mut to)?);
                windows.each(images.dims(), &counts, |at, pixel| to[at] = pixel.map_or(0.0, |i| from[i]));
                Ok(())
            })
        })
    }
}

/// How windows slide.
#[derive(Clone, Copy)]
struct Windows {
    kernel: [usize; 2],
    stride: [usize; 2],
    /// Up, left, down, right.
    padding: [usize; 4],
    out_stride: [usize; 2],
}

impl Windows {
    fn read(attrs: &AttrView<'_>) -> Result<Windows> {
        let padding = match sizes(attrs, "paddings")?[..] {
            [up, left, down, right] => [up, left, down, right],
            ref other => {
                fail!(Kind::Argument, "attribute `paddings` of `im2sequence` has {} sizes, not 4", other.len())
            }
        };
        let pair = |name: &str| Axes::Image.positive(attrs, name).map(|[_, y, x]| [y, x]);
        let (kernel, stride) = (pair("kernels")?, pair("strides")?);
        Ok(Windows { kernel, stride, padding, out_stride: pair("out_stride")? })
    }

    /// Numbers in a window of images that must be images.
    fn columns(&self, io: &Io<'_>, x: In, images: &Tensor) -> Result<usize> {
        match images.dims()[..] {
            [_, channels, _, _] => Ok(channels * self.kernel[0] * self.kernel[1]),
            _ => Err(io.error(Kind::Shape, x, format_args!("is {}, but images have four dimensions", images.dims()))),
        }
    }

    /// How many windows an image of this height and width has, down and across.
    fn count(&self, size: [usize; 2]) -> [usize; 2] {
        let along = |i: usize| {
            let room = size[i] + self.padding[i] + self.padding[i + 2];
            room.checked_sub(self.kernel[i]).map_or(0, |room| room / self.stride[i] + 1)
        };
        [along(0), along(1)]
    }

    /// How many windows each image has.
    fn counts(&self, io: &Io<'_>, x: In, y: Option<In>, images: &Tensor, counts: &mut Vec<[usize; 2]>) -> Result<()> {
        let whole = [images.dims()[2], images.dims()[3]];
        counts.clear();
        counts.resize(images.rows(), self.count(whole));
        let Some(y) = y else { return Ok(()) };
        let sizes = io.dense(y)?;
        if sizes.dims()[..] != [images.rows(), 2] {
            return Err(io.error(
                Kind::Shape,
                y,
                format_args!("is {}, but must have height and width per image", sizes.dims()),
            ));
        }
        for (count, real) in counts.iter_mut().zip(sizes.to_f64().chunks_exact(2)) {
            let real = |i: usize| (real[i].max(0.0) as usize).div_ceil(self.out_stride[i]);
            if real(0) > whole[0] || real(1) > whole[1] {
                let what = format_args!(
                    "says an image of {} x {}, but {} is {}",
                    real(0),
                    real(1),
                    io.describe(x),
                    images.dims()
                );
                return Err(io.error(Kind::Shape, y, what));
            }
            *count = self.count([real(0), real(1)]);
        }
        Ok(())
    }

    /// Visits every element of the output and the element of the images that it is; `None` for a zero around an image.
    fn each(&self, dims: &Dims, counts: &[[usize; 2]], mut visit: impl FnMut(usize, Option<usize>)) {
        let (channels, height, width) = (dims[1], dims[2], dims[3]);
        let inside = |at: usize, padding: usize, size: usize| at.checked_sub(padding).filter(|i| *i < size);
        let mut at = 0;
        for (image, [down, across]) in counts.iter().enumerate() {
            for window in 0..down * across {
                let (top, left) = (window / across * self.stride[0], window % across * self.stride[1]);
                for place in 0..channels * self.kernel[0] * self.kernel[1] {
                    let (c, r) = (place / self.kernel[1] / self.kernel[0], place / self.kernel[1] % self.kernel[0]);
                    let row = inside(top + r, self.padding[0], height);
                    let col = inside(left + place % self.kernel[1], self.padding[1], width);
                    let pixel = row.zip(col).map(|(row, col)| ((image * channels + c) * height + row) * width + col);
                    visit(at, pixel);
                    at += 1;
                }
            }
        }
    }
}

const GRAD: GradOp = GradOp::of(&Im2Sequence, "im2sequence_grad(X, Out@GRAD) -> X@GRAD")
    .doc("X@GRAD = the sum of Out@GRAD over all windows that an element is in")
    .traits(oarlock_ir::Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (x, dout, dx) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        let windows = Windows::read(&p.attrs())?;
        by_float!(p.float("X")?, T => {
            let mut counts = Vec::new();
            kernel(move |io| {
                let (images, d) = (io.dense(x)?, io.dense(dout)?);
                let columns = windows.columns(io, x, &images)?;
                windows.counts(io, x, None, &images, &mut counts)?;
                checks::expect_elements(io, dout, d.numel(), counts.iter().map(|[h, w]| h * w * columns).sum())?;
                let mut to = io.out_sized(dx, <T as Element>::DTYPE, *images.dims())?;
                let (d, to) = (io.data::<T>(dout, &d)?, io.data_mut::<T>(dx, &mut to)?);
                to.fill(0.0);
                windows.each(images.dims(), &counts, |at, pixel| {
                    if let Some(i) = pixel {
                        to[i] += d[at];
                    }
                });
                Ok(())
            })
        })
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn images() -> Check {
        let pixels: Vec<f32> = (1..=9).map(|i| i as f32).collect();
        check("im2sequence").input("X", tensor([1, 1, 3, 3], &pixels)).attr("kernels", vec![2, 2])
    }

    #[test]
    fn windows_become_rows() {
        let rows = [1.0, 2.0, 4.0, 5.0, 2.0, 3.0, 5.0, 6.0, 4.0, 5.0, 7.0, 8.0, 5.0, 6.0, 8.0, 9.0];
        images().output("Out", with_lod(tensor([4, 4], &rows), &[&[0, 4]])).grad(&["X"]).run();
        let padded = images().attr("strides", vec![4, 4]).attr("paddings", vec![1, 1, 1, 1]);
        padded.output("Out", with_lod(tensor([1, 4], &[0.0, 0.0, 0.0, 1.0]), &[&[0, 1]])).grad(&["X"]).run();
    }

    #[test]
    fn only_the_real_part_of_an_image() {
        let part = images().input("Y", tensor([1, 2], &[4.0, 6.0])).attr("out_stride", vec![2, 2]);
        part.output("Out", with_lod(tensor([2, 4], &[1.0, 2.0, 4.0, 5.0, 2.0, 3.0, 5.0, 6.0]), &[&[0, 2]])).run();
        let e = images().input("Y", tensor([1, 2], &[4.0, 3.0])).any_output("Out").error();
        assert!(e.contains("input `Y` = `Y.0` says an image of 4 x 3"), "{e}");
    }

    #[test]
    fn images_have_four_dimensions() {
        let e = check("im2sequence").input("X", noise([2, 3], 1)).attr("kernels", vec![1, 1]).any_output("Out").error();
        assert!(e.contains("needs images (batch, channels, height, width), but has `X` = X.0 f32[2, 3]"), "{e}");
    }
}
