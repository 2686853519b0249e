//! `psroi_pool`: means of regions, each bin from a channel of its own.

use oarlock_ir::{
    AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, fail, kernel,
    sig,
};
use oarlock_tensor::{Dims, Float};

use super::regions::{ImagesOf, Pooled, Regions, whole};
use crate::geometry::Box4;
use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&PsroiPool, &GRAD];

struct PsroiPool;

impl OpDef for PsroiPool {
    sig! {
        "psroi_pool":
            "Out[r, c, i, j] = the mean of channel (c * pooled_height + i) * pooled_width + j of X in bin (i, j) of region r; 0 if \
             it has no pixels";
        in "X": "[n, output_channels * pooled_height * pooled_width, h, w], f32 or f64: the feature map";
        in "ROIs": "[regions, 4]: left, top, right and bottom in the image, with a sequence per image";
        out "Out": "[regions, output_channels, pooled_height, pooled_width]";
        attr "output_channels": "channels of `Out`";
        with Pooled::with_attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let attrs = Parts::new(&cx.attrs())?;
        let ty = attrs.pooled.infer(cx, "X", 4, |_| Dim::Is(attrs.channels))?;
        if !cx.input("X")?.shape[1].fits(Dim::Is(attrs.planes())) {
            let what = format_args!(
                "needs {} channels, one for each channel and bin, in {}",
                attrs.planes(),
                cx.describe("X")
            );
            return Err(cx.shape_error(what));
        }
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out) = ((p.input("X")?, p.input("ROIs")?), p.output("Out")?);
        let parts = Parts::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| parts.forward::<T>(io, inputs, out)))
    }
}

struct Parts {
    pooled: Pooled,
    channels: usize,
}

/// The pixels of a bin: rows and columns, each from the first to the one after the last.
type Window = [(usize, usize); 2];

impl Parts {
    fn new(attrs: &AttrView<'_>) -> Result<Parts> {
        match attrs.count("output_channels")? {
            0 => fail!(Kind::Argument, "attribute `output_channels` of `psroi_pool` is 0; it must be above 0"),
            channels => Ok(Parts { pooled: Pooled::new(attrs)?, channels }),
        }
    }

    /// Channels of X.
    fn planes(&self) -> usize {
        self.channels * self.pooled.bins()
    }

    /// The pixels of every bin of a region.
    fn windows<T: Float>(&self, b: &Box4<T>, [h, w]: [usize; 2]) -> Vec<Window> {
        let rows = self.axis((b[1], b[3]), self.pooled.height, h);
        let columns = self.axis((b[0], b[2]), self.pooled.width, w);
        rows.iter().flat_map(|rows| columns.iter().map(|columns| [*rows, *columns])).collect()
    }

    fn axis<T: Float>(&self, (low, high): (T, T), bins: usize, pixels: usize) -> Vec<(usize, usize)> {
        let scale = self.pooled.scale::<T>();
        let (low, high) = (low.round() * scale, (high.round() + T::ONE) * scale);
        let bin = (high - low).max(T::of(0.1)) / T::of(bins as f64);
        let inside = |v: T| whole(v).clamp(0, pixels as i64) as usize;
        let edge = |i: usize| T::of(i as f64) * bin + low;
        (0..bins).map(|i| (inside(edge(i).floor()), inside(edge(i + 1).ceil()))).collect()
    }

    /// Checked sizes: images, and height and width of the map.
    fn sizes(&self, io: &Io<'_>, x: In, tensor: &oarlock_tensor::Tensor) -> Result<(usize, [usize; 2])> {
        let [n, channels, h, w] = sizes::dims(io, x, tensor, sizes::IMAGES)?;
        sizes::ensure(io, x, tensor, channels == self.planes(), format_args!("[n, {}, h, w]", self.planes()))?;
        Ok((n, [h, w]))
    }

    fn forward<T: Float>(&self, io: &Io<'_>, (x, rois): (In, In), out: Out) -> Result<()> {
        let (x_tensor, roi_tensor) = (io.dense(x)?, io.dense(rois)?);
        let (n, map) = self.sizes(io, x, &x_tensor)?;
        let regions = Regions::<T>::new(io, (rois, &roi_tensor), ImagesOf::Lod, (n, 4))?;
        let boxes = regions.values.as_chunks::<4>().0;
        let dims = Dims::from([boxes.len(), self.channels, self.pooled.height, self.pooled.width]);
        let mut t = io.out_sized(out, T::DTYPE, dims)?;
        let (data, out) = (io.data::<T>(x, &x_tensor)?, io.data_mut::<T>(out, &mut t)?);
        let (images, plane) = (regions.images(), map[0] * map[1]);
        io.pool().pieces(out, self.planes(), |i, out| {
            let windows = self.windows(&boxes[i], map);
            for (p, out) in out.iter_mut().enumerate() {
                let plane = &data[(images[i] * self.planes() + p) * plane..][..plane];
                let [rows, columns] = windows[p % windows.len()];
                let sum: T = (rows.0..rows.1)
                    .flat_map(|y| &plane[y * map[1]..][columns.0..columns.1.max(columns.0)])
                    .copied()
                    .sum();
                *out = area::<T>(&[rows, columns]).map_or(T::ZERO, |area| sum / area);
            }
        });
        Ok(())
    }

    fn backward<T: Float>(&self, io: &Io<'_>, (x, rois, dout): (In, In, In), dx: Out) -> Result<()> {
        let (x_tensor, roi_tensor, dout_tensor) = (io.dense(x)?, io.dense(rois)?, io.dense(dout)?);
        let (n, map) = self.sizes(io, x, &x_tensor)?;
        let regions = Regions::<T>::new(io, (rois, &roi_tensor), ImagesOf::Lod, (n, 4))?;
        let boxes = regions.values.as_chunks::<4>().0;
        let d = sizes::counted::<T>(io, dout, &dout_tensor, boxes.len() * self.planes())?;
        let windows: Vec<Vec<Window>> = boxes.iter().map(|b| self.windows(b, map)).collect();
        let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
        io.pool().pieces(io.data_mut::<T>(dx, &mut t)?, map[0] * map[1], |i, dx| {
            let (image, p) = (i / self.planes(), i % self.planes());
            dx.fill(T::ZERO);
            for r in regions.of_image(image) {
                let window = &windows[r][p % self.pooled.bins()];
                let Some(area) = area::<T>(window) else { continue };
                let share = d[r * self.planes() + p] / area;
                for y in window[0].0..window[0].1 {
                    dx[y * map[1]..][window[1].0..window[1].1].iter_mut().for_each(|dx| *dx += share);
                }
            }
        });
        Ok(())
    }
}

/// The pixels of a window; `None` if there are none.
fn area<T: Float>(window: &Window) -> Option<T> {
    let [rows, columns] = window.map(|(low, high)| high.saturating_sub(low));
    (rows * columns > 0).then(|| T::of((rows * columns) as f64))
}

const GRAD: GradOp = GradOp::of(&PsroiPool, "psroi_pool_grad(X, ROIs, Out@GRAD) -> X@GRAD")
    .doc("gradient of `psroi_pool`")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let (inputs, dx) = ((p.input("X")?, p.input("ROIs")?, p.input("Out@GRAD")?), p.output("X@GRAD")?);
        let parts = Parts::new(&p.attrs())?;
        by_float!(p.float("X")?, T => kernel(move |io| parts.backward::<T>(io, inputs, dx)))
    });

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, with_lod};

    fn case() -> Check {
        let x = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
        check("psroi_pool")
            .input("X", tensor([1, 2, 2, 2], &x))
            .input("ROIs", with_lod(tensor([1, 4], &[0.0, 0.0, 1.0, 1.0]), &[&[0, 1]]))
            .attr("output_channels", 1)
            .attr("pooled_height", 2)
    }

    #[test]
    fn each_bin_has_a_channel() {
        case().output("Out", tensor([1, 1, 2, 1], &[1.5, 35.0])).run();
        let rois = tensor([3, 4], &[0.0, 0.0, 3.0, 2.0, 1.0, 1.0, 3.0, 3.0, 7.0, 0.0, 8.0, 5.0]);
        let case = case().input("X", noise([2, 8, 4, 4], 1)).attr("pooled_width", 2).attr("output_channels", 2);
        case.input("ROIs", with_lod(rois, &[&[0, 1, 3]])).any_output("Out").grad(&["X"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().attr("output_channels", 2).any_output("Out").error();
        assert!(e.contains("needs 4 channels, one for each channel and bin, in `X`"), "{e}");
        let e = case().input("ROIs", noise([2, 5], 1)).any_output("Out").error();
        assert!(e.contains("needs [regions, 4] in `ROIs`"), "{e}");
    }
}
