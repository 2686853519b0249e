//! `roi_pool`: the largest values of regions of a feature map.

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, kernel, sig};
use oarlock_tensor::{DType, Dims, Float};

use super::regions::{ImagesOf, Pooled, Regions, whole};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&RoiPool, &GRAD];

struct RoiPool;

impl OpDef for RoiPool {
    sig! {
        "roi_pool": "Out[r, c, i, j] = the largest value of X[image of r, c] in bin (i, j) of region r, rounded to pixels; 0 if it has none";
        in "X": "[n, channels, h, w], f32 or f64: the feature map";
        in "ROIs": "[regions, 4]: left, top, right and bottom in the image, with a sequence per image";
        in? "RoisLod": "[n + 1], i64: offsets of the images' regions, instead of the LoD of `ROIs`";
        out "Out": "[regions, channels, pooled_height, pooled_width]";
        out? "Argmax": "like `Out`, i64: the pixel that each value comes from, -1 for none";
        with Pooled::with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ty = Pooled::new(&cx.attrs())?.infer(cx, "X", 4, |channels| channels)?;
        if cx.has("RoisLod") {
            sizes::expect(cx, "RoisLod", &cx.input("RoisLod")?, &[None], "a list of offsets")?;
        }
        cx.set("Argmax", ty.clone().with_dtype(DType::I64));
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("X")?, p.input("ROIs")?, ImagesOf::rois_lod(p)?);
        let (outs, pooled) = ((p.output("Out")?, p.maybe_output("Argmax")?), Pooled::new(&p.attrs())?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, inputs, outs, &pooled)))
    }
}

/// The first pixel of each bin along an axis of `pixels` pixels, and the one after the last.
fn bins<T: Float>(low: T, high: T, count: usize, pixels: usize) -> Vec<(usize, usize)> {
    let (low, high) = (whole(low.round()), whole(high.round()));
    let length = (high - low + 1).max(1) as f32 / count as f32;
    let inside = |v: f32| (v as i64 + low).clamp(0, pixels as i64) as usize;
    (0..count).map(|i| (inside((i as f32 * length).floor()), inside(((i + 1) as f32 * length).ceil()))).collect()
}

fn forward<T: Float>(
    io: &Io<'_>,
    (x, rois, of): (In, In, ImagesOf),
    (out, argmax): (Out, Option<Out>),
    pooled: &Pooled,
) -> Result<()> {
    let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<T>::new(io, (rois, &roi_tensor), of, (n, 4))?;
    let boxes = regions.values.as_chunks::<4>().0;
    let dims = Dims::from([boxes.len(), channels, pooled.height, pooled.width]);
    let mut t = io.out_sized(out, T::DTYPE, dims)?;
    let (data, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
    let mut argmax_tensor = argmax.map(|slot| io.out_sized(slot, DType::I64, dims)).transpose()?;
    let argmax = match (argmax, &mut argmax_tensor) {
        (Some(slot), Some(t)) => io.data_mut::<i64>(slot, t)?,
        _ => &mut [],
    };
    let (images, plane, scale) = (regions.images(), h * w, pooled.scale::<T>());
    let size = (channels * pooled.bins()).max(1);
    let mut argmax = argmax.chunks_mut(size);
    let parts = out.chunks_mut(size).enumerate().map(|(i, out)| (i, out, argmax.next().unwrap_or_default()));
    io.pool().each(boxes.len(), parts, |(i, out, argmax)| {
        let b: Box4<T> = boxes[i].map(|v| v * scale);
        let (rows, columns) = (bins(b[1], b[3], pooled.height, h), bins(b[0], b[2], pooled.width, w));
        let mut at = 0;
        for c in 0..channels {
            let plane = &data[(images[i] * channels + c) * plane..][..plane];
            for rows in &rows {
                for columns in &columns {
                    let found = largest(plane, w, *rows, *columns);
                    out[at] = found.map_or(T::ZERO, |pixel| plane[pixel]);
                    if let Some(to) = argmax.get_mut(at) {
                        *to = found.map_or(-1, |pixel| pixel as i64);
                    }
                    at += 1;
                }
            }
        }
    });
    Ok(())
}

/// The pixel with the largest value, the first of equal ones.
fn largest<T: Float>(plane: &[T], width: usize, rows: (usize, usize), columns: (usize, usize)) -> Option<usize> {
    let (mut best, mut value) = (None, -T::INFINITY);
    for y in rows.0..rows.1 {
        for x in columns.0..columns.1 {
            if plane[y * width + x] > value {
                (best, value) = (Some(y * width + x), plane[y * width + x]);
            }
        }
    }
    best
}

const GRAD: GradOp = GradOp::of(&RoiPool, "roi_pool_grad(X, ROIs, RoisLod, Argmax, Out@GRAD) -> X@GRAD")
    .doc("gradient of `roi_pool`")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let inputs = (p.input("X")?, p.input("ROIs")?, ImagesOf::rois_lod(p)?);
        let (grads, dx) = ((p.input("Argmax")?, p.input("Out@GRAD")?), p.output("X@GRAD")?);
        let pooled = Pooled::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, inputs, grads, dx, &pooled)))
    });

fn backward<T: Float>(
    io: &Io<'_>,
    (x, rois, of): (In, In, ImagesOf),
    (argmax, dout): (In, In),
    dx: Out,
    pooled: &Pooled,
) -> Result<()> {
    let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
    let (argmax_tensor, dout_tensor) = (io.dense(argmax)?, io.dense(dout)?);
    let [n, channels, h, w] = sizes::dims(io, x, &x_tensor, sizes::IMAGES)?;
    let regions = Regions::<T>::new(io, (rois, &roi_tensor), of, (n, 4))?;
    let (plane, bins) = (h * w, pooled.bins());
    let count = regions.values.len() / 4 * channels * bins;
    let pixels = sizes::counted::<i64>(io, argmax, &argmax_tensor, count)?;
    let d = sizes::counted::<T>(io, dout, &dout_tensor, count)?;
    if let Some(far) = pixels.iter().find(|pixel| **pixel >= plane as i64) {
        return Err(io.error(Kind::Range, argmax, format_args!("names pixel {far}, but a channel has {plane}")));
    }
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    io.pool().pieces(io.data_mut::<T>(dx, &mut t)?, plane, |i, dx| {
        dx.fill(T::ZERO);
        for r in regions.of_image(i / channels) {
            let bins = (r * channels + i % channels) * bins..(r * channels + i % channels + 1) * bins;
            for (&pixel, &d) in pixels[bins.clone()].iter().zip(&d[bins]) {
                if let Ok(pixel) = usize::try_from(pixel) {
                    dx[pixel] += d;
                }
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("roi_pool")
            .input("X", tensor([1, 1, 2, 3], &[1.0, 5.0, 2.0, 4.0, 3.0, 6.0]))
            .input("ROIs", with_lod(tensor([2, 4], &[0.0, 0.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]), &[&[0, 2]]))
    }

    #[test]
    fn largest_values_and_where_they_are() {
        case()
            .output("Out", tensor([2, 1, 1, 1], &[5.0, 0.0]))
            .output("Argmax", tensor_of([2, 1, 1, 1], &[1i64, -1]))
            .run();
        let case =
            check("roi_pool").input("X", noise([2, 2, 4, 4], 3)).attr("pooled_height", 2).attr("pooled_width", 2);
        let rois = tensor([3, 4], &[0.0, 0.0, 3.0, 2.0, 1.0, 1.0, 3.0, 3.0, 2.0, 0.0, 2.0, 5.0]);
        let case = case.input("ROIs", with_lod(rois, &[&[0, 1, 3]])).any_output("Out").any_output("Argmax");
        case.counting(&["Out"]).grad(&["X"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("ROIs", noise([2, 4], 1)).any_output("Out").any_output("Argmax").error();
        assert!(e.contains("input `ROIs` = `ROIs.0` has no LoD"), "{e}");
        let e = case().attr("spatial_scale", 0.0f32).any_output("Out").any_output("Argmax").error();
        assert!(e.contains("attribute `spatial_scale` is 0; it must be above 0"), "{e}");
        let grad = check("roi_pool_grad")
            .input("X", noise([1, 1, 2, 2], 1))
            .input("ROIs", with_lod(noise([1, 4], 1), &[&[0, 1]]))
            .input("Argmax", tensor_of([1, 1, 1, 1], &[4i64]))
            .input("Out@GRAD", noise([1, 1, 1, 1], 1));
        let e = grad.any_output("X@GRAD").error();
        assert!(e.contains("input `Argmax` = `Argmax.0` names pixel 4, but a channel has 4"), "{e}");
    }
}
