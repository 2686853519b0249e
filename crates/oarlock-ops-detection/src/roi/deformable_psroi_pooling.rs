//! `deformable_psroi_pooling`: means of regions whose bins are moved, each bin from a channel of its own.

use oarlock_ir::{
    AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarType, by_float, fail, kernel,
    sig, slots,
};
use oarlock_tensor::{Dims, Float, Tensor};

use super::regions::{ImagesOf, Regions};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&DeformablePsroiPooling, &GRAD];

struct DeformablePsroiPooling;

impl OpDef for DeformablePsroiPooling {
    sig! {
        "deformable_psroi_pooling": "Output[r, c, i, j] = the mean of a channel of Input at sample_per_part squared points of bin (i, j) of region r, \
             moved by Trans times trans_std times the region's size; the channel is that of c and the bin's place in group_size";
        in "Input": "[n, output_dim * group h * group w or more, h, w], f32 or f64: the feature map";
        in "ROIs": "[regions, 4]: left, top, right and bottom in the image, with a sequence per image";
        in "Trans": "[regions, 2 * classes, part h, part w]: moves across and down, for each class in turn";
        out "TopCount": "like `Output`: how many points lie on the map";
        out "Output": "[regions, output_dim, pooled_height, pooled_width]; 0 where no point lies on the map";
        attr "no_trans": "true: bins are not moved";
        attr "spatial_scale": "the feature map's size over that of the image to which regions refer";
        attr "output_dim": "channels of `Output`";
        attr "group_size": "rows and columns of channels";
        attr "pooled_height": "rows of a pooled region";
        attr "pooled_width": "columns of a pooled region";
        attr "part_size": "rows and columns of moves";
        attr "sample_per_part": "points of a bin along each axis";
        attr "trans_std": "factor of the moves";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let pooling = Pooling::new(&cx.attrs())?;
        let input = sizes::images(cx, "Input")?;
        let rois = sizes::boxes(cx, "ROIs")?;
        if input.shape[1].known().is_some_and(|channels| channels < pooling.channels()) {
            let what = format_args!(
                "needs {} channels, one per output and group, in {}",
                pooling.channels(),
                cx.describe("Input")
            );
            return Err(cx.shape_error(what));
        }
        let parts = pooling.parts.map(|n| (!pooling.no_trans).then_some(n));
        let what = "[regions, 2 * classes, part h, part w]";
        let trans = sizes::float(cx, "Trans", &[rois.shape[0].known(), None, parts[0], parts[1]], what)?;
        if trans.shape[1].known().is_some_and(|channels| pooling.classes(channels).is_none()) {
            let outputs = pooling.outputs;
            let what = format_args!("needs two moves for each class of {outputs} outputs in {}", cx.describe("Trans"));
            return Err(cx.shape_error(what));
        }
        let [rows, columns] = pooling.pooled;
        let shape = vec![rois.shape[0], Dim::Is(pooling.outputs), Dim::Is(rows), Dim::Is(columns)];
        let ty = VarType::tensor(input.dtype, shape);
        cx.set("Output", ty.clone());
        cx.set("TopCount", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, pooling) = (Slots::new(p)?, Pooling::new(&p.attrs())?);
        let outs = (p.output("Output")?, p.output("TopCount")?);
        by_float!(p.float("Input")?, T => kernel(move |io| slots.with(io, &pooling, |batch| {
            forward::<T>(io, batch, outs)
        })))
    }
}

#[derive(Clone, Copy)]
struct Pooling {
    no_trans: bool,
    scale: f32,
    outputs: usize,
    groups: [usize; 2],
    pooled: [usize; 2],
    parts: [usize; 2],
    samples: usize,
    factor: f32,
}

impl Pooling {
    fn new(attrs: &AttrView<'_>) -> Result<Pooling> {
        let positive = |name: &str| match attrs.count(name)? {
            0 => fail!(Kind::Argument, "attribute `{name}` is 0; it must be above 0"),
            n => Ok(n),
        };
        let pair = |name: &str| {
            let values = attrs.ints(name)?;
            match values[..] {
                [h, w] if h > 0 && w > 0 => Ok([h as usize, w as usize]),
                _ => fail!(Kind::Argument, "attribute `{name}` is {values:?}; it needs 2 sizes above 0"),
            }
        };
        Ok(Pooling {
            no_trans: attrs.bool("no_trans")?,
            scale: attrs.f32("spatial_scale")?,
            outputs: positive("output_dim")?,
            groups: pair("group_size")?,
            pooled: [positive("pooled_height")?, positive("pooled_width")?],
            parts: pair("part_size")?,
            samples: positive("sample_per_part")?,
            factor: attrs.f32("trans_std")?,
        })
    }

    /// How many classes have these channels of moves; `None` if they do not divide the outputs.
    fn classes(&self, channels: usize) -> Option<usize> {
        if self.no_trans {
            return Some(1);
        }
        let classes = channels / 2;
        (channels.is_multiple_of(2) && classes > 0 && self.outputs.is_multiple_of(classes)).then_some(classes)
    }

    /// Channels of the map that are read.
    fn channels(&self) -> usize {
        self.outputs * self.groups[0] * self.groups[1]
    }

    fn bins(&self) -> usize {
        self.pooled[0] * self.pooled[1]
    }

    /// The channel of an output at a bin.
    fn channel(&self, output: usize, bin: usize) -> usize {
        let at = [bin / self.pooled[1], bin % self.pooled[1]];
        let group = |axis: usize| (at[axis] * self.groups[axis] / self.pooled[axis]).min(self.groups[axis] - 1);
        (output * self.groups[0] + group(0)) * self.groups[1] + group(1)
    }

    /// Which of the moves a bin has.
    fn part(&self, bin: usize) -> usize {
        let at = [bin / self.pooled[1], bin % self.pooled[1]];
        let part = |axis: usize| at[axis] * self.parts[axis] / self.pooled[axis];
        part(0) * self.parts[1] + part(1)
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Slots(p) {
        input: input "Input",
        rois: input "ROIs",
        trans: input "Trans",
    }
}

impl Slots {
    /// Gives `run` the checked inputs.
    fn with<T: Float>(
        &self,
        io: &Io<'_>,
        pooling: &Pooling,
        run: impl FnOnce(&Batch<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let (input, rois, trans) = (io.dense(self.input)?, io.dense(self.rois)?, io.dense(self.trans)?);
        let [n, channels, height, width] = sizes::dims(io, self.input, &input, sizes::IMAGES)?;
        let what = format_args!("[n, {} or more, h, w]", pooling.channels());
        sizes::ensure(io, self.input, &input, channels >= pooling.channels(), what)?;
        let regions = Regions::<T>::new(io, (self.rois, &rois), ImagesOf::Lod, (n, 4))?;
        let classes = self.classes(io, &trans, pooling, regions.values.len() / 4)?;
        run(&Batch {
            pooling,
            data: io.data::<T>(self.input, &input)?,
            trans: io.data::<T>(self.trans, &trans)?,
            images: regions.images(),
            regions,
            classes,
            channels,
            height,
            width,
            dims: (*input.dims(), *trans.dims()),
        })
    }

    /// How many classes have moves of their own.
    fn classes(&self, io: &Io<'_>, trans: &Tensor, pooling: &Pooling, regions: usize) -> Result<usize> {
        if pooling.no_trans {
            // The moves are not read, so their sizes do not matter.
            return Ok(1);
        }
        let [rows, channels, h, w] = sizes::dims(io, self.trans, trans, "[regions, 2 * classes, part h, part w]")?;
        let classes = pooling.classes(channels).filter(|_| rows == regions && [h, w] == pooling.parts);
        let what = format_args!("[{regions}, 2 * classes, {}, {}]", pooling.parts[0], pooling.parts[1]);
        sizes::ensure(io, self.trans, trans, classes.is_some(), what)?;
        Ok(classes.unwrap_or(1))
    }
}

struct Batch<'t, T> {
    pooling: &'t Pooling,
    data: &'t [T],
    trans: &'t [T],
    regions: Regions<'t, T>,
    images: Vec<usize>,
    classes: usize,
    /// Of the map.
    channels: usize,
    height: usize,
    width: usize,
    /// Of `Input` and `Trans`.
    dims: (Dims, Dims),
}

/// A point of the map: the four pixels around it (rows first) and how far it is from the first.
struct Point<T> {
    at: [usize; 4],
    across: T,
    down: T,
}

impl<T: Float> Point<T> {
    fn weights(&self) -> [T; 4] {
        let (left, up) = (T::ONE - self.across, T::ONE - self.down);
        [left * up, left * self.down, self.across * up, self.across * self.down]
    }
}

/// One region.
struct Region<T> {
    low: [T; 2],
    size: [T; 2],
}

impl<T: Float> Batch<'_, T> {
    fn plane(&self) -> usize {
        self.height * self.width
    }

    /// Outputs of a class.
    fn per_class(&self) -> usize {
        self.pooling.outputs / self.classes
    }

    /// The region, down and across, on the map.
    fn region(&self, r: usize) -> Region<T> {
        let b: Box4<T> = self.regions.values.as_chunks::<4>().0[r];
        let (scale, half) = (T::of(self.pooling.scale.into()), T::of(0.5));
        let low = |v: T| v.round() * scale - half;
        let high = |v: T| (v.round() + T::ONE) * scale - half;
        let size = |axis: usize| (high(b[3 - axis]) - low(b[1 - axis])).max(T::of(0.1));
        Region { low: [low(b[1]), low(b[0])], size: [size(0), size(1)] }
    }

    /// Where the moves of a class of a region are, across and down, for a bin.
    fn moves(&self, r: usize, class: usize, bin: usize) -> [usize; 2] {
        let size = self.pooling.parts[0] * self.pooling.parts[1];
        let at = |which: usize| ((r * self.classes + class) * 2 + which) * size + self.pooling.part(bin);
        [at(0), at(1)]
    }

    /// The points of a bin that lie on the map.
    fn points(&self, r: usize, region: &Region<T>, class: usize, bin: usize) -> Vec<Point<T>> {
        let (pooling, half) = (self.pooling, T::of(0.5));
        let at = [bin / pooling.pooled[1], bin % pooling.pooled[1]];
        let moves = if pooling.no_trans { None } else { Some(self.moves(r, class, bin)) };
        let side = |axis: usize| {
            let size = region.size[axis] / T::of(pooling.pooled[axis] as f64);
            let mut start = T::of(at[axis] as f64) * size + region.low[axis];
            if let Some(moves) = moves {
                start += self.trans[moves[1 - axis]] * T::of(pooling.factor.into()) * region.size[axis];
            }
            (start, size / T::of(pooling.samples as f64))
        };
        let ((y, step_y), (x, step_x)) = (side(0), side(1));
        let mut points = Vec::with_capacity(pooling.samples * pooling.samples);
        let on_map = |v: T, n: usize| !(v < -half || v > T::of(n as f64) - half);
        for i in 0..pooling.samples * pooling.samples {
            let y = y + T::of((i / pooling.samples) as f64) * step_y;
            let x = x + T::of((i % pooling.samples) as f64) * step_x;
            if self.plane() > 0 && on_map(y, self.height) && on_map(x, self.width) {
                points.push(self.point(y, x));
            }
        }
        points
    }

    fn point(&self, y: T, x: T) -> Point<T> {
        let around = |v: T, n: usize| {
            let v = v.max(T::ZERO).min(T::of(n as f64 - 1.0));
            (v.floor().f64() as usize, v.ceil().f64() as usize, v - v.floor())
        };
        let ((y0, y1, down), (x0, x1, across)) = (around(y, self.height), around(x, self.width));
        let at = [(y0, x0), (y1, x0), (y0, x1), (y1, x1)].map(|(y, x)| y * self.width + x);
        Point { at, across, down }
    }

    /// Calls `f` for every output of a region: its place in the region's outputs, the class, the points, and the channel.
    fn each_output(&self, r: usize, mut f: impl FnMut(usize, usize, &[Point<T>], usize)) {
        let (region, bins) = (self.region(r), self.pooling.bins());
        for class in 0..self.classes {
            for bin in 0..bins {
                let points = self.points(r, &region, class, bin);
                for output in class * self.per_class()..(class + 1) * self.per_class() {
                    f(output * bins + bin, class, &points, self.pooling.channel(output, bin));
                }
            }
        }
    }

    fn outputs(&self) -> usize {
        self.pooling.outputs * self.pooling.bins()
    }
}

fn forward<T: Float>(io: &Io<'_>, batch: &Batch<'_, T>, (out, count): (Out, Out)) -> Result<()> {
    let regions = batch.images.len();
    let dims = Dims::from([regions, batch.pooling.outputs, batch.pooling.pooled[0], batch.pooling.pooled[1]]);
    let mut out_tensor = io.out_sized(out, T::DTYPE, dims)?;
    let mut count_tensor = io.out_sized(count, T::DTYPE, dims)?;
    let outs = io.data_mut::<T>(out, &mut out_tensor)?.chunks_exact_mut(batch.outputs());
    let counts = io.data_mut::<T>(count, &mut count_tensor)?.chunks_exact_mut(batch.outputs());
    io.pool().each(regions, outs.zip(counts).enumerate(), |(r, (out, count))| {
        let image = &batch.data[batch.images[r] * batch.channels * batch.plane()..];
        batch.each_output(r, |at, _, points, channel| {
            let plane = &image[channel * batch.plane()..][..batch.plane()];
            let value = |p: &Point<T>| p.at.iter().zip(p.weights()).map(|(&at, w)| plane[at] * w).sum::<T>();
            count[at] = T::of(points.len() as f64);
            out[at] = if points.is_empty() { T::ZERO } else { points.iter().map(value).sum::<T>() / count[at] };
        });
    });
    Ok(())
}

const GRAD: GradOp = GradOp::of(
    &DeformablePsroiPooling,
    "deformable_psroi_pooling_grad(Input, ROIs, Trans, TopCount, Output@GRAD) -> Input@GRAD, Trans@GRAD",
)
.doc("gradients of `deformable_psroi_pooling`")
.kernel(|p| {
    let (slots, pooling, dout) = (Slots::new(p)?, Pooling::new(&p.attrs())?, p.input("Output@GRAD")?);
    let outs = (p.maybe_output("Input@GRAD")?, p.maybe_output("Trans@GRAD")?);
    by_float!(p.float("Input")?, T => kernel(move |io| slots.with(io, &pooling, |batch| {
        backward::<T>(io, batch, dout, outs)
    })))
});

fn backward<T: Float>(
    io: &Io<'_>,
    batch: &Batch<'_, T>,
    dout: In,
    (dinput, dtrans): (Option<Out>, Option<Out>),
) -> Result<()> {
    let dout_tensor = io.dense(dout)?;
    let d = sizes::counted::<T>(io, dout, &dout_tensor, batch.images.len() * batch.outputs())?;
    let share =
        |r: usize, at: usize, points: &[Point<T>]| d[r * batch.outputs() + at] / T::of(points.len().max(1) as f64);
    let image_len = batch.channels * batch.plane();
    if let Some(dinput) = dinput {
        let mut t = io.out_sized(dinput, T::DTYPE, batch.dims.0)?;
        io.pool().pieces(io.data_mut::<T>(dinput, &mut t)?, image_len, |image, to| {
            to.fill(T::ZERO);
            for r in batch.regions.of_image(image) {
                batch.each_output(r, |at, _, points, channel| {
                    let (share, plane) = (share(r, at, points), &mut to[channel * batch.plane()..][..batch.plane()]);
                    for p in points {
                        p.at.iter().zip(p.weights()).for_each(|(&at, w)| plane[at] += w * share);
                    }
                });
            }
        });
    }
    let Some(dtrans) = dtrans else { return Ok(()) };
    let mut t = io.out_sized(dtrans, T::DTYPE, batch.dims.1)?;
    let to = io.data_mut::<T>(dtrans, &mut t)?;
    to.fill(T::ZERO);
    if batch.pooling.no_trans {
        return Ok(());
    }
    let len = batch.classes * 2 * batch.pooling.parts[0] * batch.pooling.parts[1];
    io.pool().pieces(to, len, |r, to| {
        let (region, image) = (batch.region(r), &batch.data[batch.images[r] * image_len..]);
        let factor = T::of(batch.pooling.factor.into());
        batch.each_output(r, |at, class, points, channel| {
            let (share, plane) = (share(r, at, points) * factor, &image[channel * batch.plane()..][..batch.plane()]);
            let [across, down] = batch.moves(r, class, at % batch.pooling.bins()).map(|at| at - r * len);
            for p in points {
                let [u00, u01, u10, u11] = p.at.map(|at| plane[at]);
                let slope_x = (u11 - u01) * p.down + (u10 - u00) * (T::ONE - p.down);
                let slope_y = (u11 - u10) * p.across + (u01 - u00) * (T::ONE - p.across);
                to[across] += slope_x * share * region.size[1];
                to[down] += slope_y * share * region.size[0];
            }
        });
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        check("deformable_psroi_pooling")
            .input("Input", noise([2, 4, 4, 5], 1))
            .input(
                "ROIs",
                with_lod(tensor([3, 4], &[0.0, 0.0, 3.0, 2.0, 1.0, 1.0, 4.0, 3.0, 1.0, 0.0, 2.0, 3.0]), &[&[0, 1, 3]]),
            )
            .input("Trans", noise([3, 2, 2, 2], 2))
            .attr("no_trans", false)
            .attr("spatial_scale", 0.9f32)
            .attr("output_dim", 1)
            .attr("group_size", vec![2, 2])
            .attr("pooled_height", 2)
            .attr("pooled_width", 2)
            .attr("part_size", vec![2, 2])
            .attr("sample_per_part", 2)
            .attr("trans_std", 0.05f32)
    }

    #[test]
    fn points_that_do_not_move_give_the_mean() {
        let zeros = tensor([1, 2, 1, 1], &[0.0; 2]);
        case()
            .input("Input", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("ROIs", with_lod(tensor([1, 4], &[0.0, 0.0, 1.0, 1.0]), &[&[0, 1]]))
            .input("Trans", zeros)
            .attr("spatial_scale", 1.0f32)
            .attr("group_size", vec![1, 1])
            .attr("pooled_height", 1)
            .attr("pooled_width", 1)
            .attr("part_size", vec![1, 1])
            .output("Output", tensor([1, 1, 1, 1], &[1.75]))
            .output("TopCount", tensor([1, 1, 1, 1], &[4.0]))
            .run();
    }

    #[test]
    fn gradients_are_those_of_the_mean() {
        let case = case().any_output("Output").any_output("TopCount").counting(&["Output"]);
        case.grad(&["Input", "Trans"]).grad_tolerance(2e-2, 1e-3).run();
    }

    #[test]
    fn mistakes_are_named() {
        let outs = |case: Check| case.any_output("Output").any_output("TopCount").error();
        let e = outs(case().input("Trans", noise([3, 3, 2, 2], 1)));
        assert!(e.contains("needs two moves for each class of 1 outputs in `Trans`"), "{e}");
        let e = outs(case().attr("output_dim", 2));
        assert!(e.contains("needs 8 channels, one per output and group, in `Input`"), "{e}");
        let e = outs(case().attr("group_size", vec![2]));
        assert!(e.contains("attribute `group_size` is [2]; it needs 2 sizes above 0"), "{e}");
    }
}
