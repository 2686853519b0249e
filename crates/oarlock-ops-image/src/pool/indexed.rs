//! Maxima of windows together with where they are: `max_pool2d_with_index`, `max_pool3d_with_index`.

use oarlock_ir::{AttrView, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits};
use oarlock_ir::{by_float, kernel};
use oarlock_ops_support::sliding_window::{Axes, Format, Padding};
use oarlock_tensor::{DType, Float};

use super::pooling::{Kinds, Params, Variant, Windows, with_common_attrs};

/// A pool with indices.
pub(crate) struct Indexed(pub(crate) Variant);

fn params(axes: Axes, attrs: &AttrView<'_>) -> Result<Params> {
    let windows = Kinds::new(attrs)?;
    Ok(Params {
        axes,
        max: true,
        ksize: windows.ksize(axes, attrs)?,
        strides: axes.positive(attrs, "strides")?,
        padding: Padding::explicit(attrs, axes)?,
        windows,
        ceil: false,
        exclusive: true,
        format: Format::ChannelsFirst,
    })
}

impl OpDef for Indexed {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.0.op_type, "Out = maximum of X in every window, Mask = where it is in its channel")
            .input("X", "images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64")
            .output("Out", "[n, channels, number of windows along each axis]")
            .output("Mask", "like `Out`, i32: the index of the first maximum; -1 if no element is a number");
        with_common_attrs(self.0.axes, sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let out = params(self.0.axes, &cx.attrs())?.infer(cx)?;
        cx.set("Mask", out.clone().with_dtype(DType::I32));
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, outs) = (p.input("X")?, (p.output("Out")?, p.output("Mask")?));
        let (params, mut windows) = (params(self.0.axes, &p.attrs())?, Windows::default());
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, x, outs, &params, &mut windows)))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, &["Mask", "Out@GRAD", "X"], &["X@GRAD"])
    }
}

fn forward<T: Float>(
    io: &Io<'_>,
    x: In,
    (out, mask): (Out, Out),
    params: &Params,
    windows: &mut Windows,
) -> Result<()> {
    let x_tensor = io.dense(x)?;
    let channels = windows.set(io, x, params, x_tensor.dims())?;
    let dims = params.format.dims(params.axes, x_tensor.rows(), channels, windows.counts());
    let mut out_tensor = io.out_sized(out, T::DTYPE, dims)?;
    let mut mask_tensor = io.out_sized(mask, DType::I32, dims)?;
    let images = io.data::<T>(x, &x_tensor)?.chunks_exact(windows.pixels().max(1));
    let outs = io.data_mut::<T>(out, &mut out_tensor)?.chunks_exact_mut(windows.count().max(1));
    let masks = io.data_mut::<i32>(mask, &mut mask_tensor)?.chunks_exact_mut(windows.count().max(1));
    for (image, (outs, masks)) in images.zip(outs.zip(masks)) {
        let all = windows.lines().flat_map(|lines| windows.spans[2].iter().map(move |&x| (lines, x)));
        for ((lines, x), (out, mask)) in all.zip(outs.iter_mut().zip(masks)) {
            (*out, *mask) = (-T::INFINITY, -1);
            for i in windows.window(lines, x) {
                if image[i] > *out {
                    (*out, *mask) = (image[i], i as i32);
                }
            }
        }
    }
    Ok(())
}

/// The gradient of a pool with indices.
pub(crate) struct IndexedGrad(pub(crate) Variant);

impl OpDef for IndexedGrad {
    fn sig(&self) -> Sig {
        Sig::new(self.0.grad_type, "X@GRAD = Out@GRAD at the elements that Mask names")
            .grad_of(&Indexed(self.0).sig(), &["X", "Mask", "Out@GRAD"], &["X@GRAD"])
            .traits(Traits::NONE.shape_only(&["X"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["X"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, mask, dout, dx) = (p.input("X")?, p.input("Mask")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
        by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, (x, mask, dout), dx)))
    }
}

fn backward<T: Float>(io: &Io<'_>, (x, mask, dout): (In, In, In), dx: Out) -> Result<()> {
    let (x_tensor, mask_tensor, dout_tensor) = (io.dense(x)?, io.dense(mask)?, io.dense(dout)?);
    let mut t = io.out_sized(dx, T::DTYPE, *x_tensor.dims())?;
    let (planes, pixels) = x_tensor.dims().matrix(2);
    let (masks, douts) = (io.data::<i32>(mask, &mask_tensor)?, io.data::<T>(dout, &dout_tensor)?);
    oarlock_ops_support::class_axis::same_count(io, dout, mask, douts.len(), masks.len())?;
    let dx = io.data_mut::<T>(dx, &mut t)?;
    dx.fill(T::ZERO);
    let count = (douts.len() / planes.max(1)).max(1);
    for (dx, (masks, douts)) in dx.chunks_exact_mut(pixels.max(1)).zip(masks.chunks(count).zip(douts.chunks(count))) {
        for (&i, d) in masks.iter().zip(douts) {
            match usize::try_from(i) {
                Ok(i) if i < pixels => dx[i] += *d,
                Err(_) => {}
                Ok(_) => {
                    let what = format_args!("names element {i} of channels that have {pixels}");
                    return Err(io.error(Kind::Range, mask, what));
                }
            }
        }
    }
    Ok(())
}
