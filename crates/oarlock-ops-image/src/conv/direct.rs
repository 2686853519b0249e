//! The convolutions themselves: `conv2d`, `depthwise_conv2d`, `conv3d`.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType, by_float, kernel};
use oarlock_ops_support::double_gradient::emit_from;
use oarlock_ops_support::sliding_window::Format;
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::GemmElem;

use super::convolution::{Conv, Params, Side, Variant};
use super::product::Scratch;

impl Params {
    /// An axis of an image of `n` pixels.
    fn side(&self, axis: usize, n: usize, kernel: usize) -> Option<Side> {
        let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
        let (before, after) = self.padding.around(axis, n, kernel, stride);
        let span = dilation * kernel.checked_sub(1)? + 1;
        let out = (n + before + after).checked_sub(span)? / stride + 1;
        (n > 0).then_some(Side { n, before, after, kernel, stride, dilation, out })
    }
}

/// A convolution.
pub(crate) struct Direct(pub(crate) Variant);

impl OpDef for Direct {
    fn sig(&self) -> Sig {
        let doc = "Output = at every position, the sum of Input times Filter over the window";
        let sig = Sig::new(self.0.op_type, doc)
            .input("Input", "images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64")
            .input("Filter", "[out channels, channels / groups, size of the window]")
            .output("Output", "[n, out channels, sizes of the result]");
        self.0.with_attrs(self.0.with_foreign_inputs(sig))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let params = Params::new(&self.0, &cx.attrs())?;
        self.0.reject_foreign_inputs(cx)?;
        let (input, filter) = (cx.float("Input")?, cx.float("Filter")?);
        let parts = (
            params.format.split_shape(params.axes, &input.shape),
            Format::ChannelsFirst.split_shape(params.axes, &filter.shape),
        );
        let (Some((c, image)), Some((per_group, window))) = parts else {
            return Err(wrong_rank(cx, &params));
        };
        let filters = filter.shape[0];
        let expected = per_group.known().map_or(Dim::Any, |n| Dim::Is(n * params.groups));
        if !c.fits(expected) || filters.known().is_some_and(|n| n % params.groups != 0) {
            return Err(wrong_channels(cx, &params));
        }
        let mut out = [Dim::Any; 3];
        for (axis, out) in out.iter_mut().enumerate() {
            let (Some(n), Some(k)) = (image[axis].known(), window[axis].known()) else { continue };
            let side = params.side(axis, n, k).ok_or_else(|| {
                let (filter, input) = (cx.describe("Filter"), cx.describe("Input"));
                cx.shape_error(format_args!("has a window larger than the image: {filter} over {input}"))
            })?;
            *out = Dim::Is(side.out);
        }
        let shape: Vec<Dim> = params.format.join(params.axes, input.shape[0], filters, out).collect();
        cx.set("Output", VarType::tensor(input.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, filter, output) = (p.input("Input")?, p.input("Filter")?, p.output("Output")?);
        let params = Params::new(&self.0, &p.attrs())?;
        by_float!(p.float("Input")?, T => {
            let (mut scratch, mut moved) = (Scratch::<T>::default(), Default::default());
            kernel(move |io| forward(io, (input, filter), output, &params, &mut scratch, &mut moved))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, self.0.grad_reads, self.0.grad_writes)
    }
}

pub(crate) fn wrong_rank(cx: &Infer<'_>, params: &Params) -> oarlock_ir::Error {
    let (rank, input, filter) = (params.axes.rank(), cx.describe("Input"), cx.describe("Filter"));
    cx.shape_error(format_args!("needs inputs and filters of {rank} sizes, but has {input} and {filter}"))
}

fn wrong_channels(cx: &Infer<'_>, params: &Params) -> oarlock_ir::Error {
    let (filter, input) = (cx.describe("Filter"), cx.describe("Input"));
    cx.shape_error(format_args!("cannot apply {filter} to {input} in {} groups", params.groups))
        .help("a filter has channels / groups channels, and there are as many filters in every group")
}

/// The sizes of a run, checked again because images are the user's.
pub(crate) fn sizes(io: &Io<'_>, input: In, params: &Params, image: &Dims, filter: &Dims) -> Result<Conv> {
    let parts = params.format.split_dims(params.axes, image).zip(Format::ChannelsFirst.split_dims(params.axes, filter));
    let conv = parts.and_then(|((c, image_sizes), (per_group, window))| {
        let fits = c == per_group * params.groups && filter[0].is_multiple_of(params.groups) && filter.numel() > 0;
        let side = |axis: usize| params.side(axis, image_sizes[axis], window[axis]);
        fits.then_some(Conv {
            images: image[0],
            groups: params.groups,
            channels: per_group,
            filters: filter[0] / params.groups,
            sides: [side(0)?, side(1)?, side(2)?],
        })
    });
    conv.ok_or_else(|| {
        io.error(Kind::Shape, input, format_args!("has sizes {image}, which filters {filter} do not fit"))
    })
}

/// Batches with channels first, if they come with channels last.
pub(crate) type Moved<T> = [Vec<T>; 2];

fn forward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter): (In, In),
    output: Out,
    params: &Params,
    scratch: &mut Scratch<T>,
    [images, results]: &mut Moved<T>,
) -> Result<()> {
    let (image_tensor, filter_tensor) = (io.dense(input)?, io.dense(filter)?);
    let conv = sizes(io, input, params, image_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let dims = params.format.dims(params.axes, conv.images, conv.groups * conv.filters, conv.sides.map(|s| s.out));
    let mut t = io.out_sized(output, T::DTYPE, dims)?;
    let images = params.format.channels_first(image_tensor.dims(), io.data::<T>(input, &image_tensor)?, images);
    params.format.fill_channels_first(&dims, io.data_mut::<T>(output, &mut t)?, results, |out| {
        conv.forward(io.pool(), images, filters, out, scratch);
    });
    Ok(())
}

/// The gradient of a convolution.
pub(crate) struct DirectGrad(pub(crate) Variant);

impl OpDef for DirectGrad {
    fn sig(&self) -> Sig {
        self.0.with_attrs(self.0.grad_sig("gradients of a convolution"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["Input", "Filter"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("Input")?, p.input("Filter")?, p.input("Output@GRAD")?);
        let outputs = (p.maybe_output("Input@GRAD")?, p.maybe_output("Filter@GRAD")?);
        let params = Params::new(&self.0, &p.attrs())?;
        by_float!(p.float("Input")?, T => {
            let (mut scratch, mut moved) = (Scratch::<T>::default(), Default::default());
            kernel(move |io| backward(io, inputs, outputs, &params, &mut scratch, &mut moved))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        match self.0.grad_grad_type {
            Some(op_type) => emit_from(g, op_type, &super::double_gradient::PLACES),
            None => g.no_gradient(),
        }
    }
}

fn backward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter, dout): (In, In, In),
    (dinput, dfilter): (Option<Out>, Option<Out>),
    params: &Params,
    scratch: &mut Scratch<T>,
    [moved_d, moved]: &mut Moved<T>,
) -> Result<()> {
    let (image_tensor, filter_tensor, dout_tensor) = (io.dense(input)?, io.dense(filter)?, io.dense(dout)?);
    let conv = sizes(io, input, params, image_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let d = params.format.channels_first(dout_tensor.dims(), io.data::<T>(dout, &dout_tensor)?, moved_d);
    if d.len() != conv.images * conv.out_len() {
        let what = format_args!("has sizes {}, which are not those of the output", dout_tensor.dims());
        return Err(io.error(Kind::Shape, dout, what));
    }
    if let Some(dinput) = dinput {
        let dims = *image_tensor.dims();
        let mut t = io.out_sized(dinput, T::DTYPE, dims)?;
        params.format.fill_channels_first(&dims, io.data_mut::<T>(dinput, &mut t)?, moved, |dx| {
            conv.input_grad(io.pool(), filters, d, dx, scratch);
        });
    }
    if let Some(dfilter) = dfilter {
        let mut t = io.out_sized(dfilter, T::DTYPE, *filter_tensor.dims())?;
        let images = params.format.channels_first(image_tensor.dims(), io.data::<T>(input, &image_tensor)?, moved);
        conv.filter_grad(io.pool(), images, d, io.data_mut::<T>(dfilter, &mut t)?, scratch);
    }
    Ok(())
}
