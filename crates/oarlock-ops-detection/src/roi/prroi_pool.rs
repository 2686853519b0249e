//! `prroi_pool`: the exact means of regions of a feature map that is linear between pixels.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, OpDef, Out, Prepare, Result, by_float, kernel, sig};
use oarlock_tensor::Float;

use super::regions::{ImagesOf, Pooled, Regions, whole};
use super::separable::{self, Axis, Separable};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&PrroiPool, &GRAD];

struct PrroiPool;

impl OpDef for PrroiPool {
    sig! {
        "prroi_pool": "Out[r, c, i, j] = the integral of X[image of r, c], linear between pixels and 0 outside, over bin (i, j) of region r, \
             over the bin's area; 0 if that is 0";
        in "X": "[n, channels, h, w], f32 or f64: the feature map";
        in "ROIs": "[regions, 4]: left, top, right and bottom in the image, with a sequence per image";
        in? "BatchRoINums": "[n], i64: how many regions each image has, instead of the LoD of `ROIs`";
        out "Out": "[regions, channels, pooled_height, pooled_width]";
        with Pooled::with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Pooled::new(&cx.attrs())?.infer(cx, "X", 4, |channels| channels)?;
        if cx.has("BatchRoINums") {
            let images = cx.input("X")?.shape[0].known();
            sizes::expect(cx, "BatchRoINums", &cx.input("BatchRoINums")?, &[images], "a number per image")?;
        }
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("ROIs")?, images_of(p)?), p.output("Out")?);
        let pooled = Pooled::new(&p.attrs())?;
        let how = Exact(pooled);
        by_float!(p.float("X")?, T => kernel(move |io| separable::forward::<T>(io, inputs, out, &pooled, &how)))
    }
}

fn images_of(p: &Prepare<'_>) -> Result<ImagesOf> {
    Ok(p.maybe_input("BatchRoINums")?.map_or(ImagesOf::Lod, ImagesOf::Counts))
}

struct Exact(Pooled);

/// The integral from `a` to `b`, within 0..=1, of a line that falls from 1 at 0 to 0 at 1.
fn falling<T: Float>(a: T, b: T) -> T {
    let half = T::of(0.5);
    b - half * b * b - a + half * a * a
}

/// One axis of a region.
struct Side<T> {
    low: T,
    bin: T,
}

impl<T: Float> Side<T> {
    fn new(low: T, high: T, scale: T, bins: usize) -> Side<T> {
        let (low, high) = (low * scale, high * scale);
        Side { low, bin: (high - low).max(T::ZERO) / T::of(bins as f64) }
    }

    /// The ends of a bin.
    fn bin(&self, i: usize) -> (T, T) {
        let start = T::of(i as f64) * self.bin + self.low;
        (start, start + self.bin)
    }
}

/// The stretches between neighbouring pixels that a bin meets: the pixel before each, and where it starts and ends behind that
/// pixel. Those that touch no pixel of the map are left out.
fn stretches<T: Float>((start, end): (T, T), pixels: usize) -> impl Iterator<Item = (i64, T, T)> {
    let (first, last) = (whole(start.floor()).max(-1), whole(end.ceil()).min(pixels as i64));
    (first..last).map(move |pixel| {
        let at = T::of(pixel as f64);
        (pixel, start.max(at) - at, end.min(at + T::ONE) - at)
    })
}

fn axis<T: Float>(side: &Side<T>, bins: usize, pixels: usize, axis: &mut Axis<T>) {
    for i in 0..bins {
        if side.bin > T::ZERO {
            let share = T::ONE / side.bin;
            for (pixel, a, b) in stretches(side.bin(i), pixels) {
                let weights = [(pixel, falling(a, b)), (pixel + 1, falling(T::ONE - b, T::ONE - a))];
                for (pixel, weight) in weights {
                    if let Some(pixel) = usize::try_from(pixel).ok().filter(|p| *p < pixels) {
                        axis.add(pixel, weight * share);
                    }
                }
            }
        }
        axis.end_bin();
    }
}

impl Exact {
    /// The sides of a region along rows and columns.
    fn sides<T: Float>(&self, b: &Box4<T>) -> [Side<T>; 2] {
        let scale = self.0.scale::<T>();
        [Side::new(b[1], b[3], scale, self.0.height), Side::new(b[0], b[2], scale, self.0.width)]
    }
}

impl<T: Float> Separable<T> for Exact {
    fn axes(&self, region: &Box4<T>, [h, w]: [usize; 2], rows: &mut Axis<T>, columns: &mut Axis<T>) {
        let [down, across] = self.sides(region);
        axis(&down, self.0.height, h, rows);
        axis(&across, self.0.width, w, columns);
    }
}

const GRAD: GradOp =
    GradOp::of(&PrroiPool, "prroi_pool_grad(X, Out, ROIs, BatchRoINums, Out@GRAD) -> X@GRAD, ROIs@GRAD")
        .doc("gradients of `prroi_pool`")
        .kernel(|p| {
            let inputs = (p.input("X")?, p.input("ROIs")?, images_of(p)?, p.input("Out@GRAD")?);
            let (out, dx, drois) = (p.input("Out")?, p.maybe_output("X@GRAD")?, p.maybe_output("ROIs@GRAD")?);
            let pooled = Pooled::new(&p.attrs())?;
            let how = Exact(pooled);
            by_float!(p.float("X")?, T => kernel(move |io| {
                if let Some(dx) = dx {
                    separable::backward::<T>(io, inputs, dx, &pooled, &how)?;
                }
                drois.map_or(Ok(()), |drois| how.regions_grad::<T>(io, inputs, out, drois))
            }))
        });

/// A channel of the map.
struct Plane<'a, T> {
    data: &'a [T],
    height: usize,
    width: usize,
}

impl<T: Float> Plane<'_, T> {
    fn pixel(&self, y: i64, x: i64) -> T {
        let inside = |v: i64, n: usize| usize::try_from(v).ok().filter(|v| *v < n);
        inside(y, self.height).zip(inside(x, self.width)).map_or(T::ZERO, |(y, x)| self.data[y * self.width + x])
    }

    /// The value at a point of column `x` or row `y` between pixels: `pixel` gives those around it.
    fn between(at: T, pixel: impl Fn(i64) -> T) -> T {
        let low = whole(at.floor());
        let high = at - T::of(low as f64);
        pixel(low) * (T::ONE - high) + pixel(low + 1) * high
    }

    /// The integral along a vertical line at `x`, over a bin's rows.
    fn down(&self, x: T, rows: (T, T)) -> T {
        let value = |y: i64| Self::between(x, |x| self.pixel(y, x));
        line(stretches(rows, self.height), value)
    }

    /// The integral along a horizontal line at `y`, over a bin's columns.
    fn across(&self, y: T, columns: (T, T)) -> T {
        let value = |x: i64| Self::between(y, |y| self.pixel(y, x));
        line(stretches(columns, self.width), value)
    }
}

/// The integral over stretches of a function that is linear between whole numbers.
fn line<T: Float>(stretches: impl Iterator<Item = (i64, T, T)>, value: impl Fn(i64) -> T) -> T {
    let half = T::of(0.5);
    stretches.map(|(at, a, b)| half * (b * b - a * a) * value(at + 1) + falling(a, b) * value(at)).sum()
}

impl Exact {
    /// The gradient of the regions: a side that moves gains or loses what the map has along it, less the mean. Regions without
    /// area have no gradient.
    fn regions_grad<T: Float>(
        &self,
        io: &Io<'_>,
        (x, rois, of, dout): (In, In, ImagesOf, In),
        out: In,
        drois: Out,
    ) -> Result<()> {
        let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
        let (out_tensor, dout_tensor) = (io.dense(out)?, io.dense(dout)?);
        let [n, channels, height, width] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
        let regions = Regions::<T>::new(io, (rois, &roi_tensor), of, (n, 4))?;
        let (boxes, bins) = (regions.values.as_chunks::<4>().0, self.0.bins());
        let count = boxes.len() * channels * bins;
        let (means, d) =
            (sizes::counted::<T>(io, out, &out_tensor, count)?, sizes::counted::<T>(io, dout, &dout_tensor, count)?);
        let data = io.data::<T>(x, &x_tensor)?;
        let mut t = io.out_sized(drois, T::DTYPE, *roi_tensor.dims())?;
        t.set_lod(roi_tensor.lod().clone());
        let (images, size) = (regions.images(), height * width);
        let drois = io.data_mut::<T>(drois, &mut t)?.as_chunks_mut::<4>().0;
        io.pool().pieces(drois, 1, |r, sums| {
            let sides = self.sides(&boxes[r]);
            sums[0] = [T::ZERO; 4];
            if sides[0].bin * sides[1].bin <= T::ZERO {
                return;
            }
            for i in 0..channels * bins {
                let plane = &data[(images[r] * channels + i / bins) * size..][..size];
                let plane = Plane { data: plane, height, width };
                let at = r * channels * bins + i;
                self.add_bin(&plane, &sides, i % bins, (means[at], d[at]), &mut sums[0]);
            }
        });
        Ok(())
    }

    /// Adds the share of one bin of one channel.
    fn add_bin<T: Float>(
        &self,
        plane: &Plane<'_, T>,
        sides: &[Side<T>; 2],
        bin: usize,
        (mean, d): (T, T),
        to: &mut Box4<T>,
    ) {
        let (i, j) = (bin / self.0.width, bin % self.0.width);
        let [down, across] = sides;
        let (rows, columns) = (down.bin(i), across.bin(j));
        let factor = self.0.scale::<T>() * d / (down.bin * across.bin);
        let left = (down.bin * mean - plane.down(columns.0, rows)) * factor;
        let right = (plane.down(columns.1, rows) - down.bin * mean) * factor;
        let top = (across.bin * mean - plane.across(rows.0, columns)) * factor;
        let bottom = (plane.across(rows.1, columns) - across.bin * mean) * factor;
        // A bin's sides lie between the region's, so they move by a share of what those move.
        let share = |k: usize, n: usize| T::of(k as f64) / T::of(n as f64);
        let ((j0, j1), (i0, i1)) = (
            (share(j, self.0.width), share(j + 1, self.0.width)),
            (share(i, self.0.height), share(i + 1, self.0.height)),
        );
        to[0] += left * (T::ONE - j0) + right * (T::ONE - j1);
        to[1] += top * (T::ONE - i0) + bottom * (T::ONE - i1);
        to[2] += left * j0 + right * j1;
        to[3] += top * i0 + bottom * i1;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("prroi_pool")
            .input("X", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("ROIs", with_lod(tensor([2, 4], &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), &[&[0, 2]]))
    }

    #[test]
    fn mean_of_a_linear_map() {
        case().output("Out", tensor([2, 1, 1, 1], &[2.5, 0.0])).run();
    }

    #[test]
    fn gradients_of_map_and_regions() {
        let rois = tensor([3, 4], &[0.3, 0.2, 3.1, 2.2, -1.2, 0.4, 2.3, 7.4, 1.2, 1.3, 1.6, 1.7]);
        let case =
            || check("prroi_pool").input("X", noise([2, 2, 3, 4], 1)).attr("pooled_height", 2).attr("pooled_width", 3);
        let regions = with_lod(rois.clone(), &[&[0, 1, 3]]);
        case().input("ROIs", regions).any_output("Out").grad(&["X", "ROIs"]).run();
        let counts = tensor_of([2], &[2i64, 1]);
        case().input("ROIs", rois).input("BatchRoINums", counts).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("BatchRoINums", tensor_of([1], &[5i64])).any_output("Out").error();
        assert!(e.contains("input `BatchRoINums` = `BatchRoINums.0` divides 2 regions at [0, 5]"), "{e}");
        let e = case().input("BatchRoINums", tensor_of([1], &[-1i64])).any_output("Out").error();
        assert!(e.contains("holds [-1], which count no regions"), "{e}");
    }
}
