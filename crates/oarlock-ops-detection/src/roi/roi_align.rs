//! `roi_align`: regions of a feature map, sampled between pixels and averaged to one size.

use oarlock_ir::{
    AttrView, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, by_float, kernel, sig,
};
use oarlock_tensor::Float;

use super::regions::{ImagesOf, Pooled};
use super::separable::{self, Axis, Separable};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&RoiAlign, &GRAD];

struct RoiAlign;

impl OpDef for RoiAlign {
    sig! {
        "roi_align":
            "Out[r, c, i, j] = the mean of X[image of r, c] at points spread evenly over bin (i, j) of region r, linear between \
             pixels";
        in "X": "[n, channels, h, w], f32 or f64: the feature map";
        in "ROIs": "[regions, 4]: left, top, right and bottom in the image, with a sequence per image";
        in? "RoisLod": "[n + 1], i64: offsets of the images' regions, instead of the LoD of `ROIs`";
        out "Out": "[regions, channels, pooled_height, pooled_width]";
        with Pooled::with_attrs;
        attr "sampling_ratio" = -1, "points of a bin along each axis; 0 or less for about one per pixel of the map";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Pooled::new(&cx.attrs())?.infer(cx, "X", 4, |channels| channels)?;
        if cx.has("RoisLod") {
            sizes::expect(cx, "RoisLod", &cx.input("RoisLod")?, &[None], "a list of offsets")?;
        }
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("ROIs")?, ImagesOf::rois_lod(p)?), p.output("Out")?);
        let align = Align::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| {
            align.check::<T>(io, inputs.1)?;
            separable::forward::<T>(io, inputs, out, &align.pooled, &align)
        }))
    }
}

/// The most points along an axis of a bin; a region that needs more is a mistake.
const MOST_POINTS: f64 = 1e6;

struct Align {
    pooled: Pooled,
    /// Points of a bin along each axis; `None` for about one per pixel.
    points: Option<usize>,
}

impl Align {
    fn new(attrs: &AttrView<'_>) -> Result<Align> {
        let points = usize::try_from(attrs.int("sampling_ratio")?).ok().filter(|n| *n > 0);
        Ok(Align { pooled: Pooled::new(attrs)?, points })
    }

    /// Checks that regions do not ask for more points than can be computed.
    fn check<T: Float>(&self, io: &Io<'_>, rois: In) -> Result<()> {
        let tensor = io.dense(rois)?;
        let boxes = sizes::boxes_of::<T>(io, rois, &tensor)?;
        let limit = MOST_POINTS / self.pooled.scale::<f64>();
        let too_large = |b: &&Box4<T>| (b[2] - b[0]).f64() > limit || (b[3] - b[1]).f64() > limit;
        match boxes.iter().find(too_large).filter(|_| self.points.is_none()) {
            Some(b) => Err(io
                .error(Kind::Range, rois, format_args!("has the region {b:?}, too large to sample every pixel"))
                .help("check the coordinates, or set `sampling_ratio`")),
            None => Ok(()),
        }
    }

    fn axis<T: Float>(&self, (low, high): (T, T), bins: usize, pixels: usize, axis: &mut Axis<T>) {
        let low = low * self.pooled.scale();
        let length = (high * self.pooled.scale() - low).max(T::ONE);
        let bin = length / T::of(bins as f64);
        let points = self.points.unwrap_or_else(|| bin.ceil().f64() as usize).max(1);
        let weight = T::ONE / T::of(points as f64);
        for b in 0..bins {
            for point in 0..points {
                let step = T::of(point as f64 + 0.5) * bin / T::of(points as f64);
                sample(low + T::of(b as f64) * bin + step, pixels, weight, axis);
            }
            axis.end_bin();
        }
    }
}

/// Adds the one or two pixels around a point; points beyond the border by up to a pixel count as on it.
fn sample<T: Float>(at: T, pixels: usize, weight: T, axis: &mut Axis<T>) {
    if pixels == 0 || at < -T::ONE || at > T::of(pixels as f64) {
        return;
    }
    let at = if at <= T::ZERO { T::ZERO } else { at };
    let low = at.f64() as usize;
    if low + 1 >= pixels {
        return axis.add(pixels - 1, weight);
    }
    let high = at - T::of(low as f64);
    axis.add(low, (T::ONE - high) * weight);
    axis.add(low + 1, high * weight);
}

impl<T: Float> Separable<T> for Align {
    fn axes(&self, region: &Box4<T>, [h, w]: [usize; 2], rows: &mut Axis<T>, columns: &mut Axis<T>) {
        self.axis((region[1], region[3]), self.pooled.height, h, rows);
        self.axis((region[0], region[2]), self.pooled.width, w, columns);
    }
}

const GRAD: GradOp = GradOp::of(&RoiAlign, "roi_align_grad(X, ROIs, RoisLod, Out@GRAD) -> X@GRAD")
    .doc("gradient of `roi_align`")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("ROIs")?, ImagesOf::rois_lod(p)?, p.input("Out@GRAD")?);
        let (dx, align) = (p.output("X@GRAD")?, Align::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| {
            align.check::<T>(io, inputs.1)?;
            separable::backward::<T>(io, inputs, dx, &align.pooled, &align)
        }))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("roi_align")
            .input("X", tensor([1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
            .input("ROIs", with_lod(tensor([1, 4], &[0.0, 0.0, 1.0, 1.0]), &[&[0, 1]]))
    }

    #[test]
    fn points_lie_between_pixels() {
        case().output("Out", tensor([1, 1, 1, 1], &[2.5])).run();
        case().attr("sampling_ratio", 2).output("Out", tensor([1, 1, 1, 1], &[2.5])).run();
        let outside = with_lod(tensor([1, 4], &[5.0, 5.0, 6.0, 6.0]), &[&[0, 1]]);
        case().input("ROIs", outside).output("Out", tensor([1, 1, 1, 1], &[0.0])).run();
    }

    #[test]
    fn gradient_is_that_of_the_mean() {
        let rois = tensor([3, 4], &[0.3, 0.2, 3.1, 2.2, -1.0, 0.0, 2.0, 7.0, 1.0, 1.0, 1.5, 1.5]);
        let case =
            check("roi_align").input("X", noise([2, 3, 3, 4], 1)).attr("pooled_height", 2).attr("pooled_width", 3);
        let with_lod_level = with_lod(rois.clone(), &[&[0, 1, 3]]);
        case.input("ROIs", with_lod_level).attr("spatial_scale", 0.9f32).any_output("Out").grad(&["X"]).run();
        let case = check("roi_align").input("X", noise([2, 3, 3, 4], 1)).input("ROIs", rois);
        case.input("RoisLod", tensor_of([3], &[0i64, 1, 3])).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().attr("pooled_width", 0).any_output("Out").error();
        assert!(e.contains("attribute `pooled_width` is 0; it must be above 0"), "{e}");
        let e = case().input("ROIs", with_lod(noise([2, 4], 1), &[&[0, 1, 2]])).any_output("Out").error();
        assert!(
            e.contains("input `ROIs` = `ROIs.0` divides 2 regions at [0, 1, 2], which does not fit 1 images"),
            "{e}"
        );
        let e = case().input("RoisLod", tensor_of([2], &[0i64, 7])).any_output("Out").error();
        assert!(e.contains("input `RoisLod` = `RoisLod.0` divides 1 regions at [0, 7]"), "{e}");
        let huge = with_lod(tensor([1, 4], &[0.0, 0.0, 1e12, 1.0]), &[&[0, 1]]);
        assert!(case().input("ROIs", huge).any_output("Out").error().contains("too large to sample every pixel"));
    }
}
