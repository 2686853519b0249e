//! Transposed convolutions: `conv2d_transpose`, `depthwise_conv2d_transpose`, `conv3d_transpose`.
//!
//! `Output` is the image and `Input` the result of the convolution whose sizes are computed with.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarType, by_float, kernel};
use oarlock_ops_support::sliding_window::{self, Format};
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::GemmElem;

use super::convolution::{Conv, Params, Side, Variant};
use super::direct::{Moved, wrong_rank};
use super::product::Scratch;

/// The attributes.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    params: Params,
    /// Sizes of the output that were asked for; several lead to the same input when the stride is above 1.
    output: Option<[usize; 3]>,
}

impl Wanted {
    fn new(variant: &Variant, attrs: &oarlock_ir::AttrView<'_>) -> Result<Wanted> {
        let params = Params::new(variant, attrs)?;
        let output = if sliding_window::sizes(attrs, "output_size")?.is_empty() {
            None
        } else {
            Some(params.axes.positive(attrs, "output_size")?)
        };
        Ok(Wanted { params, output })
    }

    /// An axis of an input of `out` pixels; `None` if padding leaves nothing, or if the wanted size cannot be.
    fn side(&self, axis: usize, out: usize, kernel: usize) -> Option<Side> {
        let (stride, dilation) = (self.params.strides[axis], self.params.dilations[axis]);
        let (before, after) = self.params.padding.around(axis, out, kernel, stride);
        let span = dilation * kernel.checked_sub(1)? + 1;
        let least = (out.checked_sub(1)? * stride + span).checked_sub(before + after).filter(|&n| n > 0)?;
        let n = self.output.map_or(least, |sizes| sizes[axis]);
        let fits = (least..least + stride).contains(&n);
        fits.then_some(Side { n, before, after, kernel, stride, dilation, out })
    }
}

/// A transposed convolution.
pub(crate) struct Transposed(pub(crate) Variant);

fn with_attrs(variant: &Variant, sig: Sig) -> Sig {
    let doc = "sizes of the result, if they are not the least that the stride allows";
    variant.with_attrs(sig).attr("output_size", Vec::<i32>::new(), doc)
}

impl OpDef for Transposed {
    fn sig(&self) -> Sig {
        let doc = "Output = every element of Input times Filter, added up where windows overlap";
        let sig = Sig::new(self.0.op_type, doc)
            .input("Input", "images [n, channels, h, w] or volumes [n, channels, d, h, w], f32 or f64")
            .input("Filter", "[channels, out channels / groups, size of the window]")
            .output("Output", "[n, out channels, sizes of the result]");
        with_attrs(&self.0, self.0.with_foreign_inputs(sig))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let wanted = Wanted::new(&self.0, &cx.attrs())?;
        self.0.reject_foreign_inputs(cx)?;
        let (params, input, filter) = (wanted.params, cx.float("Input")?, cx.float("Filter")?);
        let parts = (
            params.format.split_shape(params.axes, &input.shape),
            Format::ChannelsFirst.split_shape(params.axes, &filter.shape),
        );
        let (Some((c, sizes)), Some((per_group, window))) = parts else {
            return Err(wrong_rank(cx, &params));
        };
        if !c.fits(filter.shape[0]) || c.known().is_some_and(|c| c % params.groups != 0) {
            let (filter, input) = (cx.describe("Filter"), cx.describe("Input"));
            return Err(cx
                .shape_error(format_args!("cannot apply {filter} to {input} in {} groups", params.groups))
                .help("there is a filter for every channel, and as many in every group"));
        }
        let mut out = wanted.output.map_or([Dim::Any; 3], |sizes| sizes.map(Dim::Is));
        for (axis, out) in out.iter_mut().enumerate() {
            let (Some(n), Some(k)) = (sizes[axis].known(), window[axis].known()) else { continue };
            let side = wanted.side(axis, n, k).ok_or_else(|| wrong_size(cx, &wanted))?;
            *out = Dim::Is(side.n);
        }
        let channels = per_group.known().map_or(Dim::Any, |n| Dim::Is(n * params.groups));
        let shape: Vec<Dim> = params.format.join(params.axes, input.shape[0], channels, out).collect();
        cx.set("Output", VarType::tensor(input.dtype, shape));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (input, filter, output) = (p.input("Input")?, p.input("Filter")?, p.output("Output")?);
        let wanted = Wanted::new(&self.0, &p.attrs())?;
        by_float!(p.float("Input")?, T => {
            let (mut scratch, mut moved) = (Scratch::<T>::default(), Default::default());
            kernel(move |io| forward(io, (input, filter), output, &wanted, &mut scratch, &mut moved))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit(self.0.grad_type, self.0.grad_reads, self.0.grad_writes)
    }
}

fn wrong_size(cx: &Infer<'_>, wanted: &Wanted) -> oarlock_ir::Error {
    let (filter, input) = (cx.describe("Filter"), cx.describe("Input"));
    match wanted.output {
        Some(sizes) => {
            let sizes = wanted.params.axes.shown(&sizes);
            cx.shape_error(format_args!("cannot make a result of {sizes:?} from {input} with {filter}"))
                .help("output_size can exceed the size without it by less than the stride")
        }
        None => cx.shape_error(format_args!("has padding that leaves nothing of the result of {input} and {filter}")),
    }
}

/// The sizes of a run, checked again because images are the user's.
fn sizes(io: &Io<'_>, input: In, wanted: &Wanted, out: &Dims, filter: &Dims) -> Result<Conv> {
    let params = &wanted.params;
    let parts = params.format.split_dims(params.axes, out).zip(Format::ChannelsFirst.split_dims(params.axes, filter));
    let conv = parts.and_then(|((c, sizes), (per_group, window))| {
        let side = |axis: usize| wanted.side(axis, sizes[axis], window[axis]);
        let fits = c == filter[0] && c.is_multiple_of(params.groups) && filter.numel() > 0;
        fits.then_some(Conv {
            images: out[0],
            groups: params.groups,
            channels: per_group,
            filters: c / params.groups,
            sides: [side(0)?, side(1)?, side(2)?],
        })
    });
    conv.ok_or_else(|| io.error(Kind::Shape, input, format_args!("has sizes {out}, which filters {filter} do not fit")))
}

fn forward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter): (In, In),
    output: Out,
    wanted: &Wanted,
    scratch: &mut Scratch<T>,
    [moved, results]: &mut Moved<T>,
) -> Result<()> {
    let (input_tensor, filter_tensor) = (io.dense(input)?, io.dense(filter)?);
    let conv = sizes(io, input, wanted, input_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let Params { format, axes, .. } = wanted.params;
    let dims = format.dims(axes, conv.images, conv.groups * conv.channels, conv.sides.map(|s| s.n));
    let mut t = io.out_sized(output, T::DTYPE, dims)?;
    let input = format.channels_first(input_tensor.dims(), io.data::<T>(input, &input_tensor)?, moved);
    format.fill_channels_first(&dims, io.data_mut::<T>(output, &mut t)?, results, |out| {
        conv.input_grad(io.pool(), filters, input, out, scratch);
    });
    Ok(())
}

/// The gradient of a transposed convolution.
pub(crate) struct TransposedGrad(pub(crate) Variant);

impl OpDef for TransposedGrad {
    fn sig(&self) -> Sig {
        with_attrs(&self.0, self.0.grad_sig("gradients of a transposed convolution"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.grads_of(&["Input", "Filter"])
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let inputs = (p.input("Input")?, p.input("Filter")?, p.input("Output@GRAD")?);
        let outputs = (p.maybe_output("Input@GRAD")?, p.maybe_output("Filter@GRAD")?);
        let wanted = Wanted::new(&self.0, &p.attrs())?;
        by_float!(p.float("Input")?, T => {
            let (mut scratch, mut moved) = (Scratch::<T>::default(), Default::default());
            kernel(move |io| backward(io, inputs, outputs, &wanted, &mut scratch, &mut moved))
        })
    }
}

fn backward<T: GemmElem>(
    io: &Io<'_>,
    (input, filter, dout): (In, In, In),
    (dinput, dfilter): (Option<Out>, Option<Out>),
    wanted: &Wanted,
    scratch: &mut Scratch<T>,
    [moved_d, moved]: &mut Moved<T>,
) -> Result<()> {
    let format = wanted.params.format;
    let (input_tensor, filter_tensor, dout_tensor) = (io.dense(input)?, io.dense(filter)?, io.dense(dout)?);
    let conv = sizes(io, input, wanted, input_tensor.dims(), filter_tensor.dims())?;
    let filters = io.data::<T>(filter, &filter_tensor)?;
    let d = format.channels_first(dout_tensor.dims(), io.data::<T>(dout, &dout_tensor)?, moved_d);
    if d.len() != conv.images * conv.image_len() {
        let what = format_args!("has sizes {}, which are not those of the output", dout_tensor.dims());
        return Err(io.error(Kind::Shape, dout, what));
    }
    if let Some(dinput) = dinput {
        let dims = *input_tensor.dims();
        let mut t = io.out_sized(dinput, T::DTYPE, dims)?;
        format.fill_channels_first(&dims, io.data_mut::<T>(dinput, &mut t)?, moved, |dx| {
            conv.forward(io.pool(), d, filters, dx, scratch);
        });
    }
    if let Some(dfilter) = dfilter {
        let mut t = io.out_sized(dfilter, T::DTYPE, *filter_tensor.dims())?;
        let input = format.channels_first(input_tensor.dims(), io.data::<T>(input, &input_tensor)?, moved);
        conv.filter_grad(io.pool(), d, input, io.data_mut::<T>(dfilter, &mut t)?, scratch);
    }
    Ok(())
}
